"""Check that bytes are valid UTF-8, and replace characters that HTML or terminals cannot show safely.

Slow reference for the tests: tests/twins/valid.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dataprep.errors import UNPRINTABLE

from .byte_masks import WIDTH, bytes_between, bytes_equal, last_bytes
from .kernel import kernel
from .text import U8, U64, Int

LONG = 4096  # bytes from which the kernel makes up for its slower start


def is_utf8(data: bytes | npt.NDArray[np.uint8] | None) -> bool:
    """Return whether `data` is valid UTF-8; True for None."""
    if data is None or len(data) < LONG:
        try:
            bytes(b"" if data is None else data).decode()
        except UnicodeDecodeError:
            return False
        return True
    view = np.frombuffer(data, np.uint8)
    view.flags.writeable = False  # a kernel is compiled once per type
    return bool(all_valid(view, np.zeros(WIDTH, np.uint8), np.zeros(7, np.uint64)))


@kernel(_nrt=False)
def all_valid(data: U8, last: U8, begun: U64) -> bool:
    """Return whether `data` is valid UTF-8, of which 64 bytes at a time are looked at.

    - last: uint8[64], scratch for the last bytes of `data`.
    - begun: zeros, uint64[7], scratch for `_odd_bytes`.
    """
    step, stop = np.uint64(WIDTH), np.uint64(len(data))
    i, odd, open_ = np.uint64(0), np.uint64(0), np.uint64(0)
    while i + step <= stop and not odd:
        high = bytes_between(data, i, np.uint8(0x80), np.uint8(0xFF))
        if high | open_:
            odd, open_ = _odd_bytes(data, i, high, begun)
        i += step
    last_bytes(data, np.int64(i), np.int64(stop), last)
    high = bytes_between(last, np.uint64(0), np.uint8(0x80), np.uint8(0xFF))
    if not odd and high | open_:
        odd, open_ = _odd_bytes(last, np.uint64(0), high, begun)
    return not odd


@kernel(inline="always")
def _bytes_after(leads: Int, n: Int, begun: U64, k: int) -> Int:
    """Return the mask of the bytes that are `n` after `leads`; begun[k] has those of the last block, and the next's."""
    n = np.uint64(n)
    found = leads << n | begun[k]
    begun[k] = leads >> (np.uint64(WIDTH) - n)
    return found


@kernel(inline="always")
def _odd_bytes(data: U8, i: Int, high: Int, begun: U64) -> tuple[Int, Int]:
    """Return the mask of bytes of data[i:i + 64] that cannot be there in UTF-8; and 0 if no character is incomplete.

    - high: the mask of bytes from 0x80 on.
    - begun: uint64[7], what the characters that began in the last 64 bytes require of the first of these.
    """
    more = bytes_between(data, i, np.uint8(0x80), np.uint8(0xBF))
    two = bytes_between(data, i, np.uint8(0xC2), np.uint8(0xDF))
    three = bytes_between(data, i, np.uint8(0xE0), np.uint8(0xEF))
    four = bytes_between(data, i, np.uint8(0xF0), np.uint8(0xF4))
    wanted = _bytes_after(two | three | four, 1, begun, 0) | _bytes_after(three | four, 2, begun, 1)
    wanted |= _bytes_after(four, 3, begun, 2)
    odd = (wanted ^ more) | (high ^ (more | two | three | four))
    if three | four | begun[3] | begun[4] | begun[5] | begun[6]:
        below_90 = bytes_between(data, i, np.uint8(0x80), np.uint8(0x8F))
        below_a0 = bytes_between(data, i, np.uint8(0x80), np.uint8(0x9F))
        odd |= _bytes_after(bytes_equal(data, i, 0xE0), 1, begun, 3) & below_a0
        odd |= _bytes_after(bytes_equal(data, i, 0xED), 1, begun, 4) & ~below_a0
        odd |= _bytes_after(bytes_equal(data, i, 0xF0), 1, begun, 5) & below_90
        odd |= _bytes_after(bytes_equal(data, i, 0xF4), 1, begun, 6) & ~below_90
    return odd, begun[0] | begun[1] | begun[2]


def printable(text: str) -> str:
    r"""Return the text with surrogates and control characters (also bidirectional ones) replaced by U+FFFD.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
