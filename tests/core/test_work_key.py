"""All that decides what a part yields changes its key, and nothing else does; rows of verdicts are checked."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pyarrow as pa
import pytest

import dataprep as dp
import laws
from dataprep import extend
from dataprep.core.inputs.origin import work_key
from dataprep.core.model.part import Part
from dataprep.core.model.reader import Slice
from dataprep.core.model.tables import QUARANTINED, Unread
from dataprep.errors import PlanError
from dataprep.store.key import key


@dataclasses.dataclass(frozen=True)
class WithPaths(laws.Rows):
    """A reader that states the path, and reads another file beside each."""

    beside: tuple[str, ...] = ()

    def named(self, piece):
        """The path."""
        return piece.url if self.strings else ""

    def companions(self, url):
        """The other files."""
        return self.beside


ONE = Slice("a.txt", 1, 2, 9, "web", "content", 7)
TWO = Slice("b.txt", 3, 0, None, "web", "other", 5)
PART = Part((ONE, TWO), laws.Rows(), (dp.C4(),))
FOUND = {"a.txt": "content", "b.txt": "other", "c.txt": "content"}


def of(part, found=None):
    """The key of a part of these files."""
    return part.work_key(FOUND | (found or {}))


def with_slice(**changes):
    """The part with another first slice."""
    return dataclasses.replace(PART, slices=(dataclasses.replace(ONE, **changes), TWO))


OTHERS = {
    "content": (PART, {"a.txt": "edited"}), "content of the last": (PART, {"b.txt": "edited"}),
    "file": (with_slice(file=2), {}), "start": (with_slice(start=3), {}), "stop": (with_slice(stop=8), {}),
    "no stop": (with_slice(stop=None), {}), "source": (with_slice(source="chat"), {}),
    "quarantined": (with_slice(unread=Unread("a.txt", QUARANTINED)), {}),
    "order": (dataclasses.replace(PART, slices=(TWO, ONE)), {}),
    "fewer": (dataclasses.replace(PART, slices=(ONE,)), {}),
    "reader": (dataclasses.replace(PART, reader=laws.Rows(4)), {}),
    "no stage": (dataclasses.replace(PART, stages=()), {}),
    "another stage": (dataclasses.replace(PART, stages=(dp.C4(), dp.C4())), {}),
    "window": (dataclasses.replace(PART, max_window=1), {}),
    "another window": (dataclasses.replace(PART, max_window=2), {}),
    "paths": (dataclasses.replace(PART, reader=WithPaths(strings=("x",))), {}),
    "class of the reader": (dataclasses.replace(PART, reader=WithPaths()), {}),
}  # fmt: skip
SAME = {
    "path": with_slice(url="c.txt"), "size as stored": with_slice(n_bytes=8), "listed": with_slice(listed="*.txt"),
    "number": dataclasses.replace(PART, number=4), "key": dataclasses.replace(PART, key="x"),
    "labels": dataclasses.replace(PART, labels=("x",)), "skips": dataclasses.replace(PART, skips_bad=True),
    "list": dataclasses.replace(PART, forgotten="f.parquet"), "before": dataclasses.replace(PART, files_before=5),
    "fingerprint": with_slice(fingerprint="old"),
}  # fmt: skip


def test_what_decides_a_part_changes_its_key() -> None:
    """Every pair of different parts has different keys."""
    keys = {"plain": of(PART)} | {name: of(part, found) for name, (part, found) in OTHERS.items()}
    same = [pair for pair in itertools.combinations(keys, 2) if keys[pair[0]] == keys[pair[1]]]
    assert same == []


@pytest.mark.parametrize("name", SAME)
def test_what_decides_nothing_does_not(name) -> None:
    """Where the file lies, what came before, and what is said about it."""
    assert of(SAME[name]) == of(PART)


def test_files_beside_a_file_count(tmp_path) -> None:
    """Their content changes the key, and that they are there; those of a file that is not read do not."""
    keys = []
    for names in ("", "a", "ab", "b"):
        for name in names:
            (tmp_path / name).write_text(name)
        reader = WithPaths(beside=tuple(str(tmp_path / name) for name in names))
        keys.append(of(dataclasses.replace(PART, reader=reader)))
    (tmp_path / "b").write_text("c")
    reader = WithPaths(beside=(str(tmp_path / "b"),))
    keys.append(of(dataclasses.replace(PART, reader=reader)))
    assert len(set(keys)) == len(keys)
    empty = dataclasses.replace(ONE, unread=Unread("a.txt", "empty"))
    unread = dataclasses.replace(PART, slices=(empty,), reader=reader)
    before = of(unread)
    (tmp_path / "b").write_text("d")
    assert of(unread) == before


def test_paths_that_documents_state_change_the_key() -> None:
    """The same content at another place is other documents, if they state where they are from."""
    here, there = (dataclasses.replace(part, reader=WithPaths(strings=("x",))) for part in (PART, SAME["path"]))
    assert of(here) != of(there)


def test_slices_name_their_content() -> None:
    """Equal content is an equal slice, whatever the folder; the reason for leaving one out counts if it was chosen."""
    assert key(ONE) == key(dataclasses.replace(ONE, url="z", n_bytes=1, unread=Unread("a.txt", "empty")))
    assert key(ONE) != key(dataclasses.replace(ONE, unread=Unread("a.txt", QUARANTINED)))


@dataclasses.dataclass(frozen=True)
class Chooses(extend.Estimator):
    """An Estimator to give rows to."""


def verdicts(tmp_path, **columns):
    """The rows that are applied."""
    rows = pa.table({name: pa.array(values) for name, values in columns.items()})
    stage = Chooses().drop(laws.dataset_of(tmp_path, ["a"]), str(tmp_path), rows)
    return pa.parquet.read_table(stage.verdicts).to_pylist()


@pytest.mark.parametrize("ids", [*itertools.permutations([1, 2, 5, 9]), (3,), ()])
def test_rows_of_verdicts_may_be_in_any_order(tmp_path, ids) -> None:
    """They are sorted by id, with what belongs to each."""
    rows = verdicts(tmp_path, id=np.array(ids, np.uint64), reason=[f"r{i}" for i in ids] or pa.array([], pa.string()))
    assert [(row["id"], row["reason"]) for row in rows] == [(i, f"r{i}") for i in sorted(ids)]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"id": [4, 1, 4]}, "document 0:4 is in two rows; return one row per document"),
        ({"id": [1, 3, 2, 9, 3]}, "document 0:3 is in two rows; return one row per document"),
        ({"id": [2, 3], "duplicate_of": [None, 3]}, "document 0:3 is its own duplicate_of; state"),
        (
            {"id": [2, 3], "duplicate_of": [3, 3], "duplicate_of_dataset": ["there", None]},
            "document 0:3 is its own duplicate_of; state",
        ),
    ],
)
def test_verdicts_that_contradict_themselves_are_refused(tmp_path, columns, sentence) -> None:
    """A document twice, or in place of itself; one of the same id in another Dataset is another document."""
    with pytest.raises(PlanError, match=sentence):
        verdicts(tmp_path, reason=["x"] * len(columns["id"]), **columns)
    for kept in (
        {"duplicate_of": [None, None]},
        {"duplicate_of": [3, 2]},
        {"duplicate_of": [2, 3], "duplicate_of_dataset": ["there", "there"]},
    ):
        assert len(verdicts(tmp_path, id=[2, 3], reason=["x", "x"], **kept)) == 2


def test_the_key_of_a_result_knows_readers_and_stages(tmp_path) -> None:
    """Files do not count, all else does: a result is taken over only if it was made in the same way."""
    (tmp_path / "b").mkdir()
    docs, other = laws.dataset_of(tmp_path, ["a", "b"]), laws.dataset_of(tmp_path / "b", ["c"])
    stages = [(), (dp.C4(),), (dp.Exact(),), (dp.C4(), dp.Exact()), (dp.Exact(), dp.C4())]
    keys = [work_key(docs, some) for some in stages]
    keys += [work_key(docs.then(dp.C4()), some) for some in stages[:2]]
    keys.append(work_key(laws.dataset_of(tmp_path, ["a", "b"], rows_per_batch=2), ()))
    assert len(set(keys)) == len(keys)
    assert work_key(other, (dp.C4(),)) == keys[1]
