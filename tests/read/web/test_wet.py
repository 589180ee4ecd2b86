"""WET: conversion records, positions that an index can use, and files that lie about their lengths."""

from __future__ import annotations

import gzip
import hashlib
import json

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.web import blocks, members
from dataprep.read.web.derived import Wet


def record(kind: str, body: bytes, length: int | None = None, **headers: str) -> bytes:
    """One WARC record."""
    lines = ["WARC/1.0", f"WARC-Type: {kind}", *(f"WARC-{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    lines += [f"Content-Length: {len(body) if length is None else length}", "", ""]
    return "\r\n".join(lines).encode() + body + b"\r\n\r\n"


INFO = record("warcinfo", b"Software-Info: none\r\n")
PAGES = [
    record("conversion", "Első oldal\n\nWARC/1.0 is only text here.\n".encode(), Target_URI="http://a.example/"),
    record("conversion", b"", Target_URI="http://b.example/", Date="2024-05-18T01:58:10Z"),
    record("metadata", b"x"),
    record("conversion", b"third", Identified_Content_Language="eng,fra", Record_ID="<urn:uuid:1>"),
]
RECORDS = [INFO, *PAGES]
TEXTS = ["Első oldal\n\nWARC/1.0 is only text here.\n", "", "third"]
METAS = [
    {"url": "http://a.example/"},
    {"url": "http://b.example/", "date": "2024-05-18T01:58:10Z"},
    {"record_id": "<urn:uuid:1>", "languages": "eng,fra"},
]


def read_bytes(folder, data: bytes, name: str, **fields):
    """Rows of a file with these bytes, and the ledger."""
    path = folder / name
    path.write_bytes(data)
    ledger = Ledger("read", source="s")
    return [r for b in Wet(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()], ledger


def offsets(pieces: list[bytes]) -> list[int]:
    """Where the pages begin that become documents."""
    return [sum(map(len, pieces[:k])) for k in (1, 2, 4)]


@pytest.mark.parametrize("name", ["a.wet", "a.warc.wet.gz", "a.wet.zst", "one-stream.wet.gz"])
def test_positions(tmp_path, name) -> None:
    """A position is the record's offset as stored, or in the text where a record cannot be entered alone."""
    stored = RECORDS
    if name == "a.warc.wet.gz":
        stored = [gzip.compress(r) for r in RECORDS]
    packed = {"a.wet.zst": zstandard.ZstdCompressor().compress, "one-stream.wet.gz": gzip.compress}.get(name, bytes)
    rows, ledger = read_bytes(tmp_path, packed(b"".join(stored)), name)
    assert [r["id"] for r in rows] == offsets(stored)
    assert [r["text"] for r in rows] == TEXTS
    assert [json.loads(r["meta"]) for r in rows] == METAS
    assert ledger.record.counts == {"records.warcinfo": 1, "records.metadata": 1}


def test_any_read_size(tmp_path, monkeypatch) -> None:
    """Members are found wherever the reads end."""
    stored = [gzip.compress(r) for r in RECORDS]
    for chunk in (1, 3, 50):
        monkeypatch.setattr(members, "CHUNK", chunk)
        rows, _ = read_bytes(tmp_path, b"".join(stored), "a.wet.gz")
        assert [(r["id"], r["text"]) for r in rows] == list(zip(offsets(stored), TEXTS, strict=True))


@pytest.mark.parametrize("wrong", [0, 3, 6, 40, 10_000_000])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_wrong_length(tmp_path, wrong, suffix) -> None:
    """A length that is too small or too large is a ReadError at that record, or where the file ends."""
    pages = [INFO, record("conversion", b"first page", wrong), record("conversion", b"second")]
    data = b"".join(gzip.compress(p) for p in pages) if suffix else b"".join(pages)
    with pytest.raises(ReadError, match=r"a\.wet.*byte \d+.*(Content-Length|WARC/|ends after)"):
        read_bytes(tmp_path, data, "a.wet" + suffix, strict=True)


def test_truncated_anywhere(tmp_path) -> None:
    """However a file is cut, no document loses its end: it is whole, or the file is refused if strict."""
    for pages, name in ((RECORDS, "a.wet"), ([gzip.compress(r) for r in RECORDS], "a.wet.gz")):
        data = b"".join(pages)
        ends = {sum(map(len, pages[:k])) for k in range(2, len(pages) + 1)}
        near = {end - k for end in ends for k in range(6)} - {0}
        for cut in {*range(1, len(data), 9), *near}:
            try:
                rows, _ = read_bytes(tmp_path, data[:cut], name, strict=True)
            except ReadError as e:  # noqa: PERF203 - both outcomes are right
                assert e.path == str(tmp_path / name)  # noqa: PT017
            else:
                assert any(end - 4 <= cut <= end for end in ends)
                assert [r["text"] for r in rows] == TEXTS[: len(rows)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"not a warc\n", "begin here with WARC/"),
        (b"WARC/1.0\r\nWARC-Type: conversion\r\n\r\n", "Content-Length is missing"),
        (record("conversion", b"x").replace(b": 1", b": -1"), "Content-Length is -1"),
        (b"WARC/1.0\r\nno colon\r\n\r\n", "a header should be here"),
        (b"WARC/1.0\r\nA: b", "headers have no end"),
        (INFO, "no conversion records, which wet files hold, only warcinfo"),
        (record("response", b"HTTP/1.1 200 OK"), "only response"),
    ],
)
def test_what_is_no_wet(tmp_path, data, says) -> None:
    """Other files are refused with what was found."""
    with pytest.raises(ReadError, match=says):
        read_bytes(tmp_path, data, "a.wet")


def test_a_shared_member_in_the_middle(tmp_path) -> None:
    """Records that share a gzip member have no offset of their own; a file that mixes both is refused."""
    data = gzip.compress(INFO) + gzip.compress(PAGES[0]) + gzip.compress(PAGES[1] + PAGES[3])
    with pytest.raises(ReadError, match="shares its gzip member"):
        read_bytes(tmp_path, data, "a.wet.gz", strict=True)


def test_bad_documents(tmp_path) -> None:
    """A text that is not UTF-8 or too long is dropped; the records after it are read."""
    pages = [record("conversion", b) for b in (b"\xff", b"x" * 100, b"good")]
    rows, ledger = read_bytes(tmp_path, b"".join(pages), "a.wet", max_doc_bytes=50)
    assert [r["text"] for r in rows] == ["good"]
    assert [(r["id"], r["reason"]) for r in ledger.drop_table().to_pylist()] == [
        (0, "invalid_utf8"),
        (len(pages[0]), "too_long"),
    ]


@pytest.mark.parametrize("name", ["whirlwind.warc.wet", "whirlwind.warc.wet.gz"])
def test_real_files(shared, name) -> None:
    """Common Crawl's own files give the addresses, dates and payloads that warcio gives."""
    expected = [json.loads(line) for line in (shared / "warc" / "expected_warcio.jsonl").read_text().splitlines()]
    known = next(e["records"] for e in expected if e["file"] == f"whirlwind/{name}")
    rows = dp.read(str(shared / "warc" / "whirlwind" / name)).table().to_pylist()
    pages = [r for r in known if r["type"] == "conversion"]
    assert len(rows) == len(pages)
    for row, page in zip(rows, pages, strict=True):
        meta = json.loads(row["meta"])
        assert (meta["url"], meta["date"]) == (page["uri"], page["date"])
        assert hashlib.sha1(row["text"].encode(), usedforsecurity=False).hexdigest() == page["payload_sha1"]


def test_sample(samples) -> None:
    """The sample crawl is read by its suffix."""
    table = dp.read(str(samples / "crawl.warc.wet")).table()
    assert table.num_rows == (samples / "crawl.warc.wet").read_bytes().count(b"WARC-Type: conversion")
    assert all(json.loads(m)["url"].startswith("https://example.org/") for m in table["meta"].to_pylist())


def test_fields_become_columns(tmp_path):
    """columns= takes fields out of meta; null where a record lacks one; others are refused before any work."""
    place = tmp_path / "a.wet"
    place.write_bytes(b"".join(RECORDS))
    docs = dp.read(str(place), columns=["url", "date"])
    assert docs.columns == ["id", "text", "source", "meta", "url", "date"]
    rows = docs.take(9)
    assert [row["url"] for row in rows] == ["http://a.example/", "http://b.example/", None]
    assert [row["date"] for row in rows] == [None, "2024-05-18T01:58:10Z", None]
    assert [json.loads(row["meta"]) for row in rows] == [{}, {}, METAS[2]]
    with pytest.raises(PlanError, match="title"):
        dp.read(str(place), columns=["title"])


VALUES = st.sampled_from(
    ["http://a.example/", "", 'a"b\\c', "http://ä.example/", "\u00a0b\u00a0", "a\tb", "\x7f", "  a "]
)
NAMES = ["Target_URI", "Date", "Record_ID", "Identified_Content_Language", "Segment_Number"]


@settings(max_examples=60)
@given(st.data())
def test_at_once_is_one_by_one(tmp_path_factory, data) -> None:
    """Documents that are made of whole blocks of records are those that are made of one record after the other."""
    kinds = st.sampled_from(["conversion"] * 6 + ["metadata", "CONVERSION", "continuation", "odd"])
    names = st.sampled_from(NAMES[: data.draw(st.sampled_from([4, 4, 5]))])
    bodies = st.sampled_from([b"", b"words", "é ش".encode(), b"\xff", b"x" * 200, b"\r\n\r\nWARC/1.0\r\n"])
    some = st.tuples(kinds, bodies, st.dictionaries(names, VALUES, max_size=4))
    records = [record(kind, body, **named) for kind, body, named in data.draw(st.lists(some, min_size=1, max_size=12))]
    pack, name = data.draw(st.sampled_from([(gzip.compress, "a.wet.gz"), (bytes, "a.wet")]))
    folder = tmp_path_factory.mktemp("a")
    found = []
    for at_once in (Wet.at_once, lambda *_: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Wet, "at_once", at_once)
            patch.setattr(blocks, "MAX_RECORDS", 5)
            stored = b"".join(map(pack, [*PAGES, *records, PAGES[0]]))
            rows, ledger = read_bytes(folder, stored, name, max_bad=1.0, max_doc_bytes=150, digests=False)
            found.append((rows, ledger.drop_table().to_pylist(), ledger.record.counts, ledger.unread))
    assert found[0] == found[1]
