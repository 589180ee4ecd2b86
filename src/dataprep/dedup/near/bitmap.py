"""Bitmaps of sets: one bit per member, by which most pairs are rejected without comparing the sets.

A bit that is set for one set only represents a member that the other lacks, so the bound is conservative: no pair that
reaches the threshold is rejected. At least eight bits per member make it tight. If thousands of documents share a
template but too little else, most of verification is this test: 0.02 to 0.05 us per pair instead of 0.2 to 4 us.

Twin: tests/twins/minhash.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U64, Int

BITS = 8  # per member, at least


@kernel
def n_words(members: Int) -> Int:
    """Return the words of a bitmap for so many members: a power of two."""
    words = np.int64(1)
    while 64 * words < BITS * members:
        words *= 2
    return words


@kernel
def draw(members: U64, bits: U64) -> None:
    """Write the bitmap of a set of 64-bit hashes into `bits`."""
    mask = np.uint64(len(bits) - 1)
    for w in range(len(bits)):
        bits[w] = np.uint64(0)
    for h in members:
        bits[(h >> np.uint64(6)) & mask] |= np.uint64(1) << (h & np.uint64(63))


@kernel
def lack(bits: U64, others: U64, most: Int) -> bool:
    """Return whether the other set certainly lacks more than `most` members of the first; the longer map is folded."""
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
    """Return how many bits are set; LLVM recognises the pattern and emits one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
