"""Telephone plans: whether the grouping and first digits of a number match a phone number of any country.

The plans are in `plans.txt`, which scripts/make_phones.py writes. It lists the forms of numbers, such as 3-2-2-2 and
(4)6, each with the first three digits of the numbers that are written in this form. This module decides which forms
indicate a phone number without a word.

Slow reference for the tests: tests/twins/plans.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import resources

FIRST = 3  # leading digits that identify a number
LONGEST_AREA = 5  # digits of an area code, with its 0
FEWEST_AREA = 9  # digits of a number with an area code in brackets, or followed by a slash
FEWEST_ZERO = 10  # digits of a number with a 0 that has two groups, or groups as of an amount or a date
YEARS = re.compile(r"(?:19|20)[0-9]{2}[ .-](?:19|20)[0-9]{2}\Z")
HYPHENS = re.compile("[5-9][0-9]{2}-[0-9]{3}-[0-9]{3}")  # with other signs it may be an amount
RANGE = re.compile("([0-9]{2})[0-9]{3}.\\1")  # 30795 30760
# Forms that only phones have, but that no plan has or that are not distinct, and the first digits for which this holds.
MORE = {
    "b": "8[79]", "c": "01[567]|08", "d": "08",  # 87011234567, 081234567890
    "3-7": "3", "5-5": "[6-9]", "1-3-5": "86", "4-4": "0[89]00", "2-3-3": "0[1-9]", "2/3-3": "0[1-9]",
    "2-6": "0[1-9]", "2/6": "0[1-9]", "2-2-2-2-2": "2[57]", "2-1-4-4": "[1-9]", "3-2-3": "[49]", "3-2-2-3": "3",
    "4-4-4": "0[5-9]", "4-4-5": "0[5-9]", "1(4)2-2-2": "8", "1(5)1-2-2": "8", "1(4)6": "8", "1-3-3-2-2": "8",
    "1-4-2-2-2": "8", "4-2-2-2": "80", "2(1)3-4": "06", "2(2)3-3": "06", "2(2)3-4": "06",
}  # fmt: skip
_CLOSE = re.compile(r"(?<=\))[ .-]+|[ .-](?=\()")
_SIZES = re.compile("[0-9]+")
_TO_HYPHEN = str.maketrans(" .", "--")
_SAME_DIGIT = str.maketrans("0123456789", "0000000000")


@cache
def forms() -> dict[str, frozenset[int]]:
    """Return, for each form, the first three digits of its numbers."""
    text = resources.files(__package__).joinpath("plans.txt").read_text("utf-8").replace("\n ", " ")
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: frozenset(numbers_in(ranges)) for name, *ranges in rows}


def numbers_in(ranges: list[str]) -> Iterator[int]:
    """Yield the numbers of ranges such as 610-659 and 680."""
    for one in ranges:
        yield from range(int(one[:FIRST]), int(one[-FIRST:]) + 1)


def form_of(whole: str) -> str:
    """Return the form of a number: `(4)3-2-2` for (0495) 555.01.23, `4/7` for 0160 / 1234567; groups in hexadecimal."""
    return _form(whole.translate(_SAME_DIGIT))


@lru_cache(maxsize=4096)
def _form(shape: str) -> str:
    """Return the form of the numbers with the given signs between groups of the given lengths."""
    plain = _CLOSE.sub("", shape.replace(" / ", "/").replace(" - ", "-"))
    return _SIZES.sub(lambda m: f"{len(m[0]):x}", plain).translate(_TO_HYPHEN)


def shows_phone(whole: str, digits: str) -> bool:
    """Return whether the grouping of a number and its first digits show that it is a phone number.

    - digits: the digits of the number, without signs.
    """
    form = form_of(whole)
    if form in MORE and re.match(MORE[form], digits):
        return not RANGE.match(whole)
    if int(digits[:FIRST]) not in forms().get(form, ()) or digits.startswith("00"):
        return False
    if YEARS.search(whole):
        return False
    return is_distinct(form, digits) or HYPHENS.fullmatch(whole) is not None


def is_distinct(form: str, digits: str) -> bool:
    """Return whether a form does not occur in amounts, dates and rows of figures.

    - digits: the digits of the number.
    """
    if "(" in form:
        return len(digits) >= FEWEST_AREA
    zero, sizes = digits[0] == "0", [int(n, 16) for n in re.split("[/-]", form)]
    if "/" in form:
        return zero and len(digits) >= FEWEST_AREA
    if len(sizes) <= 2:
        return len(sizes) == 2 and zero and len(digits) >= FEWEST_ZERO and sizes[0] <= LONGEST_AREA
    if set(sizes[1:]) == {3} or set(sizes) in ({2}, {4}) or sizes in ([2, 2, 4], [4, 2, 2]):
        return zero and len(digits) >= FEWEST_ZERO
    return True
