"""A Dataset of texts in memory, cut into parts and batches as a test likes."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dataprep import batch as B
from dataprep.batch import Batch
from dataprep.dataset import Dataset
from dataprep.part import Part, Reader, Slice
from dataprep.run import Serial

UNIT = 10  # ids are 0, 10, 20, ... so that a row number is not an id by chance
INDEX = {"gather", "index.json", "rows", "sign"}  # what MinHash leaves: another threshold only verifies again


@dataclass(frozen=True)
class Given(Reader):
    """Reads rows start..stop of what it holds, `cut` rows a batch."""

    rows: tuple[dict[str, Any], ...]
    cut: int

    def __call__(self, piece: Slice, stats: Any) -> Iterator[Batch]:
        """The rows of the slice."""
        for at in range(piece.start, piece.stop, self.cut):
            rows = self.rows[at : min(at + self.cut, piece.stop)]
            columns = {n: [r[n] for r in rows] for n in rows[0] if n not in B.FIXED}
            ids = [UNIT * (at + i) for i in range(len(rows))]
            sources = [r.get("source", "made") for r in rows]
            yield B.make(ids, [r["text"] for r in rows], sources, columns=columns)


def make_dataset(rows: Sequence[str | dict[str, Any]], parts: int = 1, cut: int = 1000) -> Dataset:
    """The rows (texts, or dicts of columns) in `parts` parts, `cut` rows a batch."""
    rows = tuple({"text": r} if isinstance(r, str) else r for r in rows)
    bounds = [len(rows) * i // parts for i in range(parts + 1)]
    pieces = [Slice("made", 0, a, b, "made", "made") for a, b in itertools.pairwise(bounds)]
    return Dataset(tuple(Part((piece,), Given(rows, cut)) for piece in pieces))


def find_drops(stage: Any, rows: Sequence[Any], **cuts: int) -> dict[int, tuple[int, float]]:
    """What an Estimator drops: {row: (the row it goes for, similarity)}."""
    with tempfile.TemporaryDirectory() as out:
        verdicts = pq.read_table(stage.fit(make_dataset(rows, **cuts), Serial(), out).verdicts)
        left = {"verdicts.json", "verdicts.parquet"} | (INDEX if stage.name == "MinHash" else set())
        assert {p.name for p in Path(out).iterdir()} == left
    ids = verdicts.column("id").to_pylist()
    assert ids == sorted(ids)
    assert not any(verdicts.column("kept_in").to_pylist())
    kept, similarity = (verdicts.column(n).to_pylist() for n in ("kept", "similarity"))
    return {i // UNIT: (k // UNIT, s) for i, k, s in zip(ids, kept, similarity, strict=True)}


@pytest.fixture(scope="session")
def drops():
    """`find_drops`."""
    return find_drops


@pytest.fixture(scope="session")
def dataset():
    """`make_dataset`."""
    return make_dataset


@pytest.fixture(scope="session", autouse=True)
def _no_sync():
    """Small files by the thousand: waiting for the disk each time would take the minutes that the tests have."""
    patch = pytest.MonkeyPatch()
    patch.setattr("os.fsync", lambda _: None)
    yield
    patch.undo()
