"""Find documents that contain the text of forgotten ones: their duplicates, and conversations made from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import Ids, union
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.tables import JOINED, read_tables
from dataprep.core.output.layout import DROPS, Folder

CONVERSATION = "conversation"  # the column of `Turns`


@dataclass(frozen=True)
class Copy:
    """A duplicate of a forgotten document.

    Attributes:
        folder: the Dataset whose drop table has the pair.
        id: the id of the duplicate.
        of: the id of the forgotten document.
        stage: the stage that found the pair.
        similarity: 0 to 1; None if it was not measured.
        is_kept: True if the duplicate was kept and the forgotten document was dropped, False for the reverse.
    """

    folder: str
    id: int
    of: int
    stage: str
    similarity: float | None
    is_kept: bool


def joined_documents(folder: Folder, ids: Ids) -> Ids:
    """Return the ids of the documents (conversations) that were made from the messages `ids`.

    - folder: the Dataset in which the messages were joined.
    """
    return union(
        rows.filter(pc.and_(_is_in(rows["id"], ids), pc.equal(rows["reason"], JOINED)))["duplicate_of"].to_numpy()
        for rows in _drop_tables([folder])
    )


def windows_of_same(folder: Folder, ids: Ids) -> Ids:
    """Return the ids of all windows (training examples) of the conversations from which the windows `ids` were cut.

    All windows are needed, because a window repeats turns of the window before it.

    - folder: the Dataset of the windows.
    """
    docs = open_dataset(folder.url)
    rows = list(docs.batches(["id", CONVERSATION])) if CONVERSATION in docs.columns else []
    conversations = union(t[CONVERSATION].filter(_is_in(t["id"], ids)).to_numpy() for t in rows)
    return union(t["id"].filter(_is_in(t[CONVERSATION], conversations)).to_numpy() for t in rows)


def duplicates_of(folders: Iterable[Folder], ids: Ids) -> Iterator[Copy]:
    """Yield the duplicates of the documents `ids` within one Dataset.

    The duplicates are the documents that were dropped because one of `ids` was kept, and the documents that were kept
    instead of one of `ids`.

    - folders: the Dataset's saved steps, and last the Dataset itself.
    """
    given, (*_, home) = set(ids.tolist()), tuple(folders)
    for rows in _drop_tables(folders):
        pairs = rows.filter(pc.and_(pc.is_null(rows["duplicate_of_dataset"]), pc.not_equal(rows["reason"], JOINED)))
        pairs = pairs.filter(pc.is_valid(pairs["duplicate_of"]))
        dropped, kept = (_is_in(pairs[name], ids) for name in ("duplicate_of", "id"))
        for row in pairs.filter(pc.xor(dropped, kept)).to_pylist():
            is_kept = row["duplicate_of"] not in given
            one, other = (row["duplicate_of"], row["id"]) if is_kept else (row["id"], row["duplicate_of"])
            yield Copy(home.url, one, other, row["stage"], row["similarity"], is_kept)


def dropped_ids(folders: Iterable[Folder], ids: Ids) -> Ids:
    """Return those of `ids` that one of the Datasets `folders` dropped, as their drop tables state."""
    return union(rows["id"].filter(_is_in(rows["id"], ids)).to_numpy() for rows in _drop_tables(folders))


def _is_in(column: pa.ChunkedArray, ids: Ids) -> pa.ChunkedArray:
    return pc.is_in(column, pa.array(ids, pa.uint64()))


def _drop_tables(folders: Iterable[Folder]) -> Iterator[pa.Table]:
    """Yield the rows of the drop tables of complete Datasets and of pruned steps."""
    for folder in folders:
        for batch in read_tables(folder.url, DROPS):
            yield pa.Table.from_batches([batch])
