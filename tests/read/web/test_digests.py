"""WARC digests: a changed byte of an archive without checksums is a row of the unread table; intact ones pass."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import zlib

import pytest
import zstandard

pytest.importorskip("resiliparse")
import dataprep as dp
from dataprep.errors import ReadError
from dataprep.read.web.digests import agrees, is_wrong

PAGE = b"<p>A page of some words that are right.</p>"
HASHES = ("md5", "sha1", "sha256", "sha512")
FORMS = {
    "hex": lambda d: d.hex(), "HEX": lambda d: d.hex().upper(), "base32": lambda d: base64.b32encode(d).decode(),
    "base32 lower": lambda d: base64.b32encode(d).decode().lower().rstrip("="),
    "base64": lambda d: base64.b64encode(d).decode(), "base64url": lambda d: base64.urlsafe_b64encode(d).decode(),
}  # fmt: skip


def stated(data: bytes, name: str = "sha1", form: str = "base32") -> str:
    """The digest of these bytes as a header states it."""
    return f"{name}:{FORMS[form](hashlib.new(name, data, usedforsecurity=False).digest())}"


def http(payload: bytes, *lines: str) -> bytes:
    """An HTTP response."""
    return "\r\n".join(["HTTP/1.1 200 OK", "Content-Type: text/html", *lines, "", ""]).encode() + payload


def record(block: bytes, *lines: str, i: int = 0, kind: str = "response") -> bytes:
    """A record with further header lines."""
    named = [f"WARC-Type: {kind}", f"WARC-Target-URI: http://a.example/{i}", f"WARC-Record-ID: <{i}>"]
    head = ["WARC/1.0", *named, *lines, f"Content-Length: {len(block)}", "", ""]
    return "\r\n".join(head).encode() + block + b"\r\n\r\n"


def pages(kind: str = "response") -> list[bytes]:
    """Five records with block digests."""
    texts = [PAGE.replace(b"some", b"%d" % i) for i in range(5)]
    blocks = [http(text) if kind == "response" else text for text in texts]
    return [record(b, f"WARC-Block-Digest: {stated(b)}", i=i, kind=kind) for i, b in enumerate(blocks)]


@pytest.mark.parametrize("name", HASHES)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_digest(name, form) -> None:
    """A digest in hex, base32 or base64, of any usual hash, agrees with its bytes and no others."""
    for data in (b"", PAGE, bytes(range(256))):
        assert agrees(stated(data, name, form), data) is True
        assert agrees(stated(data, name, form), data + b"!") is False
        spelled = stated(data, name, form).replace("sha", " SHA-", 1)
        assert agrees(spelled, data) is True


@pytest.mark.parametrize("value", ["", "sha1", "sha1:", "sha1:ABC", "crc32:12345678", "sha1:" + "A" * 33, ":"])
def test_what_is_no_digest(value) -> None:
    """An unknown hash, or a value of another length, is not checked."""
    assert agrees(value, PAGE) is None
    assert not is_wrong({"warc-block-digest": value, "warc-payload-digest": value}, PAGE, 1 << 20)


CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)
PACKED = gzip.compress(PAGE, mtime=0)
PAYLOADS = {
    "as it is": (http(PAGE), PAGE), "with chunks": (http(CHUNKED, "Transfer-Encoding: chunked"), CHUNKED),
    "without chunks": (http(CHUNKED, "Transfer-Encoding: chunked"), PAGE),
    "encoded": (http(PACKED, "Content-Encoding: gzip"), PACKED),
    "decoded": (http(PACKED, "Content-Encoding: gzip"), PAGE),
    "deflated": (http(zlib.compress(PAGE), "Content-Encoding: deflate"), PAGE),
    "after an empty line too much": (http(b"\r\n" + PAGE), PAGE), "of a record without HTTP": (PAGE, PAGE),
}  # fmt: skip


@pytest.mark.parametrize("case", PAYLOADS)
def test_payloads(case) -> None:
    """A payload digest is right in every form that writers hash, wrong if a byte of the payload changes."""
    block, payload = PAYLOADS[case]
    headers = {"warc-payload-digest": stated(payload)}
    assert not is_wrong(headers, block, 1 << 20)
    changed = block.replace(payload, payload[:-9] + b"X" + payload[-8:]) if payload in block else block[:-9] + b"X" * 9
    assert changed != block
    assert is_wrong(headers, changed, 1 << 20)
    assert not is_wrong(headers | {"warc-truncated": "length"}, changed, 1 << 20)
    assert not is_wrong(headers | {"warc-block-digest": stated(changed)}, changed, 1 << 20)  # it covers the payload
    assert is_wrong({"warc-payload-digest": stated(payload), "warc-block-digest": stated(b"x")}, block, 1 << 20)


def test_as_fastwarc_checks() -> None:
    """FastWARC finds the same blocks wrong."""
    warc = pytest.importorskip("fastwarc.warc")
    data = b"".join(pages())
    for at in range(data.index(b"HTTP/"), len(data), 17):
        changed = data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]
        try:
            records = warc.ArchiveIterator(io.BytesIO(changed), parse_http=False)
            found = [(r.headers, r.verify_block_digest(), r.reader.read()) for r in records]
        except OSError:
            continue
        for headers, right, block in found:
            named = {name.lower(): value for name, value in headers.items()}
            if "warc-block-digest" in named and agrees(named["warc-block-digest"], b"") is not None:
                assert is_wrong(named, block, 1 << 20) != right


@pytest.mark.parametrize(("name", "kind"), [("a.warc", "response"), ("a.wet", "conversion")], ids=["warc", "wet"])
def test_a_flipped_bit(tmp_path, caplog, name, kind) -> None:
    """Each bit of a block: its record alone is dropped, and the file is a row with the record's offset."""
    stored = pages(kind)
    whole, at = b"".join(stored), len(stored[0]) + len(stored[1])
    block = stored[2].index(b"\r\n\r\n") + 4
    path, out = tmp_path / "in" / name, tmp_path / "out"
    path.parent.mkdir()
    for bit in range(at + block, at + len(stored[2]) - 4, 19):
        path.write_bytes(whole[:bit] + bytes([whole[bit] ^ 1 << bit % 7]) + whole[bit + 1 :])
        done = dp.Pipeline().run(dp.read(str(path)), out=str(out), replace=True)
        assert done.count == 4
        assert [(r["id"], r["reason"]) for r in done.drops().to_pylist()] == [(at, "bad_digest")]
        (row,) = done.unread().to_pylist()
        assert (row["file"], row["reason"], row["offset"]) == (str(path), "bad_digest", at)
        assert row["detail"].startswith("1 of 5 records were dropped, since the bytes of the record differ")
    assert "damaged records in 1 archive;" in caplog.text
    with pytest.raises(ReadError, match=f"differ from its WARC digest.*{at}|{at}.*differ from its WARC digest"):
        dp.read(str(path), strict=True).table()
    assert dp.read(str(path), digests=False).count == 5
    path.write_bytes(whole)
    again = dp.Pipeline().run(dp.read(str(path)), out=str(out))  # fetched again: read without replace=True
    assert (again.count, len(again.unread())) == (5, 0)


def test_where_digests_are_checked(tmp_path) -> None:
    """By default only where the compression has no checksum; with digests=True everywhere."""
    stored = pages()
    wrong = [stored[0], stored[1].replace(b"words", b"wOrds"), *stored[2:]]
    packers = {"a.warc": bytes, "b.warc.gz": gzip.compress, "c.warc.zst": zstandard.ZstdCompressor().compress}
    for name, pack in packers.items():
        (tmp_path / name).write_bytes(b"".join(map(pack, wrong)))
        counts = [dp.read(str(tmp_path / name), digests=digests).count for digests in (None, True, False)]
        assert counts == [5 if "gz" in name else 4, 4, 5]
    keys = {dp.read(str(tmp_path / "a.warc"), digests=digests).key for digests in (None, True, False)}
    assert len(keys) == 3


def test_too_many_wrong_digests(tmp_path) -> None:
    """An archive in which most records are wrong is a bad file."""
    block = http(PAGE)
    data = b"".join(record(block, f"WARC-Block-Digest: {stated(b'other')}", i=i) for i in range(20))
    (tmp_path / "a.warc").write_bytes(data)
    with pytest.raises(ReadError, match="all 20 records are bad.*differ from its WARC digest"):
        dp.read(str(tmp_path / "a.warc")).table()


def test_real_digests(shared) -> None:
    """No record of the real archives differs from its digests: of Common Crawl, wget, warcio and Webrecorder."""
    checked = 0
    for path in sorted((shared / "warc").glob("*/*.w*")):
        if "trunc" in path.name or "bad" in path.name:
            continue
        docs = dp.read(str(path), digests=True)
        plain = dp.read(str(path), digests=False)
        assert docs.table()["id"].to_pylist() == plain.table()["id"].to_pylist()
        checked += docs.count
    assert checked > 150
