"""Decimal digits of every script, read as 0 to 9."""

from __future__ import annotations

import functools
import re

from . import tables


@functools.cache
def _other() -> tuple[re.Pattern[str], dict[int, str]]:
    """Return a pattern of the digits that are not Western, and the Western form of each by its code point."""
    western: dict[int, str] = {}
    for span in tables.CLASSES["DECIMAL"].split():  # from 0 to 9, and again
        western |= {point: str(i % 10) for i, point in enumerate(tables.points(span))}
    western = {point: digit for point, digit in western.items() if point >= 0x80}
    return re.compile(f"[{''.join(map(chr, western))}]"), western


def western(text: str) -> str:
    """Return a text with the decimal digits of all scripts as 0-9; no other character changes.

    >>> western("०९८७, ０９０, ٠٦")
    '0987, 090, 06'
    """
    if text.isascii():
        return text
    pattern, digits = _other()
    return pattern.sub(lambda m: digits[ord(m[0])], text)
