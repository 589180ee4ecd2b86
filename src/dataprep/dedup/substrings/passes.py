"""The passes that find windows which may be repeated, in bounded memory, for a corpus of any size.

HashWindows reads the text and spills records by bucket. CountHashes drops the records whose hash occurs once.
GatherRecords reads the text again and spills the remaining records with their bytes by partition of hashes, which
`search.py` compares. The number of partitions follows from the size of the records; a hash that is too frequent
for a partition has one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.part import Part
from dataprep.core.passes import Pass
from dataprep.errors import DataprepError
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.text import I64, U64

from .minimizers import MAX_PART, found, records, rule_of
from .records import BUCKETS, FINE, by_bucket, pack, repeated, word_sizes
from .repeats import sorted_by

HEADER = np.dtype([("hash", "<u8"), ("id", "<u8"), ("offset", "<i8"), ("info", "<u4"), ("size", "<u4")])
SEGMENT_BYTES = 16 << 20
COUNT_RECORDS = 2 << 20  # counted at once: 32 MB
PARTITION_BYTES = 48 << 20  # of text in a partition
GROUP_BYTES = 32 << 20  # of text whose repeats are sorted together
INFO = np.uint64((1 << 25) - 1)


@dataclass(frozen=True)
class HashWindows(Pass[Part]):
    """Read a part and spill the records of its windows by bucket.

    Receipt: documents, bytes, windows, records, and the first id of every GROUP_BYTES of text.
    """

    folder = "hash"

    width: int
    words: bool

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write one section of records per bucket."""
        rule, counted = rule_of(self.width, words=self.words), np.zeros(4, np.int64)
        firsts: list[int] = []
        held: list[tuple[U64, U64]] = []
        written = 0
        with spill_to(url, BUCKETS) as spill:
            for batch in item.batches(["id", "text"]):
                if batch.num_rows and counted[1] >= GROUP_BYTES * len(firsts):
                    firsts.append(int(B.ids(batch)[0]))
                held.append(records(*B.buffers(batch), int(counted[1]), rule))
                windows = int(found(held[-1][1])[1].sum())
                counted += (batch.num_rows, B.text_bytes(batch), windows, len(held[-1][0]))
                if counted[1] > MAX_PART:
                    msg = f"{item} must hold at most {MAX_PART >> 30} GiB of text; split it into smaller files"
                    raise DataprepError(msg)
                if 16 * (counted[3] - written) >= SEGMENT_BYTES:
                    spill.write(_buckets(held))
                    held, written = [], int(counted[3])
            if held:
                spill.write(_buckets(held))
        docs, n_bytes, windows, n_records = counted.tolist()
        return {"docs": docs, "bytes": n_bytes, "windows": windows, "records": n_records, "firsts": firsts}


def _buckets(held: list[tuple[U64, U64]]) -> list[npt.NDArray[Any]]:
    """Return the records of every bucket."""
    rows, cuts = by_bucket(*(np.concatenate(column) for column in zip(*held, strict=True)))
    return np.split(rows, cuts[1:-1])


def bucket_ranges(n_records: int) -> list[tuple[int, int]]:
    """Split the buckets so that one task counts about COUNT_RECORDS."""
    width = min(BUCKETS, max(1, BUCKETS * COUNT_RECORDS // max(1, n_records)))
    return [(low, min(low + width, BUCKETS)) for low in range(0, BUCKETS, width)]


@dataclass(frozen=True)
class CountHashes(Pass[tuple[int, int]]):
    """Drop the records of a range of buckets whose hash occurs once; spill the others by part.

    Receipt: how many records are left.
    """

    folder = "count"
    noun = "range"

    width: int
    words: bool
    n_parts: int

    def url_of(self, item: tuple[int, int]) -> str:
        """Return the URL of the file of a range, named by its first bucket."""
        return self.url(self.out, item[0])

    def write(self, url: str, item: tuple[int, int]) -> dict[str, Any]:
        """Write one section of records per part, then the bytes per bin, and the heavy hashes."""
        first, last = item
        rows, part = [np.zeros((0, 2), np.uint64)], []
        for number in range(self.n_parts):
            with Spill(HashWindows.url(self.out, number)) as spill:
                for segment in range(spill.segments):
                    rows.append(spill.read(segment, first, last, np.uint64).reshape(-1, 2))
                    part.append(number)
        cuts = np.cumsum([len(r) for r in rows])
        together = np.concatenate(rows)
        per_item = 6 if self.words else 1
        weight = (HEADER.itemsize + per_item * (self.width - 1), per_item, PARTITION_BYTES // 2)
        keep, bins, heavy = repeated(together, cuts, first, last, *weight)
        sections = [[np.zeros((0, 2), np.uint64)] for _ in range(self.n_parts)]
        for number, low, high in zip(part, cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            sections[number].append(together[low:high][keep[low:high]])
        with spill_to(url, self.n_parts + 2) as spill:
            spill.write([*map(np.concatenate, sections), bins, heavy])
        return {"records": int(keep.sum())}


@dataclass(frozen=True)
class Partitions:
    """The partition of every hash: the first bin of each partition, then the hashes that have one of their own."""

    bins: tuple[int, ...]
    heavy: tuple[int, ...]

    @classmethod
    def read(cls, out: str, n_parts: int, ranges: Sequence[tuple[int, int]]) -> Partitions:
        """Return the partitions whose records fill PARTITION_BYTES, from what CountHashes wrote."""
        bins, heavy = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)]
        for low, _ in ranges:
            with Spill(CountHashes.url(out, low)) as spill:
                bins.append(spill.read(0, n_parts, dtype=np.int64))
                heavy.append(spill.read(0, n_parts + 1, dtype=np.int64).reshape(-1, 2))
        total = np.cumsum(np.concatenate(bins))
        cut = np.flatnonzero(np.diff(total // PARTITION_BYTES)) + 1
        hashes = np.sort(np.concatenate(heavy)[:, 0].view(np.uint64))
        return cls((0, *cut.tolist()), tuple(hashes.tolist()))

    @property
    def count(self) -> int:
        """Number of partitions."""
        return len(self.bins) + len(self.heavy)

    def of(self, hashes: U64) -> I64:
        """Return the partition of each hash, int64[n]."""
        fine = (hashes >> np.uint64(64 - (BUCKETS * FINE - 1).bit_length())).astype(np.int64)
        out = np.searchsorted(np.array(self.bins), fine, "right") - 1
        if self.heavy:
            heavy = np.array(self.heavy, np.uint64)
            at = np.minimum(np.searchsorted(heavy, hashes), len(heavy) - 1)
            out = np.where(heavy[at] == hashes, len(self.bins) + at, out)
        return np.asarray(out, np.int64)


@dataclass(frozen=True)
class GatherRecords(Pass[Part]):
    """Read a part again and spill its records with their bytes by partition. Receipt: how many bytes."""

    folder = "gather"

    width: int
    words: bool
    partitions: Partitions
    ranges: tuple[tuple[int, int], ...]

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write two sections per partition: HEADERs, and the bytes of the records."""
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
        rows = [np.zeros((0, 2), np.uint64)]
        for low, _ in self.ranges:
            with Spill(CountHashes.url(self.out, low)) as spill:
                rows.append(spill.read(0, number, dtype=np.uint64).reshape(-1, 2))
        together = np.concatenate(rows)
        return np.asarray(together[sorted_by(np.ascontiguousarray(together[:, 1]), np.arange(len(together)))])

    def _spill(self, spill: Any, batch: Batch, rows: U64, base: int) -> int:
        """Write the records of a batch; return their bytes. `base`: bytes of the part before the batch."""
        offsets, data = B.buffers(batch)
        position, windows = found(np.ascontiguousarray(rows[:, 1]))
        at = position - base + offsets[0]
        doc = np.searchsorted(offsets, at, "right") - 1
        size = windows + self.width - 1
        if self.words:
            size = word_sizes(data, at, offsets[doc + 1], size, rule_of(self.width, words=True).table)
        headers = np.empty(len(rows), HEADER)
        headers["hash"], headers["id"], headers["offset"] = rows[:, 0], B.ids(batch)[doc], at - offsets[doc]
        headers["info"], headers["size"] = rows[:, 1] & INFO, size
        n = self.partitions.count
        partition = self.partitions.of(rows[:, 0]).astype(np.uint16 if n < 1 << 16 else np.int64)
        for cut in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(np.cumsum(size) // SEGMENT_BYTES)) + 1):
            order = cut[np.argsort(partition[cut], kind="stable")]
            cuts = np.searchsorted(partition[order], np.arange(n + 1))
            shared = shared_bytes(headers[order])
            shared[cuts[:-1][np.diff(cuts) > 0]] = 0  # the first record of a section is whole
            ends = np.concatenate([[0], np.cumsum(size[order] - shared)])[cuts]
            packed = pack(data, at, size, shared, order)
            sections: list[npt.NDArray[Any]] = []
            for k in range(n):
                sections += [headers[order[cuts[k] : cuts[k + 1]]], packed[ends[k] : ends[k + 1]]]
            spill.write(sections)
        return int(size.sum())


def shared_bytes(headers: npt.NDArray[Any]) -> I64:
    """Return how many bytes each record shares with the end of the record before it, int64[n]."""
    out = np.zeros(len(headers), np.int64)
    stop = headers["offset"] + headers["size"]
    same = headers["id"][1:] == headers["id"][:-1]
    out[1:] = np.where(same, np.maximum(stop[:-1] - headers["offset"][1:], 0), 0)
    return out
