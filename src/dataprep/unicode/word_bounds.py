"""Find where the words of texts begin and end, 64 bytes at a time.

Masks of bits state the class of each byte; only characters beyond ASCII are looked up one after the other.

Slow reference for the tests: tests/twins/words.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import text as T
from .byte_masks import WIDTH, bit_count, bytes_between, last_bytes, lowest_bit
from .hashes import eight_bytes
from .kernel import kernel
from .text import U8, U32, U64, Int
from .words import ALONE, DIGIT, EXTEND, HEBREW, JOINER, LETTER, MID_BOTH, MID_HEBREW, MID_LETTER, joins, kind_of

CHANGED = 1 << 63  # added to the start of a word that has other characters in lower case
LEAST = WIDTH  # free entries that are needed to go on
FLAT = 8  # words that are written without a branch
RARE = 1 << HEBREW | 1 << DIGIT | 1 << JOINER | 15 << MID_LETTER


class WordRule(NamedTuple):
    """How texts are split into words.

    Attributes:
        table: `word_table()`.
        mids: a mask of all bits if some ASCII characters may join two parts of a word, or else 0.
        tail: 64 bytes of scratch space.
    """

    table: U32
    mids: Int
    tail: U8


class WordBounds(NamedTuple):
    """Where words begin and end: word `j` is data[starts[j]:ends[j]]; CHANGED may be added to a start."""

    starts: U64
    ends: U64


class Masks(NamedTuple):
    """Classes of 64 bytes, one bit each.

    Attributes:
        high: a byte beyond ASCII.
        letters, digits, joiners: a byte of a character of the class LETTER or HEBREW, DIGIT, or JOINER.
        mid_letters, mid_numbers: an ASCII character that may join letters, or digits.
        alone: a byte of a character of the class ALONE.
        extends: a byte of a character of the class EXTEND.
        firsts: a word starts here, even directly after another, if there is a word here.
        changed: the first byte of a character that has another form in lower case.
    """

    high: Int
    letters: Int
    digits: Int
    joiners: Int
    mid_letters: Int
    mid_numbers: Int
    alone: Int
    extends: Int
    firsts: Int
    changed: Int


@kernel
def word_rule(table: U32) -> WordRule:
    """Return the rule for a `word_table`."""
    mids = np.uint64(0)
    if kind_of(table[0x2E]) == MID_BOTH:
        mids = ~mids
    return WordRule(table, mids, np.zeros(WIDTH, np.uint8))


@kernel
def empty_bounds(n: int) -> WordBounds:
    """Return arrays for the bounds of `n` words."""
    return WordBounds(np.empty(n, np.uint64), np.empty(n, np.uint64))


@kernel(inline="always")
def _between(data: U8, i: Int, first: int, last: int) -> Int:
    return bytes_between(data, i, np.uint8(first), np.uint8(last))


@kernel(inline="always")
def _below(k: Int) -> Int:
    """Return a mask of the lowest `k` bits, at most 64."""
    return (np.uint64(1) << k) - np.uint64(1) if k < np.uint64(WIDTH) else ~np.uint64(0)


@kernel(inline="always")
def _ascii_masks(data: U8, i: Int) -> Masks:
    """Return the masks of the 64 bytes from `i` on, as if all bytes beyond ASCII were outside of words."""
    zero = np.uint64(0)
    both = _between(data, i, 0x27, 0x27) | _between(data, i, 0x2E, 0x2E)
    return Masks(
        _between(data, i, 0x80, 0xFF),
        _between(data, i, 0x41, 0x5A) | _between(data, i, 0x61, 0x7A),
        _between(data, i, 0x30, 0x39),
        _between(data, i, 0x5F, 0x5F),
        both | _between(data, i, 0x3A, 0x3A),
        both | _between(data, i, 0x2C, 0x2C) | _between(data, i, 0x3B, 0x3B),
        zero, zero, zero, zero,
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
    return (b & np.uint64(0x07)) << np.uint64(18) | two << six | np.uint64(data[i + np.uint64(3)]) & np.uint64(0x3F), np.uint64(4)


@kernel(_nrt=False)
def _with_others(data: U8, begin: Int, i: Int, stop: Int, table: U32, m: Masks, end: Int) -> tuple[Masks, Int]:
    """Return the masks with the characters beyond ASCII of data[i:i + end]; and `end`, or where one is incomplete."""
    zero, one, width = np.uint64(0), np.uint64(1), np.uint64(WIDTH)
    letters, digits, joiners, alone, extends, firsts, changed = m.letters, m.digits, m.joiners, zero, zero, zero, zero
    rest = m.high
    while rest:
        at = lowest_bit(rest)
        c, size = _point(data, i + at)
        if at + size > width:
            end = at
            break
        bits = ((one << size) - one) << at
        rest &= ~bits
        entry = table[c]
        kind = np.uint64(entry) >> np.uint64(21) & np.uint64(15)
        changed |= np.uint64((entry ^ np.uint32(c)) & np.uint32(T.POINT) != 0) << at
        letters |= bits if kind == LETTER else zero
        extends |= bits if kind == EXTEND else zero
        alone |= bits if kind == ALONE else zero
        firsts |= one << at if kind == ALONE else zero
        if np.uint64(RARE) >> kind & one or entry & np.uint32(T.DOTTED):
            where = np.int64(i + at)
            if kind == DIGIT:
                digits |= bits
            elif kind == JOINER or (MID_LETTER <= kind <= MID_HEBREW and joins(data, begin, where, stop, table)):
                joiners |= bits
            elif kind == HEBREW:
                letters |= bits
                if at and data[where - 1] == 0x22 and joins(data, begin, where - 1, stop, table):
                    joiners |= one << at - one
            elif kind == LETTER:  # an `i` that ends its word
                if at + size == width:
                    end = at
                    break
                firsts |= one << at + size
    marks = extends & ~(m.high | letters | digits | joiners) << one
    while marks:  # after an ASCII character that is not in a word for its own sake
        before = lowest_bit(marks) - one
        marks &= marks - one
        c = data[i + before]
        if MID_LETTER <= kind_of(table[c]) <= MID_HEBREW and joins(data, begin, np.int64(i + before), stop, table):
            joiners |= one << before
    return Masks(m.high, letters, digits, joiners, m.mid_letters, m.mid_numbers, alone, extends, firsts, changed), end


@kernel(inline="always")
def _extended(mask: Int, carry: Int, extends: Int) -> Int:
    """Return a mask with the runs of bits in `extends` that follow a bit of the mask, or of `carry`."""
    return mask | extends & ~(extends + (mask << np.uint64(1) & extends | carry & extends))


@kernel(inline="always")
def _masks(data: U8, i: Int, stop: Int, tail: U8) -> Masks:
    """Return the masks of data[i:stop], at most 64 bytes, as if all bytes beyond ASCII were outside of words."""
    if i + np.uint64(WIDTH) <= np.uint64(len(data)):
        m = _ascii_masks(data, i)
    else:
        last_bytes(data, i, stop, tail)
        m = _ascii_masks(tail, np.uint64(0))
    if stop - i < np.uint64(WIDTH):
        v = _below(stop - i)
        zero = np.uint64(0)
        m = Masks(m.high & v, m.letters & v, m.digits & v, m.joiners & v, m.mid_letters, m.mid_numbers, zero, zero, zero, zero)
    return m


@kernel(inline="always")
def _write(out: U64, n: Int, i: Int, bits: Int, count: Int) -> None:
    """Write the offset of each bit of a mask, from out[n] on."""
    for k in range(FLAT):
        out[n + np.uint64(k)] = i + lowest_bit(bits)
        bits &= bits - np.uint64(1)
    n += np.uint64(FLAT)
    while bits:
        out[n] = i + lowest_bit(bits)
        bits &= bits - np.uint64(1)
        n += np.uint64(1)


@kernel(_nrt=False)
def find_words(
    data: U8, begin: Int, i: Int, stop: Int, rule: WordRule, out: WordBounds, n: Int
) -> tuple[Int, Int]:
    """Append to the `n` bounds in `out` those of the words of data[begin:stop] from `i` on, as many as fit.

    Return where to go on, `stop` if no word is left, and the number of bounds in `out`.

    - i: `begin`, or where an earlier call stopped.
    - rule: the result of `word_rule`.
    """
    zero, one, width = np.uint64(0), np.uint64(1), np.uint64(WIDTH)
    letter, digit, joiner, alone, inside = zero, zero, zero, zero, zero  # 1 if the character before is one, or in a word
    begun, most = n, np.uint64(len(out.starts) - LEAST)
    while i < stop and n < most:
        end = min(stop - i, width)
        m = _masks(data, i, stop, rule.tail)
        letters, digits, joiners, singles, firsts, changed = m.letters, m.digits, m.joiners, zero, zero, zero
        if m.high:
            m, end = _with_others(data, np.int64(begin), i, np.int64(stop), rule.table, m, end)
            letters = _extended(m.letters, letter, m.extends)
            digits = _extended(m.digits, digit, m.extends)
            joiners = _extended(m.joiners, joiner, m.extends)
            singles = _extended(m.alone, alone, m.extends)
            firsts, changed = m.firsts, m.changed
        firsts |= (singles << one | alone) & ~singles
        after = data[i + end] if i + end < stop else np.uint8(0x20)
        if after >= np.uint8(0x80):
            c = data[i + end - one]
            if c < 0x80 and MID_LETTER <= kind_of(rule.table[c]) <= MID_HEBREW:  # it is looked at with what follows
                end -= one
        top, valid = end - one, _below(end)
        next_letter = np.uint64(np.uint8((after | np.uint8(0x20)) - np.uint8(0x61)) < np.uint8(26)) << top
        next_digit = np.uint64(np.uint8(after - np.uint8(0x30)) < np.uint8(10)) << top
        mid = m.mid_letters & (letters << one | letter) & (letters >> one | next_letter)
        mid |= m.mid_numbers & (digits << one | digit) & (digits >> one | next_digit)
        words = (letters | digits | joiners | singles | mid & rule.mids) & valid
        before = words << one | inside
        starts, lasts = words & (~before | firsts), before & (~words | firsts)
        if i + end < stop:
            lasts &= valid
        n_starts, n_lasts = bit_count(starts), bit_count(lasts)
        _write(out.starts, begun, i, starts, n_starts)
        _write(out.ends, n, i, lasts, n_lasts)
        changed &= words
        while changed:
            word = begun + bit_count(starts & _below(lowest_bit(changed) + one)) - one
            out.starts[word] |= np.uint64(CHANGED)
            changed &= changed - one
        begun, n, i = begun + n_starts, n + n_lasts, i + end
        letter, digit, joiner = letters >> top & one, digits >> top & one, joiners >> top & one
        alone, inside = singles >> top & one, words >> top & one
    if begun == n:
        return i, n
    if i < stop:
        return out.starts[n] & ~np.uint64(CHANGED), n
    out.ends[n] = stop
    return stop, n + one
