"""The names to find in texts, as a tree of letters: a hash table from (node, character) to the next node.

Keys are compared in full, so no result depends on a hash alone.

Slow reference for the tests: tests/twins/names.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, Int

I32 = npt.NDArray[np.int32]
EMPTY = -1
SIEVE_BITS = 16


class Trie(NamedTuple):
    """The terms to find, as a tree of letters (trie), stored as a hash table from (node, character) to the next node.

    Attributes:
        keys: int64[slots], node << 21 | character, or EMPTY.
        children: int32[slots], the next node; 0 is the root.
        terms: int32[nodes], the number of the term that ends at a node, or EMPTY.
        sieve: uint8[65536], 1 if a term begins with letters of this hash; it rejects most words.
    """

    keys: I64
    children: I32
    terms: I32
    sieve: U8


def build(terms: Sequence[str]) -> Trie:
    """Return a tree of letters (trie) that finds `terms`, names or words, in texts; a term's number is its index."""
    edges: dict[int, int] = {}
    ends = {}
    for number, term in enumerate(terms):
        node = 0
        for c in term:
            node = edges.setdefault(node << 21 | ord(c), len(edges) + 1)
        ends[node] = number
    slots = 16
    while slots < 3 * len(edges):
        slots *= 2
    keys, children = np.full(slots, EMPTY, np.int64), np.zeros(slots, np.int32)
    for edge, child in edges.items():
        slot = _first_slot(edge, slots)
        while keys[slot] != EMPTY:
            slot = slot + 1 & slots - 1
        keys[slot], children[slot] = edge, child
    found = np.full(len(edges) + 1, EMPTY, np.int32)
    found[list(ends)] = list(ends.values())
    return Trie(keys, children, found, sieve_of(term.partition(" ")[0] for term in terms))


def sieve_of(words: Iterable[str]) -> U8:
    """Return the sieve of a Trie for terms that begin with these words."""
    sieve = np.zeros(1 << SIEVE_BITS, np.uint8)
    for word in words:
        one, two, three = (*map(ord, word[:3]), 0, 0, 0)[:3]
        sieve[hash3(one, two, three)] = 1
        if three == 0:
            sieve[hash3(one, two or one, two or one)] = 1  # stretched
    return sieve


def _first_slot(edge: int, slots: int) -> int:
    return ((edge ^ edge >> 15) & 0x7FFFFFFF) * 0x9E3779B1 >> 7 & slots - 1


def hash3(a: int, b: int, c: int) -> int:
    """Return the slot of `Trie.sieve` for the first three letters of a term, 0 after its end."""
    return (a * 0x9E3779 ^ b * 0x85EBCB ^ c * 0xC2B2AF) >> 8 & (1 << SIEVE_BITS) - 1


@kernel(inline="always")
def step(node: Int, c: Int, keys: I64, children: I32) -> Int:
    """Return the node after a character, EMPTY if there is none."""
    edge = np.int64(node) << 21 | np.int64(c)
    mask = np.int64(len(keys) - 1)
    slot = (((edge ^ (edge >> 15)) & 0x7FFFFFFF) * 0x9E3779B1 >> 7) & mask
    while keys[slot] != EMPTY:
        if keys[slot] == edge:
            return np.int64(children[slot])
        slot = (slot + 1) & mask
    return np.int64(EMPTY)
