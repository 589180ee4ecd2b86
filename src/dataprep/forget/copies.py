"""Who carries the same text as a forgotten document: drop tables name a duplicate and its survivor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.core.batch import Ids
from dataprep.history.table_rows import read_tables
from dataprep.store import files

from .family import Node

TALK = "conversation"  # the column of `Turns`
JOINED = "joined"  # a message that became part of the document `kept`


@dataclass(frozen=True)
class Copy:
    """A document that a deduplication took for the same as a forgotten one."""

    folder: str
    id: int
    of: int
    stage: str
    similarity: float | None
    is_kept: bool  # the survivor: its text is still there; else it was dropped for the forgotten one


def joined(folder: str, ids: Ids) -> Ids:
    """The documents that these were made part of in the pass that wrote a folder: talks of forgotten messages."""
    found = [np.zeros(0, np.uint64)]
    for rows in _rows([folder]):
        mine = rows.filter(pc.and_(_is_in(rows["id"], ids), pc.equal(rows["reason"], JOINED)))
        found.append(mine["kept"].to_numpy())
    return np.unique(np.concatenate(found))


def together(one: Node, ids: Ids) -> Ids:
    """All windows of the talks that these are windows of: a window repeats turns of the one before."""
    rows = [t for t in _windows(one) if t is not None]
    talks = [t[TALK].filter(_is_in(t["id"], ids)).to_numpy() for t in rows]
    mine = np.unique(np.concatenate([np.zeros(0, np.uint64), *talks]))
    found = [t["id"].filter(_is_in(t[TALK], mine)).to_numpy() for t in rows]
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *found]))


def _windows(one: Node) -> Iterator[pa.Table | None]:
    """The ids and talks of a Dataset that `Turns` made, shard by shard."""
    for shard in one.manifest.get("shards", []):
        with files.open_raw(files.join(one.url, shard["name"])) as f:
            parquet = pq.ParquetFile(f)
            yield parquet.read(["id", TALK]) if TALK in parquet.schema_arrow.names else None


def copies(node: Node, ids: Ids) -> Iterator[Copy]:
    """The duplicates of these documents, and the documents that they were duplicates of; only of this Dataset."""
    those = set(ids.tolist())
    for rows in _rows(_places(node)):
        alike = rows.filter(pc.and_(pc.is_null(rows["kept_in"]), pc.not_equal(rows["reason"], JOINED)))
        alike = alike.filter(pc.is_valid(alike["kept"]))
        dropped, kept = (_is_in(alike[name], ids) for name in ("kept", "id"))
        for row in alike.filter(pc.xor(dropped, kept)).to_pylist():
            is_kept = row["kept"] not in those
            one, other = (row["kept"], row["id"]) if is_kept else (row["id"], row["kept"])
            yield Copy(node.url, one, other, row["stage"], row["similarity"], is_kept)


def known(node: Node, ids: Ids) -> Ids:
    """Which ids a Dataset's drop table names."""
    found = [rows["id"].filter(_is_in(rows["id"], ids)).to_numpy() for rows in _rows(_places(node))]
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *found]))


def _is_in(column: pa.ChunkedArray, ids: Ids) -> pa.ChunkedArray:
    return pc.is_in(column, pa.array(ids, pa.uint64()))


def _rows(places: Sequence[str]) -> Iterator[pa.Table]:
    """The drop tables of some folders."""
    for place in places:
        for batch in read_tables(place, "drops"):
            yield pa.Table.from_batches([batch])


def _places(node: Node) -> Sequence[str]:
    """A Dataset and its saved steps."""
    return [one.url for one in node.datasets if one.manifest]
