"""Prefilter of CleanMessages: find the messages that a rule may change, in one pass over their characters.

It flags every message that a rule changes, and some that no rule changes.

Slow reference for the tests: tests/twins/clean.py, which applies all rules to every message
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import DECIMAL, I64, U8, U16, U32, WORD, Int, classes, code_point
from dataprep.unicode.text import SPACE as WHITE

from .emoji import PARTS

LINK, AT, REPEAT, LAUGH, EMOJI, MARK, BLANK, NUMBER, FIVES = (1 << n for n in range(9))
FIVE = 0x35  # 55555 is laughter in Thai
DIGITS = 8  # of a phone, at least

# Bits of `characters()`. The lower 23 are alphabets of laughter: a word may be laughter if all its letters have a
# common alphabet.
SYLLABLES = ("ha", "he", "hi", "ho", "hu", "ja", "je", "xa", "ха", "хе", "хи", "ها", "wk", "rs")
ALPHABETS = (*SYLLABLES, "ه\u0640", "\u062e", "\u314b", "\u314e", "lo", "ptdr", "mdr", "xd", "lmao")
XD, LMAO = 1 << len(ALPHABETS) - 2, 1 << len(ALPHABETS) - 1
LAUGHING = (1 << len(ALPHABETS)) - 1
FEWEST = 3  # letters of the shortest laughter that is shortened, xdd
LETTER, SPACE, DIGIT, PICTURE, CONTROL, KEPT, SIGN = (1 << n for n in range(25, 32))  # KEPT: however often it occurs
_MARKS = [*range(9), 11, 12, *range(14, 32), 0x7F, 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F),
          *range(0x2066, 0x206A), 0xFEFF]  # fmt: skip


@cache
def characters() -> U32:
    """Return the bits LETTER ... SIGN of each code point, and the alphabets of laughter it is in, uint32[0x110000]."""
    kinds, table = classes(), np.zeros(0x110000, np.uint32)
    for bit, chosen in ((LETTER, kinds & WORD), (SPACE, kinds & WHITE), (DIGIT | KEPT, kinds & DECIMAL)):
        table[chosen != 0] |= np.uint32(bit)
    table[table & SPACE != 0] |= np.uint32(KEPT)
    table[[ord(c) for c in re.findall(f"[{PARTS}]", "".join(map(chr, range(0x2000, 0x20000))))]] |= np.uint32(KEPT)
    table[[0xFE0F, 0x20E3]] |= np.uint32(PICTURE)
    table[0x231A:0x2C00] |= np.uint32(PICTURE)
    table[0x1F000:] |= np.uint32(PICTURE)
    table[_MARKS] |= np.uint32(CONTROL)
    table[list(b".:@")] |= np.uint32(SIGN)
    for n, letters in enumerate(ALPHABETS):
        same = {c for x in letters for c in (x, x.upper(), *{"i": "İı", "k": "\u212a", "s": "ſ"}.get(x, ""))}
        table[[ord(c) for c in same]] |= np.uint32(1 << n)  # as `re` compares them without case
    table.flags.writeable = False
    return table


@kernel(inline="always")
def may_laugh(alphabets: Int, letters: Int) -> bool:
    """Return whether a word may be laughter.

    - alphabets: the alphabets of laughter that all letters of the word are in, as bits.
    """
    if alphabets & LAUGHING == 0 or letters < FEWEST:
        return False
    return bool(letters > 4 or alphabets & (XD if letters == FEWEST else LAUGHING - LMAO) != 0)


@kernel(inline="always")
def sign_flags(data: U8, i: Int, start: Int, stop: Int) -> int:
    """Return the flags of the full stop, colon or at sign at `i` of the text [start, stop)."""
    c = data[i]
    if c == 64:
        return AT
    if c == 46:
        inside = i > start and data[i - 1] > 32 and i + 1 < stop
        return LINK if inside and (data[i + 1] > 64 or data[i - 1] | 32 == 119) else 0  # x.org, www.3
    return LINK if i + 2 < stop and data[i + 1] == 47 and data[i + 2] == 47 else 0


@kernel
def rules_needed(offsets: I64, data: U8, rows: I64, table: U32, max_repeat: int) -> U16:
    """Return which rules of CleanMessages may change each text of `rows`: flags LINK ... FIVES of this module.

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the n texts, UTF-8 bytes.
        rows: int64[m], indexes of texts.
        table: `characters()`.
        max_repeat: the maximum length of a run of one character; 0: no maximum. The result is uint16[m].
    """
    out = np.zeros(len(rows), np.uint16)
    most = max_repeat or np.int64(1) << 62
    for k in range(len(rows)):
        i, start, stop = offsets[rows[k]], offsets[rows[k]], offsets[rows[k] + 1]
        flags, run, digits, letters = 0, 0, 0, 0
        some: Int = np.uint32(0)  # the bits of any character
        every: Int = np.uint32(SPACE)  # those of all
        alphabets: Int = np.uint32(LAUGHING)  # those of all letters of the word
        last = np.int64(-1)
        while i < stop:
            c, size = code_point(data, i)
            kind = table[c]
            some |= kind
            every &= kind
            run = run + 1 if c == last else 1
            last = c
            if run > 2:
                flags |= REPEAT if run > most and kind & KEPT == 0 else FIVES if c == FIVE and run > 3 else 0
            if kind & LETTER:
                alphabets &= kind
                letters += 1
                digits = digits + 1 if kind & DIGIT else 0
                if digits >= DIGITS:
                    flags |= NUMBER
            else:
                if may_laugh(alphabets, letters):
                    flags |= LAUGH
                letters, alphabets = 0, np.uint32(LAUGHING)
                if kind & SIGN:
                    flags |= sign_flags(data, i, start, stop)
            i += size
        flags |= LAUGH if may_laugh(alphabets, letters) else 0
        flags |= (EMOJI if some & PICTURE else 0) | (MARK if some & CONTROL else 0) | (BLANK if every else 0)
        out[k] = flags
    return out
