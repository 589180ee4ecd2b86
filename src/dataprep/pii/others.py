"""Find numbers that are not phone numbers: dates and book numbers."""

from __future__ import annotations

import re

_YEAR = "(?:[0-9]{4}|[0-9]{2})"
# What precedes is tried after the first digit, which makes the search fast.
_DATE = re.compile(  # 05.06.2024-06.07.2025, 05.06.2024, 5/6/24, 2024-06-05
    rf"[0-9](?<![0-9][0-9])(?<![0-9][./-][0-9])"
    rf"(?:[0-9]?([./])[0-9]{{1,2}}\1{_YEAR}-[0-9]{{1,2}}\1[0-9]{{1,2}}\1{_YEAR}|[0-9]?([./-])[0-9]{{1,2}}\2{_YEAR}"
    r"|[0-9]{3}([./-])[0-9]{1,2}\3[0-9]{1,2})(?![0-9]|[./-][0-9])"
)
_ISBN = re.compile(  # 978 2 07 036038 4, 978 2070360384
    r"9(?<![0-9]9)7[89](?:[ -][0-9]{10}|([ -])[0-9]{1,5}\1[0-9]{1,7}\1[0-9]{1,7}\1[0-9])(?![0-9])"
)
_ISBN_DIGITS = 13


def dates_and_books(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return (start, end) of the dates and ISBNs in text[start:end], in order.

    Neither `start` nor `end` may be inside a date or an ISBN.
    """
    found: list[tuple[int, int]] = []
    if any(text.find(sign, start, end) >= 0 for sign in "./-"):
        found += (m.span() for m in _DATE.finditer(text, start, end))
    if text.find("97", start, end) >= 0:
        books = _ISBN.finditer(text, start, end)
        found += (m.span() for m in books if sum(map(str.isdigit, m[0])) == _ISBN_DIGITS)
        found.sort()
    return found
