"""What happened to one document of a finished run: who dropped it, why, for whom, and the texts side by side.

Works on a folder that `dataprep run` wrote (one sealed Dataset a step) or on one sealed Dataset with its saved steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import files
from .dataset import MANIFEST
from .errors import PlanError
from .meter import mix

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
    return Fate(id_, tuple(drops), kept_in)


def document(url: str, id_: int) -> dict[str, Any] | None:
    """A document as the latest Dataset of the run that still holds it has it; None when its steps were removed."""
    return next((row for f in reversed(sealed_folders(url)) if (row := _row(f, id_)) is not None), None)


def near_pairs(url: str, limit: int, seed: int = 0) -> list[Drop]:
    """Up to `limit` documents that went for a similar one, not for a copy: chosen by hash, least similar first."""
    chosen: list[tuple[int, Drop]] = []
    for folder in sealed_folders(url):
        for table in _drop_batches(folder):
            near = table.filter(pc.less(table.column("similarity"), 1.0))
            ranks = mix(near.column("id").to_numpy(), seed)
            rows = near.take(np.argsort(ranks)[:limit]).to_pylist()
            chosen += zip(np.sort(ranks)[:limit].tolist(), (Drop(**row, folder=folder) for row in rows), strict=True)
            chosen = sorted(chosen, key=lambda item: item[0])[:limit]
    return sorted((drop for _, drop in chosen), key=lambda d: (d.similarity or 0.0, d.id))


def similarities(url: str) -> tuple[npt.NDArray[np.int64], int]:
    """How similar the removed are to their survivors: counts by hundredths int64[100], and how many are the same."""
    counts, same = np.zeros(100, np.int64), 0
    for folder in sealed_folders(url):
        for table in _drop_batches(folder):
            values = table.column("similarity").drop_null().to_numpy()
            counts += np.histogram(values[values < 1], bins=100, range=(0, 1))[0]
            same += int((values >= 1).sum())
    return counts, same


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
    for folder in folders:
        for name in files.listdir(files.join(folder, "drops")):
            for row in _rows(files.join(folder, "drops", name), id_):
                return Drop(**row, folder=folder)
    return None


def _drop_batches(folder: str) -> Iterator[pa.RecordBatch]:
    """The drop tables piece by piece, so that a report of any run fits into memory."""
    for name in files.listdir(files.join(folder, "drops")):
        with files.open_raw(files.join(folder, "drops", name)) as f:
            yield from pq.ParquetFile(f).iter_batches(1 << 16)


def _row(folder: str, id_: int) -> dict[str, Any] | None:
    for shard in files.read_json(files.join(folder, MANIFEST))["shards"]:
        if shard["last_id"] is not None and int(shard["last_id"]) >= id_:
            for row in _rows(files.join(folder, shard["name"]), id_):
                return row
    return None


def _rows(url: str, id_: int) -> list[dict[str, Any]]:
    """The rows of an id in a Parquet file; only the row groups that may hold it are read."""
    with files.open_raw(url) as f:
        return list(pq.read_table(f, filters=[("id", "=", id_)]).to_pylist())
