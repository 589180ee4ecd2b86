"""The kernels of verification: an index of the kept documents, and the comparison of one document with them.

Twin: tests/twins/minhash.py
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

from .bitmap import draw, lack, n_words

I32: TypeAlias = npt.NDArray[np.int32]
F32: TypeAlias = npt.NDArray[np.float32]
OPEN, KEPT, DROPPED = 0, 1, 2  # states of a document


class MatchRule(NamedTuple):
    """The similarity at which a document is dropped; a threshold above 1 means that the contents must be equal.

    contained: the similarity is the share of the document's shingles that the kept one has, instead of Jaccard's.
    """

    threshold: float
    contained: bool


class Undecided(NamedTuple):
    """Documents to decide, in keep order: their rows, and their payloads (keys, then contents)."""

    rows: I64
    starts: I64
    sizes: I64
    words: U64
    old: U8  # 1: of an older Dataset, which is kept in any case


class Outcome(NamedTuple):
    """The decision per row: its state, the row it is a duplicate of (-1: none), and their similarity."""

    state: U8
    kept_by: I64
    similarity: F32


class KeptIndex(NamedTuple):
    """The kept documents by key: a hash table of keys, each with a linked list of its entries, the newest first.

    Entry `kept * bands + band` is kept document number `kept`.
    """

    key: U64  # of every slot
    last: I32  # the newest entry of every slot; -1: the slot is free
    before: I32  # per entry, the one before it in its list
    ends: I64  # the offset of the contents of each kept document in the pool, and their end
    row: I64  # of each kept document
    pool: U64
    drawn: I64  # the offset of the bitmap of each kept document
    bits: U64
    fill: I64  # the number of kept documents; 1 if the index is full


class SetTable(NamedTuple):
    """The set of the current document as a hash table, whose slots count if their stamp is the document's."""

    values: U64
    stamps: I32
    bits: U64  # the bitmap of the set


@kernel
def decide_block(block: Undecided, bands: int, rule: MatchRule, index: KeptIndex, outcome: Outcome) -> int:
    """Decide the documents of a block in order; return how many pairs were compared."""
    compared = 0
    stamps = np.zeros(len(index.row), np.int64)
    found = np.empty(len(index.row), np.int64)
    table = SetTable(np.empty(64, np.uint64), np.zeros(64, np.int32), np.empty(16, np.uint64))
    for i in range(len(block.rows)):
        row, stamp = block.rows[i], i + 1
        keys = block.words[block.starts[i] : block.starts[i] + bands]
        own = block.words[block.starts[i] + bands : block.starts[i] + block.sizes[i]]
        sets = rule.threshold <= 1.0
        if sets and len(table.values) < 4 * len(own):  # `enter_set` takes a power of two below that
            n = 4 * len(own)
            table = SetTable(np.empty(n, np.uint64), np.zeros(n, np.int32), np.empty(n // 8, np.uint64))
        bits = table.bits[: n_words(len(own)) if sets else 0]
        if sets:
            draw(own, bits)
        n_found = 0 if block.old[i] else candidates(index, keys, len(own), rule, stamps, stamp, found)
        best, similarity = first_match(index, found[:n_found], own, bits, rule, table, stamp)
        compared += n_found
        if best >= 0:
            outcome.state[row], outcome.kept_by[row] = DROPPED, index.row[best]
            outcome.similarity[row] = similarity
        elif enter(index, keys, own, bits, row):
            outcome.state[row] = KEPT
    return compared


@kernel
def slot_of(index: KeptIndex, key: Int) -> Int:
    """Return the slot of a key: its own, or the free one in which it would be entered."""
    mask = np.uint64(len(index.key) - 1)
    slot = key & mask
    while index.last[slot] >= 0 and index.key[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def candidates(index: KeptIndex, keys: U64, size: Int, rule: MatchRule, stamps: I64, stamp: Int, found: I64) -> int:
    """Write the kept documents that share a key and have a possible size into `found`, each once; return how many."""
    n_found = 0
    for key in keys:
        entry = np.int64(index.last[slot_of(index, key)])
        while entry >= 0:
            other = entry // len(keys)
            if stamps[other] != stamp:
                stamps[other] = stamp
                if needed(rule, size, index.ends[other + 1] - index.ends[other]) >= 0:
                    found[n_found] = other
                    n_found += 1
            entry = np.int64(index.before[entry])
    return n_found


@kernel
def first_match(
    index: KeptIndex, found: I64, own: U64, bits: U64, rule: MatchRule, table: SetTable, stamp: Int
) -> tuple[Int, Any]:
    """Return the first kept document, in keep order, that reaches the threshold (-1: none), and the similarity.

    The documents found are in no order; sorting them would cost more than skipping those after the best.
    """
    best, similarity, entered = np.int64(-1), -1.0, False
    for other in found:
        if best >= 0 and other > best:
            continue
        theirs = index.pool[index.ends[other] : index.ends[other + 1]]
        if rule.threshold > 1.0:
            value = equal(own, theirs)
        else:
            least = needed(rule, len(own), len(theirs))
            if lack(bits, index.bits[index.drawn[other] : index.drawn[other + 1]], len(own) - least):
                continue
            if not entered:
                enter_set(own, table, stamp)
                entered = True
            common = shared(theirs, len(own), least, table, stamp)
            value = common / (len(own) if rule.contained else len(own) + len(theirs) - common)
        if value >= 0:
            best, similarity = other, value
    return best, similarity


@kernel
def enter(index: KeptIndex, keys: U64, own: U64, bits: U64, row: Int) -> bool:
    """Enter a document as kept. Return False if the index is full: later documents are left to the next index."""
    n = index.fill[0]
    if index.fill[1] or n == len(index.row) or index.ends[n] + len(own) > len(index.pool):
        index.fill[1] = 1
        return False
    for j in range(len(own)):  # not a slice assignment: Numba takes seconds to compile one
        index.pool[index.ends[n] + j] = own[j]
    for j in range(len(bits)):
        index.bits[index.drawn[n] + j] = bits[j]
    index.ends[n + 1], index.drawn[n + 1] = index.ends[n] + len(own), index.drawn[n] + len(bits)
    index.row[n] = row
    for band in range(len(keys)):
        slot = slot_of(index, keys[band])
        index.key[slot] = keys[band]
        index.before[n * len(keys) + band] = index.last[slot]
        index.last[slot] = n * len(keys) + band
    index.fill[0] = n + 1
    return True


@kernel
def needed(rule: MatchRule, m: Int, n: Int) -> Int:
    """Return the smallest intersection at which a document of m members is dropped for one of n; -1: none."""
    if rule.threshold > 1.0:
        return m if m == n else -1
    once: Int = 0 if rule.contained else 1  # shared members count once in the union, and twice in both sizes
    sizes = m + n * once
    least = np.int64(np.ceil(rule.threshold * sizes / (1.0 + rule.threshold * once)))
    while least > 0 and (least - 1) / (sizes - (least - 1) * once) >= rule.threshold:  # rounding, either way
        least -= 1
    while least <= min(m, n) and least / (sizes - least * once) < rule.threshold:
        least += 1
    return least if least <= min(m, n) else -1


@kernel
def enter_set(own: U64, table: SetTable, stamp: Int) -> None:
    """Enter a set into the table, in as many slots as it needs, so that small sets fit into the cache."""
    mask = table_mask(len(own))
    for h in own:
        slot = h & mask
        while table.stamps[slot] == stamp:
            slot = (slot + np.uint64(1)) & mask
        table.values[slot], table.stamps[slot] = h, stamp


@kernel
def table_mask(n: Int) -> Int:
    """Return the smallest power of two that is at least 2 n, less one; at least 3."""
    mask: Int = np.uint64(3)
    while np.int64(mask) + 1 < 2 * n:
        mask = mask * np.uint64(2) + np.uint64(1)
    return mask


@kernel
def shared(theirs: U64, n_own: Int, least: Int, table: SetTable, stamp: Int) -> Int:
    """Return how many are in the table's set, or -1 as soon as `least` cannot be reached."""
    mask = table_mask(n_own)
    common, misses, allowed = 0, 0, len(theirs) - least
    for h in theirs:
        slot = h & mask
        while table.stamps[slot] == stamp and table.values[slot] != h:
            slot = (slot + np.uint64(1)) & mask
        if table.stamps[slot] == stamp:
            common += 1
        else:
            misses += 1
            if misses > allowed:
                return -1
    return common


@kernel
def equal(own: U64, theirs: U64) -> Any:
    """Return 1 if two contents of one size are equal word by word, else -1."""
    for j in range(len(own)):
        if own[j] != theirs[j]:
            return -1.0
    return 1.0
