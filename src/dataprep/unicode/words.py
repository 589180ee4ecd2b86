r"""Words of texts in any script: where they begin and end, and their hashes.

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
from .hashes import PLACE_FACTORS, PLACES, mix64
from .kernel import kernel
from .text import I64, U8, U16, U32, U64, Int

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
MID = 0x80  # of an ASCII character that may join two parts of a word


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


@kernel
def _bytes_tables(table: U32) -> tuple[U8, U8]:
    """Return the value of each ASCII character, and whether each byte may begin a character after one of value MID.

    The value is the lower case of a character of words, MID if it may join two parts of a word, or else 0.
    """
    out, follows = np.zeros(128, np.uint8), np.ones(256, np.uint8)
    for c in range(128):
        kind = kind_of(table[c])
        out[c] = (table[c] & T.POINT if kind <= JOINER else MID) if kind != OTHER else 0
        follows[c] = kind != OTHER and kind <= JOINER
    return out, follows


@kernel
def word_hashes(offsets: I64, data: U8, table: U32, classes: U16, factors: U64) -> tuple[I64, U64]:
    """Return the hash of every word of every text: (offsets into the hashes, int64[n + 1]; hashes, uint64[words]).

    - table: `word_table()`.
    - classes: `text.classes()`.
    - factors: PLACE_FACTORS.
    """
    ends = np.zeros(len(offsets), np.int64)
    out = np.empty((offsets[-1] - offsets[0]) * 2 // 3 + len(offsets) + 1, np.uint64)
    k = _sums(offsets, data, table, classes, factors, _bytes_tables(table), ends, out)
    for j in range(k):
        out[j] = mix64(out[j])
    return ends, out[:k]


@kernel(_nrt=False)
def _sums(
    offsets: I64, data: U8, table: U32, classes: U16, factors: U64, of_bytes: tuple[U8, U8], ends: I64, out: U64
) -> int:
    """Write the hash of every word to `out`, not yet mixed, and the ends of texts to `ends`; return how many words.

    To avoid branches, a hash is stored at every character, and the index advances only when a word ends. Without
    reference counts, texts of many scripts are read 1.4 to 2 times as fast.

    - of_bytes: the result of `_bytes_tables`.
    """
    zero, one = np.uint64(0), np.uint64(1)
    ascii_word, follows = of_bytes
    k: Int = zero
    for d in range(len(offsets) - 1):
        i, stop, h, place = np.uint64(offsets[d]), np.uint64(offsets[d + 1]), zero, zero
        while i < stop:
            b = data[i]
            if b < 0x80:
                value = np.uint64(ascii_word[b])
                if value == np.uint64(MID):
                    value = zero
                    if h != zero and i + one < stop and follows[data[i + one]]:
                        at: Int = np.int64(i)
                        value = np.uint64(joins(data, offsets[d], at, offsets[d + 1], table)) * np.uint64(b)
                i += one
            else:
                c, size = T.code_point(data, np.int64(i))
                entry: Int = table[c]
                kind = kind_of(entry)
            if b >= 0x80 and kind <= JOINER and entry & np.uint32(T.SIGMA | T.DOTTED) == 0:
                value = np.uint64(entry & np.uint32(T.POINT)) if kind else zero
                i += np.uint64(size)
            elif b >= 0x80:
                state = INSIDE if h != zero else OUTSIDE
                after = step(data, offsets[d], np.int64(i), offsets[d + 1], table, kind, state)
                point = np.uint64(lower_point(data, offsets[d], np.int64(i), offsets[d + 1], entry, classes))
                i += np.uint64(size)
                if after & SINGLE:
                    out[k] = h
                    k += np.uint64(h != zero)
                    out[k], i = _single(data, point, i, stop, table, factors)
                    k, h, place = k + one, zero, zero
                    continue
                if after and point == zero:
                    continue
                if entry & T.DOTTED:  # an `i` that ends its word
                    out[k] = h + point * factors[place]
                    k, h, place, after = k + one, zero, zero, OUTSIDE
                value = point if after else zero
            out[k] = h
            inside = np.uint64(value != 0)
            k += np.uint64(h != 0) & (inside ^ one)
            h = (h + value * factors[place]) & (zero - inside)
            place = (place + one) & (zero - inside)
            if place == np.uint64(PLACES):
                h, place = mix64(h), zero
        out[k] = h
        k += np.uint64(h != 0)
        ends[d + 1] = k
    return int(k)


@kernel(_nrt=False)
def _single(data: U8, point: Int, i: Int, stop: Int, table: U32, factors: U64) -> tuple[Int, Int]:
    """Return the hash of a word of one character with the marks from byte `i` on, and the offset after them."""
    h, place = point * factors[0], np.uint64(1)
    while i < stop and data[i] >= 0x80:
        c, size = T.code_point(data, np.int64(i))
        if kind_of(table[c]) != EXTEND:
            break
        value = np.uint64(table[c] & np.uint32(T.POINT))
        h += value * factors[place]
        place += np.uint64(value != 0)
        if place == np.uint64(PLACES):
            h, place = mix64(h), np.uint64(0)
        i += np.uint64(size)
    return h, i


def words(offsets: I64, data: U8, split: str = "unicode") -> tuple[I64, U64]:
    """Return the word hashes of every text, (offsets int64[n + 1], hashes uint64[words]).

    - split: one of SPLITS.
    """
    return word_hashes(offsets, data, word_table(split), T.classes(), PLACE_FACTORS)
