"""Documents with the text of forgotten ones: their duplicates, and the conversations that they were joined to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.core.batch import Ids
from dataprep.core.folder import DROPS
from dataprep.history.table_rows import read_tables
from dataprep.store import files

from .family import Relative

CONVERSATION = "conversation"  # the column of `Turns`
JOINED = "joined"  # the reason of a message that became part of the document `kept`


@dataclass(frozen=True)
class Copy:
    """A duplicate of a forgotten document; is_kept: it was kept, and the forgotten one dropped for it."""

    folder: str
    id: int
    of: int
    stage: str
    similarity: float | None
    is_kept: bool


def joined_documents(node: Relative, ids: Ids) -> Ids:
    """Return the documents that messages were joined to in the pass that wrote a Dataset."""
    found = [np.zeros(0, np.uint64)]
    for rows in _drop_tables([node]):
        mine = rows.filter(pc.and_(_is_in(rows["id"], ids), pc.equal(rows["reason"], JOINED)))
        found.append(mine["kept"].to_numpy())
    return np.unique(np.concatenate(found))


def windows_of_same(node: Relative, ids: Ids) -> Ids:
    """Return all windows of the conversations of some windows; a window repeats turns of the one before."""
    rows = [t for t in _windows(node) if t is not None]
    conversations = [t[CONVERSATION].filter(_is_in(t["id"], ids)).to_numpy() for t in rows]
    mine = np.unique(np.concatenate([np.zeros(0, np.uint64), *conversations]))
    found = [t["id"].filter(_is_in(t[CONVERSATION], mine)).to_numpy() for t in rows]
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *found]))


def _windows(node: Relative) -> Iterator[pa.Table | None]:
    """Yield ids and conversations of a Dataset that `Turns` made, shard by shard."""
    for shard in node.manifest.get("shards", []):
        with files.open_raw(node.folder.path(shard["name"])) as f:
            parquet = pq.ParquetFile(f)
            yield parquet.read(["id", CONVERSATION]) if CONVERSATION in parquet.schema_arrow.names else None


def duplicates_of(node: Relative, ids: Ids) -> Iterator[Copy]:
    """Yield the duplicates of documents, and the documents that they were dropped for, inside one Dataset."""
    given = set(ids.tolist())
    for rows in _drop_tables(node.datasets):
        pairs = rows.filter(pc.and_(pc.is_null(rows["kept_in"]), pc.not_equal(rows["reason"], JOINED)))
        pairs = pairs.filter(pc.is_valid(pairs["kept"]))
        dropped, kept = (_is_in(pairs[name], ids) for name in ("kept", "id"))
        for row in pairs.filter(pc.xor(dropped, kept)).to_pylist():
            is_kept = row["kept"] not in given
            one, other = (row["kept"], row["id"]) if is_kept else (row["id"], row["kept"])
            yield Copy(node.url, one, other, row["stage"], row["similarity"], is_kept)


def dropped_ids(node: Relative, ids: Ids) -> Ids:
    """Return those of the ids that the drop tables of a Dataset name."""
    found = [rows["id"].filter(_is_in(rows["id"], ids)).to_numpy() for rows in _drop_tables(node.datasets)]
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *found]))


def _is_in(column: pa.ChunkedArray, ids: Ids) -> pa.ChunkedArray:
    return pc.is_in(column, pa.array(ids, pa.uint64()))


def _drop_tables(nodes: list[Relative]) -> Iterator[pa.Table]:
    """Yield the rows of the drop tables of complete Datasets."""
    for node in nodes:
        for batch in read_tables(node.url, DROPS) if node.manifest else ():
            yield pa.Table.from_batches([batch])
