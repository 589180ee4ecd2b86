"""Decimal digits of every script, read as 0 to 9."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from . import tables


@functools.cache
def _western(signs: str, plain: str) -> npt.NDArray[np.uint32]:
    """Return the code point that replaces each code point, uint32[0x110000]."""
    table = np.arange(0x110000, dtype="<u4")
    for span in tables.CLASSES["DECIMAL"].split():  # from 0 to 9, and again
        digits = np.array(list(tables.points(span)))
        table[digits] = ord("0") + np.arange(len(digits)) % 10
    table[list(map(ord, signs))] = list(map(ord, plain))
    table.flags.writeable = False
    return table


def western(text: str, signs: str = "", plain: str = "") -> str:
    """Return a text with the decimal digits of all scripts as 0-9, and the characters of `signs` replaced by `plain`.

    No other character changes.

    - signs: characters outside ASCII.
    - plain: the characters that replace them, in the same order.

    >>> western("०९८७, ０９０, ٠٦")
    '0987, 090, 06'
    """
    if text.isascii():
        return text
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    return str(_western(signs, plain)[points].tobytes(), "utf-32-le", "surrogatepass")
