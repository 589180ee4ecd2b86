"""Runs of digits that may contain phone numbers, and the numbers in a run: the compiled part of `numbers.py`.

Labels and dates, which need words or patterns, are handled in `numbers.py`. `digit_groups.py` finds the parts of a
line, `phone_forms.py` and `number_plans.py` contain the forms of numbers, `no_phones.py` the other meanings of digits,
and `whole_runs.py` the end of a number.

Slow reference for the tests: tests/twins/phones.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, U32, WORD, Int

from .digit_groups import at_or_0, groups_of, is_digit, is_sign, part, run_end
from .no_phones import is_day, is_decimal, is_row, is_something_else
from .number_plans import is_century
from .phone_forms import CALLED, COMPACT, NATIONAL, NONE, SHORT, ends, form, is_closed, is_link
from .whole_runs import extends, is_inner, row_start, to_end

FEWEST = 8  # digits of a phone; characters of a run
GLUED_LETTERS = 3  # before a number without a space: tel0612345678, but not X0123456789
WORD_LENGTH = 16  # characters before a number in which such a word is searched for
MOST = 15  # digits of a number without + or 0, with 00 and the code of a country before it
SHORTEST = 10  # digits of a number such as 333.5876781 or 347/1234567
AHEAD = 8  # phones of a run that are resolved at a time
LABEL_GAP = 4  # signs between a label and its number, at most
GAP_SIGN, LABEL_END = 1, 2  # bits of a table of code points: a sign after a label; the last letter of a label


@part
def may_begin(points: U32, classes: U16, start: Int) -> bool:
    """Return whether the text before the digits of a number allows a phone number to begin there."""
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
    """Return whether a number may end there, by the text after it, and its digits have no other meaning."""
    after = at_or_0(points, groups[last, 1])
    if 65 <= after <= 90 and at == called:
        small = at_or_0(points, groups[last, 1] + 1)
        if not (97 <= small <= 122 or small == 45):  # 0123456789Fax: after a label
            return False
    elif 65 <= after <= 90 or 97 <= after <= 122 or after == 95:
        return False
    more = (is_sign(after) or after == 58) and is_digit(at_or_0(points, groups[last, 1] + 1))
    if more and (last + 1 == len(groups) or ends(points, classes, groups, last + 1, called)[1] < 0):
        return False
    if at == called and is_day(points, groups, at, last):
        return False
    short = last > at != called and points[groups[at, 0]] == 48 and groups[last, 1] - groups[last, 0] == 1
    code = last == at + 1 and groups[at, 1] - groups[at, 0] == FEWEST  # 09130000-9
    if short and (code or points[groups[last, 0] - 1] != 45):  # 064 965 844 3
        return False
    return not is_something_else(points, groups, at, last, called)


@kernel
def is_list(points: U32, end: Int, start: Int) -> bool:
    """Return whether a number that begins at `start` is the next in a list after a phone number that ends at `end`."""
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
def is_before_phone(points: U32, classes: U16, groups: I64, last: Int, called: Int) -> bool:
    """Return whether the group after group `last` begins a phone number, by its 0 or +."""
    if last + 1 == len(groups):
        return False
    start = groups[last + 1, 0]
    sign = points[start] == 48 or points[start - 1] == 43
    return bool(sign and ends(points, classes, groups, last + 1, called)[1] >= 0)


@part
def last_group(points: U32, classes: U16, groups: I64, at: Int, called: Int, end: Int) -> Int:
    """Return the last group of the phone number that begins at group `at`; -1 if there is none.

    - called: as for `form`.
    - end: the offset at which the preceding phone number ends; -1 if there is none.
    """
    low, high = ends(points, classes, groups, at, called)
    if high < 0:
        return -1
    in_list = is_list(points, end, groups[at, 0])
    if not in_list and (is_inner(points, groups, at) or not may_begin(points, classes, groups[at, 0])):
        return -1
    kind = form(points, classes, groups, at, called)
    may_be_row = not in_list and kind in (NATIONAL, CALLED)
    for again in range(2):
        for last in range(high, low - 1, -1):
            apart = True
            for k in range(at + 1, last + 1):  # it must not take the beginning of the next number
                apart = apart and ends(points, classes, groups, k, called)[1] <= last
            apart = apart or (again == 1 and is_before_phone(points, classes, groups, last, called))
            row = may_be_row and is_row(points, classes, groups, at, last, called)
            if not apart or row or (may_be_row and is_decimal(points, groups, at, last)):
                continue
            whole = to_end(points, classes, groups, at, last, called)
            if whole >= 0 and may_end(points, classes, groups, at, whole, called):
                return whole
    return -1


@kernel
def is_after_word(points: U32, classes: U16, start: Int) -> bool:
    """Return whether `start` follows the beginning of a line or cell, or a letter, with up to four signs between."""
    i = start
    while i > 0 and i > start - LABEL_GAP and points[i - 1] < 0x250 and classes[points[i - 1]] & WORD == 0:
        if points[i - 1] == 10:
            break
        i -= 1
    for k in range(i, start):
        if points[k] in (9, 59, 62, 124):  # the sign before a cell of a table: tab ; > |
            return True
    before = at_or_0(points, i - 1)
    if i == 0 or before == 10:
        return bool(start - i <= 1 or points[start - 1] == 32)
    behind = start - i == 2 and points[i] in (44, 59) and points[i + 1] == 32  # rue 12, 2610 284073
    return bool(before >= 0x250 or (classes[before] & WORD != 0 and (behind or not is_digit(before))))


@kernel
def may_be_bare(points: U32, groups: I64) -> bool:
    """Return whether 8 to 15 digits of a run, with one sign or bracket between groups, may be a number without + or 0.

    Decimals, and groups with slashes or full stops mixed with other signs, are amounts or figures: 880.00 79.00,
    7-11/16.
    """
    digits, stops, others, slashes, first = 0, 0, 0, 0, 0
    for k in range(len(groups) + 1):
        end = k == len(groups)
        listed = not end and k > 0 and points[groups[k, 0] - 1] == 47 and digits >= FEWEST  # 98 123 456/98 123 457
        if end or listed or (k > 0 and not is_chained(points, groups, k, first)):
            figures = stops > 0 and others > 0 and (digits != SHORTEST or stops > 1 or others > 1)
            ratio = slashes > 0 and points[groups[first, 0]] != 48 and (digits != SHORTEST or k - first > 2)
            figures |= ratio and not (slashes == 1 and is_area(points, groups, first, digits))
            figures |= stops == 1 and k - first == 2 and digits != SHORTEST
            if FEWEST <= digits <= MOST and not figures and not is_range(points, groups, first, k):
                return True
            digits, stops, others, slashes, first = 0, 0, 0, 0, k
        elif k > 0:
            sign = points[groups[k - 1, 1]]
            stops += sign == 46
            slashes += sign == 47
            others += sign in (32, 45)
        if not end:
            digits += groups[k, 1] - groups[k, 0]
            c = points[groups[k, 0]]
            single = k > first and groups[k, 1] - groups[k, 0] == 1 and c != 57
            if single and points[groups[first, 0]] not in (48, 56):
                stops, others = 2, 2  # 1-3 210-250
    return False


@part
def is_area(points: U32, groups: I64, first: Int, digits: Int) -> bool:
    """Return whether group `first` is an area code, as in 71/123 456 (Lebanon) or 212/555-0123."""
    a, b = groups[first, 0], groups[first, 1]
    if points[b] != 47:
        return False
    lebanese = digits == FEWEST and (points[a] == 55 or (points[a] == 56 and points[a + 1] == 49))
    return bool((lebanese and b - a == 2) or (digits == SHORTEST and b - a == SHORT))


@part
def is_range(points: U32, groups: I64, first: Int, after: Int) -> bool:
    """Return whether groups `first` to `after` - 1 are two years, or a range of four-digit numbers: 3100-3200."""
    a, b = groups[first, 0], groups[after - 1, 0]
    if after - first != 2 or not groups[first, 1] - a == 4 == groups[after - 1, 1] - b:
        return False
    rises = points[groups[first, 1]] != 32 and points[a] == points[b] and points[a + 1] <= points[b + 1]
    return bool(rises or (is_century(points, a) and is_century(points, b)))


@part
def is_chained(points: U32, groups: I64, k: Int, first: Int) -> bool:
    """Return whether one sign or bracket separates groups k - 1 and k, or up to three signs after an area code."""
    a, b = groups[k - 1, 1], groups[k, 0]
    if points[b - 1] == 40:
        return b - a <= 2 and is_closed(points, b)
    if (b - a == 1 and points[a] in (32, 41, 45, 46, 47)) or (b - a == 2 and points[a] == 41):
        return True
    return bool(k == first + 1 and points[groups[first, 0]] == 48 and b - a <= 3 and a - groups[first, 0] <= SHORT + 1)


@kernel
def scan(points: U32, classes: U16, labels: U8) -> I64:
    """Return the runs that may contain a phone number, and all runs after a run with a label, int64[m, 6].

    A row of the result contains start, end, and four flags: whether a label may precede the run, whether a phone number
    without a label may begin in it, whether it may contain a date or an ISBN, and whether it may contain a number with
    neither + nor 0.

    - labels: the bits GAP_SIGN and LABEL_END of each code point.
    """
    out, m, i = np.empty((len(points) // FEWEST, 6), np.int64), 0, 0
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
        bare = digits >= FEWEST and is_after_word(points, classes, start) and may_be_bare(points, groups)
        if begins or digits >= FEWEST:
            out[m, 5] = bare
            out[m, 0], out[m, 1], out[m, 2], out[m, 3], out[m, 4] = start, i, label, begins, other
            m += 1
    return out[:m]


@kernel
def resolve(points: U32, classes: U16, groups: I64, at: Int, called: Int, end: Int) -> I64:
    """Return the next phone numbers of a run from group `at` on, int64[m, 6], as if none had a label or date.

    At most AHEAD numbers are returned; if fewer are returned, there are no more.

    - called: as for `form`.
    - end: the offset at which the preceding phone number ends; -1 if there is none. A row of the result contains start,
      end, first group, the group after the phone number, `called` when it was found, and the start of the preceding
      groups that are as long as the first group.
    """
    out, m = np.empty((AHEAD, 6), np.int64), 0
    while at < len(groups) and m < AHEAD:
        last = last_group(points, classes, groups, at, called, end)
        if last < 0:
            at += 1
            continue
        k, next_called = last, last + 1 if called >= 0 else -1
        while (  # if no next number begins here, its would-be beginning is part of this one
            extends(points, classes, groups, at, last, k, called)
            and last_group(points, classes, groups, k + 1, next_called, groups[last, 1]) < 0
        ):
            k += 1
        last, end = k, groups[k, 1]
        out[m, 0], out[m, 1], out[m, 2], out[m, 3], out[m, 4] = groups[at, 0], end, at, last + 1, called
        out[m, 5] = row_start(points, groups, at)
        m, at = m + 1, last + 1
        called = at if called >= 0 else -1
    return out[:m]
