"""What happened to one document of a finished run: who dropped it, why, for whom, and what was cut out of it.

Works on a folder that `dataprep run` wrote (one sealed Dataset a step) or on one sealed Dataset with its saved steps.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from dataprep.core import inputs
from dataprep.core.dataset import open_dataset
from dataprep.core.folder import MANIFEST, RUN
from dataprep.core.forget_list import REASON
from dataprep.core.tables import Cut, Drop
from dataprep.errors import PlanError
from dataprep.store import files

from .table_rows import checked, table_urls

MOST_CUTS = 1_000  # spans of one document that are followed; a list of pages repeats itself more often


@dataclass(frozen=True)
class Fate:
    """The end of one document: the drops on its trail (its own, its survivor's, ...) and where the last one is kept."""

    id: int
    drops: tuple[Drop, ...]
    cuts: tuple[Cut, ...]  # of the document itself
    kept_in: str | None  # the last folder that still holds the end of the trail

    @property
    def survivor(self) -> int:
        """The document that stands for this one in the end; itself, if it was never dropped for another."""
        return next((d.kept for d in reversed(self.drops) if d.kept is not None), self.id)

    @property
    def home(self) -> str | None:
        """The other Dataset that the survivor lives in, if it is not this run's."""
        return self.drops[-1].kept_in if self.drops else None


def sealed_folders(url: str) -> list[str]:
    """The sealed Datasets of a run in the order they were made, saved steps first; a PlanError if there are none."""
    url = url.rstrip("/")
    found = [f for place in (*_children(url), url) for f in (*_saved_steps(place), place) if is_dataset(f)]
    if not found:
        msg = f"{url} holds no sealed Dataset; give the folder that `dataprep run` or Pipeline.run wrote"
        raise PlanError(msg)
    return found


def final_folders(url: str) -> list[str]:
    """The sealed Datasets of a run without the saved steps, whose books are in the final ones' anyway."""
    return [folder for folder in sealed_folders(url) if "/steps/" not in folder]


def is_dataset(url: str) -> bool:
    """Whether a folder is a sealed Dataset."""
    place = files.join(url, MANIFEST)
    return files.exists(place) and files.read_json(place).get("kind") == "dataset"


def follow(url: str, id_: int) -> Fate:
    """The trail of one document; a PlanError if neither a Dataset nor a drop table knows it."""
    folders = sealed_folders(url)
    drops: list[Drop] = []
    current = id_
    while (drop := _drop_of(folders, current)) is not None:
        drops.append(drop)
        if drop.kept is None or drop.kept_in is not None or drop.kept in {d.id for d in drops}:
            break
        current = drop.kept
    gone = bool(drops) and drops[-1].id == current
    kept_in = None if gone else next((f for f in reversed(folders) if _row(f, current) is not None), None)
    if not drops and kept_in is None:
        msg = f"no document {id_ >> 40}:{id_ & (1 << 40) - 1} in {url}; ids are printed by `dataprep inspect`"
        raise PlanError(msg)
    return Fate(id_, tuple(drops), tuple(_cuts_of(folders, id_)), kept_in)


def document(url: str, id_: int) -> dict[str, Any] | None:
    """A document as the latest Dataset of the run that still holds it has it, else as the input still has it.

    None when it was dropped after a step that was removed, or when the input is gone or has changed.
    """
    found = (row for f in reversed(sealed_folders(url)) if (row := _row(f, id_)) is not None)
    return next(found, None) or _as_given(url, id_)


def dropped_document(url: str, drop: Drop) -> dict[str, Any] | None:
    """The document that was dropped, with the text that the stage read; None if no Dataset holds it any more.

    A forgotten one is not shown, also where its input lies there still.
    """
    return None if drop.reason == REASON else _as_read(url, drop.id, drop)


def survivor(url: str, drop: Drop) -> dict[str, Any] | None:
    """The document that a drop was for, also where it lives in another Dataset; None if that is not there."""
    if drop.kept is None:
        return None
    if drop.kept_in is None:
        return _as_read(url, drop.kept, drop)
    places = (drop.kept_in, posixpath.normpath(files.join(drop.folder, "..", drop.kept_in)))
    home = next((place for place in places if is_dataset(place)), None)
    return None if home is None else document(home, drop.kept)


def _as_given(url: str, id_: int) -> dict[str, Any] | None:
    """A document of a Dataset's input, read again, where that is what the stages looked at: in their first pass."""
    for folder in final_folders(url):
        first = next(_saved_steps(folder), folder)
        if first == folder or (is_dataset(first) and _drop_of([first], id_) is not None):
            row = inputs.document(folder, id_)
            if row is not None:
                return row
    return None


def _as_read(url: str, id_: int, drop: Drop) -> dict[str, Any] | None:
    row, data = document(url, id_), text_as_read(url, id_, drop.folder, drop.stage, drop.reason)
    return row if row is None or data is None else {**row, "text": data.decode()}


def text_as_read(url: str, id_: int, folder: str, stage: str, reason: str | None = None) -> bytes | None:
    """The text of a document as a stage of the Dataset in `folder` read it, which is what cut tables count in.

    That is the text of the Dataset before it, less what other stages cut in between. None if it is not there. reason:
    one for which the stage dropped, to tell it from others of its name; without one, the stage that cut is meant.
    """
    folders = sealed_folders(url)
    before = folders[: folders.index(folder)] if folder in folders else []
    row = next((row for f in reversed(before) if (row := _row(f, id_)) is not None), None) or _as_given(url, id_)
    if row is None:
        return None
    data = str(row["text"]).encode()
    books = list(open_dataset(folder).stats)
    meant = [
        book.name == stage and bool(reason in book.dropped if reason else book.counts["spans cut"]) for book in books
    ]
    earlier = books[: meant.index(True)] if True in meant else []
    cutters = [book.name for book in books if book.counts["spans cut"]]
    if len(set(cutters)) < len(cutters):  # the spans of two of one name cannot be told apart
        return None
    cuts = list(_cuts_of([folder], id_))
    for name in (book.name for book in earlier if book.counts["spans cut"]):
        data = bytes_outside(data, [(cut.start, cut.end) for cut in cuts if cut.stage == name])
    return data


def bytes_outside(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return the bytes outside of spans, which are in order."""
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(data)]
    return b"".join(data[a:b] for a, b in zip(starts, ends, strict=True))


def _children(url: str) -> list[str]:
    """The folders inside, in the order of the run; where it is not known, largest first, since stages only drop."""
    names = files.listdir(url)
    place = files.join(url, RUN)
    if files.exists(place):
        steps = files.read_json(place)["steps"]
        return [files.join(url, name) for name in steps if name in names]
    found = [place for name in names if is_dataset(place := files.join(url, name))]
    manifests = {place: files.read_json(files.join(place, MANIFEST)) for place in found}
    return sorted(found, key=lambda place: (-manifests[place]["docs"], -manifests[place]["bytes"], place))


def _saved_steps(url: str) -> Iterator[str]:
    """The steps that this Dataset was made from; others may be left of an earlier recipe."""
    place = files.join(url, MANIFEST)
    saved = files.read_json(place).get("saved", []) if files.exists(place) else []
    return (files.join(url, name) for name in saved)


def _drop_of(folders: Sequence[str], id_: int) -> Drop | None:
    found = (Drop(**row, folder=f) for f in folders for u in table_urls(f, "drops") for row in _rows(u, id_))
    return next(found, None)


def _cuts_of(folders: Sequence[str], id_: int) -> Iterator[Cut]:
    found = (Cut(**row, folder=f) for f in folders for u in table_urls(f, "cuts") for row in _rows(u, id_))
    return (cut for _, cut in zip(range(MOST_CUTS), found, strict=False))


def _row(folder: str, id_: int) -> dict[str, Any] | None:
    for shard in files.read_json(files.join(folder, MANIFEST))["shards"]:
        if shard["last_id"] is not None and int(shard["last_id"]) >= id_:
            for row in _rows(files.join(folder, shard["name"]), id_):
                return row
    return None


def _rows(url: str, id_: int) -> list[dict[str, Any]]:
    """The rows of an id in a Parquet file; only the row groups that may hold it are read."""
    with checked(url), files.open_raw(url) as f:
        return list(pq.read_table(f, filters=[("id", "=", id_)]).to_pylist())
