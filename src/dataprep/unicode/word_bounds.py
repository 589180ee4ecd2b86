"""Find where the words of texts begin and end, 64 bytes at a time.

Masks of bits (`byte_masks.py`) state the classes of 64 bytes, and bit operations find where words begin and end.
Characters beyond ASCII are looked up in a table; where there are many of them, all that are alike are looked up at
once. Characters that are words of their own, as in Chinese, are found one after the other.

Slow reference for the tests: tests/twins/words.py
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from . import text as T
from .byte_masks import WIDTH, bytes_between, bytes_equal, bytes_within, last_bytes, lowest_bit, lowest_bits, n_bits
from .kernel import kernel
from .text import I64, U8, U32, U64, Int
from .words import (
    ALONE,
    DIGIT,
    EXTEND,
    HEBREW,
    JOINER,
    KIND,
    LETTER,
    MID_HEBREW,
    MID_LETTER,
    joins,
    kind_of,
    word_table,
)

CHANGED = 1 << 63  # added to the start of a word that has other characters in lower case
LEAST = WIDTH  # free places that `find_words` needs to go on
FLAT = 8  # offsets that are written without a branch
DENSE = 12  # bytes beyond ASCII, of 64, from which on characters that are alike are looked up at once
CHANGES = 16  # in `WordRule.runs`: the character is another one in lower case
LASTS, SECONDS, LEADS = 0, 1, 2  # in it, from bit 24 on: which of its bytes may differ from those of characters alike
_APART = 1 << HEBREW | 1 << DIGIT | 1 << JOINER | 15 << MID_LETTER
APART = _APART | (_APART | 1 << LETTER) << CHANGES  # classes, and those with CHANGES, that are handled apart


class WordRule(NamedTuple):
    """How texts are split into words.

    Attributes:
        table: `word_table()`.
        runs: for each code point below 65536, its class, CHANGES, and the run of characters around it that are alike:
            the first value (from bit 8 on) and the last one (from bit 16 on) of one of their bytes. With LASTS, it is
            the last byte, and those before it are equal; with SECONDS, the second byte of three, and the first is
            equal; with LEADS, the first byte of three. Both values are 0 if no other character is looked up with it.
        mids: a mask of all bits if some ASCII characters may join two parts of a word, or else 0.
    """

    table: U32
    runs: U32
    mids: Int


class WordBounds(NamedTuple):
    """Where words begin and end: word `j` is data[starts[j]:ends[j]].

    Attributes:
        starts: CHANGED is added if the word has characters beyond ASCII that are other ones in lower case.
        ends: where words end.
        tail: 64 bytes of scratch space.
    """

    starts: U64
    ends: U64
    tail: U8


class Masks(NamedTuple):
    """Classes of 64 bytes, one bit each.

    Attributes:
        high: bytes beyond ASCII.
        letters: bytes of characters of the classes LETTER and HEBREW.
        digits: those of the class DIGIT.
        joiners: those of the class JOINER, and of characters that are known to join two parts of a word.
        mid_letters: ASCII characters that may join letters.
        mid_numbers: those that may join digits.
        extends: bytes of characters of the class EXTEND.
        changed: the first bytes of characters that are other ones in lower case.
    """

    high: Int
    letters: Int
    digits: Int
    joiners: Int
    mid_letters: Int
    mid_numbers: Int
    extends: Int
    changed: Int


class Before(NamedTuple):
    """What the character before a place is, 1 or 0: of these classes, as in Masks, and in a word."""

    letter: Int
    digit: Int
    joiner: Int
    inside: Int


@cache
def word_rule(split: str = "unicode") -> WordRule:
    """Return the rule for `split`, one of `words.SPLITS`, or FOLDED."""
    whole = word_table(split)
    table, points = whole[: 1 << 16], np.arange(1 << 16, dtype=np.uint32)
    kinds = table >> KIND & 15
    classes = kinds | ((table ^ points) & T.POINT != 0).astype(np.uint32) * np.uint32(CHANGES)
    may = ((kinds < MID_LETTER) | (kinds > MID_HEBREW)) & (table & T.DOTTED == 0) & (points >= 0x80)
    runs, alike = classes, classes
    for bits, first_byte, mode in ((0, 0x80, LASTS), (6, 0x80, SECONDS), (12, 0xE0, LEADS)):
        if bits:  # pages of 64, then of 4096 characters, if all of a page are alike
            pages = alike.reshape(-1, 64)
            equal = (pages == pages[:, :1]).all(1) & (np.arange(len(pages)) << bits >= 0x800)
            alike = np.where(equal, pages[:, 0], 1 << 16 | np.arange(len(pages))).astype(np.uint32)
        first, last = _alike_around(alike)
        span = (first_byte | first & 63) << 8 | (first_byte | last & 63) << 16 | mode << 24
        there = may & np.repeat(alike < 1 << 16 if bits else last > first, 1 << bits)
        runs = np.where(there, classes | np.repeat(span, 1 << bits).astype(np.uint32), runs)
    runs.flags.writeable = False
    return WordRule(whole, runs, np.uint64(0) if split == "regex" else ~np.uint64(0))


def _alike_around(values: U32) -> tuple[I64, I64]:
    """Return the first and the last index of the equal values around each value, none beyond a multiple of 64."""
    edges = np.flatnonzero((np.diff(values) != 0) | (np.arange(1, len(values)) & 63 == 0)) + 1
    first, last = np.append(0, edges), np.append(edges, len(values)) - 1
    return np.repeat(first, last - first + 1), np.repeat(last, last - first + 1)


def empty_bounds(n: int) -> WordBounds:
    """Return arrays for the bounds of `n` words."""
    return WordBounds(np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(WIDTH, np.uint8))


@kernel(inline="always")
def _ascii_masks(data: U8, i: Int) -> Masks:
    """Return the masks of the 64 bytes from `i` on, as if all bytes beyond ASCII were outside of words."""
    zero = np.uint64(0)
    both = bytes_equal(data, i, 0x27) | bytes_equal(data, i, 0x2E)
    return Masks(
        bytes_within(data, i, 0x80, 0xFF),
        bytes_within(data, i, 0x41, 0x5A) | bytes_within(data, i, 0x61, 0x7A),
        bytes_within(data, i, 0x30, 0x39),
        bytes_equal(data, i, 0x5F),
        both | bytes_equal(data, i, 0x3A),
        both | bytes_equal(data, i, 0x2C) | bytes_equal(data, i, 0x3B),
        zero,
        zero,
    )


@kernel(inline="always")
def _point(data: U8, i: Int) -> tuple[Int, Int]:
    """Return the code point of the character beyond ASCII at byte `i`, and its size, as uint64."""
    six = np.uint64(6)
    b, one = np.uint64(data[i]), np.uint64(data[i + np.uint64(1)]) & np.uint64(0x3F)
    if b < np.uint64(0xE0):
        return (b & np.uint64(0x1F)) << six | one, np.uint64(2)
    two = one << six | np.uint64(data[i + np.uint64(2)]) & np.uint64(0x3F)
    if b < np.uint64(0xF0):
        return (b & np.uint64(0x0F)) << np.uint64(12) | two, np.uint64(3)
    last = np.uint64(data[i + np.uint64(3)]) & np.uint64(0x3F)
    return (b & np.uint64(0x07)) << np.uint64(18) | two << six | last, np.uint64(4)


@kernel(inline="always")
def _alike(data: U8, i: Int, at: Int, size: Int, run: Int) -> Int:
    """Return the mask of the first bytes of all characters of data[i:i + 64] that are in the same run as that at `at`.

    - size: the number of bytes of each of them, 2 or 3.
    - run: the entry of the character in `WordRule.runs`.
    """
    one = np.uint64(1)
    low, high = np.uint8(run >> np.uint64(8)), np.uint8(run >> np.uint64(16))
    if run >> np.uint64(24) == np.uint64(LEADS):
        return bytes_between(data, i, low, high) & np.uint64((1 << 62) - 1)
    lead = data[i + at]
    found = bytes_between(data, i, lead, lead)
    if run >> np.uint64(24) == np.uint64(SECONDS):
        return found & bytes_between(data, i, low, high) >> one & np.uint64((1 << 62) - 1)
    found &= bytes_between(data, i, low, high) >> size - one
    if size == np.uint64(3):
        second = data[i + at + one]
        found &= bytes_between(data, i, second, second) >> one
    return found


@kernel(_nrt=False)
def _with_others(
    data: U8, begin: Int, i: Int, stop: Int, rule: WordRule, m: Masks, end: Int
) -> tuple[Masks, Int, bool]:
    """Return the masks with the characters beyond ASCII of data[i:i + end], where they end, and whether a word does.

    They end earlier at an incomplete character, at one of the class ALONE, and after an `i` that ends its word.
    """
    zero, one, two, width = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(WIDTH)
    letters, digits, joiners, extends, changed = m.letters, m.digits, m.joiners, zero, zero
    rest, hebrew, closes = m.high, zero, False
    dense = n_bits(rest) >= np.uint64(DENSE) and i + width <= np.uint64(len(data))
    while rest:
        at = lowest_bit(rest)
        c, size = _point(data, i + at)
        run = np.uint64(rule.runs[c]) if c < np.uint64(0x10000) else _single(rule.table[c], c)
        kind = run & np.uint64(15)
        if at + size > width or kind == ALONE:
            end, closes = at, kind == ALONE
            break
        leads = one << at
        if dense and run > np.uint64(0xFF):
            leads = _alike(data, i, at, size, run) & rest
        bits = leads | leads << one
        if size > two:
            bits |= bits << one
            if size > np.uint64(3):
                bits |= bits << one
        rest &= ~bits
        changed |= leads if run & np.uint64(CHANGES) else zero
        letters |= bits if kind == LETTER else zero
        extends |= bits if kind == EXTEND else zero
        if np.uint64(APART) >> (run & np.uint64(31)) & one:
            where: Int = np.int64(i + at)
            if kind == DIGIT:
                digits |= bits
            elif kind == HEBREW:
                letters |= bits
                hebrew |= leads
            elif kind == JOINER or (kind != LETTER and joins(data, begin, where, stop, rule.table)):
                joiners |= bits
            elif rule.table[c] & np.uint32(T.DOTTED):
                end, closes = at + size, True
                break
    marks = (extends | hebrew) & ~(m.high | letters | digits | joiners) << one & lowest_bits(end)
    while marks:  # after an ASCII character that is not in a word for its own sake
        before = lowest_bit(marks) - one
        mark: Int = np.int64(i + before)
        marks &= marks - one
        kind = kind_of(rule.table[data[i + before]])
        if kind >= MID_LETTER and joins(data, begin, mark, stop, rule.table):
            joiners |= one << before
    return Masks(m.high, letters, digits, joiners, m.mid_letters, m.mid_numbers, extends, changed), end, closes


@kernel(_nrt=False)
def _words_alone(data: U8, i: Int, stop: Int, rule: WordRule, out: WordBounds, n: Int) -> tuple[Int, Int]:
    """Append the bounds of the words at `i` that are one character with its marks; return where to go on, and `n`."""
    one, most, inside = np.uint64(1), np.uint64(len(out.starts)), False
    while i < stop:
        if data[i] < 0x80:
            kind = kind_of(rule.table[data[i]])
            if LETTER <= kind <= JOINER or i + one == stop or data[i + one] < 0x80:
                break
            i, inside = i + one, False
            continue
        c, size = _point(data, i)
        run = np.uint64(rule.runs[c]) if c < np.uint64(0x10000) else _single(rule.table[c], c)
        kind, changed = run & np.uint64(15), (run & np.uint64(CHANGES)) << np.uint64(59)
        if kind == ALONE:
            if n == most:  # only now, since marks may follow the last word that fits
                break
            out.starts[n], out.ends[n] = i | changed, i + size
            n, inside = n + one, True
        elif kind == EXTEND and inside:
            out.starts[n - one] |= changed
            out.ends[n - one] = i + size
        elif LETTER <= kind <= JOINER:
            break
        else:
            inside = False
        i += size
    return i, n


@kernel(inline="always")
def _single(entry: Int, c: Int) -> Int:
    """Return a run of one character, from its entry in `word_table`."""
    differs = np.uint64((entry ^ np.uint32(c)) & np.uint32(T.POINT) != 0)
    return np.uint64(entry) >> np.uint64(KIND) & np.uint64(15) | differs * np.uint64(CHANGES)


@kernel(inline="always")
def _extended(mask: Int, carry: Int, extends: Int) -> Int:
    """Return a mask with the runs of bits in `extends` that follow a bit of the mask, or of `carry`."""
    return mask | extends & ~(extends + (mask << np.uint64(1) & extends | carry & extends))


@kernel(inline="always")
def _masks(data: U8, i: Int, stop: Int, tail: U8) -> Masks:
    """Return the masks of data[i:stop], at most 64 bytes, as if all bytes beyond ASCII were outside of words."""
    zero = np.uint64(0)
    if i + np.uint64(WIDTH) <= np.uint64(len(data)):
        m = _ascii_masks(data, i)
    else:
        last_bytes(data, i, stop, tail)
        m = _ascii_masks(tail, zero)
    if stop - i < np.uint64(WIDTH):
        v = lowest_bits(stop - i)
        own = m.high & v, m.letters & v, m.digits & v, m.joiners & v
        m = Masks(*own, m.mid_letters, m.mid_numbers, zero, zero)
    return m


@kernel(inline="always")
def _mids(data: U8, after: Int, end: Int, stop: Int, m: Masks, before: Before) -> Int:
    """Return the mask of ASCII characters that join two letters, or two digits, of which the next is data[after]."""
    one, c = np.uint64(1), data[after] if after < stop else np.uint8(0x20)
    is_letter = np.uint64(np.uint8((c | np.uint8(0x20)) - np.uint8(0x61)) < np.uint8(26)) << end - one
    is_digit = np.uint64(np.uint8(c - np.uint8(0x30)) < np.uint8(10)) << end - one
    of_letters = (m.letters << one | before.letter) & (m.letters >> one | is_letter)
    of_digits = (m.digits << one | before.digit) & (m.digits >> one | is_digit)
    return m.mid_letters & of_letters | m.mid_numbers & of_digits


@kernel(inline="always")
def _write(out: U64, n: Int, i: Int, bits: Int) -> None:
    """Write the offset of each bit of a mask, from out[n] on."""
    one, flat = np.uint64(1), np.uint64(FLAT)
    for k in range(FLAT):
        out[n + np.uint64(k)] = i + lowest_bit(bits)
        bits &= bits - one
    while bits:
        out[n + flat] = i + lowest_bit(bits)
        bits &= bits - one
        n += one


@kernel(inline="always")
def _block(
    data: U8, begin: Int, i: Int, stop: Int, rule: WordRule, tail: U8, before: Before
) -> tuple[Masks, Int, Int, bool]:
    """Return the masks of 64 bytes, that of words, how many bytes were looked at, and whether a word ends there."""
    end, closes, one = min(stop - i, np.uint64(WIDTH)), False, np.uint64(1)
    m = _masks(data, i, stop, tail)
    if m.high:
        m, end, closes = _with_others(data, np.int64(begin), i, np.int64(stop), rule, m, end)
        letters = _extended(m.letters, before.letter, m.extends)
        digits = _extended(m.digits, before.digit, m.extends)
        joiners = _extended(m.joiners, before.joiner, m.extends)
        m = Masks(m.high, letters, digits, joiners, m.mid_letters, m.mid_numbers, m.extends, m.changed)
    if i + end < stop and data[i + end] >= 0x80 and not closes:
        c = data[i + end - one]
        if c < 0x80 and kind_of(rule.table[c]) >= MID_LETTER:  # it is looked at together with what follows
            end -= one
    mids = _mids(data, i + end, end, stop, m, before) & rule.mids
    return m, (m.letters | m.digits | m.joiners | mids) & lowest_bits(end), end, closes


@kernel(_nrt=False)
def find_words(data: U8, begin: Int, i: Int, stop: Int, rule: WordRule, out: WordBounds) -> tuple[Int, Int]:
    """Write the bounds of the words of data[begin:stop] from `i` on to `out`, as many as fit.

    Return where to go on, which is `stop` if no word is left, and the number of words.

    - begin, i, stop: uint64. `i` is `begin`, or where an earlier call stopped.
    - rule: the result of `word_rule`.
    - out: at least LEAST + 1 places.
    """
    zero, one = np.uint64(0), np.uint64(1)
    nothing = Before(zero, zero, zero, zero)
    before, begun, n, most = nothing, zero, zero, np.uint64(len(out.starts) - LEAST)
    while i < stop and n < most:
        if data[i] >= 0x80 and begun == n:
            i, n = _words_alone(data, i, stop, rule, out, n)
            begun, before = n, nothing
            if i == stop or n >= most:
                break
        m, words, end, closes = _block(data, begin, i, stop, rule, out.tail, before)
        earlier = words << one | before.inside
        starts, lasts = words & ~earlier, earlier & ~words
        if i + end < stop:
            lasts &= lowest_bits(end)
        _write(out.starts, begun, i, starts)
        _write(out.ends, n, i, lasts)
        changed = m.changed & words
        while changed:
            word = begun + n_bits(starts & lowest_bits(lowest_bit(changed) + one)) - one
            out.starts[word] |= np.uint64(CHANGED)
            changed &= changed - one
        begun, n, i, top = begun + n_bits(starts), n + n_bits(lasts), i + end, end - one
        before = Before(m.letters >> top & one, m.digits >> top & one, m.joiners >> top & one, words >> top & one)
        if closes:
            if begun > n:
                out.ends[n] = i
                n += one
            before = nothing
    if begun == n:
        return i, n
    if i < stop:
        return out.starts[n] & ~np.uint64(CHANGED), n
    out.ends[n] = stop
    return stop, n + one
