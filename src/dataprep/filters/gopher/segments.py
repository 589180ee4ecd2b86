"""The words of n-grams in DCLM's code: segments of UAX #29 that begin with a letter or digit.

The rules are those of the standard, without the changes of `unicode/words.py`: a run of Katakana is one word, format
characters belong to the preceding character, and `__init__` begins with an underscore.

Slow reference for the tests: tests/twins/words.py
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dataprep.filters.repeats import STEP
from dataprep.unicode import tables
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, WORD, Int, classes, code_point
from dataprep.unicode.words import (
    DIGIT,
    EXTEND,
    HEBREW,
    JOINER,
    KINDS,
    LETTER,
    MID_BOTH,
    MID_HEBREW,
    MID_LETTER,
    MID_NUMBER,
    OTHER,
)

KATAKANA, QUOTE, BREAK = 11, 12, 13
CLASS, ALNUM, PICTURE = 15, 16, 32  # of an entry of the table: the class, a letter or digit, Extended_Pictographic
KATAKANA_SPANS = (
    "3031-3035 309B-309C 30A0-30FA 30FC-30FF 31F0-31FF 32D0-32FE 3300-3357 FF66-FF9D 1AFF0-1AFF3 1AFF5-1AFFB "
    "1AFFD-1AFFE 1B000 1B120-1B122 1B155 1B164-1B167"
)
PICTURES = (
    "A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 2388 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 "
    "25C0 25FB-25FE 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 "
    "274C 274E 2753-2755 2757 2763-2767 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D "
    "3297 3299 1F000-1F0FF 1F10D-1F10F 1F12F 1F16C-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F1AD-1F1E5 1F201-1F20F 1F21A "
    "1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F3FA 1F400-1F53D 1F546-1F64F 1F680-1F6FF 1F774-1F77F 1F7D5-1F7FF "
    "1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8FF 1F90C-1F93A 1F93C-1F945 1F947-1FAFF 1FC00-1FFFD"
)


@cache
def segment_table() -> U8:
    """Return the class of each code point, uint8[0x110000], with ALNUM for `str.isalnum`, and PICTURE."""
    table = np.zeros(0x110000, np.uint8)
    for name, points in tables.tokens(tables.WORD_BREAK):
        table[points] = KINDS[name]
    table[tables.points(KATAKANA_SPANS)] = KATAKANA
    table[ord('"')], table[ord("'")] = MID_HEBREW, QUOTE
    table[[*range(0x0A, 0x0E), 0x85, 0x2028, 0x2029]] = BREAK
    table[classes() & WORD != 0] |= ALNUM
    table[ord("_")] &= CLASS
    table[tables.points(PICTURES)] |= PICTURE
    table.flags.writeable = False
    return table


@kernel(_nrt=False)
def hash_segments(data: U8, a: int, b: int, table: U8, hashes: U64, chars: I64) -> int:
    """Write the hash of each word of data[a:b] to `hashes`, and the number of characters up to its end to `chars`.

    - table: the result of `segment_table`.

    Returns the number of words; `chars[k + 1]` belongs to word k.
    """
    n, total, i, h, counted, fresh = 0, 0, a, np.uint64(0), False, True
    before: Int = OTHER
    last: Int = OTHER
    point: Int = np.int64(0)
    while i < b:
        zwj, (point, size) = point == 0x200D, code_point(data, i)
        kind, joined = np.int64(table[point]) & CLASS, False
        if kind == BREAK:
            before, last = OTHER, OTHER
        elif kind == EXTEND and not fresh:
            joined = True
        else:
            joined = not fresh and _joined(before, last, kind, data, i + size, b, table)
            joined = joined or (zwj and table[point] & PICTURE != 0)
            before, last = last, OTHER if kind == EXTEND else kind
        fresh = kind == BREAK
        if not joined:
            if counted:
                hashes[n], chars[n + 1], n = mix64(h), total, n + 1
            h, counted = np.uint64(0), table[point] & ALNUM != 0
        if counted:
            h, total = (h ^ np.uint64(point + 1)) * STEP, total + 1
        i += size
    if counted:
        hashes[n], chars[n + 1], n = mix64(h), total, n + 1
    return n


@kernel(_nrt=False)
def _joined(before: Int, last: Int, kind: Int, data: U8, i: int, b: int, table: U8) -> bool:
    """Return whether no word ends before a character of class `kind`; data[i:b] is the text after it.

    - last, before: the classes of the previous character and of the one before it, both ignoring characters of the
      class EXTEND.
    """
    letter, now = last in (LETTER, HEBREW), kind in (LETTER, HEBREW, DIGIT)
    if now or kind == JOINER:
        joins = letter or last in (DIGIT, JOINER) or (kind == JOINER and last == KATAKANA)
        return joins or (now and _fits(before, last, kind))
    if kind in (OTHER, KATAKANA):
        return kind == KATAKANA and last in (KATAKANA, JOINER)
    if kind == QUOTE and last == HEBREW:
        return True
    after: Int = EXTEND
    while i < b and after == EXTEND:
        c, size = code_point(data, i)
        after, i = np.int64(table[c]) & CLASS, i + size
    return _fits(last, kind, after)


@kernel(_nrt=False)
def _fits(before: Int, mid: Int, after: Int) -> bool:
    """Return whether a mark of class `mid` joins its neighbours into one word."""
    if mid == MID_HEBREW:
        return bool(before == HEBREW and after == HEBREW)
    if before == DIGIT and after == DIGIT:
        return bool(mid in (MID_NUMBER, MID_BOTH, QUOTE))
    return bool(before in (LETTER, HEBREW) and after in (LETTER, HEBREW) and mid in (MID_LETTER, MID_BOTH, QUOTE))
