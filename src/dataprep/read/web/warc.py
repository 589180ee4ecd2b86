"""Reader of WARC and the older ARC: the pages of a crawl as the text of their main content.

Response, resource and conversion records with an accepted status and content type become documents: transfer and
content encodings are removed, the charset is detected, and an extractor (`extract.py`, extra `warc`) extracts the text.
The position of a document is the offset of its record in the stored file. Revisits, repeated records (same id, or same
URL and date), and conversions of records that were read are dropped with a reason; request, metadata, warcinfo and
other records are ignored, but counted in the statistics. The segments of a record are joined if they are in order in a
single file (`segments.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dataprep.core.model.ledger import Ledger
from dataprep.errors import PlanError

from .archive import Entry
from .crawl import Crawl
from .extract import check, encoded, extract
from .page import HTML, page_of
from .response import STATUS, Response, charset, decoded, media_type, parse, refuse

MAX_PAGE_BYTES = 16 << 20  # of a page, unpacked: parsing takes up to 25 times its size in memory
MAX_HTTP_HEADERS = 1 << 20  # a block may be so much longer than a page


@dataclass(frozen=True, kw_only=True)
class Warc(Crawl):
    """Reads WARC and ARC files: one document per page of a web crawl, with the extracted text.

    Attributes:
        columns: any of url, date, record_id, status, content_type, charset, charset_agreed (the share of sources that
            name this charset, among HTTP header, XML declaration or `meta` tag, and detector; null if all do),
            unreadable (the number of characters that became U+FFFD; null if none did) and truncated (why the crawler
            truncated the payload).
        max_doc_bytes: the maximum size of a page in bytes, decompressed.
        status: the accepted HTTP statuses.
        types: the accepted content types; a page without a content type is HTML if it begins with "<".
        extract: the extractor of a page's text: "article", which is dataprep's own; "resiliparse", with the values of
            DCLM (Li et al. 2024); "trafilatura" (extra `trafilatura`), with the settings of FineWeb; or "plain", all
            text of the page.
        main_content: whether to exclude navigation, footers and other boilerplate. `main_content` and the fields after
            it are options of "article" and "resiliparse", with the same meaning as in Resiliparse
            (`resiliparse.extract.html2text.extract_plain_text`).
        comments: whether to keep readers' comments; None: only if extract="resiliparse".
    """

    max_doc_bytes: int = MAX_PAGE_BYTES
    status: tuple[int, ...] = (200,)
    types: tuple[str, ...] = (*HTML, "text/plain")
    extract: str = "article"
    main_content: bool = True
    list_bullets: bool = True
    comments: bool | None = None
    alt_texts: bool = False
    links: bool = False
    form_fields: bool = False
    noscript: bool = False

    VERSION: ClassVar[int] = 15
    NAME: ClassVar[str] = "warc"
    HOLDS: ClassVar[str] = "response"
    ALSO: ClassVar[frozenset[str]] = frozenset({"resource", "conversion"})
    OTHERS: ClassVar[frozenset[str]] = frozenset({"revisit"})
    FIELDS: ClassVar[Mapping[str, str]] = {
        "url": "string", "date": "string", "record_id": "string", "status": "int64", "content_type": "string",
        "charset": "string", "charset_agreed": "double", "unreadable": "int64", "truncated": "string",
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "status", (self.status,) if isinstance(self.status, int) else tuple(self.status))
        object.__setattr__(self, "types", (self.types,) if isinstance(self.types, str) else tuple(self.types))
        strange = next((t for t in self.types if t not in HTML and not t.startswith("text/")), None)
        if strange is not None:
            msg = f"types={strange!r} is not text; pass {', '.join(HTML)}, or any text/ type"
            raise PlanError(msg)
        check(self)

    def max_block(self) -> int:
        """Return the largest size in bytes of a record that is loaded: max_doc_bytes plus space for the headers."""
        return self.max_doc_bytes + MAX_HTTP_HEADERS

    def extracted(self, html: str) -> bytes:
        """Return the text of a page, in UTF-8. Raises Refused with the reason "not_parsed" or "no_text"."""
        return extract(html, self)

    def document(self, entry: Entry, stats: Ledger, seen: set[Any]) -> tuple[bytes | str, Mapping[str, Any]] | None:
        """Return (text in UTF-8, or HTML; fields as {name: value}) of the page in `entry`, a record with a page.

        Returns None if the URL of the page is not http.

        - seen: records of the same file so far, to drop repeated ones.

        Raises Refused with the reason if the page is to be dropped.
        """
        headers = entry.headers
        url = headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")  # Wget writes <URL>
        if not url[:6].lower().startswith(("http:", "https:")):
            stats.count("records.not_http")
            return None
        fields: dict[str, Any] = {"url": url}
        for name, header in (("date", "warc-date"), ("record_id", "warc-record-id"), ("truncated", "warc-truncated")):
            if header in headers:
                fields[name] = headers[header]
        if headers["warc-type"].lower() == "conversion" and headers.get("warc-refers-to") in seen:
            refuse("duplicate_record")
        self._refuse_twin(fields, seen)
        response = _response(entry)
        if response.status is not None and response.status not in self.status:
            stats.count(f"status.{response.status}")
            refuse("status")
        kind = media_type(response.headers) or ("text/html" if response.payload[:64].lstrip().startswith(b"<") else "")
        if kind not in self.types:
            refuse("content_type")
        data = decoded(response, self.max_doc_bytes, is_cut="truncated" in fields)
        is_html = kind in HTML
        page = page_of(data, charset(response.headers), is_html=is_html)
        if response.status is not None:
            fields["status"] = response.status
        fields["content_type"], fields["charset"] = kind, page.charset
        if page.agreed < 1:
            fields["charset_agreed"] = page.agreed
        if page.n_lost:
            fields["unreadable"] = page.n_lost
            stats.count("unreadable_characters", page.n_lost)
        return page.text if is_html else encoded(page.text), fields

    @staticmethod
    def _refuse_twin(fields: Mapping[str, Any], seen: set[Any]) -> None:
        """Raise Refused if an earlier record of the file has the same id, or the same URL and date."""
        marks = {fields["record_id"]} if fields.get("record_id") else set()
        marks |= {(fields["url"], fields["date"])} if fields.get("date") else set()
        if marks & seen:
            refuse("duplicate_record")
        seen |= marks


def _response(entry: Entry) -> Response:
    """Return the HTTP response in a record, or its payload with the type that the record itself states.

    Raises Refused with the reason "bad_http" if a record that must have an HTTP head has none, and is not HTML.
    """
    assert entry.body is not None
    headers = entry.headers
    is_response = headers["warc-type"].lower() == "response"
    if is_response and STATUS.match(entry.body):
        return parse(entry.body)
    stated = headers.get("content-type") or headers.get("warc-identified-payload-type", "")
    is_http = stated.lower().startswith("application/http")
    if is_response and (is_http or not stated) and not entry.body[:64].lstrip().startswith(b"<"):
        refuse("bad_http")
    return Response(None, {} if is_http else {"content-type": stated}, entry.body)
