"""Which messages a cleaning rule can change at all: one look at each character, so that few are looked at closely.

It may name a message too many, never one too few (tested against the rules on every message).
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import ALPHA, I64, SPACE, U8, U16, Int, code_point

LINK, AT, REPEAT, LAUGH, EMOJI, MARK, BLANK = 1, 2, 4, 8, 16, 32, 64
ONE_LETTER, TWO_LETTERS = 4, 5  # letters of the shortest laughter that is written anew: hhhh, hahah
FIVE = 0x35  # 55555 is laughter in Thai


@kernel(inline="always")
def is_mark(c: Int) -> bool:
    """Whether a character is a control character, a direction mark or a byte order mark."""
    if c < 0x20:
        return bool(c not in (9, 10, 13))
    if 0x200E <= c <= 0x2069:
        return bool(c <= 0x200F or 0x202A <= c <= 0x202E or c >= 0x2066)
    return bool(c in (0x7F, 0x61C, 0xFEFF))


@kernel(inline="always")
def is_lengthened(c: Int, run: Int, before: Int) -> bool:
    """Whether a letter that stands twice may belong to mdrr, ptdrr, xdd, lool, lmaoo, lolll; small letters."""
    if run < 2:
        return False
    if c == 0x72:
        return bool(before == 0x64)
    if c == 0x6F:
        return bool(before in (0x6C, 0x61))
    return bool((c == 0x64 and before == 0x78) or (c == 0x6C and before == 0x6F))


@kernel
def suspects(offsets: I64, data: U8, table: U16, max_repeat: int) -> U16:
    """What each text can hold, uint16[n]: bits LINK ... BLANK. `table` is `classes()`; max_repeat 0: no REPEAT."""
    n = len(offsets) - 1
    out = np.zeros(n, np.uint16)
    for d in range(n):
        i, stop, can = offsets[d], offsets[d + 1], 0
        blank: Int = True
        last, run, before = np.int64(-1), 0, np.int64(-1)  # the character before, how often it stands, the one before
        one, two = np.int64(-1), np.int64(-1)  # the two letters of a word
        letters: Int = 0  # of it; negative: it has other letters, too
        while i < stop:
            c, size = np.int64(data[i]), 1
            if c >= 0x80:
                c, size = code_point(data, i)
                bits = table[c]
                alpha = bits & ALPHA != 0 or c == 0x640  # tatweel stands in written laughter
                blank = blank and bits & SPACE != 0
                if c in (0xFE0F, 0x20E3) or 0x231A <= c < 0x2C00 or c >= 0x1F000:
                    can |= EMOJI
                elif is_mark(c):
                    can |= MARK
            else:
                if 65 <= c <= 90:
                    c += 32
                alpha = 97 <= c <= 122
                blank = blank and (c == 32 or 9 <= c <= 13 or 28 <= c <= 31)
                if c == 64:
                    can |= AT
                elif c == 46:
                    if i > offsets[d] and data[i - 1] > 32 and i + 1 < stop:
                        can |= LINK if data[i + 1] > 64 or data[i - 1] | 32 == 119 else 0  # x.org, www.3
                elif c == 58:
                    if i + 2 < stop and data[i + 1] == 47 and data[i + 2] == 47:
                        can |= LINK
                elif (c < 32 and is_mark(c)) or c == 0x7F:
                    can |= MARK
            if c == last:
                run += 1
            else:
                before, last, run = last, c, 1
            if max_repeat and run > max_repeat:
                can |= REPEAT
            if alpha:
                if is_lengthened(c, run, before):
                    can |= LAUGH
                if 0x410 <= c <= 0x42F:
                    c += 32
                if letters >= 0:
                    letters += 1
                    if letters == 1:
                        one, two = c, c
                    elif c not in (one, two):
                        two = c if one == two else two
                        letters = letters if c == two else np.int64(-1)
                    if letters >= (ONE_LETTER if one == two else TWO_LETTERS):
                        can |= LAUGH
            else:
                letters = 0
                if c == FIVE and run > 3:
                    can |= LAUGH
            i += size
        out[d] = can | BLANK if blank else can
    return out
