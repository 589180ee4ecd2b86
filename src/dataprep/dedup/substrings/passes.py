"""The passes that find windows which may be repeated, in bounded memory.

A record is a run of neighbouring windows with the same smallest hash. HashWindows reads the text, and writes the
records sorted into buckets (by the leading bits of the hash). CountHashes drops the records whose hash occurs once, or
only in older Datasets. GatherRecords reads the text again, and writes the remaining records with their bytes, sorted
into partitions (groups of hashes), which `search.py` compares. The number of partitions depends on the size of the
records. If a hash is so frequent that its records would fill a partition, it gets its own partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.part import Part
from dataprep.core.run.merge import MergeSections
from dataprep.core.run.passes import Pass
from dataprep.errors import DataprepError
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import Divided, spill_to
from dataprep.unicode.text import I64, U64

from .minimizers import MAX_PART, found, records, rule_of
from .records import BUCKETS, FINE, by_bucket, of_parts, pack, repeated, word_sizes
from .repeats import sorted_by

HEADER = np.dtype([("hash", "<u8"), ("id", "<u8"), ("offset", "<i8"), ("info", "<u4"), ("size", "<u4")])
SEGMENT_BYTES = 16 << 20
COUNT_RECORDS = 2 << 20  # counted at once: 32 MB
PARTITION_BYTES = 48 << 20  # of text in a partition
GROUP_BYTES = 32 << 20  # of text whose repeats are sorted together
INFO = np.uint64((1 << 25) - 1)
WHOLE = np.uint32(1 << 25)  # in a HEADER's info: all bytes of the record are stored, the first of a segment's section


@dataclass(frozen=True)
class HashWindows(Pass[Part]):
    """Hash the windows (runs of words or bytes) of an input part, and write their records to a temporary file.

    A record is a run of neighbouring windows with the same smallest hash.

    Attributes:
        width: the length of a window, in bytes if `word_split` is "", else in words.

    The file has one section per bucket (the leading bits of the hash). The receipt states the numbers of documents,
    bytes, windows and records, and the first id in every GROUP_BYTES of text.
    """

    folder = "hash"
    thread_safe = True

    width: int
    word_split: str

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the records (hash, info), uint64[m, 2], of input part `item` to the file `url`, one section per bucket.

        A bucket is the leading bits of the hash; `info` is the packed description of a record (see `minimizers.py`).
        Each section begins with a row that states the part (see `by_bucket`). Returns the numbers {"docs", "bytes",
        "windows", "records"}, and "firsts", the first document id in every GROUP_BYTES of text. Raises DataprepError if
        the part has too much text.
        """
        rule, counted = rule_of(self.width, word_split=self.word_split), np.zeros(4, np.int64)
        firsts: list[int] = []

        def made() -> Iterator[tuple[U64, U64]]:
            for batch in item.batches(["id", "text"]):
                if batch.num_rows and counted[1] >= GROUP_BYTES * len(firsts):
                    firsts.append(int(B.ids(batch)[0]))
                hashes, info = records(*B.buffers(batch), int(counted[1]), rule)
                counted[:] += (batch.num_rows, B.text_bytes(batch), int(found(info)[1].sum()), len(hashes))
                if counted[1] > MAX_PART:
                    msg = f"{item} must hold at most {MAX_PART >> 30} GiB of text; split it into smaller files"
                    raise DataprepError(msg)
                yield hashes, info

        def buckets(held: list[tuple[U64, U64]]) -> list[Divided]:
            hashes, info = (np.concatenate(column) for column in zip(*held, strict=True))
            return [Divided(*by_bucket(hashes, info, item.number))]

        with spill_to(url, BUCKETS) as spill:
            spill.write_together(made(), lambda rows: 16 * len(rows[0]), SEGMENT_BYTES, buckets)
        docs, n_bytes, windows, n_records = counted.tolist()
        return {"docs": docs, "bytes": n_bytes, "windows": windows, "records": n_records, "firsts": firsts}


class MergeHashes(MergeSections):
    """Merge the records of many parts into a few files."""

    folder = "hash-merged"


def buckets_per_task(n_records: int) -> int:
    """Return how many buckets (leading bits of hashes) a task counts, which have about COUNT_RECORDS records.

    - n_records: the number of records in all buckets.
    """
    return min(BUCKETS, max(1, BUCKETS * COUNT_RECORDS // max(1, n_records)))


@dataclass(frozen=True)
class CountHashes(Pass[int]):
    """Drop the records (runs of windows) whose hash occurs once, since their text is not repeated; write the others.

    Records whose hash occurs only in older Datasets are dropped too. One task does this for a range of buckets (leading
    bits of hashes), and writes one file.

    Attributes:
        width: the length of a window, in bytes if `word_split` is "", else in words.
        n_old: the number of leading parts, of the `n_parts` parts, that belong to older Datasets. The receipt (the
            task's record) states the number of remaining records.
        hashed: the files of HashWindows.
        step: the number of buckets per task.
    """

    folder = "count"
    noun = "range"
    thread_safe = True

    width: int
    word_split: str
    n_parts: int
    n_old: int
    hashed: ShuffleFiles
    step: int

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write the records of range number `item` of buckets that may be repeated in new documents to `url`.

        A bucket is the leading bits of a hash. The file has one section per input part. Two more sections hold the
        bytes of the records of each bin (range of hashes), and the hashes with many records; `Partitions.read` reads
        these sections. Returns {"records": number written}.
        """
        first, last = item * self.step, min((item + 1) * self.step, BUCKETS)
        found = [of_parts(rows.reshape(-1, 2)) for rows in self.hashed.read(first, last, np.uint64)]
        cuts = np.append(0, np.cumsum([len(rows) for rows, _ in found], dtype=np.int64))
        together = np.concatenate([np.zeros((0, 2), np.uint64), *(rows for rows, _ in found)])
        parts = np.concatenate([np.zeros(0, np.uint32), *(own for _, own in found)])
        del found
        per_item = 6 if self.word_split else 1
        weight = (HEADER.itemsize + per_item * (self.width - 1), per_item, PARTITION_BYTES // 2)
        keep, bins, heavy = repeated(together, cuts, parts < self.n_old, first, last, *weight)
        rows, parts = together[keep], parts[keep]
        order = np.argsort(parts, kind="stable")
        of_part = Divided(rows[order], np.searchsorted(parts[order], np.arange(self.n_parts + 1)))
        with spill_to(url, self.n_parts + 2) as spill:
            spill.write([of_part, bins, heavy])
        return {"records": len(rows)}


class MergeCounted(MergeSections):
    """Merge the remaining records of many ranges into a few files."""

    folder = "count-merged"


@dataclass(frozen=True)
class Partitions:
    """The partition of every hash; a partition is a group of hashes whose windows one task compares.

    Attributes:
        bins: each partition's first bin (range of hashes).
        heavy: the hashes that are so frequent that each has its own partition; these partitions come last.
        n_bytes: the size of the text of the other hashes.
    """

    bins: tuple[int, ...]
    heavy: tuple[int, ...]
    n_bytes: int = 0

    @classmethod
    def read(cls, counted: ShuffleFiles) -> Partitions:
        """Read the last two sections of the files of CountHashes; return partitions of about PARTITION_BYTES of text.

        A partition is a group of hashes.
        """
        total = np.cumsum(counted.section(counted.n - 2, np.int64))
        cut = np.flatnonzero(np.diff(total // PARTITION_BYTES)) + 1
        heavy = np.sort(counted.section(counted.n - 1, np.uint64)[::2])  # each with its bytes
        return cls((0, *cut.tolist()), tuple(heavy.tolist()), int(total[-1]))

    @property
    def count(self) -> int:
        """The number of partitions (groups of hashes, each compared by one task)."""
        return len(self.bins) + len(self.heavy)

    def of(self, hashes: U64) -> I64:
        """Return the number of the partition (group of hashes that one task compares) of each hash, int64[n].

        Args:
            hashes: uint64[n].
        """
        fine = (hashes >> np.uint64(64 - (BUCKETS * FINE - 1).bit_length())).astype(np.int64)
        out = np.searchsorted(np.array(self.bins), fine, "right") - 1
        if self.heavy:
            at, known = B.find_sorted(np.array(self.heavy, np.uint64), hashes)
            out = np.where(known, len(self.bins) + at, out)
        return np.asarray(out, np.int64)


@dataclass(frozen=True)
class GatherRecords(Pass[Part]):
    """Read an input part again; write the text of windows whose hash occurs more than once, sorted into partitions.

    A partition is a group of hashes that one task compares.

    Attributes:
        width: the length of a window, in bytes if `word_split` is "", else in words.
        partitions: the partition of every hash.
        counted: the files of CountHashes. The receipt (the task's record) states the number of bytes of text.
    """

    folder = "gather"
    thread_safe = True

    width: int
    word_split: str
    partitions: Partitions
    counted: ShuffleFiles

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the records (runs of windows) of input part `item` that may be repeated, with their text, to `url`.

        There are two sections per partition: HEADERs (hash, id, offset, info, size), and the bytes of the records.
        Bytes that a record shares with the preceding record are written once, except in the first record of a segment's
        section, which is WHOLE. Returns {"bytes": n}, where such shared bytes are counted twice.
        """
        rows, base, n_bytes = self._records(item.number), 0, 0
        with spill_to(url, 2 * self.partitions.count) as spill:
            for batch in item.batches(["id", "text"]) if len(rows) else ():
                size = B.text_bytes(batch)
                low, high = np.searchsorted(rows[:, 1], np.array([base, base + size], np.uint64) << np.uint64(25))
                if low < high:
                    n_bytes += self._spill(spill, batch, rows[low:high], base)
                base += size
        return {"bytes": n_bytes}

    def _records(self, number: int) -> U64:
        """Return the remaining records of a part, uint64[m, 2], in order of position."""
        together = self.counted.section(number, np.uint64).reshape(-1, 2)
        return np.asarray(together[sorted_by(np.ascontiguousarray(together[:, 1]), np.arange(len(together)))])

    def _spill(self, spill: Any, batch: Batch, rows: U64, base: int) -> int:
        """Write the records of a batch; return their size in bytes.

        - base: the number of bytes of the part before the batch.
        """
        offsets, data = B.buffers(batch)
        position, windows = found(np.ascontiguousarray(rows[:, 1]))
        at = position - base + offsets[0]
        doc = np.searchsorted(offsets, at, "right") - 1
        size = windows + self.width - 1
        if self.word_split:
            size = word_sizes(data, at, offsets[doc + 1], size, rule_of(self.width, word_split=self.word_split).table)
        headers = np.empty(len(rows), HEADER)
        headers["hash"], headers["id"], headers["offset"] = rows[:, 0], B.ids(batch)[doc], at - offsets[doc]
        headers["info"], headers["size"] = rows[:, 1] & INFO, size
        n = self.partitions.count
        partition = self.partitions.of(rows[:, 0]).astype(np.uint16 if n < 1 << 16 else np.int64)
        for cut in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(np.cumsum(size) // SEGMENT_BYTES)) + 1):
            order = cut[np.argsort(partition[cut], kind="stable")]
            cuts = np.searchsorted(partition[order], np.arange(n + 1))
            headers["info"][order[cuts[:-1][np.diff(cuts) > 0]]] |= WHOLE
            shared = shared_bytes(headers.take(order))
            ends = np.concatenate([[0], np.cumsum(size[order] - shared)])[cuts]
            packed = pack(data, at, size, shared, order)
            sections: list[npt.NDArray[Any]] = []
            for k in range(n):
                sections += [headers.take(order[cuts[k] : cuts[k + 1]]), packed[ends[k] : ends[k + 1]]]
            spill.write(sections)
        return int(size.sum())


class MergeTexts(MergeSections):
    """Merge the records of many parts, with their text, into a few files."""

    folder = "gather-merged"


def shared_bytes(headers: npt.NDArray[Any]) -> I64:
    """Return how many of each record's first bytes are also the last bytes of the preceding record, int64[n].

    Args:
        headers: HEADERs of n records, in order.
    """
    out = np.zeros(len(headers), np.int64)
    stop = headers["offset"] + headers["size"]
    same = (headers["id"][1:] == headers["id"][:-1]) & (headers["info"][1:] & WHOLE == 0)
    out[1:] = np.where(same, np.maximum(stop[:-1] - headers["offset"][1:], 0), 0)
    return out
