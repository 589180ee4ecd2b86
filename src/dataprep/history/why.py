"""Find which stages of a run dropped a document or cut its text, and which document was kept in its place.

The functions take the folder of a run, or of one sealed Dataset with its saved steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.core.model.tables import AnyRow, Cut, Drop, row_object
from dataprep.core.output.layout import CUTS, DROPS
from dataprep.core.output.lineage import MemberFolder, family, left_out, other_ways
from dataprep.errors import PlanError

from .texts import DocumentsAsRead, pairs_of

MOST_CUTS = 1_000  # spans of one document that are read


@dataclass(frozen=True)
class Fate:
    """The decisions of the stages of a run about one document.

    Attributes:
        id: the document's id.
        drops: its drop, the drop of the document that was kept in its place, and so on, as a chain.
        cuts: the cuts in the document itself.
        survivor_in: the last folder that contains the document at the end of this chain; None if that document was
            dropped too.
        copies: if it was dropped, the ids of the same document in other ways that the last Dataset contains.
    """

    id: int
    drops: tuple[Drop, ...]
    cuts: tuple[Cut, ...]
    survivor_in: str | None
    copies: tuple[int, ...] = ()

    @property
    def survivor(self) -> int:
        """The id of the document finally kept in place of this one; its own id if it was not a duplicate."""
        return next((d.duplicate_of for d in reversed(self.drops) if d.duplicate_of is not None), self.id)

    @property
    def home(self) -> str | None:
        """The path of the Dataset of the document finally kept, if it belongs to another run; None: this run."""
        return self.drops[-1].duplicate_of_dataset if self.drops else None


def follow(url: str, id_: int) -> Fate:
    """Return the decisions of a run about the document `id_`: its drops, and the cuts in its text.

    - url: the run's folder.

    Raises PlanError if no Dataset and no drop table of the run has the document.
    """
    folders = family(url)
    drops: list[Drop] = []
    current = id_
    while (drop := _drop_of(folders, current)) is not None:
        drops.append(drop)
        if (
            drop.duplicate_of is None
            or drop.duplicate_of_dataset is not None
            or drop.duplicate_of in {d.id for d in drops}
        ):
            break
        current = drop.duplicate_of
    dropped = bool(drops) and drops[-1].id == current
    survivor_in = None if dropped else next((f.url for f in reversed(folders) if _row(f, current) is not None), None)
    if not drops and survivor_in is None:
        shown = f"{id_ >> 40}:{id_ & (1 << 40) - 1}"
        msg = f"there is no document {shown} in {url}; `dataprep inspect` prints ids. {left_out(url)}".rstrip(". ")
        raise PlanError(msg)
    others = other_ways(folders, current) if dropped else []
    copies = tuple(one for one in others if _row(folders[-1], one) is not None)
    return Fate(id_, tuple(drops), tuple(_cuts_of(folders, id_)), survivor_in, copies)


def find_document(url: str, id_: int) -> dict[str, Any] | None:
    """Return a document's columns from a run's folder `url`, or None, as `DocumentsAsRead.row` does."""
    return DocumentsAsRead(url, [id_]).row(id_)


def dropped_document(url: str, drop: Drop) -> dict[str, Any] | None:
    """Return a dropped document's columns from a run's folder `url`, or None, as `DocumentsAsRead.dropped` does."""
    return DocumentsAsRead(url, [drop.id]).dropped(drop)


def survivor(url: str, drop: Drop) -> dict[str, Any] | None:
    """Return the document kept in place of a dropped one, or None, as `DocumentsAsRead.survivor` does."""
    return pairs_of(url, [drop]).survivor(drop)


def text_as_read(url: str, id_: int, folder: str, stage: str) -> bytes | None:
    """Return the UTF-8 text of a document as one stage read it, or None, as `DocumentsAsRead.text` does."""
    return DocumentsAsRead(url, [id_]).text(id_, folder, stage)


def _drop_of(folders: Sequence[MemberFolder], id_: int) -> Drop | None:
    return next(_rows(Drop, DROPS, folders, id_), None)


def _cuts_of(folders: Sequence[MemberFolder], id_: int) -> Iterator[Cut]:
    return itertools.islice(_rows(Cut, CUTS, folders, id_), MOST_CUTS)


def _rows(row: type[AnyRow], kind: str, folders: Sequence[MemberFolder], id_: int) -> Iterator[AnyRow]:
    """Yield the rows about a document in the folders' tables of a kind (DROPS, CUTS), as objects of class `row`."""
    for folder in folders:
        for url in folder.tables(kind):
            for found in folder.rows(url, [id_], kind):
                yield row_object(row, found, folder=folder.url)


def _row(folder: MemberFolder, id_: int) -> dict[str, Any] | None:
    """Return the row of a document in a Dataset; None if it is not there, or if `dataprep prune` removed it."""
    for shard in () if folder.is_pruned else folder.sealed.shards:
        if shard.last_id is not None and shard.last_id + max(folder.shifts) >= id_:
            for row in folder.rows(folder.path(shard.name), [id_]):
                return row
    return None
