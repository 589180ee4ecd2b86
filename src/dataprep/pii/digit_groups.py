"""Groups of digits in a line, and the signs between them: the elements of the compiled search for phone numbers.

The line is an array of code points; its digits, dashes and spaces are ASCII, and it contains no invisible characters
(`numbers.py`). A run is a series of groups of digits with one to four separators between two groups. `groups` is
int64[n, 2]: the start and the end of each group of a run.

Slow reference for the tests: tests/twins/phones.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U32, Int

LONGEST_GAP = 4  # separators between two groups of a run

# For kernels that only kernels call: without the code that counts references, they are compiled in less time.
part = kernel(cache=False, _nrt=False)


@part
def is_digit(c: Int) -> bool:
    """Return whether a code point is a Western digit."""
    return bool(48 <= c <= 57)


@part
def is_sign(c: Int) -> bool:
    """Return whether a code point is a hyphen or a full stop."""
    return bool(c in (45, 46))


@part
def at_or_0(points: U32, i: Int) -> Int:
    """Return the code point at offset `i`; 0 if the offset is outside the line."""
    return np.int64(points[i]) if 0 <= i < len(points) else 0


@part
def run_end(points: U32, i: Int) -> Int:
    """Return the end of the run of groups that begins with the digit at `i`."""
    while True:
        while i < len(points) and is_digit(points[i]):
            i += 1
        k = i
        while k < len(points) and k <= i + LONGEST_GAP:
            c = points[k]
            if not (is_sign(c) or c in (32, 40, 41, 43, 47)):  # ( ) + /
                break
            k += 1
        if k == i or k > i + LONGEST_GAP or k == len(points) or not is_digit(points[k]):
            return i
        i = k


@kernel
def groups_of(points: U32, start: Int, stop: Int) -> I64:
    """Return the groups of digits in points[start:stop], int64[n, 2]: the start and the end of each group."""
    n = 0
    for i in range(start, stop):
        n += is_digit(points[i]) and (i == start or not is_digit(points[i - 1]))
    out = np.empty((n, 2), np.int64)
    n = 0
    for i in range(start, stop):
        if is_digit(points[i]):
            if i == start or not is_digit(points[i - 1]):
                out[n, 0] = i
                n += 1
            out[n - 1, 1] = i + 1
    return out


@part
def ends_with(points: U32, end: Int, word: bytes) -> bool:
    """Return whether points[:end] ends with a word of ASCII characters."""
    if end < len(word):
        return False
    same = True
    for k in range(len(word)):
        same &= points[end - len(word) + k] == word[k]
    return same


@part
def eat(points: U32, i: Int, n: Int) -> Int:
    """Return the offset after `n` digits at `i`; -1 if there are fewer digits, or if `i` is below 0."""
    if i < 0 or i + n > len(points):
        return -1
    for k in range(i, i + n):
        if not is_digit(points[k]):
            return -1
    return i + n


@part
def skip(points: U32, i: Int) -> Int:
    """Return the offset after the space or hyphen at `i`, or `i` if there is no space or hyphen."""
    return i + 1 if i >= 0 and at_or_0(points, i) in (32, 45) else i


@part
def group_ending(groups: I64, at: Int, end: Int) -> Int:
    """Return the group, from group `at` on, that ends at the offset `end`; -1 if none does."""
    for k in range(at, len(groups)):
        if groups[k, 1] >= end:
            return k if groups[k, 1] == end else -1
    return -1
