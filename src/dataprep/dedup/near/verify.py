"""Verify: in keep order, every candidate is compared with the *kept* documents that share a key with it.

It is dropped for the first of them, in keep order, whose similarity reaches the threshold; else it is kept, and
entered into the index. Nothing is squared (copies never enter the index) and nothing chains (who was dropped drops
nobody). A partition that is too big for memory is streamed through an index of as many kept documents as fit; who
survives that goes through the next index, which gives the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.store import files, receipts
from dataprep.store.spill import spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

from .bitmap import draw, lack, n_words
from .gather import PARTITION_BYTES
from .rows import Rows

I32: TypeAlias = npt.NDArray[np.int32]
F32: TypeAlias = npt.NDArray[np.float32]
VERDICT = np.dtype([("id", "<u8"), ("kept", "<u8"), ("similarity", "<f4"), ("origin", "<u2")])
BUDGET = 2 * PARTITION_BYTES  # of payloads in memory at once, and again of what is kept
OPEN, KEPT, DROPPED = 0, 1, 2


class Rule(NamedTuple):
    """When a document is dropped: at this similarity; above 1, only if the contents are equal.

    `contained`: the similarity is the share of the document's shingles that the kept one has, instead of Jaccard's.
    """

    threshold: float
    contained: bool


@dataclass(frozen=True)
class Verify:
    """Decide one partition, and spill its verdicts by group of parts."""

    out: str
    key: str
    index: str  # the folder where the candidates were gathered
    bands: int
    rule: Rule
    origins: tuple[int, ...]  # of every part, the number of its Dataset; the last is the one that is deduplicated
    n_groups: int
    budget: int = BUDGET

    def __call__(self, partition: int) -> dict[str, Any]:
        """The receipt: how many were dropped, and how many pairs compared."""
        url = files.join(self.out, "verify", f"partition-{partition:05d}")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, partition))

    def _write(self, url: str, partition: int) -> dict[str, Any]:
        rows = Rows.read(self.index, len(self.origins), partition)
        origin = np.array(self.origins, np.uint16)[rows.file]
        outcome, compared = decide(rows, origin, self.bands, self.rule, self.budget, max(self.origins, default=0))
        dropped = np.flatnonzero(outcome.state == DROPPED)
        verdicts = np.empty(len(dropped), VERDICT)
        verdicts["id"], verdicts["kept"] = rows.ids[dropped], rows.ids[outcome.kept_by[dropped]]
        verdicts["similarity"] = outcome.similarity[dropped]
        verdicts["origin"] = origin[outcome.kept_by[dropped]]
        group = rows.file[dropped].astype(np.int64) * self.n_groups // max(1, len(self.origins))
        with spill_to(url, self.n_groups) as spill:  # rows are in order of their files
            spill.write(np.split(verdicts, np.searchsorted(group, np.arange(1, self.n_groups))))
        return {"files": [url], "dropped": len(dropped), "compared": compared}


class Block(NamedTuple):
    """Documents to decide, in keep order: their rows, and their payloads (keys, then contents)."""

    rows: I64
    starts: I64
    sizes: I64
    words: U64
    old: U8  # 1: of an older Dataset, where it stays whatever we find


class Outcome(NamedTuple):
    """What was decided of every row; `kept_by` is the row it is dropped for, -1 if none."""

    state: U8
    kept_by: I64
    similarity: F32


class Index(NamedTuple):
    """The kept documents, found by key: a hash table of keys, each with a list of its entries, the last first.

    Entry `kept * bands + band` is kept document number `kept`.
    """

    key: U64  # of every slot
    last: I32  # entry of every slot; -1: the slot is free
    before: I32  # the entry before every entry
    ends: I64  # where the contents of each kept document start in the pool
    row: I64  # of each kept document
    pool: U64
    drawn: I64  # where the bitmap of each kept document starts
    bits: U64
    fill: I64  # how many are kept; whether the index is full


class Marks(NamedTuple):
    """The set of the document that is looked at, as a hash table; a slot counts if its mark is the document's."""

    values: U64
    marks: I32
    bits: U64  # its bitmap


def decide(
    rows: Rows, origin: npt.NDArray[np.uint16], bands: int, rule: Rule, budget: int, new: int
) -> tuple[Outcome, int]:
    """What becomes of every row, and how many pairs were compared; rows of another origin than `new` stay."""
    n = len(rows.ids)
    outcome = Outcome(np.zeros(n, np.uint8), np.full(n, -1, np.int64), np.zeros(n, np.float32))
    old = (origin != new).astype(np.uint8)
    pending = np.lexsort((rows.ids, rows.rank, origin))
    compared = 0
    while len(pending):
        index = _index(rows, pending, bands, budget)
        for chosen in _cuts(pending, rows.words, budget):
            starts, words = rows.load(chosen)
            block = Block(chosen, starts, rows.words[chosen], words, old[chosen])
            compared += visit(block, bands, rule, index, outcome)
        pending = pending[outcome.state[pending] == OPEN]
    return outcome, compared


def _cuts(pending: npt.NDArray[np.intp], words: I64, budget: int) -> list[npt.NDArray[np.intp]]:
    """The rows in order, cut where their payloads fill the budget."""
    total = np.cumsum(words[pending]) * 8
    return [b for b in np.split(pending, np.flatnonzero(np.diff(total // budget)) + 1) if len(b)]


def _index(rows: Rows, pending: npt.NDArray[np.intp], bands: int, budget: int) -> Index:
    """An empty index for as many kept documents as the budget holds, at least one of any size."""
    need, largest = int(rows.words[pending].sum()), int(rows.words[pending].max())
    capacity = max(1, min(len(pending), budget // (32 * bands)))
    slots = 1 << int(2 * capacity * bands - 1).bit_length()
    members = min(need, max(budget // 8, largest))
    return Index(
        key=np.empty(slots, np.uint64),
        last=np.full(slots, -1, np.int32),
        before=np.empty(capacity * bands, np.int32),
        ends=np.zeros(capacity + 1, np.int64),
        row=np.empty(capacity, np.int64),
        pool=np.empty(members, np.uint64),
        drawn=np.zeros(capacity + 1, np.int64),
        bits=np.empty(members // 4 + capacity, np.uint64),  # a power of two of 8 bits a member, less than twice that
        fill=np.zeros(2, np.int64),
    )


@kernel
def visit(block: Block, bands: int, rule: Rule, index: Index, outcome: Outcome) -> int:
    """Decide the documents of a block in order; returns how many pairs were compared."""
    compared = 0
    stamps = np.zeros(len(index.row), np.int64)
    found = np.empty(len(index.row), np.int64)
    table = Marks(np.empty(64, np.uint64), np.zeros(64, np.int32), np.empty(16, np.uint64))
    for i in range(len(block.rows)):
        row, stamp = block.rows[i], i + 1
        keys = block.words[block.starts[i] : block.starts[i] + bands]
        own = block.words[block.starts[i] + bands : block.starts[i] + block.sizes[i]]
        sets = rule.threshold <= 1.0
        if sets and len(table.values) < 4 * len(own):  # `mark` takes a power of two below that
            n = 4 * len(own)
            table = Marks(np.empty(n, np.uint64), np.zeros(n, np.int32), np.empty(n // 8, np.uint64))
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
def slot_of(index: Index, key: Int) -> Int:
    """The slot of a key: its own, or the free one where it would be entered."""
    mask = np.uint64(len(index.key) - 1)
    slot = key & mask
    while index.last[slot] >= 0 and index.key[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def candidates(index: Index, keys: U64, size: Int, rule: Rule, stamps: I64, stamp: Int, found: I64) -> int:
    """Put the kept documents that share a key and are of a fitting size into `found`, each once; how many."""
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
def first_match(index: Index, found: I64, own: U64, bits: U64, rule: Rule, table: Marks, stamp: Int) -> tuple[Int, Any]:
    """The first of the kept documents, in keep order, that reaches the threshold (-1: none), and how similar it is.

    The documents found are in no order; sorting them would cost more than passing over those behind the best.
    """
    best, similarity, marked = np.int64(-1), -1.0, False
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
            if not marked:
                mark(own, table, stamp)
                marked = True
            common = shared(theirs, len(own), least, table, stamp)
            value = common / (len(own) if rule.contained else len(own) + len(theirs) - common)
        if value >= 0:
            best, similarity = other, value
    return best, similarity


@kernel
def enter(index: Index, keys: U64, own: U64, bits: U64, row: Int) -> bool:
    """Keep a document. False if the index is full: from then on, survivors are left to the next index."""
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
def needed(rule: Rule, m: Int, n: Int) -> Int:
    """The smallest intersection of a document's set of m with a kept one's of n that drops it; -1: none can."""
    if rule.threshold > 1.0:
        return m if m == n else -1
    once: Int = 0 if rule.contained else 1  # what is shared counts once in the union, and twice in both sizes
    sizes = m + n * once
    least = np.int64(np.ceil(rule.threshold * sizes / (1.0 + rule.threshold * once)))
    while least > 0 and (least - 1) / (sizes - (least - 1) * once) >= rule.threshold:  # rounding, either way
        least -= 1
    while least <= min(m, n) and least / (sizes - least * once) < rule.threshold:
        least += 1
    return least if least <= min(m, n) else -1


@kernel
def mark(own: U64, table: Marks, stamp: Int) -> None:
    """Enter a set into the table, using as many slots as it needs, so that small sets stay in the cache."""
    mask = table_mask(len(own))
    for h in own:
        slot = h & mask
        while table.marks[slot] == stamp:
            slot = (slot + np.uint64(1)) & mask
        table.values[slot], table.marks[slot] = h, stamp


@kernel
def table_mask(n: Int) -> Int:
    """One less than the power of two from 2 n on, at least 3."""
    mask: Int = np.uint64(3)
    while np.int64(mask) + 1 < 2 * n:
        mask = mask * np.uint64(2) + np.uint64(1)
    return mask


@kernel
def shared(theirs: U64, n_own: Int, least: Int, table: Marks, stamp: Int) -> Int:
    """How many are in the marked set, or -1 once `least` are out of reach."""
    mask = table_mask(n_own)
    common, misses, allowed = 0, 0, len(theirs) - least
    for h in theirs:
        slot = h & mask
        while table.marks[slot] == stamp and table.values[slot] != h:
            slot = (slot + np.uint64(1)) & mask
        if table.marks[slot] == stamp:
            common += 1
        else:
            misses += 1
            if misses > allowed:
                return -1
    return common


@kernel
def equal(own: U64, theirs: U64) -> Any:
    """1 if two contents of one size are the same word by word, else -1."""
    for j in range(len(own)):
        if own[j] != theirs[j]:
            return -1.0
    return 1.0
