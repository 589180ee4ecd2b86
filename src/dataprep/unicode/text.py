"""Texts as code points: steps over UTF-8, character classes, lower case, white space, words and ends of sentences.

Kernels read a text column as Arrow stores it: `offsets` int64[n + 1] into `data`, valid UTF-8. The parameter `classes`
is the result of `classes()`, and `lower` that of `lowered()`; they are tables of the fixed Unicode version of
`tables.py`, so that words are the same on every Python. Python's `re`, `str.lower`, `str.strip` and `str.split` are the
reference (tested on every code point). Lower-casing is used for comparison only: offsets always refer to unchanged
text. `_nrt=False` leaves out reference counting in kernels that are called for every line.

Slow reference for the tests: tests/twins/text.py, tests/twins/c4.py and tests/twins/units.py
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import tables
from .kernel import kernel

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Int: TypeAlias = Any  # inside a kernel: NumPy's integers and Python's are one

# Bits of `classes()`, defined in tables.py.
SPACE, LINE, ALPHA, DECIMAL, NUMERIC, NUMBER = 1, 2, 4, 8, 16, 32
MARK, PUNCT, SENTENCE, UPPER, CASED, IGNORABLE = 64, 128, 256, 512, 1024, 2048
WORD = 4096  # `\w`: a letter, anything numeric, or the underscore
FORMAT = 8192  # a format character or a variation selector: invisible, and not compared
SELECTORS = (*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
BITS = {
    "SPACE": SPACE, "LINE": LINE, "ALPHA": ALPHA, "DECIMAL": DECIMAL, "NUMERIC": NUMERIC, "NUMBER": NUMBER,
    "MARK": MARK, "PUNCT": PUNCT, "SENTENCE": SENTENCE, "UPPER": UPPER, "CASED": CASED, "IGNORABLE": IGNORABLE,
    "FORMAT": FORMAT,
}  # fmt: skip

# Bits of `lowered()`, above the 21 bits of the lower-case code point.
IN_WORD = 1 << 31  # the lower-case character is `\w`
SIGMA = 1 << 30  # U+03A3: final or not depends on its neighbours
DOTTED = 1 << 29  # U+0130: lowers to `i` and U+0307, a mark, which ends the word
POINT = (1 << 21) - 1


@cache
def classes() -> U16:
    """Return the class bits of every code point, uint16[0x110000]; `classes()[ord(".")] & PUNCT` is not 0."""
    table = np.zeros(0x110000, np.uint16)
    for name, bit in BITS.items():
        table[tables.points(tables.CLASSES[name])] |= bit
    table[(table & (ALPHA | NUMERIC)) != 0] |= WORD
    table[ord("_")] |= WORD
    table[list(SELECTORS)] |= FORMAT
    table.flags.writeable = False
    return table


@cache
def lowered() -> U32:
    """Return a table of lower-case code points, uint32[0x110000]: `lowered()[c] & POINT` is the lower-case form of `c`.

    The bits IN_WORD, SIGMA and DOTTED, above those of POINT, mark the code points that need special treatment.
    """
    table = np.arange(0x110000, dtype=np.uint32)
    for run in tables.LOWER.split():
        span, _, change = run.partition("/")
        first, last = (int(x, 16) for x in span.split("-"))
        table[first : last + 1 : int(change[0])] += np.uint32(int(change[1:], 16) % (1 << 32))
    table |= np.where(classes()[table] & WORD, np.uint32(IN_WORD), np.uint32(0))
    table[0x3A3] |= np.uint32(SIGMA)
    table[0x130] |= np.uint32(DOTTED)
    table.flags.writeable = False
    return table


@kernel(forceinline=True)
def code_point(data: U8, i: Int) -> tuple[Int, Int]:
    """Return (code point, length in bytes) of the character that starts at byte `i` of `data`, valid UTF-8."""
    b: Int = np.int64(data[i])
    if b < 0x80:
        return b, 1
    if b < 0xE0:
        return (b & 0x1F) << 6 | np.int64(data[i + 1]) & 0x3F, 2
    if b < 0xF0:
        return (b & 0x0F) << 12 | (np.int64(data[i + 1]) & 0x3F) << 6 | np.int64(data[i + 2]) & 0x3F, 3
    tail = (np.int64(data[i + 1]) & 0x3F) << 12 | (np.int64(data[i + 2]) & 0x3F) << 6
    return (b & 0x07) << 18 | tail | np.int64(data[i + 3]) & 0x3F, 4


@kernel(forceinline=True)
def put(out: U8, k: Int, c: Int) -> Int:
    """Write code point `c` as UTF-8 to `out` from offset `k` on; return the offset after it."""
    if c < 0x80:
        out[k] = c
        return k + 1
    if c < 0x800:
        out[k], out[k + 1] = 0xC0 | c >> 6, 0x80 | c & 0x3F
        return k + 2
    if c < 0x10000:
        out[k], out[k + 1], out[k + 2] = 0xE0 | c >> 12, 0x80 | c >> 6 & 0x3F, 0x80 | c & 0x3F
        return k + 3
    out[k], out[k + 1] = 0xF0 | c >> 18, 0x80 | c >> 12 & 0x3F
    out[k + 2], out[k + 3] = 0x80 | c >> 6 & 0x3F, 0x80 | c & 0x3F
    return k + 4


@kernel(_nrt=False)
def code_size(lead: int) -> int:
    """Return the length in bytes of the code point whose first byte is `lead`."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@kernel(_nrt=False)
def step_back(data: U8, i: int) -> int:
    """Return the offset of the first byte of the code point that ends before byte `i`."""
    i -= 1
    while data[i] & 0xC0 == 0x80:
        i -= 1
    return i


@kernel(_nrt=False)
def whole_points(data: U8, start: int, stop: int) -> int:
    """Return `stop`, or the nearest smaller offset that does not split a character of `data`, but at least `start`."""
    while stop > start and data[stop] & 0xC0 == 0x80:
        stop -= 1
    return stop


@kernel
def final_sigma(data: U8, i: Int, start: Int, stop: Int, table: U16) -> bool:
    """Return whether the capital sigma at byte `i` of the text data[start:stop] becomes a final sigma in lower case.

    The rule is Final_Sigma of Unicode's SpecialCasing.

    - table: classes of characters, from `classes()`.
    """
    j = i
    before = 0
    while j > start and not before:
        j -= 1
        if data[j] & 0xC0 != 0x80:
            bits = table[code_point(data, j)[0]]
            if not bits & IGNORABLE:
                before = 2 if bits & CASED else 1
    if before != 2:
        return False
    j = i + 2
    while j < stop:
        c, n = code_point(data, j)
        if not table[c] & IGNORABLE:
            return not table[c] & CASED
        j += n
    return True


@kernel(_nrt=False)
def space(line: U8, i: int, classes: U16) -> int:
    """Return the size in bytes of the white-space character at byte `i`; 0 if there is another character."""
    c = line[i]
    if c < 0x80:
        return 1 if c == 0x20 or 0x09 <= c <= 0x0D or 0x1C <= c <= 0x1F else 0
    point, size = code_point(line, i)
    return size if classes[point] & SPACE else 0


@kernel(_nrt=False)
def skip_spaces(line: U8, i: int, b: int, classes: U16) -> int:
    """Return the offset of the first character of line[i:b] that is not white space, or `b` if there is none."""
    while i < b:
        size = space(line, i, classes)
        if size == 0:
            break
        i += size
    return i


@kernel(_nrt=False)
def strip(line: U8, a: int, b: int, classes: U16) -> tuple[int, int]:
    """Return the range (start, stop) of `line[a:b]` without white space at its ends, as `str.strip` does it."""
    a = skip_spaces(line, a, b, classes)
    while a < b:
        i = step_back(line, b)
        if space(line, i, classes) == 0:
            break
        b = i
    return a, b


@kernel(_nrt=False)
def has_words(line: U8, a: int, b: int, n: int, classes: U16) -> bool:
    """Return whether `line[a:b]` has at least `n` words, as `str.split` finds them."""
    inside = False
    while n > 0 and a < b:
        size = space(line, a, classes)
        n -= size == 0 and not inside
        inside = size == 0
        a += size or code_size(line[a])
    return n <= 0


@kernel(_nrt=False)
def word_too_long(line: U8, a: int, b: int, max_chars: int, classes: U16) -> bool:
    """Return whether a word of `line[a:b]`, as `str.split` finds it, has more than `max_chars` code points."""
    if not unbroken(line, a, b, max_chars):
        return False
    chars = 0
    while a < b:
        size = space(line, a, classes)
        chars = 0 if size else chars + 1
        if chars > max_chars:
            return True
        a += size or code_size(line[a])
    return False


@kernel(_nrt=False)
def unbroken(line: U8, a: int, b: int, n: int) -> bool:
    """Return whether `line[a:b]` has more than `n` bytes in a row without a space.

    If the words are short, only few of the bytes are read.
    """
    while b - a > n:
        i = a + n
        while i >= a and line[i] != 0x20:
            i -= 1
        if i < a:
            return True
        a = i + 1
    return False


@kernel(_nrt=False)
def skip_closers(line: U8, i: int, b: int) -> int:
    """Return the offset after the closing quotation marks and brackets at byte `i` of line[:b], or `i`."""
    while i < b:
        c = line[i]
        if c in (0x22, 0x27, 0x29, 0x5D, 0x7D):  # " ' ) ] }
            i += 1
        elif c == 0xC2 and line[i + 1] == 0xBB:  # U+00BB
            i += 2
        elif c == 0xE2 and line[i + 1] == 0x80 and (line[i + 2] == 0x99 or line[i + 2] == 0x9D):  # U+2019, U+201D
            i += 3
        else:
            break
    return i


@kernel(_nrt=False)
def inside_sentence(line: U8, a: int, i: int, run: int, after: int, classes: U16) -> bool:
    """Return whether the punctuation marks `line[i:run]` are full stops that do not end a sentence.

    - a: the offset at which the text starts.
    - after: the offset of the next character after the marks that is compared. Full stops do not end a sentence if this
      character is a lower-case letter. A single full stop after a single letter, as in "J. Doe", does not end a
      sentence either; combining marks belong to their letters.
    """
    for j in range(i, run):
        if line[j] != 0x2E:
            return False
    point, _ = code_point(line, after)
    if classes[point] & CASED and not classes[point] & UPPER:
        return True
    if run - i > 1:
        return False
    letter = base_before(line, a, i, classes)
    if letter < a or not classes[code_point(line, letter)[0]] & ALPHA:
        return False
    other = base_before(line, a, letter, classes)
    point = code_point(line, other)[0] if other >= a else 0
    return not (classes[point] & WORD or point == 0x27)


@kernel(_nrt=False)
def base_before(line: U8, a: int, i: int, classes: U16) -> int:
    """Return the offset of the last character of line[a:i] that is neither a mark nor a format character, or a - 1."""
    while i > a:
        i = step_back(line, i)
        point, _ = code_point(line, i)
        if not classes[point] & (MARK | FORMAT):
            return i
    return a - 1


@kernel(forceinline=True)
def copied(data: U8, at: Int, stop: Int, out: U8, k: Int) -> Int:
    """Copy data[at:stop] to out[k:]; return the index after it. Unsigned indexes let LLVM copy 32 bytes at a time."""
    n, i, o = np.uint64(max(0, stop - at)), np.uint64(at), np.uint64(k)
    for j in range(n):
        out[o + j] = data[i + j]
    return np.int64(k) + np.int64(n)
