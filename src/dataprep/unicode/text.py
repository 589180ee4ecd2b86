"""Unicode classes and lower-casing as tables, and shared kernels: words, normal forms, hashes.

Kernels read a text column as Arrow stores it: `offsets` int64[n + 1] into `data`, valid UTF-8. Tables have the fixed
Unicode version of `tables.py`, so that words are the same on every Python; Python's `re` and `str.lower` are the
reference (tested on every code point). Lower-casing serves hashing only: offsets always refer to unchanged text.
Twin: tests/twins/text.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from . import tables
from .kernel import kernel
from .utf8 import U8 as U8  # noqa: PLC0414 - exported, as are the next three
from .utf8 import Int as Int  # noqa: PLC0414
from .utf8 import code_point as code_point  # noqa: PLC0414
from .utf8 import put as put  # noqa: PLC0414

U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

# Bits of `classes()`, defined in tables.py.
SPACE, LINE, ALPHA, DECIMAL, NUMERIC, NUMBER = 1, 2, 4, 8, 16, 32
MARK, PUNCT, SENTENCE, UPPER, CASED, IGNORABLE = 64, 128, 256, 512, 1024, 2048
WORD = 4096  # `\w`: a letter, anything numeric, or the underscore
BITS = {
    "SPACE": SPACE, "LINE": LINE, "ALPHA": ALPHA, "DECIMAL": DECIMAL, "NUMERIC": NUMERIC, "NUMBER": NUMBER,
    "MARK": MARK, "PUNCT": PUNCT, "SENTENCE": SENTENCE, "UPPER": UPPER, "CASED": CASED, "IGNORABLE": IGNORABLE,
}  # fmt: skip

# Bits of `lowered()`, above the 21 bits of the lower-case code point.
IN_WORD = 1 << 31  # the lower-case character is `\w`
SIGMA = 1 << 30  # U+03A3: final or not depends on its neighbours
DOTTED = 1 << 29  # U+0130: lowers to `i` and U+0307, a mark, which ends the word
POINT = (1 << 21) - 1


@cache
def classes() -> U16:
    """Return the class bits of every code point, uint16[0x110000]: `classes()[ord(".")] & PUNCT`."""
    table = np.zeros(0x110000, np.uint16)
    for name, bit in BITS.items():
        for first, last in _ranges(tables.CLASSES[name]):
            table[first : last + 1] |= bit
    table[(table & (ALPHA | NUMERIC)) != 0] |= WORD
    table[ord("_")] |= WORD
    table.flags.writeable = False
    return table


@cache
def lowered() -> U32:
    """Return the lower-case form of every code point, with the bits IN_WORD, SIGMA and DOTTED; uint32[0x110000]."""
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


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    for span in text.split():
        first, _, last = span.partition("-")
        yield int(first, 16), int(last or first, 16)


@kernel
def final_sigma(data: U8, i: Int, start: Int, stop: Int, table: U16) -> bool:
    """Return whether the capital sigma at byte `i` of a text lowers to the final form (SpecialCasing, Final_Sigma)."""
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


# Word hashes: sum over characters of (lower-case code point * a random odd number for its place), then a finaliser.
# The multiplications are independent, unlike in a chain such as FNV's: 1.6 times as fast. Every 64 characters the sum
# is mixed and starts again, so that no word is too long.
PLACES = 64
_RANDOM = np.random.RandomState(20_260)  # RandomState: a stream that NumPy promises never to change
PLACE_FACTORS = _RANDOM.randint(0, 1 << 63, PLACES, np.uint64) * np.uint64(2) + np.uint64(1)


@kernel(inline="always")
def mix64(x: Int) -> Int:
    """Return MurmurHash3's finaliser of `x`, a bijection: every input bit affects every output bit."""
    h = np.uint64(x)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


@kernel
def word_hashes(offsets: I64, data: U8, low: U32, table: U16, factors: U64) -> tuple[I64, U64]:
    r"""Hash every word of every text: runs of `\w` of the lower-cased text.

    `low` is `lowered()`, `table` is `classes()`, `factors` is PLACE_FACTORS. Returns offsets int64[n + 1] into the
    hashes uint64[words]. No branch depends on the ends of words, which a processor cannot predict: a hash is stored
    at every character, and the index advances when a word ends.
    """
    zero, one = np.uint64(0), np.uint64(1)
    ascii_word = np.zeros(128, np.uint8)
    for c in range(128):
        ascii_word[c] = low[c] & POINT if low[c] & IN_WORD else 0
    n = len(offsets) - 1
    ends = np.zeros(n + 1, np.int64)
    out = np.empty((offsets[n] - offsets[0]) // 2 + n + 2, np.uint64)
    k: Int = zero
    for d in range(n):
        i, stop = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
        h, place = zero, zero
        while i < stop:
            b = data[i]
            if b < 0x80:
                value = np.uint64(ascii_word[b])
                i += one
            else:
                c, size = code_point(data, np.int64(i))
                entry: Int = low[c]
                if entry & SIGMA and final_sigma(data, np.int64(i), offsets[d], offsets[d + 1], table):
                    entry = np.uint32(0x3C2 | IN_WORD)
                elif entry & DOTTED:  # an `i` that ends its word
                    out[k] = h + np.uint64(0x69) * factors[place]
                    k += one
                    h, entry = zero, np.uint32(0)
                value = np.uint64(entry & POINT) if entry & IN_WORD else zero
                i += np.uint64(size)
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
    for j in range(np.int64(k)):
        out[j] = mix64(out[j])
    return ends, out[: np.int64(k)]


@kernel
def char_hashes(offsets: I64, data: U8) -> tuple[I64, U64]:
    """Return a hash of every character of every text: offsets int64[n + 1] into hashes uint64[characters]."""
    n = len(offsets) - 1
    ends = np.zeros(n + 1, np.int64)
    out = np.empty(offsets[n] - offsets[0], np.uint64)
    k = 0
    for d in range(n):
        i = offsets[d]
        while i < offsets[d + 1]:
            c, size = code_point(data, i)
            out[k] = mix64(np.uint64(c) + np.uint64(1))
            k += 1
            i += size
        ends[d + 1] = k
    return ends, out[:k]


@kernel
def shingle_hashes(ends: I64, items: U64, n: int) -> tuple[I64, U64]:
    """Return hashes of the runs of `n` items (words or characters): offsets int64[documents + 1], hashes uint64.

    A document with fewer than `n` items is one shingle of all of them; one without items has none.
    """
    factor = np.uint64(0x9E3779B97F4A7C15)
    starts = np.zeros(len(ends), np.int64)
    for d in range(len(ends) - 1):
        size = ends[d + 1] - ends[d]
        starts[d + 1] = starts[d] + (max(1, size - n + 1) if size else 0)
    out = np.empty(starts[-1], np.uint64)
    for d in range(len(ends) - 1):
        word, shingle = items[ends[d] : ends[d + 1]], out[starts[d] : starts[d + 1]]
        for j in range(len(shingle)):
            shingle[j] = word[j]
        for k in range(1, min(n, len(word))):
            later = word[k:]
            for j in range(len(shingle)):
                shingle[j] = shingle[j] * factor + later[j]
        for j in range(len(shingle)):
            shingle[j] = mix64(shingle[j])
    return starts, out


@kernel
def distinct(starts: I64, hashes: U64) -> tuple[I64, U64]:
    """Return every document's hashes once each, in order of first occurrence."""
    n = len(starts) - 1
    longest = 1
    for d in range(n):
        longest = max(longest, starts[d + 1] - starts[d])
    slots = 4
    while slots < 2 * longest:
        slots *= 2
    seen, stamp = np.empty(slots, np.uint64), np.zeros(slots, np.int64)
    ends, out = np.zeros(n + 1, np.int64), np.empty(starts[n] - starts[0], np.uint64)
    k = 0
    for d in range(n):
        mask = np.uint64(3)  # as many slots as this document needs, so that short ones stay in the cache
        while np.int64(mask) + 1 < 2 * (starts[d + 1] - starts[d]):
            mask = mask * np.uint64(2) + np.uint64(1)
        for j in range(starts[d], starts[d + 1]):
            h = hashes[j]
            slot = h & mask
            while stamp[slot] == d + 1 and seen[slot] != h:
                slot = (slot + np.uint64(1)) & mask
            if stamp[slot] != d + 1:
                stamp[slot], seen[slot], out[k] = d + 1, h, h
                k += 1
        ends[d + 1] = k
    return ends, out[:k]


NORMAL_FORMS = ("space", "lower", "words")  # each ignores more than the one before


@kernel
def _normal(offsets: I64, data: U8, low: U32, table: U16, level: int) -> tuple[I64, U8]:
    """Return texts with every gap as one space: level 0 white space; 1 that and lower case; 2 all but words."""
    n = len(offsets) - 1
    ends = np.zeros(n + 1, np.int64)
    out = np.empty((offsets[n] - offsets[0]) * 3 // 2 + 4, np.uint8)  # U+0130 grows from two bytes to three
    k = 0
    for d in range(n):
        i, stop, first = offsets[d], offsets[d + 1], k
        gap = False
        while i < stop:
            c, size = code_point(data, i)
            entry = low[c]
            if (entry & IN_WORD == 0) if level == 2 else (table[c] & SPACE != 0):
                gap = k > first
                i += size
                continue
            if gap:
                out[k] = 32
                k += 1
                gap = False
            if level > 0:
                c = np.int64(entry & POINT)
                if entry & SIGMA and final_sigma(data, i, offsets[d], stop, table):
                    c = np.int64(0x3C2)
            k = put(out, k, c)
            if level > 0 and entry & DOTTED:
                if level == 1:
                    k = put(out, k, np.int64(0x307))
                gap = level == 2
            i += size
        ends[d + 1] = k
    return ends, out[:k]


def normal_form(offsets: I64, data: U8, form: str) -> tuple[I64, U8]:
    """Return the texts in a normal form, as new offsets int64[n + 1] (from 0) and UTF-8 bytes.

    "space": runs of white space are one space, none at the ends. "lower": and lower case. "words": the words of the
    lower-cased text, one space between them, so that punctuation is ignored too.
    """
    return _normal(offsets, data, lowered(), classes(), NORMAL_FORMS.index(form))


@kernel
def _without(offsets: I64, data: U8, first: I64, starts: I64, ends: I64, table: U16) -> tuple[I64, U8, I64]:
    """Return the texts without their spans: offsets int64[n + 1], bytes, and characters left that are not white space.

    Spans first[d]..first[d + 1] are those of text d, in order, in bytes of it. Characters are counted only in texts
    that lose something.
    """
    n = len(offsets) - 1
    out_offsets, left = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    out = np.empty(offsets[n] - offsets[0], np.uint8)
    k = 0
    for d in range(n):
        at, begin = offsets[d], k
        for s in range(first[d], first[d + 1] + 1):
            stop = offsets[d] + starts[s] if s < first[d + 1] else offsets[d + 1]
            for i in range(at, stop):
                out[k] = data[i]
                k += 1
            if s < first[d + 1]:
                at = offsets[d] + ends[s]
        if first[d + 1] > first[d]:
            i = begin
            while i < k:
                c, size = code_point(out, i)
                left[d] += table[c] & SPACE == 0
                i += size
        out_offsets[d + 1] = k
    return out_offsets, out[:k], left


def without(offsets: I64, data: U8, first: I64, starts: I64, ends: I64) -> tuple[I64, U8, I64]:
    """Return the texts without some spans of bytes; see `_without`."""
    return _without(offsets, data, first, starts, ends, classes())


@kernel(inline="always")
def eight_bytes(data: U8, i: Int) -> Int:
    """Return the eight bytes from `i` (uint64) on as one number, in one load: an unsigned offset is never negative."""
    w = np.uint64(data[i]) | np.uint64(data[i + np.uint64(1)]) << np.uint64(8)
    w |= np.uint64(data[i + np.uint64(2)]) << np.uint64(16) | np.uint64(data[i + np.uint64(3)]) << np.uint64(24)
    w |= np.uint64(data[i + np.uint64(4)]) << np.uint64(32) | np.uint64(data[i + np.uint64(5)]) << np.uint64(40)
    return w | np.uint64(data[i + np.uint64(6)]) << np.uint64(48) | np.uint64(data[i + np.uint64(7)]) << np.uint64(56)


@kernel
def text_hashes(offsets: I64, data: U8) -> U64:
    """Return a 128-bit hash of each text's bytes, uint64[n, 2]: two multiply-and-shift chains."""
    n = len(offsets) - 1
    out = np.empty((n, 2), np.uint64)
    shift, eight = np.uint64(32), np.uint64(8)
    for d in range(n):
        i, stop = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
        a = np.uint64(0x243F6A8885A308D3) ^ (stop - i)
        b = np.uint64(0x13198A2E03707344) + (stop - i)
        while i < stop:
            w = np.uint64(0)
            if i + eight <= stop:
                w = eight_bytes(data, i)
            else:
                for j in range(stop - i):
                    w |= np.uint64(data[i + np.uint64(j)]) << np.uint64(8 * j)
            a = (a ^ w) * np.uint64(0xA0761D6478BD642F)
            b = (b ^ w) * np.uint64(0xE7037ED1A0B428DB)
            a, b = a ^ (a >> shift), b ^ (b >> shift)
            i += eight
        out[d, 0], out[d, 1] = mix64(a), mix64(b)
    return out


def words(offsets: I64, data: U8) -> tuple[I64, U64]:
    """Return the word hashes of every text: offsets int64[n + 1], hashes uint64[words]. See `word_hashes`."""
    return word_hashes(offsets, data, lowered(), classes(), PLACE_FACTORS)


def shingles(offsets: I64, data: U8, unit: str, n: int) -> tuple[I64, U64]:
    """Return hashes of the runs of `n` words, or `n` characters of the "lower" form: offsets int64, hashes uint64."""
    if unit == "word":
        ends, items = words(offsets, data)
    else:
        ends, items = char_hashes(*normal_form(offsets, data, "lower"))
    return shingle_hashes(ends, items, n)


def shingle_hash(shingle: bytes | str) -> int:
    """Return the 32-bit hash of a shingle of words, as MinHash uses it: `datasketch.MinHash(hashfunc=shingle_hash)`.

    >>> shingle_hash(b"the quick brown fox jumps") == shingle_hash("The quick, brown fox jumps.")
    True
    """
    data = np.frombuffer(shingle.encode() if isinstance(shingle, str) else shingle, np.uint8)
    ends, items = words(np.array([0, len(data)], np.int64), data)
    hashes: Any = shingle_hashes(ends, items, max(1, len(items)))[1]
    return int(hashes[0]) & 0xFFFFFFFF if len(hashes) else 0
