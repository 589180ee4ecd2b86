"""The kernels that find the repeated windows of records with equal hashes.

A window is a fixed number of words or bytes in a row. A record is a run of neighbouring windows with the same smallest
hash. Records with equal hashes form a group, in order of position; all occurrences of a window, so also its first one,
are in records of one group.

A record is tied if the smallest hash occurs twice in a window. If no record of a group is tied, equal windows have this
hash at the same word or byte; so two records are compared once, from this point in both directions. A record whose
windows are all repeats is never compared with later records, so each copy costs one comparison. If a record is tied, or
a group has too many different records, the group uses a table of the distinct windows so far, which are found by hash
and compared byte by byte. If the table becomes full, the group is read twice, each time for half of the hashes.

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dataprep.unicode.hashes import eight_bytes, mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

from .minimizers import (
    CHUNK,
    MAX_SLIDE,
    MAX_WINDOWS,
    WindowRule,
    WordSpans,
    byte_grams,
    cut_words,
    empty_words,
    word_grams,
)  # fmt: skip
from .repeats import Repeat, add_repeat

AHEAD = 12  # records whose bytes are prefetched
REPRESENTATIVES = 16  # records of one group that are compared with all later ones; if more, the table


class RecordBlock(NamedTuple):
    """Records (runs of neighbouring windows of text) in order of position.

    data: UTF-8 bytes; the text of record i is data[at[i]:stop[i]] (neighbours may overlap). The other arrays have an
    entry per record. id: the record's document. offset: the offset of its first byte in this document. info: its packed
    description, without the offset (see `minimizers.py`).
    """

    data: U8
    at: I64  # start of its bytes in `data`
    stop: I64  # and their end
    id: U64
    offset: I64  # of its first byte in its document
    info: U64  # the low 25 bits of a record's info


class WindowTable(NamedTuple):
    """A hash table of the distinct windows (of words or bytes of text) so far; their bytes are in one array, `pool`.

    Four arrays have an entry per slot of the table. tag: the hash of the slot's window. at: the window's offset in the
    pool, -1 if the slot is free. size: the window's length in bytes. last: the offset of its last occurrence in all
    data so far.

    Neighbouring windows are stored together, as one range of the pool; three arrays have an entry per range. run: the
    start of the range in the pool. run_id: its document. run_offset: the offset of its first byte in this document.
    fill: how much of the table, the pool and the ranges is in use.
    """

    tag: U64
    at: I64  # in the pool; -1: the slot is free
    size: I64  # bytes of the window
    last: I64  # the window's last occurrence, counted over all blocks
    pool: U8
    run: I64  # the start of each run in the pool
    run_id: U64
    run_offset: I64
    fill: I64  # windows, bytes, runs, bytes of the blocks before, and whether it is full


WINDOWS, POOLED, RUNS, BEFORE, FULL = 0, 1, 2, 3, 4


class Same(NamedTuple):
    """A range of bytes of one record, data[start:end], which a second record has too.

    bytes: the number to add to an offset in the range to get the offset of the same text in the second record. items:
    the number to add to the index of a word in the first record to get the index of the same word in the second.
    """

    start: Int
    end: Int
    bytes: Int
    items: Int


class Scratch(NamedTuple):
    """Work arrays for the windows of one record, and for the words of two records that are compared.

    Four arrays have an entry per window. start, end: the window is the bytes from `start` to `end` - 1. tag: its hash.
    owner: the number of an earlier record that has the window too. words, other: the words of the two records.
    """

    start: I64
    end: I64
    tag: U64
    owner: I64
    words: WordSpans
    other: WordSpans


def table_for(windows: int, pool: int) -> WindowTable:
    """Return an empty table for up to `windows` distinct windows, with a pool of `pool` bytes for their text."""
    slots = 1 << max(4, (2 * windows - 1).bit_length())
    runs = max(1, windows)
    return WindowTable(
        np.empty(slots, np.uint64), np.empty(slots, np.int64), np.empty(slots, np.int64), np.empty(slots, np.int64),
        np.empty(pool, np.uint8), np.empty(runs, np.int64), np.empty(runs, np.uint64), np.empty(runs, np.int64),
        np.zeros(5, np.int64),
    )  # fmt: skip


def scratch_for(rule: WindowRule) -> Scratch:
    """Return work arrays that are large enough for any record of windows that `rule` defines."""
    n, n_words = MAX_WINDOWS + 1, MAX_WINDOWS + rule.width if rule.words else 1
    words, other = empty_words(n_words), empty_words(n_words)
    owner = np.empty(max(n, CHUNK, MAX_SLIDE), np.int64)
    return Scratch(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint64), owner, words, other)


@intrinsic
def prefetch(_: Any, data: Any, at: Any) -> Any:
    """Load the cache line of data[at] into the processor's cache ahead of its use."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, given[0])
        byte = builder.gep(array.data, [given[1]])
        words = [ir.Constant(ir.IntType(32), n) for n in (0, 3, 1)]  # to read, keep close, data
        kind = ir.FunctionType(ir.VoidType(), [byte.type, *(w.type for w in words)])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte.type], kind)
        builder.call(function, [byte, *words])
        return context.get_dummy_value()

    return types.none(data, at), code


@kernel
def same_after(one: U8, a: Int, other: U8, b: Int, most: Int) -> Int:
    """Return how many bytes of `one` from offset `a` on equal those of `other` from offset `b` on, at most `most`."""
    p, q, n, stop, word = np.uint64(a), np.uint64(b), np.uint64(0), np.uint64(max(most, 0)), np.uint64(8)
    while n + word <= stop and eight_bytes(one, p + n) == eight_bytes(other, q + n):
        n += word
    while n < stop and one[p + n] == other[q + n]:
        n += np.uint64(1)
    return np.int64(n)


@kernel
def same_before(data: U8, a: Int, b: Int, most: Int) -> Int:
    """Return how many bytes of `data` just before offset `a` equal those just before offset `b`, at most `most`."""
    p, q, n, stop, word = np.uint64(a), np.uint64(b), np.uint64(0), np.uint64(max(most, 0)), np.uint64(8)
    while n + word <= stop and eight_bytes(data, p - n - word) == eight_bytes(data, q - n - word):
        n += word
    while n < stop and data[p - n - np.uint64(1)] == data[q - n - np.uint64(1)]:
        n += np.uint64(1)
    return np.int64(n)


@kernel(inline="always")
def minimum_at(info: Int) -> Int:
    """Return the index of the word or byte, in a record, at which the gram with the smallest hash starts.

    A record is a run of windows of text; a gram is a run of words or bytes shorter than a window. info: the record's
    packed description; see `minimizers.py`.
    """
    return (np.int64(info) & MAX_WINDOWS) - 1 + (np.int64(info) >> 14 & (MAX_SLIDE - 1))


@kernel(inline="always")
def trim_words(
    start: I64, end: I64, their_start: I64, their_end: I64, last: Int, same: Same, low: Int, high: Int
) -> tuple[Int, Int]:
    """Return the range [low, high) of the windows of a record that a second record has with the same word boundaries.

    start, end: offsets of the record's words. their_start, their_end: offsets of the second record's words. last: words
    per window, minus one. same: the range of bytes that both records have. low, high: the range [low, high) of windows
    to examine.
    """
    while low < high and (start[low] < same.start or start[low] + same.bytes != their_start[low + same.items]):
        low += 1
    while low < high and (
        end[high - 1 + last] > same.end
        or end[high - 1 + last] + same.bytes != their_end[high - 1 + last + same.items]
    ):
        high -= 1
    return low, high


@kernel(inline="always")
def assign(owner: I64, low: Int, high: Int, n: Int, covered: Int, m: Int) -> Int:
    """Set owner[x] to `m` where it is -1 (no owner), for windows x from low to high - 1; return how many have an owner.

    An owner is the number of an earlier record that has the window too. n: number of windows. covered: the number of
    windows that had an owner before the call; if it is 0, `owner` is set to -1 first.
    """
    if not covered:
        for x in range(n):
            owner[x] = -1
    for x in range(low, high):
        if owner[x] < 0:
            owner[x] = m
            covered += 1
    return covered


@kernel(inline="always")
def prefetch_group(data: U8, info: U64, starts: I64, order: I64, first: Int, stop: Int) -> Any:
    """Load the bytes of the records that follow a group into the cache; return True if the group has a tied record.

    A record is a run of windows of text; it is tied if the smallest hash of a window may occur twice. The group has the
    records order[first:stop]. info: the packed description of each record. starts: the offset of each record in `data`.
    """
    tied = False
    for t in range(first, stop):
        tied |= info[order[t]] >> np.uint64(24) & np.uint64(1) != 0
    if stop - first < 2 and not tied:
        return tied
    for t in range(first, stop):
        if t + AHEAD < len(order):
            for line in range(3):
                prefetch(data, starts[order[t + AHEAD]] + 64 * line)  # type: ignore[call-arg]
    return tied


@kernel
def by_pairs(
    block: RecordBlock, rule: WindowRule, order: I64, bounds: I64, scratch: Scratch, out: U64
) -> tuple[U64, int, I64]:
    """Find the repeated windows in groups of records by comparing pairs; return (repeats, their number, other groups).

    block: the records. order, bounds: group g has the records order[bounds[g]:bounds[g + 1]], which have equal hashes,
    in order of position. The repeats are written to `out`, or to a longer array (columns: see `repeats.py`). The other
    groups are the numbers, int64, of the groups that pairs cannot decide, because a record is tied (its smallest hash
    may occur twice in a window) or because the group has too many different records. rule: defines a window. scratch:
    work arrays; they are taken out of their tuples first, because Numba counts references to each of them at every
    call.
    """
    data, starts, stops, info, ids, offsets = block.data, block.at, block.stop, block.info, block.id, block.offset
    mine, theirs, owner, last = scratch.words, scratch.other, scratch.owner, rule.width - 1
    mine_start, mine_end, their_start, their_end = mine.start, mine.end, theirs.start, theirs.end
    kept, distance = np.empty(REPRESENTATIVES, np.int64), np.empty(REPRESENTATIVES, np.int64)
    left, n_left, k = np.empty(len(bounds), np.int64), 0, 0
    for g in range(len(bounds) - 1):
        first, stop, before_group, n_kept = bounds[g], bounds[g + 1], k, 0
        tied = prefetch_group(data, info, starts, order, first, stop)
        if stop - first < 2 and not tied:
            continue
        for t in range(first, stop):
            if tied:
                break
            b = order[t]
            n, j, covered = np.int64(info[b]) & MAX_WINDOWS, minimum_at(info[b]), np.int64(0)
            q = starts[b] + j
            if rule.words:
                cut_words(data, starts[b], stops[b], rule.table, mine)
                q = mine_start[j]
            for m in range(n_kept):
                a = kept[m]
                i = minimum_at(info[a])
                p = starts[a] + i
                if rule.words:
                    cut_words(data, starts[a], stops[a], rule.table, theirs)
                    p = their_start[i]
                same_from = q - same_before(data, p, q, min(p - starts[a], q - starts[b]))
                same_to = q + same_after(data, p, data, q, min(stops[a] - p, stops[b] - q))
                distance[m] = p - q
                low: Int = max(0, j - i)
                high: Int = min(n, (np.int64(info[a]) & MAX_WINDOWS) + j - i)
                if rule.words:
                    same = Same(same_from, same_to, p - q, i - j)
                    low, high = trim_words(mine_start, mine_end, their_start, their_end, last, same, low, high)
                else:
                    low, high = max(low, same_from - starts[b]), min(high, same_to - last - starts[b])
                if low < high:
                    covered = assign(owner, low, high, n, covered, m)
                if covered == n:
                    break
            if covered < n:
                if n_kept == REPRESENTATIVES:
                    tied = True  # the table takes them all
                    break
                kept[n_kept] = b
                n_kept += 1
            x = 0
            while covered and x < n:
                y = x
                while y + 1 < n and owner[y + 1] == owner[x]:
                    y += 1
                if owner[x] >= 0:
                    a, start, end = kept[owner[x]], starts[b] + x, starts[b] + y + rule.width
                    if rule.words:
                        start, end = mine_start[x], mine_end[y + last]
                    shift, kept_start = offsets[b] - starts[b], offsets[a] + start + distance[owner[x]] - starts[a]
                    none = np.int64(0)
                    repeat = Repeat(start, end, shift, ids[b], ids[a], kept_start, none, none, none)
                    out = add_repeat(data, repeat, out, k)
                    k += 1
                x = y + 1
        if tied:
            k, left[n_left] = before_group, g
            n_left += 1
    return out, k, left[:n_left]


@kernel
def by_table(
    block: RecordBlock, rule: WindowRule, rows: I64, table: WindowTable, half: tuple[int, int], scratch: Scratch,
    out: U64, k: int,
) -> tuple[U64, int]:  # fmt: skip
    """Find the windows of some records that occurred earlier, and write these repeats to `out` from row `k` on.

    Returns (`out` or a longer array, the number of rows in use); columns: see `repeats.py`. block: the records. rows:
    the numbers of the records to read. rule: defines a window. table: all windows so far; new ones are added to it, and
    the search stops if it is full. half: only windows with hash % half[1] == half[0] are examined. scratch: work
    arrays.

    If the last occurrence of a window is in the same record, the window is compared with that occurrence, so that
    periodic text is cheap; otherwise with the copy in the table.
    """
    modulus, rest = np.uint64(half[1]), np.uint64(half[0])
    data, fill, pool, starts, words = block.data, table.fill, table.pool, block.at, scratch.words
    tags, places, sizes, met = table.tag, table.at, table.size, table.last
    runs, run_ids, run_offsets = table.run, table.run_id, table.run_offset
    own_start, own_end, own_tag = scratch.start, scratch.end, scratch.tag
    mask, passed = np.uint64(len(places) - 1), fill[BEFORE]
    for r in rows:
        n, at, stop = np.int64(block.info[r]) & MAX_WINDOWS, starts[r], block.stop[r]
        shift = block.offset[r] - at
        if rule.words:
            cut_words(data, at, stop, rule.table, words)
            word_grams(words, n, rule.width, own_tag)
            for x in range(n):
                own_start[x], own_end[x] = words.start[x], words.end[x + rule.width - 1]
        else:
            byte_grams(data, at, n, rule.width, rule.values, rule.leaving_window, own_tag)
            for x in range(n):
                own_start[x], own_end[x] = at + x, at + x + rule.width
        here_by, here_from, here_to = np.int64(-1), 0, 0  # bytes known to be those `here_by` before, in the record
        pool_by, pool_from, pool_to = np.int64(-1) << 62, 0, 0  # bytes known to be in the pool, so much further on
        copied_from, copied_to, copied_at = np.int64(-1), np.int64(-1), 0  # bytes of the record that are in the pool
        first, last, run = 0, -1, 0  # the open repeat: its windows, and their first occurrence
        kept, kept_id = np.int64(0), np.uint64(0)
        period, rounds, turn = np.int64(0), np.int64(0), np.int64(0)
        for x in range(n):
            tag = mix64(own_tag[x])
            if modulus > 1 and (tag >> np.uint64(40)) % modulus != rest:
                continue
            start, end = own_start[x], own_end[x]
            slot, found = tag & mask, False
            while places[slot] >= 0 and not found:
                if tags[slot] == tag and sizes[slot] == end - start:
                    other = met[slot] - passed
                    if other >= at:
                        known = start
                        if here_by == start - other and here_from <= start < here_to:
                            known = min(here_to, end)
                        found = same_after(data, known, data, known - start + other, end - known) == end - known
                        if found:
                            here_from = here_from if known > start else start
                            here_by, here_to = start - other, end
                    else:
                        other, known = places[slot], start
                        if pool_by == start - other and pool_from <= start < pool_to:
                            known = min(pool_to, end)
                        found = same_after(data, known, pool, known - start + other, end - known) == end - known
                        if found:
                            pool_from = pool_from if known > start else start
                            pool_by, pool_to = start - other, end
                if not found:
                    slot = (slot + np.uint64(1)) & mask
            if found:
                place = places[slot]
                met[slot] = passed + start
                run_after = runs[run + 1] if run + 1 < fill[RUNS] else fill[POOLED]
                if not runs[run] <= place < run_after:
                    run, high = 0, fill[RUNS]
                    while high - run > 1:
                        middle = (run + high) // 2
                        if runs[middle] <= place:
                            run = middle
                        else:
                            high = middle
                first_at = run_offsets[run] + place - runs[run]
                step = start - own_start[first]
                if last >= 0 and x == last + 1 and start <= own_end[last] and run_ids[run] == kept_id:
                    if period == 0 and first_at == kept:
                        period, turn = step, own_end[last] - own_start[first]
                    if first_at - kept == (step % period if period else step):
                        last, rounds = x, (step // period if period else np.int64(0))
                        continue
                if last >= 0:
                    found_at = own_start[first]
                    repeat = Repeat(
                        found_at, own_end[last], shift, block.id[r], kept_id, kept, period, rounds, turn
                    )  # fmt: skip
                    out = add_repeat(data, repeat, out, k)
                    k += 1
                first, last, kept, kept_id = x, x, first_at, run_ids[run]
                period, rounds, turn = np.int64(0), np.int64(0), np.int64(0)
                continue
            new = start > copied_to
            more = end - start if new else end - copied_to
            if 2 * fill[WINDOWS] >= len(places) or fill[RUNS] == len(runs) or fill[POOLED] + more > len(pool):
                fill[FULL] = 1
                return out, k
            if new:
                copied_from, copied_to, copied_at = start, start, fill[POOLED]
                runs[fill[RUNS]], run_ids[fill[RUNS]] = fill[POOLED], block.id[r]
                run_offsets[fill[RUNS]] = start + shift
                fill[RUNS] += 1
            for j in range(copied_to, end):
                pool[copied_at + j - copied_from] = data[j]
            copied_to = end
            fill[POOLED] = copied_at + end - copied_from
            tags[slot], places[slot], sizes[slot] = tag, copied_at + start - copied_from, end - start
            met[slot] = passed + start
            fill[WINDOWS] += 1
        if last >= 0:
            found_at = own_start[first]
            repeat = Repeat(found_at, own_end[last], shift, block.id[r], kept_id, kept, period, rounds, turn)
            out = add_repeat(data, repeat, out, k)
            k += 1
    fill[BEFORE] += len(data)
    return out, k


@kernel
def clear(table: WindowTable) -> None:
    """Remove all windows from the table."""
    for slot in range(len(table.at)):
        table.at[slot] = -1
    for j in range(len(table.fill)):
        table.fill[j] = 0


@kernel
def by_groups(
    block: RecordBlock, rule: WindowRule, order: I64, bounds: I64, table: WindowTable, scratch: Scratch, out: U64
) -> U64:
    """Find the repeated windows in all groups of records; return them, uint64[m, 7] (columns: see `repeats.py`).

    block: the records. order, bounds: group g has the records order[bounds[g]:bounds[g + 1]], which have equal hashes.
    rule: defines a window. table, scratch, out: buffers; `out` is replaced by a longer array when it is full.
    """
    out, k, left = by_pairs(block, rule, order, bounds, scratch, out)
    stack = np.empty((64, 2), np.int64)
    for g in left:
        rows, slots = order[bounds[g] : bounds[g + 1]], 16
        windows: Int = 0
        for r in rows:
            windows += np.int64(block.info[r]) & MAX_WINDOWS
        while slots < 2 * windows and slots < len(table.at):  # as many as the group needs: they fit into the cache
            slots *= 2
        own = WindowTable(
            table.tag[:slots], table.at[:slots], table.size[:slots], table.last[:slots],
            table.pool, table.run, table.run_id, table.run_offset, table.fill,
        )  # fmt: skip
        deep, stack[0, 0], stack[0, 1] = 1, 0, 1
        while deep:
            deep -= 1
            rest, modulus, before = stack[deep, 0], stack[deep, 1], k
            clear(own)
            out, k = by_table(block, rule, rows, own, (rest, modulus), scratch, out, k)
            if own.fill[FULL]:
                k = before
                stack[deep, 0], stack[deep, 1] = rest, 2 * modulus
                stack[deep + 1, 0], stack[deep + 1, 1] = rest + modulus, 2 * modulus
                deep += 2
    return out[:k].copy()
