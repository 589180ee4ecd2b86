"""Reader of HTML files: the text of the main content of a page, by the extractors for crawls (extra `warc`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice

from .sections import Section, Sections
from .trust import MAX_DOC_BYTES
from .web.extract import check, extract
from .web.page import page_of
from .web.response import Refused

TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,1000})</title", re.IGNORECASE)
TITLE_IN = 1 << 16  # characters of a page in which its title is looked for


@dataclass(frozen=True, kw_only=True)
class Html(Sections):
    """Reads HTML files: one document per file; its `meta` has the path, the title, and a charset other than UTF-8.

    Attributes:
        extract: the extractor: "article", "resiliparse", "trafilatura" or "plain", as for WARC.
        main_content: whether to exclude navigation, footers and other boilerplate; list_bullets, comments, alt_texts,
            links, form_fields and noscript: further options, as for WARC. A page without text is dropped as `no_text`,
            binary data as `binary`, and a page that no charset decodes as `charset`.
    """

    max_doc_bytes: int = MAX_DOC_BYTES >> 2  # parsing takes up to 25 times the size of a page in memory
    extract: str = "article"
    main_content: bool = True
    list_bullets: bool = True
    comments: bool | None = None
    alt_texts: bool = False
    links: bool = False
    form_fields: bool = False
    noscript: bool = False

    def __post_init__(self) -> None:
        check(self)

    def sections(self, data: bytes, piece: Slice, stats: Ledger) -> Iterator[Section]:  # noqa: ARG002
        """Yield the page."""
        yield self.page(data)

    def page(self, data: bytes, declared: str = "") -> Section:
        """Return the text of an HTML page, or the reason to drop the page.

        - declared: the charset that is stated for the page.
        """
        try:
            found = page_of(data, declared, is_html=True)
            text = extract(found.text, self)
        except Refused as e:
            return Section(data, {}, e.reason)
        title = TITLE.search(found.text, 0, TITLE_IN)
        meta: dict[str, Any] = {"title": " ".join(unescape(title[1]).split())} if title else {}
        meta |= {"encoding": found.charset} if found.charset != "utf-8" else {}
        return Section(text, meta | ({"unreadable": found.n_lost} if found.n_lost else {}))
