"""The kernels of verification: an index of the kept documents, and the comparison of one document with them.

Every set of shingles has a bitmap, in which each shingle sets one bit. If a bit is set for one document and not for
another, the other document lacks the shingle that set the bit. So most pairs are rejected without comparing the sets.
This test is conservative: no pair that reaches the threshold is rejected. A bitmap has at least eight bits per shingle,
so that few pairs pass the test wrongly.

The index has an entry for each key (hash of a band) of each kept document. To compare a document, at most MOST entries
with its keys are read, so that the work grows linearly if a million documents share a template but little more. Entries
of the rarest keys are read first, since documents that share more than the template share rare keys; for one key, the
newest entries are read first. The entries that are not read are counted as skipped.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

I32: TypeAlias = npt.NDArray[np.int32]
F32: TypeAlias = npt.NDArray[np.float32]
OPEN, KEPT, DROPPED = 0, 1, 2  # states of a document
BITS = 8  # of a bitmap per member, at least
MOST, LEAST = 1024, 128  # entries that a document looks at, of the first index and of each later one


class MatchRule(NamedTuple):
    """The rule that decides from two documents' contents whether one is dropped.

    threshold: a document is dropped if its similarity is at least this; a threshold above 1 means that the contents
    must be equal. contained: if False, the similarity is the Jaccard similarity; if True, it is the share of the
    document's shingles that the kept document has.
    """

    threshold: float
    contained: bool


class Undecided(NamedTuple):
    """Documents that are not yet kept or dropped, in order of preference (best copy first).

    rows: their rows in the partition. words: for each document its keys and then its contents, as 64-bit words; those
    of document i are words[starts[i]:starts[i] + sizes[i]]. old: 1 for a document of an older Dataset, which is kept in
    any case, else 0.
    """

    rows: I64
    starts: I64
    sizes: I64
    words: U64
    old: U8  # 1: of an older Dataset, which is kept in any case


class Outcome(NamedTuple):
    """The decisions on documents, one array entry per document.

    state: 0 if the document is undecided, 1 if it is kept, 2 if it is dropped. kept_by: the row of the kept document
    that it duplicates, -1 if there is none. similarity: the similarity of the two documents. looked: how many entries
    of the index of kept documents were read to decide.
    """

    state: U8
    kept_by: I64
    similarity: F32
    looked: I32  # entries of indexes that the document looked at


class KeptIndex(NamedTuple):
    """An index that finds kept documents by key (hash of a band): a hash table with a linked list of entries per key.

    An entry represents a kept document; entry number `kept * bands + band` is kept document number `kept`, under the
    key of its band number `band`. key, last, entries: for each slot of the table, its key, its newest entry (-1: the
    slot is free), and its number of entries. before: for each entry, the next older one in its list. row: for each kept
    document, its row in the partition. pool, ends: the contents of all kept documents, and the offsets at which they
    begin and end. bits: the bitmaps of all kept documents. drawn: the offset of each bitmap in `bits`. fill: the number
    of kept documents, and 1 if the index is full.
    """

    key: U64  # of every slot
    last: I32  # the newest entry of every slot; -1: the slot is free
    entries: I32  # the number of entries of every slot
    before: I32  # per entry, the one before it in its list
    ends: I64  # the offset of the contents of each kept document in the pool, and their end
    row: I64  # of each kept document
    pool: U64
    drawn: I64  # the offset of the bitmap of each kept document
    bits: U64
    fill: I64  # the number of kept documents; 1 if the index is full


class SetTable(NamedTuple):
    """A hash table of the shingles of one document, used for one document after another.

    values: the hash in each slot. stamps: for each slot, the number of the document that filled it; all slots with
    another number are free. bits: the bitmap of the document's shingles.
    """

    values: U64
    stamps: I32
    bits: U64  # the bitmap of the set


@kernel
def decide_block(block: Undecided, bands: int, rule: MatchRule, index: KeptIndex, outcome: Outcome) -> tuple[int, int]:
    """Write to `outcome`, in order, which documents of `block` to drop; return (pairs compared, entries skipped).

    Each document is compared with the kept documents that share a key with it (entries); beyond a limit per document,
    further entries are skipped. bands: keys per document. rule: when a document is dropped. Each kept document is
    entered into `index`; a document for which the index has no space is left undecided.
    """
    compared, skipped = 0, 0
    slots = np.empty(bands, np.int64)
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
        n_found = 0
        if not block.old[i]:
            most = max(MOST - np.int64(outcome.looked[row]), LEAST) if sets else np.int64(1 << 62)
            total = slots_of(index, keys, most, slots)
            n_found = candidates(index, slots, len(own), rule, most, stamps, stamp, found)
            outcome.looked[row] += min(total, most, MOST)
            skipped += max(0, total - most)
        best, similarity = first_match(index, found[:n_found], own, bits, rule, table, stamp)
        compared += n_found
        if best >= 0:
            outcome.state[row], outcome.kept_by[row] = DROPPED, index.row[best]
            outcome.similarity[row] = similarity
        elif enter(index, keys, own, bits, row):
            outcome.state[row] = KEPT
    return compared, skipped


@kernel
def slots_of(index: KeptIndex, keys: U64, most: Int, slots: I64) -> Int:
    """Write the hash-table slot of each key of a document to `slots`; return the number of entries of all these slots.

    An entry is a kept document that has the key. keys: uint64[bands]. If there are more than `most` entries, the slots
    with the fewest entries come first.
    """
    total = np.int64(0)
    for k in range(len(keys)):
        slots[k] = slot_of(index, keys[k])
        total += index.entries[slots[k]]
    if total > most:
        for k in range(1, len(keys)):
            slot, j = slots[k], k
            while j and index.entries[slots[j - 1]] > index.entries[slot]:
                slots[j] = slots[j - 1]
                j -= 1
            slots[j] = slot
    return total


@kernel
def slot_of(index: KeptIndex, key: Int) -> Int:
    """Return the slot of `key` in the index's hash table of keys, or the free slot for it if it is not there."""
    mask = np.uint64(len(index.key) - 1)
    slot = key & mask
    while index.last[slot] >= 0 and index.key[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def candidates(
    index: KeptIndex, slots: I64, size: Int, rule: MatchRule, most: Int, stamps: I64, stamp: Int, found: I64
) -> int:
    """Write the numbers of the kept documents to compare with a document to `found`; return how many there are.

    The kept documents to compare share a key with the document, and have a size at which a match by `rule` is possible.
    slots: int64[bands], the slots of the document's keys. most: the largest number of entries of these slots to read,
    in order. size: the number of shingles (or words) of the document. stamps: int64, one per kept document. stamp: the
    document's number, which is written to the entry of each kept document examined, so that none is examined twice.
    """
    n_found = 0
    for slot in slots:
        entry = np.int64(index.last[slot])
        while entry >= 0 and most > 0:
            most -= 1
            other = entry // len(slots)
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
    """Return the number of the first kept document similar enough to a document (-1: none), and their similarity.

    found: numbers of kept documents to compare with, unsorted; if several match, the smallest number is returned. own:
    the contents of the document. bits: the bitmap of these contents. rule: the rule that decides what is similar
    enough. table, stamp: as in `enter_set`.
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
    """Enter a document into the index of kept documents; return False, without entering it, if the index is full.

    keys: uint64[bands]. own: the document's contents; bits: their bitmap. row: the document's row in the partition. If
    a document did not fit, no later document is entered either; these documents are decided in the next round, with an
    empty index.
    """
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
        index.entries[slot] += 1
    index.fill[0] = n + 1
    return True


@kernel
def needed(rule: MatchRule, m: Int, n: Int) -> Int:
    """Return how many members a set of `m` members must share with a kept set of `n` members to be dropped by `rule`.

    Returns -1 if no number is enough. Members are shingles, or words of contents that must be equal.
    """
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
    """Enter the set `own`, uint64 hashes, into the hash table `table`.

    stamp: the document's number, which marks the slots in use. Small sets use only as many slots as they need, so that
    they fit into the cache.
    """
    mask = table_mask(len(own))
    for h in own:
        slot = h & mask
        while table.stamps[slot] == stamp:
            slot = (slot + np.uint64(1)) & mask
        table.values[slot], table.stamps[slot] = h, stamp


@kernel
def table_mask(n: Int) -> Int:
    """Return p - 1 for the smallest power of two p with p >= 2 n and p >= 4."""
    mask: Int = np.uint64(3)
    while np.int64(mask) + 1 < 2 * n:
        mask = mask * np.uint64(2) + np.uint64(1)
    return mask


@kernel
def shared(theirs: U64, n_own: Int, least: Int, table: SetTable, stamp: Int) -> Int:
    """Return how many hashes of `theirs` are in the set stored in `table`, or -1 if there are fewer than `least`.

    n_own: the number of members of that set. stamp: the mark with which `enter_set` entered the set.
    """
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
    """Return 1.0 if two contents of the same length are equal word by word (64 bits each), else -1.0."""
    for j in range(len(own)):
        if own[j] != theirs[j]:
            return -1.0
    return 1.0


@kernel
def n_words(members: Int) -> Int:
    """Return the number of 64-bit words in the bitmap of a set of `members` members, a power of two."""
    words = np.int64(1)
    while 64 * words < BITS * members:
        words *= 2
    return words


@kernel
def draw(members: U64, bits: U64) -> None:
    """Write the bitmap of the set `members`, 64-bit hashes, into `bits`: one bit is set per member."""
    mask = np.uint64(len(bits) - 1)
    for w in range(len(bits)):
        bits[w] = np.uint64(0)
    for h in members:
        bits[(h >> np.uint64(6)) & mask] |= np.uint64(1) << (h & np.uint64(63))


@kernel
def lack(bits: U64, others: U64, most: Int) -> bool:
    """Return True if the set with bitmap `others` surely lacks more than `most` members of the set with bitmap `bits`.

    False means that it may have them. If the bitmaps differ in length, the longer one is folded to the length of the
    shorter one.
    """
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
    """Return the number of bits set in the 64-bit integer `x`; LLVM compiles this to one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
