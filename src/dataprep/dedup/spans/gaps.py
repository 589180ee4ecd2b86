"""Repeats to cut for repeated units of text, and for the white space between and next to them.

Consecutive repeats are cut together. Of the gaps before and after them, the one with more line feeds remains in the
text, so that no blank line appears and no paragraph break is lost. For repeats at the start of a text, the gap after
them is cut; for repeats at the end of a text, the gap before them.

Slow reference for the tests: tests/twins/exact.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.tables import NOBODY
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, U64, Int, classes, space, step_back

Repeats = Any  # a structured array of REPEAT
REPEAT = np.dtype(
    [
        ("id", "<u8"),
        ("duplicate_of", "<u8"),
        ("start", "<u4"),
        ("end", "<u4"),
        ("duplicate_of_start", "<u4"),
        ("duplicate_of_end", "<u4"),
    ]
)  # as tables.SPAN, in 32 bytes


def close_up(repeats: Repeats, batch: Batch, *, strips: bool, final: bool) -> tuple[Repeats, Repeats]:
    """Return the spans to cut from the documents of a batch, and the repeats that cannot be decided yet.

    - repeats: the byte ranges of repeated units, sorted by (id, start); they may overlap. Repeats with only white
      space between them are cut together with that white space, and with the white space either before or after them.
      If the first or last repeat contains white space that is to be kept, its span is shortened.
    - strips: True if the normal form has no white space at its ends. The spans of repeats then include the white space
      that is cut with them. Otherwise, this white space has spans of its own, which have no first occurrence, and if a
      span is shortened, the range of its first occurrence is shortened too.
    - final: True if no further repeats follow. If it is False, the last repeats, to which the next ones may be joined,
      are returned as undecided; pass them again together with the next repeats.
    """
    out = np.empty(len(repeats) if strips else 3 * len(repeats), REPEAT)
    n, closed = _close_up(repeats, B.ids(batch), *B.buffers(batch), classes(), int(strips), int(final), out)
    return out[:n], repeats[closed:]


@kernel
def _close_up(
    repeats: Repeats, ids: U64, offsets: I64, data: U8, table: U16, strips: int, final: int, out: Repeats
) -> tuple[int, int]:
    """Write the spans of all complete runs; return the number of spans, and the number of repeats in them.

    - ids: uint64, ascending, of all texts; it has those of `repeats`.
    """
    start, end, n, k, row = repeats["start"], repeats["end"], 0, 0, 0
    while k < len(repeats):
        while ids[row] < repeats[k]["id"]:
            row += 1
        at, stop, reach, last = offsets[row], offsets[row + 1], end[k], k + 1
        while last < len(repeats) and repeats[last]["id"] == ids[row]:
            i = at + reach
            while i < at + start[last] and space(data, i, table):
                i += space(data, i, table)
            if i < at + start[last]:
                break
            reach = max(reach, end[last])
            last += 1
        if last == len(repeats) and not final:
            break
        low, high = _widen(at + start[k], at + reach, data, at, stop, table)
        done = low - at
        for j in range(k, last):
            a, b = max(start[j], low - at), min(end[j], high - at)
            if strips:
                a, b = min(a, done), high - at if j == last - 1 else b
            elif start[j] > done:
                n = _gap(out, n, repeats[k]["id"], done, start[j])
            out[n] = repeats[j]
            out[n]["start"], out[n]["end"] = a, b
            if not strips:
                out[n]["duplicate_of_start"] += a - start[j]
                out[n]["duplicate_of_end"] -= end[j] - b
            n += 1
            done = max(done, b)
        if high - at > done:
            n = _gap(out, n, repeats[k]["id"], done, high - at)
        k = last
    return n, k


@kernel
def _gap(out: Repeats, n: int, id_: Int, start: Int, end: Int) -> int:
    """Write the span of a gap as row `n`; return `n + 1`."""
    out[n]["id"], out[n]["start"], out[n]["end"] = id_, start, end
    out[n]["duplicate_of"], out[n]["duplicate_of_start"], out[n]["duplicate_of_end"] = NOBODY, 0, 0
    return n + 1


@kernel(_nrt=False)
def _widen(a: int, b: int, data: U8, at: int, stop: int, table: U16) -> tuple[int, int]:
    """Return the range of a run with the gap before or after it, in the text data[at:stop]."""
    while a < b and space(data, a, table):
        a += space(data, a, table)
    while b > a and space(data, step_back(data, b), table):
        b = step_back(data, b)
    low, high = a, b
    while low > at and space(data, step_back(data, low), table):
        low = step_back(data, low)
    while high < stop and space(data, high, table):
        high += space(data, high, table)
    feeds_before, feeds_after = _feeds(data, low, a), _feeds(data, b, high)
    if low == at:
        a = at
        b = high if high == stop or feeds_after == 0 else _after_last_feed(data, b, high)
    elif high == stop or feeds_after >= feeds_before:
        a = low
        while feeds_before and data[a] not in (0x0A, 0x0D):  # blanks at the end of the line that is kept
            a += 1
    elif feeds_after:
        a, b = _after_last_feed(data, low, a), _after_last_feed(data, b, high)
    else:
        b = high
    return a, b


@kernel(_nrt=False)
def _feeds(data: U8, i: int, stop: int) -> int:
    """Return the number of line feeds in data[i:stop]."""
    n: Int = 0
    for j in range(i, stop):
        n += data[j] == 0x0A
    return int(n)


@kernel(_nrt=False)
def _after_last_feed(data: U8, i: int, stop: int) -> int:
    """Return the offset after the last line feed, or `i` if there is none."""
    while stop > i and data[stop - 1] != 0x0A:
        stop -= 1
    return stop
