"""Phone numbers by the plan of one country: groups of digits and signs, without a + and mostly without a 0.

Slow reference for the tests: tests/twins/phones.py
"""

from __future__ import annotations

from dataprep.unicode.text import I64, U16, U32, WORD, Int

from .digit_groups import at_or_0, eat, group_ending, is_digit, is_sign, part, skip

CHINESE = 11  # digits of a mobile phone
ARGENTINE = 13  # digits of a number with the 15 of mobile phones


@part
def plan_end(points: U32, s: Int) -> Int:
    """Return the end of a number in one country's plan that lacks a leading 0 followed by digits; -1 if there is none.

    Examples are 8 (495) 555-01-23 in Russia, 0 (532) 123 45 67 in Turkey, 138-1234-5678 in China, and (11) 91234-5678
    in Brazil.
    """
    first, i = points[s], -1
    if first in (48, 56) and not is_digit(at_or_0(points, s + 1)):  # Turkey, Russia
        k = s + 1
        if at_or_0(points, k) == 32 or (first == 56 and at_or_0(points, k) == 45):
            k += 1
        opened = at_or_0(points, k) == 40
        k += opened
        apart = opened or (first == 56 and k > s + 1)
        i = eat(points, k, 3) if apart and (first == 48 or at_or_0(points, k) in (51, 52, 56, 57)) else -1
        closed = i >= 0 and at_or_0(points, i) == 41
        if not closed and (first == 48 or (k == s + 2 and opened)):
            i = -1
        i += closed
        i = eat(points, skip(points, eat(points, skip(points, eat(points, skip(points, i), 3)), 2)), 2)
    elif first == 49 and 51 <= at_or_0(points, s + 1) <= 57 and eat(points, s, 3) > 0:  # China
        i = eat(points, s + 4, 4) if at_or_0(points, s + 3) == 45 else -1
        i = eat(points, i + 1, 4) if i >= 0 and at_or_0(points, i) == 45 else -1
    if i < 0 and at_or_0(points, s - 1) == 40 and eat(points, s, 2) > 0 and at_or_0(points, s + 2) == 41:  # Brazil
        k = s + 3 + (at_or_0(points, s + 3) == 32)
        years = is_century(points, k) and at_or_0(points, k + 4) == 45 and is_century(points, k + 5)
        years = years and eat(points, k, 4) > 0
        i = -1 if years else eat(points, k + (at_or_0(points, k) == 57 and eat(points, k, 5) > 0), 4)
        i = eat(points, i + 1, 4) if i >= 0 and at_or_0(points, i) == 45 else -1
    return -1 if i >= 0 and is_digit(at_or_0(points, i)) else i


@part
def is_century(points: U32, i: Int) -> bool:
    """Return whether the digits 19 or 20 are at `i`."""
    a, b = at_or_0(points, i), at_or_0(points, i + 1)
    return bool((a == 49 and b == 57) or (a == 50 and b == 48))


@part
def american(points: U32, groups: I64, at: Int) -> Int:
    """Return the index of the last digit group of the United States phone number that begins at group `at`.

    It is written like (212) 555-0123, 212.555.0123 or 1-212-555-0123. Returns -1 if there is no such number.
    """
    one = groups[at, 1] - groups[at, 0] == 1 and points[groups[at, 0]] == 49
    k = at + one
    if k + 2 >= len(groups):
        return -1
    (a, b), (c, d), (e, f) = (groups[k, 0], groups[k, 1]), (groups[k + 1, 0], groups[k + 1, 1]), (
        groups[k + 2, 0], groups[k + 2, 1])  # fmt: skip
    if b - a != 3 or d - c != 3 or f - e != 4 or points[a] < 50 or points[c] < 50:
        return -1
    inner, size = points[b], c - b
    bracket = at_or_0(points, a - 1) == 40 and inner == 41 and (size == 1 or (size == 2 and points[b + 1] == 32))
    if e - d != 1 or not is_sign(points[d]) or not (bracket or (size == 1 and is_sign(inner))):
        return -1
    if one:
        gap, x = a - groups[at, 1], points[groups[at, 1]]
        opened = gap == 2 and points[a - 1] == 40 and x in (32, 45)
        if not (opened or (gap == 1 and (is_sign(x) or x == 32))):
            return -1
    return k + 2


@part
def whole(points: U32, groups: I64, at: Int) -> Int:
    """Return the last group of the American or `plan_end` number that begins at group `at`; -1 if there is none."""
    last = american(points, groups, at)
    if last < 0:
        end = plan_end(points, groups[at, 0])
        last = group_ending(groups, at, end) if end >= 0 else -1
    return last


@part
def is_chinese(points: U32, classes: U16, groups: I64, at: Int) -> bool:
    """Return whether group `at` alone is a Chinese mobile number, 13912345678, with no letter or sign attached."""
    s, end = groups[at, 0], groups[at, 1]
    if end - s != CHINESE or points[s] != 49 or not 51 <= points[s + 1] <= 57:
        return False
    before, after = at_or_0(points, s - 1), at_or_0(points, end)
    zeros = points[end - 1] == 48 and points[end - 2] == 48 and points[end - 3] == 48
    joined = before < 0x250 and (classes[before] & WORD != 0 or before in (35, 36, 43, 45, 46, 47, 61, 95))  # #$+-./=_
    return not (joined or zeros or after in (37, 0x20AC) or (after < 0x250 and classes[after] & WORD != 0))


@part
def argentine(points: U32, groups: I64, at: Int) -> Int:
    """Return the last group of a number such as 011 15 2345 6789 that begins at group `at`; -1 if there is none."""
    s, i = groups[at, 0], groups[at, 1]
    closed = at_or_0(points, i) == 41
    if not 3 <= i - s <= 5 or not (closed or at_or_0(points, i) in (32, 45)):
        return -1
    i = skip(points, i + 1) if closed else i + 1
    if at_or_0(points, i) != 49 or at_or_0(points, i + 1) != 53:
        return -1
    i = skip(points, i + 2)
    for n in (4, 3, 2):
        end = eat(points, skip(points, eat(points, i, n)), 4)
        if end >= 0:
            last, digits = group_ending(groups, at, end), 0
            for k in range(at, last + 1):
                digits += groups[k, 1] - groups[k, 0]
            return last if digits == ARGENTINE else -1
    return -1
