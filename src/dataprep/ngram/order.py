"""Sorting n-grams: their words are columns int32[order, n], column 0 the last word, column 1 the one before it.

Two orders reduce all else to passes over neighbours. In *suffix* order (last word first) n-grams with the same ending
are neighbours; in *context* order (last but one first, without the last word) those with the same context. A stable
sort of the context order by the last word is the suffix order.

Twin: tests/twins/ngram.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64

from .vocabulary import I32

DIGIT_BITS = 11  # 2,048 counters fit in the first cache


class Sorted(NamedTuple):
    """Distinct n-grams of the highest order in suffix order."""

    columns: I32  # [order, n]
    counts: I64
    by_context: I32  # their indices in context order


def sort_ngrams(columns: I32, n_words: int) -> Sorted:
    """Return the distinct n-grams, sorted and counted."""
    perm = np.arange(columns.shape[1], dtype=np.int32)
    spare = np.empty_like(perm)
    for column in columns[:0:-1]:
        perm, spare = sort_by(column, perm, spare, n_words)
    by_context = perm.copy()
    perm, spare = sort_by(columns[0], perm, spare, n_words)
    columns = np.stack([column[perm] for column in columns])
    new = np.ones(len(perm), np.bool_)
    if len(new):
        new[1:] = (columns[:, 1:] != columns[:, :-1]).any(0)
    first = np.flatnonzero(new)
    number = spare  # of the distinct n-gram that a row shows first, -1 for its further rows
    number[perm] = np.where(new, np.cumsum(new) - 1, -1)
    shown = number[by_context]
    counts = np.diff(first, append=len(new)).astype(np.int64)
    return Sorted(np.ascontiguousarray(columns[:, first]), counts, shown[shown >= 0])


@kernel
def sort_by(keys: I32, perm: I32, spare: I32, n_words: int) -> tuple[I32, I32]:
    """Sort rows stably by a key from 0 to n_words; return the sorted rows, and the array that is free again."""
    bits = 1
    while (1 << bits) < n_words:
        bits += 1
    n_digits = (bits + DIGIT_BITS - 1) // DIGIT_BITS
    width = (bits + n_digits - 1) // n_digits
    mask = (1 << width) - 1
    for digit in range(n_digits):
        shift = digit * width
        starts = np.zeros((1 << width) + 1, np.int64)
        for i in range(len(keys)):  # the counts of digits do not depend on the order of rows
            starts[((keys[i] >> shift) & mask) + 1] += 1
        for place in range(1 << width):
            starts[place + 1] += starts[place]
        for i in range(len(perm)):
            row = perm[i]
            place = (keys[row] >> shift) & mask
            spare[starts[place]] = row
            starts[place] += 1
        perm, spare = spare, perm
    return perm, spare
