"""Lists of byte strings in the form that kernels read; search for them at line starts and ends; case folding.

Slow reference for the tests: tests/twins/c4.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, POINT, U8, U32, Int, code_point, lowered, step_back


class Packed(NamedTuple):
    """A list of byte strings in two arrays: string k is data[starts[k]:starts[k + 1]]."""

    data: U8
    starts: I64


def pack(strings: Sequence[bytes | str]) -> Packed:
    """Return the strings as two arrays, for kernels; str is encoded as UTF-8."""
    raw = [s.encode() if isinstance(s, str) else s for s in strings]
    data = np.frombuffer(b"".join(raw) or b"\0", np.uint8).copy()
    return Packed(data, np.cumsum([0, *map(len, raw)], dtype=np.int64))


class Marks(NamedTuple):
    """Marks that can end a line or a sentence, for kernels.

    Attributes:
        single: uint8[0x110000], 1 for each code point that is a mark.
        longer: marks of several characters.
        n: the number of marks.
    """

    single: U8
    longer: Packed
    n: int


@lru_cache(maxsize=16)
def pack_marks(marks: tuple[str, ...]) -> Marks:
    """Pack `marks`, strings that may end a sentence, into the arrays that kernels (compiled functions) read."""
    single = np.zeros(0x110000, np.uint8)
    single[[ord(mark) for mark in marks if len(mark) == 1]] = 1
    return Marks(single, pack([mark for mark in marks if len(mark) > 1]), len(marks))


def fold_chars(text: str) -> str:
    """Return the text in lower case; each character is replaced by one character, so that character offsets stay valid.

    A final sigma becomes an ordinary small sigma.
    """
    return "".join(chr(int(lowered()[ord(c)]) & POINT) for c in text).replace("ς", "σ")


@kernel(inline="always")
def fold_char(c: Int, lower: U32) -> Int:
    """Return a code point in lower case, as `fold_chars` writes it.

    - lower: uint32, the lower case of each code point.
    """
    small = np.int64(lower[c] & POINT)
    return np.int64(0x3C3) if small == 0x3C2 else small


@kernel(_nrt=False)
def starts_with(line: U8, a: int, b: int, strings: Packed, k: int) -> int:
    """Return the length in bytes of string number `k` of `strings` if line[a:b] starts with it, else 0."""
    start, stop = strings.starts[k], strings.starts[k + 1]
    if stop - start > b - a:
        return 0
    for i in range(start, stop):
        if line[a + i - start] != strings.data[i]:
            return 0
    return int(stop - start)


@kernel(_nrt=False)
def starts_with_one(line: U8, a: int, b: int, strings: Packed) -> int:
    """Return the length in bytes of the longest of `strings` with which line[a:b] starts; 0 if there is none."""
    size = 0
    for k in range(len(strings.starts) - 1):
        size = max(size, starts_with(line, a, b, strings, k))
    return size


@kernel(_nrt=False)
def ends_with_one(line: U8, a: int, b: int, strings: Packed) -> bool:
    """Return True if line[a:b] ends with one of `strings`."""
    for k in range(len(strings.starts) - 1):
        size = strings.starts[k + 1] - strings.starts[k]
        if size <= b - a and starts_with(line, b - size, b, strings, k) == size:
            return True
    return False


@kernel(_nrt=False)
def ends_with_mark(line: U8, a: int, b: int, marks: Marks) -> bool:
    """Return True if line[a:b] ends with one of `marks`."""
    if a >= b:
        return False
    last: Int = np.int64(line[b - 1])
    if last >= 0x80:
        last, _ = code_point(line, step_back(line, b))
    return marks.single[last] != 0 or ends_with_one(line, a, b, marks.longer)
