"""Reader of dumps of MediaWiki, such as Wikipedia's `pages-articles.xml.bz2`: a page is a document (extra `wiki`).

The text is the last revision of the page, from which mwparserfromhell removes markup: templates, tables, references,
files and categories are left out. The position of a document is the byte offset of its page, decompressed. Pages are
dropped as `redirect`, as `namespace` if their namespace is not wanted, as `too_long`, and as `no_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar
from xml.parsers import expat

import orjson

from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError, need

from .text import Record, documents
from .trust import MAX_DOC_BYTES
from .whole_file import Text
from .xml_events import parsed

ROOT = re.compile(rb"\s*(<\?xml[^>]*\?>\s*)?(<!--.*?-->\s*)*<mediawiki[\s>]", re.DOTALL)
LEFT_OUT = ("ref", "table", "gallery", "math", "timeline", "imagemap", "score", "style", "syntaxhighlight")
SPACES = re.compile(r"\n{3,}")
KEPT = ("title", "ns", "id", "timestamp")


def is_mediawiki(head: bytes, url: str) -> bool:  # noqa: ARG001 - a sniffer
    """Return whether `head`, a file's first bytes, is the beginning of a dump of MediaWiki."""
    return bool(ROOT.match(head))


@dataclass
class _Page:
    """A page as far as it was read: its position, its fields, and the pieces of its text."""

    position: int
    fields: dict[str, str] = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    redirect: bool = False


@dataclass(frozen=True, kw_only=True)
class MediaWiki(Text):
    """Reads MediaWiki dumps: one document per page; `meta` has title, ns, page id and the revision's timestamp.

    Attributes:
        namespaces: the namespaces to read; 0 contains the articles.
        max_doc_bytes: pages with more markup are dropped.
    """

    VERSION: ClassVar[int] = 1
    max_doc_bytes: int = MAX_DOC_BYTES >> 3
    namespaces: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "namespaces", tuple(self.namespaces))
        if not all(type(n) is int for n in self.namespaces):
            msg = f"namespaces={self.namespaces!r} must be numbers, such as (0, 14)"
            raise PlanError(msg)
        need("mwparserfromhell", extra="wiki")

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the pages of a dump as batches."""
        yield from documents(self._records(piece, stats), piece, stats, None)

    def _records(self, piece: Slice, stats: Ledger) -> Iterator[Record]:
        n = 0
        for page in self._pages(piece):
            n += 1
            reason, text = self._text(page)
            if reason:
                stats.drop([doc_id(piece.file, page.position)], [reason], n_bytes=[page.size])
                continue
            meta = {name: page.fields[name] for name in KEPT if name in page.fields}
            yield Record(page.position, text.encode("utf-8", "replace"), page.size, orjson.dumps(meta).decode())
        if not n:
            msg = "the dump has no pages; fetch one with articles"
            raise ReadError(msg, piece.url, reason="empty")

    def _text(self, page: _Page) -> tuple[str, str]:
        """Return the reason to drop a page, or "", and its text without markup."""
        if page.redirect:
            return "redirect", ""
        if page.fields.get("ns", "0").strip() not in map(str, self.namespaces):
            return "namespace", ""
        if page.size > self.max_doc_bytes:
            return "too_long", ""
        text = without_markup("".join(page.pieces))
        return "" if text else "no_text", text

    def _pages(self, piece: Slice) -> Iterator[_Page]:
        done: list[_Page] = []
        open_: list[str] = []
        page = _Page(0)
        words: list[str] = []

        def connect(parser: expat.XMLParserType) -> None:
            def start(name: str, _: dict[str, str]) -> None:
                nonlocal page
                open_.append(name)
                words.clear()
                if name == "page":
                    page = _Page(parser.CurrentByteIndex)
                elif name == "redirect":
                    page.redirect = True
                elif name == "text":
                    page.pieces, page.size = [], 0

            def data(text: str) -> None:
                if open_[-1] == "text":
                    page.size += len(text.encode("utf-8", "replace"))
                    if page.size <= self.max_doc_bytes:
                        page.pieces.append(text)
                    else:
                        page.pieces.clear()
                elif open_[-1] in KEPT and len(words) < CHUNKS:
                    words.append(text)

            def end(name: str) -> None:
                open_.pop()
                if name == "page":
                    done.append(page)
                elif name in KEPT and (name != "id" or open_[-1:] == ["page"]):
                    page.fields[name] = "".join(words)

            parser.StartElementHandler, parser.CharacterDataHandler, parser.EndElementHandler = start, data, end

        with piece.open() as stream:
            for _ in parsed(stream, piece.url, self.max_doc_bytes, connect):
                yield from done
                done.clear()


CHUNKS = 100  # of text in a title


def without_markup(text: str) -> str:
    """Return the text of a page of MediaWiki without templates, tables, references, files and categories."""
    wiki: Any = need("mwparserfromhell", extra="wiki")
    try:
        code = wiki.parse(text, skip_style_tags=True)
        for node in code.ifilter_tags(recursive=True, matches=lambda tag: str(tag.tag).strip().lower() in LEFT_OUT):
            _remove(code, node)
        for link in code.ifilter_wikilinks(recursive=True):
            prefix, colon, _ = str(link.title).partition(":")
            if colon and prefix.strip() and not _is_plain(prefix):
                _remove(code, link)
        bare = code.strip_code(normalize=True, collapse=True, keep_template_params=False)
    except (RecursionError, wiki.parser.ParserError, ValueError):
        return ""
    lines = "\n".join(line.strip() for line in bare.replace("'''", "").replace("''", "").splitlines())
    return SPACES.sub("\n\n", lines).strip()


def _is_plain(prefix: str) -> bool:
    """Return whether the word before a colon in the title of a link is part of the title, and not a namespace."""
    return prefix.startswith(":") or " " in prefix.strip()


def _remove(code: Any, node: Any) -> None:
    """Remove a node, unless it was already removed with an enclosing node."""
    try:
        code.remove(node)
    except ValueError:
        return
