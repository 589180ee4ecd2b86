"""Bitmaps of sets: a bit a member, which tells most pairs apart without a look at the sets.

A bit that one set has and the other lacks is a member that the other lacks, so the bound is exact: no pair that reaches
the threshold is lost. Eight bits and more a member make it tight. Where thousands of documents share a template but not
enough of it, this is what verification does all day: 0.02 to 0.05 us a pair instead of 0.2 to 4 us.
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U64, Int

BITS = 8  # a member, at least


@kernel
def n_words(members: Int) -> Int:
    """Words of a bitmap: a power of two."""
    words = np.int64(1)
    while 64 * words < BITS * members:
        words *= 2
    return words


@kernel
def draw(members: U64, bits: U64) -> None:
    """Set the bits of a set of 64-bit hashes."""
    mask = np.uint64(len(bits) - 1)
    for w in range(len(bits)):
        bits[w] = np.uint64(0)
    for h in members:
        bits[(h >> np.uint64(6)) & mask] |= np.uint64(1) << (h & np.uint64(63))


@kernel
def lack(bits: U64, others: U64, most: Int) -> bool:
    """Whether more than `most` members of the first set are missing in the other. The longer one is folded."""
    words = min(len(bits), len(others))
    missing = np.int64(0)
    for w in range(words):
        mine, theirs = bits[w], others[w]
        for j in range(w + words, len(bits), words):
            mine |= bits[j]
        for j in range(w + words, len(others), words):
            theirs |= others[j]
        missing += np.int64(ones(mine & ~theirs))
        if missing > most:
            return True
    return False


@kernel(inline="always")
def ones(x: Int) -> Int:
    """How many bits are set; LLVM knows the pattern and makes it one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
