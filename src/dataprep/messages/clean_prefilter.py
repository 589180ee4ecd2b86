"""Prefilter of CleanMessages: find the messages that a rule may change, in one pass over their characters.

It flags every message that a rule changes, and some that no rule changes.

Slow reference for the tests: tests/twins/clean.py, which applies all rules to every message
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import ALPHA, I64, SPACE, U8, U16, Int, code_point

LINK, AT, REPEAT, LAUGH, EMOJI, MARK, BLANK = 1, 2, 4, 8, 16, 32, 64
ONE_LETTER, TWO_LETTERS = 4, 5  # letters of the shortest laughter that is shortened: hhhh, hahah
FIVE = 0x35  # 55555 is laughter in Thai


@kernel(inline="always")
def is_mark(c: Int) -> bool:
    """Return True if the character `c` is a control character, a direction mark or a byte order mark."""
    if c < 0x20:
        return bool(c not in (9, 10, 13))
    if 0x200E <= c <= 0x2069:
        return bool(c <= 0x200F or 0x202A <= c <= 0x202E or c >= 0x2066)
    return bool(c in (0x7F, 0x61C, 0xFEFF))


@kernel(inline="always")
def is_lengthened(c: Int, run: Int, before: Int) -> bool:
    """Return True if a repeated letter may belong to a lengthened mdr, ptdr, xd, lol or lmao, such as mdrr or lolll.

    c: the letter in lower case. run: how often it occurs in succession. before: the character before the run.
    """
    if run < 2:
        return False
    if c == 0x72:
        return bool(before == 0x64)
    if c == 0x6F:
        return bool(before in (0x6C, 0x61))
    return bool((c == 0x64 and before == 0x78) or (c == 0x6C and before == 0x6F))


@kernel(inline="always")
def _ascii_flags(data: U8, i: Int, start: Int, stop: Int, c: Int) -> int:
    """Return the flags of the ASCII character `c` at `i` of the text [start, stop)."""
    if c == 64:
        return AT
    if c == 46:
        inside = i > start and data[i - 1] > 32 and i + 1 < stop
        return LINK if inside and (data[i + 1] > 64 or data[i - 1] | 32 == 119) else 0  # x.org, www.3
    if c == 58:
        return LINK if i + 2 < stop and data[i + 1] == 47 and data[i + 2] == 47 else 0
    return MARK if (c < 32 and is_mark(c)) or c == 0x7F else 0


@kernel(inline="always")
def _wide_flags(c: Int) -> int:
    """Return the flags of a character above U+007F."""
    if c in (0xFE0F, 0x20E3) or 0x231A <= c < 0x2C00 or c >= 0x1F000:
        return EMOJI
    return MARK if is_mark(c) else 0


@kernel
def rules_needed(offsets: I64, data: U8, table: U16, max_repeat: int) -> U16:
    """Return which rules of CleanMessages may change each text, uint16[n]: the flags LINK ... BLANK of this module.

    offsets, data: n texts in UTF-8. table: uint16, the class of each code point (`classes()`). max_repeat: longest run
    of a character that is kept; 0: no limit.
    """
    n = len(offsets) - 1
    out = np.zeros(n, np.uint16)
    for d in range(n):
        i, start, stop, flags = offsets[d], offsets[d], offsets[d + 1], 0
        blank: Int = True
        last, run, before = np.int64(-1), 0, np.int64(-1)  # the last character, its run, the one before the run
        one, two = np.int64(-1), np.int64(-1)  # the two letters of a word
        letters: Int = 0  # of the word; negative: it has more than two different ones
        while i < stop:
            c, size = np.int64(data[i]), 1
            if c >= 0x80:
                c, size = code_point(data, i)
                bits = table[c]
                alpha = bits & ALPHA != 0 or c == 0x640  # written laughter may have a tatweel
                blank = blank and bits & SPACE != 0
                flags |= _wide_flags(c)
            else:
                c += 32 if 65 <= c <= 90 else 0
                alpha = 97 <= c <= 122
                if alpha:
                    blank = False
                elif c != 32:
                    blank = blank and (9 <= c <= 13 or 28 <= c <= 31)
                    flags |= _ascii_flags(data, i, start, stop, c)
            if c != last:
                before, last, run = last, c, 1
            else:
                run += 1
                if max_repeat and run > max_repeat:
                    flags |= REPEAT
                if alpha and is_lengthened(c, run, before):
                    flags |= LAUGH
            if alpha:
                if letters >= 0:
                    if 0x410 <= c <= 0x42F:
                        c += 32
                    letters += 1
                    if letters == 1:
                        one, two = c, c
                    elif c not in (one, two):
                        two = c if one == two else two
                        letters = letters if c == two else np.int64(-1)
                    if letters >= (ONE_LETTER if one == two else TWO_LETTERS):
                        flags |= LAUGH
            else:
                letters = 0
                if c == FIVE and run > 3:
                    flags |= LAUGH
            i += size
        out[d] = flags | BLANK if blank else flags
    return out
