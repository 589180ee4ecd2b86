"""The JSON scanner behind the JSONL reader: a block of lines to text, meta and column spans in one pass.

It never builds values: it checks the grammar, unescapes the text field into an output buffer, and copies what is left
of the record, as it was written, into meta, so that numbers beyond 64 bits or beyond double precision survive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataprep.unicode.kernel import kernel

from .grammar import I64, U8, copy, copy_string, next_special, skip_space, value_end

ROW, BLANK, NOT_JSON, NOT_OBJECT, NO_TEXT, INVALID_UTF8, TOO_LONG = range(7)
REASONS = {
    NOT_JSON: "not_json",
    NOT_OBJECT: "not_an_object",
    NO_TEXT: "no_text",
    INVALID_UTF8: "invalid_utf8",
    TOO_LONG: "too_long",
}
MAX_DEPTH = 1_024  # as orjson: what we accept it can read back


@kernel
def match(key: U8, i: int, j: int, names: U8, ends: I64) -> int:
    """Which of `names` (UTF-8, the k-th ending at ends[k]) is key[i:j], or -1."""
    start = 0
    for k in range(len(ends)):
        if ends[k] - start == j - i:
            n = 0
            while n < j - i and names[start + n] == key[i + n]:
                n += 1
            if n == j - i:
                return k
        start = ends[k]
    return -1


@kernel
def read_key(data: U8, i: int, names: U8, ends: I64, scratch: U8, at: int) -> tuple[int, int]:
    """Which of `names` the key at i is (-1: none), and the position after its colon, or -1 if there is no key."""
    if data[i] != 34:
        return -1, -1
    j = next_special(data, i + 1)
    if data[j] == 34:
        name = match(data, i + 1, j, names, ends)
        i = j + 1
    else:
        i, end = copy_string(data, i + 1, scratch, at)
        name = match(scratch, at, end, names, ends) if end >= 0 else -1
        if i < 0:
            return -1, -1
    i = skip_space(data, i)
    return name, (i + 1 if data[i] == 58 else -1)


@kernel
def copy_members(data: U8, i: int, j: int, meta: U8, m: int, opened: int) -> int:
    """Append members to the object that was opened at `opened`; the position after them."""
    if m > opened:
        meta[m] = 44
        m += 1
    return copy(data, i, j, meta, m)


@kernel
def scan_record(
    data: U8,
    i: int,
    names: U8,
    ends: I64,
    stack: U8,
    text: U8,
    o: int,
    meta: U8,
    m: int,
    keep_meta: Any,
    spans: I64,
) -> tuple[int, int, int, int]:
    """Read one line: its verdict, its newline's position (-1: look for it), the positions after text and meta.

    `spans` int64[columns, 2] gets where the values of the other names lie (the last one wins, as everywhere).
    """
    i = skip_space(data, i)
    if data[i] == 10:
        return BLANK, i, o, m
    if data[i] != 123:
        i = value_end(data, i, stack)
        return (NOT_OBJECT if i >= 0 and data[skip_space(data, i)] == 10 else NOT_JSON), -1, o, m
    first, verdict = o, NO_TEXT
    meta[m] = 123
    m += 1
    opened = m
    run = -1  # where the members to keep, one after another, started: they are copied together
    end = i = skip_space(data, i + 1)
    more = data[i] != 125
    while more:
        start = i
        name, i = read_key(data, i, names, ends, text, o)
        if i < 0:
            return NOT_JSON, -1, o, m
        i = skip_space(data, i)
        value = i
        if name == 0 and data[i] == 34:
            i, filled = copy_string(data, i + 1, text, first)
            o = max(filled, first)
            verdict = ROW if filled >= 0 else INVALID_UTF8
        else:
            i = value_end(data, i, stack)
            if name == 0:
                verdict, o = NO_TEXT, first
        if i < 0:
            return NOT_JSON, -1, o, m
        if name > 0:
            spans[name - 1, 0], spans[name - 1, 1] = value, i
        if name >= 0 and run >= 0:
            m = copy_members(data, run, end, meta, m, opened)
            run = -1
        elif name < 0 and run < 0 and keep_meta:
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
    """The position of the first newline at or after i."""
    i = next_special(data, i)
    while data[i] != 10:
        i = next_special(data, i + 1)
    return i


@kernel
def scan(
    data: U8,
    i: int,
    stop: int,
    names: U8,
    ends: I64,
    max_line: int,
    keep_meta: Any,
    starts: I64,
    text: U8,
    text_ends: I64,
    meta: U8,
    meta_ends: I64,
    spans: I64,
    bad: I64,
) -> tuple[int, int, int]:
    """Read lines of data[i:stop] until the rows or the bad lines are full.

    names uint8 with ends int64[1 + columns]: the text field's name, then those of the columns. Fills starts
    int64[rows], text and meta with their ends int64[rows + 1], spans int64[rows, columns, 2] (-1: missing) and bad
    int64[lines, 3] (start, bytes, verdict). Returns the position reached, the rows, the bad lines.
    """
    stack = np.empty(MAX_DEPTH - 1, np.uint8)
    rows = wrong = o = m = 0
    text_ends[0] = meta_ends[0] = 0
    while i < stop and rows < len(spans) and wrong < len(bad):
        spans[rows] = -1
        verdict, end, next_o, next_m = scan_record(
            data, i, names, ends, stack, text, o, meta, m, keep_meta, spans[rows]
        )
        if end < 0:
            end = line_end(data, i)
        if end - i > max_line:
            verdict = TOO_LONG
        if verdict == ROW:
            o, m = next_o, next_m
            starts[rows] = i
            rows += 1
            text_ends[rows], meta_ends[rows] = o, m
        elif verdict != BLANK:
            bad[wrong, 0], bad[wrong, 1], bad[wrong, 2] = i, end - i, verdict
            wrong += 1
        i = end + 1
    return i, rows, wrong


@kernel
def gather(data: U8, starts: I64, stops: I64, out: U8, ends: I64, kinds: U8) -> None:
    """The values data[starts:stops] one after another in out: strings unescaped, all else as written.

    Fills ends int64[rows + 1] and kinds uint8[rows]: the value's first byte, 0 where it is missing or has no UTF-8.
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
