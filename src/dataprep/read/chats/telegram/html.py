"""Reader of Telegram Desktop's pages (`messages.html`, `messages2.html` ...), with the columns of its JSON.

One program writes all pages in one form, with angle brackets in texts escaped, so messages are split at their opening
tags and parsed with regular expressions. A message of the class `joined` has the same author as the message before.
Lines of the platform have no time; they get the time of the message before, or the date in the line above them. Lines
that state a date are counted, but are not messages. A page has about 1,000 messages and is read whole; the position is
the byte offset.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.chats.json_export import Bad, Known, MessageRow, batch_of, number, refuse
from dataprep.read.chats.messages import ChatReader, kind_of_file
from dataprep.read.trust import Trust
from dataprep.store import files
from dataprep.unicode.valid import is_utf8

OPENS = re.compile(rb'<div class="message (service|default clearfix(?: joined)?)" id="message(-?\d+)">')
PAGE = re.compile(rb'<div class="(history|page_body chat_page)">')
CHAT = re.compile(r'<div class="page_header">.*?<div class="text bold">\s*(.*?)\s*</div>', re.DOTALL)
DATE = re.compile(r'class="pull_right date details" title="(\d\d)\.(\d\d)\.(\d{4}) (\d\d:\d\d:\d\d)')
FROM = re.compile(r'<div class="from_name">\s*(.*?)\s*</div>', re.DOTALL)
FORWARDED = re.compile(r'<div class="forwarded body">\s*<div class="from_name">\s*(.*?)\s*(?:<span|</div>)', re.DOTALL)
TEXT = re.compile(r'<div class="text">\s*(.*?)\s*</div>', re.DOTALL)
SERVICE = re.compile(r'<div class="body details">\s*(.*?)\s*</div>', re.DOTALL)
REPLY = re.compile(r'<div class="reply_to details">[^<]*<a href="#go_to_message(\d+)"')
WRAPPED = re.compile(r'<a class="(photo|video_file|animated|sticker)_wrap[^"]*"(?: href="([^"]*)")?')
MEDIA = re.compile(r'<(?:div|a) class="media clearfix pull_left(?: block_link)? media_(\w+)"(?: href="([^"]*)")?')
TITLE_LINES = re.compile(r'<div class="(?:title bold|status details)">\s*(.*?)\s*</div>', re.DOTALL)
POLL = re.compile(r'<div class="(?:question bold|answer)">\s*(?:- )?(.*?)\s*(?:<span|</div>)', re.DOTALL)
REACTION = re.compile(r'<span class="emoji">\s*(.*?)\s*</span>(?:.{0,40}?<span class="count">\s*(\d+))?', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
BREAK = re.compile(r"<br\s*/?>")
WRAPS = {"photo": "image", "video_file": "video", "animated": "gif", "sticker": "sticker"}
KINDS = {
    "photo": "image", "video": "video", "voice_message": "audio", "audio_file": "audio", "contact": "contact",
    "location": "location", "live_location": "location", "venue": "location", "call": "call",
}  # fmt: skip
TITLES = {"Sticker": "sticker", "Animation": "gif", "Video message": "video"}
DAY = "%d %B %Y"


@dataclass
class Page:
    """The state of reading an HTML page of messages.

    Attributes:
        author: the author of the last message read.
        time: the time of the last message read.
        days: the number of lines so far that state only a date.
        known: messages to which later messages may reply.
    """

    author: str | None = None
    time: str | None = None
    days: int = 0
    known: Known = field(default_factory=Known)


def html_messages(reader: ChatReader, piece: Slice, stats: Ledger) -> Iterator[Batch]:
    """Yield the messages of one HTML page as batches, one row per message; record dropped ones in `stats`.

    - reader: states the limits for bad messages.
    - piece: the file.

    Raises ReadError if the page is not Telegram's, or is truncated.
    """
    with files.open_read(piece.url) as stream:
        data = stream.read()
    found = list(OPENS.finditer(data))
    _check(data, found, piece.url)
    name = CHAT.search(data[: found[0].start()].decode("utf-8", "replace"))
    page, rows, good, answered, numbers = Page(), [], [], [], []
    bad: list[Bad] = []
    ends = [m.start() for m in found[1:]] + [len(data)]
    for m, end in zip(found, ends, strict=True):
        raw = data[m.end() : end]
        why = "too_long" if len(raw) > reader.max_doc_bytes else "" if is_utf8(raw) else "invalid_utf8"
        if why:
            bad.append(Bad(m.start(), len(raw), why, repr(raw[:60])))
            continue
        row, reply = _row(m[1].decode(), m[2].decode(), raw.decode(), page)
        if row is not None:
            rows.append(row)
            good.append(m.start())
            numbers.append(number(m[2].decode()))
            answered.append(reply)
            if row.kind == "text" and not row.text:
                stats.count("empty_text")
    trust = Trust(piece.url, reader.max_bad, remedy="name another reader with format=")
    refuse(bad, piece, stats, trust, good)
    stats.count("date_lines", page.days)
    trust.close()
    if rows:
        page.known.add(numbers, np.array(good))
        yield batch_of(rows, plain(name[1]) if name else "", good, piece, page.known.find(answered, piece.file))


def _check(data: bytes, found: list[Any], url: str) -> None:
    if not found or not PAGE.search(data):
        empty = b'class="history"' in data
        msg = "the chat has no messages; remove the file" if empty else (
            "the page has no messages of Telegram Desktop; pass messages.html, or name another reader with format="
        )  # fmt: skip
        raise ReadError(msg, url, 0, reason="empty" if empty else "unreadable")
    if not data.rstrip().endswith(b"</html>"):
        msg = "the page ends early, without </html>; export the chat again, or copy the file again"
        raise ReadError(msg, url, len(data))


def plain(markup: str) -> str:
    """Return the text of HTML markup: without tags, and with its line breaks."""
    return html.unescape(TAG.sub("", BREAK.sub("\n", markup))).strip()


def _row(sort: str, at: str, block: str, page: Page) -> tuple[MessageRow | None, int | None]:
    """Return a message and the number of the message it answers; None for a line that states a date."""
    if sort == "service":
        said = _first(SERVICE, block)
        if at.startswith("-"):  # a line that states a date
            page.days += 1
            page.time = _day(said) or page.time
            return None, None
        return MessageRow(said, None, page.time, "system"), None
    date = DATE.search(block)
    time = f"{date[3]}-{date[2]}-{date[1]}T{date[4]}" if date else None
    page.time = time or page.time
    body, forward, rest = block.partition('<div class="forwarded body">')
    if "joined" not in sort:
        page.author = _first(FROM, body) or None
    kind, content, meta = _content(block)
    if forward:
        meta["forwarded"] = plain((FORWARDED.search(forward + rest) or ["", ""])[1]) or True
    counts = {plain(m[1]): number(m[2]) or 1 for m in REACTION.finditer(block)}
    if counts:
        meta["reactions"] = counts
    reply = REPLY.search(body)
    text = "\n".join(filter(None, [content, _first(TEXT, block)]))
    return MessageRow(text, page.author, time, kind, meta), number(reply[1]) if reply else None


def _first(pattern: re.Pattern[str], block: str) -> str:
    found = pattern.search(block)
    return plain(found[1]) if found else ""


def _day(said: str) -> str | None:
    try:
        return datetime.strptime(said, DAY).isoformat()  # noqa: DTZ007 - a clock without a zone
    except ValueError:
        return None


def _content(block: str) -> tuple[str, str, dict[str, Any]]:
    """Return the kind, the text of other fields, and meta with the file's name."""
    wrapped, media = WRAPPED.search(block), MEDIA.search(block)
    if wrapped:
        return WRAPS[wrapped[1]], "", _file(wrapped[2])
    if '<div class="media_poll">' in block:
        return "poll", "\n".join(plain(m[1]) for m in POLL.finditer(block)), {}
    if media is None:
        return "text", "", {}
    titles = [plain(m[1]) for m in TITLE_LINES.finditer(block)]
    title = titles[0] if titles else ""
    kind = TITLES.get(title) or KINDS.get(media[1]) or kind_of_file(media[2] or title)
    if kind in {"contact", "location", "call"}:
        return kind, "\n".join(filter(None, titles)), {}
    return kind, "", _file(media[2])


def _file(name: str | None) -> dict[str, Any]:
    """Return meta with the file's name, which is None if the export left the file out and the text is its caption."""
    return {"file": html.unescape(name) if name else None}
