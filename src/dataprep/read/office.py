"""Readers of DOCX, EPUB and PDF: word-processor documents, books, and text layers of pages.

DOCX and EPUB are zip files of XML, which are read in bounded memory: a member of over max_doc_bytes is dropped. A PDF
needs the extra `pdf`. A PDF whose pages have no text, such as a scan, is listed as unreadable.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import unquote
from xml.parsers import expat

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError, counted, need

from .archive_members import Expanded
from .chats.packs import DAMAGED_ZIP
from .html import Html
from .office_xml import DocumentText, Package
from .sections import Section, Sections
from .trust import MAX_DOC_BYTES
from .xml_events import parsed

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the first bytes of .doc, and of encrypted .docx


def _member(archive: zipfile.ZipFile, name: str, most: int, url: str) -> bytes | None:
    """Return the bytes of a file in a zip; None if it is longer than `most`. Raises ReadError if it does not exist."""
    try:
        with archive.open(name) as stream:
            data = stream.read(most + 1)
    except (KeyError, *DAMAGED_ZIP) as e:
        msg = f"'{name}' in it is missing or damaged ({e}); save it again, or fetch it again"
        raise ReadError(msg, url) from e
    return data if len(data) <= most else None


def _opened(data: bytes, url: str) -> zipfile.ZipFile:
    if data.startswith(OLE):
        msg = "it has a password, or is a .doc file; save it as .docx without a password"
        raise ReadError(msg, url)
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except DAMAGED_ZIP as e:
        msg = f"it is truncated or damaged ({e}); save it again, or fetch it again"
        raise ReadError(msg, url) from e


def _parse(data: bytes, url: str, name: str, connect: Callable[[expat.XMLParserType], None]) -> None:
    """Parse a file in a zip; `connect` sets the handlers. Raises ReadError if it is not XML, or defines entities."""
    try:
        for _ in parsed(io.BytesIO(data), url, len(data), connect, spaces=True):
            pass
    except ReadError as e:
        msg = f"'{name}' in it is not valid XML: {e.message}"
        raise ReadError(msg, url) from e


def _document(archive: zipfile.ZipFile, url: str) -> str:
    """Return the path of the main document in a DOCX."""
    usual, stated = "word/document.xml", "_rels/.rels"
    if usual in archive.namelist() or stated not in archive.namelist():
        return usual
    named = Package()
    _parse(_member(archive, stated, 1 << 20, url) or b"", url, stated, named.connect)
    return (named.files or [usual])[0]


@dataclass(frozen=True, kw_only=True)
class Docx(Sections):
    """Reads DOCX: one document per file, with its paragraphs and tables; cells are separated by tabs."""

    MAX_FILE: ClassVar[int] = 256 << 20  # with pictures

    def sections(self, data: bytes, piece: Slice, stats: Ledger) -> Iterator[Section]:  # noqa: ARG002
        """Yield the text of the document."""
        with _opened(data, piece.url) as archive:
            name = _document(archive, piece.url)
            xml = _member(archive, name, self.max_doc_bytes, piece.url)
        if xml is None:
            yield Section(b"", {}, "too_long")
            return
        body = DocumentText()
        _parse(xml, piece.url, name, body.connect)
        yield Section("\n".join(body.lines).strip("\n").encode("utf-8", "replace"), {})


@dataclass(frozen=True, kw_only=True)
class Epub(Html):
    """Reads EPUB: one document per chapter (one file in the book), in reading order; the options are those of HTML.

    `meta` has the title of the book and the number of the chapter, `section`, from 1.
    """

    VERSION: ClassVar[int] = 1
    MAX_FILE: ClassVar[int] = 256 << 20
    main_content: bool = False

    def sections(self, data: bytes, piece: Slice, stats: Ledger) -> Iterator[Section]:  # noqa: ARG002
        """Yield the chapters."""
        with _opened(data, piece.url) as archive:
            container = "META-INF/container.xml"
            root = Package()
            _parse(_member(archive, container, 1 << 20, piece.url) or b"", piece.url, container, root.connect)
            package = (root.files or [""])[0]
            book = Package()
            _parse(_member(archive, package, 16 << 20, piece.url) or b"", piece.url, package, book.connect)
            title = book.title
            expanded = Expanded(piece.url, len(data))
            for number, idref in enumerate(book.spine, 1):
                href = unquote(book.items.get(idref, ""))
                name = posixpath.normpath(posixpath.join(posixpath.dirname(package), href))
                page = _member(archive, name, self.max_doc_bytes, piece.url)
                expanded.before += self.max_doc_bytes if page is None else len(page)
                expanded.check(0)
                meta: dict[str, Any] = {"section": number, **({"book": title} if title else {})}
                if page is None:
                    yield Section(b"", meta, "too_long")
                    continue
                found = self.page(page)
                yield Section(found.text, {**meta, **found.meta}, found.reason)


@dataclass(frozen=True, kw_only=True)
class Pdf(Sections):
    """Reads the text layer of PDF: one document per page; `meta` has the page number, from 1, and the number of pages.

    Pages without text are dropped as `no_text`; a PDF without any text raises ReadError.
    """

    MAX_FILE: ClassVar[int] = 1 << 30
    max_doc_bytes: int = MAX_DOC_BYTES

    def __post_init__(self) -> None:
        need("pypdfium2", extra="pdf")

    def sections(self, data: bytes, piece: Slice, stats: Ledger) -> Iterator[Section]:  # noqa: ARG002
        """Yield the pages."""
        pdfium = need("pypdfium2", extra="pdf")
        try:
            pdf = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as e:
            state = "it has a password; remove it (qpdf --decrypt)" if "assword" in str(e) else "fetch it again"
            msg = f"it is not a complete PDF, or cannot be opened ({e}); {state}"
            raise ReadError(msg, piece.url) from e
        try:
            n = len(pdf)
            texts = any(_page_text(pdf, k, pdfium) for k in range(n))
            if not texts:
                msg = f"none of its {counted(n, 'page')} has text, as in scans; add it by OCR (ocrmypdf IN.pdf OUT.pdf)"
                raise ReadError(msg, piece.url)
            for k in range(n):
                yield Section(_page_text(pdf, k, pdfium), {"page": k + 1, "pages": n})
        finally:
            pdf.close()


def _page_text(pdf: Any, number: int, pdfium: Any) -> bytes:
    """Return the text of a page in UTF-8; b"" if it has none, or is damaged."""
    try:
        page = pdf[number]
        layer = page.get_textpage()
        text: str = layer.get_text_bounded()
        layer.close()
        page.close()
    except pdfium.PdfiumError:
        return b""
    text = text.replace("\r\n", "\n").replace("\ufffe", "").replace("\0", "")
    return text.strip().encode("utf-8", "replace")
