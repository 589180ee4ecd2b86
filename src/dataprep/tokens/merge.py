"""Merging the bytes of one word by a vocabulary's rules: lowest rank first, leftmost first, as BPE has it.

The rule (left id, right id) -> merged id is one number in an open-addressing table; its rank is the merged id, as in
`tiktoken` (`Tokenizer` has checked that ids rise with the rules). Short words scan all their pairs for each merge;
long ones keep the pairs in a heap, so that a megabyte of one letter takes its length times a logarithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..kernel import kernel

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
Int: TypeAlias = Any  # inside a kernel: NumPy's integers and Python's are one

ID_BITS = 21  # three ids in 64 bits, one bit to spare
MAX_IDS = (1 << ID_BITS) - 1
NONE = (1 << 32) - 1  # the rank of a pair that has no rule
SCANNED = 48  # bytes; a longer word has a heap


class Rules(NamedTuple):
    """A vocabulary's merges, ready for the kernel."""

    single: U32  # the id of each byte, uint32[256]
    pairs: U64  # left << 42 | right << 21 | merged, or 0, at the slot of its hash or after it; uint64[power of two]


def rules_of(vocab: Mapping[bytes, int], merges: Sequence[tuple[bytes, bytes]]) -> Rules | None:
    """The tables of a vocabulary; None where ids are too large for them."""
    if max(vocab.values()) >= MAX_IDS:
        return None
    single = np.array([vocab[bytes([b])] for b in range(256)], np.uint32)
    sides = np.array([(vocab[a], vocab[b], vocab[a + b]) for a, b in merges], np.uint64).reshape(-1, 3)
    packed = sides[:, 0] << np.uint64(2 * ID_BITS) | sides[:, 1] << np.uint64(ID_BITS) | sides[:, 2]
    pairs = np.zeros(1 << max(4, (3 * len(merges)).bit_length()), np.uint64)
    _fill(packed, pairs)
    return Rules(single, pairs)


@kernel(inline="always")
def _slot(pair: Int, slots: Int) -> Int:
    """Where a pair (left << 21 | right) is looked for first."""
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
    """The id that two ids merge into, which is their rank; NONE where no rule merges them."""
    pair = np.uint64(left) << np.uint64(ID_BITS) | np.uint64(right)
    s = _slot(pair, len(pairs))
    while pairs[s]:
        if pairs[s] >> np.uint64(ID_BITS) == pair:
            return np.uint32(pairs[s] & np.uint64(MAX_IDS))
        s = (s + np.uint64(1)) & np.uint64(len(pairs) - 1)
    return np.uint32(NONE)


@kernel
def merge_word(data: U8, start: Int, stop: Int, rules: Rules, out: U32, o: Int) -> Int:
    """Write the ids of the word data[start:stop] to out[o:]; returns where they end."""
    single, pairs = rules.single, rules.pairs
    n = stop - start
    for j in range(n):
        out[o + j] = single[data[start + j]]
    if n > SCANNED:
        return o + _merge_long(out[o : o + n], pairs)
    ranks = np.empty(SCANNED, np.uint32)
    for j in range(n - 1):
        ranks[j] = rank(out[o + j], out[o + j + 1], pairs)
    while n > 1:
        best = 0
        for j in range(1, n - 1):
            if ranks[j] < ranks[best]:
                best = j
        if ranks[best] == NONE:
            break
        out[o + best] = ranks[best]
        n -= 1
        for j in range(best + 1, n):
            out[o + j] = out[o + j + 1]
            ranks[j - 1] = ranks[j]
        if best + 1 < n:
            ranks[best] = rank(out[o + best], out[o + best + 1], pairs)
        if best > 0:
            ranks[best - 1] = rank(out[o + best - 1], out[o + best], pairs)
    return o + n


@kernel
def _merge_long(ids: U32, pairs: U64) -> Int:
    """Merge a word's ids where they lie; returns how many are left."""
    n = len(ids)
    after, before, ranks = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint32)
    heap = np.empty(2 * n, np.uint64)  # rank << 32 | place; one that is no longer true is thrown away when it comes up
    size = np.int64(0)
    for j in range(n):
        after[j], before[j] = j + 1, j - 1
        ranks[j] = rank(ids[j], ids[j + 1], pairs) if j + 1 < n else NONE
        size = _push(heap, size, ranks[j], j)
    while size:
        top = heap[0]
        size = _pop(heap, size)
        left = np.int64(top & np.uint64(0xFFFFFFFF))
        if ranks[left] != np.uint32(top >> np.uint64(32)):
            continue
        gone, back = after[left], before[left]
        ahead = after[gone]
        ids[left], after[left] = ranks[left], ahead
        ranks[left] = ranks[gone] = NONE
        if ahead < n:
            before[ahead] = left
            ranks[left] = rank(ids[left], ids[ahead], pairs)
            size = _push(heap, size, ranks[left], left)
        if back >= 0:
            ranks[back] = rank(ids[back], ids[left], pairs)
            size = _push(heap, size, ranks[back], back)
    count, at = np.int64(0), np.int64(0)
    while at < n:
        ids[count] = ids[at]
        count += 1
        at = after[at]
    return count


@kernel
def _push(heap: U64, size: Int, rank_: Int, place: Int) -> Int:
    """Add a pair to a heap of `size`, unless it has no rule; returns the new size."""
    if rank_ == NONE:
        return size
    item, i = np.uint64(rank_) << np.uint64(32) | np.uint64(place), size
    while i > 0 and heap[(i - 1) >> 1] > item:
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = item
    return size + 1


@kernel
def _pop(heap: U64, size: Int) -> Int:
    """Remove the smallest item of a heap of `size`; returns the new size."""
    size -= 1
    item, i = heap[size], np.int64(0)
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = item
    return size
