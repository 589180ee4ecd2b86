"""Tables and rows in memory are read like files, and Datasets become tables and rows again."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import dataprep as dp
from dataprep.core.model.documents import Documents
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
    with pytest.raises(ReadError, match=r"^rows: the rows are not a table \("):
        dp.read([{"text": "x", "n": 10**30}])
    with pytest.raises(ReadError, match=r"^rows: the rows are not a table \('utf-8' codec"):
        dp.read([{"text": "half a pair \ud800"}])
    with pytest.raises(ReadError, match="a type that Parquet does not support"):
        dp.read(pa.table({"text": ["x"], "n": pa.array([None], pa.month_day_nano_interval())}))
    with pytest.raises(PlanError, match="key=5 must be a name for the content, as a str"):
        dp.read(iter(()), key=5)
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


def nested():
    """Rows with values in objects and lists, as tables of Polars hold them in views."""
    return [{"text": f"text {i}", "a": {"b": f"b{i}", "c": [f"c{i}"]}, "n": i} for i in range(50)]


@pytest.mark.parametrize("kind", ["polars", "polars lazy", "pandas", "duckdb"])
def test_nested_columns_are_read(kind, monkeypatch):
    """Strings inside objects and lists are views in Polars, which not every Arrow function takes."""
    monkeypatch.setattr(f"{__name__}.ROWS", nested())
    assert [json.loads(m)["a"]["c"] for m in dp.read(make(kind)).table()["meta"].to_pylist()] == [
        [f"c{i}"] for i in range(50)
    ]


def test_the_columns_of_the_input_come_back(tmp_path):
    """restore=True: names, types and order of the input, the texts of now, and what stages added at the end."""
    pandas = pytest.importorskip("pandas")
    times = pandas.to_datetime(["2024-01-01 10:00:00", "2024-05-06 07:08:09", None])
    texts, inside = ["one", "two", "three"], [{"a": 1, "b": "x"}] * 3
    given = pandas.DataFrame({"n": [1, 2, 3], "content": texts, "at": times, "in": inside, "x": [0.5] * 3})
    docs = dp.read(given, text="content", columns=["x"])
    stages = (dp.Filter(short), dp.Map(lambda text: text.upper()), dp.Map(size, adds={"size": pa.int8()}))
    clean = dp.Pipeline(*stages[:2]).run(docs, out=str(tmp_path / "a"))
    clean = dp.Pipeline(stages[2]).run(clean, out=str(tmp_path / "b"))
    found = clean.to_arrow(restore=True)
    assert found.column_names == ["n", "content", "at", "in", "x", "size"]
    back = clean.to_pandas(restore=True)
    assert back["content"].tolist() == ["ONE", "THREE"]
    assert back["size"].tolist() == [3, 5]
    expected = given.drop(1).reset_index(drop=True).drop(columns="content")
    pandas.testing.assert_frame_equal(back[expected.columns], expected, check_dtype=True)
    assert clean.to_polars(restore=True)["at"].to_list() == [times[0].to_pydatetime(), None]
    assert docs.to_arrow(restore=True).num_rows == 3  # of documents that are not sealed, too
    assert clean.to_arrow().column_names == ["id", "text", "source", "meta", "x", "size"]


def short(text):
    return text != "two"


def size(text):
    return {"size": len(text)}


def test_json_lines_come_back(tmp_path):
    """The fields of JSON Lines, which need not be the same in every record nor of one type."""
    rows = [{"body": "a", "k": 1, "v": [1]}, {"body": "b", "k": "1", "w": {"x": None}}, {"body": "c", "big": 2**70}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "b.jsonl").write_text('{"other": "b"}\n')
    found = dp.read(str(tmp_path / "a.jsonl"), text="body").to_arrow(restore=True)
    assert found["body"].to_pylist() == ["a", "b", "c"]
    assert found["k"].to_pylist() == ["1", "1", None]
    assert found["v"].to_pylist() == [[1], None, None]
    assert found.column_names == ["body", "k", "v", "w", "big"]
    a, b = (
        dp.Pipeline().run(dp.read(str(tmp_path / f"{n}.jsonl"), text=t), out=str(tmp_path / n))
        for n, t in (("a", "body"), ("b", "other"))
    )
    with pytest.raises(PlanError, match="different fields"):
        dp.read([a, b]).to_arrow(restore=True)


@pytest.mark.parametrize("gone", [False, True], ids=["there", "gone"])
def test_json_lines_come_back_in_their_order(gone, tmp_path):
    """The text is where it was in the first record, as long as the file is there; named columns are, too."""
    rows = [{"id": 1, "text": "one", "url": "x", "n": 2}, {"late": 1, "text": "two"}]
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf\n" + b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    docs = dp.Pipeline().run(dp.read(str(tmp_path / "a.jsonl"), columns=["url"]), out=str(tmp_path / "out"))
    if gone:
        (tmp_path / "a.jsonl").unlink()
    expected = ["text", "id", "n", "late", "url"] if gone else ["id", "text", "url", "n", "late"]
    assert docs.to_arrow(restore=True).column_names == expected


def test_an_index_comes_back_as_a_column_only(tmp_path):
    """As the page says: a frame gets a new index, and reset_index keeps the old one."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["one", "two"]}, index=["a", "b"])
    back = dp.read(frame, out=str(tmp_path / "a")).to_pandas(restore=True)
    assert (back.columns.tolist(), back.index.tolist()) == (["text"], [0, 1])
    back = dp.read(frame.reset_index(), out=str(tmp_path / "b")).to_pandas(restore=True)
    assert back.set_index("index").index.tolist() == ["a", "b"]


def test_list_reads_once(tmp_path):
    """`list` asks for the length first, which must not read all documents before they are read."""
    reads = []
    docs = dp.read(ROWS[:5]).then(dp.Map(lambda text: reads.append(text) or text, version="1"))
    assert [row["text"] for row in list(docs)] == reads == [row["text"] for row in ROWS[:5]]
    assert bool(docs)
    with pytest.raises(TypeError, match=r"docs\.count"):
        len(docs)
    done = dp.Pipeline().run(docs, out=str(tmp_path / "out"))
    assert len(done) == len(list(done)) == docs.count == 5
    assert not dp.Pipeline(dp.Filter(lambda text: False)).run(docs, out=str(tmp_path / "none"))


def test_push_passes_on_what_datasets_takes(monkeypatch):
    """`push` uploads by `datasets`, with the columns of the input if they are wanted."""
    datasets = pytest.importorskip("datasets")
    seen = []
    monkeypatch.setattr(
        datasets.Dataset, "push_to_hub", lambda self, name, **options: seen.append((self.column_names, name, options))
    )
    monkeypatch.setattr(Documents, "_push_card", lambda *_: None)  # see core/test_hub_card.py
    dp.read(ROWS[:3]).push("me/rows", restore=True, private=True)
    assert seen == [(["text", "n"], "me/rows", {"private": True})]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_series_is_a_column_of_texts(kind):
    """One document per value; numbers are an error of one sentence."""
    library = pytest.importorskip(kind)
    assert [row["text"] for row in dp.read(library.Series(["a", "b"]))] == ["a", "b"]
    with pytest.raises(ReadError, match="values of type int64, but a series must contain strings"):
        dp.read(library.Series([1, 2]))


@pytest.mark.parametrize("kind", ["pandas", "table", "batch", "reader"])
def test_equal_column_names_are_one_sentence(kind):
    """Which of them is meant, nobody can say."""
    table = pa.table([["a"], ["b"], ["c"]], names=["text", "n", "n"])
    made = {"table": lambda: table, "batch": lambda: table.to_batches()[0], "reader": table.to_reader}
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        made["pandas"] = lambda: pandas.DataFrame([["a", 1, 2]], columns=["text", "n", "n"])
    with pytest.raises(ReadError, match="several columns named 'n'; names must be unique"):
        dp.read(made[kind](), key="rows").table(["text"])


def test_a_frame_that_arrow_cannot_hold_is_one_sentence():
    """A column of several types is an error that names it, as a list of such rows is."""
    frame = pytest.importorskip("pandas").DataFrame({"text": ["x", 1]})
    with pytest.raises(ReadError, match="cannot be converted to Arrow .*column text"):
        dp.read(frame)


def test_an_error_of_a_generator_is_its_own():
    """Only errors of rows are about rows; those of the code that makes them are not changed, and nothing is kept."""

    def rows():
        yield {"text": "one"}
        msg = "a mistake"
        raise TypeError(msg)

    with pytest.raises(TypeError, match="^a mistake$"):
        dp.read(rows(), key="raises")
    assert dp.read(iter(["two"]), key="raises").count == 1


def test_numbers_beyond_64_bits_come_back(tmp_path):
    """An integer of many digits keeps all of them, alone and in a list; an exponent beyond a double is an infinity."""
    large = '{"text": "a", "n": 123456789012345678901, "in": [18446744073709551616], "e": 1e400}'
    (tmp_path / "a.jsonl").write_text(large + '\n{"text": "b", "n": 1}')
    found = dp.read(str(tmp_path / "a.jsonl")).to_arrow(restore=True).to_pylist()
    assert found[0] == {"text": "a", "n": "123456789012345678901", "in": "[18446744073709551616]", "e": float("inf")}
    assert found[1] == {"text": "b", "n": "1", "in": None, "e": None}
