"""Verify: in keep order, every candidate is compared with the *kept* documents that share a key with it.

It is dropped for the first of them, in keep order, whose similarity reaches the threshold; else it is kept, and
entered into the index. Nothing is squared (copies never enter the index) and nothing chains (who was dropped drops
nobody). A partition that is too big for memory is streamed through an index of as many kept documents as fit; who
survives that goes through the next index, which gives the same answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import files
from ..kernel import kernel
from ..text import I64, U8, U64, Int
from .gather import HEADER, PARTITION_BYTES
from .spill import Spill, spill_to

VERDICT = np.dtype([("id", "<u8"), ("kept", "<u8"), ("similarity", "<f4")])
BUDGET = 2 * PARTITION_BYTES  # of payloads in memory at once, and again of what is kept
OPEN, KEPT, DROPPED = 0, 1, 2


@dataclass(frozen=True)
class Verify:
    """Decide one partition, and spill its verdicts by group of parts."""

    out: str
    key: str
    bands: int
    threshold: float
    n_parts: int
    n_groups: int
    budget: int = BUDGET

    def __call__(self, partition: int) -> dict[str, Any]:
        """The receipt: how many were dropped, and how many pairs compared."""
        url = files.join(self.out, "verify", f"partition-{partition:05d}")
        return files.once(url + ".json", self.key, lambda: self._write(url, partition))

    def _write(self, url: str, partition: int) -> dict[str, Any]:
        rows = Rows.read(self.out, self.n_parts, partition)
        kept_by, similarity, compared = decide(rows, self.bands, self.threshold, self.budget)
        dropped = np.flatnonzero(kept_by >= 0)
        verdicts = np.empty(len(dropped), VERDICT)
        verdicts["id"], verdicts["kept"] = rows.ids[dropped], rows.ids[kept_by[dropped]]
        verdicts["similarity"] = similarity[dropped]
        group = rows.file[dropped].astype(np.int64) * self.n_groups // max(1, self.n_parts)
        with spill_to(url, self.n_groups) as spill:  # rows are in order of their files
            spill.write(np.split(verdicts, np.searchsorted(group, np.arange(1, self.n_groups))))
        return {"files": [url], "dropped": len(dropped), "compared": compared}


@dataclass
class Rows:
    """The candidates of a partition: their headers, and where their payloads lie."""

    urls: list[str]
    ids: npt.NDArray[np.uint64]
    rank: npt.NDArray[np.uint64]
    words: npt.NDArray[np.int64]
    file: npt.NDArray[np.int32]
    place: npt.NDArray[np.int64]  # byte in the file

    @classmethod
    def read(cls, out: str, n_parts: int, partition: int) -> Rows:
        """All headers of a partition, in order of parts."""
        urls = [files.join(out, "gather", f"part-{number:05d}") for number in range(n_parts)]
        headers, where, place = [np.zeros(0, HEADER)], [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
        for number, url in enumerate(urls):
            with Spill(url) as spill:
                for segment in range(spill.segments):
                    found = spill.read(segment, 2 * partition, dtype=HEADER)
                    start, _ = spill.where(segment, 2 * partition + 1)
                    headers.append(found)
                    where.append(np.full(len(found), number, np.int32))
                    place.append(start + 8 * (np.cumsum(found["words"]) - found["words"]))
        all_headers = np.concatenate(headers)
        ids, rank, words = (np.ascontiguousarray(all_headers[name]) for name in ("id", "rank", "words"))
        return cls(urls, ids, rank, words, np.concatenate(where), np.concatenate(place))

    def load(self, rows: npt.NDArray[np.intp]) -> tuple[I64, U64]:
        """The payloads of some rows: where each starts in the words, int64[n], and the words."""
        order = np.lexsort((self.place[rows], self.file[rows]))
        chosen = rows[order]
        size = self.words[chosen]
        starts = np.cumsum(size) - size
        out = np.empty(int(size.sum()), np.uint64)
        for number, runs in itertools.groupby(self._runs(chosen), lambda run: int(self.file[chosen[run[0]]])):
            with files.open_raw(self.urls[number]) as f:
                for low, high in runs:
                    f.seek(int(self.place[chosen[low]]))
                    words = int(size[low:high].sum())
                    out[starts[low] : starts[low] + words] = np.frombuffer(f.read(8 * words), np.uint64)
        back = np.empty(len(rows), np.int64)
        back[order] = starts
        return back, out

    def _runs(self, chosen: npt.NDArray[np.intp]) -> Iterator[tuple[int, int]]:
        """Runs of rows that lie side by side in one file."""
        file, place = self.file[chosen], self.place[chosen]
        apart = (file[1:] != file[:-1]) | (place[1:] != place[:-1] + 8 * self.words[chosen[:-1]])
        cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(chosen)]
        return itertools.pairwise(cuts) if len(chosen) else iter(())


def decide(
    rows: Rows, bands: int, threshold: float, budget: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], int]:
    """For every row the row it is dropped for (-1: it is kept), the similarity, and how many pairs were compared."""
    state = np.zeros(len(rows.ids), np.uint8)
    kept_by, similarity = np.full(len(state), -1, np.int64), np.zeros(len(state), np.float32)
    pending = np.lexsort((rows.ids, rows.rank))
    compared = 0
    while len(pending):
        index = _index(rows, pending, bands, budget)
        for block in _blocks(pending, rows.words, budget):
            starts, words = rows.load(block)
            payloads = (block, starts, rows.words[block], words)
            outcome = (state, kept_by, similarity)
            compared += visit(*payloads, bands, threshold, *index, *outcome)  # type: ignore[call-arg]
        pending = pending[state[pending] == OPEN]
    return kept_by, similarity, compared


def _blocks(pending: npt.NDArray[np.intp], words: I64, budget: int) -> list[npt.NDArray[np.intp]]:
    """The rows in order, cut where their payloads fill the budget."""
    total = np.cumsum(words[pending]) * 8
    return [b for b in np.split(pending, np.flatnonzero(np.diff(total // budget)) + 1) if len(b)]


def _index(rows: Rows, pending: npt.NDArray[np.intp], bands: int, budget: int) -> tuple[Any, ...]:
    """An empty index for as many kept documents as the budget holds, at least one of any size."""
    need = int(rows.words[pending].sum())
    pool = np.empty(min(need, max(budget // 8, int(rows.words[pending].max()))), np.uint64)
    capacity = max(1, min(len(pending), budget // (32 * bands)))
    slots = 1 << int(2 * capacity * bands - 1).bit_length()
    return (
        np.empty(slots, np.uint64),  # keys
        np.full(slots, -1, np.int32),  # the last entry of each key
        np.empty(capacity * bands, np.int32),  # the entry before each entry; entry = kept * bands + band
        np.zeros(capacity + 1, np.int64),  # where each kept document's contents start in the pool
        np.empty(capacity, np.int64),  # the row of each kept document
        pool,
        np.zeros(2, np.int64),  # how many are kept; whether the index is full
    )


@kernel
def visit(
    block: I64,
    starts: I64,
    sizes: I64,
    words: U64,
    bands: int,
    threshold: float,
    slot_key: U64,
    slot_last: I64,
    before: I64,
    ends: I64,
    kept_row: I64,
    pool: U64,
    fill: I64,
    state: U8,
    kept_by: I64,
    similarity: Any,
) -> int:
    """Decide the documents of a block in order; returns how many pairs were compared."""
    compared = 0
    mask = np.uint64(len(slot_key) - 1)
    stamp = np.zeros(len(kept_row), np.int64)
    found = np.empty(len(kept_row), np.int64)
    table, marked = np.empty(64, np.uint64), np.zeros(64, np.int64)
    for i in range(len(block)):
        row = block[i]
        keys = words[starts[i] : starts[i] + bands]
        own = words[starts[i] + bands : starts[i] + sizes[i]]
        n_found = 0
        for key in keys:
            slot = key & mask
            while slot_last[slot] >= 0 and slot_key[slot] != key:
                slot = (slot + np.uint64(1)) & mask
            entry = np.int64(slot_last[slot])
            while entry >= 0:
                other = entry // bands
                if stamp[other] != i + 1:
                    stamp[other] = i + 1
                    if needed(threshold, len(own), ends[other + 1] - ends[other]) >= 0:
                        found[n_found] = other
                        n_found += 1
                entry = np.int64(before[entry])
        if n_found:
            if threshold <= 1.0:
                if len(table) < 4 * len(own):  # `mark` takes a power of two below that
                    table = np.empty(4 * len(own), np.uint64)
                    marked = np.zeros(4 * len(own), np.int64)
                table_mask = mark(own, table, marked, i + 1)
            best = np.int64(len(kept_row))
            for other in found[:n_found]:  # the first in keep order that reaches the threshold; sorting costs more
                if other > best:
                    continue
                compared += 1
                theirs = pool[ends[other] : ends[other + 1]]
                if threshold > 1.0:
                    value: Any = np.float64(1.0) if equal(own, theirs) else np.float64(-1.0)
                else:
                    least = needed(threshold, len(own), len(theirs))
                    value = jaccard(theirs, len(own), least, table, marked, table_mask, i + 1)
                if value >= 0:
                    state[row], kept_by[row], similarity[row] = DROPPED, kept_row[other], value
                    best = other
            if state[row] == DROPPED:
                continue
        n_kept = fill[0]
        if fill[1] or n_kept == len(kept_row) or ends[n_kept] + len(own) > len(pool):
            fill[1] = 1  # from here on, survivors are left to the next index
            continue
        for j in range(len(own)):  # not a slice assignment: Numba takes seconds to compile one
            pool[ends[n_kept] + j] = own[j]
        ends[n_kept + 1] = ends[n_kept] + len(own)
        kept_row[n_kept] = row
        for band in range(bands):
            slot = keys[band] & mask
            while slot_last[slot] >= 0 and slot_key[slot] != keys[band]:
                slot = (slot + np.uint64(1)) & mask
            slot_key[slot] = keys[band]
            before[n_kept * bands + band] = slot_last[slot]
            slot_last[slot] = n_kept * bands + band
        fill[0] = n_kept + 1
        state[row] = KEPT
    return compared


@kernel
def needed(threshold: float, m: Int, n: Int) -> Int:
    """The smallest intersection of sets of m and n at which Jaccard reaches the threshold; -1: it cannot."""
    if threshold > 1.0:
        return m if m == n else -1
    least = np.int64(np.ceil(threshold * (m + n) / (1.0 + threshold)))
    while least > 0 and (least - 1) / (m + n - least + 1) >= threshold:  # rounding, either way
        least -= 1
    while least <= min(m, n) and least / (m + n - least) < threshold:
        least += 1
    return least if least <= min(m, n) else -1


@kernel
def mark(own: U64, table: U64, marked: I64, stamp: Int) -> Int:
    """Enter a set into a stamped hash table, using as many slots as it needs; returns the mask."""
    mask: Int = np.uint64(3)
    while np.int64(mask) + 1 < 2 * len(own):
        mask = mask * np.uint64(2) + np.uint64(1)
    for h in own:
        slot = h & mask
        while marked[slot] == stamp:
            slot = (slot + np.uint64(1)) & mask
        table[slot], marked[slot] = h, stamp
    return mask


@kernel
def jaccard(theirs: U64, n_own: Int, least: Int, table: U64, marked: I64, mask: Int, stamp: Int) -> Any:
    """The exact Jaccard similarity with the marked set, or -1 once `least` in common are out of reach."""
    common, misses, allowed = 0, 0, len(theirs) - least
    for h in theirs:
        slot = h & mask
        while marked[slot] == stamp and table[slot] != h:
            slot = (slot + np.uint64(1)) & mask
        if marked[slot] == stamp:
            common += 1
        else:
            misses += 1
            if misses > allowed:
                return -1.0
    return common / (n_own + len(theirs) - common)


@kernel
def equal(own: U64, theirs: U64) -> bool:
    """Whether two contents are the same, word by word."""
    same = True
    for j in range(len(own)):
        same &= own[j] == theirs[j]
    return same
