"""What happened to one document of a finished run: who dropped it, why, for whom, and the texts side by side.

Works on a folder that `dataprep run` wrote (one sealed Dataset a step) or on one sealed Dataset with its saved steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from . import files
from .dataset import MANIFEST
from .errors import PlanError

RUN = "run.json"  # what `dataprep run` leaves: the names of the steps, in order


@dataclass(frozen=True)
class Drop:
    """One row of a drop table, and the sealed folder it was found in."""

    id: int
    stage: str
    reason: str
    kept_in: str | None
    kept: int | None
    similarity: float | None
    folder: str


@dataclass(frozen=True)
class Fate:
    """The end of one document: the drops on its trail (its own, its survivor's, ...) and where the last one is kept."""

    id: int
    drops: tuple[Drop, ...]
    kept_in: str | None  # the last folder that still holds the end of the trail

    @property
    def survivor(self) -> int:
        """The document that stands for this one in the end; itself, if it was never dropped for another."""
        return next((d.kept for d in reversed(self.drops) if d.kept is not None), self.id)


def sealed_folders(url: str) -> list[str]:
    """The sealed Datasets of a run in the order they were made, saved steps first; a PlanError if there are none."""
    url = url.rstrip("/")
    found = [f for place in (*_children(url), url) for f in (*_saved_steps(place), place) if is_dataset(f)]
    if not found:
        msg = f"{url} holds no sealed Dataset; give the folder that `dataprep run` or Pipeline.run wrote"
        raise PlanError(msg)
    return found


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
    return Fate(id_, tuple(drops), kept_in)


def document(url: str, id_: int) -> dict[str, Any] | None:
    """A document as the latest Dataset of the run that still holds it has it; None when its steps were removed."""
    return next((row for f in reversed(sealed_folders(url)) if (row := _row(f, id_)) is not None), None)


def pairs(url: str, limit: int) -> list[Drop]:
    """Up to `limit` drops of the run that name a survivor, the least similar first."""
    found = [d for folder in sealed_folders(url) for d in _read_drops(folder, None) if d.kept is not None]
    return sorted(found, key=lambda d: (d.similarity if d.similarity is not None else 1.0, d.id))[:limit]


def similarities(url: str) -> list[float]:
    """The similarity of every removed document with its survivor, where a stage measured one."""
    return [d.similarity for f in sealed_folders(url) for d in _read_drops(f, None) if d.similarity is not None]


def _children(url: str) -> Iterator[str]:
    """The folders inside, in the order of the run where it is known."""
    names = files.listdir(url)
    place = files.join(url, RUN)
    if files.exists(place):
        steps = files.read_json(place)["steps"]
        names = [name for name in steps if name in names]
    return (files.join(url, name) for name in names)


def _saved_steps(url: str) -> Iterator[str]:
    """The steps that this Dataset was made from; others may be left of an earlier recipe."""
    place = files.join(url, MANIFEST)
    saved = files.read_json(place).get("saved", []) if files.exists(place) else []
    return (files.join(url, name) for name in saved)


def _drop_of(folders: Sequence[str], id_: int) -> Drop | None:
    return next((drop for folder in folders for drop in _read_drops(folder, id_)), None)


def _read_drops(folder: str, id_: int | None) -> Iterator[Drop]:
    for name in files.listdir(files.join(folder, "drops")):
        if name.endswith(".parquet"):
            for row in _rows(files.join(folder, "drops", name), id_):
                yield Drop(**row, folder=folder)


def _row(folder: str, id_: int) -> dict[str, Any] | None:
    for shard in files.read_json(files.join(folder, MANIFEST))["shards"]:
        if shard["last_id"] is not None and int(shard["last_id"]) >= id_:
            for row in _rows(files.join(folder, shard["name"]), id_):
                return row
    return None


def _rows(url: str, id_: int | None) -> list[dict[str, Any]]:
    """The rows of a Parquet file, of one id if it is given (only the row groups that may hold it are read)."""
    with files.open_raw(url) as f:
        return list(pq.read_table(f, filters=None if id_ is None else [("id", "=", id_)]).to_pylist())
