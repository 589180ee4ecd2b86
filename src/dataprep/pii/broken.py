"""Phone numbers that a line break divides, and those on the line below their label.

A number is joined across one line break, with blanks around it, if its first part follows a word or begins with a +,
and neither part is a phone number by itself. The country code with its +, an area code or a single digit may precede a
part that is a phone number by itself. A label applies to the first number of the next line that is not blank.

Slow reference for the tests: tests/twins/broken.py
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, Int

from .digit_groups import part
from .kernel import BREAK, MIN_DIGITS, between_bytes, byte_kinds, digit_bytes
from .labels import is_phone_label
from .numbers import phones
from .signs import plain

DIVIDED, BELOW = 1, 2  # kinds of places
MOST = 15  # digits of a divided number
FEWEST_PART = 2  # digits in each line
FEWEST_BELOW = 7  # after a single digit
REACH = 120  # bytes of each line that are read
SHORT = 30  # characters of a line that consists only of a label
_ENDS = ":：=;.☎📞📱\ufe0f"  # after a label that is not the whole line
_CODE = re.compile(r"\+[0-9]{1,4}")  # that of a country
_BEGINS = ("0", "(", "+")  # signs that begin a number of its own
_AREA = re.compile(r"0[0-9]{1,3}|[(]0?[0-9]{1,3}[)]|[0-9]")  # or the digit with which all numbers of a country begin
_PAIRS = re.compile(r"0[0-9](?:[ .-][0-9]{2}){3}")  # the first eight of ten digits


def across(lines: I64, offsets: I64, data: U8) -> list[tuple[int, int]]:
    """Return (start, end) in bytes of `data` of each phone number that a line break divides or that is below its label.

    - lines: the lines that `kernel.suspects` found with BREAK.
    - offsets: int64[n + 1], the offsets of n texts in `data`, UTF-8 bytes.
    """
    rows = places(lines[lines[:, 3] & BREAK != 0], offsets, data, byte_kinds()).tolist()
    pairs = [Pair.read(start, at, stop, kind, data) for start, at, stop, kind in rows]
    pairs = [pair for pair in pairs if pair.kind == DIVIDED or is_below_label(pair.above, pair.below)]
    found, end = list[tuple[int, int]](), 0
    for k, a, b in _phones_of([pair.joined for pair in pairs]):
        pair = pairs[k]
        at = len(pair.joined) - len(pair.below)
        if pair.kind == DIVIDED and a < len(pair.above) and b > at and is_divided(pair.above, pair.below, a):
            start = pair.first + len(pair.above[:a].encode())
        elif pair.kind == BELOW and a in (at, at + 1):
            start = pair.second + len(pair.below[: a - at].encode())
        else:
            continue
        if start >= end:
            end = pair.second + len(pair.below[: b - at].encode())
            found.append((start, end))
    return found


class Pair(NamedTuple):
    """Two lines: the kind of line break, the byte offsets of their texts in the buffer, the texts, and both joined.

    Attributes:
        above: the first line, without trailing white space.
        below: the second line, without leading white space.
    """

    kind: int
    first: int
    second: int
    above: str
    below: str
    joined: str

    @classmethod
    def read(cls, start: int, at: int, stop: int, kind: int, data: U8) -> Pair:
        """Return the lines on both sides of a line break, from a row of `places` and the UTF-8 buffer `data`."""
        first = max(start, at - REACH)
        while first < at and data[first] & 0xC0 == 0x80:
            first += 1
        rest = data[at + 1 : min(stop, at + 1 + 2 * REACH)].tobytes()
        skipped = len(rest) - len(rest.lstrip(b" \t\r\n"))
        above, below = data[first:at].tobytes().decode(), rest[skipped:].partition(b"\n")[0].decode("utf-8", "ignore")
        above = above.rstrip()
        between = "" if kind == DIVIDED and above[-1:] in ("-", ".", "/") else " "
        return cls(kind, first, at + 1 + skipped, above, below, f"{above}{between}{below}")


def _phones_of(texts: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield (index of the text, start, end) of the phone numbers in one-line texts, which are searched together."""
    starts = list(itertools.accumulate((len(text) + 1 for text in texts), initial=0))
    for start, end in phones("\n".join(texts)):
        k = bisect_right(starts, start) - 1
        yield k, start - starts[k], end - starts[k]


def is_divided(above: str, below: str, start: int) -> bool:
    """Return whether the number that begins at `start` of the line `above` is one number divided by the line break.

    It is one number if neither line contains a complete phone number, or if the first line contains only its area code.
    """
    above = plain(above)
    if _CODE.fullmatch(above, start) or _AREA.fullmatch(above, start):
        return True
    if any(b == len(above) for _, b in phones(above)) and not _PAIRS.fullmatch(above, start):
        return False
    return below[:1] not in _BEGINS or not any(a == 0 for a, _ in phones(below))


def is_below_label(above: str, below: str) -> bool:
    """Return whether the line `above` ends in a phone label, for a number with which the line `below` begins."""
    if not (above[-1:] in _ENDS or (len(above) <= SHORT and not any(map(str.isdigit, above)))):
        return False
    return is_phone_label(f"{above} {below}", len(above) + 1)


@kernel
def places(lines: I64, offsets: I64, data: U8, kinds: U8) -> I64:
    """Return the line breaks to examine, int64[m, 4]: start and end of the line, end of the text, kind.

    DIVIDED: the last group of digits before the line break and the first group after it have 8 to 15 digits together;
    each has at least two, or one after a + or before at least seven; and a letter or a + precedes them. BELOW: no digit
    precedes the line break, and a run of at least eight digits follows it, possibly after one blank line.

    - lines: the index of the text, and the start and end of each line, int64[n, 4].
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
            plus = last > start and data[last - 1] == 43
            enough = before >= FEWEST_PART or (before == 1 and (plus or after >= FEWEST_BELOW))
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
    """Return the digits in the run that ends at `i`; 0 if it starts its line or cell without a +."""
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
