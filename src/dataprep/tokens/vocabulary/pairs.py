"""Pairs of neighbouring tokens with their counts and places, in a hash table and a heap.

Slow reference for the tests: tests/twins/bpe.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64, Int

from .word_counts import I32, grown

# Counters in an array `state`, at these indexes: the number of pairs plus one, the size of the heap, the least count of
# a pair in the heap, the number of places in use, and the number of merges. The array is an argument of its own, since
# a record costs 5 % of the time.
N_PAIRS, HEAP_SIZE, LEVEL, USED, N_MERGES = range(5)
TAG = 0xFFFFFFFF00000000  # the part of a pair's hash that is stored in its slot


class Pairs(NamedTuple):
    """The pairs of neighbouring tokens that are frequent enough, in a hash table, with their places and a heap.

    Only the most frequent pairs are in the heap, so that it stays small. If it is empty, `fill_heap` adds others.

    Attributes:
        slots: the hash table; a slot has the upper half of a pair's hash and the pair's number, from 1, or 0.
        key: left << 32 | right of each pair.
        counts: the number of occurrences of each pair.
        start: the index of the first of a pair's places.
        size: the number of a pair's places.
        heap: the keys of pairs, the most frequent first, and of equally frequent ones the smallest.
        seen: the count of each pair in the heap when it was added.
    """

    slots: U64  # at the slot of a pair's hash or after it
    key: U64
    counts: I64
    start: I32
    size: I32
    heap: U64
    seen: I64


def no_pairs(n: int) -> Pairs:
    """Return an empty table for fewer than `n` pairs of tokens.

    Args:
        n: a power of two.
    """
    i32, i64, u64 = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.uint64)
    return Pairs(np.zeros(2 * n, np.uint64), u64, i64, i32, i32.copy(), u64.copy(), i64.copy())


def twice(pairs: Pairs, state: I64) -> Pairs:
    """Return a table of twice the size of `pairs` with its pairs of tokens.

    - state: counters, see above.
    """
    n, m = 2 * len(pairs.key), int(state[N_PAIRS])
    each = [grown(a[:m], n) for a in (pairs.key, pairs.counts, pairs.start, pairs.size)]
    larger = Pairs(np.zeros(2 * n, np.uint64), *each, *(grown(a[: int(state[HEAP_SIZE])], n) for a in pairs[5:]))
    _place_pairs(larger, m)
    return larger


@kernel(inline="always")
def _hash(key: Int) -> Int:
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(32))


@kernel
def _place_pairs(pairs: Pairs, n: int) -> None:
    for p in range(1, n):
        _place_pair(pairs, p)


@kernel(_nrt=False)
def _place_pair(pairs: Pairs, p: Int) -> None:
    h, last = _hash(pairs.key[p]), np.uint64(len(pairs.slots) - 1)
    s = h & last
    while pairs.slots[s]:
        s = (s + np.uint64(1)) & last
    pairs.slots[s] = h & np.uint64(TAG) | np.uint64(p)


@kernel(inline="always")
def key_of(left: Int, right: Int) -> Int:
    """Return the key of the pair of tokens (left, right)."""
    return np.uint64(left) << np.uint64(32) | np.uint64(right)


@kernel(_nrt=False)
def find_pair(pairs: Pairs, key: Int) -> Int:
    """Return the number of the pair of tokens with this key, from 1, or 0 if it is not in the table."""
    h, last = _hash(key), np.uint64(len(pairs.slots) - 1)
    s = h & last
    while pairs.slots[s]:
        if (pairs.slots[s] ^ h) & np.uint64(TAG) == 0:
            p = pairs.slots[s] & ~np.uint64(TAG)
            if pairs.key[p] == key:
                return p
        s = (s + np.uint64(1)) & last
    return np.uint64(0)


@kernel(_nrt=False)
def add_pair(pairs: Pairs, key: Int, count: Int, size: Int, state: I64) -> None:
    """Add a pair of tokens with `size` places, which follow those in use, to the table."""
    p = state[N_PAIRS]
    pairs.key[p], pairs.counts[p], pairs.start[p], pairs.size[p] = key, count, state[USED], size
    state[N_PAIRS] += 1
    state[USED] += size
    _place_pair(pairs, p)
    if count >= state[LEVEL]:
        push(pairs, key, count, state)


@kernel(_nrt=False)
def fill_heap(pairs: Pairs, least: Int, state: I64) -> Int:
    """Add less frequent pairs to the heap if it is empty; return whether it has a pair.

    - least: the smallest count of a pair that is added.
    """
    while not state[HEAP_SIZE] and state[LEVEL] > least:
        above = state[LEVEL]
        state[LEVEL] = max(least, above // 2)
        for p in range(1, state[N_PAIRS]):
            if state[LEVEL] <= pairs.counts[p] < above:
                push(pairs, pairs.key[p], pairs.counts[p], state)
    return state[HEAP_SIZE] > 0


@kernel(_nrt=False)
def push(pairs: Pairs, key: Int, count: Int, state: I64) -> None:
    """Add a pair to the heap."""
    heap, seen = pairs.heap, pairs.seen
    i = np.uint64(state[HEAP_SIZE])
    state[HEAP_SIZE] += 1
    while i:
        up = (i - np.uint64(1)) >> np.uint64(1)
        if seen[up] > count or (seen[up] == count and heap[up] < key):
            break
        heap[i], seen[i] = heap[up], seen[up]
        i = up
    heap[i], seen[i] = key, count


@kernel(_nrt=False)
def pop(pairs: Pairs, state: I64) -> None:
    """Remove the first pair from the heap."""
    heap, seen = pairs.heap, pairs.seen
    state[HEAP_SIZE] -= 1
    size, i = np.uint64(state[HEAP_SIZE]), np.uint64(0)
    key, count = heap[size], seen[size]
    while 2 * i + 1 < size:
        child = np.uint64(2 * i + 1)
        other = child + np.uint64(1)
        if other < size and (seen[other] > seen[child] or (seen[other] == seen[child] and heap[other] < heap[child])):
            child = other
        if count > seen[child] or (count == seen[child] and key < heap[child]):
            break
        heap[i], seen[i] = heap[child], seen[child]
        i = child
    heap[i], seen[i] = key, count
