"""The kernel that finds the repeated windows of a group of records by comparing pairs of records.

If no record in a group is tied, the group's hash occurs at only one word or byte of each window, so equal windows are
aligned at this point. Two records are therefore compared once, from this point in both directions. A record whose
windows are all repeats is never compared with later records, so each copy costs one comparison.

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

from .block import RecordBlock, Scratch
from .minimizers import MAX_SLIDE, MAX_WINDOWS, WindowRule
from .repeats import Repeat, add_repeat
from .same_bytes import prefetch, same_after, same_before
from .word_spans import cut_words

AHEAD = 12  # records whose bytes are prefetched
REPRESENTATIVES = 16  # records of one group that are compared with all later ones; for more, the table is used


class Same(NamedTuple):
    """A range of bytes of one record, data[start:end], that also occurs in a second record.

    Attributes:
        bytes: the number to add to an offset in the range to get the offset of the same text in the second record.
        items: the number to add to the index of a word in the first record to get the index of the same word in the
            second.
    """

    start: Int
    end: Int
    bytes: Int
    items: Int


@kernel(inline="always")
def minimum_at(info: Int) -> Int:
    """Return the index of the word or byte, in a record, at which the gram with the smallest hash starts.

    A record is a run of windows of text; a gram is a run of words or bytes shorter than a window.

    Args:
        info: the record's packed description; see `minimizers.py`.
    """
    return (np.int64(info) & MAX_WINDOWS) - 1 + (np.int64(info) >> 14 & (MAX_SLIDE - 1))


@kernel(inline="always")
def trim_words(
    start: I64, end: I64, their_start: I64, their_end: I64, last: Int, same: Same, low: Int, high: Int
) -> tuple[Int, Int]:
    """Return the range [low, high) of one record's windows that also occur, with the same word boundaries, in another.

    Args:
        start: the offset at which the record's words begin.
        end: the offset at which they end.
        their_start: the offset at which the second record's words begin.
        their_end: the offset at which they end.
        last: the number of words per window, minus one.
        same: the range of bytes that both records have.
        low: the first window to examine.
        high: the window after the last one to examine.
    """
    while low < high and (start[low] < same.start or start[low] + same.bytes != their_start[low + same.items]):
        low += 1
    while low < high and (
        end[high - 1 + last] > same.end or end[high - 1 + last] + same.bytes != their_end[high - 1 + last + same.items]
    ):
        high -= 1
    return low, high


@kernel(inline="always")
def assign(owner: I64, low: Int, high: Int, n: Int, covered: Int, m: Int) -> Int:
    """Set owner[x] to `m` where it is -1 (no owner), for windows x from low to high - 1; return how many have an owner.

    An owner is the number of an earlier record that also contains the window.

    - n: the number of windows.
    - covered: the number of windows that had an owner before the call; if it is 0, `owner` is set to -1 first.
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
    """Prefetch the bytes of the records after a group into the cache; return True if the group has a tied record.

    A record is a run of windows of text; it is tied if the smallest hash of a window may occur twice. The group has the
    records order[first:stop].

    - info: the packed description of each record.
    - starts: the offset of each record in `data`.
    """
    tied = False
    for t in range(first, stop):
        tied |= info[order[t]] >> np.uint64(24) & np.uint64(1) != 0
    if stop - first < 2 and not tied:
        return tied
    for t in range(first, stop):
        if t + AHEAD < len(order):
            for line in range(3):
                prefetch(data, starts[order[t + AHEAD]] + 64 * line)
    return tied


@kernel
def by_pairs(
    block: RecordBlock, rule: WindowRule, order: I64, bounds: I64, scratch: Scratch, out: U64
) -> tuple[U64, int, I64]:
    """Find the repeated windows in groups of records by comparing pairs; return (repeats, their number, other groups).

    - block: the records.
    - order, bounds: group g has the records order[bounds[g]:bounds[g + 1]], which have equal hashes, in order of
      position. The repeats are written to `out`, or to a longer array (columns: see `repeats.py`). The other groups are
      the numbers, int64, of the groups that cannot be decided by pairs, because a record is tied (its smallest hash may
      occur twice in a window) or because the group has too many different records.
    - rule: the definition of a window.
    - scratch: work arrays; they are first taken out of their tuples, because Numba would count references to each of
      them at every call.
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
                    shift, duplicate_of_start = (
                        offsets[b] - starts[b],
                        offsets[a] + start + distance[owner[x]] - starts[a],
                    )
                    none = np.int64(0)
                    repeat = Repeat(start, end, shift, ids[b], ids[a], duplicate_of_start, none, none, none)
                    out = add_repeat(data, repeat, out, k)
                    k += 1
                x = y + 1
        if tied:
            k, left[n_left] = before_group, g
            n_left += 1
    return out, k, left[:n_left]
