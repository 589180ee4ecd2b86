"""Reader of mail: a message is a document, in an .eml file or in an mbox of many.

The text is the plain text of the message or, if it has none, that of its HTML (extra `warc`). Attachments are left
out. The position of a document is the byte offset of the message. An mbox is streamed: a message begins at a line
"From ..." that follows a blank line. Messages are dropped as `no_text`, or as `too_long`.
"""

from __future__ import annotations

import contextlib
import email
import email.policy
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any, ClassVar

import orjson

from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.store import files

from .text import Record, blocks, documents
from .trust import LimitedReader, Trust

BEGINS = b"From "
HEADERS = ("From", "To", "Cc", "Subject", "Date", "Message-ID", "In-Reply-To", "List-Id")
HTML = "text/html"


@dataclass(frozen=True, kw_only=True)
class Mail(LimitedReader):
    """Reads mail: one document per message; `meta` has the sender, recipients, subject, date and message ids.

    max_doc_bytes: longer messages, with their attachments, are dropped.
    """

    VERSION: ClassVar[int] = 1

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of a file as batches."""
        trust = Trust(piece.url, self.max_bad, remedy="it must be mail as programs export it (.eml, .mbox)")
        yield from documents(self._records(piece, stats), piece, stats, trust)

    def _records(self, piece: Slice, stats: Ledger) -> Iterator[Record]:
        is_one = files.suffix(piece.url) == ".eml"
        for position, data, n_bytes in self._messages(piece, is_one=is_one):
            if data is None:
                yield Record(position, None, n_bytes)
                continue
            text, meta = _parsed(data)
            if not text.strip():
                stats.drop([doc_id(piece.file, position)], ["no_text"], n_bytes=[n_bytes])
                continue
            yield Record(position, text, n_bytes, orjson.dumps(meta).decode())

    def _messages(self, piece: Slice, *, is_one: bool) -> Iterator[tuple[int, bytes | None, int]]:
        """Yield (offset, message, size in bytes) of each message; None in place of one that is too long."""
        held: list[bytes] = []
        start = size = 0
        blank, begun = True, is_one
        with piece.open() as stream:
            for block in blocks(stream, 0, None, self.max_doc_bytes):
                if block.too_long is not None:
                    size, held, blank = size + block.too_long + 1, [], False
                    continue
                at = block.start
                for line in block.data[: block.stop].tobytes().split(b"\n")[:-1]:
                    if not is_one and blank and line.startswith(BEGINS):
                        if begun:
                            yield start, b"".join(held) if size <= self.max_doc_bytes else None, size
                        held, start, size, begun = [], at, 0, True
                    elif not begun and line.strip():
                        msg = 'it does not begin with a line "From ...", as an mbox does; name its format with format='
                        raise ReadError(msg, piece.url, at)
                    else:
                        held += [_unquoted(line, is_one=is_one)] if size <= self.max_doc_bytes else []
                    size += len(line) + 1
                    at += len(line) + 1
                    blank = not line.strip(b"\r")
        if begun and size:
            yield start, b"".join(held) if size <= self.max_doc_bytes else None, size


def _unquoted(line: bytes, *, is_one: bool) -> bytes:
    """Return a line of a message with its line end; in an mbox, without the mark before "From "."""
    quoted = not is_one and line.startswith(b">") and line.lstrip(b">").startswith(BEGINS)
    return (line[1:] if quoted else line) + b"\n"


def _parsed(data: bytes) -> tuple[bytes, dict[str, Any]]:
    """Return the text of a message in UTF-8, b"" if it has none, and its headers."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    meta = {}
    for name in HEADERS:
        value = _header(message, name)
        if value:
            meta[name.lower().replace("-", "_")] = value
    try:
        part = message.get_body(("plain", "html"))
    except (AttributeError, KeyError, TypeError, ValueError):  # of messages that no standard allows
        part = None
    if part is None:
        return b"", meta
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset() or ""
    if part.get_content_type() == HTML:
        from .html import Html

        page = Html().page(raw, charset)
        return b"" if page.reason else page.text, meta
    return _decoded(raw, charset), meta


def _header(message: EmailMessage, name: str) -> str:
    """Return a header as text; "" if there is none, or if it cannot be parsed."""
    try:
        return " ".join(str(message.get(name, "")).split()).encode("utf-8", "replace").decode()
    except (AttributeError, IndexError, LookupError, TypeError, ValueError):
        return ""


def _decoded(raw: bytes, charset: str) -> bytes:
    """Return plain text in UTF-8, with line feeds; of an unknown or wrong charset, as Windows-1252."""
    for name in (charset, "utf-8", "cp1252"):
        with contextlib.suppress(LookupError, ValueError):
            return raw.decode(name).replace("\r\n", "\n").encode("utf-8", "replace")
    return raw.decode("utf-8", "replace").replace("\r\n", "\n").encode()
