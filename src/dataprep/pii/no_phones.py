"""Groups of digits that are not a phone number: table rows, dates, post codes, bits, counts.

Slow reference for the tests: tests/twins/phones.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.text import I64, U16, U32, Int

from .digit_groups import at_or_0, is_digit, part
from .number_plans import is_century
from .phone_forms import NONE, form

DRAWN = 50  # the highest number of a lottery
ROW = 2  # further groups like those of a number: it is a table


@part
def joined(points: U32, groups: I64, at: Int, k: Int) -> bool:
    """Return whether groups k and k + 1 are as long as group `at`, separated by the same gap as follows group `at`."""
    size, a, b = groups[at, 1] - groups[at, 0], groups[at, 1], groups[k, 1]
    gap = groups[at + 1, 0] - a
    same = groups[k, 1] - groups[k, 0] == size == groups[k + 1, 1] - groups[k + 1, 0] and groups[k + 1, 0] - b == gap
    for i in range(gap if same else 0):
        same &= points[a + i] == points[b + i]
    return bool(same)


@part
def is_row(points: U32, classes: U16, groups: I64, at: Int, last: Int, called: Int) -> bool:
    """Return whether groups `at` to `last` are part of a row of numbers: two more such groups precede or follow."""
    if at == last:
        return False
    for k in range(at, last):
        if not joined(points, groups, at, k):
            return False
    more = 0
    if last + 1 < len(groups) and form(points, classes, groups, last + 1, called) == NONE:
        for k in range(last, min(last + 2, len(groups) - 1)):
            more += joined(points, groups, at, k)
    for k in range(max(0, at - 2), at):
        more += joined(points, groups, at, k)
    return bool(more >= ROW)


@part
def is_decimal(points: U32, groups: I64, at: Int, last: Int) -> bool:
    """Return whether groups `at` and `last` form a decimal after another decimal: 34191.79001 01043.510047."""
    if last != at + 1 or at < 2 or points[groups[at, 1]] != 46:
        return False
    a, b = groups[at - 2, 1], groups[at - 1, 1]
    return bool(points[a] == 46 and groups[at - 1, 0] - a == 1 and points[b] == 32 and groups[at, 0] - b == 1)


@part
def is_counting(points: U32, groups: I64, at: Int, last: Int) -> bool:
    """Return whether the differences between successive numbers are equal: 01 02 03 04 05, 06 12 18 24, 06 06 06 06."""
    step: Int = 0
    old: Int = 0
    for k in range(at, last + 1):
        value: Int = 0
        for i in range(groups[k, 0], groups[k, 1]):
            value = 10 * value + np.int64(points[i]) - 48
        if k == at + 1:
            step = value - old
        elif k > at and value - old != step:
            return False
        old = value
    return True


@part
def is_day(points: U32, groups: I64, at: Int, last: Int) -> bool:
    """Return whether groups `at` to `last` are a date in eight digits: 12 05 2023, 20230512."""
    number: Int = 0
    n, year_last, year_first = 0, True, True
    for k in range(at, last + 1):
        for i in range(groups[k, 0], groups[k, 1]):
            number = 10 * number + np.int64(points[i]) - 48
            n += 1
        if k < last:
            year_last &= n in (2, 4)
            year_first &= n in (4, 6)
            if groups[k + 1, 0] - groups[k, 1] != 1:
                return False
    if n != 8:
        return False
    year_last &= is_date(number % 10_000, number // 10_000 % 100, number // 1_000_000)
    return year_last or (year_first and is_date(number // 10_000, number // 100 % 100, number % 100))


@part
def is_date(year: Int, month: Int, day: Int) -> bool:
    """Return whether three numbers can be a year of the 20th or 21st century, a month and a day."""
    return bool(1900 <= year < 2100 and 1 <= month <= 12 and 1 <= day <= 31)


@part
def is_something_else(points: U32, groups: I64, at: Int, last: Int, called: Int) -> bool:
    """Return whether groups `at` to `last` are bits, an American post code, an ISBN in a path, or a regular series.

    - called: the group that a label identifies as a phone number.
    """
    s, first = groups[at, 0], groups[at, 1] - groups[at, 0]
    total: Int = 0
    n, bits = 0, last > at
    for k in range(at, last + 1):
        bits = bits and groups[k, 1] - groups[k, 0] == 8
        for i in range(groups[k, 0], groups[k, 1]):
            total += (10 - n) * (np.int64(points[i]) - 48)
            bits = bits and points[i] < 50
            n += 1
    in_path = n == 10 and at == last and at_or_0(points, s - 1) == 47 and not is_digit(at_or_0(points, s - 2))
    if bits or (in_path and total % 11 == 0):
        return True
    if last == at + 1:
        year = points[groups[at, 1]] == 47 and groups[last, 1] - groups[last, 0] == 4
        if year and is_century(points, groups[last, 0]):  # 0092981/2023
            return True
        second = groups[last, 1] - groups[last, 0]
        if first == 5 and second in (3, 4) and groups[last, 0] - groups[at, 1] == 1 and points[groups[at, 1]] == 45:
            return True
    if last < at + 3 or points[s] != 48 or at == called:
        return False
    return is_counting(points, groups, at, last) or (last > at + 3 and is_drawn(points, groups, at, last))


@part
def is_drawn(points: U32, groups: I64, at: Int, last: Int) -> bool:
    """Return whether groups are lottery numbers: two digits each, not above 50, with five of them ascending."""
    old: Int = 0
    six = last >= at + 5  # in any order
    for k in range(at, last + 1):
        i = groups[k, 0]
        value = 10 * (np.int64(points[i]) - 48) + np.int64(points[i + 1]) - 48
        if groups[k, 1] - i != 2 or value > DRAWN or (value <= old and not six):
            return False
        old = value
    return True
