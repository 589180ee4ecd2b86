"""The fate of one document of a run: the stages that dropped it or cut its text, and the document kept for it.

Works on the folder of a run, or on one sealed Dataset with its saved steps.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.core import inputs
from dataprep.core.dataset import open_dataset
from dataprep.core.folder import CUTS, DROPS, Folder, datasets
from dataprep.core.forget_list import REASON
from dataprep.core.tables import Cut, Drop
from dataprep.errors import PlanError

from .table_rows import rows_of_id

MOST_CUTS = 1_000  # spans of one document that are read; a long list may repeat itself more often


@dataclass(frozen=True)
class Fate:
    """The drops of a document, of the one it was dropped for, and so on; its own cuts; and the last one's folder.

    kept_in: the last folder that holds the document at the end of the chain, or None if that was dropped.
    """

    id: int
    drops: tuple[Drop, ...]
    cuts: tuple[Cut, ...]
    kept_in: str | None

    @property
    def survivor(self) -> int:
        """The document that was kept in place of this one; itself, if it was never dropped for another."""
        return next((d.kept for d in reversed(self.drops) if d.kept is not None), self.id)

    @property
    def home(self) -> str | None:
        """The Dataset of the survivor, if it is not one of this run."""
        return self.drops[-1].kept_in if self.drops else None


def follow(url: str, id_: int) -> Fate:
    """Return the fate of a document.

    Raises PlanError if neither a Dataset nor a drop table of the run names the document.
    """
    folders = [folder.url for folder in datasets(url)]
    drops: list[Drop] = []
    current = id_
    while (drop := _drop_of(folders, current)) is not None:
        drops.append(drop)
        if drop.kept is None or drop.kept_in is not None or drop.kept in {d.id for d in drops}:
            break
        current = drop.kept
    dropped = bool(drops) and drops[-1].id == current
    kept_in = None if dropped else next((f for f in reversed(folders) if _row(f, current) is not None), None)
    if not drops and kept_in is None:
        msg = f"no document {id_ >> 40}:{id_ & (1 << 40) - 1} in {url}; ids are printed by `dataprep inspect`"
        raise PlanError(msg)
    return Fate(id_, tuple(drops), tuple(_cuts_of(folders, id_)), kept_in)


def find_document(url: str, id_: int) -> dict[str, Any] | None:
    """Return a document as the last Dataset of the run that holds it stores it, else as it is in the input.

    Returns None if it was dropped after a step that was removed, or if the input is missing or has changed.
    """
    found = (row for folder in reversed(datasets(url)) if (row := _row(folder.url, id_)) is not None)
    return next(found, None) or _from_input(url, id_)


def dropped_document(url: str, drop: Drop) -> dict[str, Any] | None:
    """Return a dropped document with the text that the stage read, or None if no Dataset holds it.

    A forgotten document is never returned, even if its input still exists.
    """
    return None if drop.reason == REASON else _as_read(url, drop.id, drop)


def survivor(url: str, drop: Drop) -> dict[str, Any] | None:
    """Return the document that was kept for a dropped one, from another Dataset if it is there, or None."""
    if drop.kept is None:
        return None
    if drop.kept_in is None:
        return _as_read(url, drop.kept, drop)
    urls = (drop.kept_in, posixpath.normpath(Folder(drop.folder).path("..", drop.kept_in)))
    home = next((url for url in urls if Folder(url).is_dataset), None)
    return None if home is None else find_document(home, drop.kept)


def text_as_read(url: str, id_: int, folder: str, stage: str) -> bytes | None:
    """Return the UTF-8 text of a document as a stage of the Dataset in `folder` read it, or None if there is none.

    The offsets of cut tables count in this text: that of the Dataset before, less the cuts of stages in between.
    stage: its label, as in statistics and tables.
    """
    folders = [found.url for found in datasets(url)]
    before = folders[: folders.index(folder)] if folder in folders else []
    row = next((row for f in reversed(before) if (row := _row(f, id_)) is not None), None) or _from_input(url, id_)
    if row is None:
        return None
    data = str(row["text"]).encode()
    stages = list(open_dataset(folder).stats)
    labels = [one.name for one in stages]
    cuts = list(_cuts_of([folder], id_))
    for one in stages[: labels.index(stage)] if stage in labels else []:
        if one.counts["spans cut"]:
            data = bytes_outside(data, [(cut.start, cut.end) for cut in cuts if cut.stage == one.name])
    return data


def bytes_outside(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return the bytes outside of spans, which are in order."""
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(data)]
    return b"".join(data[a:b] for a, b in zip(starts, ends, strict=True))


def _from_input(url: str, id_: int) -> dict[str, Any] | None:
    """Return a document of a Dataset's input, read again, if its first pass of stages read it in this form."""
    for folder in datasets(url, saved=False):
        first = next(iter(folder.saved), folder)
        if first == folder or (first.is_dataset and _drop_of([first.url], id_) is not None):
            row = inputs.document(folder.url, id_)
            if row is not None:
                return row
    return None


def _as_read(url: str, id_: int, drop: Drop) -> dict[str, Any] | None:
    row, data = find_document(url, id_), text_as_read(url, id_, drop.folder, drop.stage)
    return row if row is None or data is None else {**row, "text": data.decode()}


def _drop_of(folders: Sequence[str], id_: int) -> Drop | None:
    found = (Drop(**row, folder=f) for f in folders for u in Folder(f).tables(DROPS) for row in rows_of_id(u, id_))
    return next(found, None)


def _cuts_of(folders: Sequence[str], id_: int) -> Iterator[Cut]:
    found = (Cut(**row, folder=f) for f in folders for u in Folder(f).tables(CUTS) for row in rows_of_id(u, id_))
    return (cut for _, cut in zip(range(MOST_CUTS), found, strict=False))


def _row(url: str, id_: int) -> dict[str, Any] | None:
    """Return the row of a document in a sealed Dataset, or None."""
    folder = Folder(url)
    for shard in folder.manifest["shards"]:
        if shard["last_id"] is not None and int(shard["last_id"]) >= id_:
            for row in rows_of_id(folder.path(shard["name"]), id_):
                return row
    return None
