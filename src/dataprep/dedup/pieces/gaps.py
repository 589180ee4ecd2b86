"""Spans of repeated units: repeats in a row are one span, which includes the white space on one of its sides.

Of the gaps before and after a span, the one with more line feeds is left in the text, so that no blank line appears and
no paragraph break is lost. At the start of a text the gap after the span is cut, at its end the gap before it.

Twin: tests/twins/exact.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, Int, classes
from dataprep.unicode.utf8 import step_back
from dataprep.unicode.whitespace import space

Spans = Any  # a structured array of verdict.SPAN


def close_up(repeats: Spans, batch: Batch, *, final: bool) -> tuple[Spans, Spans]:
    """Return disjoint spans of repeated units in a batch's documents and, unless `final`, the last run so far.

    repeats: sorted by (id, start); they may overlap. Repeats with only white space between them are a run; those of a
    run that first occur in one document are one span, which names the first occurrence of the first of them.
    """
    spans = repeats.copy()
    rows = np.searchsorted(B.ids(batch), spans["id"])
    closed, n = _close_up(spans, rows, *B.buffers(batch), classes(), int(final))
    return spans[:closed], spans[closed:n]


@kernel
def _close_up(spans: Spans, rows: I64, offsets: I64, data: U8, table: U16, final: int) -> tuple[int, int]:
    """Join and widen spans in place; return how many are ready, and how many there are with those of an open run."""
    start, end, kept, kept_start, ids = (
        spans["start"], spans["end"], spans["kept"], spans["kept_start"], spans["id"],
    )  # fmt: skip
    n, first, row = 0, 0, -1
    for k in range(len(spans)):
        continues = False
        if rows[k] == row:
            at = offsets[row]
            i = at + end[n - 1]
            while i < at + start[k] and space(data, i, table):
                i += space(data, i, table)
            continues = i >= at + start[k]
        if continues:
            if end[k] <= end[n - 1]:
                continue
            if kept[k] == kept[n - 1]:
                end[n - 1] = end[k]
                continue
            start[k] = max(start[k], end[n - 1])
            end[n - 1] = start[k]
        else:
            if row >= 0:
                _widen(start, end, first, n - 1, data, offsets[row], offsets[row + 1], table)
            first, row = n, rows[k]
        ids[n], start[n], end[n], kept[n], kept_start[n] = ids[k], start[k], end[k], kept[k], kept_start[k]
        n += 1
    if final and row >= 0:
        _widen(start, end, first, n - 1, data, offsets[row], offsets[row + 1], table)
        first = n
    return first, n


@kernel(_nrt=False)
def _widen(start: I64, end: I64, first: int, last: int, data: U8, at: int, stop: int, table: U16) -> None:
    """Extend a run of spans over the gap before or after it, in the text data[at:stop]."""
    a, b = at + start[first], at + end[last]
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
    start[first], end[last] = a - at, b - at


@kernel(_nrt=False)
def _feeds(data: U8, i: int, stop: int) -> int:
    """Return how many line feeds there are."""
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
