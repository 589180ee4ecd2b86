"""Remove documents from token shards: only the shards that contain them are written again, under new names.

The hashes of these shards change, so training does not resume from a checkpoint of the old shards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import Ids
from dataprep.core.output.commit import Work
from dataprep.core.output.layout import Folder
from dataprep.core.output.state import TokenShard
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.writer import Writer, copy_ranges, runs_of

from .rewrite import rewritten

BLOCK_TOKENS = 1 << 22  # copied at a time


def remove_token_documents(folder: Folder, ids: Mapping[str | None, Ids], forgotten: str | None) -> int:
    """Remove documents from a folder of token shards (encoded documents), and return how many were in it.

    - ids: the ids to remove, by source of the mixture; the ids with the key None are removed from all sources.
    - forgotten: the hash of all ids that are left out of the folder.
    """
    assert folder.result is not None, "the token shards are complete"
    return rewritten(folder, folder.result, forgotten, Shards.open, partial(_commit_without, ids=ids))


def _commit_without(work: Work[Shards], ids: Mapping[str | None, Ids]) -> int:
    """Write the shards that change, and commit them; return the number of removed documents."""
    shards, n = Shards.open(work.out), 0
    entries = list[TokenShard]()
    for number, entry in enumerate(shards.shards):
        drop = _hits(shards, number, ids)
        n += int(drop.sum())
        if not drop.any():
            entries.append(entry)
        elif not drop.all():  # an empty shard is left out
            entries.append(_rewritten(shards, number, drop, work))
    totals = {name: sum(getattr(one, name) for one in entries) for name in ("tokens", "documents", "bytes")}
    recipe = work.recipe
    work.commit(replace(
        shards.manifest, **totals, shards=tuple(entries), forgotten=recipe.forgotten, generation=recipe.generation
    ))  # fmt: skip
    return n


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


def _rewritten(shards: Shards, number: int, drop: npt.NDArray[np.bool_], work: Work[Shards]) -> TokenShard:
    """Write a shard without the documents, under the name of its generation; return its entry for the manifest."""
    old, sizes = shards.shards[number], shards.token_bytes
    table, mask = shards.docs(number, ["id", "source"]), shards.masks()[number]
    ends, ids = np.asarray(shards.ends(number)), table["id"].to_numpy()
    at, places = int(old.first_name.rpartition("-")[2]), work.files
    with Writer(places.home, old.split, at, dtype=shards.manifest.dtype, generation=places.generation) as shard:
        kept = (block for run in runs_of(~drop) for block in copy_ranges(ends, *run, BLOCK_TOKENS))
        for start, stop, first, last in kept:
            tokens = np.asarray(shards.memmaps()[number][first:last])
            sources = table["source"].slice(start, stop - start).cast(pa.string()).combine_chunks()
            n_bytes = 0 if sizes is None else int(sizes[tokens].sum(dtype=np.int64))
            learned = None if mask is None else np.asarray(mask[first:last])
            shard.add(tokens, ends[start:stop] - np.uint64(first), ids[start:stop], sources, n_bytes, learned)
    return shard.entry
