"""Parquet from elsewhere: positions are rows, other columns are meta, wrong schemas are said."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep.errors import PlanError, ReadError
from dataprep.read import parquet_rows
from dataprep.read import parts as plan

ROWS = {
    "id": ["a", "b", None],
    "n": [1, None, 2**63 - 1],
    "when": [dt.datetime(2024, 5, 1, 12), None, dt.datetime(2025, 1, 1)],
    "nested": [{"k": [1, 2]}, None, {"k": []}],
    "price": [Decimal("1.50"), None, None],
    "raw": [b"ok", b"\xff\x00", None],
}
TEXTS = ["one", "", "drei ü"]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()), pa.binary()],
    ids=str,
)
def test_every_string_type(tmp_path, kind) -> None:
    """The text may be any kind of string column; the other columns are JSON in meta, nulls left out."""
    text = pa.array([t.encode() for t in TEXTS], kind) if kind == pa.binary() else pa.array(TEXTS).cast(kind)
    pq.write_table(pa.table({"text": text, **ROWS}), tmp_path / "a.parquet")
    table = dp.read(str(tmp_path / "a.parquet")).table()
    assert table["id"].to_pylist() == [0, 1, 2]
    assert table["text"].to_pylist() == TEXTS
    assert [json.loads(m) for m in table["meta"].to_pylist()] == [
        {"id": "a", "n": 1, "when": "2024-05-01T12:00:00", "nested": {"k": [1, 2]}, "price": "1.50", "raw": "ok"},
        {"id": "b", "raw": "/wA="},
        {"n": 2**63 - 1, "when": "2025-01-01T00:00:00", "nested": {"k": []}},
    ]


def test_columns(tmp_path) -> None:
    """Lifted columns keep their types; nested ones become JSON strings; the rest stays in meta."""
    pq.write_table(pa.table({"body": TEXTS, **ROWS}), tmp_path / "a.parquet")
    table = dp.read(str(tmp_path / "a.parquet"), text="body", columns=["n", "when", "nested", "price"]).table()
    assert table.schema.field("when").type == pa.timestamp("us")
    assert table["n"].to_pylist() == ROWS["n"]
    assert table["nested"].to_pylist() == ['{"k":[1,2]}', None, '{"k":[]}']
    assert table["price"].to_pylist() == ["1.50", None, None]
    assert json.loads(table["meta"][0].as_py()) == {"id": "a", "raw": "ok"}
    assert dp.read(str(tmp_path / "a.parquet"), text="body", meta=False).take(1)[0]["meta"] == "{}"
    as_text = dp.read(str(tmp_path / "a.parquet"), text="body", columns={"n": "string"}).table()
    assert as_text["n"].to_pylist() == ["1", None, str(2**63 - 1)]


def test_parts_follow_row_groups(tmp_path, monkeypatch) -> None:
    """A large file is cut between row groups; the documents and their positions are the same."""
    texts = [str(i) * 50 for i in range(1_000)]
    pq.write_table(pa.table({"text": texts, "n": range(1_000)}), tmp_path / "a.parquet", row_group_size=90)
    whole = dp.read(str(tmp_path / "a.parquet")).table()
    monkeypatch.setattr(plan, "PART_BYTES", 30_000)
    docs = dp.read(str(tmp_path / "a.parquet"))
    assert len(docs.parts) > 2
    assert docs.table().equals(whole)
    assert whole["text"].to_pylist() == texts
    assert whole["id"].to_pylist() == list(range(1_000))


def test_bad_rows(tmp_path) -> None:
    """Null, broken and overlong texts are dropped by reason; every other row keeps its position."""
    broken = pa.array([b"ok", None, b"\xff", b"far too long", b"end"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 5, broken.buffers())
    pq.write_table(pa.table({"text": text, "n": range(5)}), tmp_path / "a.parquet")
    clean = dp.Pipeline().run(dp.read(str(tmp_path / "a.parquet"), max_doc_bytes=5), out=str(tmp_path / "out"))
    assert clean.table(["id", "text"]).to_pylist() == [{"id": 0, "text": "ok"}, {"id": 4, "text": "end"}]
    assert clean.stats["read"].reasons == {"invalid_utf8": 1, "no_text": 1, "too_long": 1}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"body": ["a"], "n": [1]}, r"'text' does not exist; the columns are body \(string\), n \(int64\); .* text="),
        ({"text": [1]}, r"'text' has the type int64, not string"),
        ({"text": pa.array([], pa.string())}, "has no rows"),
    ],
)
def test_wrong_schema(tmp_path, table, says) -> None:
    """A file without a string text column says which columns there are, before any work."""
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=says):
        dp.read(str(tmp_path / "a.parquet"))


def test_wrong_columns(tmp_path) -> None:
    """An absent column, an unknown type, and values that do not fit are each a sentence."""
    pq.write_table(pa.table({"text": ["a"], "n": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=r"no column url; the columns are text \(string\), n"):
        dp.read(str(tmp_path / "a.parquet"), columns=["url"])
    with pytest.raises(PlanError, match="'number' is not a column type"):
        dp.read(str(tmp_path / "a.parquet"), columns={"n": "number"})
    with pytest.raises(ReadError, match="column n of type string cannot be cast to int64"):
        dp.read(str(tmp_path / "a.parquet"), columns={"n": "int64"}).count  # noqa: B018 - reads


def test_damaged_file(tmp_path) -> None:
    """A truncated or foreign file is a ReadError with its path; so is one that breaks in the middle."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [str(i) for i in range(10_000)]}), path, compression="zstd")
    data = path.read_bytes()
    for bad in (data[:-10], b"PAR1 not really", data[:8]):
        path.write_bytes(bad)
        with pytest.raises(ReadError, match=r"a\.parquet.*not a complete Parquet file"):
            dp.read(str(path))
    noise = np.random.default_rng(1).bytes(len(data) // 2)
    path.write_bytes(data[:4] + noise + data[4 + len(noise) :])
    with pytest.raises(ReadError, match=r"a\.parquet.*not a complete Parquet file"):
        dp.read(str(path)).table()


def test_a_sealed_dataset_reads_back(tmp_path) -> None:
    """A folder that a Pipeline sealed, or several, are opened by `read` as they are."""
    pq.write_table(pa.table({"text": TEXTS, "n": [1, 2, 3]}), tmp_path / "a.parquet")
    docs = dp.Pipeline().run(dp.read(str(tmp_path / "a.parquet"), columns=["n"]), out=str(tmp_path / "one"))
    assert dp.read(str(tmp_path / "one")).table().equals(docs.table())
    both = dp.read([docs, str(tmp_path / "one")])
    assert both.table(["id"])["id"].to_pylist() == [0, 1, 2, 1 << 40, (1 << 40) + 1, (1 << 40) + 2]
    with pytest.raises(PlanError, match="not a sealed Dataset"):
        dp.read([docs, str(tmp_path / "a.parquet")])


MAP = pa.map_(pa.string(), pa.string())
NESTED = {
    "text": pa.array,
    "bytes": lambda values: pa.array([None if v is None else v.encode() for v in values]),
    "list": lambda values: pa.array([None if v is None else [v, v] for v in values]),
    "struct": lambda values: pa.array([None if v is None else {"k": v} for v in values]),
    "map": lambda values: pa.array([None if v is None else [("k", v)] for v in values], MAP),
}


@pytest.mark.parametrize("first", [None, "short"], ids=["null", "short"])
@pytest.mark.parametrize("kind", NESTED)
def test_a_value_of_many_rows_is_decoded_in_slices(tmp_path, monkeypatch, kind, first) -> None:
    """A dictionary with one long value, to which each row refers: few rows are decoded at once, and none is lost."""
    monkeypatch.setattr(parquet_rows, "DECODED_BYTES", 1 << 20)
    long = "a long value " * 8_000  # 104 kB
    values = [*[first] * 20, *[long] * 80]
    text = values if kind == "text" else ["text"] * len(values)
    table = pa.table({"text": text, "other": NESTED[kind](values)})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 50_000
    docs = dp.read(str(tmp_path / "a.parquet"))
    sizes = [pc.sum(pc.binary_length(batch[name])).as_py() for batch in docs.batches() for name in ("text", "meta")]
    assert max(sizes) <= (1 << 20) + 100 * 1024
    whole = docs.table(["id", "text", "meta"])
    monkeypatch.setattr(parquet_rows, "DECODED_BYTES", 1 << 40)
    assert docs.table(["id", "text", "meta"]).equals(whole)
    assert len(whole) == sum(t is not None for t in text)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "PLAIN", "DELTA_LENGTH_BYTE_ARRAY"])
def test_equal_values_without_a_dictionary_are_decoded_in_slices(tmp_path, monkeypatch, encoding) -> None:
    """Prefixes that values share, and plain values that compress well, take no more memory than a dictionary's."""
    long = "a long value " * 8_000  # 104 kB
    table = pa.table({"text": ["text"] * 100, "other": [None] * 20 + [long] * 80})
    pq.write_table(
        table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False, column_encoding={"other": encoding}
    )
    docs = dp.read(str(tmp_path / "a.parquet"))
    whole = docs.table(["id", "text", "meta"])
    monkeypatch.setattr(parquet_rows, "DECODED_BYTES", 1 << 20)
    sizes = [pc.sum(pc.binary_length(batch["meta"])).as_py() for batch in docs.batches()]
    assert max(sizes) <= (1 << 20) + 100 * 1024
    assert docs.table(["id", "text", "meta"]).equals(whole)


@pytest.mark.parametrize("dictionary", [True, False], ids=["dictionary", "plain"])
@pytest.mark.parametrize("kind", ["list", "struct", "map"])
def test_a_row_with_very_many_values_is_rejected(tmp_path, monkeypatch, kind, dictionary) -> None:
    """A list of a thousand references is one row: its column is named, and the rest is read without it."""
    monkeypatch.setattr(parquet_rows, "DECODED_BYTES", 1 << 20)
    monkeypatch.setattr(parquet_rows, "ROW_BYTES", 8 << 20)
    long = "a long value " * 8_000
    many = {
        "list": pa.array([None, [long] * 100, []]),
        "struct": pa.array([None, {"k": [{"v": long}] * 100}, {"k": []}]),
        "map": pa.array([None, [(f"{i}", long) for i in range(100)], []], MAP),
    }[kind]
    url = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": ["a", "b", "c"], "other": many}), url, use_dictionary=dictionary)
    with pytest.raises(ReadError, match="a row has 9 MiB in the column 'other', over 8 MiB; set meta=False"):
        list(dp.read(url))
    assert [doc["text"] for doc in dp.read(url, meta=False)] == ["a", "b", "c"]
    monkeypatch.setattr(parquet_rows, "ROW_BYTES", 16 << 20)
    assert dp.read(url).count == 3


def test_rows_without_long_values_are_decoded_together(tmp_path) -> None:
    """Ordinary columns keep the size of their batches: nothing is read twice for them."""
    names = [f"https://example.org/{i % 7}" for i in range(5_000)]
    pq.write_table(pa.table({"text": names, "url": names}), tmp_path / "a.parquet")
    metadata = pq.read_metadata(tmp_path / "a.parquet")
    with (tmp_path / "a.parquet").open("rb") as f:
        assert parquet_rows.rows_at_once(f, metadata, 0, None) == parquet_rows.ROWS
        assert f.tell() == 0


def test_a_time_with_a_zone_is_a_column(tmp_path):
    """Its type is found, and URL compares such times."""
    when = [dt.datetime(2024, 1, day, tzinfo=dt.timezone.utc) for day in (1, 2)]
    rows = {"text": ["old", "new"], "url": ["http://a.org/x"] * 2, "date": pa.array(when, pa.timestamp("us", "UTC"))}
    pq.write_table(pa.table(rows), tmp_path / "pages.parquet")
    docs = dp.read(str(tmp_path / "pages.parquet"), columns=["url", "date"])
    assert docs.table()["date"].type == pa.timestamp("us", "UTC")
    pytest.importorskip("w3lib")
    assert dp.Pipeline(dp.URLDedup()).run(docs, out=str(tmp_path / "out"))[0]["text"] == "new"


@pytest.mark.parametrize("error", [pa.ArrowMemoryError("malloc of size 64 failed"), OSError(24, "Too many open files"),
                                   pa.ArrowException("Unknown error: Failed to launch worker thread: Resource")],
                         ids=["memory", "files", "threads"])  # fmt: skip
def test_what_the_machine_lacks_is_no_damage_of_a_file(tmp_path, monkeypatch, error):
    """Else a file that is whole would be left out of the result for ever, or its part removed by a repair."""
    pq.write_table(pa.table({"text": ["one", "two"]}), tmp_path / "a.parquet")
    docs = dp.read(str(tmp_path), on_bad_file="skip")

    def fails(*_, **__):
        raise error

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", fails)
    with pytest.raises((MemoryError, OSError), match=str(error)[-12:]):
        docs.count  # noqa: B018 - reads the file
