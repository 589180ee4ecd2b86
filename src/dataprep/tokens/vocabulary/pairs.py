"""Pairs of neighbouring tokens with their counts and offsets, in a hash table and a heap.

Slow reference for the tests: tests/twins/bpe.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64, Int

from .word_counts import I32, grown

# Linked lists of offsets: `entry` is the offset of each list entry, `link` the next entry of its list, or 0. `state`
# has counters, at these indexes. The three are separate arguments, since a record costs 5 % of the time.
N_PAIRS, HEAP_SIZE, UNUSED, FREED, N_MERGES = range(5)


class Pairs(NamedTuple):
    """The pairs of neighbouring tokens that are frequent enough, in a hash table, with their offsets and a heap.

    Attributes:
        slots: the hash table; a slot has the number of a pair, from 1, or 0.
        key: left << 32 | right of each pair.
        counts: the number of occurrences of each pair.
        head: the first entry of the list of its offsets.
        tail: the last entry of the list of its offsets.
        heap: pairs, the most frequent first.
        seen: the count of each pair when it was added to the heap.
    """

    slots: I32  # number of a pair, from 1, at the slot of its hash or after it
    key: U64  # left << 32 | right
    counts: I64
    head: I32  # the entries of its first and last offset
    tail: I32
    heap: I32  # pairs by their count when they were added (`seen`), then by key
    seen: I64


class Occurrences(NamedTuple):
    """The number of occurrences of a pair of tokens, and the first and last entry of the list of its offsets."""

    count: Int
    head: Int
    tail: Int


def no_pairs(n: int) -> Pairs:
    """Return an empty table for up to `n` pairs of tokens.

    Args:
        n: a power of two.
    """
    i32, i64 = np.empty(n, np.int32), np.empty(n, np.int64)
    return Pairs(np.zeros(2 * n, np.int32), np.empty(n, np.uint64), i64, i32, i32.copy(), i32.copy(), i64.copy())


def twice(pairs: Pairs, n: int) -> Pairs:
    """Return a table of twice the size of `pairs` with its first `n` pairs of tokens."""
    larger = Pairs(np.zeros(2 * len(pairs.slots), np.int32), *(grown(a, 2 * len(pairs.key)) for a in pairs[1:]))
    _place_pairs(larger, n)
    return larger


@kernel(inline="always")
def _slot(key: Int, slots: I32) -> Int:
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return (h ^ (h >> np.uint64(32))) & np.uint64(len(slots) - 1)


@kernel
def _place_pairs(pairs: Pairs, n: int) -> None:
    for p in range(n):
        _place_pair(pairs, p)


@kernel(_nrt=False)
def _place_pair(pairs: Pairs, p: Int) -> None:
    s = _slot(pairs.key[p], pairs.slots)
    while pairs.slots[s]:
        s = (s + np.uint64(1)) & np.uint64(len(pairs.slots) - 1)
    pairs.slots[s] = p + 1


@kernel(_nrt=False)
def find_pair(pairs: Pairs, left: Int, right: Int) -> Int:
    """Return the index of the pair of tokens (left, right) in the table `pairs`, or -1 if it is not there."""
    key = np.uint64(left) << np.uint64(32) | np.uint64(right)
    s = _slot(key, pairs.slots)
    while pairs.slots[s]:
        p = np.int64(pairs.slots[s]) - 1
        if pairs.key[p] == key:
            return p
        s = (s + np.uint64(1)) & np.uint64(len(pairs.slots) - 1)
    return np.int64(-1)


@kernel(_nrt=False)
def new_entry(offset: Int, entry: I32, link: I32, state: I64) -> Int:
    """Store `offset` in a new entry of a linked list, and return the entry's number; freed entries are used first.

    - entry: the offset that each entry has.
    - link: the entry after each entry in its list, or 0.
    - state: int64 counters, which are updated.
    """
    e = state[FREED]
    if e:
        state[FREED] = link[e]
    else:
        e = state[UNUSED]
        state[UNUSED] += 1
    entry[e], link[e] = offset, 0
    return e


@kernel(_nrt=False)
def add_pair(pairs: Pairs, left: Int, right: Int, found: Occurrences, link: I32, state: I64, least: Int) -> None:
    """Add the pair of tokens (left, right) to the table and the heap if its count is at least `least`.

    Otherwise the list of its offsets is freed, since its count can only fall.

    - found: the count and the list.
    - link: as in `new_entry`.
    - state: as in `new_entry`.
    """
    if found.count < least:
        link[found.tail] = state[FREED]
        state[FREED] = found.head
        return
    p = state[N_PAIRS]
    state[N_PAIRS] += 1
    pairs.key[p] = np.uint64(left) << np.uint64(32) | np.uint64(right)
    pairs.counts[p], pairs.head[p], pairs.tail[p] = found
    _place_pair(pairs, p)
    push(pairs, state, p)


@kernel(inline="always")
def _ahead(pairs: Pairs, p: Int, q: Int) -> Int:
    """Return whether pair p is merged before pair q."""
    return pairs.seen[p] > pairs.seen[q] or (pairs.seen[p] == pairs.seen[q] and pairs.key[p] < pairs.key[q])


@kernel(_nrt=False)
def push(pairs: Pairs, state: I64, p: Int) -> None:
    """Add pair number `p` to the heap, ordered by its current count.

    - state: counters, which are updated.
    """
    pairs.seen[p] = pairs.counts[p]
    heap, i = pairs.heap, state[HEAP_SIZE]
    state[HEAP_SIZE] += 1
    while i > 0 and _ahead(pairs, p, heap[(i - 1) >> 1]):
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = p


@kernel(_nrt=False)
def pop(pairs: Pairs, state: I64) -> Int:
    """Remove the most frequent pair from the heap; return its number. Of equally frequent pairs, take the oldest."""
    heap = pairs.heap
    top = np.int64(heap[0])
    state[HEAP_SIZE] -= 1
    size, i = state[HEAP_SIZE], np.int64(0)
    p = np.int64(heap[size])
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _ahead(pairs, heap[child + 1], heap[child]):
            child += 1
        if not _ahead(pairs, heap[child], p):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = p
    return top
