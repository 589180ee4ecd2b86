"""Kernels that measure a line as DCLM does: its words, upper-case letters and digits, and whether it is a counter.

Slow reference for the tests: tests/twins/refinedweb.py.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from dataprep.unicode import text as T
from dataprep.unicode.kernel import kernel
from dataprep.unicode.spaced import count_words
from dataprep.unicode.text import U8, U16, U32

from .phrases import RefinedWebRules, longest

# What `str.isdigit` accepts beside decimal digits: superscripts, and digits in circles and brackets.
OTHER_DIGITS = (
    "B2-B3 B9 1369-1371 19DA 2070 2074-2079 2080-2089 2460-2468 2474-247C 2488-2490 24EA 24F5-24FD 24FF 2776-277E "
    "2780-2788 278A-2792 10A40-10A43 10E60-10E68 11052-1105A 1F100-1F10A"
)


class LineFigures(NamedTuple):
    """The figures of a line: end, words, characters, upper-case characters, digits, and whether it is not blank."""

    end: int
    words: int
    chars: int
    upper: int
    numeric: int
    shown: bool


@cache
def tables() -> tuple[U16, U32, U32]:
    """Return the class bits of each code point, its lower case for counters, and its lower case for phrases.

    NUMERIC is the class of characters that `str.isdigit` accepts. A dotted capital I does not equal `i` in a counter
    (`str.lower` writes two characters). In a phrase, it does equal `i`, and so does the dotless `i`; the long s equals
    `s` (`re.IGNORECASE`).
    """
    classes, lower, folds = T.classes().copy(), T.lowered().copy(), T.lowered().copy()
    classes &= ~np.uint16(T.NUMERIC)
    classes[classes & T.DECIMAL != 0] |= T.NUMERIC
    for span in OTHER_DIGITS.split():
        first, _, last = span.partition("-")
        classes[int(first, 16) : int(last or first, 16) + 1] |= T.NUMERIC
    lower[0x130] = 0x130
    folds[0x131], folds[0x17F] = ord("i"), ord("s")
    for table in (classes, lower, folds):
        table.flags.writeable = False
    return classes, lower, folds


@kernel(_nrt=False)
def line_at(data: U8, a: int, stop: int, rules: RefinedWebRules) -> LineFigures:
    """Return the figures of the line that begins at `a`."""
    words, chars, upper, numeric, inside, i = 0, 0, 0, 0, False, a
    while i < stop:
        c, size = T.code_point(data, i)
        if c == 0x0A:
            break
        bits = int(rules.classes[c])
        space = bits & T.SPACE != 0
        words += not space and not inside
        inside = not space
        chars += 1
        upper += bits & T.UPPER != 0
        numeric += bits & T.NUMERIC != 0
        i += size
    shown = words > 0
    if shown and rules.marks >= 0:
        words = count_words(data, a, i, rules.words, rules.classes, rules.marks)
    return LineFigures(i, words, chars, upper, numeric, shown)


@kernel(_nrt=False)
def fasttext_words(data: U8, a: int, b: int, classes: U16) -> int:
    r"""Return the number of runs between fastText's white space (ASCII's, and NUL) that begin with `\w` but not `_`."""
    n, outside, i = 0, True, a
    while i < b:
        c, size = T.code_point(data, i)
        n += outside and c != 0x5F and classes[c] & T.WORD != 0
        outside, i = c == 0x20 or 9 <= c <= 13 or c == 0, i + size
    return n


@kernel(_nrt=False)
def is_counter(data: U8, a: int, b: int, rules: RefinedWebRules) -> bool:
    """Return whether a line is a number and a word such as `likes`, possibly between punctuation: `* 1.2K likes!`."""
    while a < b and not rules.classes[T.code_point(data, a)[0]] & T.WORD:
        a += T.code_size(data[a])
    i = a
    while i < b:
        c, size = T.code_point(data, i)
        if not rules.classes[c] & T.DECIMAL and (i == a or c not in (0x2C, 0x2E)):
            break
        i += size
    if i < b and i > a and T.code_point(data, i)[0] in (0x6B, 0x6D, 0x62, 0x4B, 0x4D, 0x42, 0x212A):  # k, m or b
        i += T.code_size(data[i])
    gap = T.skip_spaces(data, i, b, rules.classes)
    if i in (a, gap):
        return False
    end = longest(data, gap, b, rules.counters, rules.lower)
    if end < 0:
        return False
    while end < b and not rules.classes[T.code_point(data, end)[0]] & T.WORD:
        end += T.code_size(data[end])
    return bool(end == b)


@kernel(_nrt=False)
def is_blank(out: U8, a: int, b: int, classes: U16) -> bool:
    """Return whether a range contains only white space."""
    return bool(T.skip_spaces(out, a, b, classes) == b)


@kernel(_nrt=False)
def points(data: U8, a: int, b: int) -> int:
    """Return the number of code points of a range."""
    n = 0
    for i in range(a, b):
        n += data[i] & 0xC0 != 0x80
    return n


@kernel(_nrt=False)
def splits_otherwise(out: U8, a: int, b: int) -> bool:
    """Return whether a range of white space contains a character at which fastText does not split."""
    found = False
    for i in range(a, b):
        found |= out[i] > 0x20 or 0x1C <= out[i] < 0x20
    return found
