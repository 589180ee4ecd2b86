"""Steps over UTF-8 in a buffer of bytes: decode a code point, write one, go back one. Twin: tests/twins/text.py."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .kernel import kernel

U8 = npt.NDArray[np.uint8]
Int: TypeAlias = Any  # inside a kernel: NumPy's integers and Python's are one


@kernel(inline="always")
def code_point(data: U8, i: Int) -> tuple[Int, Int]:
    """Return the code point that starts at byte `i` of valid UTF-8, and its length in bytes."""
    b: Int = np.int64(data[i])
    if b < 0x80:
        return b, 1
    if b < 0xE0:
        return (b & 0x1F) << 6 | np.int64(data[i + 1]) & 0x3F, 2
    if b < 0xF0:
        return (b & 0x0F) << 12 | (np.int64(data[i + 1]) & 0x3F) << 6 | np.int64(data[i + 2]) & 0x3F, 3
    tail = (np.int64(data[i + 1]) & 0x3F) << 12 | (np.int64(data[i + 2]) & 0x3F) << 6
    return (b & 0x07) << 18 | tail | np.int64(data[i + 3]) & 0x3F, 4


@kernel(inline="always")
def put(out: U8, k: Int, c: Int) -> Int:
    """Write code point `c` as UTF-8 at `out[k:]`; return the offset of the next one."""
    if c < 0x80:
        out[k] = c
        return k + 1
    if c < 0x800:
        out[k], out[k + 1] = 0xC0 | c >> 6, 0x80 | c & 0x3F
        return k + 2
    if c < 0x10000:
        out[k], out[k + 1], out[k + 2] = 0xE0 | c >> 12, 0x80 | c >> 6 & 0x3F, 0x80 | c & 0x3F
        return k + 3
    out[k], out[k + 1] = 0xF0 | c >> 18, 0x80 | c >> 12 & 0x3F
    out[k + 2], out[k + 3] = 0x80 | c >> 6 & 0x3F, 0x80 | c & 0x3F
    return k + 4


@kernel(_nrt=False)
def code_size(lead: int) -> int:
    """Return the length in bytes of the code point whose first byte is `lead`."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@kernel(_nrt=False)
def step_back(data: U8, i: int) -> int:
    """Return the offset of the code point before the one at byte `i`."""
    i -= 1
    while data[i] & 0xC0 == 0x80:
        i -= 1
    return i


@kernel(_nrt=False)
def whole_points(data: U8, start: int, stop: int) -> int:
    """Return the greatest offset up to `stop` that splits no code point of the text from `start` on."""
    while stop > start and data[stop] & 0xC0 == 0x80:
        stop -= 1
    return stop
