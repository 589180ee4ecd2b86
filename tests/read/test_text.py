"""Plain text: a file, a paragraph or a line a document."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read import text as plain_text
from dataprep.read.text import Lines, Paragraphs
from dataprep.read.trust import Trust
from dataprep.read.whole_file import Text


def read_bytes(reader, folder, data: bytes, start=0, stop=None):
    """(position, text) of the documents, and (position, reason, bytes) of what was dropped."""
    path = folder / "in.txt"
    path.write_bytes(data)
    ledger = Ledger("read", source="s")
    rows = [(r["id"], r["text"]) for b in reader(Slice(str(path), 0, start, stop), ledger) for r in b.to_pylist()]
    return rows, [(r["id"], r["reason"]) for r in ledger.drop_table().to_pylist()]


DATA = b"\xef\xbb\xbfone\ntwo \r\n\r\n \t\n\nthree\n" + "четыре".encode() + b"\n\nlast"


def test_a_file_is_a_document(tmp_path) -> None:
    """The whole file, but for a byte order mark."""
    assert read_bytes(Text(), tmp_path, DATA) == ([(0, DATA[3:].decode())], [])


def test_paragraphs(tmp_path, monkeypatch) -> None:
    """Paragraphs begin where their first line does; what is read at once does not matter."""
    want = [(0, "one\ntwo "), (19, "three\nчетыре"), (39, "last")]
    for block in (1, 5, 1 << 20):
        monkeypatch.setattr(plain_text, "BLOCK", block)
        assert read_bytes(Paragraphs(), tmp_path, DATA) == (want, [])


def test_lines(tmp_path) -> None:
    """Lines that are not blank, and the same from any two byte ranges."""
    rows, drops = read_bytes(Lines(), tmp_path, DATA)
    assert [t for _, t in rows] == ["one", "two ", "three", "четыре", "last"]
    assert [DATA[p : p + 3] for p, _ in rows[1:]] == [b"two", b"thr", "ч".encode() + b"\xd0", b"las"]
    for cut in range(1, len(DATA)):
        first, second = read_bytes(Lines(), tmp_path, DATA, stop=cut), read_bytes(Lines(), tmp_path, DATA, start=cut)
        assert first[0] + second[0] == rows
        assert not drops + first[1] + second[1]


@pytest.mark.parametrize("reader", [Text, Paragraphs, Lines])
def test_bad_documents(tmp_path, reader) -> None:
    """What is not UTF-8 or too long is dropped with its position."""
    rows, drops = read_bytes(reader(max_doc_bytes=8), tmp_path, b"good\n\n\xff\n\nfar too long\nyes\n\ngood")
    want = {
        Text: ([], [(0, "too_long")]),
        Paragraphs: ([(0, "good"), (27, "good")], [(6, "invalid_utf8"), (9, "too_long")]),
        Lines: ([(0, "good"), (22, "yes"), (27, "good")], [(6, "invalid_utf8"), (9, "too_long")]),
    }
    assert (rows, drops) == want[reader]
    assert read_bytes(Text(), tmp_path, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe") == ([], [(0, "invalid_utf8")])
    assert read_bytes(Text(), tmp_path, b"") == ([], [(0, "empty")])


def test_a_paragraph_that_grows_too_long(tmp_path) -> None:
    """Many short lines make one long paragraph: dropped as one."""
    data = b"a\n" * 100 + b"\nb\n"
    assert read_bytes(Paragraphs(max_doc_bytes=50), tmp_path, data) == ([(201, "b")], [(0, "too_long")])


def test_records_before_bad_columns_are_dropped_once(tmp_path) -> None:
    """Columns in which too many records are bad end the file; those before them, and their own, are counted once."""
    n = 120
    data = pa.array([b"\xff"] * (n - 1) + [b"good"], pa.large_binary())
    columns = plain_text.RecordColumns(np.arange(1, n + 1), np.ones(n, np.int64), data, ["{}"] * n)
    ledger, found = Ledger("read", source="s"), []
    records = iter([plain_text.Record(0, b"\xff", 1), columns])
    with pytest.raises(ReadError, match="the first 100 records are all bad"):
        for batch in plain_text.documents(records, Slice("a.wet", 0), ledger, Trust("a.wet", whole=False)):
            found += batch.column("id").to_pylist()
    assert found == [n]
    assert ledger.drop_table()["id"].to_pylist() == list(range(n))


def test_a_file_in_another_encoding(tmp_path) -> None:
    """A file of lines that are not UTF-8 is a ReadError that says how to convert it."""
    with pytest.raises(ReadError, match=r"byte 0: all 20 records are bad.*invalid_utf8.*iconv"):
        read_bytes(Lines(), tmp_path, "é\n".encode("latin-1") * 20)


def test_by_name_and_suffix(tmp_path) -> None:
    """`.txt` is one document a file; format= says otherwise; gzip is looked through."""
    (tmp_path / "b.txt").write_bytes(b"a\n\nb\nc")
    (tmp_path / "a.md.gz").write_bytes(gzip.compress(b"d"))
    assert dp.read(str(tmp_path)).table()["text"].to_pylist() == ["d", "a\n\nb\nc"]
    assert dp.read(str(tmp_path), format="paragraphs").table()["text"].to_pylist() == ["d", "a", "b\nc"]
    assert dp.read(str(tmp_path), format="lines").table()["text"].to_pylist() == ["d", "a", "b", "c"]


SAID = "Le café où naïve élève déjà été.\r\n"


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (SAID.encode("cp1252") * 9, SAID * 9, "cp1252"),
        (SAID.encode("utf-16"), SAID, "utf-16-le"),
        (SAID.encode("utf-16-be"), SAID, "utf-16-be"),
        (SAID.encode(), SAID, None),
        (b"a \0 in text", "a \0 in text", None),
    ],
    ids=["cp1252", "utf-16 mark", "utf-16", "utf-8", "zero"],
)
def test_files_in_other_encodings_are_decoded(tmp_path, data, text, encoding) -> None:
    """`meta` and the statistics say from which."""
    (tmp_path / "a.txt").write_bytes(data)
    done = dp.Pipeline().run(dp.read(str(tmp_path / "a.txt")), out=str(tmp_path / "out"))
    (row,) = done
    assert row["text"] == text
    assert json.loads(row["meta"]) == {"path": "a.txt"} | ({"encoding": encoding} if encoding else {})
    assert done.stats["read"].counts.get(f"encoding.{encoding}", 0) == bool(encoding)


def test_a_folder_of_texts(tmp_path, monkeypatch) -> None:
    """Sources are folders, paths are in `meta`, an empty file is a dropped document, other files are unread rows."""
    home = tmp_path / "corpus"
    for name, said in {"a/1.txt": "one", "a/b/2.md": "two", "3.txt": "three", "a/none.txt": "", "a/x.jpg": "x"}.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(said)
    done = dp.Pipeline().run(dp.read(str(home)), out=str(tmp_path / "out"))
    found = [(row["source"], json.loads(row["meta"])["path"], row["text"]) for row in done]
    assert found == [("corpus", "3.txt", "three"), ("a", "a/1.txt", "one"), ("b", "a/b/2.md", "two")]
    assert done.drops()["reason"].to_pylist() == ["empty"]
    assert [row["reason"] for row in done.unread().to_pylist()] == ["unknown_type"]
    (glob,) = dp.read(f"{home}/a/b/*.md")
    assert (glob["source"], json.loads(glob["meta"])["path"]) == ("b", "2.md")
    key = dp.read(str(home)).key
    monkeypatch.chdir(home)
    for place in (".", "./", "../corpus", "*/*.txt", "./*/*.txt"):  # the path is below what is named
        paths = [json.loads(row["meta"])["path"] for row in dp.read(place)]
        assert [path for path in paths if path.endswith("1.txt")] == ["a/1.txt"]
    (home / "a" / "b").rename(home / "a" / "c")
    assert dp.read(str(home)).key != key  # the path is part of the result
    for place in home.rglob("*.*"):
        place.write_text("")
    with pytest.raises(ReadError, match="empty"):
        dp.read(str(home))
