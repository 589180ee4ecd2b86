"""Repeats as an engine finds them, and the kernels that turn them into spans.

A repeat is a run of neighbouring windows that occurred before, and whose first occurrences are neighbours too. The
bytes start..end of document `id` first occur at `duplicate_of_start` in document `duplicate_of`. The numbers start and
end are stored with two more bits, the distance to the next code point, so that spans can be rounded to code points
without the text. Periodic text, such as "aaaaaaaa" for windows of four bytes, is a special case: the first occurrences
of its windows return to `duplicate_of_start` after every `period` bytes, `rounds` times, and the windows before the
first return have `turn` bytes.

A *run* is the longest part of a repeat, or of several consecutive repeats, without such a return; so all bytes of a run
first occur contiguously. The spans to cut are runs: the smallest number of runs that covers the bytes to cut. Spans may
therefore overlap.

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.core.model.tables import SPAN
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, U64, Int, code_point, step_back
from dataprep.unicode.words import inside_word

SPAN_COLUMNS = len(SPAN.names or ())
# of a repeat, uint64: id, start, end, duplicate_of, duplicate_of_start, period << 32 | rounds, turn (shifted as `end`)
COLUMNS = 7
TRIM = 2
CHAR, BY_WORD, BY_LINE = 0, 1, 2
CUTS = ("char", "word", "line")


class Repeat(NamedTuple):
    """A run of windows that occurred before: its bytes, and the location of their first occurrence.

    Attributes:
        start: the offset of the run's first byte in the data.
        end: the offset after the run's last byte.
        id: the run's document.
        shift: the number to add to `start` or `end` to get the offset in this document.
        duplicate_of: the document of the first occurrence.
        duplicate_of_start: the offset of the first occurrence in that document.
        period: 0, except in periodic text such as "aaaa", where the first occurrences of the windows return to
            `duplicate_of_start` after every `period` bytes.
        rounds: the number of such returns; 0 if the text is not periodic.
        turn: the number of bytes of the windows before the first return; 0 if the text is not periodic.
    """

    start: Int
    end: Int
    shift: Int  # added to an offset in `data`, it is the offset in the document
    id: Int
    duplicate_of: Int
    duplicate_of_start: Int
    period: Int
    rounds: Int
    turn: Int


@kernel
def add_repeat(data: U8, repeat: Repeat, out: U64, k: int) -> U64:
    """Write a repeat (text that occurred earlier) as row `k` of `out`; return `out`, or a longer copy if it was full.

    - data: the UTF-8 bytes in which the repeat starts and ends.
    """
    if k == len(out):
        out = twice_repeats(out)
    write_repeat(data, repeat, out[k])
    return out


@kernel
def write_repeat(data: U8, repeat: Repeat, out: U64) -> None:
    """Write a repeat (text that occurred earlier) to the row `out`, uint64[7], as the module describes.

    - data: the UTF-8 bytes in which the repeat starts and ends.
    """
    start, end, turn = repeat.start, repeat.end, repeat.turn
    skip: Int = 0
    while skip < 3 and start + skip < end and data[start + skip] & 0xC0 == 0x80:
        skip += 1
    out[0], out[3], out[4] = repeat.id, np.uint64(repeat.duplicate_of), np.uint64(repeat.duplicate_of_start)
    out[1] = np.uint64((start + repeat.shift) << TRIM | skip)
    out[2] = np.uint64((end + repeat.shift) << TRIM | split_point(data, start, end))
    out[5] = np.uint64(repeat.period << 32 | repeat.rounds)
    out[6] = np.uint64(turn << TRIM | split_point(data, start, start + turn))


@kernel
def split_point(data: U8, start: Int, end: Int) -> Int:
    """Return how many bytes before `end` belong to a code point that `end` splits: 0 to 3; 0 if it splits none.

    - data: UTF-8 bytes, read from `start` on.
    """
    for j in range(1, 4):
        if end - j >= start and data[end - j] & 0xC0 != 0x80:
            lead = data[end - j]
            size = 1 + np.int64(lead >= 0xC0) + np.int64(lead >= 0xE0) + np.int64(lead >= 0xF0)
            return j if size > j else 0
    return 0


@kernel
def twice_repeats(out: U64) -> U64:
    """Return an array of twice the length that begins with the rows of `out`, uint64[2 n, 7].

    The rows are copied in a loop, because `np.concatenate` makes its callers 8 % slower.
    """
    grown = np.empty((2 * len(out), COLUMNS), np.uint64)
    for j in range(len(out)):
        for column in range(COLUMNS):
            grown[j, column] = out[j, column]
    return grown


@kernel
def spans_of(repeats: U64, ids: U64, offsets: I64, data: U8, table: U32, cut: int) -> U64:
    """Return the spans to cut, uint64[m, 6]: all repeats (text that occurred earlier), shrunk to the boundary `cut`.

    A span is (id, start, end, duplicate_of id, kept start, kept end), in bytes.

    Args:
        repeats: uint64[n, 7], in order of (id, start).
        ids: the documents' ids, ascending; all documents with repeats must be among them.
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        table: the class bits of every code point.
        cut: CHAR, BY_WORD or BY_LINE; with CHAR the texts are not read.
    """
    out, k, doc = np.empty((len(repeats) + 1, SPAN_COLUMNS), np.uint64), 0, 0
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
            low = shrink_start(data, (at, stop), at + low, at + high, table, cut) - at
            high = shrink_end(data, (at, stop), at + low, at + high, table, cut) - at
        if low < high:
            out, k = cover(repeats[first:last], low, high, out, k)
        first = last
    return out[:k].copy()


START, SKIP, END, BACK, FIRST, FIRST_START = 0, 1, 2, 3, 4, 5  # of a run, int64
REACH, BEFORE = 6, 7  # the end of the spans so far, and the bytes before it of a code point that ends after it


@kernel
def cover(repeats: U64, low: Int, high: Int, out: U64, k: int) -> tuple[U64, int]:
    """Write spans that together cover the bytes low..high of one document to `out`, from row `k` on.

    - repeats: the repeats in these bytes of the document, in order.

    Returns (`out` or a longer array, the number of rows in use). A span is a part of a repeat whose first occurrence is
    contiguous. Of the spans that start at or before the end of the bytes covered so far, the span that ends last is
    chosen next.
    """
    run, chosen, first = np.zeros(8, np.int64), np.zeros(8, np.int64), k
    chosen[END] = run[END] = -1
    chosen[REACH], id_ = low, repeats[0, 0]
    for m in range(len(repeats)):
        start, end = np.int64(repeats[m, 1]), np.int64(repeats[m, 2])
        period, rounds = np.int64(repeats[m, 5] >> np.uint64(32)), np.int64(repeats[m, 5] & np.uint64((1 << 32) - 1))
        turn, kept, duplicate_of_start = np.int64(repeats[m, 6]), np.int64(repeats[m, 3]), np.int64(repeats[m, 4])
        skip, back, start, end = start & 3, end & 3, start >> TRIM, end >> TRIM
        same = run[FIRST] == kept and run[START] - run[FIRST_START] == start - duplicate_of_start
        if run[END] < start or not same:
            out, k = offer(run, chosen, id_, low, high, out, k, first)
            run[START], run[SKIP], run[FIRST], run[FIRST_START] = start, skip, kept, duplicate_of_start
        run[END], run[BACK] = (start + (turn >> TRIM), turn & 3) if rounds else (end, back)
        j: Int = 1
        while j <= rounds and chosen[REACH] < high:
            out, k = offer(run, chosen, id_, low, high, out, k, first)
            j = max(j, min(rounds, (chosen[REACH] - start) // period))
            run[START], run[SKIP], run[FIRST], run[FIRST_START] = start + j * period, skip, kept, duplicate_of_start
            run[END], run[BACK] = (run[START] + (turn >> TRIM), turn & 3) if j < rounds else (end, back)
            j += 1
    out, k = offer(run, chosen, id_, low, high, out, k, first)
    run[START] = high + 1
    return offer(run, chosen, id_, low, high, out, k, first)


@kernel
def offer(
    run: I64, chosen: I64, id_: Int, low: Int, high: Int, out: U64, k: int, first: int
) -> tuple[U64, int]:  # fmt: skip
    """Write the run `chosen` as a span to cut if `run` starts after the covered bytes; then replace `chosen` by `run`.

    A run is text whose first occurrence is contiguous.

    - low: the offset of the first byte to cover in document `id_`.
    - high: the offset after the last byte to cover.
    - first: the first row of this document in `out`. The end of a span is rounded to a code point if the next span
      begins before it.

    Returns (`out` or a longer array, the number of rows in use).
    """
    reach = chosen[REACH]
    if reach < high and chosen[END] >= 0 and run[START] > reach:
        start = chosen[START] + chosen[SKIP]
        start = max(low, start if start <= reach else chosen[START])
        if k > first and start <= reach - chosen[BEFORE]:
            out[k - 1, 2] -= np.uint64(chosen[BEFORE])
            out[k - 1, 5] -= np.uint64(chosen[BEFORE])
            k -= int(out[k - 1, 2] <= out[k - 1, 1])
        if k == len(out):
            out = np.concatenate((out, out))
        duplicate_of_start = chosen[FIRST_START] + start - chosen[START]
        end = min(high, chosen[END])
        out[k, 0], out[k, 1], out[k, 2] = id_, np.uint64(start), np.uint64(end)
        out[k, 3], out[k, 4] = np.uint64(chosen[FIRST]), np.uint64(duplicate_of_start)
        out[k, 5] = np.uint64(duplicate_of_start + end - start)
        k += 1
        chosen[REACH], chosen[BEFORE] = chosen[END], chosen[BACK]
    if run[END] >= 0:
        for j in range(REACH):
            chosen[j] = run[j]
    return out, k


@kernel
def shrink_start(data: U8, text: tuple[Int, Int], low: Int, high: Int, table: U32, cut: int) -> Int:
    """Return the first offset in low..high that is not inside a word or, if `cut` is BY_LINE, at which a line begins.

    - data: UTF-8 bytes.
    - text: the offsets in `data` at which the text begins and ends.
    - table: `word_table()`.
    """
    at, stop = text
    while low < high and low > at:
        if cut == BY_LINE:
            if data[low - 1] == 10:
                break
            low += 1
            continue
        if not inside_word(data, at, low, stop, table):
            break
        low += code_point(data, low)[1]
    return low


@kernel
def shrink_end(data: U8, text: tuple[Int, Int], low: Int, high: Int, table: U32, cut: int) -> Int:
    """Return the last offset in low..high that is not inside a word or, if `cut` is BY_LINE, at which a line ends.

    - data: UTF-8 bytes.
    - text: the offsets in `data` at which the text begins and ends.
    - table: `word_table()`.
    """
    at, stop = text
    while low < high < stop:
        if cut == BY_LINE:
            if data[high - 1] == 10:
                break
            high -= 1
            continue
        if not inside_word(data, at, high, stop, table):
            break
        high = step_back(data, high)
    return high


@kernel
def sorted_by(keys: U64, order: I64) -> I64:
    """Return `order`, int64 indices of `keys`, sorted by keys[order]; equal keys keep their order.

    This is a radix sort, 11 bits at a time; bits that are equal in all keys are skipped. The keys are moved with their
    indices, so that they are read sequentially.

    - keys: uint64.
    """
    differs, own = np.uint64(0), np.empty(len(order), np.uint64)
    for j in range(len(order)):
        own[j] = keys[order[j]]
        differs |= own[j] ^ own[0]
    low, out, moved = np.uint64((1 << 11) - 1), np.empty_like(order), np.empty_like(own)
    for step in range(6):
        shift = np.uint64(11 * step)
        if differs >> shift & low == 0:
            continue
        fill = np.zeros((1 << 11) + 1, np.int64)
        for key in own:
            fill[np.int64(key >> shift & low) + 1] += 1
        for b in range(1 << 11):
            fill[b + 1] += fill[b]
        for j in range(len(own)):
            digit = np.int64(own[j] >> shift & low)
            at = fill[digit]
            out[at], moved[at] = order[j], own[j]
            fill[digit] = at + 1
        order, out, own, moved = out, order, moved, own
    return order


def in_order(rows: U64) -> U64:
    """Return the rows of repeats (text that occurred earlier), uint64[m, 7], sorted by document id and start."""
    order = sorted_by(np.ascontiguousarray(rows[:, 1]), np.arange(len(rows)))
    return np.asarray(rows[sorted_by(np.ascontiguousarray(rows[:, 0]), order)])
