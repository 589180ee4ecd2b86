"""Documents as Python objects: positions and slices are those of a list."""

from __future__ import annotations

import itertools
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
import laws
from dataprep.errors import PlanError

TEXTS = [f"text {n}" for n in range(7)]


@pytest.fixture(params=["sealed", "read"])
def docs(request, tmp_path):
    """Seven documents, in two parts and batches of three."""
    read = laws.dataset_of(tmp_path, TEXTS, parts=2)
    return dp.Pipeline().run(read, str(tmp_path / "out")) if request.param == "sealed" else read


def test_positions_and_slices_are_those_of_a_list(docs):
    """Negative ones and steps, too; one beyond either end is an IndexError."""
    rows = list(docs)
    assert [row["text"] for row in rows] == TEXTS
    for at in range(-len(rows), len(rows)):
        assert docs[at] == rows[at]
    for at in (len(rows), len(rows) + 5, -len(rows) - 1):
        with pytest.raises(IndexError, match=rf"no document at position {at}; there are 7$"):
            docs[at]
    for wrong in ("text", True, None, 1.0):
        with pytest.raises(PlanError, match=re.escape(f"docs[{wrong!r}] must be docs[n] or docs[a:b]; columns")):
            docs[wrong]
    assert docs[np.int64(2)] == rows[2]
    bounds = (None, 0, 2, 6, 9, -1, -3, -9)
    for start, stop, step in itertools.product(bounds, bounds, (None, 2, -1)):
        assert docs[start:stop:step] == rows[start:stop:step], (start, stop, step)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 9])
def test_the_first_documents_are_taken(docs, monkeypatch, n):
    """And no batch after them is read."""
    batches, read = docs.batches, []
    monkeypatch.setattr(type(docs), "batches", lambda *_: (read.append(b.num_rows) or b for b in batches()))
    assert [row["text"] for row in docs.take(n)] == TEXTS[:n]
    assert sum(read[:-1]) < max(1, n)


def test_tables_of_documents(docs, tmp_path):
    """All columns or some; without documents, too; sources are strings for other libraries."""
    assert docs.table()["text"].to_pylist() == TEXTS
    assert docs.table(["text"]).column_names == ["text"]
    assert docs.to_arrow().schema.field("source").type == pa.string()
    assert docs.to_arrow().column_names == docs.table().column_names
    none = docs.then(dp.Filter(never))
    assert (docs.count, none.count, bool(docs), bool(none)) == (7, 0, True, False)
    with pytest.raises(TypeError, match="has no length until it is read; use docs.count"):
        len(none)
    assert none.table().column_names == ["id", "text", "source", "meta"]
    assert none.table(["source", "id"]).num_rows == 0


def test_other_libraries_get_the_table(docs, monkeypatch):
    """With the columns of the input if they are asked for; the extra is named; options go to the hub."""
    asked = []

    def need(name, extra):
        asked.append((name, extra))
        return SimpleNamespace(from_arrow=lambda table: table.column_names)

    monkeypatch.setattr("dataprep.core.model.documents.need", need)
    assert docs.to_polars() == ["id", "text", "source", "meta"]
    assert docs.to_polars(restore=True) == ["text"]
    pytest.importorskip("pandas")
    assert list(docs.to_pandas(restore=True).columns) == ["text"]
    assert list(docs.to_pandas().columns) == ["id", "text", "source", "meta"]
    assert list(docs.to_pandas()["text"]) == TEXTS
    assert set(asked) == {("polars", "frames"), ("pandas", "frames")}

    def hub(self, restore):
        class Pushed(list):
            def push_to_hub(self, name, **options):
                return name, restore, options

        return Pushed()

    monkeypatch.setattr(type(docs), "to_hf", hub)
    monkeypatch.setattr(type(docs), "_push_card", lambda *_: None)  # tests/core/test_hub_card.py
    assert docs.push("a/b", restore=True, private=True) == ("a/b", True, {"private": True})
    assert docs.push("a/b") == ("a/b", False, {})
    for wrong in ("/local/folder", "./folder", "a/b/c", "", None):
        with pytest.raises(PlanError, match=r'repository=.* must be "OWNER/NAME", a name on the hub'):
            docs.push(wrong)


def test_a_sample_is_spread_over_the_parts(tmp_path):
    """Up to eight of them, with an equal share of the bytes each."""
    docs = laws.dataset_of(tmp_path, ["x" * 10] * 80, parts=20, rows_per_batch=1)
    assert [docs.parts.index(part) for part in docs.spread()] == [0, 2, 5, 7, 10, 12, 15, 17]
    assert [batch.num_rows for batch in docs.sample(160).batches()] == [1] * 16
    few = docs.of(docs.parts[:8])
    assert list(few.spread()) == list(few.parts)
    assert few.sample(80).count == 8
    assert docs.of(docs.parts[:9]).spread()[-1] is docs.parts[7]


def test_a_sample_has_each_source(tmp_path):
    """The beginning of each file of a source of its own, such as the only one of a language."""
    names = "abcdefghijklmnopqrst"
    for name in names:
        (tmp_path / f"{name}.jsonl").write_text('{"text": "words"}\n')
    docs = dp.read([str(tmp_path / f"{name}.jsonl") for name in names])
    each = docs.of(replace(part, slices=(piece,)) for part in docs.parts for piece in part.slices)
    assert {row["source"] for row in each.sample(10_000)} == set(names)



def test_a_notebook_shows_200_characters():
    """Of a text; the mark at the end included."""
    page = dp.read([{"text": "x" * 200}, {"text": "y" * 201}])._repr_html_()
    assert "<td>" + "x" * 200 + "</td>" in page
    assert "<td>" + "y" * 199 + "\u2026</td>" in page


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a"])
def test_all_batches_are_written(docs, tmp_path, monkeypatch, name):
    """To one file; it is written over, and a file of no documents has its columns."""
    monkeypatch.setattr("dataprep.core.model.batch.MAX_ROWS", 2)
    place = str(tmp_path / name)
    docs.write(place)
    docs.write(place)
    again = dp.read(place if name != "a" else shutil.copy(place, f"{place}.jsonl.zst"))
    assert [row["text"] for row in again] == TEXTS
    none = docs.then(dp.Filter(never))
    none.write(place)
    if name == "a.parquet":
        assert pq.read_schema(place).names == ["id", "text", "source", "meta"]
    docs.write(place)  # it is known as ours


def never(text):
    """Drop every document."""
    return False
