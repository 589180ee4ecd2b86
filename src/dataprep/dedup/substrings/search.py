"""Compare, and the search by windows from start to end: one barrier a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core import batch as B
from dataprep.core.part import Part
from dataprep.core.runner import Runner
from dataprep.store import files, receipts
from dataprep.store.key import key as key_of
from dataprep.store.spill import Spill, SpillWriter, spill_to
from dataprep.unicode.text import I64, U8, U64

from .compare import FULL, Block, Table, by_groups, by_table, clear, scratch_for, table_for
from .cut import by_group, group_firsts
from .minimizers import MAX_WINDOWS, records, rule_of
from .passes import HEADER, Count, Gather, Plan, Sign, bucket_ranges, shared_bytes
from .records import BUCKETS, by_bucket, pack, repeated, word_sizes
from .repeats import CHAR, COLUMNS, sorted_by, spans_of

TABLE_WINDOWS = 1 << 20  # distinct windows of one hash at once
POOL_BYTES = 32 << 20  # and their bytes


@dataclass(frozen=True)
class Compare:
    """Find the repeats among the records of a partition, and spill their marks by group."""

    out: str
    key: str
    width: int
    words: bool
    n_parts: int
    n_shared: int  # partitions of many hashes; those behind have one each
    firsts: tuple[int, ...]

    def __call__(self, partition: int) -> dict[str, Any]:
        """The receipt: how many marks."""
        url = files.join(self.out, "compare", f"partition-{partition:05d}")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, partition))

    def _write(self, url: str, partition: int) -> dict[str, Any]:
        with spill_to(url, len(self.firsts) + 1) as spill:
            find = self._together if partition < self.n_shared else self._streamed
            return {"files": [url], "marks": find(partition, spill)}

    def _together(self, partition: int, spill: SpillWriter) -> int:
        """All records in memory."""
        pieces = list(self._segments(partition))
        headers = np.concatenate([np.zeros(0, HEADER), *(h for h, _ in pieces)])
        stop = np.concatenate([np.zeros(0, np.int64), *(_stops(h) for h, _ in pieces)])
        data, at, row = np.empty(sum(len(d) for _, d in pieces), np.uint8), 0, 0
        while pieces:
            own, piece = pieces.pop(0)
            data[at : at + len(piece)] = piece
            stop[row : row + len(own)] += at
            at, row = at + len(piece), row + len(own)
        data.flags.writeable = False
        rule, order = (
            rule_of(self.width, words=self.words),
            sorted_by(np.ascontiguousarray(headers["hash"]), np.arange(len(headers))),
        )
        hashes = headers["hash"][order]
        bounds = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1], [True]])) if len(hashes) else order
        marks = by_groups(
            _block(headers[order], stop[order], data),
            rule,
            np.arange(len(order)),
            bounds,
            _table([headers]),
            scratch_for(rule),
            _room(),
        )
        self._spill(spill, marks)
        return len(marks)

    def _streamed(self, partition: int, spill: SpillWriter) -> int:
        """The records of one hash, segment by segment, as often as the table fills."""
        rule, halves, n_marks = rule_of(self.width, words=self.words), [(0, 1)], 0
        scratch, table = scratch_for(rule), _table(headers for headers, _ in self._segments(partition))
        while halves:
            half, begun, n_before = halves.pop(), spill.segments, n_marks
            clear(table)
            for headers, data in self._segments(partition):
                block, rows = _block(headers, _stops(headers), data), np.arange(len(headers))
                marks, n = by_table(block, rule, rows, table, half, scratch, _room(), 0)
                if table.fill[FULL]:
                    halves += [(half[0] + half[1], 2 * half[1]), (half[0], 2 * half[1])]
                    _forget(spill, begun)
                    n_marks = n_before
                    break
                self._spill(spill, marks[:n].copy())
                n_marks += n
        return n_marks

    def _segments(self, partition: int) -> Iterator[tuple[npt.NDArray[Any], U8]]:
        """Headers and bytes of a partition's records, in order of position."""
        for number in range(self.n_parts):
            with Spill(files.join(self.out, "gather", f"part-{number:05d}")) as spill:
                for segment in range(spill.segments):
                    headers = spill.read(segment, 2 * partition, dtype=HEADER)
                    if len(headers):
                        yield headers, spill.read(segment, 2 * partition + 1)

    def _spill(self, spill: SpillWriter, marks: U64) -> None:
        spill.write([*by_group(marks, self.firsts), marks[:0]])


def _forget(spill: SpillWriter, begun: int) -> None:
    """Give what was written since segment `begun` to the last section, which nobody reads."""
    for segment in range(begun, spill.segments):
        low = segment * spill.n_sections
        spill.offsets[low + 1 : low + spill.n_sections] = [spill.offsets[low]] * (spill.n_sections - 1)


def _table(pieces: Iterable[npt.NDArray[Any]]) -> Table:
    """A table for the windows of one hash; its memory is taken as it fills."""
    windows, size, largest = 0, 0, 0
    for headers in pieces:
        windows += int((headers["info"] & MAX_WINDOWS).sum())
        size += int(headers["size"].sum(dtype=np.int64))
        largest = max(largest, int(headers["size"].max(initial=0)))
    return table_for(min(TABLE_WINDOWS, windows), min(max(POOL_BYTES, largest), size))


def _stops(headers: npt.NDArray[Any]) -> I64:
    """Where the bytes of each piece of a segment end."""
    return np.cumsum(headers["size"] - shared_bytes(headers))


def _block(headers: npt.NDArray[Any], stop: I64, data: U8) -> Block:
    id_, offset = (np.ascontiguousarray(headers[name]) for name in ("id", "offset"))
    return Block(data, stop - headers["size"], stop, id_, offset, headers["info"].astype(np.uint64))


def _room() -> U64:
    return np.empty((1 << 12, COLUMNS), np.uint64)


def find(
    items: Sequence[Part], run: Runner, out: str, *, width: int, words: bool, name: str, key: str
) -> tuple[list[str], tuple[int, ...], dict[str, int]]:
    """Find all repeated windows: the files of marks, the first ids of their groups, and what was counted."""
    items = [replace(item, key=key_of((key, item.key))) for item in items]
    signed = list(run.map(Sign(out, width, words), items, f"{name}: sign"))
    counted = {kind: sum(receipt[kind] for receipt in signed) for kind in ("bytes", "docs", "windows", "records")}
    firsts = group_firsts([first for receipt in signed for first in receipt["firsts"]])
    ranges = tuple(bucket_ranges(counted["records"]))
    left = list(run.map(Count(out, key, width, words, len(items)), ranges, f"{name}: count"))
    plan = Plan.read(out, len(items), ranges)
    gathered = list(run.map(Gather(out, key, width, words, plan, ranges), items, f"{name}: gather"))
    task = Compare(out, key, width, words, len(items), len(plan.bins), firsts)
    compared = list(run.map(task, range(plan.partitions), f"{name}: compare"))
    sources = [files.join(out, "compare", f"partition-{number:05d}") for number in range(plan.partitions)]
    counted["records_met"] = sum(receipt["records"] for receipt in left)
    counted["candidate_bytes"] = sum(receipt["bytes"] for receipt in gathered)
    counted["marks"] = sum(receipt["marks"] for receipt in compared)
    return sources, firsts, counted


def warm(width: int, *, words: bool) -> None:
    """Compile the kernels, on two short texts."""
    rule = rule_of(width, words=words)
    offsets, data = B.buffers(B.make([0, 1], ["a warm text", "and another"], "warm"))
    rows, _ = by_bucket(*records(offsets, data, 0, rule))
    repeated(rows, np.array([0, len(rows)]), 0, BUCKETS, 1, 1, 1)
    at, size = offsets[:-1].copy(), np.diff(offsets)
    word_sizes(data, at, offsets[1:].copy(), size, rule.table)
    order = sorted_by(rows[:, 0].copy(), np.arange(len(rows)))
    pack(data, at, size, np.zeros_like(at), at[:0])
    block = _block(np.zeros(0, HEADER), np.zeros(0, np.int64), data)
    marks = by_groups(block, rule, order[:0], np.zeros(1, np.int64), _table([]), scratch_for(rule), _room())
    spans_of(marks, marks[:, 0].copy(), offsets.copy(), data, rule.table, CHAR)
