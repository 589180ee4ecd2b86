"""Forms of phone numbers: their first digits, the signs between their groups, and their last groups.

Slow reference for the tests: tests/twins/phones.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.text import I64, U16, U32, WORD, Int

from .countries import FEWEST as FEWEST_OF
from .digit_groups import at_or_0, ends_with, is_digit, is_sign, part
from .number_plans import argentine, is_chinese, whole

SHORT = 3  # digits of a group that begins a number without a sign or 0 in front of it
AREA = 5  # digits of an area code, at most
COMPACT = 9  # digits that form a complete number without a sign
LEAST = 8  # digits of a phone
NONE, WORLD, NATIONAL, MENTION, WHOLE, CALLED = range(6)  # forms; WHOLE: of one country; CALLED: by a label
WA, SEND, ENCODED = b"wa.me/", b"phone=", b"=%2"  # before an international number without a +


@part
def is_link(points: U32, start: Int) -> bool:
    """Return whether a link to a phone, such as wa.me/, ends before `start`."""
    before = at_or_0(points, start - 1)
    if before in (66, 98):  # %2B
        return ends_with(points, start - 1, ENCODED)
    return ends_with(points, start, WA) if before == 47 else before == 61 and ends_with(points, start, SEND)


@part
def is_exponent(points: U32, classes: U16, start: Int) -> bool:
    """Return whether the + before `start` is part of an exponent (1.5E+12) or a code point (U+3000)."""
    letter, before = at_or_0(points, start - 2), at_or_0(points, start - 3)
    if letter in (69, 101):
        return is_digit(before) or before == 46
    return bool(letter == 85 and classes[before] & WORD == 0)


@part
def is_zip(points: U32, classes: U16, start: Int, size: Int) -> bool:
    """Return whether the group of `size` digits at `start` is the 4 of ZIP+4, and not a country code after a word."""
    return bool(size == 1 and points[start] not in (49, 55) and classes[at_or_0(points, start - 2)] & WORD != 0)


@part
def fewest(points: U32, s: Int) -> Int:
    """Return the minimum digits of an international number whose first digit is at `s`; 0 if its code is unknown.

    Only the digits of its first group are read.
    """
    code: Int = 0
    n = 0
    while n < 3 and is_digit(at_or_0(points, s + n)):
        code = 10 * code + np.int64(points[s + n]) - 48
        n += 1
    if n == 0:
        return 0
    return np.int64(FEWEST_OF[code * 10 ** (3 - n)])


@part
def form(points: U32, classes: U16, groups: I64, at: Int, called: Int) -> Int:
    """Return the form of a number beginning at group `at`, by its first digits; NONE if no phone number begins so.

    - called: the group that a label identifies as a phone number; -1 if there is no such group.
    """
    s, size = groups[at, 0], groups[at, 1] - groups[at, 0]
    before, zero = at_or_0(points, s - 1), points[s] == 48
    if before == 43 and (not zero or size > 1):  # +
        other = is_exponent(points, classes, s) or is_zip(points, classes, s, size)
        return NONE if other or (not zero and fewest(points, s) == 0) else WORLD
    if zero:
        if size > 1 and points[s + 1] != 48:
            return NATIONAL
        if size > 2 and points[s + 2] != 48:
            return WORLD
    elif 10 <= size <= 15 and (
        (before == 64 and classes[at_or_0(points, s - 2)] & WORD == 0) or is_link(points, s)  # @
    ):
        return MENTION
    if (size <= SHORT and whole(points, groups, at) >= 0) or is_chinese(points, classes, groups, at):
        return WHOLE
    return CALLED if at == called and not (zero and size > 1 and points[s + 1] == 48) else NONE


@part
def is_closed(points: U32, i: Int) -> bool:
    """Return whether one to four digits at `i` are followed by a closing bracket."""
    end = i
    while is_digit(at_or_0(points, end)):
        end += 1
    return bool(i < end <= i + 4 and at_or_0(points, end) == 41)


@part
def is_gap(points: U32, a: Int, b: Int, kind: Int) -> bool:
    """Return whether points[a:b] can separate two groups of one number.

    - kind: the form of the number. WORLD allows up to three signs, as in +33 (0)6 12; other forms allow one sign, or a
      closing bracket and one sign.
    """
    if kind == WORLD:
        right = b - a <= 3
        for i in range(a, min(b, a + 3)):
            right &= is_sign(points[i]) or points[i] in (32, 40, 41, 47)
            right &= points[i] != 40 or is_closed(points, b)  # (10 am to 5 pm)
        return bool(right)
    c = points[a]
    if b - a == 1 and c == 40 and kind == NATIONAL:  # 045(482)9173 in Japan
        return is_closed(points, b) and is_digit(points[b + 1])
    if b - a == 1:
        return bool(is_sign(c) or c in (32, 41, 47))
    return bool(b - a == 2 and c == 41 and (is_sign(points[a + 1]) or points[a + 1] == 32))


@part
def is_wide(points: U32, s: Int, a: Int, b: Int) -> bool:
    """Return whether points[a:b] is " / " or " - " between a short area code that begins at `s` and its number."""
    signs = b - a == 3 and points[a] == 32 and points[a + 1] in (45, 47) and points[a + 2] == 32
    return bool(signs and a - s <= AREA and points[b] != 48)


@part
def ends(points: U32, classes: U16, groups: I64, at: Int, called: Int) -> tuple[Int, Int]:
    """Return the first and the last group with which a number beginning at group `at` can end.

    The last group is -1 if no phone number begins so.

    - called: as for `form`.
    """
    kind = form(points, classes, groups, at, called)
    if kind in (NONE, MENTION):
        return at, at if kind == MENTION else -1
    if kind in (WHOLE, NATIONAL):
        if kind == WHOLE and groups[at, 1] - groups[at, 0] > SHORT:
            return at, at
        last = whole(points, groups, at) if kind == WHOLE else argentine(points, groups, at)
        if last >= 0:
            return last, last
    s = groups[at, 0]
    mine = at == called
    least, most = (8, 15) if kind == WORLD else (9 - mine, 11 + mine) if kind == NATIONAL else (8, 12)
    n = -2 if kind == WORLD and points[s] == 48 and groups[at, 1] - s > 1 and points[s + 1] == 48 else 0
    if kind == WORLD and points[s] != 48:
        least = max(least, fewest(points, s))
    first, last = at, -1
    for k in range(at, len(groups)):
        if k > at:
            a, b = groups[k - 1, 1], groups[k, 0]
            wide = mine and kind == NATIONAL and k == at + 1 and is_wide(points, s, a, b)
            if a - groups[k - 1, 0] >= COMPACT or not (wide or is_gap(points, a, b, kind)):
                break
            slash = kind != WORLD and k > at + 1 and points[a] == 47 and points[groups[k - 2, 1]] != 47
            if slash and n > (LEAST - 1 if mine else AREA - 1):  # 98 123 456/98 123 457
                break
        n += groups[k, 1] - groups[k, 0]
        if n > most:
            break
        if n >= least:
            first, last = k if last < 0 else first, k
    return first, last
