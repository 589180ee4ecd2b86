"""Repeats as an engine finds them, and the kernels that turn them into spans.

A repeat is a run of neighbouring windows that occurred before, whose first occurrences are neighbours too: the bytes
start..end of document `id` first occur at `kept_start` in document `kept`. Its start and end are shifted by two bits,
which state the distance to the next code point, so that spans can be rounded to code points without the text. With a
cycle the first occurrences start again and again, as those of "aaaa" in "aaaaaaaa": it is the period in bytes, shifted
by 32 bits, and the distance from the repeat's start to that of its last window; else 0.

Twin: tests/twins/suffix_array.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.core.tables import SPAN
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, U64, WORD, Int, code_point

SPAN_COLUMNS = len(SPAN.names or ())
COLUMNS = 6  # of a repeat, uint64: id, start, end, kept, kept_start, cycle
TRIM = 2
CHAR, BY_WORD, BY_LINE = 0, 1, 2
CUTS = ("char", "word", "line")


class Repeat(NamedTuple):
    """A run of windows that occurred before: the bytes start..end of `data`, and their first occurrence."""

    start: Int
    end: Int
    shift: Int  # added to an offset in `data`, it is the offset in the document
    id: Int
    kept: Int
    kept_start: Int
    cycle: Int


@kernel
def add_repeat(data: U8, repeat: Repeat, out: U64, k: int) -> U64:
    """Write a repeat as row `k`; return the rows, in an array of twice the length if they did not fit."""
    if k == len(out):
        out = twice_repeats(out)
    write_repeat(data, repeat, out[k])
    return out


@kernel
def write_repeat(data: U8, repeat: Repeat, out: U64) -> None:
    """Write a repeat, with the distances from its ends to the next code points."""
    start, end = repeat.start, repeat.end
    skip: Int = 0
    back: Int = 0
    size: Int = 0
    while skip < 3 and start + skip < end and data[start + skip] & 0xC0 == 0x80:
        skip += 1
    for j in range(1, 4):
        if end - j >= start and data[end - j] & 0xC0 != 0x80:
            lead = data[end - j]
            size = 1 + np.int64(lead >= 0xC0) + np.int64(lead >= 0xE0) + np.int64(lead >= 0xF0)
            back = j if size > j else 0
            break
    out[0], out[3] = repeat.id, np.uint64(repeat.kept)
    out[4], out[5] = np.uint64(repeat.kept_start), np.uint64(repeat.cycle)
    out[1] = np.uint64((start + repeat.shift) << TRIM | skip)
    out[2] = np.uint64((end + repeat.shift) << TRIM | back)


@kernel
def twice_repeats(out: U64) -> U64:
    """Return the same rows in an array of twice the length."""
    grown = np.empty((2 * len(out), COLUMNS), np.uint64)
    for j in range(len(out)):
        for column in range(COLUMNS):
            grown[j, column] = out[j, column]
    return grown


@kernel
def spans_of(repeats: U64, ids: U64, offsets: I64, data: U8, table: U16, cut: int) -> U64:
    """Return spans uint64[m, 5] of repeats in order of (id, start): their unions, shrunk to the boundary.

    cut: CHAR, which does not read the texts; BY_WORD or BY_LINE. ids, offsets, data: documents in order of ids, which
    include all that have repeats.
    """
    out, k, doc = np.empty((len(repeats), SPAN_COLUMNS), np.uint64), 0, 0
    first = 0
    while first < len(repeats):
        id_, start, end = repeats[first, 0], np.int64(repeats[first, 1] >> np.uint64(TRIM)), np.int64(0)
        last: Int = first
        back: Int = 0
        while last < len(repeats) and repeats[last, 0] == id_:
            here, there = np.int64(repeats[last, 1] >> np.uint64(TRIM)), np.int64(repeats[last, 2] >> np.uint64(TRIM))
            if last > first and here > end:
                break
            if there >= end:
                end, back = there, np.int64(repeats[last, 2] & np.uint64(3))
            last += 1
        low, high = start + np.int64(repeats[first, 1] & np.uint64(3)), end - back
        if cut != CHAR and low < high:
            while ids[doc] != id_:
                doc += 1
            at, stop = offsets[doc], offsets[doc + 1]
            low = shrink_start(data, at, at + low, at + high, table, cut) - at
            high = shrink_end(data, at + low, at + high, stop, table, cut) - at
        if low < high:
            m = first
            while m + 1 < last and np.int64(repeats[m + 1, 1] >> np.uint64(TRIM)) <= low:
                m += 1
            out[k, 0], out[k, 1], out[k, 2], out[k, 3] = id_, np.uint64(low), np.uint64(high), repeats[m, 3]
            step = np.uint64(low) - (repeats[m, 1] >> np.uint64(TRIM))
            if repeats[m, 5]:
                whole = min(step, repeats[m, 5] & np.uint64((1 << 32) - 1))
                step = step - whole + whole % (repeats[m, 5] >> np.uint64(32))
            out[k, 4] = repeats[m, 4] + step
            k += 1
        first = last
    return out[:k].copy()


@kernel
def shrink_start(data: U8, at: Int, low: Int, high: Int, table: U16, cut: int) -> Int:
    """Return the first offset from `low` on that is not inside a word, or at which a line begins."""
    while low < high and low > at:
        if cut == BY_LINE:
            if data[low - 1] == 10:
                break
            low += 1
            continue
        c, size = code_point(data, low)
        if not table[c] & table[code_point(data, point_before(data, low))[0]] & WORD:
            break
        low += size
    return low


@kernel
def shrink_end(data: U8, low: Int, high: Int, stop: Int, table: U16, cut: int) -> Int:
    """Return the last offset up to `high` that is not inside a word, or at which a line ends."""
    while low < high < stop:
        if cut == BY_LINE:
            if data[high - 1] == 10:
                break
            high -= 1
            continue
        before = point_before(data, high)
        if not table[code_point(data, high)[0]] & table[code_point(data, before)[0]] & WORD:
            break
        high = before
    return high


@kernel(inline="always")
def point_before(data: U8, i: Int) -> Int:
    """Return the start of the code point before byte `i`."""
    i -= 1
    while data[i] & 0xC0 == 0x80:
        i -= 1
    return i


@kernel
def sorted_by(keys: U64, order: I64) -> I64:
    """Return `order` sorted by keys[order], stable: a radix sort of 11 bits at a time, without equal bits."""
    differs = np.uint64(0)
    for j in range(len(order)):
        differs |= keys[order[j]] ^ keys[order[0]]
    low, out = np.uint64((1 << 11) - 1), np.empty_like(order)
    for step in range(6):
        shift = np.uint64(11 * step)
        if differs >> shift & low == 0:
            continue
        fill = np.zeros((1 << 11) + 1, np.int64)
        for j in order:
            fill[np.int64(keys[j] >> shift & low) + 1] += 1
        for b in range(1 << 11):
            fill[b + 1] += fill[b]
        for j in order:
            digit = np.int64(keys[j] >> shift & low)
            out[fill[digit]] = j
            fill[digit] += 1
        order, out = out, order
    return order


def in_order(rows: U64) -> U64:
    """Return repeats uint64[m, 6] in order of (id, start)."""
    order = sorted_by(np.ascontiguousarray(rows[:, 1]), np.arange(len(rows)))
    return np.asarray(rows[sorted_by(np.ascontiguousarray(rows[:, 0]), order)])
