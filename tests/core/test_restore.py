"""Documents with the columns of their input again: names, types and order, from files and what was made of them."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep.core.inputs.restore import _parsed
from dataprep.errors import PlanError


def upper(text):
    """In capitals."""
    return {"text": text.upper(), "length": len(text)}


STAGE = dp.Map(upper, adds={"length": pa.int64()})


def lines(place, *rows):
    """A file of JSON Lines."""
    place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(place)


@pytest.mark.parametrize("times", [0, 1, 2], ids=["read", "sealed", "sealed twice"])
def test_a_text_inside_an_object_goes_back_there(tmp_path, times):
    """What is beside it stays, a field that one row lacks is null, and new columns follow."""
    rows = [{"n": 1, "a": {"b": {"c": "one"}, "d": 2}, "e": None}, {"a": {"b": {"c": "two"}}, "f": [3]}]
    docs = dp.read(lines(tmp_path / "a.jsonl", *rows), text="a.b.c").then(STAGE)
    for n in range(times):
        docs = dp.Pipeline().run(docs, str(tmp_path / f"out{n}"))
    table = docs.to_arrow(restore=True)
    assert table.column_names == ["n", "a", "e", "f", "length"]
    found = table.to_pylist()
    assert [row["a"]["b"]["c"] for row in found] == ["ONE", "TWO"]
    assert [row["a"].get("d") for row in found] == [2, None]
    assert [[row[name] for name in ("n", "e", "f", "length")] for row in found] == [
        [1, None, None, 3],
        [None, None, [3], 3],
    ]


def test_types_and_order_are_those_of_the_file(tmp_path):
    """Of Parquet, a column without values too; a nested column that was read as JSON is nested again."""
    nested = pa.list_(pa.struct([("x", pa.int8())]))
    table = pa.table({"n": pa.array([1, 2], pa.int8()), "body": ["one", "two"], "none": pa.nulls(2, pa.float32()),
                      "tags": pa.array([[{"x": 1}], None], nested)})  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    docs = dp.read(str(tmp_path / "a.parquet"), text="body", columns=["tags"]).then(STAGE)
    found = docs.to_arrow(restore=True)
    assert found.column_names == ["n", "body", "none", "tags", "length"]
    assert [found.schema.field(name).type for name in ("n", "none", "tags")] == [pa.int8(), pa.float32(), nested]
    assert found.drop_columns(["length"]).to_pylist() == [
        row | {"body": row["body"].upper()} for row in table.to_pylist()
    ]
    (tmp_path / "a.parquet").unlink()
    assert docs.of(()).to_arrow(restore=True).column_names == ["text"]


def test_files_with_texts_in_several_fields_are_read_apart(tmp_path):
    """The sentence names the fields."""
    names = ("a", "b")
    urls = [
        dp.Pipeline().run(dp.read(lines(tmp_path / f"{n}.jsonl", {n: "x"}), text=n), str(tmp_path / n)).url
        for n in names
    ]
    with pytest.raises(
        PlanError, match=r"^the input files have their texts in different fields \(a, b\); read them in"
    ):
        dp.read(urls).to_arrow(restore=True)
    assert dp.open_dataset(urls[0]).to_arrow(restore=True).to_pylist() == [{"a": "x"}]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [(["[1]", None], pa.list_(pa.int8()), [[1], None]), (["[1]"], pa.string(), ["[1]"]), (["[1]"], None, ["[1]"]),
     ([[1]], pa.list_(pa.int8()), [[1]])],
)  # fmt: skip
def test_only_json_of_nested_columns_is_parsed(values, kind, expected):
    """Others stay as they are."""
    assert _parsed(pa.chunked_array([values]), kind).to_pylist() == expected
