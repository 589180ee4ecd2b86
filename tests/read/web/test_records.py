"""Unusual archives: what warcio and FastWARC read of them is read, with the same blocks, by both ways of reading."""

from __future__ import annotations

import contextlib
import gzip
import io
from collections.abc import Iterator

import pytest
import zstandard

pytest.importorskip("resiliparse")
import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.core.model.tables import Unread
from dataprep.core.pipeline import Pipeline
from dataprep.read.web import records
from dataprep.read.web.blocks import blocks
from dataprep.read.web.warc import Warc
from twins.warc import at_once, one_by_one

HTML = b"<html><body><p>A page that is whole and has some words in it.</p></body></html>"
TEXT = "A page that is whole and has some words in it."
ALL = frozenset({"response", "resource", "conversion", "request", "continuation"})


def http(payload: bytes = HTML, end: bytes = b"\r\n", *lines: bytes) -> bytes:
    """An HTTP response."""
    return end.join([b"HTTP/1.1 200 OK", b"Content-Type: text/html", *lines, b"", b""]) + payload


def record(body: bytes, kind: str = "response", *lines: str, i: object = "x", **how) -> bytes:
    """A record; line_end: of its headers. after: what follows the block."""
    version = how.get("version", "WARC/1.0")
    named = [version, f"WARC-Type: {kind}", f"WARC-Target-URI: http://a.example/{i}", f"WARC-Record-ID: <urn:x:{i}>"]
    head = "\n".join([*named, *lines, f"Content-Length: {len(body)}", "", ""])
    end = how.get("line_end", "\r\n")
    return head.replace("\n", end).encode() + body + how.get("after", end * 2).encode()


OLD = {"version": "WARC/0.18", "line_end": "\n"}  # ClueWeb09
CASES = {
    "response without HTTP": record(HTML, "response", "Content-Type: text/html"),
    "response without HTTP or type": record(HTML),
    "resource": record(HTML, "resource", "Content-Type: text/html; charset=utf-8"),
    "conversion": record(HTML, "conversion", "Content-Type: text/html", "WARC-Refers-To: <urn:x:elsewhere>"),
    "CRCRLF in headers": record(http(), line_end="\r\r\n"),
    "CRCRLF after the block": record(http(), after="\r\r\n\r\r\n"),
    "CRCRLF in HTTP": record(http(HTML, b"\r\r\n")),
    "LF in headers": record(http(), line_end="\n"),
    "LF in HTTP": record(http(HTML, b"\n")),
    "HTTP header on two lines": record(http(HTML, b"\r\n", b"Content-Encoding:", b" identity")),
    "empty lines before HTTP": record(b"\r\n\r\n" + http()),
    "the status line of Icecast": record(http().replace(b"HTTP/1.1 200 OK", b"ICY 200 OK")),
    "HTTP/2": record(http().replace(b"HTTP/1.1 200 OK", b"HTTP/2 200")),
    "WARC/0.18": record(http(HTML, b"\n"), **OLD),
    "WARC/0.18 and one line end": record(http(HTML, b"\n"), **OLD, after="\n"),
    "a line without a name": record(http(), "response", "WARC-Warcinfo-ID: 993d3969\nno name here"),
    "a header on two lines": record(http(), "response", "WARC-Warcinfo-ID: 993d\n 3969"),
    "a header twice": record(http(), "response", "WARC-Warcinfo-ID: 1\nWARC-Warcinfo-ID: 2"),
    "an empty line before Content-Length": record(http(), "response", "WARC-TREC-ID: clueweb09-en0000-00-00000\n"),
    "no line end after the block": record(http(), after=""),
    "one line end after the block": record(http(), after="\r\n"),
    "three line ends after the block": record(http(), after="\r\n\r\n\r\n"),
    "line ends before the record": b"\r\n\n\r\n" + record(http()),
    "type in capitals": record(http(), "Response"),
    "address in capitals": record(http()).replace(b"http://a", b"HTTPS://a"),
    "address in brackets": record(http()).replace(b"http://a.example/x", b"<http://a.example/x>"),
    "control characters in the address": record(http(), i="\x08\u00c0"),
}  # fmt: skip
MISREAD = {  # another block than the record's
    ("by_warcio", "an empty line before Content-Length"), ("by_fastwarc", "an empty line before Content-Length"),
    ("by_warcio", "line ends before the record"),
}  # fmt: skip


def archive(case: str, suffix: str) -> bytes:
    """The record between others, each in a member of its own if compressed."""
    others = [record(http(b"<p>other"), i=k) for k in range(6)]
    if case.startswith("WARC/0.18"):  # of one kind, as the archive is
        others = [record(http(b"<p>other"), i=k, **OLD, after="\n" if "one" in case else "\n\n") for k in range(6)]
    pieces = [*others[:3], CASES[case], *others[3:]]
    return b"".join(gzip.compress(p) if suffix else p for p in pieces)


def before_errors(blocks: Iterator[bytes]) -> list[bytes]:
    """The blocks that a peer reads before it raises an error."""
    found = []
    with contextlib.suppress(Exception):
        found.extend(blocks)
    return found


def by_warcio(data: bytes) -> list[bytes]:
    """The blocks that warcio reads."""
    found = pytest.importorskip("warcio.archiveiterator")
    return before_errors(one.raw_stream.read() for one in found.ArchiveIterator(io.BytesIO(data), no_record_parse=True))


def by_fastwarc(data: bytes) -> list[bytes]:
    """The blocks that FastWARC reads."""
    found = pytest.importorskip("fastwarc.warc")
    records = found.ArchiveIterator(io.BytesIO(data), parse_http=False, quirks_mode=True)
    return before_errors(one.reader.read() for one in records)


def texts(path, **fields):
    """The texts of an archive, and {position: reason} of what is dropped."""
    ledger = Ledger("read", source="s")
    rows = [r["text"] for b in Warc(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, {r["id"]: r["reason"] for r in ledger.drop_table().to_pylist()}


@pytest.mark.parametrize("suffix", ["", ".gz"], ids=["plain", "gzip"])
@pytest.mark.parametrize("case", CASES)
def test_every_class_of_records(tmp_path, case, suffix) -> None:
    """The page between the others is read, and no other record is lost or dropped."""
    path = tmp_path / f"a.warc{suffix}"
    path.write_bytes(archive(case, suffix))
    assert texts(path) == (["other"] * 3 + [TEXT] + ["other"] * 3, {})
    assert texts(path, strict=True)[0][3] == TEXT
    assert at_once(str(path), ALL, 1 << 20, strict=False) == one_by_one(str(path), ALL, 1 << 20, strict=False)


@pytest.mark.parametrize("peer", [by_warcio, by_fastwarc], ids=["warcio", "FastWARC"])
@pytest.mark.parametrize("case", CASES)
def test_blocks_that_peers_read(tmp_path, case, peer) -> None:
    """Every block that warcio or FastWARC reads is read, in the same order and with the same bytes."""
    for suffix in ("", ".gz"):
        path = tmp_path / f"a.warc{suffix}"
        path.write_bytes(archive(case, suffix))
        ours = [e.body for e in at_once(str(path), ALL, 1 << 20, strict=False)]
        assert len(ours) == 7
        if (peer.__name__, case) not in MISREAD:
            theirs = peer(path.read_bytes())
            left = iter(ours)
            assert all(block in left for block in theirs)
            assert len(theirs) >= 4


def test_the_two_peers_read_nearly_all() -> None:
    """What is tested against them is no empty claim: of nearly all cases, one of the two reads all records."""
    whole = {c for c in CASES if any(len([b for b in p(archive(c, "")) if b]) == 7 for p in (by_warcio, by_fastwarc))}
    assert CASES.keys() - whole == {"an empty line before Content-Length"}


def test_records_that_are_no_pages(tmp_path) -> None:
    """Segments, revisits, converted copies, and what is neither HTML nor HTTP are left out by name."""
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join([
        record(http(), i=0),
        record(http(HTML[:40]), "response", "WARC-Segment-Number: 1", i=1),
        record(HTML[40:], "continuation", "WARC-Segment-Number: 3", "WARC-Segment-Origin-ID: <urn:x:1>", i=2),
        record(b"HTTP/1.1 200 OK\r\n\r\n", "revisit", i=3),
        record(HTML, "conversion", "Content-Type: text/html", "WARC-Refers-To: <urn:x:0>", i=4),
        record(b"no page", "response", "Content-Type: application/http; msgtype=response", i=5),
        record(b"no page", i=6),
        record(b"\x89PNG\r\n\x1a\n", "resource", "Content-Type: image/png", i=7),
        record(b"words", "resource", "Content-Type: text/plain", i=8),
        record(b"log", "resource", "Content-Type: text/plain").replace(b"http://a.example", b"metadata://x"),
    ]))  # fmt: skip
    found, dropped = texts(path)
    assert found == [TEXT, "words"]
    reasons = ["bad_http", "bad_http", "content_type", "duplicate_record", "revisit", "segmented"]
    assert sorted(dropped.values()) == reasons
    ledger = Ledger("read", source="s")
    list(Warc()(Slice(str(path), 0), ledger))
    detail = "dropped 1 record whose segments are missing from the file or out of order"
    assert ledger.unread == [Unread(str(path), "segmented", min(dropped), detail)]


@pytest.mark.parametrize("first", CASES)
def test_one_stream_of_all_cases(tmp_path, first) -> None:
    """Records of every class are read from one gzip stream too, whichever of them is the first."""
    some = [first, *CASES]
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(b"".join(CASES[case] for case in some)))
    found = at_once(str(tmp_path / "a.warc.gz"), ALL, 1 << 20, strict=False)
    assert [entry.lost for entry in found] == [""] * len(some)


def test_garbage_between_records(tmp_path) -> None:
    """Bytes that are no record cost the record before them only if they could be its rest."""
    one, two = record(http(), i=1), record(http(), i=2)
    (tmp_path / "a.warc").write_bytes(one + b"garbage\r\n" + two)
    assert texts(tmp_path / "a.warc") == ([TEXT], {0: "wrong_length"})
    packed = [gzip.compress(piece) for piece in (one, two, b"garbage\r\n", record(http(), i=3))]
    (tmp_path / "b.warc.gz").write_bytes(b"".join(packed))
    at = len(packed[0]) + len(packed[1])
    assert texts(tmp_path / "b.warc.gz") == ([TEXT] * 3, {at: "no_record"})
    (tmp_path / "c.warc.gz").write_bytes(b"".join(packed[:2]) + b"garbage")
    assert texts(tmp_path / "c.warc.gz") == ([TEXT] * 2, {at: "damaged"})
    (tmp_path / "d.warc").write_bytes(one + two + bytes(512))
    assert texts(tmp_path / "d.warc")[0][:1] == [TEXT]


def test_a_damaged_header_is_told(tmp_path) -> None:
    """A colon that is lost from a header that matters is damage, not a line without a name."""
    (tmp_path / "a.warc").write_bytes(record(http(), i=1) + record(http(), i=2).replace(b"WARC-Type:", b"WARC-Type "))
    assert list(texts(tmp_path / "a.warc")[1].values()) == ["bad_header"]


def test_archives_without_plain_records(tmp_path, monkeypatch) -> None:
    """Blocks are tried a few times and not for each record; all records are read at their offsets."""
    tries = []
    monkeypatch.setattr(records, "blocks", lambda archive: blocks(tries.append(archive) or archive))
    stored = [gzip.compress(record(http(), i=i, line_end="\r\r\n")) for i in range(60)]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(stored))
    found = at_once(str(tmp_path / "a.warc.gz"), ALL, 1 << 20, strict=False)
    assert [entry.position for entry in found] == [sum(map(len, stored[:i])) for i in range(60)]
    assert len(tries) == records.MAX_FAILURES


def segment(body: bytes, number: int, total: int = 0, of: int = 1) -> bytes:
    """The segment of that number of the page `of`; total: bytes of the page, stated by the last segment."""
    kind = "response" if number == 1 else "continuation"
    lines = [f"WARC-Segment-Number: {number}"]
    lines += [f"WARC-Segment-Origin-ID: <urn:x:{of}>"] if number > 1 else []
    lines += [f"WARC-Segment-Total-Length: {total}"] if total else []
    return record(body, kind, *lines, i=of if number == 1 else f"{of}-{number}")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_segments_are_joined(tmp_path, suffix) -> None:
    """A page in three segments is one document, also when another page's segments and whole records lie between."""
    page = http()
    n = len(page)
    parts = [
        segment(page[:50], 1), record(http(), i=9), segment(page[:20], 1, of=2), segment(page[50:90], 2),
        segment(page[20:], 2, n, of=2), segment(page[90:], 3, n),
    ]  # fmt: skip
    path = tmp_path / f"a.warc{suffix}"
    path.write_bytes(b"".join(gzip.compress(part) if suffix else part for part in parts))
    ledger = Ledger("read", source="s")
    found = [batch.to_pylist() for batch in Warc()(Slice(str(path), 0), ledger)]
    rows = [row for rows in found for row in rows]
    assert [row["text"] for row in rows] == [TEXT] * 3
    assert [f"/{i}" in row["meta"] for row, i in zip(rows, (9, 2, 1), strict=True)] == [True] * 3
    assert ledger.unread == []


@pytest.mark.parametrize("case", ["order", "no end", "total", "elsewhere", "too long"])
def test_segments_that_cannot_be_joined(tmp_path, case) -> None:
    """Segments that are missing, in another order, or longer or shorter than stated never become a text in part."""
    page = http()
    n = len(page)
    one, two, three = segment(page[:50], 1), segment(page[50:90], 2), segment(page[90:], 3, n)
    parts = {
        "order": [one, three, two], "no end": [one, two], "total": [one, two, segment(page[90:], 3, n + 1)],
        "elsewhere": [two, three], "too long": [one, segment(bytes(17 << 20), 2), three],
    }[case]  # fmt: skip
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join([record(http(), i=9), *parts]))
    found, dropped = texts(path)
    reason = {"elsewhere": [], "too long": ["too_long"]}.get(case, ["segmented"])
    assert (found, [*dropped.values()]) == ([TEXT], reason)


@pytest.mark.parametrize(
    ("name", "kinds", "says"),
    [
        ("a.warc", "pg", "a gzip member was found here"),
        ("a.warc", "pz", "a zstd frame was found here"),
        ("a.warc.gz", "gp", "an uncompressed record was found here"),
        ("a.warc.gz", "gz", "a zstd frame was found here"),
        ("a.warc.zst", "zg", "a gzip member was found here"),
    ],
)
def test_archives_of_mixed_compressions(tmp_path, caplog, name, kinds, says):
    """What is before the change is read; the sentence names it, where nothing is damaged."""
    packed = {"p": bytes, "g": gzip.compress, "z": zstandard.compress}
    order = enumerate(kinds[0] * 3 + kinds[1])
    (tmp_path / name).write_bytes(b"".join(packed[kind](record(http(), i=k)) for k, kind in order))
    docs = Pipeline().run(dp.read(str(tmp_path / name), max_bad=1.0), str(tmp_path / "out"))
    assert docs.count == 3
    assert f"{says}, in an archive with a different compression; recompress the archive in one format" in caplog.text
