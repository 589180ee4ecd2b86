"""Find where words of a pattern begin, 64 bytes at a time, by operations on masks of bits (`unicode/byte_masks.py`).

This is done for the patterns in RULES. Letters and signs beyond ASCII are looked up one by one. Where there is another
character beyond ASCII, such as a digit or a space, the machine of `cutting.py` cuts the words.

Slow reference for the tests: tests/twins/bpe.py, and the machine
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.byte_masks import bytes_equal, bytes_within, lowest_bit, lowest_bits
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U8, Int, code_point

from .patterns import CLASSES

# What becomes of a run of white space: LAST: its last character is apart, and joins what follows if it is a space;
# SINGLE: a run is whole, and joins what follows if it is one character; LINES: as LAST, after the run's last line end.
LAST, SINGLE, LINES = 1, 2, 3
RULES = {"gpt2": LAST, "words": SINGLE, "gpt4": LINES, "gpt4 whole end": LINES}
DIGITS = {"groups": 3, "single": 1, "runs": 0, "spaced runs": -1}
LETTER, SIGN = CLASSES.index("a"), CLASSES.index("o")


class MaskRule(NamedTuple):
    """How words are found by masks.

    Attributes:
        white: LAST, SINGLE or LINES; 0: not by masks.
        digits: the number of digits after which a number is cut; 0: never; -1: never, and a space before it joins it.
    """

    white: Int
    digits: Int


def mask_rule(name: str, numbers: str) -> MaskRule:
    """Return the rule for a machine and its way to divide numbers, as `machine_name` names them."""
    return MaskRule(RULES.get(name, 0), DIGITS[numbers])


class Kinds(NamedTuple):
    """Classes of up to 64 bytes, one bit each.

    Attributes:
        letters, numbers, signs: all bytes of such characters.
        spaces, lines: the space; line ends.
        white: both, and other white space.
        more: the second and later bytes of characters.
    """

    letters: Int
    numbers: Int
    signs: Int
    spaces: Int
    lines: Int
    white: Int
    more: Int


@kernel(inline="always")
def _first(mask: Int) -> Int:
    """Return the first bit of each run of bits."""
    return mask & ~(mask << np.uint64(1))


@kernel(_nrt=False)
def _with_others(data: U8, i: Int, n: Int, classes: U8, high: Int) -> tuple[Int, Int, Int]:
    """Return the masks of letters and signs beyond ASCII, and the number of bytes before the first other character."""
    letters, signs, one = np.uint64(0), np.uint64(0), np.uint64(1)
    while high:
        at = lowest_bit(high)
        c, size = code_point(data, np.int64(i + at))
        kind, after = classes[np.uint64(c)], at + np.uint64(size)
        if after > n or kind not in (LETTER, SIGN):
            return letters, signs, at
        bits = ((one << np.uint64(size)) - one) << at
        if kind == LETTER:
            letters |= bits
        else:
            signs |= bits
        high &= ~bits
    return letters, signs, n


@kernel(inline="always")
def _with_contractions(data: U8, i: Int, starts: Int, quotes: Int, cases: int) -> Int:
    """Return the places where words begin, with contractions ('s 'd 'm 't 'll 've 're) that begin with the quotes.

    - cases: 2 if they may have capitals, or 1.
    """
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    s = bytes_equal(data, i, 0x73) | bytes_equal(data, i, 0x64)
    s |= bytes_equal(data, i, 0x6D) | bytes_equal(data, i, 0x74)
    ll, e = bytes_equal(data, i, 0x6C), bytes_equal(data, i, 0x65)
    v = bytes_equal(data, i, 0x76) | bytes_equal(data, i, 0x72)
    if cases == 2:
        s |= bytes_equal(data, i, 0x53) | bytes_equal(data, i, 0x44) | bytes_equal(data, i, 0x4D)
        s |= bytes_equal(data, i, 0x54)
        ll, e = ll | bytes_equal(data, i, 0x4C), e | bytes_equal(data, i, 0x45)
        v |= bytes_equal(data, i, 0x56) | bytes_equal(data, i, 0x52)
    short, long = quotes & s >> one, quotes & (ll >> one & ll >> two | v >> one & e >> two)
    return starts & ~((short | long) << one) | short << two | long << three


@kernel(inline="always")
def _numbers(numbers: Int, digits: Int) -> Int:
    """Return the mask of places in numbers at which a word begins."""
    if digits <= 0:
        return _first(numbers)
    if digits == 1:
        return numbers
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    whole = numbers & numbers << one & numbers << two & numbers << three
    cuts = starts = _first(numbers)
    while cuts:
        cuts = cuts << three & whole
        starts |= cuts
    return starts


@kernel(inline="always")
def _kinds(data: U8, i: Int, n: Int, classes: U8) -> tuple[Kinds, Int]:
    """Return the classes of data[i:i + n], and the number of bytes before the first character that has none."""
    high, more = bytes_within(data, i, 0x80, 0xFF) & lowest_bits(n), np.uint64(0)
    letters = bytes_within(data, i, 0x41, 0x5A) | bytes_within(data, i, 0x61, 0x7A)
    numbers, spaces = bytes_within(data, i, 0x30, 0x39), bytes_equal(data, i, 0x20)
    lines, white = bytes_equal(data, i, 0x0A) | bytes_equal(data, i, 0x0D), spaces | bytes_within(data, i, 0x09, 0x0D)
    signs = ~(bytes_within(data, i, 0x80, 0xFF) | letters | numbers | white)
    if high:
        other_letters, other_signs, n = _with_others(data, i, n, classes, high)
        letters, signs, more = letters | other_letters, signs | other_signs, bytes_within(data, i, 0x80, 0xBF)
    v = lowest_bits(n)
    return Kinds(letters & v, numbers & v, signs & v, spaces & v, lines & v, white & v, more), n


@kernel(_nrt=False)
def word_starts(data: U8, i: Int, n: Int, classes: U8, rule: MaskRule) -> Int:
    """Return the mask of the places in data[i:i + n] where words begin, without the first one.

    A word must begin at `i`. Words that begin at the last byte, or later than is certain, are left out. 0: there is
    none, or only the machine can find it.

    - i, n: uint64; `n` is at most 64, but 64 bytes must exist.
    - classes: the class of every code point, as in `Machine`.
    """
    one = np.uint64(1)
    m, n = _kinds(data, i, n, classes)
    if n < np.uint64(2):
        return np.uint64(0)
    known = lowest_bits(n - one) & ~one
    letters, signs, numbers = _first(m.letters), _first(m.signs), _numbers(m.numbers, rule.digits)
    if rule.white == LAST:
        joined = m.spaces << one
        starts = letters & ~joined | signs & ~joined | _first(m.white) | m.white & ~(m.white >> one)
        starts |= numbers & ~joined if rule.digits < 0 else numbers
        quotes = bytes_equal(data, i, 0x27) & signs & ~joined
        if quotes:
            starts = _with_contractions(data, i, starts, quotes, 1)
        return starts & known
    after_signs = m.signs << one & m.lines
    white = m.white & ~(m.lines & ~(m.lines + after_signs))
    blank = white & ~m.lines
    starts = _first(white) | numbers
    if rule.white == SINGLE:
        joins = _first(white) & ~(white >> one) & blank
    else:
        joins = blank & ~(white >> one)
        starts |= joins
        rest = blank & (white & m.lines) << one & ~joins
        ends = blank + rest & ~blank
        if ends & m.lines or blank >> (n - one) & one:
            while rest:
                at = lowest_bit(rest)
                end = lowest_bit(~blank >> at) + at
                if end >= n:
                    known &= lowest_bits(at)
                elif not m.lines >> end & one:
                    starts |= one << at
                rest &= rest - one
        else:
            starts |= rest
    spaced = (joins & m.spaces) << one
    several = m.signs & m.signs << one & ~m.more | signs & spaced
    ends = m.signs + several & ~m.signs
    starts |= signs & ~spaced | letters & ~(joins << one) & ~(m.signs << one & ~ends)
    if rule.white == LINES:
        quotes = bytes_equal(data, i, 0x27) & signs & ~spaced
        if quotes:
            starts = _with_contractions(data, i, starts, quotes, 2)
    return starts & known
