"""Find many records at once in a buffer of WARC bytes: the start, the needed headers and the block of each.

Only records of the plain form are found: header lines `Name: value` with the name of one word, a Content-Length, at
most two line ends after the block, and then the next record or the end of the compressed member. Records of other forms
are read by `archive.py`, one at a time.

Slow reference for the tests: tests/twins/warc.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, Int

from .archive import HEADERS, MAX_HEADER, MAX_HEADERS

KINDS = ("conversion", "response", "request", "metadata", "warcinfo", "resource", "revisit", "continuation")
START, KIND, BODY, END, FIRST = range(5)  # columns of a row; from FIRST on, the start and end of each header's value
COLUMNS = FIRST + 2 * len(HEADERS)
SHORT, ODD = -1, -2  # the bytes end before the record does; the record does not have the plain form
LONGEST = max(map(len, (*HEADERS, *KINDS)))
LENGTH_DIGITS = 18
TYPE, CONTENT_LENGTH = HEADERS.index("warc-type"), HEADERS.index("content-length")


def _table(words: tuple[str, ...]) -> U8:
    """Return the words as rows of bytes: the length, and the characters."""
    return np.array([[len(word), *word.encode().ljust(LONGEST)] for word in words], np.uint8)


NAMES, TYPES = _table(HEADERS), _table(KINDS)


def split(data: U8, stop: int, rows: I64) -> tuple[I64, I64, int]:
    """Find the records in data[:stop], the first of which begins at data[0]; the last only if another follows.

    - rows: int64[n, COLUMNS], to which the records are written.

    Returns (the rows of the records found; where each of them begins and the last one ends, int64[n + 1]; why no more
    were found: SHORT, ODD, or 0 if `rows` is full).
    """
    n, at, why = _split(data, stop, NAMES, TYPES, rows)
    return rows[:n], np.append(rows[:n, START], at), why


@kernel(_nrt=False)
def _split(data: U8, stop: Int, names: U8, types: U8, rows: I64) -> tuple[Int, Int, Int]:
    """Return the number of records found, the offset after the last, and why no more were found (0: no more rows)."""
    at = np.int64(0)
    for k in range(len(rows)):
        after = _record(data, at, stop, names, types, rows[k])
        if after < 0:
            return k, at, after
        at = after
    return len(rows), at, 0


@kernel(_nrt=False)
def _record(data: U8, at: Int, stop: Int, names: U8, types: U8, row: I64) -> Int:
    """Fill the row of the record that begins at `at`; return the offset of the next one, SHORT or ODD."""
    row[:] = 0
    row[START] = at
    at = _headers(data, at, stop, names, row)
    size = _number(data, row[FIRST + 2 * CONTENT_LENGTH], row[FIRST + 2 * CONTENT_LENGTH + 1])
    if at < 0 or size < 0 or row[FIRST + 2 * TYPE + 1] == 0:
        return at if at == SHORT else ODD
    row[KIND] = _word(data, row[FIRST + 2 * TYPE], row[FIRST + 2 * TYPE + 1], types)
    row[BODY], row[END] = at, at + size
    if at + size > stop:
        return SHORT
    at += size
    for _ in range(2):
        end = _empty_line(data, at, stop)
        at = at if end == ODD else end
        if at == SHORT:
            return SHORT
    begins = _begins(data, at, stop)
    return begins if begins < 0 else at


@kernel(_nrt=False)
def _headers(data: U8, at: Int, stop: Int, names: U8, row: I64) -> Int:
    """Fill the start and end of each header's value; return the offset of the block, SHORT or ODD."""
    begins = _begins(data, at, stop)
    at, lines = _after_line(data, at, stop) if begins == 0 else begins, 0
    while at >= 0:
        end = _empty_line(data, at, stop)
        if end != ODD:
            return end
        begin, lines = at, lines + 1
        at = _after_line(data, begin, stop)
        colon = begin
        while at >= 0 and (48 <= data[colon] <= 57 or 97 <= data[colon] | 32 <= 122 or data[colon] == 45):
            colon += 1
        if at >= 0 and (data[colon] != 58 or colon == begin or at - begin >= MAX_HEADER or lines == MAX_HEADERS):
            return ODD
        name = _word(data, begin, colon, names) if at >= 0 else -1
        if name >= 0:
            start, end = colon + 1, at - 1
            while start < end and data[start] <= 32:
                start += 1
            while start < end and data[end - 1] <= 32:
                end -= 1
            row[FIRST + 2 * name], row[FIRST + 2 * name + 1] = start, end
    return at


def member_starts(stored: U8, bounds: I64) -> I64:
    """Return where each gzip member of n records begins in `stored`, and the one after, int64[n + 1] or shorter.

    The first member begins at stored[0], and record k has bounds[k + 1] - bounds[k] bytes. The result is shorter if
    the bytes with which a member begins do not follow the size of the record before, modulo 2**32 (RFC 1952).
    """
    starts = np.zeros(len(bounds), np.int64)
    return starts[: 1 + _member_starts(stored, bounds, starts)]


@kernel(_nrt=False)
def _member_starts(stored: U8, bounds: I64, starts: I64) -> Int:
    """Fill `starts` from its second element on; return how many are found."""
    at, one, last = np.uint64(0), np.uint64(1), np.uint64(2)  # unsigned indexes are faster
    stop = np.uint64(max(2, len(stored)) - 2)
    for k in range(len(bounds) - 1):
        at += np.uint64(18)  # the shortest header, and the trailer
        while at < stop:
            c = stored[at + last]
            if c == 8 and stored[at + one] == 0x8B and stored[at] == 0x1F:
                break
            at += one if c == 0x8B else last if c == 0x1F else last + one
        if at >= stop:
            return k
        size = np.int64(0)
        for i in range(1, 5):
            size = size << 8 | stored[at - np.uint64(i)]
        if size != (bounds[k + 1] - bounds[k]) & 0xFFFFFFFF:
            return k
        starts[k + 1] = at
    return len(bounds) - 1


@kernel(_nrt=False)
def _begins(data: U8, at: Int, stop: Int) -> Int:
    """Return 0 if a record begins at `at`, otherwise SHORT or ODD."""
    for k, c in enumerate((87, 65, 82, 67, 47)):  # WARC/
        if at + k >= stop:
            return SHORT
        if data[at + k] != c:
            return ODD
    return 0


@kernel(_nrt=False)
def _after_line(data: U8, at: Int, stop: Int) -> Int:
    """Return the offset after a line of text and tabs that ends with LF or CRLF, or SHORT, or ODD for other lines."""
    i, n = np.uint64(at), np.uint64(stop)  # unsigned indexes are faster
    while i < n and (data[i] >= 32 or data[i] == 9):
        i += np.uint64(1)
    return _empty_line(data, np.int64(i), stop)


@kernel(_nrt=False)
def _empty_line(data: U8, at: Int, stop: Int) -> Int:
    """Return the offset after the line end LF or CRLF at `at`, SHORT if the bytes end before, ODD for other bytes."""
    if at < stop and data[at] == 10:
        return at + 1
    if at + 1 < stop and data[at] == 13 and data[at + 1] == 10:
        return at + 2
    return SHORT if at >= stop or (at + 1 >= stop and data[at] == 13) else ODD


@kernel(_nrt=False)
def _word(data: U8, start: Int, end: Int, words: U8) -> Int:
    """Return the number of the word that data[start:end] is, in upper or lower case; -1 if it is not one of them."""
    for k in range(len(words)):
        if words[k, 0] == end - start:
            same = 0
            while same < end - start and data[start + same] | 32 == words[k, 1 + same]:
                same += 1
            if same == end - start:
                return k
    return -1


@kernel(_nrt=False)
def _number(data: U8, start: Int, end: Int) -> Int:
    """Return the number that data[start:end] writes in at most 18 digits, or -1."""
    number = np.int64(0)
    for k in range(start, end):
        if not 48 <= data[k] <= 57:
            return -1
        number = number * 10 + (data[k] - 48)
    return -1 if end == start or end - start > LENGTH_DIGITS else number
