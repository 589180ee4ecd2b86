"""Unicode classes and lower-casing as tables, and the kernels that every stage shares: words, normal forms, hashes.

Kernels read a text column as Arrow keeps it: `offsets` int64[n + 1] into `data`, valid UTF-8. Tables are at the fixed
Unicode version of `unicode.py`, so that every Python gives the same words; Python's `re` and `str.lower` are the
reference (tested on every code point). Lower-casing serves hashing only: offsets always refer to unchanged text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from . import unicode
from .kernel import kernel

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

# Bits of `classes()`; what each means is written beside its ranges in unicode.py.
SPACE, LINE, ALPHA, DECIMAL, NUMERIC, NUMBER = 1, 2, 4, 8, 16, 32
MARK, PUNCT, SENTENCE, UPPER, CASED, IGNORABLE = 64, 128, 256, 512, 1024, 2048
WORD = 4096  # `\w`: a letter, anything numeric, or the underscore
BITS = {
    "SPACE": SPACE, "LINE": LINE, "ALPHA": ALPHA, "DECIMAL": DECIMAL, "NUMERIC": NUMERIC, "NUMBER": NUMBER,
    "MARK": MARK, "PUNCT": PUNCT, "SENTENCE": SENTENCE, "UPPER": UPPER, "CASED": CASED, "IGNORABLE": IGNORABLE,
}  # fmt: skip

# Bits of `lowered()`, above the 21 bits of the lower-case code point.
IN_WORD = 1 << 31  # the lower-case character is `\w`
SIGMA = 1 << 30  # U+03A3: final or not depends on its neighbours
DOTTED = 1 << 29  # U+0130: lowers to `i` and U+0307, a mark, which ends the word
POINT = (1 << 21) - 1


@cache
def classes() -> U16:
    """The class bits of every code point, uint16[0x110000]: `classes()[ord(".")] & PUNCT`."""
    table = np.zeros(0x110000, np.uint16)
    for name, bit in BITS.items():
        for first, last in _ranges(unicode.CLASSES[name]):
            table[first : last + 1] |= bit
    table[(table & (ALPHA | NUMERIC)) != 0] |= WORD
    table[ord("_")] |= WORD
    table.flags.writeable = False
    return table


@cache
def lowered() -> U32:
    """The lower-case code point of every code point, with the bits IN_WORD, SIGMA and DOTTED; uint32[0x110000]."""
    table = np.arange(0x110000, dtype=np.uint32)
    for run in unicode.LOWER.split():
        span, _, change = run.partition("/")
        first, last = (int(x, 16) for x in span.split("-"))
        table[first : last + 1 : int(change[0])] += np.uint32(int(change[1:], 16) % (1 << 32))
    table |= np.where(classes()[table] & WORD, np.uint32(IN_WORD), np.uint32(0))
    table[0x3A3] |= np.uint32(SIGMA)
    table[0x130] |= np.uint32(DOTTED)
    table.flags.writeable = False
    return table


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    for span in text.split():
        first, _, last = span.partition("-")
        yield int(first, 16), int(last or first, 16)


@kernel(inline="always")
def code_point(data: U8, i: int) -> tuple[int, int]:
    """The code point that starts at byte `i` of valid UTF-8, and its length in bytes."""
    b = np.int64(data[i])
    if b < 0x80:
        return b, 1
    if b < 0xE0:
        return (b & 0x1F) << 6 | np.int64(data[i + 1]) & 0x3F, 2
    if b < 0xF0:
        return (b & 0x0F) << 12 | (np.int64(data[i + 1]) & 0x3F) << 6 | np.int64(data[i + 2]) & 0x3F, 3
    tail = (np.int64(data[i + 1]) & 0x3F) << 12 | (np.int64(data[i + 2]) & 0x3F) << 6
    return (b & 0x07) << 18 | tail | np.int64(data[i + 3]) & 0x3F, 4
