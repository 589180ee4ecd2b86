"""Phones that a line break divides, and phones on the line below their label; no other data crosses a line.

A number is joined over one line break, with blanks around it, if its first part stands behind a word or begins with a
+, and neither part is a phone alone; the code of a country with its + may stand before a whole national number. A
label counts for the first number of the next line that is not blank.

Slow reference for the tests: tests/twins/broken.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, Int

from .digit_groups import part
from .kernel import BREAK, MIN_DIGITS, between_bytes, byte_kinds, digit_bytes
from .labels import is_phone_label
from .numbers import phones

DIVIDED, BELOW = 1, 2  # kinds of places
MOST = 15  # digits of a divided number
FEWEST_PART = 2  # digits in each line
REACH = 120  # bytes of each line that are read
SHORT = 30  # characters of a line that is nothing but a label
_ENDS = ":：=;.☎📞📱\ufe0f"  # after a label that is not the whole line
_CODE = re.compile(r"\+[0-9]{1,4}")  # that of a country
_PAIRS = re.compile(r"0[0-9](?:[ .-][0-9]{2}){3}")  # the first eight of ten digits


def across(lines: I64, offsets: I64, data: U8) -> list[tuple[int, int]]:
    """Return (start, end) in bytes of `data` of each phone that a line break divides or that stands below its label.

    lines: those that `kernel.suspects` found with BREAK. offsets: int64[n + 1], offsets of n texts in `data`, UTF-8.
    """
    found, end = list[tuple[int, int]](), 0
    for start, at, stop, kind in places(lines[lines[:, 3] & BREAK != 0], offsets, data, byte_kinds()).tolist():
        first = max(start, at - REACH)
        while first < at and data[first] & 0xC0 == 0x80:
            first += 1
        rest = data[at + 1 : min(stop, at + 1 + 2 * REACH)].tobytes()
        skipped = len(rest) - len(rest.lstrip(b" \t\r\n"))
        above, below = data[first:at].tobytes().decode(), rest[skipped:].partition(b"\n")[0].decode("utf-8", "ignore")
        for a, b in (_divided if kind == DIVIDED else _labelled)(above.rstrip(), below):
            span = first + len(above[:a].encode()), at + 1 + skipped + len(below[:b].encode())
            span = span if kind == DIVIDED else (at + 1 + skipped + len(below[:a].encode()), span[1])
            if span[0] >= end:
                found.append(span)
                end = span[1]
    return found


def _divided(above: str, below: str) -> Iterator[tuple[int, int]]:
    """Yield (start in `above`, end in `below`) of the phone that the break between two lines divides, if there is one.

    above: a line without white space at its end. below: the next one without that at its start.
    """
    between = "" if above[-1:] in ("-", ".", "/") else " "
    at = len(above) + len(between)
    for start, end in phones(f"{above}{between}{below}"):
        if start < len(above) and end > at:
            alone = any(b == len(above) for _, b in phones(above)) and not _PAIRS.fullmatch(above, start)
            if _CODE.fullmatch(above, start) or (not alone and not any(a == 0 for a, _ in phones(below))):
                yield start, end - at


def _labelled(above: str, below: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) in the line `below` of its first number if it is a phone by the label that ends `above`."""
    if not (above[-1:] in _ENDS or (len(above) <= SHORT and not any(map(str.isdigit, above)))):
        return
    at = len(above) + 1
    text = f"{above} {below}"
    if is_phone_label(text, at):
        yield from ((start - at, end - at) for start, end in phones(text) if start in (at, at + 1))


@kernel
def places(lines: I64, offsets: I64, data: U8, kinds: U8) -> I64:
    """Return the line breaks to look at, int64[m, 4]: start and end of the line, end of the text, kind.

    lines: index of the text, start and end of each line, int64[n, 4].

    DIVIDED: the last group of digits before it and the first one after it have 8 to 15 digits together, at least two
    each, or one after a +, and a letter or a + precedes them. BELOW: no digit is before it, and a run of at least eight
    digits after it, or after one blank line.
    """
    out = np.empty((len(lines), 4), np.int64)
    m: Int = 0
    for k in range(len(lines)):
        start, at, stop = lines[k, 1], lines[k, 2], offsets[lines[k, 0] + 1]
        i, blank = at + 1, False
        while i < stop and (data[i] in (9, 13, 32) or (data[i] == 10 and not blank)):
            blank |= data[i] == 10
            i += 1
        last = at - 1
        while last >= start and data[last] in (9, 13, 32):
            last -= 1
        if i == stop or last < start:
            continue
        if digit_bytes(data, i, kinds) == 0 and data[i] not in (40, 43):
            continue
        after = _digits(data, i, stop, kinds)
        if not _is_digit(data, last - (data[last] in (41, 45, 46, 47)), start, kinds):
            if after >= MIN_DIGITS:
                out[m] = start, at, stop, BELOW
                m += 1
        elif not blank and after >= FEWEST_PART and data[i] != 43:
            before = _digits_before(data, last, start, kinds)
            enough = before >= FEWEST_PART or (before == 1 and last > start and data[last - 1] == 43)
            if enough and MIN_DIGITS <= before + after <= MOST:
                out[m] = start, at, stop, DIVIDED
                m += 1
    return out[:m]


@part
def _is_digit(data: U8, i: Int, start: Int, kinds: U8) -> bool:
    """Return whether a decimal digit of any script ends at the byte `i`."""
    while i > start and data[i] & 0xC0 == 0x80:
        i -= 1
    return bool(i >= start and digit_bytes(data, i, kinds) > 0)


@part
def _digits(data: U8, i: Int, stop: Int, kinds: U8) -> Int:
    """Return the number of digits of the run that begins at `i`, in one line."""
    n: Int = 0
    while i < stop:
        size = digit_bytes(data, i, kinds)
        n += size > 0
        size = size or between_bytes(data, i, kinds)
        if size == 0:
            break
        i += size
    return n


@part
def _digits_before(data: U8, i: Int, start: Int, kinds: U8) -> Int:
    """Return the number of digits of the run that ends at `i`; 0 if its line or cell begins with it, without a +."""
    n: Int = 0
    first = i
    while i >= start:
        k = i
        while k > start and data[k] & 0xC0 == 0x80:
            k -= 1
        size = digit_bytes(data, k, kinds)
        if size:
            n += 1
            first = k
        elif between_bytes(data, k, kinds) == 0:
            break
        i = k - 1
    if i >= start and data[i] != 9:
        return n
    return n if first > start and data[first - 1] == 43 else 0
