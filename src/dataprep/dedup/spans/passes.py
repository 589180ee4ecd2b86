"""The passes that find repeated units (lines, paragraphs, spans), each complete before the next begins.

HashUnits writes a record (hash and location) of every unit to temporary files, sorted into ranges of hashes. MatchUnits
reads the records of a partition (a range of hashes) in order of documents: the first unit with a hash is kept, and
later units with this hash are repeats. CutRepeats collects the repeats of an input part, and reads the part's texts
once more to join neighbouring repeats and to cut the gaps between them. Memory holds some records and the distinct
units of a partition; if these are too many, the partition is processed in several rounds.

Slow reference for the tests: tests/twins/exact.py
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.part import Part
from dataprep.core.model.tables import SPANS, united
from dataprep.core.run.merge import MergeSections, SplitSections
from dataprep.core.run.passes import PartItem, Pass, WriteTable
from dataprep.dedup.older import Joined
from dataprep.errors import DataprepError, counted
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import Divided, Spill, all_sections, each_section, spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64, Int

from .gaps import REPEAT, close_up
from .units import UnitBlock, blocks

Records = npt.NDArray[Any]
RECORD = np.dtype(
    [("a", "<u8"), ("b", "<u8"), ("id", "<u8"), ("start", "<u4"), ("size", "<u4"), ("chars", "<u4")]
)  # the 128-bit hash, the document, the byte range in it, characters of the normal form
UNIT = np.dtype([("id", "<u8"), ("start", "<u4")])  # a unit's document, and its first byte there
MAX_DOC_BYTES = 2**32 - 1
SEGMENT_RECORDS = 1 << 19  # 19 MB
ROUND_RECORDS = 1 << 22  # units that are compared in one round: 170 MB if all are distinct
TOP = 20


@dataclass(frozen=True)
class HashUnits(Pass[Part]):
    """Hash the units (lines, paragraphs, spans) of an input part; write a record of each unit to a file.

    A record contains the hash and location of a unit. No record is written for a unit whose normal form is empty.

    Attributes:
        unit, normalize: as in Exact.
        partitions: the number of partitions; each is for some of the hashes.
        sections: the number of sections of the file; each has one partition, or several adjacent ones. The receipt (the
            task's record) states the number of documents and units, and the first unit of every segment of the file.
    """

    folder = "hash"
    thread_safe = True

    unit: str
    normalize: str | None
    partitions: int
    sections: int

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the RECORDs of the units of input part `item` to the file `url`, sorted into sections.

        A RECORD has hash, document id, byte range and number of characters. Returns {"docs": n, "units": n, "firsts":
        the document and the first byte of the first unit of every segment of the file}.
        """
        counts = {"docs": 0, "units": 0}
        firsts: list[tuple[int, int]] = []

        def sections(held: list[Records]) -> list[Divided]:
            firsts.append(held[0][["id", "start"]][0].tolist())
            counts = np.zeros(self.sections, np.int64)
            for records in held:
                count_by_section(records, self.partitions, counts)
            cuts = np.append(0, np.cumsum(counts))
            by_section, at = np.empty(cuts[-1], RECORD), cuts[:-1].copy()
            for records in held:
                place_by_section(records, self.partitions, at, by_section)
            return [Divided(by_section, cuts)]

        with spill_to(url, self.sections) as spill:
            spill.write_together(filter(len, self._records(item, counts)), len, SEGMENT_RECORDS, sections)
        return {"firsts": firsts, **counts}

    def _records(self, part: Part, counts: dict[str, int]) -> Iterator[Records]:
        """Yield the records of a part in order, and count documents and units in `counts`."""
        for batch in part.batches(["id", "text"]):
            offsets, data = _checked(batch)
            ids = B.ids(batch)
            counts["docs"] += batch.num_rows
            for block in blocks(offsets, data, self.unit, self.normalize):
                records = np.empty(len(block.text), RECORD)
                n = write_records(block, ids, offsets, records)
                counts["units"] += n
                yield records[:n]


@kernel
def write_records(block: UnitBlock, ids: U64, offsets: I64, out: Records) -> int:
    """Write a RECORD for each unit of a block whose normal form is not empty; return their number.

    - ids: the document of each text.
    - offsets: int64[texts + 1], where each text begins.
    """
    k: Int = 0
    for j in range(len(block.text)):
        if block.chars[j]:
            text = block.text[j]
            out[k]["a"], out[k]["b"], out[k]["id"] = block.hashes[j, 0], block.hashes[j, 1], ids[text]
            out[k]["start"], out[k]["size"] = block.start[j] - offsets[text], block.end[j] - block.start[j]
            out[k]["chars"] = min(block.chars[j], MAX_DOC_BYTES)
            k += 1
    return int(k)


@kernel(inline="always")
def _section(record: Any, partitions: Int, sections: Int) -> Int:
    """Return the section of a record. A section has one or several adjacent partitions (ranges of hashes)."""
    partition = (record["a"] >> np.uint64(32)) * np.uint64(partitions) >> np.uint64(32)
    return (np.int64(partition + np.uint64(1)) * sections - 1) // partitions


@kernel
def count_by_section(records: Records, partitions: int, counts: I64) -> None:
    """Add the number of records of each section to `counts`."""
    for j in range(len(records)):
        counts[_section(records[j], partitions, len(counts))] += 1


@kernel
def place_by_section(records: Records, partitions: int, at: I64, out: Records) -> None:
    """Copy each record to `out`, in order, to the row that `at` has for its section; advance that row."""
    for j in range(len(records)):
        section = _section(records[j], partitions, len(at))
        out[at[section]] = records[j]
        at[section] += 1


def partition_of(records: Records, n: int) -> I64:
    """Return which of the `n` partitions contains each RECORD, int64."""
    return np.asarray(((records["a"] >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)).astype(np.int64))


def _checked(batch: Batch) -> tuple[I64, Any]:
    """Return offsets and bytes of a batch's texts. Raises DataprepError if one has more than MAX_DOC_BYTES."""
    offsets, data = B.buffers(batch)
    sizes = np.diff(offsets)
    for row in np.flatnonzero(sizes > MAX_DOC_BYTES):
        found = f"document {B.show_id(int(B.ids(batch)[row]))} has {counted(sizes[row], 'byte')}"
        msg = f"{found}; it must have at most {MAX_DOC_BYTES:,}: split it, or read with a smaller max_doc_bytes"
        raise DataprepError(msg)
    return offsets, data


@dataclass(frozen=True)
class MatchUnits(Pass[int]):
    """Read one partition of the hashed units, in order of documents; write the units that repeat an earlier one.

    A partition is a range of hashes.

    Attributes:
        hashed: the files of HashUnits, with one section per partition.
        firsts: the URL of a shuffle file. Its first section has the first unit of every section of the files that are
            written, in order, as UNITs. Its second section has those of every segment of the files of HashUnits.

    The receipt states the number of distinct units, the number of duplicates, and the most frequent units as (count,
    id, start, size), with start and size in bytes.
    """

    folder = "match"
    noun = "partition"
    thread_safe = True

    hashed: ShuffleFiles
    firsts: str

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write the repeats in partition number `item` to the file `url`, as REPEATs.

        The file has one section per segment of the files of HashUnits, or per several adjacent ones. If the distinct
        units exceed memory, there are several rounds, and the file has one segment per round. Returns {"distinct":
        units, "duplicates": units, "top": the most frequent units as (count, id, start, size)}.
        """
        n_units = self.hashed.size(item) // RECORD.itemsize
        rounds = -(-n_units // ROUND_RECORDS)
        facts: dict[str, Any] = {"distinct": 0, "duplicates": 0, "top": []}
        firsts = all_sections([self.firsts], 0, UNIT)
        with spill_to(url, len(firsts)) as spill:
            for number in range(rounds):
                seen = _DistinctUnits.of(n_units if rounds == 1 else 3 * ROUND_RECORDS // 2 + 1000)
                spill.write(by_segment(self._round(item, number, rounds, seen, facts), firsts))
                facts["distinct"] += seen.n
                facts["top"] += seen.top()
        facts["top"] = sorted(facts["top"], key=lambda t: (-t[0], *t[1:]))[:TOP]
        return facts

    def _round(
        self, partition: int, number: int, rounds: int, seen: _DistinctUnits, facts: dict[str, Any]
    ) -> Iterator[Records]:
        """Yield the repeats of the units whose hash belongs to this round, in order of documents."""
        for records in self.hashed.blocks(partition, RECORD, SEGMENT_RECORDS):
            if rounds > 1:
                own = records[(records["b"] >> np.uint64(40)) % np.uint64(rounds) == number]
                own.flags.writeable = False  # otherwise the kernel would be compiled again
            repeats = seen.enter(records if rounds == 1 else own)
            facts["duplicates"] += len(repeats)
            yield repeats


def by_segment(repeats: Iterator[Records], firsts: Records) -> Iterator[Records]:
    """Yield the REPEATs of each segment in turn; segment k begins with the unit firsts[k].

    - repeats: all REPEATs, in order of (id, start).
    - firsts: UNITs, in this order.
    """
    held, at = list[Records](), 0
    for given in repeats:
        done = 0
        while len(given) and at + 1 < len(firsts):
            end = bisect_left(given, firsts[at + 1].item(), key=_place)
            if end == len(given):
                break
            yield _joined([*held, given[done:end]])
            held, done, at = [], end, at + 1
        held.append(given[done:])
    for _ in firsts[at:]:
        yield _joined(held)
        held = []


def _place(row: Any) -> tuple[int, int]:
    return int(row["id"]), int(row["start"])


def _joined(pieces: list[Records]) -> Records:
    """Return REPEATs as one array; a single one is not copied."""
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, REPEAT), *pieces])


class MergeHashed(MergeSections):
    """Merge the hashed units of many parts into a few files."""

    folder = "hash-merged"


class SplitHashed(SplitSections):
    """Divide the sections of all hashed units into partitions, if there are very many."""

    folder = MergeHashed.folder

    def sections_of(self, rows: Records, item: int) -> I64:
        """Return the numbers of the partitions of RECORDs, counted from the first one in section number `item`."""
        return partition_of(rows, self.split.n) - self.split.cuts(item)[0]


class MergeMatched(MergeSections):
    """Merge the repeats of many partitions into a few files."""

    folder = "match-merged"


@dataclass(frozen=True, kw_only=True)
class SplitMatched(SplitSections):
    """Divide the sections of all repeats into those of the segments of HashUnits, if there are very many.

    Attributes:
        firsts: as in MatchUnits.
    """

    folder = MergeMatched.folder

    firsts: str

    def sections_of(self, rows: Records, item: int) -> I64:
        """Return the numbers of the segments of REPEATs, counted from the first one in section number `item`."""
        first, last = self.split.cuts(item)
        with Spill(self.firsts) as spill:
            start, _ = spill.where(0, 1)
            firsts = spill.bytes(start + first * UNIT.itemsize, start + last * UNIT.itemsize).view(UNIT)
        ids, of = np.unique(firsts["id"], return_inverse=True)
        at = np.searchsorted(ids, rows["id"], "right") - 1
        start_there = np.where(ids[at] == rows["id"], rows["start"], 2**32 - 1)
        place, begun = (n.astype(np.uint64) << np.uint64(32) for n in (at, of))
        return np.searchsorted(begun | firsts["start"], place | start_there.astype(np.uint64), "right") - 1


@dataclass
class _DistinctUnits:
    """The distinct units so far, in a hash table with open addressing."""

    slots: npt.NDArray[np.int32]
    units: Records
    counts: npt.NDArray[np.int64]
    n: int = 0

    @classmethod
    def of(cls, capacity: int) -> _DistinctUnits:
        """Return an empty table with capacity for this number of distinct units."""
        slots = np.full(max(8, 1 << (2 * capacity).bit_length()), -1, np.int32)
        return cls(slots, np.empty(capacity, RECORD), np.empty(capacity, np.int64))

    def enter(self, records: Records) -> Records:
        """Enter units in order; return those that were entered before, as REPEATs."""
        out = np.empty(len(records), REPEAT)
        self.n, found = enter_units(records, self.slots, self.units, self.counts, self.n, out)
        return out[:found] if 2 * found > len(out) else out[:found].copy()

    def top(self) -> list[tuple[int, ...]]:
        """Return the most frequent units that repeat: (count, id, start, size)."""
        counts = self.counts[: self.n]
        least = max(2, int(np.partition(counts, -TOP)[-TOP])) if self.n > TOP else 2
        often = np.flatnonzero(counts >= least)
        often = often[np.argsort(-counts[often], kind="stable")][:TOP]
        return [(int(counts[i]), *(int(self.units[name][i]) for name in ("id", "start", "size"))) for i in often]


@kernel
def enter_units(records: Records, slots: Any, units: Records, counts: I64, n: int, out: Records) -> tuple[int, int]:
    """Look up units in order; enter the new units into the table, and write the others, as REPEATs, to `out`.

    - records: the records of the units to look up.
    - units: the records of the `n` distinct units so far.
    - slots: int32, a hash table of the numbers of these units.
    - counts: the number of occurrences of each unit.

    Returns the new number of distinct units, and the number of rows written to `out`.
    """
    mask, one = np.uint64(len(slots) - 1), np.uint64(1)
    k: Int = 0
    for j in range(len(records)):
        a, b, chars = records[j]["a"], records[j]["b"], records[j]["chars"]
        slot = b & mask
        while slots[slot] >= 0:
            u = slots[slot]
            if units[u]["a"] == a and units[u]["b"] == b and units[u]["chars"] == chars:
                break
            slot = (slot + one) & mask
        u = slots[slot]
        if u < 0:
            slots[slot], units[n], counts[n] = n, records[j], 1
            n += 1
        else:
            counts[u] += 1
            out[k]["id"], out[k]["start"] = records[j]["id"], records[j]["start"]
            out[k]["end"] = records[j]["start"] + records[j]["size"]
            out[k]["duplicate_of"], out[k]["duplicate_of_start"] = units[u]["id"], units[u]["start"]
            out[k]["duplicate_of_end"] = units[u]["start"] + units[u]["size"]
            k += 1
    return n, k


@dataclass(frozen=True)
class PartToCut(PartItem):
    """An input part from which repeats are cut.

    Attributes:
        firsts: the id of the first document of every segment of the part's file of HashUnits.
        before: the number of segments of all earlier parts.
    """

    firsts: tuple[int, ...]
    before: int


@dataclass(frozen=True)
class CutRepeats(Pass[PartToCut]):
    """Collect the repeated units of an input part, read its texts, and write the byte ranges to cut, in order.

    Attributes:
        matched: the files of repeats, with one section per segment of all parts.
        strips: True if the normal form has no white space at its ends. The receipt (the task's record) states the
            number of ranges and of bytes that are cut; it contains no text, so that `forget` need not search it.
    """

    folder = "cut"
    thread_safe = True

    matched: ShuffleFiles
    strips: bool  # the normal form has no white space at its ends

    def write(self, url: str, item: PartToCut) -> dict[str, Any]:
        """Write the ranges to cut from the input part `item` to the file `url`, as REPEATs in order of (id, start).

        Returns {"rows": number of REPEATs, "spans": number of ranges that they cover, "bytes": number of bytes cut}.
        """
        n_rows, n_spans, n_bytes = 0, 0, 0
        with spill_to(url, 1) as spill:
            for spans in self._spans(item):
                if len(spans):
                    spill.write([spans])
                    _, start, end = united(*(np.ascontiguousarray(spans[name]) for name in ("id", "start", "end")))
                    n_rows, n_spans = n_rows + len(spans), n_spans + len(start)
                    n_bytes += int((end - start).sum())
        return {"rows": n_rows, "spans": n_spans, "bytes": n_bytes}

    def _spans(self, item: PartToCut) -> Iterator[Records]:
        """Yield the spans of every batch; one segment of repeats is in memory at a time."""
        firsts, at, held = item.firsts, 0, np.empty(0, REPEAT)
        for batch in item.part.batches(["id", "text"]) if firsts else ():
            if not batch.num_rows:
                continue
            last, more = B.ids(batch)[-1], True
            while more:
                more = at < len(firsts) and firsts[at] <= last
                n = bisect_right(held["id"], last)  # not NumPy's, which would copy the column
                done, undecided = close_up(held[:n], batch, strips=self.strips, final=not more)
                held = held[n - len(undecided) :]
                yield done
                if more:
                    held = np.concatenate([held, self._repeats(item.before + at)])
                    at += 1

    def _repeats(self, segment: int) -> Records:
        """Return the repeats of a segment, from all partitions, in order of (id, start)."""
        repeats = self.matched.section(segment, REPEAT)
        return repeats.take(by_place(np.ascontiguousarray(repeats["id"]), repeats["start"]))


@dataclass(frozen=True, kw_only=True)
class WriteSpans(WriteTable):
    """Write the spans that CutRepeats found; a section is a new input part.

    Attributes:
        joined: the documents.
    """

    schema = SPANS
    thread_safe = True

    joined: Joined

    def rows(self, section: int) -> Iterator[pa.RecordBatch]:
        """Yield the spans of new part number `section`."""
        url = CutRepeats.url(self.out, self.joined.n_old + section)
        return map(self.joined.spans, each_section([url], 0, REPEAT))


def by_place(ids: npt.NDArray[np.uint64], start: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the order of rows by (id, start), intp[n]; `start` is below 2^32.

    NumPy's stable sort merges runs that ascend, such as those of the partitions: five times as fast as `lexsort`.
    """
    by_id = np.argsort(ids, kind="stable")
    number = np.cumsum(np.diff(ids[by_id], prepend=ids[:1]) != 0, dtype=np.uint64)
    return by_id[np.argsort(number << np.uint64(32) | start[by_id].astype(np.uint64), kind="stable")]
