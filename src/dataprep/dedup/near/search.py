"""The five passes of deduplication, one barrier a line: sign, match, cluster, gather; verify; then the verdicts.

The first four make an *index*: every candidate's contents, beside those it meets. It does not depend on the threshold,
so where it is kept another threshold only verifies again. It holds sets and not similarities of pairs: pairs of
documents that one threshold drops and another keeps are quadratic in a bucket, the sets are linear, and `verify` goes
through 2.5 GB of them a second. What was decided, with its similarity, is the verdict table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.core.dataset import Dataset
from dataprep.core.runner import Runner
from dataprep.core.tables import VERDICTS, write_verdicts
from dataprep.dedup.keep import Keep
from dataprep.errors import DataprepError
from dataprep.store import files, receipts
from dataprep.store.spill import Spill

from .cluster import Cluster
from .gather import Gather, n_partitions
from .match import Match, key_ranges
from .older import Old
from .reuse import beside, unsigned
from .sign import Sign, Signed, place
from .sketch import Sketch
from .verify import VERDICT, Rule, Verify

MAX_DOCS = 2**32 - 1
MAX_GROUPS = 256  # files are opened once a group when verdicts are brought back to their parts
TEMPORARY = ("match", "cluster", "cluster.json", "verify")
INDEX = ("index.json", "sign", "rows", "gather")
FACTS = ("documents", "edges", "candidates", "largest_component", "compared", "dropped")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is looked for: `key` covers everything but where it lies, `index` everything but the threshold too."""

    sketch: Sketch
    keep: Keep
    names: tuple[str, str]  # of the stage, for progress bars, and of the reason, for the verdicts
    key: str
    index: str | None = None  # None: the index is removed in the end
    signing: str = ""  # the key of what decides a document's keys
    contained: bool = False
    old: tuple[Old, ...] = ()


def find(
    docs: Dataset, run: Runner, out: str, *, sketch: Sketch, keep: Keep, names: tuple[str, str], key: str, **more: Any
) -> tuple[str, dict[str, Any]]:
    """Find the duplicates in `docs`: the URL of the verdict table, and what was counted on the way.

    `names`: of the stage, for progress bars, and of the reason, for the verdicts. `more`: see `Question`.

    Memory: 5 bytes a document and 8 a candidate while clustering, else a bounded amount a worker. Disk under `out`
    while it runs, and after it if the index is kept: 12 bytes a key and document, and the contents of the candidates.
    """
    asked = Question(sketch=sketch, keep=keep, names=names, key=key, **more)
    receipt = files.join(out, "verdicts.json")
    facts = receipts.valid(receipt, key) or receipts.once(receipt, key, lambda: _find(docs, run, out, asked))
    for name in (*TEMPORARY, *(() if asked.index else INDEX)):  # not needed once there are verdicts
        files.remove(files.join(out, name))
    return files.join(out, "verdicts.parquet"), {name: facts[name] for name in FACTS}


def _find(docs: Dataset, run: Runner, out: str, asked: Question) -> dict[str, Any]:
    key = asked.index or asked.key
    where = next((f for f in (out, *(beside(out) if asked.index else ())) if _is_index(f, key)), None)
    if where is None:
        where = out
        files.remove(files.join(out, "index.json"))
    parts = [*(part for old in asked.old for part in old.docs.parts), *docs.parts]
    index = receipts.once(files.join(where, "index.json"), key, lambda: _index(docs, run, out, key, asked))
    counts = [len(old.docs.parts) for old in asked.old]
    origins = tuple(np.repeat(np.arange(len(counts) + 1), [*counts, len(docs.parts)]).tolist())
    groups = min(len(parts), MAX_GROUPS)
    rule = Rule(float(asked.sketch.threshold), asked.contained)
    verify = Verify(out, asked.key, where, asked.sketch.bands, rule, origins, groups)
    decided = list(run.map(verify, range(index["partitions"]), f"{asked.names[0]}: verify"))
    url = files.join(out, "verdicts.parquet")
    homes = [*(old.given for old in asked.old), None]
    write_verdicts(url, _in_order(out, index["partitions"], groups, asked.names[1], homes))
    compared, dropped = (sum(d[name] for d in decided) for name in ("compared", "dropped"))
    return {**index, "files": [url], "compared": compared, "dropped": dropped}


def _is_index(folder: str, key: str) -> bool:
    """Whether a step's folder holds the whole index of this key."""
    record = receipts.valid(files.join(folder, "index.json"), key)
    gathered = (files.join(folder, "gather", f"part-{n:05d}.json") for n in range(record["parts"] if record else 0))
    return record is not None and all(receipts.valid(receipt, key) is not None for receipt in gathered)


def _index(docs: Dataset, run: Runner, out: str, key: str, asked: Question) -> dict[str, Any]:
    """Sign, match, cluster, gather: what is known of the documents before a threshold is."""
    name, sketch = asked.names[0], asked.sketch
    items = unsigned(docs, asked.old, out, asked.signing or key)
    signed = list(run.map(Sign(out, sketch), items, f"{name}: sign"))
    parts = tuple(_signed(out, number, r) for number, r in enumerate(signed))
    bases, n_docs = _number([part.docs for part in parts])
    n_old = len(items) - len(docs.parts)
    first_new = bases[n_old] if docs.parts else n_docs
    ranges = key_ranges(n_docs, sketch.bands)
    matched = list(run.map(Match(out, key, parts, bases, first_new), ranges, f"{name}: match"))
    cluster = Cluster(out, key, parts, bases, n_docs, len(ranges), 24 + 32 * sketch.bands)
    found = next(iter(run.map(cluster, [0], f"{name}: cluster")))
    partitions = n_partitions(found["cost"])
    list(run.map(Gather(out, key, sketch, asked.keep, partitions, n_old), items, f"{name}: gather"))
    how = Counter(receipt["how"] for receipt in signed)
    return {
        "documents": sum(receipt["live"] for receipt in signed[n_old:]),
        "edges": sum(m["edges"] for m in matched),
        **{k: found[k] for k in ("candidates", "largest_component")},
        "partitions": partitions,
        "parts": len(items),
        "old_parts": n_old,
        "keys": {k: how[k] for k in ("signed", "found", "borrowed")},  # how the parts came by them
    }


def _signed(out: str, number: int, receipt: dict[str, Any]) -> Signed:
    keys = tuple(place(out, ref) for ref in receipt["keys"])
    return Signed(files.join(out, "rows", f"part-{number:05d}"), keys, receipt["docs"])


def _number(counts: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The number of every part's first document, and how many documents there are."""
    n_docs = sum(counts)
    if n_docs > MAX_DOCS:
        msg = f"deduplication numbers documents in 32 bits; there are {n_docs:,}: split the input, or join messages"
        raise DataprepError(msg)
    return tuple(np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int).tolist()) if counts else (), n_docs


def _in_order(out: str, partitions: int, groups: int, reason: str, homes: Sequence[str | None]) -> Iterator[pa.Table]:
    """The verdicts of all partitions together, in order of ids, a group of parts at a time."""
    for group in range(groups):
        found = [np.zeros(0, VERDICT)]
        for partition in range(partitions):
            with Spill(files.join(out, "verify", f"partition-{partition:05d}")) as spill:
                found.append(spill.read(0, group, dtype=VERDICT))
        rows = np.concatenate(found)
        rows = rows[np.argsort(rows["id"])]
        home = pa.DictionaryArray.from_arrays(pa.array(rows["origin"]), pa.array(homes, pa.string()))
        columns = [rows["id"], pa.repeat(reason, len(rows)), home.cast(pa.string()), rows["kept"], rows["similarity"]]
        yield pa.Table.from_arrays([pa.array(c) if isinstance(c, np.ndarray) else c for c in columns], VERDICTS.names)
