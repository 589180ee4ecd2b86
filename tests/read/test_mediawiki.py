"""Dumps of MediaWiki: pages without markup, streamed."""

from __future__ import annotations

import bz2
import json
import tracemalloc
from xml.sax.saxutils import escape

import pytest

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.mediawiki import MediaWiki, without_markup
from dataprep.read.xml_events import CHUNK, parsed

pytest.importorskip("mwparserfromhell")

PAGE = """{{Infobox|name=x|y={{z}}}}
'''Saltby''' is a [[harbour|port]] on the [[sea]].<ref>Book</ref>
{| class="wikitable"
| cell
|}
[[File:a.jpg|thumb|A [[boat]].]]
== Past ==
* It is ''old''.
[[Category:Ports]]
"""
PLAIN = "Saltby is a port on the sea.\n\nPast\nIt is old."


def dump(*pages, end="</mediawiki>"):
    """A dump of pages (title, namespace, text, whether it redirects)."""
    xml = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">\n<siteinfo><sitename>W</sitename></siteinfo>\n'
    for number, (title, ns, text, redirects) in enumerate(pages, 1):
        xml += f"<page><title>{title}</title><ns>{ns}</ns><id>{number}</id>"
        xml += '<redirect title="x"/>' if redirects else ""
        xml += f"<revision><id>{number + 900}</id><timestamp>2024-05-0{number}T00:00:00Z</timestamp>"
        xml += f'<text bytes="1" xml:space="preserve">{escape(text)}</text></revision></page>\n'
    return (xml + end).encode()


PAGES = [
    ("Saltby", 0, PAGE, False),
    ("Old", 0, "#REDIRECT [[x]]", True),
    ("Talk:S", 1, "hi", False),
    ("E", 0, "", False),
]


def test_pages_are_documents(tmp_path) -> None:
    """Text, title, number; redirects, talk and empty pages are dropped; positions are offsets in the dump."""
    data = dump(*PAGES)
    (tmp_path / "w.xml.bz2").write_bytes(bz2.compress(data))
    docs = dp.read(str(tmp_path / "w.xml.bz2"))
    done = dp.Pipeline().run(docs, out=str(tmp_path / "out"))
    assert [row["text"] for row in done] == [PLAIN]
    assert json.loads(done[0]["meta"]) == {"title": "Saltby", "ns": "0", "id": "1", "timestamp": "2024-05-01T00:00:00Z"}
    assert data[done[0]["id"] :].startswith(b"<page>")
    assert done.stats[0].reasons == {"redirect": 1, "namespace": 1, "no_text": 1}
    assert dp.read(str(tmp_path / "w.xml.bz2"), namespaces=(0, 1)).count == 2


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("{{a}}b", "b"), ("[[a]]s", "as"), ("<!-- no -->x", "x"), ("{{unclosed b", "{{unclosed b"),
        ("[[Star Trek: Picard]]", "Star Trek: Picard"), ("[https://e.org site] &amp; more", "site & more"), ("", ""),
        ("[[" * 500 + "deep", "[[" * 500 + "deep"),
    ],
)  # fmt: skip
def test_markup(markup, text) -> None:
    """Templates, links, comments, and markup that never ends."""
    assert without_markup(markup) == text


def test_bad_dumps(tmp_path) -> None:
    """Truncated, another charset, entities, no pages: one sentence, and pages before the end are kept."""
    path = tmp_path / "w.xml"
    path.write_bytes(dump(PAGES[0], end="<page><title>cut"))
    with pytest.raises(ReadError, match="the XML ends early or is damaged"):
        dp.read(str(path)).table()
    assert dp.Pipeline().run(dp.read(str(path), on_bad_file="skip"), out=str(tmp_path / "out")).count == 1
    path.write_bytes(dump(("a", 0, "é", False)).replace("é".encode(), b"\xe9"))
    with pytest.raises(ReadError, match="damaged"):
        dp.read(str(path)).table()
    path.write_bytes(b'<!DOCTYPE a [<!ENTITY b "c">]>' + dump(PAGES[0]))
    with pytest.raises(ReadError, match="it defines entities"):
        dp.read(str(path), format="mediawiki").table()
    path.write_bytes(dump())
    with pytest.raises(ReadError, match="the dump has no pages"):
        dp.read(str(path)).table()


def test_memory_is_bounded(tmp_path) -> None:
    """A page, and a tag, that are far too long are not held."""
    path = tmp_path / "w.xml.bz2"
    head, tail = dump(("a", 0, "first", False), ("b", 0, "MARK", False), ("c", 0, "last", False)).split(b"MARK")
    path.write_bytes(bz2.compress(head + b"x" * (96 << 20) + tail))
    ledger = Ledger("read", source="s")
    tracemalloc.start()
    try:
        batches = list(MediaWiki(max_doc_bytes=1 << 20)(Slice(str(path), 0), ledger))
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()
    assert [text for batch in batches for text in batch.column("text").to_pylist()] == ["first", "last"]
    assert ledger.drop_table()["reason"].to_pylist() == ["too_long"]
    path.write_bytes(bz2.compress(b'<mediawiki a="' + b"x" * (96 << 20)))
    with pytest.raises(ReadError, match="a tag has over"):
        dp.read(str(path), max_doc_bytes=1 << 20).table()


class Deep:
    """A stream of elements in elements without an end, which counts its bytes."""

    n = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        self.n += size
        return (b"<page>" * (size // 6 + 1))[:size] if self.n == size else b"<a>" * (size // 3)


def test_nested_elements_are_refused(tmp_path) -> None:
    """The parser keeps each open element in memory, so a deep dump is one sentence, and is not read to its end."""
    stream = Deep()
    with pytest.raises(ReadError, match="its elements are nested more than 1,000 deep"):
        list(parsed(stream, "a.xml", 1 << 20, lambda parser: None))
    assert stream.n <= 2 * CHUNK
    for n, is_read in ((900, True), (1_000, False)):
        deep = dump(*PAGES).replace(b"<revision>", b"<revision>" + b"<a>" * n + b"</a>" * n, 1)
        (tmp_path / f"{n}.xml").write_bytes(deep)
        if is_read:
            assert [row["text"] for row in dp.read(str(tmp_path / f"{n}.xml"))] == [PLAIN]
            continue
        with pytest.raises(ReadError, match="its elements are nested more than 1,000 deep"):
            dp.read(str(tmp_path / f"{n}.xml")).to_arrow()
