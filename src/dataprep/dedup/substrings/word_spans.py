"""Split a text into words, with the hash of each word and of the gap after it.

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, U64, Int, code_point
from dataprep.unicode.words import OTHERWISE, STARTS, kind_of, step, sure_state

FACTOR = 0xD6E8FEB86659FD93  # of the polynomial hashes of words and grams


class WordSpans(NamedTuple):
    """The words of a text.

    Attributes:
        start: the byte offset at which each word begins.
        end: the byte offset at which each word ends.
        word: the hash of each word.
        gap: the hash of each word together with the gap after it.
    """

    start: I64
    end: I64
    word: U64
    gap: U64


@kernel
def empty_words(n: int) -> WordSpans:
    """Return a WordSpans with uninitialised arrays for `n` words."""
    return WordSpans(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint64), np.empty(n, np.uint64))


@kernel
def cut_words(data: U8, begin: Int, stop: Int, table: U32, out: WordSpans) -> int:
    """Write the words of data[begin:stop] to `out`, as many as fit; return their number.

    - table: `word_table()`. `begin` must be the start of a text or of a word; the words are then those of the whole
      text.
    """
    n, h, state, i = 0, np.uint64(0), 0, begin
    factor = np.uint64(FACTOR)
    while i < stop:
        b = np.int64(data[i])
        c, size = code_point(data, i) if b >= 0x80 else (b, 1)
        after = sure_state(table[c])
        if after == state:  # as before most characters, no word begins or ends
            h = (h ^ np.uint64(c)) * factor
            i += size
            continue
        if after == OTHERWISE:
            after = step(data, begin, i, stop, table, kind_of(table[c]), state)
        elif after:
            after |= STARTS
        if state and (after == 0 or after & STARTS):
            out.end[n - 1], out.word[n - 1] = i, mix64(h ^ factor)
        if after & STARTS:
            if n:
                out.gap[n - 1] = mix64(h)
            if n == len(out.start):
                return n
            out.start[n], h = i, np.uint64(1)
            n += 1
        state = after & 3
        h = (h ^ np.uint64(c)) * factor
        i += size
    if state:
        out.end[n - 1], out.word[n - 1] = stop, mix64(h ^ factor)
    return n
