"""The kernel that finds repeated windows with a hash table of the distinct windows so far, compared byte by byte.

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64

from .block import RecordBlock, Scratch
from .minimizers import MAX_WINDOWS, WindowRule, byte_grams, word_grams
from .repeats import Repeat, add_repeat
from .same_bytes import same_after
from .word_spans import cut_words

WINDOWS, POOLED, RUNS, BEFORE, FULL = 0, 1, 2, 3, 4  # of `WindowTable.fill`


class WindowTable(NamedTuple):
    """A hash table of the distinct windows (of words or bytes of text) so far; their bytes are in one array, `pool`.

    Four arrays have an entry per slot of the table.

    Attributes:
        tag: the hash of the slot's window.
        at: the window's offset in the pool; -1 if the slot is free.
        size: the window's length in bytes.
        last: the offset of the window's last occurrence in all data so far.
        run: the start of each range in the pool.
        run_id: the document of each range.
        run_offset: the offset of each range's first byte in this document.
        fill: the numbers of used entries of the table, the pool and the ranges.

    Neighbouring windows are stored together, as one range of the pool; three arrays have an entry per range.
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



def table_for(windows: int, pool: int) -> WindowTable:
    """Return an empty table for up to `windows` distinct windows, with a pool of `pool` bytes for their text."""
    slots = 1 << max(4, (2 * windows - 1).bit_length())
    runs = max(1, windows)
    return WindowTable(
        np.empty(slots, np.uint64), np.empty(slots, np.int64), np.empty(slots, np.int64), np.empty(slots, np.int64),
        np.empty(pool, np.uint8), np.empty(runs, np.int64), np.empty(runs, np.uint64), np.empty(runs, np.int64),
        np.zeros(5, np.int64),
    )  # fmt: skip



@kernel
def by_table(
    block: RecordBlock, rule: WindowRule, rows: I64, table: WindowTable, half: tuple[int, int], scratch: Scratch,
    out: U64, k: int,
) -> tuple[U64, int]:  # fmt: skip
    """Find the windows of some records that occurred earlier, and write these repeats to `out` from row `k` on.

    Returns (`out` or a longer array, the number of rows in use); `repeats.py` describes the columns.

    - block: the records.
    - rows: the numbers of the records to read.
    - rule: the definition of a window.
    - table: all windows so far; new windows are added to it, and the search stops when it is full.
    - half: only windows with hash % half[1] == half[0] are examined.
    - scratch: work arrays.

    If the last occurrence of a window is in the same record, the window is compared with that occurrence, so that
    periodic text is cheap. Otherwise it is compared with the copy in the table.
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
