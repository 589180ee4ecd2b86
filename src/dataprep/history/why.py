"""Find which stages of a run dropped a document or cut its text, and which document was kept in its place.

The functions take the folder of a run, or of one sealed Dataset with its saved steps.
"""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.core.inputs import look_up
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.tables import SCHEMAS, AnyRow, Cut, Drop, row_object, rows_of_id
from dataprep.core.output.forget_list import REASON
from dataprep.core.output.layout import CUTS, DROPS, Folder
from dataprep.core.output.run_folder import datasets
from dataprep.errors import PlanError

MOST_CUTS = 1_000  # spans of one document that are read


@dataclass(frozen=True)
class Fate:
    """The decisions of the stages of a run about one document.

    id: the document's id. drops: its drop, the drop of the document that was kept in its place, and so on, as a chain.
    cuts: the cuts in the document itself. survivor_in: the last folder that contains the document at the end of this
    chain; None if that document was dropped too.
    """

    id: int
    drops: tuple[Drop, ...]
    cuts: tuple[Cut, ...]
    survivor_in: str | None

    @property
    def survivor(self) -> int:
        """The id of the document finally kept in place of this one; its own id if it was not a duplicate."""
        return next((d.duplicate_of for d in reversed(self.drops) if d.duplicate_of is not None), self.id)

    @property
    def home(self) -> str | None:
        """The path of the Dataset of the document finally kept, if that is of another run; None: of this run."""
        return self.drops[-1].duplicate_of_dataset if self.drops else None


def follow(url: str, id_: int) -> Fate:
    """Return the decisions of a run about the document `id_`: its drops, and the cuts in its text.

    url: the run's folder. Raises PlanError if no Dataset and no drop table of the run has the document.
    """
    folders = [folder.url for folder in datasets(url)]
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
    survivor_in = None if dropped else next((f for f in reversed(folders) if _row(f, current) is not None), None)
    if not drops and survivor_in is None:
        msg = f"there is no document {id_ >> 40}:{id_ & (1 << 40) - 1} in {url}; `dataprep inspect` prints ids"
        raise PlanError(msg)
    return Fate(id_, tuple(drops), tuple(_cuts_of(folders, id_)), survivor_in)


def find_document(url: str, id_: int) -> dict[str, Any] | None:
    """Return a document's columns from the last Dataset of a run that contains it or, if none does, from the input.

    url: the run's folder. id_: the document's id. Returns None if no Dataset has the document, and the input cannot be
    used: it is missing or has changed, or stages changed the document before a later step dropped it.
    """
    found = (row for folder in reversed(datasets(url)) if (row := _row(folder.url, id_)) is not None)
    return next(found, None) or _from_input(url, id_)


def dropped_document(url: str, drop: Drop) -> dict[str, Any] | None:
    """Return a dropped document's columns, with the text as the stage read it; None if no Dataset or input has it.

    url: the run's folder. A forgotten document is never returned, even if its input still exists.
    """
    return None if drop.reason == REASON else _as_read(url, drop.id, drop)


def survivor(url: str, drop: Drop) -> dict[str, Any] | None:
    """Return the columns of the document kept in place of a dropped one, with the text as the stage read it.

    url: the run's folder. If the kept document is in another Dataset, it is read from that Dataset. Returns None if no
    document was kept, or if it cannot be read.
    """
    if drop.duplicate_of is None:
        return None
    if drop.duplicate_of_dataset is None:
        return _as_read(url, drop.duplicate_of, drop)
    urls = (drop.duplicate_of_dataset, posixpath.normpath(Folder(drop.folder).path("..", drop.duplicate_of_dataset)))
    home = next((url for url in urls if Folder(url).is_dataset), None)
    return None if home is None else find_document(home, drop.duplicate_of)


def text_as_read(url: str, id_: int, folder: str, stage: str) -> bytes | None:
    """Return the UTF-8 text of a document as one stage read it; offsets in cut tables refer to this text.

    This is the text in the Dataset before `folder`, or in the input, without the cuts by those stages of `folder` that
    come before `stage`. url: the run's folder. folder: the Dataset that the stage belongs to. stage: the stage's label,
    as in statistics and tables. Returns None if the text is not available.
    """
    folders = [found.url for found in datasets(url)]
    before = folders[: folders.index(folder)] if folder in folders else []
    row = next((row for f in reversed(before) if (row := _row(f, id_)) is not None), None) or _from_input(url, id_)
    if row is None:
        return None
    data = str(row["text"]).encode()
    stages = list(open_dataset(folder).stats)
    labels = [one.name for one in stages]
    cuts = [row for url in Folder(folder).tables(CUTS) for row in rows_of_id(url, id_, SCHEMAS[CUTS])]
    for one in stages[: labels.index(stage)] if stage in labels else []:
        if one.counts["spans_cut"]:
            data = bytes_outside(data, [(cut["start"], cut["end"]) for cut in cuts if cut["stage"] == one.name])
    return data


def bytes_outside(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return the bytes of `data` that are in none of the ranges `spans`, pairs (start, end), which may overlap."""
    outside, at = [], 0
    for start, end in sorted(spans):
        outside.append(data[at:start])
        at = max(at, end)
    return b"".join([*outside, data[at:]])


def _from_input(url: str, id_: int) -> dict[str, Any] | None:
    """Return a document of a Dataset's input, read again, if its first pass of stages read it in this form."""
    for folder in datasets(url, saved=False):
        first = next(iter(folder.saved), folder)
        if first == folder or (first.is_dataset and _drop_of([first.url], id_) is not None):
            row = look_up.document(folder.url, id_)
            if row is not None:
                return row
    return None


def _as_read(url: str, id_: int, drop: Drop) -> dict[str, Any] | None:
    row, data = find_document(url, id_), text_as_read(url, id_, drop.folder, drop.stage)
    return row if row is None or data is None else {**row, "text": data.decode()}


def _drop_of(folders: Sequence[str], id_: int) -> Drop | None:
    return next(_rows(Drop, DROPS, folders, id_), None)


def _cuts_of(folders: Sequence[str], id_: int) -> Iterator[Cut]:
    return itertools.islice(_rows(Cut, CUTS, folders, id_), MOST_CUTS)


def _rows(row: type[AnyRow], kind: str, folders: Sequence[str], id_: int) -> Iterator[AnyRow]:
    """Yield what the tables of a kind (DROPS, CUTS) in the folders have about a document, as objects of class `row`."""
    for folder in folders:
        for url in Folder(folder).tables(kind):
            for found in rows_of_id(url, id_, SCHEMAS[kind]):
                yield row_object(row, found, folder=folder)


def _row(url: str, id_: int) -> dict[str, Any] | None:
    """Return the row of a document in a sealed Dataset, or None."""
    folder = Folder(url)
    for shard in folder.sealed.shards:
        if shard.last_id is not None and shard.last_id >= id_:
            for row in rows_of_id(folder.path(shard.name), id_):
                return row
    return None
