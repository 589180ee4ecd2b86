"""Sign, count, gather: which windows may be repeated, in bounded memory, for a corpus of any size.

Sign reads the text and spills records by bucket. Count drops the records whose hash occurs once. Gather reads the
text again and sends the pieces that are left to partitions by hash, where `search.py` compares them. How many
partitions there are follows from what the pieces weigh; a hash that is too frequent for one has one of its own.
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
from dataprep.errors import DataprepError
from dataprep.store import files, receipts
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.text import I64, U64

from .minimizers import MAX_PART, found, records, rule_of
from .records import BUCKETS, FINE, by_bucket, pack, repeated, word_sizes
from .repeats import sorted_by

HEADER = np.dtype([("hash", "<u8"), ("id", "<u8"), ("offset", "<i8"), ("info", "<u4"), ("size", "<u4")])
SEGMENT_BYTES = 16 << 20
COUNT_RECORDS = 2 << 20  # counted at once: 32 MB
PIECE_BYTES = 48 << 20  # of a partition
STRETCH_BYTES = 32 << 20  # of text whose marks are brought together
INFO = np.uint64((1 << 25) - 1)


@dataclass(frozen=True)
class Sign:
    """Read a part and spill its records by bucket."""

    out: str
    width: int
    words: bool

    def __call__(self, item: Part) -> dict[str, Any]:
        """The receipt: documents, bytes, windows, records, and the first id of every stretch of text."""
        url = files.join(self.out, "sign", f"part-{item.number:05d}")
        return receipts.once(url + ".json", item.key, lambda: self._write(url, item))

    def _write(self, url: str, part: Part) -> dict[str, Any]:
        rule, counted = rule_of(self.width, words=self.words), np.zeros(4, np.int64)
        firsts: list[int] = []
        held: list[tuple[U64, U64]] = []
        written = 0
        with spill_to(url, BUCKETS) as spill:
            for batch in part.batches(["id", "text"]):
                if batch.num_rows and counted[1] >= STRETCH_BYTES * len(firsts):
                    firsts.append(int(B.ids(batch)[0]))
                held.append(records(*B.buffers(batch), int(counted[1]), rule))
                windows = int(found(held[-1][1])[1].sum())
                counted += (batch.num_rows, B.text_bytes(batch), windows, len(held[-1][0]))
                if counted[1] > MAX_PART:
                    msg = f"{part} holds more than {MAX_PART >> 30} GiB of text; cut it into smaller files"
                    raise DataprepError(msg)
                if 16 * (counted[3] - written) >= SEGMENT_BYTES:
                    spill.write(_buckets(held))
                    held, written = [], int(counted[3])
            if held:
                spill.write(_buckets(held))
        docs, n_bytes, windows, n_records = counted.tolist()
        return {
            "files": [url], "docs": docs, "bytes": n_bytes, "windows": windows, "records": n_records, "firsts": firsts,
        }  # fmt: skip


def _buckets(held: list[tuple[U64, U64]]) -> list[npt.NDArray[Any]]:
    rows, cuts = by_bucket(*(np.concatenate(column) for column in zip(*held, strict=True)))
    return np.split(rows, cuts[1:-1])


def bucket_ranges(n_records: int) -> list[tuple[int, int]]:
    """Cut the buckets so that one task counts about COUNT_RECORDS."""
    width = min(BUCKETS, max(1, BUCKETS * COUNT_RECORDS // max(1, n_records)))
    return [(low, min(low + width, BUCKETS)) for low in range(0, BUCKETS, width)]


@dataclass(frozen=True)
class Count:
    """Drop the records of a range of buckets whose hash occurs once; write the others by part."""

    out: str
    key: str
    width: int
    words: bool
    n_parts: int

    def __call__(self, item: tuple[int, int]) -> dict[str, Any]:
        """The receipt: how many records are left."""
        url = files.join(self.out, "count", f"range-{item[0]:05d}")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, *item))

    def _write(self, url: str, first: int, last: int) -> dict[str, Any]:
        rows, part = [np.zeros((0, 2), np.uint64)], []
        for number in range(self.n_parts):
            with Spill(files.join(self.out, "sign", f"part-{number:05d}")) as spill:
                for segment in range(spill.segments):
                    rows.append(spill.read(segment, first, last, np.uint64).reshape(-1, 2))
                    part.append(number)
        cuts = np.cumsum([len(r) for r in rows])
        together = np.concatenate(rows)
        per_item = 6 if self.words else 1
        weight = (HEADER.itemsize + per_item * (self.width - 1), per_item, PIECE_BYTES // 2)
        keep, bins, heavy = repeated(together, cuts, first, last, *weight)
        sections = [[np.zeros((0, 2), np.uint64)] for _ in range(self.n_parts)]
        for number, low, high in zip(part, cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            sections[number].append(together[low:high][keep[low:high]])
        with spill_to(url, self.n_parts + 2) as spill:
            spill.write([*map(np.concatenate, sections), bins, heavy])
        return {"files": [url], "records": int(keep.sum())}


@dataclass(frozen=True)
class Plan:
    """Which hash belongs to which partition: the first bin of each, then the hashes that have one of their own."""

    bins: tuple[int, ...]
    heavy: tuple[int, ...]

    @classmethod
    def read(cls, out: str, n_parts: int, ranges: Sequence[tuple[int, int]]) -> Plan:
        """Cut the bins where pieces fill a partition."""
        bins, heavy = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)]
        for low, _ in ranges:
            with Spill(files.join(out, "count", f"range-{low:05d}")) as spill:
                bins.append(spill.read(0, n_parts, dtype=np.int64))
                heavy.append(spill.read(0, n_parts + 1, dtype=np.int64).reshape(-1, 2))
        total = np.cumsum(np.concatenate(bins))
        cut = np.flatnonzero(np.diff(total // PIECE_BYTES)) + 1
        hashes = np.sort(np.concatenate(heavy)[:, 0].view(np.uint64))
        return cls((0, *cut.tolist()), tuple(hashes.tolist()))

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self.bins) + len(self.heavy)

    def of(self, hashes: U64) -> I64:
        """The partition of each hash."""
        fine = (hashes >> np.uint64(64 - (BUCKETS * FINE - 1).bit_length())).astype(np.int64)
        out = np.searchsorted(np.array(self.bins), fine, "right") - 1
        if self.heavy:
            heavy = np.array(self.heavy, np.uint64)
            at = np.minimum(np.searchsorted(heavy, hashes), len(heavy) - 1)
            out = np.where(heavy[at] == hashes, len(self.bins) + at, out)
        return np.asarray(out, np.int64)


@dataclass(frozen=True)
class Gather:
    """Read a part again and spill the pieces of text of its records by partition."""

    out: str
    key: str
    width: int
    words: bool
    plan: Plan
    ranges: tuple[tuple[int, int], ...]

    def __call__(self, item: Part) -> dict[str, Any]:
        """The receipt: how many bytes the pieces have."""
        url = files.join(self.out, "gather", f"part-{item.number:05d}")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, item))

    def _write(self, url: str, item: Part) -> dict[str, Any]:
        rows, base, n_bytes = self._records(item.number), 0, 0
        with spill_to(url, 2 * self.plan.partitions) as spill:
            for batch in item.batches(["id", "text"]) if len(rows) else ():
                size = B.text_bytes(batch)
                low, high = np.searchsorted(rows[:, 1], np.array([base, base + size], np.uint64) << np.uint64(25))
                if low < high:
                    n_bytes += self._spill(spill, batch, rows[low:high], base)
                base += size
        return {"files": [url], "bytes": n_bytes}

    def _records(self, number: int) -> U64:
        """The records of a part that are left, in order of position."""
        rows = [np.zeros((0, 2), np.uint64)]
        for low, _ in self.ranges:
            with Spill(files.join(self.out, "count", f"range-{low:05d}")) as spill:
                rows.append(spill.read(0, number, dtype=np.uint64).reshape(-1, 2))
        together = np.concatenate(rows)
        return np.asarray(together[sorted_by(np.ascontiguousarray(together[:, 1]), np.arange(len(together)))])

    def _spill(self, spill: Any, batch: Batch, rows: U64, base: int) -> int:
        offsets, data = B.buffers(batch)
        place, windows = found(np.ascontiguousarray(rows[:, 1]))
        at = place - base + offsets[0]
        doc = np.searchsorted(offsets, at, "right") - 1
        size = windows + self.width - 1
        if self.words:
            size = word_sizes(data, at, offsets[doc + 1], size, rule_of(self.width, words=True).table)
        headers = np.empty(len(rows), HEADER)
        headers["hash"], headers["id"], headers["offset"] = rows[:, 0], B.ids(batch)[doc], at - offsets[doc]
        headers["info"], headers["size"] = rows[:, 1] & INFO, size
        partition = self.plan.of(rows[:, 0]).astype(np.uint16 if self.plan.partitions < 1 << 16 else np.int64)
        for cut in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(np.cumsum(size) // SEGMENT_BYTES)) + 1):
            order = cut[np.argsort(partition[cut], kind="stable")]
            cuts = np.searchsorted(partition[order], np.arange(self.plan.partitions + 1))
            shared = shared_bytes(headers[order])
            shared[cuts[:-1][np.diff(cuts) > 0]] = 0  # a piece that is the first of its section is whole
            ends = np.concatenate([[0], np.cumsum(size[order] - shared)])[cuts]
            pieces = pack(data, at, size, shared, order)
            sections: list[npt.NDArray[Any]] = []
            for k in range(self.plan.partitions):
                sections += [headers[order[cuts[k] : cuts[k + 1]]], pieces[ends[k] : ends[k + 1]]]
            spill.write(sections)
        return int(size.sum())


def shared_bytes(headers: npt.NDArray[Any]) -> I64:
    """How many bytes of each piece are the last of the piece before, int64[n]."""
    out = np.zeros(len(headers), np.int64)
    stop = headers["offset"] + headers["size"]
    same = headers["id"][1:] == headers["id"][:-1]
    out[1:] = np.where(same, np.maximum(stop[:-1] - headers["offset"][1:], 0), 0)
    return out
