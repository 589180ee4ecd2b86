"""Remove spans from texts, and whole texts.

Slow reference for the tests: tests/twins/cut.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .kernel import kernel, read_only
from .text import I64, SPACE, U8, U16, Int, classes, code_point, copied


@kernel
def _without(
    offsets: I64, data: U8, first: I64, starts: I64, ends: I64, enough: Int, table: U16
) -> tuple[I64, U8, I64]:
    """Compute the result of `without`.

    - table: `classes()`.
    """
    n = len(offsets) - 1
    out_offsets, left = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    out = np.empty(offsets[n] - offsets[0], np.uint8)
    k = np.int64(0)
    for d in range(n):
        at, begin = offsets[d], k
        for s in range(first[d], first[d + 1]):
            k = copied(data, at, offsets[d] + starts[s], out, k)
            at = max(at, offsets[d] + ends[s])
        k = copied(data, at, offsets[d + 1], out, k)
        if first[d + 1] > first[d]:
            i = begin
            while i < k and left[d] < enough:
                c, size = code_point(out, i)
                left[d] += table[c] & SPACE == 0
                i += size
        out_offsets[d + 1] = k
    return out_offsets, out[:k], left


def without(offsets: I64, data: U8, first: I64, starts: I64, ends: I64, enough: int) -> tuple[I64, U8, I64]:
    """Return the texts without the given spans: (offsets, int64[n + 1]; bytes, uint8; characters left, int64[n]).

    The spans of text d are those with the numbers from first[d] to first[d + 1] - 1; span s is the bytes
    starts[s]:ends[s], counted from the beginning of the text. The spans of a text must be sorted by start; they may
    overlap. The characters left are counted without white space, only up to `enough`, and only in texts that lose
    something.

    - first: int64[n + 1].
    """
    return _without(offsets, data, first, *read_only(starts, ends), enough, classes())


@kernel
def chosen(offsets: I64, data: U8, keep: npt.NDArray[np.bool_]) -> tuple[I64, U8]:
    """Return the texts k with keep[k]: (offsets from 0, int64[m + 1]; bytes, uint8); neighbours are copied together.

    - offsets: text k is data[offsets[k]:offsets[k + 1]].
    """
    n, m, size = len(keep), 0, np.int64(0)
    for k in range(n):
        if keep[k]:
            m += 1
            size += offsets[k + 1] - offsets[k]
    out_offsets, out = np.zeros(m + 1, np.int64), np.empty(size, np.uint8)
    k = m = 0
    end = np.int64(0)
    while k < n:
        first = k
        while k < n and keep[k]:
            m += 1
            out_offsets[m] = end + offsets[k + 1] - offsets[first]
            k += 1
        end = copied(data, offsets[first], offsets[k], out, end)
        k += 1
    return out_offsets, out
