"""Find where the words of texts begin and end, 64 bytes at a time.

Masks of bits state the class of each byte; only characters beyond ASCII are looked up one after the other.

Slow reference for the tests: tests/twins/words.py
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from . import text as T
from .byte_masks import WIDTH, bit_count, bytes_between, last_bytes, lowest_bit
from .hashes import eight_bytes
from .kernel import kernel
from .text import I64, U8, U32, U64, Int
from .words import ALONE, DIGIT, EXTEND, HEBREW, JOINER, KIND, LETTER, MID_HEBREW, MID_LETTER, joins, kind_of, word_table

CHANGED = 1 << 63  # added to the start of a word that has other characters in lower case
LEAST = WIDTH  # free entries that are needed to go on
LASTS, SECONDS, LEADS = 0, 1, 2  # bytes of a run of characters that are alike
FLAT = 8  # words that are written without a branch
DENSE = 12  # bytes beyond ASCII among 64
_RARE = 1 << HEBREW | 1 << DIGIT | 1 << JOINER | 15 << MID_LETTER
RARE = _RARE | (_RARE | 1 << LETTER) << 16  # classes, and those that change in lower case, that are handled apart


class WordRule(NamedTuple):
    """How texts are split into words.

    Attributes:
        table: `word_table()`.
        runs: for each code point below 65536, its class, 16 if it changes in lower case, and the run of characters
            around it that are alike: from bit 8 on the first and from bit 16 on the last value of their last byte,
            where the other bytes are equal; or, with bit 24, of their first byte, where all that have it are alike.
        mids: a mask of all bits if some ASCII characters may join two parts of a word, or else 0.
    """

    table: U32
    runs: U32
    mids: Int


class WordBounds(NamedTuple):
    """Where words begin and end: word `j` is data[starts[j]:ends[j]]; CHANGED may be added to a start.

    tail: 64 bytes of scratch space.
    """

    starts: U64
    ends: U64
    tail: U8


class Masks(NamedTuple):
    """Classes of 64 bytes, one bit each.

    Attributes:
        high: a byte beyond ASCII.
        letters, digits, joiners: a byte of a character of the class LETTER or HEBREW, DIGIT, or JOINER.
        mid_letters, mid_numbers: an ASCII character that may join letters, or digits.
        extends: a byte of a character of the class EXTEND.
        changed: the first byte of a character that has another form in lower case.
    """

    high: Int
    letters: Int
    digits: Int
    joiners: Int
    mid_letters: Int
    mid_numbers: Int
    extends: Int
    changed: Int


def _spans(values: U32) -> tuple[I64, I64]:
    """Return the first and the last index of the run of equal values around each value; a run has one multiple of 64."""
    edges = np.flatnonzero(np.diff(values) != 0 if len(values) < 64 else (np.diff(values) != 0) | (np.arange(1, len(values)) & 63 == 0)) + 1
    first, last = np.append(0, edges), np.append(edges, len(values)) - 1
    return np.repeat(first, last - first + 1), np.repeat(last, last - first + 1)


@cache
def word_rule(split: str = "unicode") -> WordRule:
    """Return the rule for `split`, one of `words.SPLITS`."""
    table = word_table(split)
    points = np.arange(1 << 16, dtype=np.uint32)
    kinds = table[: 1 << 16] >> KIND & 15
    classes = kinds | ((table[: 1 << 16] ^ points) & T.POINT != 0).astype(np.uint32) << 4
    runs = classes.copy()
    alike, which = classes, np.arange(1 << 16)
    may = ~np.isin(kinds, range(MID_LETTER, MID_HEBREW + 1)) & (table[: 1 << 16] & T.DOTTED == 0) & (which >= 0x80)
    for width, first_byte, mode in ((0, 0x80, LASTS), (6, 0x80, SECONDS), (12, 0xE0, LEADS)):
        if width:
            alike = alike.reshape(-1, 64)
            equal = (alike == alike[:, :1]).all(1) & (np.arange(len(alike)) << width >= 0x800)
            alike = np.where(equal, alike[:, 0], 1 << 16 | np.arange(len(alike))).astype(np.uint32)
        first, last = _spans(alike)
        span = (first_byte | first & 63) << 8 | (first_byte | last & 63) << 16 | mode << 24
        there = may & np.repeat(alike < 1 << 16 if width else last > first, 1 << width)
        runs = np.where(there, classes | np.repeat(span, 1 << width).astype(np.uint32), runs)
    runs.flags.writeable = False
    mids = ~np.uint64(0) if split != "regex" else np.uint64(0)
    return WordRule(table, runs, mids)


def empty_bounds(n: int) -> WordBounds:
    """Return arrays for the bounds of `n` words."""
    return WordBounds(np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(WIDTH, np.uint8))


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
        zero, zero,
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
    dense = bit_count(rest) >= np.uint64(DENSE) and i + width <= np.uint64(len(data))
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
        changed |= leads if run & np.uint64(16) else zero
        letters |= bits if kind == LETTER else zero
        extends |= bits if kind == EXTEND else zero
        if np.uint64(RARE) >> (run & np.uint64(31)) & one:
            if kind == DIGIT:
                digits |= bits
            elif kind == HEBREW:
                letters |= bits
                hebrew |= leads
            elif kind == JOINER or (kind != LETTER and joins(data, begin, np.int64(i + at), stop, rule.table)):
                joiners |= bits
            elif rule.table[c] & np.uint32(T.DOTTED):
                end, closes = at + size, True
                break
    marks = (extends | hebrew) & ~(m.high | letters | digits | joiners) << one & _below(end)
    while marks:  # after an ASCII character that is not in a word for its own sake
        before = lowest_bit(marks) - one
        marks &= marks - one
        kind = kind_of(rule.table[data[i + before]])
        if kind >= MID_LETTER and joins(data, begin, np.int64(i + before), stop, rule.table):
            joiners |= one << before
    return Masks(m.high, letters, digits, joiners, m.mid_letters, m.mid_numbers, extends, changed), end, closes


@kernel(_nrt=False)
def _words_alone(data: U8, i: Int, stop: Int, rule: WordRule, out: WordBounds, n: Int) -> tuple[Int, Int]:
    """Append the bounds of the words at `i` that are one character with its marks; return where to go on, and `n`."""
    one, most, inside = np.uint64(1), np.uint64(len(out.starts)), False
    while i < stop and n < most:
        if data[i] < 0x80:
            kind = kind_of(rule.table[data[i]])
            if LETTER <= kind <= JOINER or i + one == stop or data[i + one] < 0x80:
                break
            i, inside = i + one, False
            continue
        c, size = _point(data, i)
        run = np.uint64(rule.runs[c]) if c < np.uint64(0x10000) else _single(rule.table[c], c)
        kind, changed = run & np.uint64(15), (run & np.uint64(16)) << np.uint64(59)
        if kind == ALONE:
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
    return np.uint64(entry) >> np.uint64(KIND) & np.uint64(15) | differs << np.uint64(4)


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
        m = Masks(m.high & v, m.letters & v, m.digits & v, m.joiners & v, m.mid_letters, m.mid_numbers, zero, zero)
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
    letter, digit, joiner, inside = zero, zero, zero, zero  # 1 if the character before is one, or is in a word
    begun, most = n, np.uint64(len(out.starts) - LEAST)
    while i < stop and n < most:
        if data[i] >= 0x80 and begun == n:
            i, n = _words_alone(data, i, stop, rule, out, n)
            begun, letter, digit, joiner = n, zero, zero, zero
            if i == stop or n >= most:
                break
        end, closes = min(stop - i, width), False
        m = _masks(data, i, stop, out.tail)
        letters, digits, joiners = m.letters, m.digits, m.joiners
        if m.high:
            m, end, closes = _with_others(data, np.int64(begin), i, np.int64(stop), rule, m, end)
            letters = _extended(m.letters, letter, m.extends)
            digits = _extended(m.digits, digit, m.extends)
            joiners = _extended(m.joiners, joiner, m.extends)
        after = data[i + end] if i + end < stop else np.uint8(0x20)
        if after >= np.uint8(0x80) and not closes:
            c = data[i + end - one]
            if c < 0x80 and MID_LETTER <= kind_of(rule.table[c]) <= MID_HEBREW:  # it is looked at with what follows
                end -= one
        top, valid = end - one, _below(end)
        next_letter = np.uint64(np.uint8((after | np.uint8(0x20)) - np.uint8(0x61)) < np.uint8(26)) << top
        next_digit = np.uint64(np.uint8(after - np.uint8(0x30)) < np.uint8(10)) << top
        mid = m.mid_letters & (letters << one | letter) & (letters >> one | next_letter)
        mid |= m.mid_numbers & (digits << one | digit) & (digits >> one | next_digit)
        words = (letters | digits | joiners | mid & rule.mids) & valid
        before = words << one | inside
        starts, lasts = words & ~before, before & ~words
        if i + end < stop:
            lasts &= valid
        n_starts, n_lasts = bit_count(starts), bit_count(lasts)
        _write(out.starts, begun, i, starts, n_starts)
        _write(out.ends, n, i, lasts, n_lasts)
        changed = m.changed & words
        while changed:
            word = begun + bit_count(starts & _below(lowest_bit(changed) + one)) - one
            out.starts[word] |= np.uint64(CHANGED)
            changed &= changed - one
        begun, n, i = begun + n_starts, n + n_lasts, i + end
        letter, digit, joiner, inside = letters >> top & one, digits >> top & one, joiners >> top & one, words >> top & one
        if closes:
            if begun > n:
                out.ends[n] = i
                n += one
            letter, digit, joiner, inside = zero, zero, zero, zero
    if begun == n:
        return i, n
    if i < stop:
        return out.starts[n] & ~np.uint64(CHANGED), n
    out.ends[n] = stop
    return stop, n + one
