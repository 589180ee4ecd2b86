"""Phone numbers by their digits alone: runs of groups in a line, the forms of numbers, where each begins and ends.

A run is groups of digits with one to four separators between two groups. The line is an array of code points in which
all digits are Western and no invisible character is left (`numbers.py`). What needs words or patterns, the labels and
dates, is decided there.

Slow reference for the tests: tests/twins/phones.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, U32, WORD, Int

FEWEST = 8  # digits of a phone; characters of a run
LONGEST_GAP = 4  # separators between two groups of a run
ARGENTINE = 13  # digits of a number with the 15 of mobile phones
SHORT = 3  # digits of a group that begins a number without a sign or 0 in front of it
COMPACT = 9  # digits without a sign that are a whole number
ROW = 2  # further groups like those of a number: it is a table
GLUED_LETTERS = 3  # before a number without a space: tel0612345678, but not X0123456789
WORD_LENGTH = 16  # characters before a number in which such a word is searched
NONE, WORLD, NATIONAL, MENTION, WHOLE, CALLED = range(6)  # forms; WHOLE: of one country; CALLED: by a label
WA, SEND, ENCODED = b"wa.me/", b"phone=", b"phone=%2"  # before an international number without a +
AHEAD = 8  # phones of a run that are resolved at a time
LABEL_GAP = 4  # signs between a label and its number, at most
GAP_SIGN, LABEL_END = 1, 2  # bits of a table of code points: a sign after a label; the last letter of a label

# For kernels that only kernels call: without what calls from Python need, they are compiled in less time.
part = kernel(cache=False, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@part
def is_digit(c: Int) -> bool:
    """Return whether a code point is a Western digit."""
    return bool(48 <= c <= 57)


@part
def is_space(c: Int) -> bool:
    """Return whether a code point is a space between groups of digits."""
    return bool(c in (32, 0xA0, 0x202F))


@part
def is_sign(c: Int) -> bool:
    """Return whether a code point is a hyphen or a full stop."""
    return bool(c in (45, 46, 0x2010, 0x2011))


@part
def at_or_0(points: U32, i: Int) -> Int:
    """Return the code point at offset `i`, 0 if that is outside the line."""
    return np.int64(points[i]) if 0 <= i < len(points) else 0


@part
def run_end(points: U32, i: Int) -> Int:
    """Return where the run of groups that begins with the digit at `i` ends."""
    while True:
        while i < len(points) and is_digit(points[i]):
            i += 1
        k = i
        while k < len(points) and k <= i + LONGEST_GAP:
            c = points[k]
            if not (is_sign(c) or is_space(c) or c in (40, 41, 43, 47)):  # ( ) + /
                break
            k += 1
        if k == i or k > i + LONGEST_GAP or k == len(points) or not is_digit(points[k]):
            return i
        i = k


@kernel
def groups_of(points: U32, start: Int, stop: Int) -> I64:
    """Return the groups of digits in points[start:stop], int64[n, 2]: where each begins and ends."""
    n = 0
    for i in range(start, stop):
        n += is_digit(points[i]) and (i == start or not is_digit(points[i - 1]))
    out = np.empty((n, 2), np.int64)
    n = 0
    for i in range(start, stop):
        if is_digit(points[i]):
            if i == start or not is_digit(points[i - 1]):
                out[n, 0] = i
                n += 1
            out[n - 1, 1] = i + 1
    return out


@part
def ends_with(points: U32, end: Int, word: bytes) -> bool:
    """Return whether points[:end] ends with a word of ASCII characters."""
    if end < len(word):
        return False
    same = True
    for k in range(len(word)):
        same &= points[end - len(word) + k] == word[k]
    return same


@part
def is_link(points: U32, start: Int) -> bool:
    """Return whether a link to a phone, such as wa.me/, ends before `start`."""
    before = at_or_0(points, start - 1)
    if before in (66, 98):  # %2B
        return ends_with(points, start - 1, ENCODED)
    return ends_with(points, start, WA) if before == 47 else before == 61 and ends_with(points, start, SEND)


@part
def eat(points: U32, i: Int, n: Int) -> Int:
    """Return the offset after `n` digits at `i`; -1 if there are fewer, or if `i` is below 0."""
    if i < 0 or i + n > len(points):
        return -1
    for k in range(i, i + n):
        if not is_digit(points[k]):
            return -1
    return i + n


@part
def skip(points: U32, i: Int) -> Int:
    """Return the offset after the space or hyphen at `i`, or `i` if there is none."""
    return i + 1 if i >= 0 and at_or_0(points, i) in (32, 45) else i


@part
def plan_end(points: U32, s: Int) -> Int:
    """Return the end of a number by the plan of one country without a leading 0 and digits; -1 if there is none.

    Such as 8 (495) 555-01-23 in Russia, 0 (532) 123 45 67 in Turkey, 138-1234-5678 in China, (11) 91234-5678 in Brazil.
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
    """Return whether 19 or 20 stands at `i`."""
    a, b = at_or_0(points, i), at_or_0(points, i + 1)
    return bool((a == 49 and b == 57) or (a == 50 and b == 48))


@part
def group_ending(groups: I64, at: Int, end: Int) -> Int:
    """Return the group from group `at` on that ends at an offset; -1 if none does."""
    for k in range(at, len(groups)):
        if groups[k, 1] >= end:
            return k if groups[k, 1] == end else -1
    return -1


@part
def american(points: U32, groups: I64, at: Int) -> Int:
    """Return the last group of (212) 555-0123, 212.555.0123 or 1-212-555-0123; -1 if none begins at group `at`."""
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
    """Return the last group of an American number or one of `plan_end` that begins at group `at`; -1: there is none."""
    last = american(points, groups, at)
    if last < 0:
        end = plan_end(points, groups[at, 0])
        last = group_ending(groups, at, end) if end >= 0 else -1
    return last


@part
def is_exponent(points: U32, classes: U16, start: Int) -> bool:
    """Return whether what ends with the + before `start` is an exponent (1.5E+12) or a code point (U+3000)."""
    letter, before = at_or_0(points, start - 2), at_or_0(points, start - 3)
    if letter in (69, 101):
        return is_digit(before) or before == 46
    return bool(letter == 85 and classes[before] & WORD == 0)


@part
def form(points: U32, classes: U16, groups: I64, at: Int, called: Int) -> Int:
    """Return the form that a number beginning at group `at` has by its first digits; NONE if no phone begins so.

    called: the group that a label calls a phone; -1: none.
    """
    s, size = groups[at, 0], groups[at, 1] - groups[at, 0]
    before, zero = at_or_0(points, s - 1), points[s] == 48
    if before == 43 and (not zero or size > 1):  # +
        return NONE if is_exponent(points, classes, s) else WORLD
    if zero:
        if size > 1 and points[s + 1] != 48:
            return NATIONAL
        if size > 2 and points[s + 2] != 48:
            return WORLD
    elif 10 <= size <= 15 and (
        (before == 64 and classes[at_or_0(points, s - 2)] & WORD == 0) or is_link(points, s)  # @
    ):
        return MENTION
    if size <= SHORT and whole(points, groups, at) >= 0:
        return WHOLE
    return CALLED if at == called and not (zero and size > 1 and points[s + 1] == 48) else NONE


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


@part
def is_gap(points: U32, a: Int, b: Int, kind: Int) -> bool:
    """Return whether points[a:b] may be between two groups of one number.

    kind: its form. WORLD: up to three signs, +33 (0)6 12. Otherwise one, or a closing bracket and one.
    """
    if kind == WORLD:
        right = b - a <= 3
        for i in range(a, min(b, a + 3)):
            right &= is_sign(points[i]) or is_space(points[i]) or points[i] in (40, 41, 47)
        return bool(right)
    c = points[a]
    if b - a == 1:
        return bool(is_sign(c) or is_space(c) or c in (41, 47))
    return bool(b - a == 2 and c == 41 and (is_sign(points[a + 1]) or is_space(points[a + 1])))


@part
def ends(points: U32, classes: U16, groups: I64, at: Int, called: Int) -> tuple[Int, Int]:
    """Return the first and the last group that a number beginning at group `at` may end with.

    The last is -1 if no phone begins so. called: as for `form`.
    """
    kind = form(points, classes, groups, at, called)
    if kind in (NONE, MENTION):
        return at, at if kind == MENTION else -1
    if kind in (WHOLE, NATIONAL):
        last = whole(points, groups, at) if kind == WHOLE else argentine(points, groups, at)
        if last >= 0:
            return last, last
    s = groups[at, 0]
    least, most = (8, 15) if kind == WORLD else (9, 11 + (at == called)) if kind == NATIONAL else (8, 12)
    n = -2 if kind == WORLD and points[s] == 48 and groups[at, 1] - s > 1 and points[s + 1] == 48 else 0
    first, last = at, -1
    for k in range(at, len(groups)):
        if k > at:
            a, b = groups[k - 1, 1], groups[k, 0]
            if a - groups[k - 1, 0] >= COMPACT or not is_gap(points, a, b, kind):
                break
        n += groups[k, 1] - groups[k, 0]
        if n > most:
            break
        if n >= least:
            first, last = k if last < 0 else first, k
    return first, last


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
    return not ((is_sign(c) or c in (44, 58)) and is_digit(at_or_0(points, before - 2)))


@part
def is_latin(c: Int) -> bool:
    """Return whether a code point is a Latin letter or the underscore."""
    return bool(65 <= c <= 90 or 97 <= c <= 122 or c == 95 or 0xC0 <= c <= 0x24F)


@part
def joined(points: U32, groups: I64, at: Int, k: Int) -> bool:
    """Return whether groups k and k + 1 are as long as group `at`, with the gap between them that follows `at`."""
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
def is_counting(points: U32, groups: I64, at: Int, last: Int) -> bool:
    """Return whether all steps from one number to the next are equal, and not 0: 01 02 03 04 05, 06 12 18 24."""
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
    return bool(step != 0)


@part
def is_day(points: U32, groups: I64, at: Int, last: Int) -> bool:
    """Return whether groups `at` to `last` are a day in eight digits: 12 05 2023, 20230512."""
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
    """Return whether three numbers can be a year of these two centuries, a month and a day."""
    return bool(1900 <= year < 2100 and 1 <= month <= 12 and 1 <= day <= 31)


@part
def is_something_else(points: U32, groups: I64, at: Int, last: Int) -> bool:
    """Return whether groups `at` to `last` are bits, an American post code, an ISBN in a path, or numbers counted."""
    s, first = groups[at, 0], groups[at, 1] - groups[at, 0]
    total: Int = 0
    n, bits = 0, last > at
    for k in range(at, last + 1):
        bits = bits and groups[k, 1] - groups[k, 0] == 8
        for i in range(groups[k, 0], groups[k, 1]):
            total += (10 - n) * (np.int64(points[i]) - 48)
            bits = bits and points[i] < 50
            n += 1
    if bits or (n == 10 and total % 11 == 0 and at_or_0(points, s - 1) == 47):
        return True
    if last == at + 1:
        second = groups[last, 1] - groups[last, 0]
        if first == 5 and second == 4 and groups[last, 0] - groups[at, 1] == 1 and points[groups[at, 1]] == 45:
            return True
    return last >= at + 3 and points[s] == 48 and is_counting(points, groups, at, last)


@part
def may_end(points: U32, classes: U16, groups: I64, at: Int, last: Int, called: Int) -> bool:
    """Return whether what follows a number lets it end there, and whether its digits are nothing else."""
    after = at_or_0(points, groups[last, 1])
    if 65 <= after <= 90 or 97 <= after <= 122 or after == 95:
        return False
    more = (is_sign(after) or after == 58) and is_digit(at_or_0(points, groups[last, 1] + 1))
    if more and (last + 1 == len(groups) or ends(points, classes, groups, last + 1, called)[1] < 0):
        return False
    if at == called and form(points, classes, groups, at, called) == CALLED and is_day(points, groups, at, last):
        return False
    return not is_something_else(points, groups, at, last)


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
    if not (in_list or may_begin(points, classes, groups[at, 0])):
        return -1
    kind = form(points, classes, groups, at, called)
    may_be_row = not in_list and kind in (NATIONAL, CALLED)
    for last in range(high, low - 1, -1):
        apart = True
        for k in range(at + 1, last + 1):  # it must not take the beginning of the next number
            apart = apart and ends(points, classes, groups, k, called)[1] <= last
        row = apart and may_be_row and is_row(points, classes, groups, at, last, called)
        if apart and not row and may_end(points, classes, groups, at, last, called):
            return last
    return -1


@kernel
def scan(points: U32, classes: U16, labels: U8) -> I64:
    """Return the runs that may have a phone, and all after one with a label, int64[m, 5].

    labels: bits GAP_SIGN and LABEL_END of each code point. A row of the result is (start, end, whether a label may
    stand before it, whether a phone may begin in it without a label, whether a date or a book's number may be in it).
    """
    out, m, i, later = np.empty((len(points) // FEWEST, 5), np.int64), 0, 0, False
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
        later = later or label
        for g in range(len(groups) - 1, -1, -1):
            a, b = groups[g, 0], groups[g, 1]
            digits += b - a
            begins = begins or (digits >= FEWEST and form(points, classes, groups, g, -1) != NONE)
            sign = at_or_0(points, b)
            date = b - a <= 2 and sign in (45, 46, 47) and g > 0 and points[a - 1] == sign
            other = other or date or (b - a == 3 and points[a] == 57 and points[a + 1] == 55)
        if later or begins:
            out[m, 0], out[m, 1], out[m, 2], out[m, 3], out[m, 4] = start, i, label, begins, other
            m += 1
    return out[:m]


@kernel
def resolve(points: U32, classes: U16, groups: I64, at: Int, called: Int, end: Int) -> I64:
    """Return the next phones of a run from group `at` on, int64[m, 5], as if none had a label or date.

    Their number is at most AHEAD; there are more only if it is AHEAD. called: as for `form`. end: where the last phone
    before them ends; -1 if there is none. A row of the result is (start, end, first group, the group after the phone,
    `called` when it was found).
    """
    out, m = np.empty((AHEAD, 5), np.int64), 0
    while at < len(groups) and m < AHEAD:
        last = last_group(points, classes, groups, at, called, end)
        if last < 0:
            at += 1
            continue
        end = groups[last, 1]
        out[m, 0], out[m, 1], out[m, 2], out[m, 3], out[m, 4] = groups[at, 0], end, at, last + 1, called
        m, at = m + 1, last + 1
        called = at if called >= 0 else -1
    return out[:m]
