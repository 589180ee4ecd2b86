"""Merge the bytes of one word by a vocabulary's rules: lowest rank first, leftmost first.

Each rule, (left id, right id) -> merged id, is one number in an open-addressing table. The rank of a rule is the merged
id, as in `tiktoken`; `Tokenizer` checks that the ids of merged tokens ascend in the order of the rules. In a short word
all pairs are scanned for each merge; the pairs of a long word are kept in a heap, so that the time for a megabyte of
one letter is O(n log n).

Slow reference for the tests: tests/twins/bpe.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, U64, Int

ID_BITS = 21  # three ids in 64 bits, one bit to spare
MAX_IDS = (1 << ID_BITS) - 1
NONE = (1 << 31) - 1  # the rank of a pair that has no rule
SCANNED = 48  # bytes; a longer word has a heap


class MergeRules(NamedTuple):
    """The merge rules of a vocabulary as tables for compiled code.

    Attributes:
        single: uint32[256], id of each byte.
        both: uint32[65536], rank of each pair of bytes, left << 8 | right.
        pairs: hash table from (left id, right id) to merged id.
    """

    single: U32  # the id of each byte, uint32[256]
    both: U32  # the rank of each pair of bytes (left << 8 | right) or NONE, uint32[65536]
    pairs: U64  # left << 42 | right << 21 | merged, or 0, at the slot of its hash or after it; uint64[power of two]


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
    pairs = np.zeros(1 << max(4, (3 * len(merges)).bit_length()), np.uint64)
    _fill(packed, pairs)
    both = np.full(1 << 16, NONE, np.uint32)
    short = [(a[0] << 8 | b[0], vocab[a + b]) for a, b in merges if len(a) == len(b) == 1]
    both[[pair for pair, _ in short]] = [merged for _, merged in short]
    return MergeRules(single, both, pairs)


@kernel(inline="always")
def _slot(pair: Int, slots: Int) -> Int:
    """Return the first slot to probe for a pair (left << 21 | right)."""
    h = np.uint64(pair) * np.uint64(0x9E3779B97F4A7C15)
    return (h ^ (h >> np.uint64(32))) & np.uint64(slots - 1)


@kernel
def _fill(packed: U64, pairs: U64) -> None:
    for p in packed:
        s = _slot(p >> np.uint64(ID_BITS), len(pairs))
        while pairs[s]:
            s = (s + np.uint64(1)) & np.uint64(len(pairs) - 1)
        pairs[s] = p


@kernel
def rank(left: Int, right: Int, pairs: U64) -> Int:
    """Return the id into which the ids `left` and `right` merge, which is also the rule's rank; NONE without a rule.

    - pairs: the hash table of `MergeRules`.
    """
    pair = np.uint64(left) << np.uint64(ID_BITS) | np.uint64(right)
    s = _slot(pair, len(pairs))
    while pairs[s]:
        if pairs[s] >> np.uint64(ID_BITS) == pair:
            return np.int64(pairs[s] & np.uint64(MAX_IDS))
        s = (s + np.uint64(1)) & np.uint64(len(pairs) - 1)
    return np.int64(NONE)


@kernel
def merge_word(data: U8, start: Int, stop: Int, rules: MergeRules, scratch: I64, out: U32, o: Int) -> Int:
    """Write the token ids of the word data[start:stop] to `out` from index `o` on; return the index after them.

    - rules: the merge rules.
    - scratch: int64[5 * SCANNED], a buffer for short words. In the buffer, a token is stored at the index of its first
      byte. Three numbers are stored for it: the indexes of the next and the previous token (`after`, `before`), and
      (rank of its pair with the next token) << 32 | its index (`keys`). The smallest of `keys` is therefore the next
      pair to merge.
    """
    pairs, n = rules.pairs, stop - start
    scanned = n <= SCANNED
    room = scratch if scanned else np.empty(5 * n, np.int64)
    after, before, keys, heap = room[:n], room[n : 2 * n], room[2 * n : 3 * n], room[3 * n :]
    size = np.int64(0)
    for j in range(n):
        b = data[start + j]
        out[o + j] = rules.single[b]
        after[j], before[j] = j + 1, j - 1
        pair = np.int64(rules.both[np.int64(b) << 8 | data[start + j + 1]] if j + 1 < n else NONE)
        keys[j] = pair << 32 | j
        if not scanned:
            size = _push(heap, size, keys[j])
    while True:
        best = np.int64(NONE) << 32
        if scanned:
            for j in range(n):
                best = min(best, keys[j])
        elif size:
            best = heap[0]
            size = _pop(heap, size)
        if best >> 32 == NONE:
            break
        left = best & 0xFFFFFFFF
        if keys[left] != best:  # a neighbour was merged since this was put on the heap
            continue
        merged, back = after[left], before[left]
        ahead = after[merged]
        out[o + left], after[left] = best >> 32, ahead
        keys[left] = keys[merged] = np.int64(NONE) << 32
        if ahead < n:
            before[ahead] = left
            keys[left] = rank(out[o + left], out[o + ahead], pairs) << 32 | left
            if not scanned:
                size = _push(heap, size, keys[left])
        if back >= 0:
            keys[back] = rank(out[o + back], out[o + left], pairs) << 32 | back
            if not scanned:
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
    scratch, out = np.empty(5 * SCANNED, np.int64), np.empty(len(data), np.uint32)
    for w in range(len(ends)):
        counts[w] = merge_word(data, start, ends[w], rules, scratch, out, start) - start
        start = ends[w]
    return counts
