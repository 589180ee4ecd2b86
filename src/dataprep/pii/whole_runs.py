"""Runs of digit groups with single signs between them, which are hidden completely or not at all.

Slow reference for the tests: tests/twins/phones.py
"""

from __future__ import annotations

from dataprep.unicode.text import I64, U16, U32, WORD, Int

from .digit_groups import at_or_0, is_digit, is_sign, part
from .no_phones import ROW, joined
from .phone_forms import ends

IN_ROW = 8  # groups of figures before a number, at most, between a label and it
EXTENSION = 4  # digits of an extension, at most
LONGEST = 15  # digits of a number and of what follows it
SECOND = 2  # digits of the end of a second number


@part
def stands_alone(points: U32, classes: U16, end: Int) -> bool:
    """Return whether digits that end at `end` are not part of a word, a price, a decimal, a time or a date."""
    c = at_or_0(points, end)
    if c in (36, 37, 95, 0xA3, 0xA5, 0xB0, 0x20AC) or (c < 0x250 and classes[c] & WORD != 0):  # $ % _ £ ¥ ° €
        return False
    return not ((is_sign(c) or c in (44, 47, 58)) and is_digit(at_or_0(points, end + 1)))


@part
def extends(points: U32, classes: U16, groups: I64, at: Int, last: Int, k: Int, called: Int) -> bool:
    """Return whether group k + 1 belongs to the run of the number in groups `at` to `last`, which extends to group k.

    - called: the group that a label identifies as a phone number.
    """
    if k + 1 >= len(groups) or groups[k + 1, 0] - groups[k, 1] != 1:
        return False
    c, end, inner = at_or_0(points, groups[k, 1]), groups[k + 1, 1], groups[last - 1, 1] if last > at else -1
    alone = stands_alone(points, classes, end)
    if inner >= 0 and groups[last, 0] - inner == 1 and at_or_0(points, inner) == c:
        return alone or at_or_0(points, end) == c
    size = end - groups[k + 1, 0]
    return bool(alone and ((at == called and c == 45 and size <= EXTENSION) or is_second(points, groups, at, last, k)))


@part
def is_second(points: U32, groups: I64, at: Int, last: Int, k: Int) -> bool:
    """Return whether group k + 1 is the end of a second number: 06 12 34 56 78/79."""
    if not k == last > at or points[groups[k, 1]] != 47 or groups[k + 1, 1] - groups[k + 1, 0] != SECOND:
        return False
    return bool(k + 2 == len(groups) or groups[k + 2, 0] - groups[k + 1, 1] > 1)  # not 98 123 456/98 123 457


@part
def to_end(points: U32, classes: U16, groups: I64, at: Int, last: Int, called: Int) -> Int:
    """Return the last group of the run in which groups `at` to `last` are a number; -1 if it is not a phone number.

    A run is a series of groups with the same sign between any two of them. It is one number or none, so that no number
    is hidden only in part; however, another phone number may begin in it. After a label, -15 is part of the number too.
    """
    k = last
    while extends(points, classes, groups, at, last, k, called) and ends(points, classes, groups, k + 1, called)[1] < 0:
        k += 1
    digits = 0
    for g in range(at, k + 1):
        digits += groups[g, 1] - groups[g, 0]
    if digits > LONGEST and at != called and at_or_0(points, groups[at, 0] - 1) != 43 and k > last:
        return -1  # 0018247-73.2022.8.26.0100
    if k == last or at == called or (k == last + 1 and is_second(points, groups, at, last, last)):
        return k
    rising = True  # 04 12 23 34 41 49
    for g in range(at, k):
        i, j = groups[g, 0], groups[g + 1, 0]
        rising &= groups[g, 1] - i == groups[g + 1, 1] - j
        while rising and i + 1 < groups[g, 1] and points[i] == points[j]:
            i, j = i + 1, j + 1
        rising &= points[i] <= points[j]
    return -1 if rising or (k - last > ROW and at_or_0(points, groups[at, 0] - 1) != 43) else k


@part
def row_start(points: U32, groups: I64, at: Int) -> Int:
    """Return the start of the groups before group `at` that are as long as it and are separated by spaces."""
    k, size = at, groups[at, 1] - groups[at, 0]
    while k > max(0, at - IN_ROW) and groups[k - 1, 1] - groups[k - 1, 0] == size:
        if groups[k, 0] - groups[k - 1, 1] != 1 or points[groups[k - 1, 1]] != 32:
            break
        k -= 1
    return groups[k, 0]


@part
def is_inner(points: U32, groups: I64, at: Int) -> bool:
    """Return whether groups as long as group `at` precede and follow it, separated by slashes: 12/06/12/34/56/78."""
    if at == 0 or at + 1 >= len(groups):
        return False
    even = groups[at, 1] - groups[at, 0] == groups[at - 1, 1] - groups[at - 1, 0]
    return bool(even and joined(points, groups, at - 1, at) and points[groups[at, 1]] == 47)
