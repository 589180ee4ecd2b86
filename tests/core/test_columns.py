"""Datasets that are joined have one schema, which other programs can open."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import dataprep as dp
from dataprep.core.model.columns import union_of
from dataprep.errors import PlanError
from dataprep.store import files
from opened import open_in_others


def sealed(place, name, *, n=5, **columns):
    """A sealed Dataset of n texts, with a column of each name and type."""
    values = {"string": "x", "int64": 3, "double": 0.5, "bool": True}
    record = {"text": f"text of {name}"} | {column: values[kind] for column, kind in columns.items()}
    (place / f"{name}.jsonl").write_text((json.dumps(record) + "\n") * n)
    return dp.Pipeline().run(dp.read(str(place / f"{name}.jsonl"), columns=columns), str(place / name))


def dropped(text):
    """Drop every text."""
    return "all" if text else None


def only_b(text):
    """Drop the texts of one Dataset."""
    return None if text == "text of b" else "other"


@pytest.fixture
def joined(tmp_path):
    """A Dataset of two with different columns, sealed."""
    some = [sealed(tmp_path, "a", score="int64", lang="string"), sealed(tmp_path, "b", year="int64", lang="string")]
    return dp.Pipeline().run(dp.read(some), str(tmp_path / "out"))


def test_a_joined_dataset_has_the_columns_of_all(joined, tmp_path) -> None:
    """Documents have nulls in columns that their Dataset lacks, sealed or not, and whichever columns are read."""
    rows = joined.to_arrow().to_pylist()
    assert {(row["text"], row["score"], row["lang"], row["year"]) for row in rows} == {
        ("text of a", 3, "x", None),
        ("text of b", None, "x", 3),
    }
    both = dp.read([str(tmp_path / "a"), str(tmp_path / "b")])
    assert both.to_arrow().to_pylist() == rows
    assert both.table(["year"])["year"].to_pylist() == [None] * 5 + [3] * 5
    assert both.columns == joined.columns


def test_other_programs_open_a_joined_dataset(joined) -> None:
    """Each data file, and all of them together, whatever stages dropped."""
    open_in_others(joined.url)
    for name, rule, n in (("none", dropped, 0), ("one", only_b, 5)):
        some = dp.Pipeline(dp.Filter(rule)).run(joined, f"{joined.url}-{name}")
        assert some.count == n
        open_in_others(some.url)


def test_what_a_joined_dataset_drops_is_read_again(joined) -> None:
    """Its records state how the input was read."""
    empty = dp.Pipeline(dp.Filter(dropped)).run(joined, f"{joined.url}-again")
    assert [row["score"] for row in empty.dropped()] == [3] * 5 + [None] * 5


def test_types_that_cannot_be_one_are_refused_before_any_work(tmp_path) -> None:
    """One sentence names the column, both types and both Datasets."""
    some = [sealed(tmp_path, "a", score="int64"), sealed(tmp_path, "b", score="string")]
    with pytest.raises(PlanError, match="'score' is int64 in .*a and large_string in .*b; give it one type"):
        dp.read(some)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.uint8(), pa.int16(), pa.int16()),
        (pa.int16(), pa.float32(), pa.float32()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.null(), pa.bool_(), pa.bool_()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), pa.string()),
        (pa.list_(pa.int8()), pa.list_(pa.int8()), pa.list_(pa.int8())),
        (pa.uint64(), pa.int64(), None),
        (pa.int64(), pa.float64(), None),
        (pa.bool_(), pa.int8(), None),
        (pa.list_(pa.int8()), pa.list_(pa.int16()), None),
    ],
)
def test_types_are_promoted_if_no_value_is_lost(one, other, both) -> None:
    """In either order."""
    for kinds in ((one, other), (other, one)):
        schemas = {f"DIR{n}": pa.schema([pa.field("c", kind)]) for n, kind in enumerate(kinds)}
        if both is None:
            with pytest.raises(PlanError, match="give it one type"):
                union_of(schemas)
        else:
            assert union_of(schemas).field("c").type == both


def test_a_joined_dataset_is_finished_when_it_is_run_again(joined, tmp_path) -> None:
    """The same Datasets have the same key, so nothing is written."""
    before = files.content_hash(f"{joined.url}/manifest.json")
    again = dp.Pipeline().run(dp.read([str(tmp_path / "a"), str(tmp_path / "b")]), joined.url)
    assert again.count == 10
    assert files.content_hash(f"{joined.url}/manifest.json") == before
