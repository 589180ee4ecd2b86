"""Hash the words of texts.

The hash of a word depends on its form in which words are compared (`words.py`): the UTF-8 bytes, eight at a time, are
mixed into it.

Slow reference for the tests: tests/twins/words.py
"""

from __future__ import annotations

import numpy as np

from . import text as T
from .hashes import eight_bytes, mix64
from .kernel import kernel, read_only
from .text import I64, U8, U16, U32, U64, Int
from .word_bounds import CHANGED, LEAST, WordBounds, WordRule, empty_bounds, find_words, word_rule
from .words import lower_point

WORDS = 1024  # whose bounds are found before they are hashed, so that they stay in the cache
FACTOR = 0x9E3779B97F4A7C15
HIGH = 0x8080808080808080


@kernel(inline="always")
def _lower(x: Int) -> Int:
    """Return the lower case of the ASCII characters of words among eight bytes; `_` becomes 0x7F, others stay."""
    return x | (~x & np.uint64(HIGH)) >> np.uint64(2)


@kernel(inline="always")
def _mixed(h: Int, x: Int) -> Int:
    """Return the hash `h` after eight more bytes, which are not the last ones."""
    h = (h ^ x) * np.uint64(FACTOR)
    return h ^ h >> np.uint64(32)


@kernel(_nrt=False)
def _long(data: U8, a: Int, b: Int) -> Int:
    """Return the hash of a word data[a:b] of any length, before it is mixed for the last time."""
    h, eight = np.uint64(0), np.uint64(8)
    while b - a > eight:
        h = _mixed(h, _lower(eight_bytes(data, a)))
        a += eight
    x, shift = np.uint64(0), np.uint64(0)
    while a < b:
        x |= np.uint64(data[a]) << shift
        shift += eight
        a += np.uint64(1)
    return h ^ _lower(x) & ~np.uint64(0) >> (np.uint64(0) - shift & np.uint64(63))


@kernel(inline="always")
def _utf8(point: Int) -> tuple[Int, Int]:
    """Return the UTF-8 bytes of a code point as one little-endian number, and how many bits they have."""
    six, tail = np.uint64(6), np.uint64(0x3F)
    if point < np.uint64(0x80):
        return point, np.uint64(8)
    bits = np.uint64(0x80) | point & tail
    if point < np.uint64(0x800):
        return np.uint64(0xC0) | point >> six | bits << np.uint64(8), np.uint64(16)
    bits = np.uint64(0x80) | point >> six & tail | bits << np.uint64(8)
    if point < np.uint64(0x10000):
        return np.uint64(0xE0) | point >> np.uint64(12) | bits << np.uint64(8), np.uint64(24)
    bits = np.uint64(0x80) | point >> np.uint64(12) & tail | bits << np.uint64(8)
    return np.uint64(0xF0) | point >> np.uint64(18) | bits << np.uint64(8), np.uint64(32)


@kernel(_nrt=False)
def _changed(data: U8, begin: Int, a: Int, b: Int, stop: Int, table: U32, classes: U16) -> Int:
    """Return, as `_long` does, the hash of a word of the text data[begin:stop], with each character in lower case."""
    zero, full = np.uint64(0), np.uint64(64)
    h, x, filled, i = zero, zero, zero, np.int64(a)
    while i < b:
        c, size = T.code_point(data, i)
        point = np.uint64(lower_point(data, begin, i, stop, table[c], classes))
        i += size
        if point == zero:
            continue
        bits, n = _utf8(point)
        if n == np.uint64(8):
            bits |= np.uint64(0x20)
        if filled == full:
            h, x, filled = _mixed(h, x), zero, zero
        x |= bits << filled
        filled += n
        if filled > full:
            h, filled = _mixed(h, x), filled - full
            x = bits >> n - filled
    return h ^ x


@kernel(_nrt=False)
def _hash_words(data: U8, begin: Int, stop: Int, found: WordBounds, n: Int, table: U32, classes: U16, out: U64) -> None:
    """Write the hashes of the first `n` words of `found`, of the text data[begin:stop], to `out`."""
    eight, sixteen = np.uint64(8), np.uint64(16)
    for j in range(n):
        a, b = found.starts[j], found.ends[j]
        size = b - a
        if size <= sixteen and b >= eight:  # without a branch, since words of all lengths follow each other
            y = _lower(eight_bytes(data, b - eight)) >> ((np.uint64(0) - size) * eight & np.uint64(63))
            x = _mixed(np.uint64(0), _lower(eight_bytes(data, a if size > eight else b - eight)))
            out[j] = (x if size > eight else np.uint64(0)) ^ y
        elif a >= np.uint64(CHANGED):
            out[j] = _changed(data, begin, a ^ np.uint64(CHANGED), b, stop, table, classes)
        else:
            out[j] = _long(data, a, b)
    for j in range(n):
        out[j] = mix64(out[j])


@kernel(_nrt=False)
def word_hashes(offsets: I64, data: U8, rule: WordRule, classes: U16, found: WordBounds, ends: I64, out: U64) -> int:
    """Write the hash of every word of every text to `out`, and where those of each text end to `ends`; return how many.

    - classes: `text.classes()`.
    - found: the result of `empty_bounds`.
    - ends: int64[n + 1], zeros. `out`: as many uint64 as there may be words.
    """
    k: Int = 0
    for d in range(len(offsets) - 1):
        i, stop = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
        begin = i
        while i < stop:
            i, n = find_words(data, begin, i, stop, rule, found)
            _hash_words(data, np.int64(begin), np.int64(stop), found, np.int64(n), rule.table, classes, out[k:])
            k += np.int64(n)
        ends[d + 1] = k
    return int(k)


def words(offsets: I64, data: U8, split: str = "unicode") -> tuple[I64, U64]:
    """Return the word hashes of every text, (offsets int64[n + 1], hashes uint64[words]).

    - split: one of `words.SPLITS`.
    """
    ends = np.zeros(len(offsets), np.int64)
    out = np.empty((offsets[-1] - offsets[0]) * 2 // 3 + len(offsets), np.uint64)
    n = word_hashes(*read_only(offsets, data), word_rule(split), T.classes(), empty_bounds(WORDS + LEAST), ends, out)
    return ends, out[:n]
