"""Assign each message to a conversation, in one pass over messages of chats that may be interleaved.

Twin: tests/twins/conversations.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64

NEVER = -(1 << 63)  # the time of a message without one
NOTHING = (1 << 64) - 1  # the id answered by a message that answers none


class Messages(NamedTuple):
    """Columns of n messages: chats are indices into the rows of OpenChats, times are seconds or NEVER."""

    chats: I64
    ids: U64
    times: I64
    sizes: I64  # bytes
    answered: U64  # the id of the message that this one answers, or NOTHING


class OpenChats(NamedTuple):
    """The open conversation of each chat; `conversations_of` updates it in place."""

    number: I64  # -1: none yet
    first: U64  # id of its first message
    begin: I64  # bytes read before its first message
    last: I64  # time of its last message


class Limits(NamedTuple):
    """Limits of a conversation in seconds and bytes; the number of the next one, and the bytes read before."""

    gap: int
    reply_gap: int
    max_bytes: int
    next_number: int
    bytes_read: int


@kernel
def conversations_of(messages: Messages, chats: OpenChats, limits: Limits) -> I64:
    """Update `chats`; return the number of each message's conversation, int64[n]."""
    following, read = limits.next_number, limits.bytes_read
    number, first, begin, last = chats
    out = np.empty(len(messages.chats), np.int64)
    for r in range(len(messages.chats)):
        c, time, size = messages.chats[r], messages.times[r], messages.sizes[r]
        joins = number[c] >= 0 and time != NEVER and last[c] != NEVER
        joins = joins and read + size - begin[c] <= limits.max_bytes
        if joins:
            apart = abs(time - last[c])  # a phone's clock may be set back
            answers = first[c] <= messages.answered[r] < messages.ids[r]
            joins = apart < limits.gap or (apart < limits.reply_gap and answers)
        if not joins:
            number[c], first[c], begin[c] = following, messages.ids[r], read
            following += 1
        last[c] = time
        read += size
        out[r] = number[c]
    return out
