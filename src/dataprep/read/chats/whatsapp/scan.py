"""Kernels that find lines of a WhatsApp export that look like headers, with their numbers and words, in one pass.

A header is a date and a time, in either order, in brackets or followed by a dash, a colon or a semicolon. If the date
ends with a dot, the header may also be followed by a blank and `NAME: ` ("13. 6. 2018. 21:25:15 Bee: hi"). The whole
file decides which of these lines are headers (`dates.py`); a table of hashes gives the meaning of words (`headers.py`).
All functions stop at a line feed, and every line has one.

Slow reference for the tests: tests/twins/whatsapp_headers.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel

from .eight_bytes import HIGH, ONES, first_byte, load64, store64
from .fields import ERA, NEUTRAL, UNKNOWN, Bytes, Ints, Keys, read_date, read_hour, read_time, read_word, skip
from .same_form import FORM_OF, LENGTH, ROWS, WORDS, Words, read_same, remember

# Columns of `scan`'s result, int64 each.
START, BODY, FORM, A, B, C, SECONDS, NAME, NAME_STOP, SAID, LINE_STOP = range(11)
FIELDS = 11

# The form of a header, by bits, equal in all headers of one export; spaces, commas and marks do not count.
BRACKET, TIME_FIRST, WITH_SECONDS, WITH_HALF = 1, 2, 4, 8
SEPARATOR = 4  # shift of 3 bits: . / - , 年
YEAR = 7  # shift of 2 bits: 0 in two digits, 1 first, 2 last
END = 9  # shift of 3 bits: ] - : ; and a blank
COLON, BLANK = 2, 4  # ends of headers

MAX_NAME = 400  # bytes of an author's name
FEEDS, RETURNS, FIRST_OF_MARKS = np.uint64(10) * ONES, np.uint64(13) * ONES, np.uint64(0xE2) * ONES


@kernel
def _header(data: Bytes, i: int, keys: Keys, codes: Ints, out: Ints) -> tuple[int, int]:
    """Write the numbers of the header at i to `out`; return its end (-1: there is none) and its half of the day."""
    i = skip(data, i)
    bracket = data[i] == 91
    i = skip(data, i + 1) if bracket else i
    early, late, time_first = NEUTRAL, NEUTRAL, False
    stop, a, b, c, separator, year, dotted = read_date(data, i, keys, codes)
    if stop >= 0:
        early, i = read_word(data, stop, keys, codes)
        if data[i] in (44, 45):  # a comma, a dash
            i += 1
        elif data[i] == 0xD8 and data[i + 1] == 0x8C:
            i += 2
        half, i = read_word(data, i, keys, codes)
        early = max(early, half) if min(early, half) >= 0 else UNKNOWN
        stop, hour, rest, seconds = read_time(data, i)
        if stop < 0:
            return -1, NEUTRAL
        late, i = read_word(data, stop, keys, codes)
    else:
        time_first = True
        early, i = read_word(data, i, keys, codes)
        stop, hour, rest, seconds = read_time(data, i)
        if stop < 0:
            return -1, NEUTRAL
        late, i = read_word(data, stop, keys, codes)
        if late >= ERA:  # of the date: 9:12 R6/5/3
            late, i = NEUTRAL, stop
        if data[i] in (44, 45):
            i += 1
        elif data[i] == 0xD8 and data[i + 1] == 0x8C:
            i += 2
        stop, a, b, c, separator, year, dotted = read_date(data, skip(data, i), keys, codes)
        if stop < 0:
            return -1, NEUTRAL
        neutral, i = read_word(data, stop, keys, codes)
        if neutral != NEUTRAL:
            return -1, NEUTRAL
    half, end, word_end = max(early, late), -1, i
    if min(early, late) >= 0 and half < ERA and read_hour(hour, half) >= 0:
        end, i = _end(data, i, bracket)
    at = skip(data, stop)
    if dotted and not bracket and not time_first and at > stop and _has_name(data, at):
        no_half = late == NEUTRAL or hour > 12 or not _has_name(data, i)
        is_name = end == COLON and word_end > at and no_half  # 21:25 a: hello
        if (end < 0 or is_name) and 0 <= early < ERA and read_hour(hour, early) >= 0:
            half, end, i = early, BLANK, at
    if end < 0:
        return -1, NEUTRAL
    out[FORM] = (
        BRACKET * bracket | TIME_FIRST * time_first | WITH_SECONDS * seconds | WITH_HALF * (half > 0)
        | separator << SEPARATOR | year << YEAR | end << END
    )  # fmt: skip
    out[A], out[B], out[C] = a, b, c
    out[SECONDS] = read_hour(hour, half) * 3_600 + rest
    return i, half


@kernel
def _read(data: Bytes, start: int, keys: Keys, codes: Ints, out: Ints, form: Words, places: Ints) -> int:
    """Write the numbers in the message header at `start` to `out`; return its end (-1: there is no header).

    - form, places: the form of the header before, as `remember` writes it.
    """
    stop, a, b, c, seconds = read_same(data, start, form, places)
    if stop >= 0:
        out[FORM], out[A], out[B], out[C], out[SECONDS] = places[FORM_OF, 0], a, b, c, seconds
        return stop
    stop, half = _header(data, start, keys, codes, out)
    if stop >= 0 and out[FORM] >> END != BLANK:
        remember(data, (start, stop), half, 0 if out[FORM] & TIME_FIRST else 3, form, places)
        places[FORM_OF, 0] = out[FORM]
        same, a, b, c, seconds = read_same(data, start, form, places)
        if same != stop or a != out[A] or b != out[B] or c != out[C] or seconds != out[SECONDS]:  # of an era
            places[LENGTH, 0] = 0
    return stop


@kernel
def _end(data: Bytes, i: int, bracket: bool) -> tuple[int, int]:  # noqa: FBT001
    """Return the kind of header end at i (-1: none), and the offset at which the message begins."""
    c = data[i]
    if bracket:
        if c != 93:
            return -1, i
        return 0, i + 1 + (data[i + 1] == 32)
    width = 1
    end = 1 * (c == 45) + 2 * (c == 58) + 3 * (c == 59)
    if c == 0xE2 and data[i + 1] == 0x80 and data[i + 2] in (0x93, 0x94):
        end, width = 1, 3
    if end == 0 or not (data[i + width] in (32, 10, 13) or skip(data, i + width) > i + width):
        return -1, i
    return end, i + width + (data[i + width] == 32) + 2 * (data[i + width] == 0xC2)


@kernel
def _has_name(data: Bytes, i: int) -> bool:
    """Return whether a text and a colon before a blank begin at i, in this line."""
    for k in range(i, i + MAX_NAME):
        c = data[k]
        if c in (10, 13):
            return False
        if c == 58 and (data[k + 1] in (32, 10, 13) or (data[k + 1] == 0xC2 and data[k + 2] == 0xA0)):
            return k > i
    return False


@kernel
def _name(data: Bytes, out: Ints) -> None:
    """Write the end of the author's name, the first colon before a space or line end, else the first colon, and SAID.

    SAID is the position of the text: -1 if there is no colon, and -2 - position if no space follows the colon.
    """
    i = out[BODY]
    first = -1
    stop = min(out[LINE_STOP], i + MAX_NAME)
    while i < stop:
        if data[i] == 58:
            after = data[i + 1]
            if after in (32, 10, 13) or (after == 0xC2 and data[i + 2] == 0xA0):
                out[NAME_STOP] = i
                out[SAID] = i + 1 + (after == 32) + 2 * (after == 0xC2)
                return
            first = i if first < 0 else first
        i += 1
    out[NAME_STOP] = first
    out[SAID] = -1 if first < 0 else -3 - first


@kernel
def line_end(data: Bytes, i: int) -> int:
    """Return the position of the first line feed from i on; reads eight bytes at a time, even beyond the line feed."""
    while True:
        word = load64(data, i) ^ FEEDS
        hit = (word - ONES) & ~word & HIGH
        if hit:
            return i + int(first_byte(hit))
        i += 8


@kernel
def _may_be_header(data: Bytes, i: int) -> bool:
    """Return whether a line that begins with an ASCII letter has a digit soon, unlike most lines of text."""
    c = data[i]
    if not (65 <= c <= 90 or 97 <= c <= 122):
        return c not in (9, 10, 13, 32)
    for k in range(i + 1, i + 12):
        if data[k] == 10:
            return False
        if 48 <= data[k] <= 57 or data[k] >= 0xC2:
            return True
    return False


@kernel
def scan(data: Bytes, stop: int, keys: Keys, codes: Ints) -> Ints:
    """Return the lines of data[:stop] that look like message headers (date and time), int64[n, FIELDS].

    The FIELDS columns are the constants START to LINE_STOP of this module. Every line must end with a line feed, and
    `data` must be at least 8 bytes longer than `stop`.

    - keys, codes: the table of words (`headers.words`).
    """
    capacity = 1_024
    out = np.empty((capacity, FIELDS), np.int64)
    form, places = np.zeros((2, WORDS), np.uint64), np.zeros((ROWS, 2), np.int64)
    n = start = 0
    while start < stop:
        body = -1
        if _may_be_header(data, start):
            if n == capacity:
                more = np.empty((2 * capacity, FIELDS), np.int64)
                more[:capacity] = out
                out, capacity = more, 2 * capacity
            body = _read(data, start, keys, codes, out[n], form, places)
        i = line_end(data, max(body, start))
        if body >= 0:
            row = out[n]
            row[START], row[BODY], row[NAME], row[LINE_STOP] = start, body, body, i
            _name(data, row)
            n += 1
        start = i + 1
    return out[:n]


@kernel
def gather(
    data: Bytes, starts: Ints, stops: Ints
) -> tuple[Ints, Bytes]:
    """Return the texts data[starts[k]:stops[k]] one after another, as (offsets, int64[n + 1]; bytes, uint8).

    Carriage returns at the ends of lines are left out.
    """
    offsets = np.zeros(len(starts) + 1, np.int64)
    size = 0
    for row in range(len(starts)):
        size += max(0, stops[row] - starts[row])
    out = np.empty(size, np.uint8)
    n = 0
    for row in range(len(starts)):
        n = _copied(data, starts[row], stops[row], out, n)
        offsets[row + 1] = n
    return offsets, out[:n]


@kernel
def _copied(data: Bytes, start: int, stop: int, out: Bytes, n: int) -> int:
    """Copy data[start:stop] to `out` from n on, without carriage returns at line ends; return the end in `out`."""
    size = stop - start
    returns = np.uint64(size < 8)
    if size >= 8:
        for k in range(0, size - 7, 8):
            returns |= _copy8(data, start + k, out, n + k)
        returns |= _copy8(data, stop - 8, out, n + size - 8)
    if returns:
        for i in range(start, stop):
            c = data[i]
            if c != 13 or not (i + 1 == stop or data[i + 1] == 10):
                out[n] = c
                n += 1
        return n
    return n + size


@kernel
def _copy8(data: Bytes, i: int, out: Bytes, n: int) -> np.uint64:
    """Copy the eight bytes at i; return whether there is a carriage return among them, as bits."""
    word: np.uint64 = load64(data, i)
    store64(out, n, word)
    word ^= RETURNS
    return (word - ONES) & ~word & HIGH


@kernel
def marked(data: Bytes, starts: Ints, stops: Ints) -> bool:
    """Return whether one of the texts data[starts[k]:stops[k]] has U+200E or U+200F; `data` is 8 bytes longer."""
    for row in range(len(starts)):
        i, stop = starts[row], stops[row] - 2
        while i < stop:
            word = load64(data, i) ^ FIRST_OF_MARKS
            hit = (word - ONES) & ~word & HIGH
            i += int(first_byte(hit)) if hit else 8
            if hit:
                if i < stop and data[i + 1] == 0x80 and data[i + 2] in (0x8E, 0x8F):
                    return True
                i += 1
    return False
