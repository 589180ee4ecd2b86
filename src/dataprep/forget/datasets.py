"""Take documents out of a sealed Dataset: only the shards that hold them are written again, under a new name.

The manifest changes in one step from the old shards to the new ones; what is done before and after it can be done
again, so a killed run is repeated and ends in the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from dataprep.core import batch as B
from dataprep.core.batch import Batch, Ids
from dataprep.core.folder import MANIFEST, RECIPE
from dataprep.core.forget_list import REASON, noted, write_list
from dataprep.core.part import FORGET, Sealed
from dataprep.core.reader import Slice
from dataprep.core.seal import write_shard
from dataprep.core.stats import Amount, StageStats
from dataprep.core.tables import DROPS
from dataprep.store import files

Removed = dict[str, Amount]  # by source


def erase(url: str, gone: Ids, on_list: Ids, *, is_step: bool = False) -> int:
    """Take documents out of a Dataset; returns how many were in it.

    gone: ids, ascending. on_list: all of its forget list, which the manifest notes. is_step: a saved step, whose
    removals the Dataset's own drop table tells.
    """
    place = files.join(url, MANIFEST)
    old = files.read_json(place)
    generation = old.get("generation", 0) + 1
    ids_by_shard = {s["name"]: _hits(url, s, gone) for s in old["shards"]}
    hit = {name: ids for name, ids in ids_by_shard.items() if len(ids)}
    removed: Removed = {}
    shards = [_rewritten(url, s, gone, generation, removed) if s["name"] in hit else s for s in old["shards"]]
    if not is_step:
        for name, ids in hit.items():
            _tell_drops(url, name, ids)
    new = old | {"shards": shards, "stats": _scrubbed(old.get("stats", []), gone)} | noted(on_list)
    if hit:
        new |= {"docs": sum(s["docs"] for s in shards), "bytes": sum(s["bytes"] for s in shards)}
        new |= {"content": xxhash.xxh3_128_hexdigest("".join(s["content"] for s in shards).encode())}
        new |= {"generation": generation, "stats": _booked(new["stats"], removed)}
    if new != old:
        files.write_json(place, new)
    _settle(url, new, gone, on_list)
    return sum(map(len, hit.values()))


def unfinished(url: str, on_list: Ids) -> None:
    """A Dataset that was never finished loses its parts: they are read again, without what is on the list."""
    for name in ("receipts", "data", "drops", "cuts"):
        files.remove(files.join(url, name))
    _note(url, on_list)


def _note(url: str, on_list: Ids) -> None:
    place = files.join(url, RECIPE)
    if files.exists(place):
        recipe = files.read_json(place)
        if recipe != recipe | noted(on_list):
            files.write_json(place, recipe | noted(on_list))


def _hits(url: str, shard: dict[str, Any], gone: Ids) -> Ids:
    """Which of the documents a shard holds."""
    if not len(gone) or shard["last_id"] is None or int(shard["last_id"]) < int(gone[0]):
        return np.zeros(0, np.uint64)
    return held(files.join(url, shard["name"]), gone)


def held(place: str, ids: Ids) -> Ids:
    """Those of the ids that a Parquet file holds; only the row groups that may hold one are read."""
    with files.open_raw(place) as f:
        parquet = pq.ParquetFile(f)
        column = parquet.schema_arrow.names.index("id")
        found = [np.zeros(0, np.uint64)]
        for i in range(parquet.metadata.num_row_groups):
            told_of = parquet.metadata.row_group(i).column(column).statistics
            bounds = (0, 2**64 - 1) if told_of is None or not told_of.has_min_max else (told_of.min, told_of.max)
            first, stop = np.searchsorted(ids, np.array(bounds, np.uint64))
            if first < len(ids) and (first < stop or ids[first] == bounds[1]):
                found.append(np.intersect1d(parquet.read_row_group(i, columns=["id"])["id"].to_numpy(), ids))
    return np.unique(np.concatenate(found))


def _rewritten(url: str, shard: dict[str, Any], gone: Ids, generation: int, removed: Removed) -> dict[str, Any]:
    """The shard without these documents, under the name of its generation; its entry in the manifest."""
    name = re.sub(r"(\.g\d+)?\.parquet$", f".g{generation}.parquet", shard["name"])
    place, new = files.join(url, shard["name"]), files.join(url, name)
    with files.open_raw(place) as f:
        parquet = pq.ParquetFile(f)
        group = parquet.metadata.row_group(0)
        codec = "zstd" if group.column(0).compression == "ZSTD" else "lz4"
        columns = [(field.name, _coded(field, group, i)) for i, field in enumerate(parquet.schema_arrow)]
    reader = Sealed(extra=tuple((n, kind) for n, kind in columns if n not in B.FIXED))
    batches = _kept(reader.read(Slice(place, 0), None), gone, removed)
    facts = write_shard(batches, new, codec, [n for n, _ in columns])
    facts.pop("columns")
    stored = {"size": files.size(new), "hash": files.content_hash(new)}
    return {**shard, **facts, "name": name, **stored, "sealed": shard.get("sealed", shard["hash"])}


def _coded(field: pa.Field, group: Any, i: int) -> str:
    """What Sealed reads as a dictionary: the columns that are stored as one."""
    return "dictionary" if group.column(i).has_dictionary_page else str(field.type)


def _kept(batches: Iterator[Batch], gone: Ids, removed: Removed) -> Iterator[Batch]:
    """The rows that stay; those that go are counted."""
    for batch in batches:
        is_gone = np.isin(B.ids(batch), gone)
        sizes = B.lengths(batch)
        for row in np.flatnonzero(is_gone).tolist():
            removed.setdefault(batch.column("source")[row].as_py(), Amount()).__iadd__(Amount(1, int(sizes[row])))
        yield batch.filter(pa.array(~is_gone)) if is_gone.any() else batch


def _part(shard_name: str) -> str:
    """The part that a shard belongs to, which its receipt and tables are named by."""
    return files.name_of(shard_name).rpartition("-")[0]


def _tell_drops(url: str, shard_name: str, ids: Ids) -> None:
    """Add the documents to the drop table of their part, once."""
    place = files.join(url, "drops", f"{_part(shard_name)}.parquet")
    with files.open_raw(place) as f:
        table = pq.read_table(f, schema=DROPS)
    there = [row["id"] for row in table.select(["id", "stage"]).to_pylist() if row["stage"] == FORGET]
    new = np.setdiff1d(ids, np.array(there, np.uint64))
    if not len(new):
        return
    n = len(new)
    rows = {"id": pa.array(new), "stage": pa.repeat(FORGET, n), "reason": pa.repeat(REASON, n)}
    columns = [rows[f.name].cast(f.type) if f.name in rows else pa.nulls(n, f.type) for f in DROPS]
    with files.atomic(place) as out:
        both = pa.concat_tables([table, pa.Table.from_arrays(columns, schema=DROPS)])
        pq.write_table(both.sort_by("id"), out, compression="zstd", row_group_size=1 << 16)


def _scrubbed(books: list[dict[str, Any]], gone: Ids) -> list[dict[str, Any]]:
    """The books without examples of these documents: they quote the text."""
    known = set(gone.tolist())

    def left(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [e for e in found if int(e["id"]) not in known]

    return [
        book | {"examples": {reason: kept for reason, found in book["examples"].items() if (kept := left(found))}}
        for book in books
    ]


def _booked(books: list[dict[str, Any]], removed: Removed) -> list[dict[str, Any]]:
    """The books and a last one, of what was forgotten; a Dataset without books stays without."""
    if not books:
        return books
    stages = [StageStats.from_json(book) for book in books]
    if stages[-1].name != FORGET:
        none = StageStats(FORGET)
        for amounts in (none.into, none.out):
            amounts |= {source: Amount(a.docs, a.bytes) for source, a in stages[-1].out.items()}
        stages.append(none)
    dropped = stages[-1].dropped.setdefault(REASON, {})
    for source, amount in removed.items():
        dropped.setdefault(source, Amount()).__iadd__(amount)
        stages[-1].out.setdefault(source, Amount()).__iadd__(Amount(-amount.docs, -amount.bytes))
    return [*books[: len(stages) - 1], stages[-1].to_json()]


def _settle(url: str, manifest: dict[str, Any], gone: Ids, on_list: Ids) -> None:
    """Bring receipts and recipe in line with the manifest, and remove the shards that it no longer names."""
    by_part: dict[str, list[dict[str, Any]]] = {}
    for shard in manifest["shards"]:
        by_part.setdefault(_part(shard["name"]), []).append(shard)
    for name in files.listdir(files.join(url, "receipts")):
        place = files.join(url, "receipts", name)
        receipt = files.read_json(place)
        new = _receipt(url, receipt, by_part.get(name.removesuffix(".json"), []), gone)
        if new != receipt:
            files.write_json(place, new)
    _note(url, on_list)
    known = {shard["name"] for shard in manifest["shards"]}
    for name in files.listdir(files.join(url, "data")):
        if f"data/{name}" not in known:
            files.remove(files.join(url, "data", name))


def _receipt(url: str, receipt: dict[str, Any], shards: list[dict[str, Any]], gone: Ids) -> dict[str, Any]:
    columns: list[Any] = next((s["columns"] for s in receipt["shards"] if "columns" in s), [])
    facts = [{k: s[k] for k in ("docs", "bytes", "last_id", "content", "name")} | {"columns": columns} for s in shards]
    tables = [_stored(url, file["name"]) for file in receipt["files"] if "/data/" not in file["name"]]
    stored = [{"name": f"../{s['name']}", "size": s["size"], "hash": s["hash"]} for s in shards]
    return receipt | {"shards": facts, "files": [*tables, *stored], "stats": _scrubbed(receipt["stats"], gone)}


def _stored(url: str, name: str) -> dict[str, Any]:
    place = files.join(url, name.removeprefix("../"))
    return {"name": name, "size": files.size(place), "hash": files.content_hash(place)}


def write_lists(url: str, ids: Ids, before: Ids) -> Ids:
    """Add ids to the forget list of a folder; all of it."""
    both = np.union1d(before, ids)
    if len(both) > len(before):
        write_list(url, both)
    return both
