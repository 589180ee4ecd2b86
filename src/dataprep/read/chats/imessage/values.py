"""Decode values of Apple's message database: times, texts in archived strings (typedstream), and edits."""

from __future__ import annotations

import contextlib
import plistlib
import struct
from typing import Any

from dataprep.read.chats.messages import utc_text

EPOCH = 978_307_200  # 2001-01-01 in seconds since 1970
NANOSECONDS = 10**11  # times from here on are in nanoseconds: in seconds, they would be after the year 5000
CLASS, STRING = b"NSString", b"\x01+"  # of a typedstream: the class of a text, and the type of its bytes
NEAR = 16  # bytes between both, at most
LENGTHS = {0x81: "<H", 0x82: "<I"}  # a length of two or four bytes follows; smaller lengths are one byte


def time_of(value: Any) -> str | None:
    """Return `value`, seconds or nanoseconds since 2001, as ISO 8601 in UTC; None if it is not a time."""
    if not isinstance(value, int) or not value:
        return None
    return utc_text((value // 10**9 if abs(value) >= NANOSECONDS else value) + EPOCH)


def text_of(archived: bytes) -> str | None:
    """Return the text of an archived NSAttributedString (the column attributedBody); None if it cannot be decoded."""
    at = archived.find(CLASS)
    at = archived.find(STRING, at + len(CLASS), at + len(CLASS) + NEAR) if at >= 0 else -1
    if at < 0:
        return None
    at += len(STRING)
    try:
        length = archived[at]
        at += 1
        if length in LENGTHS:
            (length,) = struct.unpack_from(LENGTHS[length], archived, at)
            at += 2 if archived[at - 1] == 0x81 else 4
        elif length >= 0x80:
            return None
        data = archived[at : at + length]
        return data.decode() if len(data) == length else None
    except (IndexError, struct.error, UnicodeDecodeError):
        return None


def edits_of(summary: bytes) -> list[str] | None:
    """Return all versions of the text of a message, oldest first, from the `message_summary_info` column.

    Returns [] if the message was unsent, and None if the column states no edits or cannot be decoded.
    """
    found: Any = None
    with contextlib.suppress(plistlib.InvalidFileException, ValueError, OverflowError, RecursionError, TypeError):
        found = plistlib.loads(summary, fmt=plistlib.FMT_BINARY)
    if not isinstance(found, dict) or not ({"ec", "rp"} & found.keys()):
        return None
    parts = found.get("ec")
    texts: list[str] = []
    for events in parts.values() if isinstance(parts, dict) else ():
        archived = [e.get("t") for e in events if isinstance(e, dict)] if isinstance(events, list) else []
        texts += [text for one in archived if isinstance(one, bytes) and (text := text_of(one)) is not None]
    return texts
