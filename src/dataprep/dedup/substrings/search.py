"""Find repeated windows (runs of words or bytes) in bounded memory: hash, count, gather, compare.

This module runs the four passes, and contains the last one, CompareRecords.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.run.passes import Pass
from dataprep.core.run.runner import Runner
from dataprep.dedup.older import Joined
from dataprep.store.spill import Spill, SpillWriter, spill_to
from dataprep.unicode.text import I64, U8, U64

from .block import RecordBlock, scratch_for
from .compare import by_groups
from .cut import by_group, group_firsts
from .minimizers import MAX_WINDOWS, rule_of
from .passes import HEADER, CountHashes, GatherRecords, HashWindows, Partitions, bucket_ranges, shared_bytes
from .repeats import COLUMNS, sorted_by
from .window_table import FULL, WindowTable, by_table, clear, table_for

TABLE_WINDOWS = 1 << 20  # distinct windows of one hash at once
POOL_BYTES = 32 << 20  # and their bytes


@dataclass(frozen=True)
class CompareRecords(Pass[int]):
    """Find the repeated windows among the records of one partition; write them to a temporary file.

    A record is a run of neighbouring windows with the same smallest hash; a partition is a group of hashes. The file
    has one section per group of documents.

    Attributes:
        width: the length of a window, in bytes if `word_split` is "", else in words.
        n_parts: the number of input parts.
        n_shared: the number of partitions that contain many hashes and come first; each later partition contains one
            hash.
        firsts: the first document id of each group. The receipt (the task's record) states the number of repeats
            ("marks").
    """

    folder = "compare"
    noun = "partition"

    width: int
    word_split: str
    n_parts: int
    n_shared: int  # partitions with many hashes; each later one has one hash
    firsts: tuple[int, ...]

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write the repeats of partition number `item` to the file `url`; return {"marks": their number}.

        The file has one section per group of documents, and a last section that is not read again.
        """
        with spill_to(url, len(self.firsts) + 1) as spill:
            find = self._together if item < self.n_shared else self._streamed
            return {"marks": find(item, spill)}

    def _together(self, partition: int, spill: SpillWriter) -> int:
        """Compare all records in memory; return how many repeats were written."""
        segments = list(self._segments(partition))
        headers = np.concatenate([np.zeros(0, HEADER), *(h for h, _ in segments)])
        stop = np.concatenate([np.zeros(0, np.int64), *(_stops(h) for h, _ in segments)])
        data, at, row = np.empty(sum(len(d) for _, d in segments), np.uint8), 0, 0
        while segments:
            own, read = segments.pop(0)
            data[at : at + len(read)] = read
            stop[row : row + len(own)] += at
            at, row = at + len(read), row + len(own)
        data.flags.writeable = False
        rule = rule_of(self.width, word_split=self.word_split)
        order = sorted_by(np.ascontiguousarray(headers["hash"]), np.arange(len(headers)))
        hashes = headers["hash"][order]
        bounds = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1], [True]])) if len(hashes) else order
        block, table = _block(headers, stop[order], data, order), _table([headers])
        repeats = by_groups(block, rule, np.arange(len(order)), bounds, table, scratch_for(rule), _buffer())
        self._spill(spill, repeats)
        return len(repeats)

    def _streamed(self, partition: int, spill: SpillWriter) -> int:
        """Compare the records of one hash by segment; if they do not fit, once for each half of the windows."""
        rule, halves, n_repeats = rule_of(self.width, word_split=self.word_split), [(0, 1)], 0
        scratch, table = scratch_for(rule), _table(headers for headers, _ in self._segments(partition))
        while halves:
            half, begun, n_before = halves.pop(), spill.segments, n_repeats
            clear(table)
            for headers, data in self._segments(partition):
                block, rows = _block(headers, _stops(headers), data), np.arange(len(headers))
                repeats, n = by_table(block, rule, rows, table, half, scratch, _buffer(), 0)
                if table.fill[FULL]:
                    halves += [(half[0] + half[1], 2 * half[1]), (half[0], 2 * half[1])]
                    _discard(spill, begun)
                    n_repeats = n_before
                    break
                self._spill(spill, repeats[:n].copy())
                n_repeats += n
        return n_repeats

    def _segments(self, partition: int) -> Iterator[tuple[npt.NDArray[Any], U8]]:
        """Yield headers and bytes of a partition's records, in order of position."""
        for number in range(self.n_parts):
            with Spill(GatherRecords.url(self.out, number)) as spill:
                for segment in range(spill.segments):
                    headers = spill.read(segment, 2 * partition, dtype=HEADER)
                    if len(headers):
                        yield headers, spill.read(segment, 2 * partition + 1)

    def _spill(self, spill: SpillWriter, repeats: U64) -> None:
        spill.write([*by_group(repeats, self.firsts), repeats[:0]])


def _discard(spill: SpillWriter, begun: int) -> None:
    """Move the content of all segments from `begun` on to the last section, which is never read."""
    for segment in range(begun, spill.segments):
        low = segment * spill.n_sections
        spill.offsets[low + 1 : low + spill.n_sections] = [spill.offsets[low]] * (spill.n_sections - 1)


def _table(segments: Iterable[npt.NDArray[Any]]) -> WindowTable:
    """Return a table for the windows of one hash; its memory is allocated as it fills."""
    windows, size, largest = 0, 0, 0
    for headers in segments:
        windows += int((headers["info"] & MAX_WINDOWS).sum())
        size += int(headers["size"].sum(dtype=np.int64))
        largest = max(largest, int(headers["size"].max(initial=0)))
    return table_for(min(TABLE_WINDOWS, windows), min(max(POOL_BYTES, largest), size))


def _stops(headers: npt.NDArray[Any]) -> I64:
    """Return the end of the bytes of each record of a segment, int64[n]."""
    return np.cumsum(headers["size"] - shared_bytes(headers))


def _block(headers: npt.NDArray[Any], stop: I64, data: U8, order: I64 | slice = slice(None)) -> RecordBlock:
    """Return the records with these headers in an order.

    - stop: the end of the bytes of each record, in this order.
    """
    id_, offset, size, info = (np.ascontiguousarray(headers[n][order]) for n in ("id", "offset", "size", "info"))
    return RecordBlock(data, stop - size, stop, id_, offset, info.astype(np.uint64))


def _buffer() -> U64:
    return np.empty((1 << 12, COLUMNS), np.uint64)


def find(
    joined: Joined, runner: Runner, out: str, *, width: int, word_split: str, name: str, key: str
) -> tuple[list[str], tuple[int, ...], dict[str, int]]:
    """Find all windows that occurred earlier; return (URLs of files of repeats, first ids of document groups, counts).

    - joined: the documents, after older documents, in which no repeats are searched for.
    - out: the folder of temporary files.
    - width: the length of a window, in bytes if `word_split` is "", else in words.
    - word_split: the rule for splitting words.
    - name: the stage's name, for progress bars.
    - key: the hash of the settings and input. A file has one section of repeats per group of documents. The counts are
      a dict for the stage's statistics.
    """
    items = joined.docs.tasks
    hashed = list(runner.map(HashWindows(out, key, width, word_split), items, f"{name}: hash"))
    counted = {kind: sum(receipt[kind] for receipt in hashed) for kind in ("bytes", "docs", "windows", "records")}
    firsts = group_firsts([first for receipt in hashed for first in receipt["firsts"]])
    ranges = tuple(bucket_ranges(counted["records"]))
    left = list(
        runner.map(CountHashes(out, key, width, word_split, len(items), joined.n_old), ranges, f"{name}: count")
    )
    partitions = Partitions.read(out, len(items), ranges)
    gather = GatherRecords(out, key, width, word_split, partitions, ranges)
    gathered = list(runner.map(gather, items, f"{name}: gather"))
    task = CompareRecords(out, key, width, word_split, len(items), len(partitions.bins), firsts)
    compared = list(runner.map(task, range(partitions.count), f"{name}: compare"))
    sources = [CompareRecords.url(out, number) for number in range(partitions.count)]
    counted["records_met"] = sum(receipt["records"] for receipt in left)
    counted["candidate_bytes"] = sum(receipt["bytes"] for receipt in gathered)
    counted["marks"] = sum(receipt["marks"] for receipt in compared)
    return sources, firsts, counted
