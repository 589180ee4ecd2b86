"""Compare: the kernels that find which windows of records with one hash stand for the same bytes.

Records come in groups of one hash, each in order of position. A window's first occurrence lies in a record of its
own group. Where no minimum is tied, equal windows have their minimum at the same place, so two records are compared
once, from there to both sides; a record whose windows are all repeats never needs to be looked at again, so copies
cost one comparison each. Other groups go through a table of the windows seen, found by hash and compared byte by byte;
what the comparison before has shown is not compared again. A table that is full says so: the group is then gone
through twice, for either half of the hashes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int, eight_bytes, mix64

from .minimizers import CHUNK, MAX_SLIDE, MAX_WINDOWS, Rule, Words, byte_grams, cut_words, room_for_words, word_grams
from .repeats import mark, more_marks

AHEAD = 12  # records whose bytes are asked for before they are looked at
REPRESENTATIVES = 16  # records of one group that are compared with all later ones; if more, the table


class Block(NamedTuple):
    """Records in order of position: the bytes of each (neighbours may share some), and what is known of it."""

    data: U8
    at: I64  # where its bytes start in `data`
    stop: I64  # and end
    id: U64
    offset: I64  # of its first byte in its document
    info: U64  # the low 25 bits of a record's info


class Table(NamedTuple):
    """The distinct windows seen, in slots found by hash, and their bytes in a pool.

    The pool is filled by runs of neighbouring windows; a run tells where its first byte lies.
    """

    tag: U64
    at: I64  # in the pool; -1: the slot is free
    size: I64  # bytes of the window
    last: I64  # where the window was last met, counted over all blocks
    pool: U8
    run: I64  # where each run starts in the pool
    run_id: U64
    run_offset: I64
    fill: I64  # windows, bytes, runs, bytes of the blocks before, and whether it is full


WINDOWS, POOLED, RUNS, BEFORE, FULL = 0, 1, 2, 3, 4


class Scratch(NamedTuple):
    """Room for what is known of one record's windows."""

    start: I64
    end: I64
    tag: U64
    owner: I64
    words: Words
    other: Words


def table_for(windows: int, pool: int) -> Table:
    """A table for so many distinct windows, whose bytes are at most `pool`."""
    slots = 1 << max(4, (2 * windows - 1).bit_length())
    runs = max(1, windows)
    return Table(
        np.empty(slots, np.uint64), np.empty(slots, np.int64), np.empty(slots, np.int64), np.empty(slots, np.int64),
        np.empty(pool, np.uint8), np.empty(runs, np.int64), np.empty(runs, np.uint64), np.empty(runs, np.int64),
        np.zeros(5, np.int64),
    )  # fmt: skip


def scratch_for(rule: Rule) -> Scratch:
    """Room for any record."""
    n, n_words = MAX_WINDOWS + 1, MAX_WINDOWS + rule.width if rule.words else 1
    words, other = room_for_words(n_words), room_for_words(n_words)
    owner = np.empty(max(n, CHUNK, MAX_SLIDE), np.int64)
    return Scratch(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint64), owner, words, other)


@intrinsic
def prefetch(_: Any, data: Any, place: Any) -> Any:
    """Ask for the cache line of data[place], and do not wait for it."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, given[0])
        byte = builder.gep(array.data, [given[1]])
        words = [ir.Constant(ir.IntType(32), n) for n in (0, 3, 1)]  # to read, keep close, data
        kind = ir.FunctionType(ir.VoidType(), [byte.type, *(w.type for w in words)])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte.type], kind)
        builder.call(function, [byte, *words])
        return context.get_dummy_value()

    return types.none(data, place), code


@kernel
def same_after(one: U8, a: Int, other: U8, b: Int, most: Int) -> Int:
    """How many bytes are the same from `a` and from `b` on, at most `most`."""
    p, q, n, stop, word = np.uint64(a), np.uint64(b), np.uint64(0), np.uint64(max(most, 0)), np.uint64(8)
    while n + word <= stop and eight_bytes(one, p + n) == eight_bytes(other, q + n):
        n += word
    while n < stop and one[p + n] == other[q + n]:
        n += np.uint64(1)
    return np.int64(n)


@kernel
def same_before(data: U8, a: Int, b: Int, most: Int) -> Int:
    """How many bytes are the same before `a` and before `b`, at most `most`."""
    p, q, n, stop, word = np.uint64(a), np.uint64(b), np.uint64(0), np.uint64(max(most, 0)), np.uint64(8)
    while n + word <= stop and eight_bytes(data, p - n - word) == eight_bytes(data, q - n - word):
        n += word
    while n < stop and data[p - n - np.uint64(1)] == data[q - n - np.uint64(1)]:
        n += np.uint64(1)
    return np.int64(n)


@kernel
def by_pairs(
    block: Block, rule: Rule, order: I64, bounds: I64, scratch: Scratch, out: U64
) -> tuple[U64, int, I64]:  # fmt: skip
    """Mark the repeats of all groups without ties: the marks, how many, and the groups that need the table.

    order[bounds[g]:bounds[g + 1]] are the records of group g, in order of position. Arrays are taken out of their
    tuples first: Numba counts references to every array of a tuple at each call, which costs more than a comparison.
    """
    data, starts, stops, info, ids, offsets = block.data, block.at, block.stop, block.info, block.id, block.offset
    mine, theirs, owner, width, last = scratch.words, scratch.other, scratch.owner, rule.width, rule.width - 1
    mine_start, mine_end, their_start, their_end = mine.start, mine.end, theirs.start, theirs.end
    kept, distance = np.empty(REPRESENTATIVES, np.int64), np.empty(REPRESENTATIVES, np.int64)
    left, n_left, k = np.empty(len(bounds), np.int64), 0, 0
    for g in range(len(bounds) - 1):
        first, behind, tied = bounds[g], bounds[g + 1], False
        for t in range(first, behind):
            tied |= info[order[t]] >> np.uint64(24) & np.uint64(1) != 0
        if behind - first < 2 and not tied:
            continue
        for t in range(first, behind):
            if t + AHEAD < len(order):
                place = starts[order[t + AHEAD]]
                for line in range(3):
                    prefetch(data, place + 64 * line)  # type: ignore[call-arg]
        n_kept, before_group = 0, k
        for t in range(first, behind):
            if tied:
                break
            b = order[t]
            n, covered = np.int64(info[b]) & MAX_WINDOWS, 0
            j = n - 1 + (np.int64(info[b]) >> 14 & (MAX_SLIDE - 1))  # the item at which the minimum starts
            q = starts[b] + j
            if rule.words:
                cut_words(data, starts[b], stops[b], rule.table, mine)
                q = mine_start[j]
            for m in range(n_kept):
                a = kept[m]
                n_other = np.int64(info[a]) & MAX_WINDOWS
                i = n_other - 1 + (np.int64(info[a]) >> 14 & (MAX_SLIDE - 1))
                p = starts[a] + i
                if rule.words:
                    cut_words(data, starts[a], stops[a], rule.table, theirs)
                    p = their_start[i]
                same_from = q - same_before(data, p, q, min(p - starts[a], q - starts[b]))
                same_to = q + same_after(data, p, data, q, min(stops[a] - p, stops[b] - q))
                distance[m] = p - q
                low: Int = max(0, j - i)
                high: Int = min(n, n_other + j - i)
                if rule.words:
                    while low < high and (
                        mine_start[low] < same_from or mine_start[low] + p - q != their_start[low - j + i]
                    ):
                        low += 1
                    while low < high and (
                        mine_end[high - 1 + last] > same_to
                        or mine_end[high - 1 + last] + p - q != their_end[high - 1 + last - j + i]
                    ):
                        high -= 1
                else:
                    low = max(low, same_from - starts[b])
                    high = min(high, same_to - width - starts[b] + 1)
                if low >= high:
                    continue
                if not covered:
                    for x in range(n):
                        owner[x] = -1
                for x in range(low, high):
                    if owner[x] < 0:
                        owner[x] = m
                        covered += 1
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
                    a, step = kept[owner[x]], distance[owner[x]]
                    start, end = starts[b] + x, starts[b] + y + width
                    if rule.words:
                        start, end = mine_start[x], mine_end[y + last]
                    if k == len(out):
                        out = more_marks(out)
                    shift, kept_start = offsets[b] - starts[b], offsets[a] + start + step - starts[a]
                    mark(data, start, end, ids[b], shift, ids[a], kept_start, 0, out[k])
                    k += 1
                x = y + 1
        if tied:
            k, left[n_left] = before_group, g
            n_left += 1
    return out, k, left[:n_left]


@kernel
def by_table(
    block: Block, rule: Rule, rows: I64, table: Table, half: tuple[int, int], scratch: Scratch, out: U64, k: int
) -> tuple[U64, int]:
    """Mark the repeats among the windows whose hash is half[0] modulo half[1], as long as the table has room.

    Blocks of one group follow each other; a table keeps what it has seen. A hit is compared with where the window was
    last met, if that is inside this record, so that periods cost nothing; else with the pool.
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
            byte_grams(data, at, n, rule.width, rule.values, rule.gone_window, own_tag)
            for x in range(n):
                own_start[x], own_end[x] = at + x, at + x + rule.width
        here_by, here_from, here_to = np.int64(-1), 0, 0  # bytes known to be those `here_by` before, in the record
        pool_by, pool_from, pool_to = np.int64(-1) << 62, 0, 0  # bytes known to be in the pool, so much further on
        copied_from, copied_to, copied_at = np.int64(-1), np.int64(-1), 0  # bytes of the record that are in the pool
        first, last, run = 0, -1, 0  # the open mark: its windows, and what they stand for
        kept, kept_id, period, cycle = np.int64(0), np.uint64(0), np.int64(0), np.int64(0)
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
                        period = step
                    if first_at - kept == (step % period if period else step):
                        last, cycle = x, (period << 32 | step if period else np.int64(0))
                        continue
                if last >= 0:
                    if k == len(out):
                        out = more_marks(out)
                    mark(data, own_start[first], own_end[last], block.id[r], shift, kept_id, kept, cycle, out[k])
                    k += 1
                first, last, kept, kept_id, period = x, x, first_at, run_ids[run], np.int64(0)
                cycle = np.int64(0)
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
            if k == len(out):
                out = more_marks(out)
            mark(data, own_start[first], own_end[last], block.id[r], shift, kept_id, kept, cycle, out[k])
            k += 1
    fill[BEFORE] += len(data)
    return out, k


@kernel
def clear(table: Table) -> None:
    """Forget all windows."""
    for slot in range(len(table.at)):
        table.at[slot] = -1
    for j in range(len(table.fill)):
        table.fill[j] = 0


@kernel
def by_groups(block: Block, rule: Rule, order: I64, bounds: I64, table: Table, scratch: Scratch, out: U64) -> U64:
    """Mark the repeats of every group: order[bounds[g]:bounds[g + 1]] are the records of group g, in order."""
    out, k, left = by_pairs(block, rule, order, bounds, scratch, out)
    stack = np.empty((64, 2), np.int64)
    for g in left:
        rows, slots = order[bounds[g] : bounds[g + 1]], 16
        windows: Int = 0
        for r in rows:
            windows += np.int64(block.info[r]) & MAX_WINDOWS
        while slots < 2 * windows and slots < len(table.at):  # as many as the group needs: they stay in the cache
            slots *= 2
        own = Table(
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
