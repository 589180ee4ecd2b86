"""Kernels that read a message header which equals the header before except for the digits, as most headers do.

Reading a header in an arbitrary language takes 200 ns. Here its bytes are compared with the header before, eight at a
time, and only its numbers are read, which takes 20 ns. Any other header is left to `scan.py`.

Slow reference for the tests: tests/twins/whatsapp_headers.py
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel

from .eight_bytes import load64
from .fields import Bytes, Ints, read_hour

Words: TypeAlias = npt.NDArray[np.uint64]

WORDS = 8  # of eight bytes, that a header may have
NUMBERS = 6  # the three of the date, the hour, the minute, the second
LENGTH, HALF, FORM_OF, ROWS = 6, 7, 8, 9  # further rows of `places`; FORM_OF: for the caller
DIGIT, WHOLE = np.uint64(0xF0), np.uint64(0xFF)  # the bits of a byte that must be equal
EIGHT, NONE = np.uint64(8), np.uint64(0)


@kernel
def read_same(data: Bytes, start: int, form: Words, places: Ints) -> tuple[int, int, int, int, int]:
    """Return the end of the header at `start` (-1: it has another form), its date's numbers, its second of the day.

    Up to 64 bytes from `start` on are read.

    - form, places: the header before, as `remember` writes them.
    """
    length = places[LENGTH, 0]
    if length == 0:
        return -1, 0, 0, 0, 0
    for k in range((length + 7) // 8):
        if load64(data, start + 8 * k) & form[0, k] != form[1, k]:
            return -1, 0, 0, 0, 0
    a = _number(data, start + places[0, 0], start + places[0, 1])
    b = _number(data, start + places[1, 0], start + places[1, 1])
    c = _number(data, start + places[2, 0], start + places[2, 1])
    hour = _number(data, start + places[3, 0], start + places[3, 1])
    minute = _number(data, start + places[4, 0], start + places[4, 1])
    second = _number(data, start + places[5, 0], start + places[5, 1])
    if min(a, b, c, hour, minute, second) < 0 or minute > 59 or second > 59:
        return -1, 0, 0, 0, 0
    hour = read_hour(hour, places[HALF, 0])
    return (start + length if hour >= 0 else -1), a, b, c, hour * 3_600 + minute * 60 + second


@kernel
def remember(data: Bytes, span: tuple[int, int], half: int, time_at: int, form: Words, places: Ints) -> None:
    """Write the form of the header data[span[0]:span[1]] to form and places, for `read_same`.

    - half: the half of the day that it names.
    - time_at: the number of numbers before the time.
    - form: uint64[2, WORDS], the bits to compare, and the bits wanted.
    - places: int64[ROWS, 2], begin and end of each number. No form is stored for a header that is long, does not end in
      a space, or has digits other than ASCII digits.
    """
    start, stop = span
    form[:] = NONE
    places[:] = 0
    if stop - start > 8 * WORDS or data[stop - 1] != 32:
        return
    n_runs, inside = 0, False
    for k in range(stop - start):
        c = data[start + k]
        digit = 48 <= c <= 57
        n_runs += digit and not inside
        inside = digit
        shift = EIGHT * np.uint64(k % 8)
        mask = DIGIT if digit else WHOLE
        form[0, k // 8] |= mask << shift
        form[1, k // 8] |= (np.uint64(c) & mask) << shift
    if not 5 <= n_runs <= NUMBERS:
        return
    n, inside = 0, False
    for k in range(stop - start):
        digit = 48 <= data[start + k] <= 57
        at = _row(n, n_runs, time_at)
        if digit and not inside:
            places[at, 0] = k
        elif inside and not digit:
            places[at, 1] = k
            n += 1
        inside = digit
    places[LENGTH, 0], places[HALF, 0] = stop - start, half


@kernel
def _row(n: int, n_runs: int, time_at: int) -> int:
    """Return the row in `places` of number n: the date's first if the time follows it (time_at: 3), else the hour's."""
    if time_at > 0:
        return n
    n_time = n_runs - 3
    return 3 + n if n < n_time else n - n_time


@kernel
def _number(data: Bytes, start: int, stop: int) -> int:
    """Return the number data[start:stop] in ASCII digits (-1: another byte is there); 0 if it is empty."""
    value = 0
    for i in range(start, stop):
        digit = int(data[i]) - 48
        if digit > 9:
            return -1
        value = value * 10 + digit
    return value
