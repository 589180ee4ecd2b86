"""Pages: encodings, characters, what is left out and why, pages made to break a reader; ARC and WAT."""

from __future__ import annotations

import gzip
import importlib
import json
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import twins.page
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError

pytest.importorskip("resiliparse")
from dataprep.read.web import tags as cost
from dataprep.read.web.derived import Wat
from dataprep.read.web.response import unchunked
from dataprep.read.web.warc import Warc

LONG = "Ceci est une page écrite en français, où l'été dure toute l'année et où rien ne change jamais. " * 9
RUSSIAN = "Это страница на русском языке, и она достаточно длинная, чтобы её кодировку можно было узнать. " * 9


def record(kind: str, body: bytes, **headers: str) -> bytes:
    """One WARC record."""
    lines = ["WARC/1.0", f"WARC-Type: {kind}", *(f"WARC-{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body + b"\r\n\r\n"


def http(payload: bytes, kind: str | None = "text/html", status: int = 200, **headers: str) -> bytes:
    """An HTTP response."""
    named = {"Content-Type": kind, **{k.replace("_", "-"): v for k, v in headers.items()}}
    lines = [f"HTTP/1.1 {status} OK", *(f"{k}: {v}" for k, v in named.items() if v is not None), "", ""]
    return "\r\n".join(lines).encode() + payload


def read_bytes(folder, data: bytes, name: str = "a.warc", reader=Warc, **fields):
    """The rows of a file with these bytes, {position: reason} of what was dropped, and the ledger."""
    path = folder / name
    path.write_bytes(data)
    ledger = Ledger("read", source="s")
    rows = [r for b in reader(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, {r["id"]: r["reason"] for r in ledger.drop_table().to_pylist()}, ledger


def outcome(folder, block: bytes, headers: dict | None = None, **fields) -> str:
    """The text of the only response of an archive, or the reason why it gives none."""
    data = record("response", block, Target_URI="http://a.example/", **(headers or {}))
    rows, dropped, _ = read_bytes(folder, data, **fields)
    return rows[0]["text"] if rows else next(iter(dropped.values()))


def chunked(data: bytes, size: int = 7) -> bytes:
    """Data in chunks."""
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return b"".join(b"%x;x=y\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


HTML = b"<html><body><p>hello world</p></body></html>"
ENCODED = [
    (HTML, {}),
    (gzip.compress(HTML), {"Content_Encoding": "gzip"}),
    (gzip.compress(HTML[:20]) + gzip.compress(HTML[20:]), {"Content_Encoding": "x-gzip"}),
    (zlib.compress(HTML), {"Content_Encoding": "deflate"}),
    (zlib.compress(HTML)[2:-4], {"Content_Encoding": "deflate"}),
    (zstandard.ZstdCompressor().compress(HTML), {"Content_Encoding": "zstd"}),
    (chunked(HTML), {"Transfer_Encoding": "chunked"}),
    (chunked(gzip.compress(HTML)), {"Transfer_Encoding": "chunked", "Content_Encoding": "gzip"}),
    (gzip.compress(gzip.compress(HTML)), {"Content_Encoding": "gzip, gzip"}),
    (HTML, {"Content_Encoding": "gzip"}),  # headers that lie: the crawler unpacked the payload
    (HTML, {"Transfer_Encoding": "chunked"}),
    (HTML, {"Content_Encoding": "br"}),
    (HTML, {"Content_Encoding": "utf-8"}),
]


@pytest.mark.parametrize(("payload", "headers"), ENCODED, ids=range(len(ENCODED)))
def test_encodings(tmp_path, payload, headers) -> None:
    """Every encoding is undone, and the record after it is read."""
    data = record("response", http(payload, **headers), Target_URI="http://a.example/")
    rows, dropped, _ = read_bytes(
        tmp_path, data + record("response", http(b"<p>next"), Target_URI="http://a.example/b")
    )
    assert ([r["text"] for r in rows], dropped) == (["hello world", "next"], {})


def test_brotli(tmp_path) -> None:
    """Brotli is undone by FastWARC."""
    streams = pytest.importorskip("fastwarc.stream_io")
    path = tmp_path / "x.br"
    with path.open("wb") as f:
        writer = streams.BrotliWriter(f)
        writer.write(HTML)
        writer.close()
    assert outcome(tmp_path, http(path.read_bytes(), Content_Encoding="br")) == "hello world"


@given(st.binary(max_size=200), st.integers(1, 50))
def test_chunks(data, size) -> None:
    """Chunks are joined, whatever their sizes; cut ones are told."""
    whole = chunked(data, size)
    assert unchunked(whole) == (data, True)
    for cut in range(len(whole) - 5, 8, -9):
        found, complete = unchunked(whole[:cut])
        assert not complete
        assert data.startswith(found)


REFUSED = [
    ("status", http(HTML, status=404), {}),
    ("content_type", http(HTML, "application/pdf"), {}),
    ("content_type", http(b"hello", None), {}),
    ("bad_http", b"no response", {}),
    ("bad_encoding", http(b"\x1f\x8b" + b"no gzip at all", Content_Encoding="gzip"), {}),
    ("bad_encoding", http(b"something", Content_Encoding="pack200"), {}),
    ("cut_payload", http(gzip.compress(b"<p>" + bytes(range(256)))[:-9], Content_Encoding="gzip"), {}),
    ("cut_payload", http(b"ff\r\n<p>hello", Transfer_Encoding="chunked"), {}),
    ("too_long", http(b"<p>" + b"a" * 3_000_000), {}),
    ("too_long", http(gzip.compress(b"a" * 30_000_000), Content_Encoding="gzip"), {}),
    ("too_long", http(gzip.compress(gzip.compress(b"a" * 300_000_000)), Content_Encoding="gzip, gzip"), {}),
    ("too_long", http(zstandard.ZstdCompressor().compress(b"a" * 30_000_000), Content_Encoding="zstd"), {}),
    ("too_long", http(b"a" * 3_000_000, "text/plain"), {}),
    ("binary", http(b"%PDF-1.7 \n<p>hello"), {}),
    ("binary", http(bytes(range(256)) * 20, "text/plain"), {}),
    ("binary", http(b"\x89PNG\r\n\x1a\n" + b"x" * 99), {}),
    ("charset", http(bytes(range(0x80, 0xA0)) * 99, "text/plain; charset=utf-8"), {}),
    ("no_text", http(b"<html><head><title>x</title></head><body><script>hello</script></body></html>"), {}),
    ("no_text", http(b"", "text/plain"), {}),
    ("too_nested", http(b"<div>" * 100_000 + b"hello"), {}),
    ("too_nested", http(b"<article><x>" * 5_000 + b"hello"), {}),
    ("too_nested", http(b"<p " + b"a=1 " * 100_000 + b">hello"), {}),
    ("too_nested", http(b"<p>" + b"".join(b"<b id=%d>" % i for i in range(3_000)) + b"</p>" + b"<p>x</p>" * 3_000), {}),
]


@pytest.mark.parametrize(("reason", "block", "headers"), REFUSED)
def test_refused(tmp_path, reason, block, headers) -> None:
    """Every page that gives no document is counted under a reason."""
    assert outcome(tmp_path, block, headers, max_doc_bytes=2_000_000) == reason


def test_a_page_of_50_mb(tmp_path) -> None:
    """A page over the limit of 16 MB is not parsed, neither plain nor packed; just under it, it is."""
    page = b"<p>hello world, this is text.</p>\n" * 1_500_000
    assert outcome(tmp_path, http(page)) == "too_long"
    assert outcome(tmp_path, http(gzip.compress(page, 1), Content_Encoding="gzip")) == "too_long"
    assert outcome(tmp_path, http(b"x" * (16 << 20), "text/plain")) == "x" * (16 << 20)


def test_pages_cut_by_the_crawler(tmp_path) -> None:
    """What the record says was cut by the crawler is delivered as far as it goes, and says so."""
    block = http(gzip.compress(b"<p>hello world</p>" + b"<br>" * 9)[:-9], Content_Encoding="gzip")
    assert outcome(tmp_path, block) == "cut_payload"
    assert outcome(tmp_path, block, {"Truncated": "length"}).startswith("hello")


CHARSETS = [
    (LONG, "utf-8", "text/html; charset=utf-8", ""),
    (LONG, "utf-8", "text/html; charset=iso-8859-1", ""),  # wrong in HTTP
    (LONG, "cp1252", "text/html; charset=ISO-8859-1", ""),
    (LONG, "cp1252", "text/html", '<meta charset="windows-1252">'),
    (LONG, "cp1252", "text/html", ""),  # detected
    (RUSSIAN, "cp1251", "text/html", '<meta http-equiv=Content-Type content="text/html; charset=windows-1251">'),
    (RUSSIAN, "cp1251", "text/html; charset=utf-8", ""),  # wrong in HTTP, detected
    (RUSSIAN, "cp1251", "text/html; charset=utf-8", '<meta charset="cp1251">'),
    (RUSSIAN, "koi8-r", 'text/html; charset="KOI8-R"; x=y', ""),
    (RUSSIAN, "utf-16", "text/html", ""),  # its byte order mark says so
    (RUSSIAN, "utf-16-le", "text/html; charset=utf-16le", ""),
    ("日本語のページです。" * 30, "shift_jis", "text/html; charset=Shift_JIS", ""),
    ("日本語のページです。" * 30, "iso2022_jp", "text/html; charset=ISO-2022-JP", ""),
    ("日本語のページです。" * 30, "euc_jp", "text/html; charset=nonsense", ""),
    ("中文网页的内容在这里。" * 30, "gb18030", "text/html; charset=gb2312", ""),
    ("هذه صفحة باللغة العربية عن الطقس والسفر. " * 9, "cp1256", "text/html; charset=windows-1256", ""),
]


@pytest.mark.parametrize(("text", "codec", "kind", "meta"), CHARSETS)
def test_charsets(tmp_path, text, codec, kind, meta) -> None:
    """Characters are those of the page, whichever of HTTP, meta and the bytes tells the truth."""
    html = f"<html><head>{meta}<title>x</title></head><body><p>{text}</p></body></html>"
    assert outcome(tmp_path, http(html.encode(codec), kind)) == text.strip()


def test_a_few_wrong_bytes(tmp_path) -> None:
    """A few bytes that are no UTF-8 become U+FFFD; the rest is kept."""
    page = f"<p>{LONG}".encode() + b"\xff end"
    assert outcome(tmp_path, http(page, "text/html; charset=utf-8")) == LONG + "\ufffd end"


def test_revisits_and_duplicates(tmp_path) -> None:
    """Revisits, and records of one id or of one address and date, are left out; other visits of a page are read."""
    pages = [("a", "1", "2024"), ("b", "1", "2025"), ("a", "2", "2024"), ("a", "3", "2025")]
    stored = [
        record("response", http(b"<p>%d" % i), Target_URI=f"http://{u}/", Record_ID=f"<{r}>", Date=d)
        for i, (u, r, d) in enumerate(pages)
    ]
    stored.append(record("revisit", b"HTTP/1.1 200 OK\r\n\r\n", Target_URI="http://a/", Record_ID="<9>"))
    rows, dropped, _ = read_bytes(tmp_path, b"".join(stored))
    assert [r["text"] for r in rows] == ["0", "3"]
    assert list(dropped.values()) == ["duplicate_record", "duplicate_record", "revisit"]


def test_status_and_types(tmp_path) -> None:
    """Which responses are pages can be said; what they were is counted."""
    stored = [
        record("response", http(b"<p>lost", status=404), Target_URI="http://a/1"),
        record("response", http(b"a,b", "text/csv"), Target_URI="<http://a/2>"),
        record("response", b"20240101 1.2.3.4", Target_URI="dns:a"),
    ]
    rows, dropped, ledger = read_bytes(tmp_path, b"".join(stored), status=(200, 404), types=("text/html", "text/csv"))
    assert ([r["text"] for r in rows], dropped) == (["lost", "a,b"], {})
    assert [json.loads(r["meta"])["url"] for r in rows] == ["http://a/1", "http://a/2"]
    _, dropped, ledger = read_bytes(tmp_path, b"".join(stored))
    assert list(dropped.values()) == ["status", "content_type"]
    assert ledger.record.counts == {"records.not_http": 1, "status.404": 1}


def test_columns_and_options(tmp_path) -> None:
    """Fields become typed columns; options are Resiliparse's; unknown ones are refused before any work."""
    place = tmp_path / "a.warc"
    html = b'<div>main <a href="http://b/">link</a> <img alt="picture"></div>'
    place.write_bytes(record("response", http(html), Target_URI="http://a/", Date="2024-05-18T01:58:10Z"))
    docs = dp.read(str(place), columns=["url", "status", "truncated"], links=True, alt_texts=True, main_content=False)
    row = docs.take(1)[0]
    assert (row["url"], row["status"], row["truncated"]) == ("http://a/", 200, None)
    assert "http://b/" in row["text"]
    assert "picture" in row["text"]
    for wrong in ({"columns": ["title"]}, {"columns": {"status": "string"}}, {"boilerplate": True},
                  {"types": ("image/png",)}, {"max_doc_bytes": 0}):  # fmt: skip
        with pytest.raises(PlanError):
            dp.read(str(place), **wrong)


def test_missing_packages(tmp_path, monkeypatch) -> None:
    """Without Resiliparse a WARC is refused before any work, with the extra that brings it."""
    real = importlib.import_module

    def without(name, *rest):
        if name.startswith("resiliparse"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(PlanError, match=r"dataprep-lm\[warc\]"):
        Warc()


def test_what_is_no_warc(tmp_path) -> None:
    """Other files are refused with what was found."""
    for data, says in ((b"<html>", "begin here"), (b"\x89PNG" * 99, "begin"), (gzip.compress(b"text"), "begin here"),
                       (record("metadata", b"x"), "only metadata")):  # fmt: skip
        with pytest.raises(ReadError, match=says):
            read_bytes(tmp_path, data)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_arc(tmp_path, suffix) -> None:
    """ARC 1 and 2: the pages at their offsets; DNS answers are counted, broken records named."""
    version = b"1 0 Somebody\nURL IP-address Archive-date Content-type Archive-length\n"
    stored = [b"filedesc://a.arc 0.0.0.0 20010203040506 text/plain %d\n%s\n" % (len(version), version)]
    for i, body in enumerate([http(b"<p>one"), b"20010203040506\n1.2.3.4", http(b"<p>two"), http(b"<p>three")]):
        url = b"dns:a.example" if i == 1 else b"http://a.example/%d" % i
        length = b"200 - - 0 a.arc %d" % len(body) if i == 3 else b"%d" % (len(body) + 9 * (i == 2))
        stored.append(url + b" 1.2.3.4 20010203040506 text/html " + length + b"\n" + body + b"\n")
    stored = [gzip.compress(r) for r in stored] if suffix else stored
    rows, dropped, ledger = read_bytes(tmp_path, b"".join(stored), f"a.arc{suffix}")
    begins = [sum(map(len, stored[:k])) for k in range(5)]
    assert [(r["id"], r["text"]) for r in rows] == [(begins[1], "one"), (begins[4], "three")]
    assert json.loads(rows[0]["meta"])["date"] == "2001-02-03T04:05:06Z"
    assert dropped == {begins[3]: "wrong_length"}
    assert ledger.record.counts == {"records.filedesc": 1, "records.not_http": 1}
    assert dp.read(str(tmp_path / f"a.arc{suffix}")).table().num_rows == 2


def test_wat(tmp_path) -> None:
    """A WAT record gives title, description and link texts; address, links and the page's place go to meta."""
    head = {
        "Title": "A  title",
        "Metas": [{"name": "Description", "content": "About it"}, {"name": "x", "content": "y"}],
    }
    links = [
        {"path": "A@/href", "url": "/b", "text": "Next"},
        {"path": "IMG@/src", "url": "c.png"},
        {"text": "none"},
        3,
    ]
    note = {
        "Container": {"Filename": "a.warc.gz", "Offset": "123"},
        "Envelope": {
            "WARC-Header-Metadata": {"WARC-Type": "response", "WARC-Target-URI": "http://a/", "WARC-Date": "2024"},
            "Payload-Metadata": {"HTTP-Response-Metadata": {
                "Response-Message": {"Status": "200"}, "Headers": {"content-type": "text/html"},
                "HTML-Metadata": {"Head": head, "Links": links}}},
        },
    }  # fmt: skip
    about = {"Envelope": {"WARC-Header-Metadata": {"WARC-Type": "request"}}}
    odd = [b"[]", b"{}", b'{"Envelope": 3}', b"not json"]
    bodies = [json.dumps(note).encode(), json.dumps(about).encode(), *odd]
    rows, dropped, ledger = read_bytes(tmp_path, b"".join(record("metadata", b) for b in bodies), "a.wat", Wat)
    assert [r["text"] for r in rows] == ["A title\nAbout it\nNext"]
    assert json.loads(rows[0]["meta"]) == {
        "url": "http://a/", "date": "2024", "status": 200, "content_type": "text/html", "title": "A  title",
        "warc": "a.warc.gz", "offset": 123,
        "links": [{"url": "/b", "text": "Next", "path": "A@/href"}, {"url": "c.png", "path": "IMG@/src"}],
    }  # fmt: skip
    assert list(dropped.values()) == ["not_json"]
    assert ledger.record.counts == {"records.about_request": 1, "records.about_something else": 3}
    docs = dp.read(str(tmp_path / "a.wat"), columns=["links", "offset"])
    assert json.loads(docs.take(1)[0]["links"])[1] == {"url": "c.png", "path": "IMG@/src"}


TAGS = st.sampled_from(
    ["<div>", "</div>", "<b>", "</b>", "<B x='>'>", "<p>", "<a href=x>", "</a >", "<!-- <div> -->", "<!-->", "<br/>",
     "<script>if (a<b) '<div>'</script>", "<i " + "a=1 / b " * 140 + ">",
     "<font a b=c d>", "</x>", "text", "<", ">", "<div ", '<i a="', "'", "=", "é"]
)  # fmt: skip


@given(st.lists(TAGS, max_size=60))
def test_work(tags) -> None:
    """The kernel that weighs a page agrees with its plain twin."""
    html = "".join(tags).encode() * 20
    found = cost.work(html.ljust(cost.SMALL))
    assert found == min(found, twins.page.html_work(html.decode(), cost.NESTING.split(), cost.FREE))


def test_sample(samples) -> None:
    """The sample crawl's pages are those of the sample WET, between their menus; what is no page is counted."""
    wet = {
        json.loads(r["meta"])["url"]: r["text"] for r in dp.read(str(samples / "crawl.warc.wet")).table().to_pylist()
    }
    ledger = Ledger("read", source="s")
    batches = Warc(columns=(("url", "string"), ("charset", "string")))(Slice(str(samples / "crawl.warc.gz"), 0), ledger)
    rows = [r for batch in batches for r in batch.to_pylist()]
    assert [r["charset"] for r in rows] == ["utf-8", "utf-8", "cp1252"]
    assert all(r["text"].split() == wet[r["url"]].split() for r in rows)
    assert sorted(ledger.drop_table()["reason"].to_pylist()) == ["content_type", "revisit", "status"]
