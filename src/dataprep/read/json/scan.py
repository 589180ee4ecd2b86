"""Kernels of the JSON Lines reader: one pass over a block of lines yields texts, meta, and spans of column values.

No values are built: the kernels check the grammar, unescape the text field into a buffer, and copy the rest of the
record as written into meta, so that numbers beyond 64 bits or double precision survive.

Slow reference for the tests: tests/twins/json_lines.py
"""

from __future__ import annotations

from typing import NamedTuple

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

from .grammar import copy, copy_string, next_special, skip_space, value_end
from .inner import Inner, find_inner, read_key

ROW, BLANK, NOT_JSON, NOT_OBJECT, NO_TEXT, INVALID_UTF8, TOO_LONG = range(7)
REASONS = {
    NOT_JSON: "not_json", NOT_OBJECT: "not_an_object", NO_TEXT: "no_text", INVALID_UTF8: "invalid_utf8",
    TOO_LONG: "too_long",
}  # fmt: skip
MAX_DEPTH = 1_024  # as orjson, which can then read back every accepted record


class Fields(NamedTuple):
    """The names of the fields that `scan` must find (the text field, then those of columns), and five settings.

    Attributes:
        names: all names, UTF-8, joined.
        ends: int64[1 + columns], the end of each.
        max_line: the bytes of the longest line to keep.
        keep_meta: whether to keep other fields.
        taken: the number of names whose fields are not kept; the rest are found and kept.
        outer: the number of the field that contains the field of the text, or -2.
        inner: the path to the text in that field.
    """

    names: U8  # UTF-8
    ends: I64  # [1 + columns], end of each name in `names`
    max_line: int  # bytes of the longest line to keep
    keep_meta: bool
    taken: int
    outer: int
    inner: Inner


class Records(NamedTuple):
    """The arrays that `scan` fills, one row per good line.

    Attributes:
        starts: int64[rows], offset of each line.
        text, meta: uint8, the texts and the other fields, UTF-8.
        text_ends, meta_ends: int64[rows + 1], offsets into them.
        spans: int64[rows, columns, 2], start and end of each column's value; -1 if it is missing.
        bad: int64[lines, 3], start, size in bytes and error code of bad lines.
        stack: scratch.
    """

    starts: I64  # [rows], position of each line
    text: U8
    text_ends: I64  # [rows + 1]
    meta: U8
    meta_ends: I64  # [rows + 1]
    spans: I64  # [rows, columns, 2], start and end of each column's value; -1 if it is missing
    bad: I64  # [lines, 3], start, bytes and verdict
    stack: U8  # [MAX_DEPTH - 1], scratch


@kernel
def copy_members(data: U8, i: int, j: int, meta: U8, m: int, opened: int) -> int:
    """Append data[i:j], members of a JSON object, to `meta` at the index `m`; return the index after them.

    - opened: the index in `meta` after the object's brace; a comma is added if members precede.
    """
    if m > opened:
        meta[m] = 44
        m += 1
    return copy(data, i, j, meta, m)


@kernel
def read_inner(data: U8, i: int, inner: Inner, out: Records, first: int, o: int) -> tuple[int, int, int, int]:
    """Write the text inside the value at data[i] to out.text[first:]; return (code, end of text, gap, after).

    The code is ROW or INVALID_UTF8; data[gap:after] is the member that has the text, with a comma. If there is no text,
    the result is (NO_TEXT, first, -1, -1).

    - inner: the names that lead to the text.
    """
    value, gap, after = find_inner(data, i, inner, out.text, o, out.stack)
    if value < 0 or data[value] != 34:
        return NO_TEXT, first, -1, -1
    _, filled = copy_string(data, value + 1, out.text, first)
    return (ROW if filled >= 0 else INVALID_UTF8), max(filled, first), gap, after


@kernel(_nrt=False)
def scan_record(data: U8, i: int, fields: Fields, out: Records, row: int, o: int, m: int) -> tuple[int, int, int, int]:
    """Read the line that begins at data[i]; return (code, index of the newline or -1, end of text, end of meta).

    The code is ROW, BLANK, or an error code. The text is written to out.text[o:], other members to out.meta[m:], and
    the positions of columns' values to out.spans[row]. The two ends are offsets in out.text and out.meta. If a name
    occurs twice, the last field counts.
    """
    i = skip_space(data, i)
    if data[i] == 10:
        return BLANK, i, o, m
    if data[i] != 123:
        i = value_end(data, i, out.stack)
        return (NOT_OBJECT if i >= 0 and data[skip_space(data, i)] == 10 else NOT_JSON), -1, o, m
    text, meta, spans = out.text, out.meta, out.spans[row]
    first, verdict, is_whole = o, NO_TEXT, False
    meta[m] = 123
    m = opened = m + 1
    run = -1  # the start of neighbouring members to keep, which are copied together
    end = i = skip_space(data, i + 1)
    more = data[i] != 125
    while more:
        start = i
        name, i = read_key(data, i, fields.names, fields.ends, text, o)
        if i < 0:
            return NOT_JSON, -1, o, m
        value = i = skip_space(data, i)
        is_whole |= name == 0  # a field with the name of the whole path, which counts instead of the path
        if name == 0 and data[i] == 34:
            i, filled = copy_string(data, i + 1, text, first)
            o = max(filled, first)
            verdict = ROW if filled >= 0 else INVALID_UTF8
        else:
            i = value_end(data, i, out.stack)
            if name == 0:
                verdict, o = NO_TEXT, first
        if i < 0:
            return NOT_JSON, -1, o, m
        if name > 0:
            spans[name - 1, 0], spans[name - 1, 1] = value, i
        if name == fields.outer and not is_whole:
            verdict, o, gap, after = read_inner(data, value, fields.inner, out, first, o)
            if after >= 0 and fields.keep_meta:
                m = copy_members(data, run if run >= 0 else start, gap, meta, m, opened)
                run, opened = after, m
        is_taken = 0 <= name < fields.taken
        if is_taken and run >= 0:
            m = copy_members(data, run, end, meta, m, opened)
            run = -1
        elif not is_taken and run < 0 and fields.keep_meta:
            run = start
        end = i
        i = skip_space(data, i)
        more = data[i] == 44
        if more:
            i = skip_space(data, i + 1)
    if data[i] != 125:
        return NOT_JSON, -1, o, m
    i = skip_space(data, i + 1)
    if run >= 0:
        m = copy_members(data, run, end, meta, m, opened)
    meta[m] = 125
    return (verdict if data[i] == 10 else NOT_JSON), (i if data[i] == 10 else -1), o, m + 1


@kernel
def line_end(data: U8, i: int) -> int:
    """Return the position of the first newline at or after i."""
    i = next_special(data, i)
    while data[i] != 10:
        i = next_special(data, i + 1)
    return i


@kernel(_nrt=False)  # no reference counts, which would cost 7 % with records of arrays
def scan(data: U8, i: int, stop: int, fields: Fields, out: Records) -> tuple[int, int, int]:
    """Read lines of data[i:stop] into `out`, until its space for rows or for bad lines is used up.

    - fields: the fields to find.

    Returns (index in `data` after the last line read, number of rows, number of bad lines).
    """
    rows = wrong = o = m = 0
    out.text_ends[0] = out.meta_ends[0] = 0
    while i < stop and rows < len(out.spans) and wrong < len(out.bad):
        out.spans[rows] = -1
        verdict, end, next_o, next_m = scan_record(data, i, fields, out, rows, o, m)
        if end < 0:
            end = line_end(data, i)
        if end - i > fields.max_line:
            verdict = TOO_LONG
        if verdict == ROW:
            o, m = next_o, next_m
            out.starts[rows] = i
            rows += 1
            out.text_ends[rows], out.meta_ends[rows] = o, m
        elif verdict != BLANK:
            out.bad[wrong, 0], out.bad[wrong, 1], out.bad[wrong, 2] = i, end - i, verdict
            wrong += 1
        i = end + 1
    return i, rows, wrong


@kernel(_nrt=False)
def scan_at(data: U8, starts: I64, fields: Fields, out: Records) -> int:
    """Read the lines of `data` that begin at `starts`, int64[rows], into `out`, one row each; return how many.

    Reading stops at a line that is not a document, or that begins before the last one ends.

    - fields: the fields to find.
    """
    o = m = end = 0
    out.text_ends[0] = out.meta_ends[0] = 0
    for row in range(len(starts)):
        if starts[row] < end:
            return row
        out.spans[row] = -1
        verdict, end, o, m = scan_record(data, starts[row], fields, out, row, o, m)
        if verdict != ROW:
            return row
        out.starts[row], out.text_ends[row + 1], out.meta_ends[row + 1] = starts[row], o, m
    return len(starts)


@kernel
def gather(data: U8, starts: I64, stops: I64, out: U8, ends: I64, kinds: U8) -> None:
    """Write JSON values data[starts[k]:stops[k]] to `out`, one after another: strings unescaped, others as written.

    Fills ends, int64[rows + 1], the ends in `out`, and kinds, uint8[rows]: the first byte of each value, 0 if it is
    missing or not UTF-8.

    - starts, stops: int64[rows]; a start of -1 is a missing value.
    """
    o = 0
    ends[0] = 0
    for row in range(len(starts)):
        i, j = starts[row], stops[row]
        kinds[row] = 0 if i < 0 else data[i]
        if i >= 0 and data[i] == 34:
            _, end = copy_string(data, i + 1, out, o)
            if end < 0:
                kinds[row] = 0
            o = max(o, end)
        elif i >= 0:
            o = copy(data, i, j, out, o)
        ends[row + 1] = o
