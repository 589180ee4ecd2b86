"""Remove documents from a Dataset: its shards, its tables, its statistics and its receipts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash

from dataprep.core.model import batch as B
from dataprep.core.model import tables
from dataprep.core.model.batch import Batch, Ids
from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.core.model.describe import FORGET
from dataprep.core.model.part import Sealed
from dataprep.core.model.reader import Slice
from dataprep.core.model.stats import Amount, StageStats
from dataprep.core.model.view import KEY as VIEWED
from dataprep.core.output import owned
from dataprep.core.output.commit import Work
from dataprep.core.output.forget_list import REASON, remove_quotations, without_examples
from dataprep.core.output.layout import (
    DATA,
    PART_FILES,
    PRUNED,
    RECEIPTS,
    RECIPE,
    REPLACED,
    UNFINISHED,
    Folder,
    numbered,
)  # fmt: skip
from dataprep.core.output.records import Id
from dataprep.core.output.state import File, Manifest, Receipt, Shard, WrittenShard
from dataprep.core.run.seal import Flow, write_shard, write_table
from dataprep.store import files, receipts

from .rewrite import rewritten

Removed = dict[str, Amount]  # by source
CODEC_OF = {"ZSTD": "zstd", "LZ4": "lz4", "UNCOMPRESSED": "none"}  # by the name in Parquet


def remove_documents(folder: Folder, ids: Ids, forgotten: str | None, *, is_step: bool = False) -> int:
    """Remove documents from a sealed (finished) Dataset, and return how many were in it.

    - ids: the documents' ids, ascending.
    - forgotten: the hash of all ids on the folder's list, which the manifest states.
    - is_step: True for a saved step, whose removals are recorded in the drop table of its Dataset.
    """
    write = partial(_commit_without, ids=ids, is_step=is_step)
    return rewritten(folder, folder.sealed.recipe, forgotten, open_dataset, write)


def _commit_without(work: Work[Dataset], ids: Ids, *, is_step: bool) -> int:
    """Write the shards, tables and receipts that change, and commit them; return the number of removed documents."""
    folder, generation = Folder(work.out), work.recipe.generation
    owned.remove(work.out, [files.join(UNFINISHED, name) for name in PART_FILES])  # of a run that was stopped
    old = folder.sealed
    hits = {shard.name: found for shard in old.shards if len(found := ids_in_shard(folder, shard, ids))}
    removed: Removed = {}
    shards = [_rewritten(work, shard, ids, removed) if shard.name in hits else shard for shard in old.shards]
    if not is_step:
        for table in dict.fromkeys(shard.drops for shard in old.shards if shard.name in hits):
            gone = B.union(hits[one.name] for one in old.shards if one.drops == table and one.name in hits)
            _add_drops(folder, table, work.files.url(numbered(table, generation)), gone)
            new_name = numbered(table, generation)
            shards = [replace(shard, drops=new_name) if shard.drops == table else shard for shard in shards]
    stats = without_examples(old.stats, ids)
    new = replace(
        old, forgotten=work.recipe.forgotten, generation=generation, shards=tuple(shards),
        docs=sum(shard.docs for shard in shards), bytes=sum(shard.bytes for shard in shards),
        content=xxhash.xxh3_128_hexdigest("".join(shard.content for shard in shards).encode()),
        stats=_with_forgotten(stats, removed) if hits else stats,
    )  # fmt: skip
    _restate(work, old, new, ids)
    work.commit(new)
    return sum(map(len, hits.values()))


def remove_examples(folder: Folder, ids: Ids, forgotten: str | None) -> None:
    """Remove quotations of documents from a saved step of which `dataprep prune` left only the tables.

    Documents that a killed call left there, and documents that a rerun saved again, are removed too.

    - ids: the documents' ids, ascending.
    - forgotten: the hash of all ids on the folder's list, which the records state.
    """
    owned.remove(folder.url, [DATA, UNFINISHED, REPLACED])
    remove_quotations(folder, ids)
    record = folder.record
    assert record is not None, "it was pruned"
    replace(record, stats=without_examples(record.stats, ids), forgotten=forgotten).save(folder.path(PRUNED))
    if (recipe := folder.recipe) is not None:
        replace(recipe, forgotten=forgotten).save(folder.path(RECIPE))


def ids_in_shard(folder: Folder, shard: Shard, ids: Ids) -> Ids:
    """Return the given ids that a shard contains."""
    if not len(ids) or shard.last_id is None or shard.last_id < int(ids[0]):
        return B.NO_IDS
    return ids_in_file(folder.path(shard.name), ids)


def ids_in_file(url: str, ids: Ids) -> Ids:
    """Return those of `ids` (ascending) that occur in a Parquet file; only row groups that may contain one are read.

    Raises CorruptShard if the file is damaged.
    """
    found = []
    with tables.opened(url, tables.ID) as parquet:
        for i, bounds in enumerate(tables.id_bounds(parquet.metadata)):
            first, stop = np.searchsorted(ids, np.array(bounds, np.uint64))
            if first < len(ids) and (first < stop or ids[first] == bounds[1]):
                found.append(np.intersect1d(parquet.read_row_group(i, columns=["id"])["id"].to_numpy(), ids))
    return B.union(found)


def _rewritten(work: Work[Dataset], shard: Shard, ids: Ids, removed: Removed) -> Shard:
    """Write a shard without the documents, under the name of its generation; return its entry for the manifest."""
    name = numbered(shard.name, work.recipe.generation)
    old, new = files.join(work.out, shard.name), work.files.url(name)
    with tables.checked(old), files.open_arrow(old) as f:
        parquet = pq.ParquetFile(f)
        group = parquet.metadata.row_group(0)
        codec = CODEC_OF[group.column(0).compression]
        columns = [
            (field.name, "dictionary" if group.column(i).has_dictionary_page else str(field.type))
            for i, field in enumerate(parquet.schema_arrow)
        ]
        schema, stated = parquet.schema_arrow, (parquet.metadata.metadata or {}).get(VIEWED, b"").decode()
    reader = Sealed(extra=tuple((n, kind) for n, kind in columns if n not in B.FIXED))
    flow = Flow(_kept(reader.read(Slice(old, 0), None), ids, removed))
    facts = write_shard(flow, new, codec, schema, math.inf, stated)
    last, (size, digest) = facts.get("last_id"), files.stored(new)
    return replace(
        shard, name=name, docs=facts["docs"], bytes=facts["bytes"], content=facts["content"],
        last_id=None if last is None else Id(last), size=size, hash=digest,
        sealed=shard.sealed or shard.hash,
    )  # fmt: skip


def _kept(batches: Iterator[Batch], ids: Ids, removed: Removed) -> Iterator[Batch]:
    """Yield the rows of other documents, and add the removed ones to `removed`."""
    for batch in batches:
        drop = np.isin(B.ids(batch), ids)
        sizes = B.lengths(batch)
        for row in np.flatnonzero(drop).tolist():
            removed.setdefault(batch.column("source")[row].as_py(), Amount()).__iadd__(Amount(1, int(sizes[row])))
        yield batch.filter(pa.array(~drop)) if drop.any() else batch


def _add_drops(folder: Folder, name: str, new: str, ids: Ids) -> None:
    """Write the drop table `name` with the documents that it does not have yet.

    - new: URL of the new table.
    """
    table = tables.read_rows(folder.path(name), tables.DROPS)
    others = np.setdiff1d(ids, table.filter(pc.equal(table["stage"], FORGET))["id"].to_numpy())
    rows = tables.new_rows(tables.DROPS, id=others, stage=FORGET, reason=REASON)
    write_table(new, pa.concat_tables([table, pa.Table.from_batches([rows])]))


def _with_forgotten(stats: list[dict[str, Any]], removed: Removed) -> list[dict[str, Any]]:
    """Return statistics with the removed documents in a last stage; empty statistics stay empty."""
    if not stats:
        return stats
    stages = [StageStats.from_json(stage) for stage in stats]
    if stages[-1].name != FORGET:
        none = StageStats(FORGET)
        for amounts in (none.into, none.out):
            amounts |= {source: Amount(a.docs, a.bytes) for source, a in stages[-1].out.items()}
        stages.append(none)
    dropped = stages[-1].dropped.setdefault(REASON, {})
    for source, amount in removed.items():
        dropped.setdefault(source, Amount()).__iadd__(amount)
        stages[-1].out.setdefault(source, Amount()).__iadd__(Amount(-amount.docs, -amount.bytes))
    return [*stats[: len(stages) - 1], stages[-1].to_json()]


def _restate(work: Work[Dataset], old: Manifest, new: Manifest, ids: Ids) -> None:
    """Write the receipts (records of work) that change, so that they state the files of the new manifest."""
    pairs = list(zip(old.shards, new.shards, strict=True))
    now = {was.name: shard for was, shard in pairs}
    names = {was.name: shard.name for was, shard in pairs} | {was.drops: shard.drops for was, shard in pairs}
    for url, record in Folder(work.out).receipts().items():
        receipt = Receipt.of(receipts.stated(record, url), url)
        shards = tuple(_written(one, now.get(one.name)) for one in receipt.shards)
        made = tuple(_stored(work, one, names) for one in receipt.files)
        changed = replace(receipt, shards=shards, files=made, stats=without_examples(receipt.stats, ids))
        if changed != receipt:
            changed.save(work.unfinished.path(RECEIPTS, files.name_of(url)))


def _written(one: WrittenShard, now: Shard | None) -> WrittenShard:
    same = ("name", "docs", "bytes", "content", "last_id", "sealed")
    return one if now is None else replace(one, **{name: getattr(now, name) for name in same})


def _stored(work: Work[Dataset], one: File, names: Mapping[str, str]) -> File:
    """Return the current state of a file of a receipt.

    - names: {path in the folder: the new path}.
    """
    was = one.name.removeprefix("../")
    name = names.get(was, was)
    url = work.files.url(name)
    if name == was:
        return one
    size, digest = files.stored(url)
    return File(name=f"../{name}", size=size, hash=digest)
