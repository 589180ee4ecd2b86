"""Records of windows on disk: kernels that sort them by bucket, drop hashes that occur once, and pack their bytes.

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, U64, Int, code_point
from dataprep.unicode.words import STARTS, kind_of, step, sure_state

from .minimizers import MAX_WINDOWS

BUCKETS = 1 << 12  # by the top bits of a record's hash
BUCKET_SHIFT = 52
FINE = 16  # bins per bucket, for splitting hashes into partitions
Flags = npt.NDArray[np.bool_]


@kernel
def by_bucket(hashes: U64, info: U64, part: int) -> tuple[U64, I64]:
    """Return the records (hash, info), uint64[m, 2], in order of their buckets, and cuts, int64[BUCKETS + 1].

    A record's bucket is the leading bits of its hash; bucket b has the rows cuts[b]:cuts[b + 1]. The first of them is
    (part, 0), so that the part of a record is known after buckets of several parts were joined. No record has info 0.
    """
    cuts = np.zeros(BUCKETS + 1, np.int64)
    for h in hashes:
        cuts[np.int64(h >> np.uint64(BUCKET_SHIFT)) + 1] += 1
    for b in range(BUCKETS):
        cuts[b + 1] += cuts[b] + (cuts[b + 1] > 0)
    fill, out = cuts.copy(), np.zeros((cuts[BUCKETS], 2), np.uint64)
    for b in range(BUCKETS):
        if cuts[b] < cuts[b + 1]:
            out[fill[b], 0] = part
            fill[b] += 1
    for j in range(len(hashes)):
        bucket = np.int64(hashes[j] >> np.uint64(BUCKET_SHIFT))
        out[fill[bucket], 0], out[fill[bucket], 1] = hashes[j], info[j]
        fill[bucket] += 1
    return out, cuts


def of_parts(rows: U64) -> tuple[U64, npt.NDArray[np.uint32]]:
    """Return the records of joined buckets, uint64[m, 2], and the part of each, from rows as `by_bucket` returns them.

    - rows: uint64[n, 2].
    """
    is_part = rows[:, 1] == 0
    parts = rows[is_part, 0].astype(np.uint32)[np.cumsum(is_part) - 1]
    return rows[~is_part], parts[~is_part]


@kernel
def repeated(
    records: U64, cuts: I64, is_old: Flags, first: int, last: int, per_record: int, per_window: int, heavy: int
) -> tuple[Flags, I64, I64]:
    """Return (records to keep, bool[m]; memory per bin, int64; frequent or "heavy" hashes, int64[n, 2]).

    A record is a run of windows of text, as (smallest hash of a gram, packed description). It is kept if two conditions
    hold. First, another record has the same hash, or two grams of one of its windows may have this hash. Second, one of
    the records with this hash belongs to a new document. A bucket is the leading bits of a hash; a bin is one of FINE
    equal ranges of hashes in a bucket.

    - records: uint64[m, 2], the records of the buckets `first` to `last - 1`, in runs sorted by bucket: run r is
      records[cuts[r]:cuts[r + 1]].
    - is_old: whether each record belongs to an older document.
    - per_record, per_window: the memory in bytes for a record, and for each of its windows.
    - heavy: hashes whose records need more bytes than this value are returned as (hash, bytes), and are not counted in
      the memory of a bin.
    """
    n_runs: Int = len(cuts) - 1
    at, until, size = cuts[:-1].copy(), cuts[:-1].copy(), np.zeros(last - first, np.int64)
    for j in range(len(records)):
        size[np.int64(records[j, 0] >> np.uint64(BUCKET_SHIFT)) - first] += 1
    slots = 16
    while slots < 2 * size.max():
        slots *= 2
    keys, weight, state = np.empty(slots, np.uint64), np.empty(slots, np.int64), np.empty(slots, np.uint8)
    keep, bins = np.zeros(len(records), np.bool_), np.zeros((last - first) * FINE, np.int64)
    heavies, n_heavy = np.empty((16, 2), np.int64), 0
    for bucket in range(first, last):
        own = 16  # as many slots as this bucket needs, so that they fit into the cache
        while own < 2 * size[bucket - first]:
            own *= 2
        mask = np.uint64(own - 1)
        for slot in range(own):
            state[slot] = 0
        for r in range(n_runs):
            j = at[r]
            while j < cuts[r + 1] and np.int64(records[j, 0] >> np.uint64(BUCKET_SHIFT)) == bucket:
                j += 1
            until[r] = j
        for old in (False, True):  # new records first, so that hashes of older ones alone are not entered
            for r in range(n_runs):
                for j in range(at[r], until[r]):
                    if is_old[j] != old:
                        continue
                    slot = slot_of(keys, state, mask, records[j, 0])
                    if state[slot] == 0 and old:
                        continue
                    if state[slot] == 0:
                        keys[slot], weight[slot] = records[j, 0], 0
                    tied = records[j, 1] >> np.uint64(24) & np.uint64(1) != 0
                    state[slot] = 2 if tied or state[slot] else 1
                    weight[slot] += per_record + per_window * np.int64(records[j, 1] & np.uint64(MAX_WINDOWS))
        for r in range(n_runs):
            for j in range(at[r], until[r]):
                keep[j] = state[slot_of(keys, state, mask, records[j, 0])] == 2
            at[r] = until[r]
        for slot in range(own):
            if state[slot] == 2 and weight[slot] > heavy:
                if n_heavy == len(heavies):
                    heavies = np.concatenate((heavies, heavies))
                heavies[n_heavy, 0], heavies[n_heavy, 1] = np.int64(keys[slot]), weight[slot]
                n_heavy += 1
            elif state[slot] == 2:
                bins[np.int64(keys[slot] >> np.uint64(BUCKET_SHIFT - 4)) - first * FINE] += weight[slot]
    return keep, bins, heavies[:n_heavy].copy()


@kernel(inline="always")
def slot_of(keys: U64, state: U8, mask: Int, key: Int) -> Int:
    """Return the slot of `key` in the hash table, or the free slot for the key if it is absent.

    - keys: uint64, the key of each slot.
    - state: 0 if the slot is free.
    - mask: the number of slots, a power of two, minus 1.
    """
    slot = key & mask
    while state[slot] and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def word_sizes(data: U8, at: I64, stop: I64, n_words: I64, table: U32) -> I64:
    """Return, for each offset at[j], the number of bytes to the end of the n_words[j]-th word from there, int64[m].

    If the ranges of a text overlap and begin at words, the text is split into words once.

    Args:
        data: UTF-8 bytes.
        at: int64[m], the offsets from which words are counted.
        stop: int64[m], the end of the text that contains each offset.
        n_words: int64[m], the number of words to count from each offset.
        table: the class bits of every code point.
    """
    out, begin, i, state = np.zeros(len(at), np.int64), 0, 0, 0
    room = 4
    for n in n_words:
        room = max(room, 2 * n + 4)
    starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    first, started, ended = 0, 0, 0  # the word at at[j], and how many words began and ended before byte i
    for j in range(len(at)):
        while first < started and starts[first] < at[j]:
            first += 1
        if j == 0 or stop[j] != stop[j - 1] or first == started or starts[first] != at[j]:
            begin, i, state, first, started, ended = at[j], at[j], 0, 0, 0, 0
        while i < stop[j] and ended < first + n_words[j]:
            c, size = code_point(data, i)
            if sure_state(table[c]) != state:
                after = step(data, begin, i, stop[j], table, kind_of(table[c]), state)
                if state and (after == 0 or after & STARTS):
                    ends[ended] = i
                    ended += 1
                if after & STARTS:
                    if started == room:  # at most n_words[j] + 1 of them are still needed
                        for m in range(first, started):
                            starts[m - first], ends[m - first] = starts[m], ends[m]
                        first, started, ended = 0, started - first, ended - first
                    starts[started] = i
                    started += 1
                state = after & 3
            i += size
        out[j] = (ends[first + n_words[j] - 1] if ended >= first + n_words[j] else stop[j]) - at[j]
    return out


@kernel
def pack(data: U8, at: I64, size: I64, shared: I64, order: I64) -> U8:
    """Return m byte ranges of `data` joined in `order`, uint8; bytes shared with the preceding range are left out.

    - at, size: int64[m], start and length of each range.
    - order: int64[m], numbers of ranges.
    - shared: int64[m], the number of bytes to leave out at the start of each range, in the order of `order`.
    """
    total = 0
    for j in range(len(order)):
        total += size[order[j]] - shared[j]
    out, k = np.empty(total, np.uint8), 0
    for j in range(len(order)):
        n = size[order[j]] - shared[j]
        start = at[order[j]] + shared[j]
        source, target = data[start : start + n], out[k : k + n]  # views: else the compiler copies byte by byte
        for i in range(n):
            target[i] = source[i]
        k += n
    return out
