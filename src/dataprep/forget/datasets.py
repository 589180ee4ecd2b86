"""Remove documents from a sealed (finished) Dataset: only the shards that hold them are written again.

New shards have new names, and the manifest changes in one step from the old shards to the new ones. All other work can
be repeated; so after a killed process, the same call again results in the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash

from dataprep.core.model import batch as B
from dataprep.core.model import tables
from dataprep.core.model.batch import Batch, Ids
from dataprep.core.model.describe import FORGET
from dataprep.core.model.part import Sealed
from dataprep.core.model.reader import Slice
from dataprep.core.model.stats import Amount, StageStats
from dataprep.core.output import owned
from dataprep.core.output.forget_list import REASON, noted, write_list
from dataprep.core.output.layout import DATA, DROPS, MANIFEST, PART_FILES, RECIPE, Folder, part_of
from dataprep.core.run.seal import write_shard
from dataprep.store import files, receipts

Removed = dict[str, Amount]  # by source


def remove_documents(url: str, ids: Ids, forget_list: Ids, *, is_step: bool = False) -> int:
    """Remove documents from a sealed (finished) Dataset, and return how many were in it.

    url: the Dataset's folder. ids: the documents' ids, ascending. forget_list: all ids on the folder's list, whose hash
    is written to the manifest. is_step: True for a saved step, whose removals are recorded in the drop table of its
    Dataset.
    """
    folder = Folder(url)
    old = folder.manifest
    generation = old.get("generation", 0) + 1
    ids_by_shard = {s["name"]: _hits(url, s, ids) for s in old["shards"]}
    hit = {name: found for name, found in ids_by_shard.items() if len(found)}
    removed: Removed = {}
    shards = [_rewritten(url, s, ids, generation, removed) if s["name"] in hit else s for s in old["shards"]]
    if not is_step:
        for name, found in hit.items():
            _add_drops(folder, name, found)
    new = old | {"shards": shards, "stats": _without_examples(old.get("stats", []), ids)} | noted(forget_list)
    if hit:
        new |= {"docs": sum(s["docs"] for s in shards), "bytes": sum(s["bytes"] for s in shards)}
        new |= {"content": xxhash.xxh3_128_hexdigest("".join(s["content"] for s in shards).encode())}
        new |= {"generation": generation, "stats": _with_forgotten(new["stats"], removed)}
    if new != old:
        files.write_state(folder.path(MANIFEST), new)
    _settle(folder, new, ids, forget_list)
    return sum(map(len, hit.values()))


def remove_parts(url: str, forget_list: Ids) -> None:
    """Remove the files of an unfinished Dataset's parts; the next run makes the parts without the forgotten documents.

    forget_list: all ids on the folder's list, whose hash is written to the recipe.
    """
    owned.remove(url, PART_FILES)
    _note(Folder(url), forget_list)


def _note(folder: Folder, forget_list: Ids) -> None:
    """Write the digest of the forget list into the recipe, if there is one."""
    recipe = folder.recipe
    if recipe and recipe != recipe | noted(forget_list):
        files.write_state(folder.path(RECIPE), recipe | noted(forget_list))


def _hits(url: str, shard: dict[str, Any], ids: Ids) -> Ids:
    """Return those of the ids that a shard holds."""
    if not len(ids) or shard["last_id"] is None or int(shard["last_id"]) < int(ids[0]):
        return np.zeros(0, np.uint64)
    return ids_in_file(files.join(url, shard["name"]), ids)


def ids_in_file(url: str, ids: Ids) -> Ids:
    """Return those of `ids` (ascending) that occur in a Parquet file; only row groups that may contain one are read.

    Raises CorruptShard if the file is damaged.
    """
    with tables.checked(url), files.open_arrow(url) as f:
        parquet = pq.ParquetFile(f)
        found = []
        for i, bounds in enumerate(tables.id_bounds(parquet.metadata)):
            first, stop = np.searchsorted(ids, np.array(bounds, np.uint64))
            if first < len(ids) and (first < stop or ids[first] == bounds[1]):
                found.append(np.intersect1d(parquet.read_row_group(i, columns=["id"])["id"].to_numpy(), ids))
    return B.union(found)


def _rewritten(url: str, shard: dict[str, Any], ids: Ids, generation: int, removed: Removed) -> dict[str, Any]:
    """Write a shard without the documents, under the name of its generation; return its entry for the manifest."""
    name = re.sub(r"(\.g\d+)?\.parquet$", f".g{generation}.parquet", shard["name"])
    old, new = files.join(url, shard["name"]), files.join(url, name)
    with tables.checked(old), files.open_arrow(old) as f:
        parquet = pq.ParquetFile(f)
        group = parquet.metadata.row_group(0)
        codec = "zstd" if group.column(0).compression == "ZSTD" else "lz4"
        columns = [
            (field.name, "dictionary" if group.column(i).has_dictionary_page else str(field.type))
            for i, field in enumerate(parquet.schema_arrow)
        ]
    reader = Sealed(extra=tuple((n, kind) for n, kind in columns if n not in B.FIXED))
    batches = _kept(reader.read(Slice(old, 0), None), ids, removed)
    facts = write_shard(batches, new, codec, [n for n, _ in columns])
    facts.pop("columns")
    stored = {"size": files.size(new), "hash": files.content_hash(new)}
    return {**shard, **facts, "name": name, **stored, "sealed": shard.get("sealed", shard["hash"])}


def _kept(batches: Iterator[Batch], ids: Ids, removed: Removed) -> Iterator[Batch]:
    """Yield the rows of other documents, and add the removed ones to `removed`."""
    for batch in batches:
        drop = np.isin(B.ids(batch), ids)
        sizes = B.lengths(batch)
        for row in np.flatnonzero(drop).tolist():
            removed.setdefault(batch.column("source")[row].as_py(), Amount()).__iadd__(Amount(1, int(sizes[row])))
        yield batch.filter(pa.array(~drop)) if drop.any() else batch


def _add_drops(folder: Folder, shard_name: str, ids: Ids) -> None:
    """Add the documents to the drop table of their part, unless they are in it."""
    url = folder.path(DROPS, f"{part_of(shard_name)}.parquet")
    table = tables.read_rows(url, tables.DROPS)
    new = np.setdiff1d(ids, table.filter(pc.equal(table["stage"], FORGET))["id"].to_numpy())
    if not len(new):
        return
    rows = tables.new_rows(tables.DROPS, id=new, stage=FORGET, reason=REASON)
    both = pa.concat_tables([table, pa.Table.from_batches([rows])])
    with files.atomic(url) as out:
        pq.write_table(
            both.sort_by("id"), out, compression="zstd", row_group_size=1 << 16, write_page_checksum=True
        )


def _without_examples(stats: list[dict[str, Any]], ids: Ids) -> list[dict[str, Any]]:
    """Return statistics without examples of the documents, which quote their texts."""
    forgotten = set(ids.tolist())
    new = []
    for stage in stats:
        others = {why: [e for e in found if int(e["id"]) not in forgotten] for why, found in stage["examples"].items()}
        new.append(stage | {"examples": {why: found for why, found in others.items() if found}})
    return new


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


def _settle(folder: Folder, manifest: dict[str, Any], ids: Ids, forget_list: Ids) -> None:
    """Write receipts and recipe that agree with the manifest, and remove the shards that it does not name."""
    by_part: dict[str, list[dict[str, Any]]] = {}
    for shard in manifest["shards"]:
        by_part.setdefault(part_of(shard["name"]), []).append(shard)
    for url in folder.receipts():
        receipt = receipts.read(url, "shards", "stats")
        new = _receipt(folder, receipt, by_part.get(files.name_of(url).removesuffix(".json"), []), ids)
        if new != receipt:
            files.write_state(url, new)
    _note(folder, forget_list)
    known = {shard["name"] for shard in manifest["shards"]}
    owned.remove(folder.url, {f"{DATA}/{name}" for name in files.listdir(folder.path(DATA))} - known)


def _receipt(folder: Folder, receipt: dict[str, Any], shards: list[dict[str, Any]], ids: Ids) -> dict[str, Any]:
    columns: list[Any] = next((s["columns"] for s in receipt["shards"] if "columns" in s), [])
    facts = [{k: s[k] for k in ("docs", "bytes", "last_id", "content", "name")} | {"columns": columns} for s in shards]
    tables = [file["name"] for file in receipt["files"] if f"/{DATA}/" not in file["name"]]
    urls = {name: folder.path(name.removeprefix("../")) for name in tables}
    others = [{"name": n, "size": files.size(url), "hash": files.content_hash(url)} for n, url in urls.items()]
    stored = [{"name": f"../{s['name']}", "size": s["size"], "hash": s["hash"]} for s in shards]
    return receipt | {"shards": facts, "files": [*others, *stored], "stats": _without_examples(receipt["stats"], ids)}


def add_to_list(url: str, ids: Ids, before: Ids) -> Ids:
    """Add `ids` to the forget list of the folder `url`, which has the ids `before`; return the new list."""
    both = np.union1d(before, ids)
    if len(both) > len(before):
        write_list(url, both)
    return both
