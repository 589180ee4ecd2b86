"""Reader of the dumps of Stack Exchange, Posts.xml and Comments.xml: a row is a document.

The text of a post is the title (of a question) and the text of its HTML (extra `warc`); a comment is plain text. Other
attributes are in `meta`. The position of a document is the byte offset of its row in the decompressed file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar
from xml.parsers import expat

import orjson

from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError

from .html import Html
from .text import Record, documents
from .xml_events import parsed

ROOT = re.compile(rb"\s*(<\?xml[^>]*\?>\s*)?<(posts|comments)>\s*<row ")


def is_stackexchange(head: bytes, url: str) -> bool:  # noqa: ARG001 - a sniffer
    """Return whether `head`, a file's first bytes, is the beginning of posts or comments of Stack Exchange."""
    return bool(ROOT.match(head))


@dataclass(frozen=True, kw_only=True)
class StackExchange(Html):
    """Reads posts and comments of Stack Exchange: one document per row; the options are those of HTML.

    Rows without text are dropped as `no_text`.
    """

    VERSION: ClassVar[int] = 1
    main_content: bool = False

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the rows of a dump as batches."""
        yield from documents(self._rows(piece, stats), piece, stats, None)

    def _rows(self, piece: Slice, stats: Ledger) -> Iterator[Record]:
        found: list[tuple[int, dict[str, str]]] = []

        def connect(parser: expat.XMLParserType) -> None:
            def start(name: str, row: dict[str, str]) -> None:
                if name == "row":
                    found.append((parser.CurrentByteIndex, row))

            parser.StartElementHandler = start

        n = 0
        with piece.open() as stream:
            for _ in parsed(stream, piece.url, self.max_doc_bytes, connect):
                for position, row in found:
                    n += 1
                    text, reason = self._text(row)
                    size = len(text)
                    if reason or not text.strip():
                        stats.drop([doc_id(piece.file, position)], [reason or "no_text"], n_bytes=[size])
                        continue
                    yield Record(position, text, size, orjson.dumps(row).decode())
                found.clear()
        if not n:
            msg = "the dump has no rows; use Posts.xml or Comments.xml of a Stack Exchange dump"
            raise ReadError(msg, piece.url, reason="empty")

    def _text(self, row: dict[str, str]) -> tuple[bytes, str]:
        """Remove the attributes with text from a row; return the text, and the reason to drop the row or ""."""
        if "Text" in row:
            return row.pop("Text").encode(), ""
        body = self.page(row.pop("Body", "").encode())
        title = row.get("Title", "")
        if body.reason or not title:
            return body.text, body.reason
        return title.encode() + b"\n\n" + body.text, ""
