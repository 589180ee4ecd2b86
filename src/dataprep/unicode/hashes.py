"""Hashes of characters, of runs of words or characters and of whole texts, and normal forms for comparison.

Kernels read a text column as Arrow stores it; see `text.py`.

Slow reference for the tests: tests/twins/text.py
"""

from __future__ import annotations

import numpy as np

from . import text as T
from .kernel import kernel, read_only
from .text import I64, U8, U16, U32, U64, Int

BLOCK = 512  # shingles that are hashed at once, so that they stay in the cache


@kernel(forceinline=True)
def mix64(x: Int) -> Int:
    """Return a hash of the uint64 `x`, computed by MurmurHash3's finaliser; different numbers have different hashes."""
    h = np.uint64(x)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


@kernel
def char_hashes(offsets: I64, data: U8) -> tuple[I64, U64]:
    """Return a hash of every character of every text: (offsets into the hashes, int64[n + 1]; hashes, uint64).

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
    """
    n = len(offsets) - 1
    ends = np.zeros(n + 1, np.int64)
    out = np.empty(offsets[n] - offsets[0], np.uint64)
    k = 0
    for d in range(n):
        i = offsets[d]
        while i < offsets[d + 1]:
            c, size = T.code_point(data, i)
            out[k] = mix64(np.uint64(c) + np.uint64(1))
            k += 1
            i += size
        ends[d + 1] = k
    return ends, out[:k]


@kernel(_nrt=False)
def hash_runs(items: U64, n: int, out: U64) -> None:
    """Write the hash of each run of `n` items, of which there are len(out), to `out`."""
    factor = np.uint64(0x9E3779B97F4A7C15)
    for first in range(0, len(out), BLOCK):
        own, word = out[first : first + BLOCK], items[first:]
        for j in range(len(own)):
            own[j] = word[j]
        for k in range(1, n):
            later = word[k:]
            for j in range(len(own)):
                own[j] = own[j] * factor + later[j]
        for j in range(len(own)):
            own[j] = mix64(own[j])


@kernel
def shingle_hashes(ends: I64, items: U64, n: int) -> tuple[I64, U64]:
    """Return the hashes of all runs of `n` items (shingles) of each document.

    - items: the hashes of words or characters.
    - ends: int64[documents + 1], offsets of each document's items. A document with fewer than `n` items has one
      shingle, which is all of its items; a document without items has no shingle.

    Returns (offsets into the hashes, int64[documents + 1]; hashes, uint64).
    """
    starts = np.zeros(len(ends), np.int64)
    for d in range(len(ends) - 1):
        size = ends[d + 1] - ends[d]
        starts[d + 1] = starts[d] + (max(1, size - n + 1) if size else 0)
    out = np.empty(starts[-1], np.uint64)
    for d in range(len(ends) - 1):
        hash_runs(items[ends[d] : ends[d + 1]], min(n, ends[d + 1] - ends[d]), out[starts[d] : starts[d + 1]])
    return starts, out


NORMAL_FORMS = ("space", "lower", "words")  # each ignores more than the one before


@kernel
def _normal(offsets: I64, data: U8, low: U32, table: U16, level: int) -> tuple[I64, U8]:
    """Return texts with one space per gap: level 0 white space; 1 also lower-cased; 2 all except letters."""
    n = len(offsets) - 1
    ends = np.zeros(n + 1, np.int64)
    out = np.empty((offsets[n] - offsets[0]) * 3 // 2 + 4, np.uint8)  # U+0130 grows from two bytes to three
    k = 0
    for d in range(n):
        i, stop, first = offsets[d], offsets[d + 1], k
        gap = False
        while i < stop:
            c, size = T.code_point(data, i)
            entry, bits = low[c], table[c]
            hidden = level == 2 and bits & T.FORMAT
            if hidden or ((entry & T.IN_WORD == 0 and bits & T.MARK == 0) if level == 2 else (bits & T.SPACE != 0)):
                gap = gap or (k > first and not hidden)
                i += size
                continue
            if gap:
                out[k] = 32
                k += 1
                gap = False
            if level > 0:
                c = np.int64(entry & T.POINT)
                if entry & T.SIGMA and T.final_sigma(data, i, offsets[d], stop, table):
                    c = np.int64(0x3C2)
            k = T.put(out, k, c)
            if level > 0 and entry & T.DOTTED:
                k = T.put(out, k, np.int64(0x307))
            i += size
        ends[d + 1] = k
    return ends, out[:k]


def normal_form(offsets: I64, data: U8, form: str) -> tuple[I64, U8]:
    """Return the texts in the normal form `form`: (offsets from 0, int64[n + 1]; UTF-8 bytes, uint8).

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        form: "space" replaces each run of white space by one space, and removes white space at the ends. "lower" also
            converts to lower case. "words" keeps only the letters, digits, underscores and combining marks of the
            lower-cased text, with one space in place of everything else between them, so that punctuation is ignored
            too. Format characters are removed.
    """
    return _normal(*read_only(offsets, data), T.lowered(), T.classes(), NORMAL_FORMS.index(form))


@kernel(forceinline=True)
def eight_bytes(data: U8, i: Int) -> Int:
    """Return data[i:i + 8] as one little-endian number; `i` is uint64, so that Numba reads the bytes in one load."""
    w = np.uint64(data[i]) | np.uint64(data[i + np.uint64(1)]) << np.uint64(8)
    w |= np.uint64(data[i + np.uint64(2)]) << np.uint64(16) | np.uint64(data[i + np.uint64(3)]) << np.uint64(24)
    w |= np.uint64(data[i + np.uint64(4)]) << np.uint64(32) | np.uint64(data[i + np.uint64(5)]) << np.uint64(40)
    return w | np.uint64(data[i + np.uint64(6)]) << np.uint64(48) | np.uint64(data[i + np.uint64(7)]) << np.uint64(56)


@kernel
def text_hashes(offsets: I64, data: U8) -> U64:
    """Return a 128-bit hash of the bytes of each text data[offsets[k]:offsets[k + 1]], uint64[n, 2]."""
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
