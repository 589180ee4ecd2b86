"""The set of shingles of each text: the distinct hashes of all runs of `n` units, in order of first occurrence.

Most hashes occur once in a text. A bitmap finds nearly all of these without a hash table: every hash sets one bit, and
only hashes whose bit was set by two of them may be equal.

Slow reference for the tests: tests/twins/text.py
"""

from __future__ import annotations

import numpy as np

from .hashes import hash_runs
from .kernel import kernel
from .text import I64, U64, Int

BITS = 16  # of a bitmap per hash, or up to twice as many


@kernel(inline="always")
def _place(h: Int, mask: Int) -> tuple[Int, Int]:
    """Return the word of a bitmap in which a hash sets a bit, and the number of this bit."""
    return h >> np.uint64(32) & mask, h & np.uint64(63)


@kernel(_nrt=False)
def _suspects(hashes: U64, once: U64, twice: U64, out: I64) -> Int:
    """Write the indices of the hashes that may be equal to another one to `out`; return how many there are.

    - once, twice: bitmaps of equal size, a power of two.
    - out: one place more than there are hashes.
    """
    one, mask = np.uint64(1), np.uint64(len(once) - 1)
    for w in range(len(once)):
        once[w] = twice[w] = np.uint64(0)
    for h in hashes:
        w, bit = _place(h, mask)
        before = once[w]
        twice[w] |= before & one << bit
        once[w] = before | one << bit
    n: Int = 0
    for j in range(len(hashes)):  # without a branch
        w, bit = _place(hashes[j], mask)
        out[n] = j
        n += np.int64(twice[w] >> bit & one)
    return n


@kernel(_nrt=False)
def _repeats(hashes: U64, suspects: I64, table: I64) -> int:
    """Replace the ascending indices `suspects` by those of hashes that occurred before; return how many there are.

    - table: int64, a power of two, more than there are suspects.
    """
    mask, n = np.uint64(len(table) - 1), 0
    for slot in range(len(table)):
        table[slot] = -1
    for j in suspects:
        h = hashes[j]
        slot = h >> np.uint64(8) & mask
        while table[slot] >= 0 and hashes[table[slot]] != h:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = j
        else:
            suspects[n] = j
            n += 1
    return n


@kernel(_nrt=False)
def _remove(hashes: U64, indices: I64) -> None:
    """Remove the hashes with these ascending indices; the others move to the front."""
    if not len(indices):
        return
    to = indices[0]
    for k in range(len(indices)):
        last = indices[k + 1] if k + 1 < len(indices) else len(hashes)
        for j in range(indices[k] + 1, last):
            hashes[to] = hashes[j]
            to += 1


@kernel(inline="always")
def _power(least: Int) -> Int:
    """Return the smallest power of two that is at least `least`."""
    found = np.int64(1)
    while found < least:
        found *= 2
    return found


@kernel
def shingle_sets(ends: I64, items: U64, n: int, least: int) -> tuple[I64, U64]:
    """Return the distinct hashes of all runs of `n` items (shingles) of each document, in order of first occurrence.

    - items: the hashes of words or characters.
    - ends: int64[documents + 1], offsets of each document's items. A document with fewer than `n` items has one
      shingle, which is all of its items; a document without items has no shingle.
    - least: documents with fewer shingles, counted with repeats, get none.

    Returns (offsets into the hashes, int64[documents + 1]; hashes, uint64).
    """
    longest: Int = 1
    for d in range(len(ends) - 1):
        longest = max(longest, ends[d + 1] - ends[d])
    words, slots = _power((BITS * longest + 63) // 64), _power(2 * longest)
    once, twice, table = np.empty(words, np.uint64), np.empty(words, np.uint64), np.empty(slots, np.int64)
    suspects = np.empty(longest + 1, np.int64)
    starts, out = np.zeros(len(ends), np.int64), np.empty(ends[-1] - ends[0], np.uint64)
    for d in range(len(ends) - 1):
        size, k = ends[d + 1] - ends[d], starts[d]
        starts[d + 1] = k
        width = min(n, size)
        if not size or size - width + 1 < least:
            continue
        own = out[k : k + size - width + 1]
        hash_runs(items[ends[d] : ends[d + 1]], width, own)
        words = _power((BITS * len(own) + 63) // 64)
        m = _suspects(own, once[:words], twice[:words], suspects)
        m = _repeats(own, suspects[:m], table[: _power(2 * m)]) if m else 0
        _remove(own, suspects[:m])
        starts[d + 1] = k + len(own) - m
    return starts, out[: starts[-1]]
