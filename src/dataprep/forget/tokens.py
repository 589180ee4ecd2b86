"""Take documents out of token shards: only the shards that hold them are written again, under a new name.

The manifest changes in one step from the old shards to the new ones, and counts its generations: a checkpoint that was
made with the old ones is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.batch import Ids
from dataprep.store import files
from dataprep.tokens.shards.claim import swept
from dataprep.tokens.shards.provenance import read_docs
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.writer import Writer, copy_ranges

BLOCK_TOKENS = 1 << 22  # copied at a time


def erase_tokens(path: str, gone: Mapping[str | None, Ids], told: Mapping[str, str]) -> int:
    """Take documents out of a folder of token shards; returns how many were in it.

    gone: ids by the name of the mixture's source they are of; None is any. told: what the manifest notes of the list.
    """
    shards = Shards.open(path)
    old = shards.manifest
    generation = old.get("generation", 0) + 1
    entries, n = [], 0
    for number, entry in enumerate(shards.shards):
        is_gone = _hits(shards, entry["name"], gone)
        n += int(is_gone.sum())
        if not is_gone.any():
            entries.append(entry)
        elif not is_gone.all():  # of which nothing is left is no shard any more
            entries.append(_rewritten(shards, number, is_gone, generation))
    new = {**old, **told}
    if n:
        totals = {name: sum(e[name] for e in entries) for name in ("tokens", "documents", "bytes")}
        new |= {**totals, "generation": generation, "shards": entries}
    if new != old:
        text = json.dumps(new, indent=1, ensure_ascii=False)
        files.write_bytes(files.join(path, "manifest.json"), text.encode() + b"\n")
    swept(Shards.open(path))
    return n


def unfinished_tokens(path: str) -> None:
    """What an interrupted `encode` has left is made again."""
    for name in files.listdir(path):
        if name.startswith("pieces-"):
            files.remove(files.join(path, name))


def _hits(shards: Shards, name: str, gone: Mapping[str | None, Ids]) -> npt.NDArray[np.bool_]:
    table = read_docs(str(shards.path), name, ["id", "source"])
    found = np.zeros(len(table), bool)
    for source, ids in gone.items():
        hit = np.isin(table["id"].to_numpy(), ids)
        if source is not None and hit.any():
            mine = pc.or_(pc.equal(table["source"], source), pc.starts_with(table["source"], f"{source}/"))
            hit &= mine.combine_chunks().to_numpy(zero_copy_only=False).astype(bool)
        found |= hit
    return found


def _rewritten(shards: Shards, number: int, is_gone: npt.NDArray[np.bool_], generation: int) -> dict[str, Any]:
    """The shard without these documents, under the name of its generation; its entry in the manifest."""
    old = shards.shards[number]
    sizes = shards.token_bytes
    table = read_docs(str(shards.path), old["name"], ["id", "source"])
    writer = Writer(shards.path, old["split"], 0, dtype=shards.manifest["dtype"])
    writer.name = f"{re.sub(r'[.]g[0-9]+$', '', old['name'])}.g{generation}"
    with writer as shard:
        for start, stop, first, last in _kept_ranges(shards.ends(number), is_gone):
            tokens = np.asarray(shards.memmaps()[number][first:last])
            mask = shards.masks()[number]
            rows = table.slice(start, stop - start)
            ends = np.asarray(shards.ends(number)[start:stop]) - np.uint64(first)
            n_bytes = 0 if sizes is None else int(sizes[tokens].sum(dtype=np.int64))
            sources = rows["source"].cast(pa.string()).combine_chunks()
            learned = None if mask is None else np.asarray(mask[first:last])
            shard.add(tokens, ends, rows["id"].to_numpy(), sources, n_bytes, learned)
    return shard.entry


def _kept_ranges(ends: npt.NDArray[np.uint64], is_gone: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the documents to keep as runs (start, stop, first token, last token + 1)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], is_gone, [True]]).astype(np.int8)))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield from copy_ranges(np.asarray(ends), start, stop, BLOCK_TOKENS)
