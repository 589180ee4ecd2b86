"""Archives: records at their offsets, however they are packed and wherever they are broken."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from twins.warc import at_once, one_by_one

pytest.importorskip("resiliparse")
from dataprep.read.web import blocks, crawl
from dataprep.read.web.response import decoded, parse
from dataprep.read.web.warc import Warc

ALL = frozenset({"warcinfo", "response", "request", "metadata", "revisit", "conversion", "resource"})


def record(kind: str, body: bytes, length: int | None = None, **headers: str) -> bytes:
    """One WARC record."""
    lines = ["WARC/1.0", f"WARC-Type: {kind}", *(f"WARC-{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    lines += [f"Content-Length: {len(body) if length is None else length}", "", ""]
    return "\r\n".join(lines).encode() + body + b"\r\n\r\n"


def http(payload: bytes, kind: str | None = "text/html", status: int = 200, **headers: str) -> bytes:
    """An HTTP response."""
    named = {"Content-Type": kind, **{k.replace("_", "-"): v for k, v in headers.items()}}
    lines = [f"HTTP/1.1 {status} OK", *(f"{k}: {v}" for k, v in named.items() if v is not None), "", ""]
    return "\r\n".join(lines).encode() + payload


def page(text: str, i: int = 0, **headers: str) -> bytes:
    """A record of an HTML page."""
    return record("response", http(f"<p>{text}</p>".encode()), Target_URI=f"http://a.example/{i}", **headers)


INFO = record("warcinfo", b"software: none\r\n")
RECORDS = [
    INFO,
    record("request", b"GET / HTTP/1.1\r\n\r\n", Target_URI="http://a.example/0"),
    page("first", 0, Date="2024-05-18T01:58:10Z", Record_ID="<urn:uuid:1>"),
    page("second", 1),
    record("metadata", b"x"),
    page("third", 2),
    page("fourth", 3),
    page("fifth", 4),
]
TEXTS = ["first", "second", "third", "fourth", "fifth"]
AT = [2, 3, 5, 6, 7]  # which records the texts are in
STORED = {"gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress, "": bytes}


def read_bytes(folder, data: bytes, name: str = "a.warc", reader=Warc, **fields):
    """The rows of a file with these bytes, {position: reason} of what was dropped, and the ledger."""
    path = folder / name
    path.write_bytes(data)
    ledger = Ledger("read", source="s")
    rows = [r for b in reader(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    dropped = {r["id"]: r["reason"] for r in ledger.drop_table().to_pylist()}
    return rows, dropped, ledger


def offsets(pieces: list[bytes]) -> list[int]:
    """Where each piece begins."""
    return [sum(map(len, pieces[:k])) for k in range(len(pieces))]


@pytest.mark.parametrize("suffix", ["gz", "zst", ""])
def test_pages(tmp_path, suffix) -> None:
    """The pages, at the offsets a CDX holds; records of other types are counted."""
    stored = [STORED[suffix](r) for r in RECORDS]
    rows, dropped, ledger = read_bytes(tmp_path, b"".join(stored), f"a.warc.{suffix}".rstrip("."))
    assert [(r["id"], r["text"]) for r in rows] == list(zip([offsets(stored)[i] for i in AT], TEXTS, strict=True))
    assert (dropped, dict(ledger.record.counts)) == (
        {},
        {"records.warcinfo": 1, "records.request": 1, "records.metadata": 1},
    )
    assert json.loads(rows[0]["meta"]) == {
        "url": "http://a.example/0", "date": "2024-05-18T01:58:10Z", "record_id": "<urn:uuid:1>",
        "status": 200, "content_type": "text/html", "charset": "utf-8",
    }  # fmt: skip


@pytest.mark.parametrize("together", [1, 20, 1 << 20])
def test_pages_that_are_extracted_together(tmp_path, monkeypatch, together) -> None:
    """How many pages are held until their texts are extracted changes nothing, also where an error ends the file."""
    monkeypatch.setattr(crawl, "TOGETHER", together)
    pages = [page("first", 0), page("", 1), page("second", 2), page("&nbsp;", 3), page("third", 4)]
    rows, dropped, _ = read_bytes(tmp_path, b"".join(pages))
    at = offsets(pages)
    assert [(r["id"], r["text"]) for r in rows] == [(at[0], "first"), (at[2], "second"), (at[4], "third")]
    assert dropped == {at[1]: "no_text", at[3]: "no_text"}
    (tmp_path / "a.warc").write_bytes(b"".join(pages)[:-9])
    ledger, texts = Ledger("read", source="s"), []
    with pytest.raises(ReadError, match="ends after"):
        for batch in Warc(strict=True)(Slice(str(tmp_path / "a.warc"), 0), ledger):
            texts += batch.column("text").to_pylist()
    assert texts == ["first", "second"]


@pytest.mark.parametrize(("name", "pack"), [("a.warc.gz", gzip.compress), ("a.warc.xz", lzma.compress)])
def test_one_stream(tmp_path, name, pack) -> None:
    """Where one stream holds all, positions are offsets in the decompressed bytes."""
    rows, _, _ = read_bytes(tmp_path, pack(b"".join(RECORDS)), name)
    assert [(r["id"], r["text"]) for r in rows] == list(zip([offsets(RECORDS)[i] for i in AT], TEXTS, strict=True))


@pytest.mark.parametrize("packed", [False, True])
def test_zstd_dictionary(tmp_path, packed) -> None:
    """A .warc.zst may begin with its dictionary in a skippable frame, compressed or not."""
    pages = [page(f"page {i} of a site with the same words on every page", i) for i in range(60)]
    words = zstandard.train_dictionary(2_000, pages * 5)
    inner = zstandard.ZstdCompressor().compress(words.as_bytes()) if packed else words.as_bytes()
    head = (0x184D2A5D).to_bytes(4, "little") + len(inner).to_bytes(4, "little") + inner
    stored = [head, *(zstandard.ZstdCompressor(dict_data=words).compress(p) for p in pages)]
    rows, dropped, _ = read_bytes(tmp_path, b"".join(stored), "a.warc.zst")
    assert [r["id"] for r in rows] == offsets(stored)[1:]
    assert not dropped
    stored[0] = head[:12] + b"\xff" * (len(inner) - 4)
    with pytest.raises(ReadError, match=r"a\.warc\.zst, byte 0: .*damaged"):
        read_bytes(tmp_path, b"".join(stored), "a.warc.zst", max_bad=1.0)


def test_a_name_that_lies(tmp_path) -> None:
    """Compression is told by the bytes: servers unpack .gz on the way."""
    rows, _, _ = read_bytes(tmp_path, b"".join(RECORDS), "a.warc.gz")
    assert [r["text"] for r in rows] == TEXTS
    rows, _, _ = read_bytes(tmp_path, b"".join(map(gzip.compress, RECORDS)), "a.warc")
    assert [r["text"] for r in rows] == TEXTS


@settings(max_examples=25)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip), min_size=1,
                max_size=12), st.sampled_from(["gz", "zst", ""]))  # fmt: skip
def test_round_trip(tmp_path_factory, texts, suffix) -> None:
    """Archives that FastWARC writes give its offsets, and plain text as it was."""
    warc, streams = pytest.importorskip("fastwarc.warc"), pytest.importorskip("fastwarc.stream_io")
    raw = io.BytesIO()
    out = {"gz": streams.GzipWriter, "zst": streams.ZstdWriter, "": lambda x: x}[suffix](raw)
    for i, text in enumerate(texts):
        made = warc.WarcRecord()
        made.init_headers(warc.response)
        made.headers["WARC-Target-URI"] = f"http://a.example/{i}"
        made.is_http = True
        made.set_bytes_content(http(text.encode(), "text/plain; charset=utf-8"))
        made.write(out, checksum_data=True)
        if suffix:
            out.finish()
            out.flush()
    data = raw.getvalue()
    known = [r.stream_pos for r in warc.ArchiveIterator(io.BytesIO(data))]
    rows, dropped, _ = read_bytes(tmp_path_factory.mktemp("a"), data, f"a.warc.{suffix}".rstrip("."), strict=True)
    expected = {at: t.removeprefix("\ufeff") for at, t in zip(known, texts, strict=True)}
    assert {r["id"]: r["text"] for r in rows} | dict.fromkeys(dropped) == expected | dict.fromkeys(dropped)


def test_real_archives(shared) -> None:
    """Type, address, status, and payload of every record are those warcio finds; so are those of the fast path."""
    folder = shared / "warc"
    for line in (folder / "expected_warcio.jsonl").read_text().splitlines():
        known = json.loads(line)
        for read in (one_by_one, at_once):
            found = read(str(folder / known["file"]), ALL, 1 << 26, strict=False)
            if known["file"] == "warcio/example-trunc.warc":  # its second record is two bytes longer than it says
                assert [e.lost for e in found] == ["", "", "wrong_length", ""]
            for entry, expected in zip(found, known["records"], strict=known["error"] is None):
                if not entry.lost and "trunc" not in known["file"]:
                    assert _seen(entry) == tuple(expected[k] for k in ("type", "uri", "date", "status", "payload_sha1"))


def _seen(entry):
    """What warcio tells of a record."""
    kind, body, status = entry.headers["warc-type"], entry.body, None
    if entry.headers.get("content-type", "").startswith("application/http"):
        if kind in {"response", "revisit"}:
            response = parse(body)
            status, body = str(response.status), decoded(response, 1 << 26, is_cut=False)
        else:
            status, body = body.split(b" ")[1].decode(), body.partition(b"\r\n\r\n")[2]
    uri = entry.headers.get("warc-target-uri")
    digest = hashlib.sha1(body, usedforsecurity=False).hexdigest()
    return kind, uri and uri.strip("<>"), entry.headers["warc-date"], status, digest


def test_text_is_resiliparses(shared) -> None:
    """The text of real pages is what Resiliparse makes of their characters."""
    from resiliparse.extract.html2text import extract_plain_text

    path = str(shared / "warc" / "whirlwind" / "whirlwind.warc.gz")
    body = next(e.body for e in at_once(path, ALL, 1 << 26, strict=True) if e.headers["warc-type"] == "response")
    html = parse(body).payload.decode()
    for options in ({}, {"main_content": False, "links": True}):
        told = {"main_content": True, "alt_texts": False} | options
        found = dp.read(path, extract="resiliparse", **options).take(1)[0]["text"]
        assert found == extract_plain_text(html, **told)
    assert dp.read(path, main_content=False).take(1)[0]["text"] == extract_plain_text(
        html, main_content=False, alt_texts=False
    )


def test_cut_anywhere(tmp_path) -> None:
    """However an archive is cut, its whole records are delivered and the cut one is named, or refused if strict."""
    for suffix, step in (("", 23), ("gz", 17), ("zst", 17)):
        stored = [STORED[suffix](r) for r in RECORDS]
        data, ends, name = b"".join(stored), offsets([*stored, b""]), f"a.warc.{suffix}".rstrip(".")
        for cut in sorted(
            {*range(ends[3], len(data), step), *ends[3:], *(e + k for e in ends[3:-1] for k in (1, 2, 5))}
        ):
            lines = 0 if suffix else len(b"\r\n\r\n")  # the content of a record is whole without the lines after it
            is_whole = any(end - lines <= cut <= end for end in ends)
            whole = [t for t, i in zip(TEXTS, AT, strict=True) if ends[i + 1] - lines <= cut]
            rows, dropped, _ = read_bytes(tmp_path, data[:cut], name)
            assert [r["text"] for r in rows] == whole
            assert dropped == ({} if is_whole else {max(e for e in ends if e < cut): "cut_archive"})
            if not is_whole:
                with pytest.raises(ReadError, match=r"a\.warc"):
                    read_bytes(tmp_path, data[:cut], name, strict=True)


@pytest.mark.parametrize("suffix", ["gz", "zst"])
@pytest.mark.parametrize("at", [0, 2, 3, 6, 7])
def test_damage_costs_one_record(tmp_path, suffix, at) -> None:
    """A damaged member is named with its position; every other record is read."""
    packer = zstandard.ZstdCompressor(write_checksum=True)
    stored = [packer.compress(r) if suffix == "zst" else gzip.compress(r) for r in RECORDS]
    begins = offsets(stored)
    for place in (1, 20, len(stored[at]) - 6):
        broken = bytearray(b"".join(stored))
        broken[begins[at] + place] ^= 0x55
        rows, dropped, _ = read_bytes(tmp_path, bytes(broken), f"a.warc.{suffix}")
        assert [r["text"] for r in rows] == [t for t, i in zip(TEXTS, AT, strict=True) if i != at]
        assert list(dropped) in ([begins[at]], [])
        with pytest.raises(ReadError):
            read_bytes(tmp_path, bytes(broken), f"a.warc.{suffix}", strict=True)


@pytest.mark.parametrize("suffix", ["gz", "zst", "", "one"])
@pytest.mark.parametrize("wrong", [0, 3, 40, 300, 10**9])
def test_wrong_length(tmp_path, suffix, wrong) -> None:
    """A record whose Content-Length is wrong is dropped by name; the others are read."""
    bad = record("response", http(b"<p>wrong</p>"), wrong, Target_URI="http://b.example/")
    pieces = [*RECORDS[:4], bad, *RECORDS[4:]]
    stored = [gzip.compress(b"".join(pieces))] if suffix == "one" else [STORED[suffix](r) for r in pieces]
    name = "a.warc.gz" if suffix == "one" else f"a.warc.{suffix}".rstrip(".")
    rows, dropped, _ = read_bytes(tmp_path, b"".join(stored), name)
    begins = offsets(pieces if suffix == "one" else stored)[4]
    assert [r["text"] for r in rows] == TEXTS
    assert dropped == {begins: "cut_archive" if wrong == 10**9 else "wrong_length"}


@settings(max_examples=120)
@given(st.data())
def test_at_once_is_one_by_one(tmp_path_factory, data) -> None:
    """However an archive is packed and broken, reading many records at once gives what reading one by one gives."""
    bodies = data.draw(
        st.lists(st.sampled_from([b"", b"a\r\n\r\nWARC/1.0\r\n", b"x" * 300, b"<p>y"]), min_size=1, max_size=9)
    )
    more = data.draw(st.sampled_from(["", "", "é", " z\t", '"\\', "1\r\nno name", "2\r\n three", "4\r\n\r\n"]))
    records = [
        record(("response", "request", "Odd")[i % 4 % 3], http(b), Target_URI=f"http://a/{i}", Date=more * (i % 5 == 4))
        for i, b in enumerate(bodies)
    ]
    group = data.draw(st.sampled_from([0, 1, 1, 2, 9]))  # records a compressed member; 0 is uncompressed
    pack = data.draw(st.sampled_from([gzip.compress, zstandard.ZstdCompressor().compress])) if group else bytes
    pieces = [b"".join(records[i : i + max(1, group)]) for i in range(0, len(records), max(1, group))]
    stored = bytearray(b"".join(map(pack, pieces)))
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(stored) - 1))
        how = data.draw(st.sampled_from(["flip", "cut", "delete", "insert", "pad"]))
        stored[at:] = {
            "flip": bytes([stored[at] ^ 1 << at % 8]) + stored[at + 1 :], "cut": b"", "delete": stored[at + 9 :],
            "insert": b"WARC/1.0\r\n" + stored[at:], "pad": stored[at:] + bytes(9) + pack(b""),
        }[how]  # fmt: skip
        if not stored:
            return
    path = tmp_path_factory.mktemp("a") / "a.warc"
    path.write_bytes(stored)
    expected = one_by_one(str(path), ALL, 1 << 20, strict=False)
    assert at_once(str(path), ALL, 1 << 20, strict=False) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "SMALLEST", data.draw(st.sampled_from([1, 500])))
        patch.setattr(blocks, "LARGEST", 600)
        patch.setattr(blocks, "MAX_RECORDS", 2)
        if data.draw(st.booleans()):
            patch.setattr(blocks, "_gzip_reader", lambda: None)
        assert at_once(str(path), ALL, 1 << 20, strict=False) == expected
