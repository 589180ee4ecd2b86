"""Tables and rows in memory are read like files, and Datasets become tables and rows again."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import dataprep as dp
from dataprep.errors import PlanError, ReadError

ROWS = [
    {"text": f"row {i} \u0633\u0644\u0627\u0645 \u0928\u092e\u0938\u094d\u0924\u0947", "n": i} for i in range(40_000)
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Everything is written under the test's own folder."""
    monkeypatch.setenv("DATAPREP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make(kind):
    """The rows, as an object of a library."""
    if kind == "list":
        return ROWS
    if kind == "arrow":
        return pa.Table.from_pylist(ROWS)
    if kind == "duckdb":
        duckdb, made = pytest.importorskip("duckdb"), pa.Table.from_pylist(ROWS)
        return duckdb.sql("SELECT * FROM made ORDER BY n") if made else None
    library = pytest.importorskip(kind.partition(" ")[0])
    frame = library.DataFrame(ROWS)
    if kind == "pandas category":
        frame = frame.assign(kind=library.Categorical(["a"] * len(ROWS))).set_index("n", drop=False)
    return frame.lazy() if kind.endswith("lazy") else frame


@pytest.mark.parametrize("kind", ["list", "arrow", "duckdb", "pandas", "pandas category", "polars", "polars lazy"])
def test_a_table_is_read_as_its_rows(kind):
    """Ids are row numbers, the other columns are in meta; the same rows are written once, other rows apart."""
    docs = dp.read(make(kind))
    table = docs.table()
    assert table["id"].to_pylist() == list(range(len(ROWS)))
    assert table["text"].to_pylist() == [row["text"] for row in ROWS]
    assert json.loads(table["meta"][7].as_py())["n"] == 7
    assert dp.read(make(kind)).key == docs.key
    assert dp.read(pa.Table.from_pylist(ROWS[:-1])).key != docs.key


def test_an_iterator_needs_a_key(tmp_path):
    """A generator is read once under its key, and not at all the second time; of paths it needs none."""
    with pytest.raises(PlanError, match="set key= to a name"):
        dp.read(iter(ROWS[:3]))
    docs = dp.read((row["text"] for row in ROWS[:2_500]), key="letters")
    assert docs.table()["text"].to_pylist() == [row["text"] for row in ROWS[:2_500]]
    assert dp.read(iter(()), key="letters").count == 2_500
    (tmp_path / "a.txt").write_text("a text")
    assert dp.read(tmp_path.glob("*.txt")).count == 1


def test_rows_that_are_no_table():
    """No text column, rows of mixed types and no rows are one sentence each."""
    with pytest.raises(ReadError, match="no text column 'text'; the columns are body"):
        dp.read([{"body": "x"}])
    with pytest.raises(ReadError, match="rows are not a table"):
        dp.read([{"text": "x"}, {"text": 1}])
    with pytest.raises(ReadError, match="no rows"):
        dp.read(iter(()), key="nothing")
    assert dp.read([{"body": "x"}], text="body").take(1)[0]["text"] == "x"


def test_a_run_of_a_table_equals_that_of_its_file(tmp_path):
    """Kept and dropped documents are the same as those of the rows in a file."""
    rows = [*ROWS[:500], *ROWS[:100]]
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    one, two = (
        dp.Pipeline(dp.Exact()).run(dp.read(given), out=str(tmp_path / name))
        for name, given in (("a", rows), ("b", str(tmp_path / "rows.parquet")))
    )
    assert one.table(["id", "text", "meta"]).equals(two.table(["id", "text", "meta"]))
    assert one.count == 500


def test_a_dataset_is_a_table_and_a_sequence(tmp_path):
    """Data frames, iteration, positions and slices show the documents in their order."""
    docs = dp.Pipeline().run(dp.read(ROWS[:20]), out=str(tmp_path / "out"))
    texts = [row["text"] for row in ROWS[:20]]
    assert [row["text"] for row in docs] == texts
    assert (docs[0]["text"], docs[5]["text"], docs[-1]["text"]) == (texts[0], texts[5], texts[-1])
    for wanted in (slice(3, 9, 2), slice(-4, None), slice(None, -18), slice(None, None, -3), slice(30, 40)):
        assert [row["text"] for row in docs[wanted]] == texts[wanted]
    for wrong in (20, -21):
        with pytest.raises(IndexError, match="there are 20"):
            docs[wrong]
    for library, name in (("pandas", "to_pandas"), ("polars", "to_polars")):
        pytest.importorskip(library)
        frame = getattr(docs, name)()
        assert list(frame["text"]) == texts
        assert set(frame["source"]) == {"rows"}
    page = dp.read([{"text": "<script>alert(1)</script>"}])._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
