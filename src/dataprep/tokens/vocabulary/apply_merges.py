"""Merge the bytes of one word by a vocabulary's rules: lowest rank first, leftmost first.

Each rule, (left id, right id) -> merged id, is one number in an open-addressing table. Four numbers side by side are a
bucket, which is compared without a branch; a full bucket continues in the next one. The rank of a rule is the merged
id, as in `tiktoken`; `Tokenizer` checks that the ids of merged tokens ascend in the order of the rules. The pairs of a
word of up to 64 bytes are in vectors, in which the lowest rank is found at once. Those of a longer word are kept in a
heap, so that the time for a megabyte of one letter is O(n log n).

Slow reference for the tests: tests/twins/bpe.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, U64, Int

from .lanes import LANES, close_gap, lowest_lane

ID_BITS = 21  # three ids in 64 bits, one bit to spare
MAX_IDS = (1 << ID_BITS) - 1
NONE = (1 << 31) - 1  # the rank of a pair that has no rule
BUCKET, FREE = 4, (1 << 64) - 1


class MergeRules(NamedTuple):
    """The merge rules of a vocabulary as tables for compiled code.

    Attributes:
        single: uint32[256], id of each byte.
        both: uint32[65536], rank of each pair of bytes, left << 8 | right.
        pairs: hash table from (left id, right id) to merged id.
    """

    single: U32  # the id of each byte, uint32[256]
    both: U32  # the rank of each pair of bytes (left << 8 | right) or NONE, uint32[65536]
    pairs: U64  # left << 42 | right << 21 | merged, in the bucket of its hash or after it, or FREE; uint64[2**k]


def rules_of(vocab: Mapping[bytes, int], merges: Sequence[tuple[bytes, bytes]]) -> MergeRules | None:
    """Return the merge rules of a vocabulary as tables for compiled code; None if its ids are too large for them.

    Args:
        vocab: {bytes of a token: id}.
        merges: pairs (left, right) of tokens, as bytes, in order.
    """
    if max(vocab.values()) >= MAX_IDS:
        return None
    single = np.array([vocab[bytes([b])] for b in range(256)], np.uint32)
    sides = np.array([(vocab[a], vocab[b], vocab[a + b]) for a, b in merges], np.uint64).reshape(-1, 3)
    packed = sides[:, 0] << np.uint64(2 * ID_BITS) | sides[:, 1] << np.uint64(ID_BITS) | sides[:, 2]
    pairs = np.full(1 << max(4, (2 * len(merges)).bit_length()), FREE, np.uint64)
    _fill(packed, pairs)
    both = np.full(1 << 16, NONE, np.uint32)
    short = [(a[0] << 8 | b[0], vocab[a + b]) for a, b in merges if len(a) == len(b) == 1]
    both[[pair for pair, _ in short]] = [merged for _, merged in short]
    return MergeRules(single, both, pairs)


@kernel(inline="always")
def _bucket(pair: Int, pairs: U64) -> Int:
    """Return the index of the first bucket to search for a pair (left << 21 | right)."""
    h = np.uint64(pair) * np.uint64(0x9E3779B97F4A7C15)
    return (h ^ (h >> np.uint64(32))) & np.uint64(len(pairs) - BUCKET)


@kernel
def _fill(packed: U64, pairs: U64) -> None:
    for p in packed:
        s = _bucket(p >> np.uint64(ID_BITS), pairs)
        while pairs[s] != np.uint64(FREE):
            s = (s + np.uint64(1)) & np.uint64(len(pairs) - 1)
        pairs[s] = p


@kernel(inline="always")
def rank(left: Int, right: Int, pairs: U64) -> Int:
    """Return the id into which `left` and `right` merge, which is also the rule's rank, as uint32; NONE without a rule.

    - pairs: the hash table of `MergeRules`.
    """
    pair = np.uint64(left) << np.uint64(ID_BITS) | np.uint64(right)
    s, found = _bucket(pair, pairs), np.uint64(NONE)
    while True:
        for u in range(BUCKET):
            entry = pairs[s + np.uint64(u)]
            found = entry & np.uint64(MAX_IDS) if entry >> np.uint64(ID_BITS) == pair else found
        if found != np.uint64(NONE) or pairs[s + np.uint64(BUCKET - 1)] == np.uint64(FREE):
            return np.uint32(found)
        s = (s + np.uint64(BUCKET)) & np.uint64(len(pairs) - 1)


@kernel
def merge_word(data: U8, start: Int, stop: Int, rules: MergeRules, lanes: U32, out: U32, o: Int) -> Int:
    """Write the token ids of the word data[start:stop] to `out` from index `o` on; return the index after them.

    - rules: the merge rules.
    - lanes: uint32[2 * LANES], a buffer for short words.
    """
    if stop - start <= LANES:
        return _merge_short(data, start, stop, rules, lanes, out, o)
    return _merge_long(data, start, stop, rules, out, o)


@kernel(_nrt=False)
def _merge_short(data: U8, start: Int, stop: Int, rules: MergeRules, lanes: U32, out: U32, o: Int) -> Int:
    """As `merge_word`, for at most LANES bytes: the ids are in lanes[:n], the ranks of their pairs LANES behind."""
    single, both, pairs = rules
    none, zero, one, two = np.uint32(NONE), np.uint64(0), np.uint64(1), np.uint64(2)
    ranks, i, n = np.uint64(LANES), np.uint64(start), np.uint64(stop - start)
    width = np.uint64(16) if n <= np.uint64(16) else np.uint64(LANES)
    for j in range(width):
        lanes[ranks + np.uint64(j)] = none
    b = np.uint64(data[i])
    lanes[0] = single[b]
    for k in range(np.int64(n) - 1):
        at = np.uint64(k)
        c = np.uint64(data[i + at + one])
        lanes[at + one], lanes[ranks + at] = single[c], both[b << np.uint64(8) | c]
        b = c
    while True:
        at = lowest_lane(lanes, ranks, n)
        merged = lanes[ranks + at]
        if merged == none:
            break
        here = before = none
        left = lanes[max(at, one) - one]
        if at > zero:
            before = rank(left, merged, pairs)
        if at + two < n:
            here = rank(merged, lanes[at + two], pairs)
        close_gap(lanes, ranks, n, np.uint32(at), here, before)
        close_gap(lanes, zero, n, np.uint32(at), merged, left)
        n -= one
    for k in range(np.int64(n)):
        out[np.uint64(o) + np.uint64(k)] = lanes[np.uint64(k)]
    return o + np.int64(n)


@kernel
def _merge_long(data: U8, start: Int, stop: Int, rules: MergeRules, out: U32, o: Int) -> Int:
    """As `merge_word`, for any number of bytes.

    A token is stored at the index of its first byte. Three numbers are stored for it: the indexes of the next and the
    previous token (`after`, `before`), and (rank of its pair with the next token) << 32 | its index (`keys`). The
    smallest of `keys`, on the heap, is the next pair to merge.
    """
    pairs, n = rules.pairs, stop - start
    after, before, keys = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    heap = np.empty(2 * n, np.int64)
    size = np.int64(0)
    for j in range(n):
        b = data[start + j]
        out[o + j] = rules.single[b]
        after[j], before[j] = j + 1, j - 1
        pair = np.int64(rules.both[np.int64(b) << 8 | data[start + j + 1]] if j + 1 < n else NONE)
        keys[j] = pair << 32 | j
        size = _push(heap, size, keys[j])
    while size:
        best = heap[0]
        size = _pop(heap, size)
        left = best & 0xFFFFFFFF
        if keys[left] != best:  # a neighbour was merged since this was put on the heap
            continue
        merged, back = after[left], before[left]
        ahead = after[merged]
        out[o + left], after[left] = best >> 32, ahead
        keys[left] = keys[merged] = np.int64(NONE) << 32
        if ahead < n:
            before[ahead] = left
            keys[left] = np.int64(rank(out[o + left], out[o + ahead], pairs)) << 32 | left
            size = _push(heap, size, keys[left])
        if back >= 0:
            keys[back] = np.int64(rank(out[o + back], out[o + left], pairs)) << 32 | back
            size = _push(heap, size, keys[back])
    at = end = np.int64(0)
    while at < n:
        out[o + end] = out[o + at]
        end += 1
        at = after[at]
    return o + end


@kernel
def _push(heap: I64, size: Int, key: Int) -> Int:
    """Add a pair to a heap of `size`, unless it has no rule; return the new size."""
    if key >> 32 == NONE:
        return size
    i = size
    while i > 0 and heap[(i - 1) >> 1] > key:
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = key
    return size + 1


@kernel
def _pop(heap: I64, size: Int) -> Int:
    """Remove the smallest key of a heap of `size`; return the new size."""
    size -= 1
    key, i = heap[size], np.int64(0)
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = key
    return size


@kernel
def n_tokens(data: U8, ends: I64, rules: MergeRules) -> I64:
    """Return the number of tokens into which each of n words is merged, int64[n].

    - data, ends: the words, one after another, and the index after each of them.
    """
    counts, start = np.empty(len(ends), np.int64), np.int64(0)
    lanes, out = np.empty(2 * LANES, np.uint32), np.empty(len(data), np.uint32)
    for w in range(len(ends)):
        counts[w] = merge_word(data, start, ends[w], rules, lanes, out, start) - start
        start = ends[w]
    return counts
