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
USUAL = 5  # bytes per word, for which there is room at first
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
    """Write the hashes of the first `n` words of `found`, of the text data[begin:stop], to `out`.

    The bytes of most words, those of up to 16 bytes, are read first, and then hashed by vector instructions. The bounds
    in `found` are overwritten with these bytes. `out` has 2 n places; the second half is scratch space.
    """
    zero, eight, sixteen = np.uint64(0), np.uint64(8), np.uint64(16)
    n_others = 0
    for j in range(n):
        a, b = found.starts[j], found.ends[j]
        if b - a <= sixteen and b >= eight:
            out[j], found.starts[j] = eight_bytes(data, b - eight), eight_bytes(data, min(a, b - eight))
            found.ends[j] = b - a
        else:
            out[n + n_others] = j
            n_others += 1
    for j in range(n):
        size = found.ends[j]
        y = _lower(out[j]) >> ((zero - size) * eight & np.uint64(63))
        x = _mixed(zero, _lower(found.starts[j]))
        out[j] = mix64((x if size > eight else zero) ^ y)
    for k in range(n_others):
        j = int(out[n + k])
        a, b = found.starts[j], found.ends[j]
        if a >= np.uint64(CHANGED):
            out[j] = mix64(_changed(data, begin, a ^ np.uint64(CHANGED), b, stop, table, classes))
        else:
            out[j] = mix64(_long(data, a, b))


@kernel
def word_hashes(offsets: I64, data: U8, rule: WordRule, classes: U16, found: WordBounds) -> tuple[I64, U64]:
    """Return the hash of every word of every text: (offsets int64[n + 1], hashes uint64[words]).

    - classes: `text.classes()`.
    - found: the result of `empty_bounds`.
    """
    k: Int = 0
    n_texts, most = len(offsets) - 1, len(found.starts)
    ends, out = np.zeros(n_texts + 1, np.int64), np.empty((offsets[-1] - offsets[0]) // USUAL + 2 * most, np.uint64)
    for d in range(n_texts):
        i, stop = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
        begin = i
        while i < stop:
            if len(out) - k < 2 * most:
                out = _twice(out, k)
            i, n = find_words(data, begin, i, stop, rule, found)
            _hash_words(data, np.int64(begin), np.int64(stop), found, np.int64(n), rule.table, classes, out[k:])
            k += np.int64(n)
        ends[d + 1] = k
    return ends, out[:k]


@kernel
def _twice(values: U64, n: int) -> U64:
    """Return an array of twice the length, with the first `n` values."""
    out = np.empty(2 * len(values), np.uint64)
    for j in range(n):
        out[j] = values[j]
    return out


def words(offsets: I64, data: U8, split: str = "unicode") -> tuple[I64, U64]:
    """Return the word hashes of every text, (offsets int64[n + 1], hashes uint64[words]).

    - split: one of `words.SPLITS`.
    """
    rule, found = word_rule(split), empty_bounds(WORDS + LEAST)
    hashes: tuple[I64, U64] = word_hashes(*read_only(offsets, data), rule, T.classes(), found)
    return hashes
