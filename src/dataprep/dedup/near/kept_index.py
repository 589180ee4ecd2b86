"""The kernels of the index of kept documents, which finds the kept documents that share a key with a document.

The index has an entry for each key (hash of a band) of each kept document. When a document is compared, only a limited
number of entries with its keys is read (see `allowance`). The work therefore grows linearly even if a million documents
share a template but little more. Entries of the rarest keys are read first, since documents that share more than the
template share rare keys; for one key, the newest entries are read first. The entries that are not read are counted as
skipped.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64, Int

from .similarity import I32, MatchRule, needed

MOST = 1024  # entries that are read for a document in the first index
LATER, FEWEST = 64, 4  # entries of the second index; half as many in each later one, but at least FEWEST
LIMITS = (MOST, LATER, FEWEST)


class KeptIndex(NamedTuple):
    """An index that finds kept documents by key (hash of a band): a hash table with a linked list of entries per key.

    An entry represents a kept document; entry number `kept * bands + band` is kept document number `kept`, under the
    key of its band number `band`.

    Attributes:
        key: the key in each slot of the table.
        last: the newest entry of each slot; -1 if the slot is free.
        entries: the number of entries of each slot.
        before: for each entry, the next older one in its list.
        row: for each kept document, its row in the partition.
        pool: the contents of all kept documents, one after another.
        ends: the offsets in `pool` at which the documents begin and end.
        bits: the bitmaps of all kept documents.
        drawn: the offset of each bitmap in `bits`.
        fill: the number of kept documents, and 1 if the index is full.
    """

    key: U64  # of every slot
    last: I32  # the newest entry of every slot; -1: the slot is free
    entries: I32  # the number of entries of every slot
    before: I32  # for each entry, the previous one in its list
    ends: I64  # the offset of the contents of each kept document in the pool, and their end
    row: I64  # of each kept document
    pool: U64
    drawn: I64  # the offset of the bitmap of each kept document
    bits: U64
    fill: I64  # the number of kept documents; 1 if the index is full


@kernel
def allowance(looked: Int) -> Int:
    """Return how many entries of the next index of kept documents may be read for a document.

    Args:
        looked: the number of entries that were read in earlier indexes for this document. The limit for the first
            indexes together is MOST entries; each later index may use half as many as the one before it, so at most 2 *
            LATER in all. At least FEWEST entries are always read, so that a near copy in the last of many indexes is
            found by a rare key.
    """
    return max(MOST - looked, (MOST + 2 * LATER - looked) // 2, FEWEST)


@kernel
def slots_of(index: KeptIndex, keys: U64, most: Int, slots: I64) -> Int:
    """Write the hash-table slot of each key of a document to `slots`; return the number of entries in these slots.

    An entry is a kept document that has the key. If there are more than `most` entries, the slots with the fewest
    entries come first.

    - keys: uint64[bands].
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
    """Return the slot of `key` in the index's hash table of keys, or the free slot for the key if it is absent."""
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

    - slots: int64[bands], the slots of the document's keys.
    - most: the maximum number of entries of these slots to read, in order.
    - size: the number of shingles (or words) of the document.
    - stamps: int64, one per kept document.
    - stamp: the document's number. It is written to the entry of each kept document examined, so that no kept document
      is examined twice.
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
def enter(index: KeptIndex, keys: U64, own: U64, bits: U64, row: Int) -> bool:
    """Enter a document into the index of kept documents; return False, without entering it, if the index is full.

    - keys: uint64[bands].
    - own: the document's contents.
    - bits: their bitmap.
    - row: the document's row in the partition. Once a document did not fit, no later document is entered either; these
      documents are decided in the next round, with an empty index.
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
