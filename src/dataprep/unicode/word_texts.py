"""Reduce texts to their words, in the form in which words are compared (`words.py`), separated by single spaces.

Slow reference for the tests: tests/twins/words.py
"""

from __future__ import annotations

import numpy as np

from . import text as T
from .kernel import kernel, read_only
from .text import I64, U8, U16, U32, Int
from .words import OUTSIDE, STARTS, kind_of, lower_point, step, word_table


@kernel
def _word_texts(offsets: I64, data: U8, table: U32, classes: U16) -> tuple[I64, U8]:
    """Return the words of each text in lower case, with one space between them."""
    n = len(offsets) - 1
    ends = np.zeros(n + 1, np.int64)
    out = np.empty((offsets[n] - offsets[0]) * 2 + 4, np.uint8)
    k = 0
    for d in range(n):
        i, begin, stop, first, state = offsets[d], offsets[d], offsets[d + 1], k, OUTSIDE
        while i < stop:
            c, size = T.code_point(data, i)
            entry: Int = table[c]
            state = step(data, begin, i, stop, table, kind_of(entry), state)
            if state & STARTS and k > first:
                out[k] = 32
                k += 1
            point = lower_point(data, begin, i, stop, entry, classes)
            if state and point:
                k = T.put(out, k, point)
            if entry & T.DOTTED:
                state = OUTSIDE
            i += size
        ends[d + 1] = k
    return ends, out[:k]


def word_texts(offsets: I64, data: U8, split: str = "unicode") -> tuple[I64, U8]:
    """Return each text as its words with one space between them, in the form in which words are compared.

    Returns (offsets int64[n + 1], from 0; UTF-8 bytes, uint8). The result has the same words as the text.
    """
    return _word_texts(*read_only(offsets, data), word_table(split), T.classes())
