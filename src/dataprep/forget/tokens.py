"""Remove documents from token shards: only the shards that contain them are written again, under new names.

The manifest changes in one step from the old shards to the new ones, and its `generation` is raised, so that training
does not resume from a checkpoint of the old shards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import Ids
from dataprep.core.output.layout import MANIFEST, Folder
from dataprep.store import files
from dataprep.tokens.shards.claim import PIECES, swept
from dataprep.tokens.shards.provenance import read_docs
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.writer import Writer, copy_ranges, manifest_bytes

BLOCK_TOKENS = 1 << 22  # copied at a time


def remove_token_documents(path: str, ids: Mapping[str | None, Ids], note: Mapping[str, str]) -> int:
    """Remove documents from a folder of token shards (encoded documents), and return how many were in it.

    ids: the ids to remove, by source of the mixture; the ids with the key None are removed from all sources. note:
    fields to set in the manifest.
    """
    shards = Shards.open(path)
    old = shards.manifest
    generation = old.get("generation", 0) + 1
    entries, n = [], 0
    for number, entry in enumerate(shards.shards):
        drop = _hits(shards, entry["name"], ids)
        n += int(drop.sum())
        if not drop.any():
            entries.append(entry)
        elif not drop.all():  # an empty shard is left out
            entries.append(_rewritten(shards, number, drop, generation))
    new = {**old, **note}
    if n:
        totals = {name: sum(e[name] for e in entries) for name in ("tokens", "documents", "bytes")}
        new |= {**totals, "generation": generation, "shards": entries}
    if new != old:
        files.write_bytes(Folder(path).path(MANIFEST), manifest_bytes(new))
    swept(Shards.open(path))
    return n


def remove_chunks(path: str) -> None:
    """Remove the files that an interrupted `encode` left in the folder `path`; the next run makes them again."""
    for name in files.listdir(path):
        if PIECES.fullmatch(name):
            files.remove(files.join(path, name))


def _hits(shards: Shards, name: str, ids_by_source: Mapping[str | None, Ids]) -> npt.NDArray[np.bool_]:
    """Return which documents of a shard are to be removed, bool[n]."""
    table = read_docs(str(shards.path), name, ["id", "source"])
    found = np.zeros(len(table), bool)
    for source, ids in ids_by_source.items():
        hit = np.isin(table["id"].to_numpy(), ids)
        if source is not None and hit.any():
            mine = pc.or_(pc.equal(table["source"], source), pc.starts_with(table["source"], f"{source}/"))
            hit &= mine.combine_chunks().to_numpy(zero_copy_only=False).astype(bool)
        found |= hit
    return found


def _rewritten(shards: Shards, number: int, drop: npt.NDArray[np.bool_], generation: int) -> dict[str, Any]:
    """Write a shard without the documents, under the name of its generation; return its entry for the manifest."""
    old = shards.shards[number]
    sizes = shards.token_bytes
    table = read_docs(str(shards.path), old["name"], ["id", "source"])
    writer = Writer(shards.path, old["split"], 0, dtype=shards.manifest["dtype"])
    writer.name = f"{re.sub(r'[.]g[0-9]+$', '', old['name'])}.g{generation}"
    with writer as shard:
        for start, stop, first, last in _kept_ranges(shards.ends(number), drop):
            tokens = np.asarray(shards.memmaps()[number][first:last])
            mask = shards.masks()[number]
            rows = table.slice(start, stop - start)
            ends = np.asarray(shards.ends(number)[start:stop]) - np.uint64(first)
            n_bytes = 0 if sizes is None else int(sizes[tokens].sum(dtype=np.int64))
            sources = rows["source"].cast(pa.string()).combine_chunks()
            learned = None if mask is None else np.asarray(mask[first:last])
            shard.add(tokens, ends, rows["id"].to_numpy(), sources, n_bytes, learned)
    return shard.entry


def _kept_ranges(ends: npt.NDArray[np.uint64], drop: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the documents to keep as runs (start, stop, first token, last token + 1)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], drop, [True]]).astype(np.int8)))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield from copy_ranges(np.asarray(ends), start, stop, BLOCK_TOKENS)
