"""The five passes of deduplication, one barrier a line: sign, match, cluster, gather, verify; then the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from .. import files
from ..dataset import Dataset
from ..errors import DataprepError
from ..key import key as key_of
from ..run import Runner
from ..verdict import VERDICT_ROWS, VERDICTS
from .cluster import Cluster
from .gather import Gather, n_partitions
from .keep import Keep
from .match import Match, Sign, key_ranges
from .sketch import Sketch
from .spill import Spill
from .verify import VERDICT, Verify

MAX_DOCS = 2**32 - 1
MAX_GROUPS = 256  # files are opened once a group when verdicts are brought back to their parts
PASSES = ("sign", "match", "cluster", "cluster.json", "gather", "verify")


def find(
    docs: Dataset, run: Runner, out: str, *, sketch: Sketch, keep: Keep, names: tuple[str, str], key: str
) -> tuple[str, dict[str, Any]]:
    """Find the duplicates in `docs`: the URL of the verdict table, and what was counted on the way.

    `names`: of the stage, for progress bars, and of the reason, for the verdicts.

    Memory: 5 bytes a document while clustering, else a bounded amount a worker. Disk under `out` while it runs:
    12 bytes a key and document, and the contents of the candidates.
    """
    url = files.join(out, "verdicts.parquet")
    receipt = files.join(out, "verdicts.json")
    facts = files.valid(receipt, key) or files.once(
        receipt, key, lambda: _find(docs, run, out, url, sketch=sketch, keep=keep, names=names, key=key)
    )
    for folder in PASSES:  # what the passes left; not needed once there are verdicts
        files.remove(files.join(out, folder))
    return url, facts


def _find(
    docs: Dataset, run: Runner, out: str, url: str, *, sketch: Sketch, keep: Keep, names: tuple[str, str], key: str
) -> dict[str, Any]:
    name, reason = names
    items = [replace(item, key=key_of((key, item.key))) for item in docs.items]
    signed = list(run.map(Sign(out, sketch), items, f"{name}: sign"))
    bases, n_docs = _number(signed)
    ranges = key_ranges(n_docs, sketch.bands)
    matched = list(run.map(Match(out, key, bases), ranges, f"{name}: match"))
    cluster = Cluster(out, key, bases, n_docs, len(ranges), 24 + 32 * sketch.bands)
    found = next(iter(run.map(cluster, [0], f"{name}: cluster")))
    n_parts, partitions = len(items), n_partitions(found["cost"])
    list(run.map(Gather(out, key, sketch, keep, partitions), items, f"{name}: gather"))
    groups = min(n_parts, MAX_GROUPS)
    verify = Verify(out, key, sketch.bands, sketch.threshold, n_parts, groups)
    decided = list(run.map(verify, range(partitions), f"{name}: verify"))
    _write_verdicts(url, out, partitions, groups, reason)
    return {
        "files": [url],
        "documents": n_docs,
        "edges": sum(m["edges"] for m in matched),
        "candidates": found["candidates"],
        "compared": sum(d["compared"] for d in decided),
        "dropped": sum(d["dropped"] for d in decided),
    }


def _number(signed: Sequence[dict[str, Any]]) -> tuple[tuple[int, ...], int]:
    """The number of every part's first document, and how many documents there are."""
    counts = [receipt["docs"] for receipt in signed]
    n_docs = sum(counts)
    if n_docs > MAX_DOCS:
        msg = f"deduplication numbers documents in 32 bits; there are {n_docs:,}: split the input, or join messages"
        raise DataprepError(msg)
    return tuple(np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int).tolist()) if counts else (), n_docs


def _write_verdicts(url: str, out: str, partitions: int, groups: int, reason: str) -> None:
    """Bring the verdicts of all partitions together, in order of ids, a group of parts at a time."""
    with files.atomic(url) as f, pq.ParquetWriter(f, VERDICTS, compression="zstd") as writer:
        for rows in _in_order(out, partitions, groups):
            n = len(rows)
            columns = [
                pa.array(rows["id"]),
                pa.repeat(reason, n),
                pa.nulls(n, pa.string()),
                pa.array(rows["kept"]),
                pa.array(rows["similarity"]),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=VERDICTS), VERDICT_ROWS)


def _in_order(out: str, partitions: int, groups: int) -> Iterator[npt.NDArray[Any]]:
    for group in range(groups):
        found = [np.zeros(0, VERDICT)]
        for partition in range(partitions):
            with Spill(files.join(out, "verify", f"partition-{partition:05d}")) as spill:
                found.append(spill.read(0, group, dtype=VERDICT))
        rows = np.concatenate(found)
        if len(rows):
            yield rows[np.argsort(rows["id"])]
