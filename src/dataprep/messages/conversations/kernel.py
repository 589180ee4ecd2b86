"""Which talk each message belongs to, in one pass over messages of chats that may be interleaved."""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64

NEVER = -(1 << 63)  # the time of a message without one
NOTHING = (1 << 64) - 1  # what a message answers that answers none


@kernel
def talks_of(
    codes: I64, ids: U64, times: I64, sizes: I64, answered: U64,
    number: I64, first: U64, begin: I64, last: I64, limits: I64,
) -> I64:  # fmt: skip
    """The number of each message's talk, int64[n].

    codes: the chat of each message, an index into the state of chats, which is brought up to date: the `number` of the
    chat's talk (-1: none yet), the id of its `first` message, the bytes read before that (`begin`), and the time of its
    `last`. limits: gap, reply gap, bytes, the number of the talk that begins next, bytes read before.
    """
    gap, reply_gap, most, following, read = limits
    out = np.empty(len(codes), np.int64)
    for r in range(len(codes)):
        c = codes[r]
        joins = number[c] >= 0 and times[r] != NEVER and last[c] != NEVER
        joins = joins and read + sizes[r] - begin[c] <= most
        if joins:
            apart = abs(times[r] - last[c])  # phones' clocks are set back, too
            joins = apart < gap or (apart < reply_gap and first[c] <= answered[r] < ids[r])
        if not joins:
            number[c], first[c], begin[c] = following, ids[r], read
            following += 1
        last[c] = times[r]
        read += sizes[r]
        out[r] = number[c]
    return out
