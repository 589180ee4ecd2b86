"""Find repeated windows (runs of words or bytes) in bounded memory: hash, count, gather, compare.

This module runs the four passes, and contains the last one, CompareRecords.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.run import merge
from dataprep.core.run.merge import MergeSections, SplitSections, merged, split
from dataprep.core.run.passes import Pass
from dataprep.core.run.runner import Runner
from dataprep.dedup.older import Joined
from dataprep.dedup.spans.passes import PartToCut
from dataprep.store import files
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import Spill, SpillWriter, spill_to, write_spill
from dataprep.unicode.text import I64, U8, U64

from .block import RecordBlock, scratch_for
from .compare import by_groups
from .cut import by_group, groups_of
from .minimizers import MAX_WINDOWS, rule_of
from .passes import (
    HEADER,
    CountHashes,
    GatherRecords,
    HashWindows,
    MergeCounted,
    MergeHashes,
    MergeTexts,
    Partitions,
    buckets_per_task,
    shared_bytes,
)
from .records import BUCKETS
from .repeats import COLUMNS, sorted_by
from .window_table import FULL, WindowTable, by_table, clear, table_for

TABLE_WINDOWS = 1 << 20  # distinct windows of one hash at once
POOL_BYTES = 32 << 20  # and their bytes
BLOCK_RECORDS = 1 << 18  # of one hash at once: 8 MB, and their bytes
BLOCK_BYTES = 16 << 20
REPEAT = np.dtype([("id", "<u8"), ("more", "<u8", COLUMNS - 1)])


@dataclass(frozen=True)
class CompareRecords(Pass[int]):
    """Find the repeated windows among the records of one partition; write them to a temporary file.

    A record is a run of neighbouring windows with the same smallest hash; a partition is a group of hashes. The file
    has one section per group of documents.

    Attributes:
        width: the length of a window, in bytes if `word_split` is "", else in words.
        gathered: the files of GatherRecords.
        n_shared: the number of partitions that contain many hashes and come first; each later partition contains one
            hash.
        n_bytes: the size of the text of the others.
        firsts: the first document id of each group, or of several adjacent ones. The receipt (the task's record) states
            the number of repeats ("marks").
    """

    folder = "compare"
    noun = "partition"
    thread_safe = True

    width: int
    word_split: str
    gathered: ShuffleFiles
    n_shared: int  # partitions with many hashes; each later one has one hash
    n_bytes: int
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
        blocks = list(self._blocks(partition))
        headers = np.concatenate([np.zeros(0, HEADER), *(h for h, _, _ in blocks)])
        stop = np.concatenate([np.zeros(0, np.int64), *(s for _, s, _ in blocks)])
        data, at, row = np.empty(sum(len(d) for _, _, d in blocks), np.uint8), 0, 0
        while blocks:
            own, _, read = blocks.pop(0)
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
        """Compare the records of one hash by block; if they do not fit, once for each half of the windows."""
        rule, halves, n_repeats = rule_of(self.width, word_split=self.word_split), [(0, 1)], 0
        scratch, table = scratch_for(rule), _table(headers for headers, _, _ in self._blocks(partition))
        while halves:
            half, begun, n_before = halves.pop(), spill.segments, n_repeats
            clear(table)
            for headers, stop, data in self._blocks(partition):
                block, rows = _block(headers, stop, data), np.arange(len(headers))
                repeats, n = by_table(block, rule, rows, table, half, scratch, _buffer(), 0)
                if table.fill[FULL]:
                    halves += [(half[0] + half[1], 2 * half[1]), (half[0], 2 * half[1])]
                    _discard(spill, begun)
                    n_repeats = n_before
                    break
                self._spill(spill, repeats[:n].copy())
                n_repeats += n
        return n_repeats

    def _blocks(self, partition: int) -> Iterator[tuple[npt.NDArray[Any], I64, U8]]:
        """Yield headers, the end of the bytes of each record, and these bytes, of some records, in order of position.

        The bytes that the first record of a block shares with the one before it are read twice.
        """
        urls, index = self.gathered.of(partition)
        for url in urls:
            with Spill(url) as spill:
                for segment in range(spill.segments):
                    first, end, _ = spill.offsets(segment, 2 * index, 2 * index + 2).tolist()
                    last, before = end, np.zeros(0, HEADER)
                    for low in range(first, last, BLOCK_RECORDS * HEADER.itemsize):
                        some = spill.bytes(low, min(low + BLOCK_RECORDS * HEADER.itemsize, last)).view(HEADER)
                        shared = shared_bytes(np.concatenate([before, some]))[len(before) :]
                        stop = end + np.cumsum(some["size"] - shared)
                        cuts = np.flatnonzero(np.diff((stop - end) // BLOCK_BYTES)) + 1
                        for headers, stops in zip(np.split(some, cuts), np.split(stop, cuts), strict=True):
                            start = int(stops[0] - headers["size"][0])
                            yield headers, stops - start, spill.bytes(start, int(stops[-1]))
                        end, before = int(stop[-1]), some[-1:]

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


def _block(headers: npt.NDArray[Any], stop: I64, data: U8, order: I64 | slice = slice(None)) -> RecordBlock:
    """Return the records with these headers in an order.

    - stop: the end of the bytes of each record, in this order.
    """
    id_, offset, size, info = (np.ascontiguousarray(headers[n][order]) for n in ("id", "offset", "size", "info"))
    return RecordBlock(data, stop - size, stop, id_, offset, info.astype(np.uint64))


def _buffer() -> U64:
    return np.empty((1 << 12, COLUMNS), np.uint64)


class MergeRepeats(MergeSections):
    """Merge the repeats of many partitions into a few files."""

    folder = "compare-merged"


@dataclass(frozen=True, kw_only=True)
class SplitRepeats(SplitSections):
    """Divide the sections of all repeats into groups of documents, if there are very many.

    Attributes:
        firsts: the URL of a shuffle file whose section is the first id of each group.
    """

    folder = MergeRepeats.folder

    firsts: str

    def sections_of(self, rows: npt.NDArray[Any], item: int) -> npt.NDArray[Any]:
        """Return the numbers of the groups of REPEATs, counted from the first one in section number `item`."""
        first, last = self.split.cuts(item)
        with Spill(self.firsts) as spill:
            firsts = spill.bytes(8 * first, 8 * last).view(np.uint64)
        return np.searchsorted(firsts, rows["id"], "right") - 1


def find(
    joined: Joined, runner: Runner, out: str, *, width: int, word_split: str, name: str, key: str
) -> tuple[ShuffleFiles, list[PartToCut], dict[str, int]]:
    """Find all windows that occurred earlier; return (files of repeats, the groups of each part, counts).

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
    records = ShuffleFiles(HashWindows.url(out)[:-5], len(items), BUCKETS)
    records = merged(runner, records, MergeHashes, out, key, f"{name}: merge hashes")
    step = buckets_per_task(counted["records"])
    count = CountHashes(out, key, width, word_split, len(items), joined.n_old, records, step)
    left = list(runner.map(count, range(-(-BUCKETS // step)), f"{name}: count"))
    found = ShuffleFiles(CountHashes.url(out)[:-5], len(left), len(items) + 2)
    found = merged(runner, found, MergeCounted, out, key, f"{name}: merge counts")
    partitions = Partitions.read(found)
    gather = GatherRecords(out, key, width, word_split, partitions, found)
    gathered = list(runner.map(gather, items, f"{name}: gather"))
    texts = ShuffleFiles(GatherRecords.url(out)[:-5], len(items), partitions.count, 2)
    label, slices = f"{name}: merge texts", -(-texts.n // merge.MAX_SECTIONS)
    texts = merged(runner, texts, MergeTexts, out, key, label, slices=slices)
    groups, of_parts = groups_of([(receipt["firsts"], receipt["bytes"]) for receipt in hashed])
    repeats = ShuffleFiles(CompareRecords.url(out)[:-5], partitions.count, min(len(groups), merge.MAX_SECTIONS))
    coarse = ShuffleFiles("", 1, len(groups), slices=repeats.n)
    firsts = tuple(int(groups[coarse.cuts(k)[0]]) for k in range(repeats.n))
    task = CompareRecords(out, key, width, word_split, texts, len(partitions.bins), partitions.n_bytes, firsts)
    compared = list(runner.map(task, range(partitions.count), f"{name}: compare"))
    repeats = merged(runner, repeats, MergeRepeats, out, key, f"{name}: merge repeats")
    every = files.join(out, CompareRecords.folder, "group-00000")
    write_spill(every, [groups])
    label = f"{name}: divide repeats"
    repeats = split(runner, repeats, len(groups), SplitRepeats, REPEAT, out, key, label, firsts=every)
    counted["records_met"] = sum(receipt["records"] for receipt in left)
    counted["candidate_bytes"] = sum(receipt["bytes"] for receipt in gathered)
    counted["marks"] = sum(receipt["marks"] for receipt in compared)
    return repeats, [PartToCut(item, *own) for item, own in zip(items, of_parts, strict=True)], counted
