r"""Words of texts in any script: the rules by which texts are split into words (see `word_bounds.py`).

There are two ways to split a text. "unicode", the default, splits at the word boundaries of UAX #29. A combining mark
belongs to the word before it; "don't", "3.14" and "example.com" are one word each. In scripts without spaces (Han,
Hiragana, Katakana, Thai, Lao, Khmer, Myanmar and others), each character with its marks is a word; in Tibetan, each
syllable is a word. These rules differ from UAX #29: Katakana letters are words of their own; the narrow no-break space
joins only digits; a Hebrew word does not end with an apostrophe; an emoji after a joiner is not a part of a word; a
word has a letter, a digit or an underscore. "regex" splits as most published code does: runs of `\w`.

Words are compared in lower case, with one form of the apostrophe, and without format characters and variation
selectors.

Slow reference for the tests: tests/twins/words.py
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from . import tables
from . import text as T
from .kernel import kernel
from .text import U8, U16, U32, Int

SPLITS = ("unicode", "regex")
FOLDED = "folded"

# An entry of the table: the lower-case code point (0: not compared), the class from bit 21 on, the state after it from
# bit 25 on, T.SIGMA and T.DOTTED.
KIND = 21
OTHER, LETTER, HEBREW, DIGIT, JOINER, ALONE = 0, 1, 2, 3, 4, 5
MID_LETTER, MID_NUMBER, MID_BOTH, MID_HEBREW, EXTEND = 6, 7, 8, 9, 10
KINDS = {
    "LETTER": LETTER, "HEBREW": HEBREW, "DIGIT": DIGIT, "JOINER": JOINER, "MID_LETTER": MID_LETTER,
    "MID_NUMBER": MID_NUMBER, "MID_BOTH": MID_BOTH, "EXTEND": EXTEND,
}  # fmt: skip
NARROW_SPACE = 0x202F
ITERATIONS = (0x3005, 0x303B)  # letters of UAX #29 that repeat a Chinese character
APOSTROPHES = (0x2018, 0x2019, 0xFF07)
OUTSIDE, INSIDE, SINGLE = 0, 1, 2  # states: outside of words, in a word, in a word of one character
OTHERWISE = 3  # in an entry, from bit SURE on: the state after this character depends on more than its class
SURE = 25
STARTS = 4  # added to a state: a word starts at this character


@cache
def word_table(split: str = "unicode") -> U32:
    """Return the table by which kernels split texts into words, uint32[0x110000].

    FOLDED is "unicode" with the dotless `i` treated as `i`, so that Turkish texts in capitals equal those in lower
    case. Each entry is the lower case of a code point and, from bit 21 on, its class: LETTER, DIGIT ...

    Args:
        split: one of SPLITS, or FOLDED.
    """
    kinds = np.where(T.classes() & T.WORD, np.uint32(LETTER if split == "regex" else ALONE), np.uint32(OTHER))
    table = T.lowered() & np.uint32(~T.IN_WORD & 0xFFFFFFFF)
    if split != "regex":
        for name, points in tables.tokens(tables.WORD_BREAK):
            kinds[points] = KINDS[name]
        kinds[ord('"')], kinds[NARROW_SPACE] = MID_HEBREW, MID_NUMBER
        kinds[(T.classes() & T.FORMAT != 0) & (kinds != EXTEND)] = OTHER
        table[T.classes() & T.FORMAT != 0] = 0
        table[list(APOSTROPHES)] = ord("'")
        table[0x130] = ord("i")
        table[0x131] = ord("i") if split == FOLDED else 0x131
    table |= kinds << np.uint32(KIND)
    table |= np.where(kinds == OTHER, OUTSIDE, np.where(kinds <= JOINER, INSIDE, OTHERWISE)).astype(np.uint32) << SURE
    table.flags.writeable = False
    return table


@cache
def unspaced() -> npt.NDArray[np.bool_]:
    """Return for each code point whether it is a letter of a script without spaces, bool[0x110000]; False for signs."""
    table: npt.NDArray[np.bool_] = (word_table() >> KIND & 15 == ALONE) & (T.classes() & T.ALPHA != 0)
    table[list(ITERATIONS)] = True
    table.flags.writeable = False
    return table


@kernel(inline="always")
def kind_of(entry: Int) -> Int:
    """Return the class (LETTER, DIGIT ...) in an entry of `word_table`."""
    return np.int64(entry) >> KIND & 15


@kernel(_nrt=False)
def _fits(before: int, mid: int, after: int) -> bool:
    """Return whether a character of class `mid` joins characters of the classes `before` and `after` to one word."""
    letters = before in (LETTER, HEBREW) and after in (LETTER, HEBREW)
    if mid == MID_HEBREW:
        return before == HEBREW and after == HEBREW
    return (letters and mid != MID_NUMBER) or (before == DIGIT and after == DIGIT and mid != MID_LETTER)


@kernel(_nrt=False)
def joins(data: U8, begin: int, i: int, stop: int, table: U32) -> bool:
    """Return whether the character at byte `i`, of a class from MID_LETTER to MID_HEBREW, joins its two neighbours.

    Neighbours of the class EXTEND are skipped.

    - begin, stop: the text is data[begin:stop].
    - table: the result of `word_table`.
    """
    c, size = T.code_point(data, i)
    before, after, j = EXTEND, EXTEND, i
    while j > begin and before == EXTEND:
        j = T.step_back(data, j)
        before = kind_of(table[T.code_point(data, j)[0]])
    if before in (EXTEND, OTHER):
        return False
    j = i + size
    while j < stop and after == EXTEND:
        other, size = T.code_point(data, j)
        after = kind_of(table[other])
        j += size
    return bool(_fits(before, kind_of(table[c]), after))


@kernel(_nrt=False)
def inside_word(data: U8, begin: int, i: int, stop: int, table: U32) -> bool:
    """Return whether the character at byte `i` of the text data[begin:stop] is in a word, but is not its first.

    - table: the result of `word_table`.
    """
    if i <= begin or i >= stop:
        return False
    kind, j = kind_of(table[T.code_point(data, i)[0]]), i
    if kind in (OTHER, ALONE):
        return False
    if MID_LETTER <= kind <= MID_HEBREW:
        return bool(joins(data, begin, i, stop, table))
    before = EXTEND
    while j > begin and before == EXTEND:
        j = T.step_back(data, j)
        before = kind_of(table[T.code_point(data, j)[0]])
    if MID_LETTER <= before <= MID_HEBREW:
        return bool(joins(data, begin, j, stop, table))
    return before in (LETTER, HEBREW, DIGIT, JOINER) or (before == ALONE and kind == EXTEND)


@kernel(inline="always")
def sure_state(entry: Int) -> Int:
    """Return the state after a character with this entry of `word_table`; OTHERWISE if only `step` can determine it."""
    return np.int64(entry) >> SURE & 3


@kernel(inline="always")
def step(data: U8, begin: Int, i: Int, stop: Int, table: U32, kind: Int, state: Int) -> Int:
    """Return the state after the character of class `kind` at byte `i`, from the state before it.

    A state is OUTSIDE, INSIDE or SINGLE; STARTS is added to it if a word starts at the character.

    - begin, stop: the text is data[begin:stop].
    """
    before = state & 3
    if kind == OTHER:
        return OUTSIDE
    if kind <= JOINER:
        return INSIDE if before == INSIDE else INSIDE | STARTS
    if kind == ALONE:
        return SINGLE | STARTS
    if kind == EXTEND:
        return before
    likely = before == INSIDE and i + 1 < stop
    if likely and data[i + 1] < 0x80:  # after an ASCII character it is nearly always a blank, which decides
        likely = LETTER <= kind_of(table[data[i + 1]]) <= JOINER
    return INSIDE if likely and joins(data, begin, i, stop, table) else OUTSIDE


@kernel(inline="always")
def lower_point(data: U8, begin: Int, i: Int, stop: Int, entry: Int, classes: U16) -> Int:
    """Return the lower case of the character at byte `i` of data[begin:stop]: a final sigma at the end of a word.

    - entry: the entry of the character in `word_table`.
    - classes: `text.classes()`.
    """
    if entry & T.SIGMA and T.final_sigma(data, i, begin, stop, classes):
        return np.int64(0x3C2)
    return np.int64(entry & T.POINT)
