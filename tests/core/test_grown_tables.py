"""Tables may grow: readers ignore columns that they do not know, and read a missing one as null if it may be."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grown
from dataprep.core.model import tables
from dataprep.errors import CorruptShard

NAMES = ("aaa", "note", "zone.of", "größe")
REQUIRED = {
    "drops": ("id", "stage", "reason"),
    "cuts": ("id", "stage", "start", "end"),
    "unread": ("file", "reason"),
    "verdicts": ("id", "reason"),
    "spans": ("id", "start", "end"),
    "forget": ("id", "reason"),
}
READERS_OF = {
    "drops": ("rows", "fates", "duplicates", "reasons", "dropped", "report"),
    "cuts": ("rows", "fates", "duplicates", "cut_texts", "report"),
    "unread": ("rows", "report"),
    "verdicts": ("verdicts", "annotated"),
    "spans": ("verdicts", "annotated"),
    "forget": ("verdicts",),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A run, a forgotten document, a run that goes on with it; and what everybody reads in its tables."""
    place = tmp_path_factory.mktemp("grown")
    grown.write_input(place)
    grown.run(place, "older")
    grown.forget_one(place, "older")
    grown.run(place, "older")
    said = grown.everything(place, "older")
    (place / "before.json").write_text(json.dumps(said), encoding="utf-8")
    return place


@pytest.fixture
def copied(home, tmp_path):
    """A copy of the folder, whose input is where it was."""
    shutil.copytree(home / "older", tmp_path / "older")
    return tmp_path


def before(home):
    """What everybody read."""
    return json.loads((home / "before.json").read_text(encoding="utf-8"))


def test_every_table_has_rows(home) -> None:
    """Or the laws of this file would say nothing."""
    drops, cuts, unread = grown.rows(str(home / "older" / "clean"))
    assert {row["stage"] for row in drops} == {"short", "Bloom", "MinHash", "forget"}
    assert {row["stage"] for row in cuts} == set(grown.CUTTERS)
    assert [row["reason"] for row in unread] == ["empty"]
    assert before(home)["verified"] == "[]"


@pytest.mark.parametrize("seed", range(2))
def test_a_new_column_is_a_change_of_one_file(home, seed) -> None:
    """A nullable column in the schemas: every room writes it and reads it, also in a folder that was made before."""
    some = random.Random(seed)
    name, kind = some.choice([name for name in NAMES if name.isidentifier()]), list(grown.TYPES)[seed]
    place = some.randrange(9) if seed else 0  # the first is before the id
    words = [grown.__file__, str(home), str(seed), name, kind, str(place)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-4000:]


@pytest.mark.parametrize("seed", range(4))
def test_a_column_that_nobody_knows_is_ignored(home, copied, seed) -> None:
    """Wherever it is among the others, and of whatever type; the same rows are read, and the run goes on."""
    some = random.Random(seed)

    def with_more(_, rows):
        n, kind = len(rows), some.choice([pa.string(), pa.float64(), pa.struct({"id": pa.int8()}), pa.list_(pa.int8())])
        return rows.add_column(some.randrange(rows.num_columns + 1), NAMES[seed], pa.nulls(n, kind))

    changed = grown.with_tables(copied, "older", with_more)
    assert {url.stem.partition("-")[0] for url in changed} >= {"part", "verdicts", "spans", "forget", "unread"}
    assert grown.everything(copied, "older") == before(home)
    steps = [url for url in changed if url.parent.parent.name == "steps"]
    shutil.copytree(home / "in", copied / "in")
    grown.forget_one(copied, "older")
    assert all(NAMES[seed] in pq.read_schema(url).names for url in steps)


@pytest.mark.parametrize(
    "name",
    [
        "duplicate_of_dataset",
        "duplicate_of",
        "similarity",
        "source",
        "value",
        "duplicate_of_start",
        "duplicate_of_end",
        "offset",
        "detail",
    ],
)
def test_a_missing_column_is_null(home, copied, name) -> None:
    """If it may be; every reader goes on, and those that do not need it read the same."""
    grown.with_tables(copied, "older", lambda _, rows: rows.drop_columns([name]) if name in rows.column_names else rows)
    said = grown.everything(copied, "older")
    tables_before = grown.rows(str(home / "older" / "clean"))
    nulls = [[row | dict.fromkeys({name} & row.keys()) for row in rows] for rows in tables_before]
    assert grown.rows(str(copied / "older" / "clean")) == nulls
    assert said["reasons"] == before(home)["reasons"]
    assert said["cut_texts"] == before(home)["cut_texts"]
    assert name != "duplicate_of_dataset" or said == before(home)  # there is no other Dataset here


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in REQUIRED.items() for name in names])
def test_a_missing_column_that_always_has_values_is_named(home, copied, kind, name) -> None:
    """By every reader, in one sentence."""
    grown.with_tables(copied, "older", lambda of, rows: rows.drop_columns([name]) if of == kind else rows)
    clean = str(copied / "older" / "clean")
    says = rf"\.parquet as the .*table that was written: there is no column {name};"
    for one in READERS_OF[kind]:
        with pytest.raises(CorruptShard, match=says):
            grown.READERS[one](clean)


def test_rows_are_made_by_name() -> None:
    """What is not given is null; a wrong name, or none where a value must be, is an error."""
    made = tables.new_rows(tables.VERDICTS, reason=pa.chunked_array([["a"], ["b"]]), id=[1, 2], similarity=0.5)
    assert made.schema.equals(tables.VERDICTS)
    assert made.to_pylist() == [
        {
            "id": n,
            "reason": why,
            "duplicate_of_dataset": None,
            "duplicate_of": None,
            "similarity": 0.5,
            "value": None,
            "label": None,
        }
        for n, why in ((1, "a"), (2, "b"))
    ]
    for wrong in ({"id": [1]}, {"id": [1], "reason": "a", "why": "b"}):
        with pytest.raises(TypeError, match=r"must be id, reason, duplicate_of_dataset \(optional\).*: (reason|why)$"):
            tables.new_rows(tables.VERDICTS, **wrong)
