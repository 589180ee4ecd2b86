"""Reader of mail: a message is a document, in an .eml file or in an mbox of many.

The text is the plain text of the message or, if there is none, the text of its HTML (extra `warc`). Attachments are
left out. The position of a document is the byte offset of the message. An mbox is streamed: a message begins at a line
"From ..." that follows a blank line. Messages are dropped as `no_text`, `too_long`, `binary`, or `charset` if their
bytes are not text in any charset.

The charset of a text, and of headers that are not ASCII, is decided as for files and pages: the stated charset is used
if the bytes agree with it.
"""

from __future__ import annotations

import email
import email.base64mime
import email.policy
import email.quoprimime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any, ClassVar

import orjson

from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.store import files
from dataprep.unicode.valid import is_utf8

from .charsets.decide import characters
from .text import Record, blocks, documents
from .trust import LimitedReader, Trust
from .web.page import page_of
from .web.response import Refused

BEGINS = b"From "
ENCODED = re.compile(r"=\?([^?\s*]{1,40})(?:\*[^?\s]*)?\?([bBqQ])\?([^?\s]*)\?=")  # a word of a header (RFC 2047)
_WRONG = re.compile("[\x80-\x9f\ud800-\udfff\ufffd]")
BETWEEN = re.compile(r"(?<=\?=)\s+(?==\?)")
HEADERS = ("From", "To", "Cc", "Subject", "Date", "Message-ID", "In-Reply-To", "List-Id")
HTML = "text/html"


@dataclass(frozen=True, kw_only=True)
class Mail(LimitedReader):
    """Reads mail: one document per message; `meta` has the sender, recipients, subject, date and message ids.

    Attributes:
        max_doc_bytes: longer messages, with their attachments, are dropped.
    """

    VERSION: ClassVar[int] = 2

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
            try:
                text, meta, reason = _parsed(data)
            except PlanError as e:
                msg = f"a message has only HTML, or is not UTF-8 and states no charset: {e}"
                raise ReadError(msg, piece.url, position) from e
            if reason or not text.strip():
                stats.drop([doc_id(piece.file, position)], [reason or "no_text"], n_bytes=[n_bytes])
                continue
            stats.count("unreadable_characters", meta.get("unreadable", 0))
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


def _parsed(data: bytes) -> tuple[bytes, dict[str, Any], str]:
    """Return (text of a message in UTF-8, b"" if none; its headers; the reason to drop the message, or "")."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    try:
        part = message.get_body(("plain", "html"))
    except (AttributeError, KeyError, TypeError, ValueError):  # of messages that no standard allows
        part = None
    charset = (part.get_content_charset() if part is not None else "") or ""
    meta: dict[str, Any] = {}
    for name in HEADERS:
        value = _header(message, name, charset)
        if value:
            meta[name.lower().replace("-", "_")] = value
    if part is None:
        return b"", meta, ""
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    if part.get_content_type() == HTML:
        from .html import Html

        page = Html(extract="resiliparse").page(raw, charset)
        return page.text, meta, page.reason
    try:
        found = page_of(raw, charset, is_html=False)
    except Refused as e:
        return b"", meta, e.reason
    meta |= {"unreadable": found.n_lost} if found.n_lost else {}
    return found.text.replace("\r\n", "\n").encode("utf-8", "replace"), meta, ""


def _header(message: EmailMessage, name: str, charset: str) -> str:
    """Return a header as text; "" if there is none, or if it cannot be parsed.

    - charset: the charset of the text; old programs write headers in it without stating it.
    """
    try:
        text = str(message.get(name, ""))
        if (not text.isascii() and _is_wrong(text)) or "\x1b" in text:
            raw = next(value for key, value in message.raw_items() if key.lower() == name.lower())
            text = _readable(str(raw), charset)
        return " ".join(text.split()).encode("utf-8", "replace").decode()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # of a date, too
        return ""


def _is_wrong(text: str) -> bool:
    """Return whether a header has bytes that are not decoded, or characters of a wrong charset."""
    if _WRONG.search(text):
        return True
    try:
        return is_utf8(text.encode("latin-1"))
    except UnicodeEncodeError:
        return False


def _readable(raw: str, charset: str) -> str:
    """Return a header with its encoded words and its bytes decoded.

    - charset: the charset of the bytes, if it is known.
    """
    found = characters(raw.encode("utf-8", "surrogateescape"), charset, is_html=False)
    text = BETWEEN.sub("", raw if found is None else found.text)
    return ENCODED.sub(_word, " ".join(text.splitlines()))


def _word(word: re.Match[str]) -> str:
    """Return the text of an encoded word of a header; the word itself if no charset decodes it."""
    is_base64 = word[2] in "bB"
    data = email.base64mime.decode(word[3]) if is_base64 else email.quoprimime.header_decode(word[3]).encode("latin-1")
    found = characters(data, word[1], is_html=False)
    return word[0] if found is None else found.text
