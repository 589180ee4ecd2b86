"""Counts of lines, paragraphs and n-grams that occur more than once in a document, by 64-bit hashes.

Slow reference for the tests: tests/twins/gopher.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64, Int

STEP = np.uint64(0xA0761D6478BD642F)  # of the chains over code points and over words


class HashCounts(NamedTuple):
    """A hash table that counts 64-bit hashes.

    Attributes:
        seen: the hash in each slot.
        state: the count of each slot, and the stamp (a number) that it was written with.
        stamp: int64[1], the current stamp. A slot with an older stamp is free, so increasing the stamp by 1 empties the
            table.
    """

    seen: U64
    state: I64  # stamp << 32 | count
    stamp: I64  # [1]


@kernel
def hash_counts(items: int) -> HashCounts:
    """Return an empty table with capacity for `items` different hashes."""
    slots = int(np.int64(slots_mask(items))) + 1
    return HashCounts(np.zeros(slots, np.uint64), np.zeros(slots, np.int64), np.zeros(1, np.int64))


@kernel(_nrt=False)
def slots_mask(items: int) -> Int:
    """Return the mask that maps a hash to its slot, for a table of `items` hashes: the number of slots minus 1.

    The number of slots is a small power of two, so that the table of a short document fits into the cache.
    """
    slots = 8
    while slots < 2 * items:
        slots *= 2
    return np.uint64(slots - 1)


@kernel(_nrt=False)
def count_hash(counts: HashCounts, mask: Int, h: Int, stamp: int) -> int:
    """Add one to the count of the hash `h` in the table `counts`, and return the slot of `h`.

    - mask: the result of `slots_mask`.
    - stamp: the table's current stamp; slots with an older stamp are free.
    """
    slot = h & mask
    while counts.state[slot] >> 32 == stamp and counts.seen[slot] != h:
        slot = (slot + np.uint64(1)) & mask
    if counts.state[slot] >> 32 == stamp:
        counts.state[slot] += 1
    else:
        counts.seen[slot], counts.state[slot] = h, stamp << 32 | 1
    return int(np.int64(slot))


@kernel(_nrt=False)
def count_repeats(words: U64, chars: I64, starts: I64, n: int, counts: HashCounts) -> tuple[int, int]:
    """Return the number of units (such as lines) that repeat an earlier unit word by word, and their total size.

    - words: uint64, hashes of the document's words.
    - chars: the number of characters of the words before each word.
    - starts: int64[n + 1], the first word of each of the `n` units.
    - counts: a work table. The size is the total number of characters of these units.
    """
    repeated, repeated_chars = 0, 0
    counts.stamp[0] += 1
    stamp, mask = counts.stamp[0], slots_mask(n)
    for k in range(n if n > 1 else 0):
        h = np.uint64(starts[k + 1] - starts[k])
        for w in range(starts[k], starts[k + 1]):
            h = (h ^ words[w]) * STEP
            h ^= h >> np.uint64(32)
        slot = count_hash(counts, mask, mix64(h), stamp)
        if counts.state[slot] & 0xFFFFFFFF > 1:
            repeated += 1
            repeated_chars += chars[starts[k + 1]] - chars[starts[k]]
    return repeated, repeated_chars
