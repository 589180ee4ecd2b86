"""Runs of digits that may have phones, and the phones in a run: the compiled part of `numbers.py`.

What needs words or patterns, the labels and dates, is decided there. `digit_groups.py` has the parts of a line,
`phone_forms.py` and `number_plans.py` the forms of numbers, `no_phones.py` what else digits may be, `whole_runs.py`
where a number ends.

Slow reference for the tests: tests/twins/phones.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, U32, WORD, Int

from .digit_groups import at_or_0, groups_of, is_digit, is_sign, part, run_end
from .no_phones import is_day, is_row, is_something_else
from .phone_forms import CALLED, COMPACT, NATIONAL, NONE, ends, form, is_link
from .whole_runs import goes_on, is_inner, row_start, to_end

FEWEST = 8  # digits of a phone; characters of a run
GLUED_LETTERS = 3  # before a number without a space: tel0612345678, but not X0123456789
WORD_LENGTH = 16  # characters before a number in which such a word is searched
AHEAD = 8  # phones of a run that are resolved at a time
LABEL_GAP = 4  # signs between a label and its number, at most
GAP_SIGN, LABEL_END = 1, 2  # bits of a table of code points: a sign after a label; the last letter of a label


@part
def may_begin(points: U32, classes: U16, start: Int) -> bool:
    """Return whether what stands before the digits of a number lets it begin there."""
    if at_or_0(points, start - 1) == 43 or is_link(points, start):
        return True
    before = start - (at_or_0(points, start - 1) == 40)
    i = before
    while i > 0 and i > before - WORD_LENGTH and is_latin(points[i - 1]):
        i -= 1
    if i < before:
        a, b = i, before
        while a < b and points[a] == 95:
            a += 1
        while a < b and points[b - 1] == 95:
            b -= 1
        further = at_or_0(points, i - 1)
        return bool(b - a >= GLUED_LETTERS and (further == 95 or classes[further] & WORD == 0))
    # Not a decimal, a time, or the end of a longer number.
    c = at_or_0(points, before - 1)
    if c == 44 and is_field(points, start):
        return True
    return not ((is_sign(c) or c in (44, 58)) and is_digit(at_or_0(points, before - 2)))


@part
def is_field(points: U32, start: Int) -> bool:
    """Return whether the digits at `start` are one field between commas: 7,0612345678,Rabat."""
    i = start
    while is_digit(at_or_0(points, i)):
        i += 1
    return bool(i >= start + COMPACT and at_or_0(points, i) == 44)


@part
def is_latin(c: Int) -> bool:
    """Return whether a code point is a Latin letter or the underscore."""
    return bool(65 <= c <= 90 or 97 <= c <= 122 or c == 95 or 0xC0 <= c <= 0x24F)


@part
def may_end(points: U32, classes: U16, groups: I64, at: Int, last: Int, called: Int) -> bool:
    """Return whether what follows a number lets it end there, and whether its digits are nothing else."""
    after = at_or_0(points, groups[last, 1])
    if 65 <= after <= 90 or 97 <= after <= 122 or after == 95:
        return False
    more = (is_sign(after) or after == 58) and is_digit(at_or_0(points, groups[last, 1] + 1))
    if more and (last + 1 == len(groups) or ends(points, classes, groups, last + 1, called)[1] < 0):
        return False
    if at == called and is_day(points, groups, at, last):
        return False
    if last > at != called and points[groups[at, 0]] == 48 and groups[last, 1] - groups[last, 0] == 1:
        if points[groups[last, 0] - 1] != 45:  # 064 965 844 3
            return False
    return not is_something_else(points, groups, at, last, called)


@kernel
def is_list(points: U32, end: Int, start: Int) -> bool:
    """Return whether a number that begins at `start` is the next one in a list after a phone that ends at `end`."""
    if not 0 <= end <= start:
        return False
    stop = start - (at_or_0(points, start - 1) in (40, 43))
    if not 1 <= stop - end <= 3:
        return False
    right = True
    for i in range(end, stop):
        right &= points[i] in (32, 44, 45, 47, 59)
    return right


@part
def last_group(points: U32, classes: U16, groups: I64, at: Int, called: Int, end: Int) -> Int:
    """Return the last group of the phone that begins at group `at`; -1 if there is none.

    called: as for `form`. end: where the last phone before it ends; -1 if there is none.
    """
    low, high = ends(points, classes, groups, at, called)
    if high < 0:
        return -1
    in_list = is_list(points, end, groups[at, 0])
    if not in_list and (is_inner(points, groups, at) or not may_begin(points, classes, groups[at, 0])):
        return -1
    kind = form(points, classes, groups, at, called)
    may_be_row = not in_list and kind in (NATIONAL, CALLED)
    for last in range(high, low - 1, -1):
        apart = True
        for k in range(at + 1, last + 1):  # it must not take the beginning of the next number
            apart = apart and ends(points, classes, groups, k, called)[1] <= last
        if not apart or (may_be_row and is_row(points, classes, groups, at, last, called)):
            continue
        whole = to_end(points, classes, groups, at, last, called)
        if whole >= 0 and may_end(points, classes, groups, at, whole, called):
            return whole
    return -1


@kernel
def scan(points: U32, classes: U16, labels: U8) -> I64:
    """Return the runs that may have a phone, and all after one with a label, int64[m, 5].

    labels: bits GAP_SIGN and LABEL_END of each code point. A row of the result is (start, end, whether a label may
    stand before it, whether a phone may begin in it without a label, whether a date or a book's number may be in it).
    """
    out, m, i = np.empty((len(points) // FEWEST, 5), np.int64), 0, 0
    while i < len(points):
        if not is_digit(points[i]):
            i += 1
            continue
        start, i = i, run_end(points, i)
        if i - start < FEWEST:
            continue
        k = start
        while k > 0 and k > start - LABEL_GAP and labels[points[k - 1]] & GAP_SIGN:
            k -= 1
        label = k > 0 and labels[points[k - 1]] & LABEL_END != 0
        groups, begins, other, digits = groups_of(points, start, i), False, False, 0
        for g in range(len(groups) - 1, -1, -1):
            a, b = groups[g, 0], groups[g, 1]
            digits += b - a
            begins = begins or (digits >= FEWEST and form(points, classes, groups, g, -1) != NONE)
            sign = at_or_0(points, b)
            date = b - a <= 2 and sign in (45, 46, 47) and g > 0 and points[a - 1] == sign
            other = other or date or (b - a == 3 and points[a] == 57 and points[a + 1] == 55)
        if digits >= FEWEST:
            out[m, 0], out[m, 1], out[m, 2], out[m, 3], out[m, 4] = start, i, label, begins, other
            m += 1
    return out[:m]


@kernel
def resolve(points: U32, classes: U16, groups: I64, at: Int, called: Int, end: Int) -> I64:
    """Return the next phones of a run from group `at` on, int64[m, 6], as if none had a label or date.

    Their number is at most AHEAD; there are more only if it is AHEAD. called: as for `form`. end: where the last phone
    before them ends; -1 if there is none. A row of the result is (start, end, first group, the group after the phone,
    `called` when it was found, where the groups begin that are as long as the first and stand before it).
    """
    out, m = np.empty((AHEAD, 6), np.int64), 0
    while at < len(groups) and m < AHEAD:
        last = last_group(points, classes, groups, at, called, end)
        if last < 0:
            at += 1
            continue
        k, next_called = last, last + 1 if called >= 0 else -1
        while (  # what the next number would have begun with is part of this one, if it is none
            goes_on(points, classes, groups, at, last, k, called)
            and last_group(points, classes, groups, k + 1, next_called, groups[last, 1]) < 0
        ):
            k += 1
        last, end = k, groups[k, 1]
        out[m, 0], out[m, 1], out[m, 2], out[m, 3], out[m, 4] = groups[at, 0], end, at, last + 1, called
        out[m, 5] = row_start(points, groups, at)
        m, at = m + 1, last + 1
        called = at if called >= 0 else -1
    return out[:m]
