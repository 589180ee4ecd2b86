"""Texts inside another field: in JSON Lines and Parquet, without a copy of them in meta; names that do not exist."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.errors import PlanError, ReadError
from dataprep.read import trust

from .json.test_reader import JSON, check
from .test_source_field import written

ROWS = [
    {"n": 0, "m": {"id": "x", "body": {"text": "one", "lang": "en"}}, "k": "a"},
    {"n": 1, "m": {"id": "y", "body": {"text": "two", "lang": None}}, "k": "b"},
]
NAMES = st.sampled_from(["m", "body", "text", "id", "a.b"])
INNER = st.dictionaries(NAMES, JSON | st.dictionaries(NAMES, JSON | st.text(), max_size=3), max_size=3)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("meta", [True, False])
def test_a_text_inside_another_field(tmp_path, kind, meta) -> None:
    """The text is found and is not in meta, where its neighbours stay; a source beside it is found, too."""
    path = written(tmp_path, kind, [*ROWS, {"n": 2, "m": {"id": "z", "body": None}, "k": "c"}])
    docs = dp.read(path, text="m.body.text", source="field:m.id", columns=["n"], meta=meta)
    table = docs.table()
    assert table["text"].to_pylist() == ["one", "two"]
    assert table["source"].to_pylist() == ["x", "y"]
    assert table["n"].to_pylist() == [0, 1]
    if meta:
        first = json.loads(table["meta"][0].as_py())
        assert first == {"m": {"id": "x", "body": {"lang": "en"}}, "k": "a"}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_field_with_a_point_in_its_name(tmp_path, kind) -> None:
    """A field that has the whole name goes before a field inside another."""
    path = written(tmp_path, kind, [{"a.b": "the name", "a": {"c": 1}, "id": 3}])
    assert [doc["text"] for doc in dp.read(path, text="a.b")] == ["the name"]


@settings(max_examples=60)
@given(st.lists(st.tuples(INNER, st.booleans(), st.sampled_from([",", " , ", ",\t"])), min_size=1, max_size=4))
def test_equals_the_plain_parser(tmp_path_factory, records) -> None:
    """The scanner finds, keeps and takes out what `json` does, wherever the text stands among its neighbours."""
    lines = [json.dumps({"m": r, "k": 1} if around else r, separators=(comma, ":")) for r, around, comma in records]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trust.Trust, "close", lambda _: None)
        for text in ("m.body", "m.body.text", "m.m.m"):
            check(tmp_path_factory.mktemp("j"), "\n".join(lines).encode(), text=text)


@pytest.mark.parametrize("last", ['"y"', "{}", "null", '{"body":3}', '{"body":"b"}'])
@pytest.mark.parametrize("first", ['{"body":"a"}', '{"body":"a","text":1}', "[]"])
def test_the_last_of_equal_fields_counts(tmp_path, monkeypatch, first, last) -> None:
    """Also if it has no text, and if a field with the whole name precedes both."""
    monkeypatch.setattr(trust.Trust, "close", lambda _: None)
    for before in ("", '"m.body":"whole",', '"m.body":2,'):
        line = f'{{{before}"m":{first},"m":{last}}}'
        docs = dp.read(written_line(tmp_path / "a.jsonl", line), text="m.body")
        record = json.loads(line)
        inner = record["m"].get("body") if isinstance(record["m"], dict) else None
        text = record.get("m.body", inner)
        assert [doc["text"] for doc in docs] == ([text] if isinstance(text, str) else [])


def written_line(path, line):
    """Write a line; return the path."""
    path.write_text(line + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("text", "near"), [("tekst", "text"), ("m.bdy.text", "m.body.text"), ("body.text", "m.body.text")]
)
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_text_that_is_not_there(tmp_path, kind, text, near) -> None:
    """One sentence names the fields, and the nearest."""
    rows = [{"text": "x", **ROWS[0]}] if near == "text" else ROWS
    with pytest.raises(ReadError, match=f"; did you mean '{near}'"):
        dp.read(written(tmp_path, kind, rows), text=text).table()
    with pytest.raises(ReadError, match="did you mean 'm.body.text'"):
        dp.read(pa.Table.from_pylist(ROWS), text="m.body.txt", out=str(tmp_path / "rows"))


def test_a_table_in_memory(tmp_path) -> None:
    """Rows of a table have their text inside a struct."""
    docs = dp.read(pa.Table.from_pylist(ROWS), text="m.body.text", out=str(tmp_path))
    assert [doc["text"] for doc in docs] == ["one", "two"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_the_field_around_is_no_column(tmp_path, kind) -> None:
    """What contains the text becomes neither a column nor a source."""
    path = written(tmp_path, kind, ROWS)
    with pytest.raises(PlanError, match="'m' cannot be a column: it contains the text"):
        dp.read(path, text="m.body.text", columns=["m"])
    for source in ("field:m", "field:m.body", "field:m.body.text"):
        with pytest.raises(PlanError, match="must differ from the text field"):
            dp.read(path, text="m.body.text", source=source)
