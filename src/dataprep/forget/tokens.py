"""Remove documents from token shards: only the shards that contain them are written again, under new names.

The manifest changes in one step from the old shards to the new ones, and its `generation` is raised, so that training
does not resume from a checkpoint of the old shards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import Ids
from dataprep.core.output import owned
from dataprep.core.output.layout import RECIPE, REPLACED, UNFINISHED, Folder
from dataprep.core.output.state import Recipe, TokenShard
from dataprep.store import files
from dataprep.tokens.shards.folder import SHARD_FILE
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.writer import Writer, copy_ranges, save_manifest

BLOCK_TOKENS = 1 << 22  # copied at a time


def remove_token_documents(path: str, ids: Mapping[str | None, Ids], forgotten: str | None) -> int:
    """Remove documents from a folder of token shards (encoded documents), and return how many were in it.

    ids: the ids to remove, by source of the mixture; the ids with the key None are removed from all sources.
    forgotten: hash of all ids on the forget list of the folder.
    """
    remove_chunks(path)
    shards = Shards.open(path)
    old = shards.manifest
    generation = old.generation + 1
    entries, n = list[TokenShard](), 0
    for number, entry in enumerate(shards.shards):
        drop = _hits(shards, number, ids)
        n += int(drop.sum())
        if not drop.any():
            entries.append(entry)
        elif not drop.all():  # an empty shard is left out
            entries.append(_rewritten(shards, number, drop, generation))
    new = replace(old, forgotten=forgotten)
    if n:
        totals = {name: sum(getattr(one, name) for one in entries) for name in ("tokens", "documents", "bytes")}
        new = replace(new, **totals, generation=generation, shards=tuple(entries))
    if new != old:
        save_manifest(path, new)
    recipe = Folder(path).path(RECIPE)
    if files.exists(recipe):  # by which the next run knows the shards if the manifest is lost
        replace(Recipe.load(recipe), forgotten=forgotten, generation=new.generation).save(recipe)
    left = [name for name in files.listdir(path) if SHARD_FILE.fullmatch(name) and name not in new.names()]
    files.sweep(path)
    owned.remove(path, left)
    owned.settle(path)
    return n


def remove_chunks(path: str) -> None:
    """Remove what an interrupted `encode` left in the folder `path`, and the shards that were replaced there."""
    owned.remove(path, [UNFINISHED, REPLACED])


def _hits(shards: Shards, number: int, ids_by_source: Mapping[str | None, Ids]) -> npt.NDArray[np.bool_]:
    """Return which documents of a shard are to be removed, bool[n]."""
    table = shards.docs(number, ["id", "source"])
    found = np.zeros(len(table), bool)
    for source, ids in ids_by_source.items():
        hit = np.isin(table["id"].to_numpy(), ids)
        if source is not None and hit.any():
            mine = pc.or_(pc.equal(table["source"], source), pc.starts_with(table["source"], f"{source}/"))
            hit &= mine.combine_chunks().to_numpy(zero_copy_only=False).astype(bool)
        found |= hit
    return found


def _rewritten(shards: Shards, number: int, drop: npt.NDArray[np.bool_], generation: int) -> TokenShard:
    """Write a shard without the documents, under the name of its generation; return its entry for the manifest."""
    old = shards.shards[number]
    sizes = shards.token_bytes
    table = shards.docs(number, ["id", "source"])
    at = int(old.first_name.rpartition("-")[2])
    with Writer(shards.path, old.split, at, dtype=shards.manifest.dtype, generation=generation) as shard:
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
