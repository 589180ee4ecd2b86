r"""Insert spaces between words that are not separated, for kernels that split at white space.

"unicode" words are those of `words.py`. With "punctuation", each run of one other character is a word, too, so that
"don't, no..." becomes "don't , no ...". Line breaks are kept, and characters are not changed.

Slow reference for the tests: tests/twins/words.py
"""

from __future__ import annotations

from functools import cache

import numpy as np

from . import tables
from . import text as T
from .canonical import ACCENTS, TATWEEL
from .kernel import kernel
from .text import I64, U8, U16, U32, Int
from .words import ALONE, KIND, OUTSIDE, STARTS, kind_of, step, word_table

UNSPACED, SILENT = 1 << 14, 1 << 15  # of `word_classes`
CHOICES = ("blanks", "punctuation", "unicode")


@cache
def word_classes() -> U16:
    """Return `text.classes()` with two more bits, uint16[0x110000].

    UNSPACED: a letter of a script that does not set words apart, such as Han or Thai. SILENT: a mark that does not
        distinguish words, such as an accent, an Arabic vowel sign or the tatweel.
    """
    table = T.classes().copy()
    alone = word_table() >> KIND & 15 == ALONE
    table[alone & (table & T.ALPHA != 0)] |= UNSPACED
    table[[*tables.points(ACCENTS), TATWEEL]] |= SILENT
    table.flags.writeable = False
    return table


@kernel
def _spaced(offsets: I64, data: U8, table: U32, classes: U16, marks: int) -> tuple[I64, U8]:
    """Return the texts with a space between two words.

    - marks: 1 if other characters are words, 0 to leave them out.
    """
    n = len(offsets) - 1
    ends = np.zeros(n + 1, np.int64)
    out = np.empty((offsets[n] - offsets[0]) * 2 + 4, np.uint8)
    k = 0
    for d in range(n):
        i, begin, stop, state, open_, before = offsets[d], offsets[d], offsets[d + 1], OUTSIDE, False, np.int64(-1)
        while i < stop:
            c, size = T.code_point(data, i)
            kind = kind_of(table[c])
            state = step(data, begin, i, stop, table, kind, state)
            blank = classes[c] & T.SPACE != 0
            mark: Int = np.int64(-1) if state or blank else c
            joined = mark in (-1, before) or classes[c] & (T.MARK | T.FORMAT) != 0
            if open_ and not blank and (state & STARTS or not joined):
                out[k] = 0x20
                k += 1
            if blank or state or marks:
                for j in range(size):
                    out[k + j] = data[i + j]
                k += size
                open_ = not blank
            before = mark
            i += size
        ends[d + 1] = k
    return ends, out[:k]


@kernel(_nrt=False)
def count_words(data: U8, a: int, b: int, table: U32, classes: U16, marks: int) -> int:
    """Return the number of words in the line data[a:b], as separated by `_spaced`.

    - marks: 1 if other characters are words, 0 to leave them out.
    """
    n, i, state, open_, before = 0, a, OUTSIDE, False, np.int64(-1)
    while i < b:
        c, size = T.code_point(data, i)
        state = step(data, a, i, b, table, kind_of(table[c]), state)
        blank = classes[c] & T.SPACE != 0
        mark: Int = np.int64(-1) if state or blank else c
        joined = mark in (-1, before) or classes[c] & (T.MARK | T.FORMAT) != 0
        if blank or state or marks:
            n += not blank and (not open_ or state & STARTS != 0 or not joined)
            open_ = not blank
        before = mark
        i += size
    return n


def spaced(offsets: I64, data: U8, words: str) -> tuple[I64, U8]:
    """Return the texts with a space between two words: offsets int64[n + 1], from 0, into UTF-8 bytes, uint8.

    - words: one of CHOICES; with "blanks", the texts are returned unchanged.
    """
    if words == "blanks":
        return offsets, data
    return _spaced(offsets, data, word_table(), word_classes(), marks_of(words))


def marks_of(words: str) -> int:
    """Return the parameter `marks` of the kernels: 0 for "unicode", 1 for "punctuation", and -1 for "blanks"."""
    return {"blanks": -1, "unicode": 0, "punctuation": 1}[words]
