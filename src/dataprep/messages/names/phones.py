"""Phone numbers of people: compared by their digits, and found in texts in any form."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

MIN_DIGITS = 7  # of a number that identifies a person
_COUNTRY = 3  # digits of a country's code, at most (E.164)
_CODES = re.compile(r"[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3}")  # of countries (E.164)
_BETWEEN = (
    "[ \t\u00a0\u2007\u2009\u202f./()\u00ad\u2010-\u2015\u2212\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff-]"
)
_PHONE = re.compile(rf"(?:{_BETWEEN}|tel:)*[+\uff0b]?(?:{_BETWEEN}|\d)+", re.IGNORECASE)
_TRUNK = re.compile(r"\(0\)")  # "+212 (0) 6": dialled inside the country only
_RUN = re.compile(rf"\d(?:{_BETWEEN}{{0,4}}\d){{{MIN_DIGITS - 1},}}")
_GAP = rf"{_BETWEEN}{{0,4}}"
_CODE = re.compile(rf"(?:[+\uff0b]|(?<!\d)00){_GAP}((?:\d{_BETWEEN}?){{0,3}}){_GAP}(?:0{_GAP})?\Z")
_ZERO = re.compile(rf"(?<!\d)\(?[0\u0660\u06f0]{_GAP}\Z")
_LINK = re.compile(r"(?:wa\.me/|phone=)(\d{0,3})\Z", re.IGNORECASE)  # the country's code has no + in links
_NO_DIGIT = re.compile(r"\D+")
_BEFORE = 24  # characters in which a country's code is searched


def phone(text: str) -> str:
    """Return the digits of a phone number without +, 00 and a leading 0; "" if `text` is not a phone number.

    >>> phone("+212 (0) 6-12 34 56 78"), phone("06 12 34 56 78"), phone("Ilse 0612345678")
    ('212612345678', '612345678', '')
    """
    if not _PHONE.fullmatch(text):
        return ""
    digits = _ascii(_TRUNK.sub("", text)).lstrip("0")
    return digits if MIN_DIGITS <= len(digits) <= 15 else ""


def same_phone(a: str, b: str) -> bool:
    """Return True if two results of `phone` are the same number; one of them may lack the country code.

    The number without a code must be the whole national number: "12345678" is not +33 6 12 34 56 78.
    """
    short, long = sorted((a, b), key=len)
    return bool(short) and short in (long, _CODES.sub("", long, count=1).lstrip("0"))


def _ascii(text: str) -> str:
    digits = _NO_DIGIT.sub("", text)
    return digits if digits.isascii() else "".join(str(int(c)) for c in digits)


class Phones:
    """A search for known phone numbers in texts, in national or international form.

    known: the numbers, as `phone` returns them.
    """

    def __init__(self, known: Iterable[str]) -> None:
        """Take results of `phone`."""
        self._by_end: dict[str, list[str]] = defaultdict(list)
        for one in sorted(set(known), key=len, reverse=True):
            self._by_end[one[-MIN_DIGITS:]].append(one)

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, known number) for each known number in a text; start and end count characters.

        The ranges do not overlap.
        """
        low = 0
        for run in _RUN.finditer(text) if self._by_end else ():
            digits = _ascii(run[0])
            at: list[int] = []  # where they are
            for stop in range(MIN_DIGITS, len(digits) + 1):
                possible = self._by_end.get(digits[stop - MIN_DIGITS : stop])
                if not possible:
                    continue
                at = at or [i for i in range(*run.span()) if text[i].isdecimal()]
                if stop < len(at) and at[stop] == at[stop - 1] + 1:
                    continue  # the number is longer
                for known in possible:
                    start = _start(text, digits[:stop], at, low, known)
                    if start is not None:
                        low = at[stop - 1] + 1
                        yield start, low, known
                        break


def _start(text: str, digits: str, at: list[int], low: int, known: str) -> int | None:
    """Return where the number begins that ends with `digits`, at or after `low`; None if it is not `known`."""
    n = MIN_DIGITS
    while n < min(len(known), len(digits)) and digits[-n - 1] == known[-n - 1]:
        n += 1
    k = len(digits) - n  # the first of the digits that are equal
    if len(known) - n > _COUNTRY or at[k] < low:
        return None
    from_ = max(low, at[k] - _BEFORE)
    before = text[from_ : at[k]]
    code = _CODE.search(before)
    if code:
        return from_ + code.start() if n == len(known) or _ascii(code[1]) == known[:-n] else None
    link = _LINK.search(before)
    if link:
        return from_ + link.start(1) if n == len(known) or link[1] == known[:-n] else None
    zero = _ZERO.search(before)
    if zero:
        return from_ + zero.start()
    return None if before[-1:].isdecimal() else at[k]
