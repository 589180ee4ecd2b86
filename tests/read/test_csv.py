"""CSV and TSV: rows as documents, and what a file may be that is none."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import tracemalloc

import pytest

import dataprep as dp
import laws
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read import as_utf8
from dataprep.read import text as plain_text
from dataprep.read.csv_records import csv_records, delimiter_of
from dataprep.read.csv_rows import Csv
from dataprep.read.survey import survey


def put(folder, data: bytes | str, name="a.csv") -> str:
    """Write a file; returns its path."""
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def read(url, **options):
    """(position, text, meta) of the documents, and (position, reason) of what was dropped."""
    ledger = Ledger("read", source="s")
    rows = [row for batch in Csv(**options)(Slice(url, 0), ledger) for row in batch.to_pylist()]
    drops = [(row["id"], row["reason"]) for row in ledger.drop_table().to_pylist()]
    return [(row["id"], row["text"], json.loads(row["meta"])) for row in rows], drops


def test_rows_are_documents(tmp_path) -> None:
    """Quotes, doubled quotes, line ends in quotes, CRLF and a byte order mark; positions are offsets of rows."""
    data = b'\xef\xbb\xbfid,text\r\n1,"one, ""two""\r\nthree"\r\n\r\n2,plain 5" pipe\r\n3,'
    rows, drops = read(put(tmp_path, data))
    assert rows == [
        (12, 'one, "two"\r\nthree', {"id": "1"}), (39, 'plain 5" pipe', {"id": "2"}), (56, "", {"id": "3"}),
    ]  # fmt: skip
    assert not drops
    assert [data[at : at + 2] for at, _, _ in rows] == [b"1,", b"2,", b"3,"]


def test_carriage_returns_alone_end_rows(tmp_path) -> None:
    """As old programs on Macs write them; a carriage return inside a field of other files is part of it."""
    data = 'id,text\r1,"one\rtwo"\r2,café\r'
    rows, drops = read(put(tmp_path, data.encode()))
    assert rows == [(8, "one\ntwo", {"id": "1"}), (20, "café", {"id": "2"})]
    assert not drops
    rows, _ = read(put(tmp_path, b"id,text\n1,one\rtwo\n"))
    assert rows == [(8, "one\rtwo", {"id": "1"})]


@pytest.mark.parametrize("block", [7, 64, 1 << 20])
@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_it_reads_what_the_standard_library_writes(tmp_path, monkeypatch, block, delimiter) -> None:
    """Random tables of letters, quotes, delimiters and line ends, in blocks of any size, as `csv` reads them."""
    monkeypatch.setattr(plain_text, "BLOCK", block)
    draw = random.Random(7)
    table = [["".join(draw.choices('ab",;\t|\n é', k=draw.randrange(12))) for _ in range(3)] for _ in range(200)]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([["id", "text", "n"], *table])
    url = put(tmp_path, out.getvalue())
    rows, drops = read(url, delimiter=delimiter)
    twin = list(csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=delimiter))[1:]
    assert [[meta["id"], text, meta["n"]] for _, text, meta in rows] == twin == table
    assert not drops


def test_columns_types_and_sources(tmp_path) -> None:
    """Columns are named, typed and given as in JSON Lines; empty values of a number are null."""
    url = put(tmp_path, "body,n,score,ok,lang\na,1,0.5,true,en\nb,,2,False,fr\nc,007,x,,en\n")
    docs = dp.read(url, text="body", columns=["n", "score", "ok"], source="field:lang")
    table = docs.table()
    assert table["source"].to_pylist() == ["en", "fr", "en"]
    assert docs.columns[4:] == ["n", "score", "ok"]
    assert table["ok"].to_pylist() == [True, False, None]
    typed = dp.read(url, text="body", columns={"n": "int64", "score": "double"}).table()
    assert (typed["n"].to_pylist(), typed["score"].to_pylist()) == ([1, None, None], [0.5, 2.0, None])
    with pytest.raises(ReadError, match=r"there is no column 'bodi'; the columns are body, n.*did you mean 'body'\?"):
        dp.read(url, text="bodi").table()
    with pytest.raises(PlanError, match="must be one character"):
        dp.read(url, text="body", delimiter="::")
    assert survey(url).groups[0].text == "body"


def test_names_of_columns(tmp_path) -> None:
    """A file without a row of names gets them; empty and double names are told apart."""
    rows, _ = read(put(tmp_path, "1,a\n2,b\n"), names=("id", "text"))
    assert [text for _, text, _ in rows] == ["a", "b"]
    rows, _ = read(put(tmp_path, "text,,x,x\na,b,c,d\n"))
    assert rows[0][2] == {"column_2": "b", "x": "c", "x_4": "d"}


@pytest.mark.parametrize(
    ("head", "delimiter"),
    [
        (b"a,b\n1,2\n", b","), (b"a;b;c\n1,5;2;3\n1;2,5;3\n", b";"), (b"a\tb\n1, 2\t3\n", b"\t"),
        (b"text\na\nb\n", b","),
        (b'a,b\n"x;y;z",2\n', b","), (b"a|b\n1|2", b"|"), (b"", b","), (b"a,b\n1,2,3\n", b","),
    ],
)  # fmt: skip
def test_the_delimiter_is_the_one_that_divides_evenly(head, delimiter) -> None:
    """Signs inside quotes do not count; without an answer it is a comma."""
    assert delimiter_of(head) == delimiter


@pytest.mark.parametrize("charset", ["utf-16", "cp1252", "utf-8-sig"])
def test_other_charsets(tmp_path, charset) -> None:
    """A file of a spreadsheet program is converted, and counted."""
    lines = "id;text\n" + "".join(f"{n};où est l'été déjà passé à {n}\n" for n in range(30))
    done = dp.Pipeline().run(dp.read(put(tmp_path, lines.encode(charset))), out=str(tmp_path / "out"))
    assert done[3]["text"] == "où est l'été déjà passé à 3"
    counts = done.stats[0].counts
    assert bool([name for name in counts if name.startswith("from_")]) == (charset != "utf-8-sig")


def test_bad_rows_are_dropped_and_the_rows_beside_them_kept(tmp_path, monkeypatch) -> None:
    """A quote that never ends costs its own line, not the rest of the file; so does one that swallows rows."""
    monkeypatch.setattr(as_utf8, "HEAD", 8)
    lines = [b"id,text", b"1,good", b'2,"never closed', b"3,good", b"4,\xff", b"5,too,many", b"6", b"7,good"]
    rows, drops = read(put(tmp_path, b"\n".join(lines)), max_bad=1)
    assert [(text, meta["id"]) for _, text, meta in rows] == [("good", "1"), ("good", "3"), ("good", "7")]
    assert [reason for _, reason in drops] == ["open_quote", "invalid_utf8", "too_many_fields", "no_text"]
    swallowed = b'id,text\n1,"open\n2,x\n3,y\n4,"z"\n5,w\n'
    rows, drops = read(put(tmp_path, swallowed))
    assert ([text for _, text, _ in rows], drops) == (["x", "y", "z", "w"], [(8, "open_quote")])


def test_a_file_of_another_kind_is_one_sentence(tmp_path) -> None:
    """Bytes that are no table, and a table without rows."""
    for data in (b"\x00\x01\x02" * 99, b"\xff\xfe\xfd" * 99):
        with pytest.raises(ReadError, match=r"convert it to UTF-8|must be a text file|content is|there is no column"):
            dp.read(put(tmp_path, data)).table()
    with pytest.raises(ReadError, match="contains no records"):
        dp.read(put(tmp_path, b"text\n")).table()


def test_names_of_columns_with_an_open_quote_are_one_sentence(tmp_path) -> None:
    """The row after them is not taken for the names."""
    for head in ('id,"text', '"عنوان,text', 'text,"id'):
        with pytest.raises(ReadError, match=r"byte 0: its first row, .* has a quote that is not closed"):
            dp.read(put(tmp_path, f"{head}\n1,a\ntext,b\n".encode())).table()


def test_memory_is_bounded(tmp_path) -> None:
    """A line and a quoted field that are far too long are dropped without being held."""
    line = b"x" * (1 << 20)
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as f:
        f.write(b"text,n\nshort,1\n")
        for _ in range(96):
            f.write(line)
        f.write(b',2\n"')
        for _ in range(96):
            f.write(line + b"\n")
        f.write(b'",3\nlast,4\n')
    ledger = Ledger("read", source="s")
    tracemalloc.start()
    try:
        batches = Csv(max_doc_bytes=4 << 20, max_bad=1)(Slice(str(path), 0), ledger)
        texts = [text[:8] for batch in batches for text in batch.column("text").to_pylist()]
        assert tracemalloc.get_traced_memory()[1] < 80 << 20
    finally:
        tracemalloc.stop()
    assert [texts[0], texts[-1]] == ["short", "last"]
    assert {row["reason"] for row in ledger.drop_table().to_pylist()} >= {"too_long", "open_quote"}


def test_a_truncated_file(tmp_path) -> None:
    """Compressed data that ends early raises; its rows before that are kept with on_bad_file="skip"."""
    rows = "".join(f"{n},{random.Random(n).random()}\n" for n in range(200_000))
    whole = gzip.compress(f"id,text\n{rows}".encode(), 1)
    url = put(tmp_path, whole[: len(whole) // 2], "a.csv.gz")
    with pytest.raises(ReadError, match="ends early"):
        dp.read(url).table()
    done = dp.Pipeline().run(
        dp.read([url, put(tmp_path, "text\nb\n", "b.csv")], on_bad_file="skip"), str(tmp_path / "o")
    )
    assert done.count > 10_000
    assert done.unread()["reason"].to_pylist() == ["unreadable"]


@pytest.mark.parametrize("charset", ["utf-8", "cp1252", "utf-16"])
def test_a_truncated_file_in_another_charset(tmp_path, charset) -> None:
    """Nearly all rows before the damage are kept: those of the compressed bytes that are there."""
    pytest.importorskip("resiliparse")
    draw = random.Random(3)
    text = "id,text\n" + "".join(f'{n},"Ça va très bien à l’école {draw.random()}"\n' for n in range(30_000))
    packed = gzip.compress(text.encode(charset), 1)
    (tmp_path / "a.csv.gz").write_bytes(packed[: len(packed) // 2])
    assert dp.read(str(tmp_path / "a.csv.gz"), on_bad_file="skip").count > 13_000


def test_workers_make_the_same(tmp_path) -> None:
    """One worker and two write the same bytes."""
    for n in range(4):
        put(tmp_path, "text,n\n" + "".join(f"row {k} of {n},{k}\n" for k in range(500)), f"{n}.csv")
    found = []
    for workers in (1, 2):
        out = tmp_path / f"out{workers}"
        runner = dp.tools.Serial() if workers == 1 else laws.TWO
        dp.Pipeline().run(dp.read(str(tmp_path / "*.csv"), part_size="64KiB"), out=str(out), runner=runner)
        found.append([path.read_bytes() for path in sorted((out / "data").iterdir())])
    assert found[0] == found[1]


def test_a_chat_is_recognised_first(samples) -> None:
    """A CSV of Discord is one of chats."""
    assert "author" in dp.read(str(samples / "chats" / "discord" / "*.csv")).columns


def test_lines_are_read_again_once() -> None:
    """Records of one column, whose number of fields tells nothing: a quote that never ends costs one line."""
    found = list(csv_records(io.BytesIO(b'text\n"a\nb\nc'), b",", 100))
    assert [(one.position, one.fields) for one in found] == [(0, [b"text"]), (5, None), (8, [b"b"]), (10, [b"c"])]
