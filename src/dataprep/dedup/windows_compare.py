"""Compare: the kernels that find which windows of records with one hash stand for the same bytes.

Records come in groups of one hash, each in order of position. A window's first occurrence lies in a record of its
own group. Where no minimum is tied, equal windows have their minimum at the same place, so two records are compared
once, from there to both sides; a record whose windows are all repeats never needs to be looked at again, so copies
cost one comparison each. Other groups go through a table of the windows seen, found by hash and compared byte by byte;
what the comparison before has shown is not compared again. A table that is full says so: the group is then gone
through twice, for either half of the hashes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernel import kernel
from ..text import I64, U8, U64, Int
from .suffix_marks import mark, more_marks
from .windows_hash import CHUNK, MAX_SLIDE, MAX_WINDOWS, Rule, Words, byte_grams, cut_words, word_grams

REPRESENTATIVES = 16  # records of one group that are compared with all later ones; if more, the table


class Block(NamedTuple):
    """Records in order of position: the bytes of each, and what is known of it."""

    data: U8
    at: I64  # where its bytes start in `data`; one more than there are records
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
    words = Words(*(np.empty(n_words, kind) for kind in (np.int64, np.int64, np.uint64, np.uint64)))
    other = Words(*(column.copy() for column in words))
    owner = np.empty(max(n, CHUNK, MAX_SLIDE), np.int64)
    return Scratch(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint64), owner, words, other)


@kernel(inline="always")
def eight(data: U8, i: Int) -> Int:
    """The eight bytes from `i` on as one number; one load for the processor."""
    low = np.uint64(data[i]) | np.uint64(data[i + 1]) << np.uint64(8)
    low |= np.uint64(data[i + 2]) << np.uint64(16) | np.uint64(data[i + 3]) << np.uint64(24)
    high = np.uint64(data[i + 4]) << np.uint64(32) | np.uint64(data[i + 5]) << np.uint64(40)
    return low | high | np.uint64(data[i + 6]) << np.uint64(48) | np.uint64(data[i + 7]) << np.uint64(56)


@kernel
def same_after(one: U8, a: Int, other: U8, b: Int, most: Int) -> int:
    """How many bytes are the same from `a` and from `b` on, at most `most`."""
    n = 0
    while n + 8 <= most and eight(one, a + n) == eight(other, b + n):
        n += 8
    while n < most and one[a + n] == other[b + n]:
        n += 1
    return n


@kernel
def same_before(data: U8, a: Int, b: Int, most: Int) -> int:
    """How many bytes are the same before `a` and before `b`, at most `most`."""
    n = 0
    while n + 8 <= most and eight(data, a - n - 8) == eight(data, b - n - 8):
        n += 8
    while n < most and data[a - n - 1] == data[b - n - 1]:
        n += 1
    return n


@kernel(inline="always")
def n_windows(block: Block, r: Int) -> Int:
    """How many windows a record has."""
    return np.int64(block.info[r]) & MAX_WINDOWS


@kernel(inline="always")
def minimum_of(block: Block, r: Int) -> Int:
    """The number of the item at which a record's minimum starts."""
    return n_windows(block, r) - 1 + (np.int64(block.info[r]) >> 14 & (MAX_SLIDE - 1))


@kernel
def equal_windows(block: Block, rule: Rule, a: Int, b: Int, scratch: Scratch) -> tuple[int, int]:
    """The windows of record `b` that stand in record `a` too: from the first to before the last, by number.

    Their minima are not tied. Where windows are words, `scratch.words` holds those of `b`.
    """
    data, p, q, i, j = block.data, block.at[a], block.at[b], minimum_of(block, a), minimum_of(block, b)
    if rule.words:
        cut_words(data, p, block.at[a + 1], rule.table, scratch.other)
        p, q = scratch.other.start[i], scratch.words.start[j]
    else:
        p, q = p + i, q + j
    before = same_before(data, p, q, min(p - block.at[a], q - block.at[b]))
    after = same_after(data, p, data, q, min(block.at[a + 1] - p, block.at[b + 1] - q))
    if not rule.words:
        low = max(q - before - block.at[b], j - i)
        return low, min(q + after - rule.width - block.at[b] + 1, n_windows(block, b), n_windows(block, a) + j - i)
    low, high = max(0, j - i), min(n_windows(block, b), n_windows(block, a) + j - i)
    mine, theirs = scratch.words, scratch.other
    while low < high and (mine.start[low] < q - before or mine.start[low] - q != theirs.start[low - j + i] - p):
        low += 1
    last = rule.width - 1
    while low < high and (
        mine.end[high - 1 + last] > q + after
        or mine.end[high - 1 + last] - q != theirs.end[high - 1 + last - j + i] - p
    ):
        high -= 1
    return low, high


@kernel
def by_pairs(block: Block, rule: Rule, rows: I64, scratch: Scratch, out: U64, n_out: int) -> tuple[U64, int]:
    """Mark the repeats in a group without ties; the count is -1 if it needs the table."""
    representatives, n_rep = np.empty(REPRESENTATIVES, np.int64), 0
    owner = scratch.owner
    for b in rows:
        n, covered = n_windows(block, b), 0
        if rule.words:
            cut_words(block.data, block.at[b], block.at[b + 1], rule.table, scratch.words)
        for k in range(n_rep):
            low, high = equal_windows(block, rule, representatives[k], b, scratch)
            if k == 0 or covered == 0:
                if low <= 0 and high >= n:  # all of it, for the most part
                    for x in range(n):
                        owner[x] = k
                    covered = n
                    break
                if low < high:
                    for x in range(n):
                        owner[x] = k if low <= x < high else -1
                    covered = high - low
                continue
            for x in range(low, high):
                if owner[x] < 0:
                    owner[x] = k
                    covered += 1
            if covered == n:
                break
        if covered < n:
            if n_rep == REPRESENTATIVES:
                return out, -1
            representatives[n_rep] = b
            n_rep += 1
        if covered:
            out, n_out = mark_owned(block, rule, b, representatives, scratch, out, n_out)
    return out, n_out


@kernel
def mark_owned(
    block: Block, rule: Rule, b: Int, representatives: I64, scratch: Scratch, out: U64, k: int
) -> tuple[U64, int]:
    """Write the runs of windows of record `b` that have one owner."""
    owner, n = scratch.owner, n_windows(block, b)
    x = 0
    while x < n:
        y = x
        while y + 1 < n and owner[y + 1] == owner[x]:
            y += 1
        if owner[x] >= 0:
            a = representatives[owner[x]]
            if rule.words:
                start, end = scratch.words.start[x], scratch.words.end[y + rule.width - 1]
                cut_words(block.data, block.at[a], block.at[a + 1], rule.table, scratch.other)
                first = scratch.other.start[x - minimum_of(block, b) + minimum_of(block, a)]
            else:
                start, end = block.at[b] + x, block.at[b] + y + rule.width
                first = block.at[a] + x - minimum_of(block, b) + minimum_of(block, a)
            if k == len(out):
                out = more_marks(out)
            mark(
                block.data,
                start,
                end,
                block.id[b],
                block.offset[b] - block.at[b],
                block.id[a],
                block.offset[a] + first - block.at[a],
                out[k],
            )
            k += 1
        x = y + 1
    return out, k


@kernel
def windows_of(block: Block, rule: Rule, r: Int, scratch: Scratch) -> int:
    """Put start, end and hash of a record's windows into the scratch; how many they are."""
    n, at = n_windows(block, r), block.at[r]
    if rule.words:
        cut_words(block.data, at, block.at[r + 1], rule.table, scratch.words)
        word_grams(scratch.words, n, rule.width, scratch.tag)
        for x in range(n):
            scratch.start[x], scratch.end[x] = scratch.words.start[x], scratch.words.end[x + rule.width - 1]
    else:
        byte_grams(block.data, at, n, rule.width, rule.values, rule.gone_window, scratch.tag)
        for x in range(n):
            scratch.start[x], scratch.end[x] = at + x, at + x + rule.width
    return n


@kernel
def clear(table: Table) -> None:
    """Forget all windows."""
    for slot in range(len(table.at)):
        table.at[slot] = -1
    for j in range(len(table.fill)):
        table.fill[j] = 0


@kernel
def by_table(
    block: Block, rule: Rule, rows: I64, table: Table, half: tuple[int, int], scratch: Scratch, out: U64, k: int
) -> tuple[U64, int]:
    """Mark the repeats among the windows whose hash is half[0] modulo half[1], as long as the table has room.

    Blocks of one group follow each other; a table keeps what it has seen.
    """
    mask, modulus, rest = np.uint64(len(table.at) - 1), np.uint64(half[1]), np.uint64(half[0])
    fill, data = table.fill, block.data
    seen = np.empty(6, np.int64)  # what is known to be the same: by distance in the record, and from the pool
    copied = np.empty(3, np.int64)
    for r in rows:
        n = windows_of(block, rule, r, scratch)
        for j in range(6):
            seen[j] = copied[j // 2] = -1
        here, shift_r = fill[BEFORE] + block.at[r], block.offset[r] - block.at[r]
        run_start, run_end, run_kept, run_id = 0, -1, 0, np.uint64(0)
        begun = -1
        for x in range(n):
            tag = scratch.tag[x]
            if modulus > 1 and (tag >> np.uint64(20)) % modulus != rest:
                continue
            start, end = scratch.start[x], scratch.end[x]
            slot = find(table, mask, tag, data, start, end, here, seen)
            if slot >= 0:
                place = table.at[slot]
                table.last[slot] = fill[BEFORE] + start
                low, high = 0, fill[RUNS]
                if begun >= 0 and x == run_end + 1 and pooled_at(table, begun, place):
                    low = begun
                else:
                    while high - low > 1:
                        middle = (low + high) // 2
                        if table.run[middle] <= place:
                            low = middle
                        else:
                            high = middle
                kept = table.run_offset[low] + place - table.run[low]
                id_ = table.run_id[low]
                begun = low
                shift = start - scratch.start[run_start]
                follows = run_end >= 0 and x == run_end + 1 and start <= scratch.end[run_end]
                if follows and id_ == run_id and kept == run_kept + shift:
                    run_end = x
                    continue
                if run_end >= 0:
                    if k == len(out):
                        out = more_marks(out)
                    mark(
                        data,
                        scratch.start[run_start],
                        scratch.end[run_end],
                        block.id[r],
                        shift_r,
                        run_id,
                        run_kept,
                        out[k],
                    )
                    k += 1
                run_start, run_end, run_kept, run_id = x, x, kept, id_
            elif not enter(table, mask, tag, block, r, start, end, copied):
                fill[FULL] = 1
                return out, k
        if run_end >= 0:
            if k == len(out):
                out = more_marks(out)
            mark(data, scratch.start[run_start], scratch.end[run_end], block.id[r], shift_r, run_id, run_kept, out[k])
            k += 1
    fill[BEFORE] += len(data)
    return out, k


@kernel(inline="always")
def pooled_at(table: Table, run: Int, place: Int) -> bool:
    """Whether a place in the pool belongs to a run."""
    after = table.run[run + 1] if run + 1 < table.fill[RUNS] else table.fill[POOLED]
    return table.run[run] <= place < after


@kernel
def find(table: Table, mask: Int, tag: Int, data: U8, start: Int, end: Int, here: Int, seen: I64) -> int:
    """The slot of a window that was seen before, -1 if there is none; every hit is compared byte by byte.

    It is compared with where it was last met, if that is inside this record, so that periods cost nothing.
    """
    slot = tag & mask
    while table.at[slot] >= 0:
        if table.tag[slot] == tag and table.size[slot] == end - start:
            inside = table.last[slot] >= here
            way = 0 if inside else 3
            other = table.last[slot] - table.fill[3] if inside else table.at[slot]
            theirs = data if inside else table.pool
            known = 0
            if seen[way] == start - other and seen[way + 1] <= start < seen[way + 2]:
                known = min(seen[way + 2], end) - start
            same = known + same_after(data, start + known, theirs, other + known, end - start - known)
            if same == end - start:
                if known == 0:
                    seen[way], seen[way + 1] = start - other, start
                seen[way + 2] = max(end, seen[way + 2]) if known else end
                return np.int64(slot)
        slot = (slot + np.uint64(1)) & mask
    return -1


@kernel
def enter(table: Table, mask: Int, tag: Int, block: Block, r: Int, start: Int, end: Int, copied: I64) -> bool:
    """Enter a new window; False if there is no room. `copied`: the bytes of the record in the pool, and where."""
    fill = table.fill
    more = end - copied[1] if copied[0] >= 0 and start <= copied[1] else end - start
    if 2 * fill[WINDOWS] >= len(table.at) or fill[RUNS] == len(table.run) or fill[POOLED] + more > len(table.pool):
        return False
    if copied[0] < 0 or start > copied[1]:
        run = fill[RUNS]
        table.run[run], table.run_id[run] = fill[POOLED], block.id[r]
        table.run_offset[run] = block.offset[r] + start - block.at[r]
        copied[0], copied[1], copied[2] = start, start, fill[POOLED]
        fill[RUNS] += 1
    for j in range(copied[1], end):
        table.pool[copied[2] + j - copied[0]] = block.data[j]
    copied[1] = max(end, copied[1])
    fill[POOLED] = copied[2] + copied[1] - copied[0]
    slot = tag & mask
    while table.at[slot] >= 0:
        slot = (slot + np.uint64(1)) & mask
    table.tag[slot], table.at[slot], table.size[slot] = tag, copied[2] + start - copied[0], end - start
    table.last[slot] = fill[BEFORE] + start
    fill[WINDOWS] += 1
    return True


@kernel
def by_groups(block: Block, rule: Rule, order: I64, bounds: I64, table: Table, scratch: Scratch, out: U64) -> U64:
    """Mark the repeats of every group: order[bounds[g]:bounds[g + 1]] are the records of group g, in order."""
    k = 0
    stack = np.empty((64, 2), np.int64)
    for g in range(len(bounds) - 1):
        rows = order[bounds[g] : bounds[g + 1]]
        tied = False
        for r in rows:
            tied |= block.info[r] >> np.uint64(24) & np.uint64(1) != 0
        if len(rows) < 2 and not tied:
            continue
        before = k
        if not tied:
            out, k = by_pairs(block, rule, rows, scratch, out, k)
            if k >= 0:
                continue
        k = before
        windows = 0
        for r in rows:
            windows += n_windows(block, r)
        part = smaller(table, windows)
        deep, stack[0, 0], stack[0, 1] = 1, 0, 1
        while deep:
            deep -= 1
            rest, modulus, before = stack[deep, 0], stack[deep, 1], k
            clear(part)
            out, k = by_table(block, rule, rows, part, (rest, modulus), scratch, out, k)
            if part.fill[FULL]:
                k = before
                stack[deep, 0], stack[deep, 1] = rest, 2 * modulus
                stack[deep + 1, 0], stack[deep + 1, 1] = rest + modulus, 2 * modulus
                deep += 2
    return out[:k].copy()


@kernel
def smaller(table: Table, windows: int) -> Table:
    """The front of a table, as big as so many windows need: it stays in the cache."""
    slots = 16
    while slots < 2 * windows and slots < len(table.at):
        slots *= 2
    return Table(
        table.tag[:slots], table.at[:slots], table.size[:slots], table.last[:slots],
        table.pool, table.run, table.run_id, table.run_offset, table.fill,
    )  # fmt: skip
