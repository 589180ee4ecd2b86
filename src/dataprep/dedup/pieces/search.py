"""Repeated units of text in three passes, one barrier a line: sign, match, cut; then the spans.

*Sign* hashes every unit and spills a record of it by its hash. *Match* visits the records of a partition in order of
documents: the first unit of a hash stays, the later ones repeat it. *Cut* brings the repeats of a part together and
reads its texts once more, to join neighbours and close the gaps. Nothing is kept in memory but a segment of records
and the distinct units of one round of one partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core import batch as B
from dataprep.core.batch import Batch, show_id
from dataprep.core.dataset import Dataset
from dataprep.core.part import Part
from dataprep.core.runner import Runner
from dataprep.core.tables import SPAN, write_spans
from dataprep.errors import DataprepError
from dataprep.store import files, receipts
from dataprep.store.key import key as key_of
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, Int

from .gaps import close_up
from .units import blocks

Records = npt.NDArray[Any]
RECORD = np.dtype(
    [("a", "<u8"), ("b", "<u8"), ("id", "<u8"), ("start", "<u4"), ("size", "<u4"), ("chars", "<u4")]
)  # the 128-bit hash, the document, bytes in it, characters of the normal form
MAX_DOC_BYTES = 2**32 - 1
SEGMENT_RECORDS = 1 << 19  # 19 MB
PARTITION_BYTES = 16 << 20  # of input as stored
MAX_PARTITIONS = 1024
ROUND_RECORDS = 1 << 22  # the units that match looks at together: 170 MB if all are distinct
TOP = 20
TOP_CHARS = 200
TABLE = "spans.parquet"
PASSES = ("sign", "match", "cut")


def find_repeats(
    docs: Dataset, run: Runner, out: str, *, unit: str, normalize: str | None, name: str, key: str
) -> tuple[str, dict[str, Any]]:
    """Find the units that occurred earlier: the URL of the table of their spans, and what was counted on the way.

    Disk under `out` while it runs: 36 bytes a unit, and 40 a repeat.
    """
    url, receipt = files.join(out, TABLE), files.join(out, "spans.json")

    def make() -> dict[str, Any]:
        return {"files": [url], "facts": _find(docs, run, out, unit=unit, normalize=normalize, name=name, key=key)}

    made = receipts.once(receipt, key, make)
    for folder in PASSES:
        files.remove(files.join(out, folder))
    return url, made["facts"]


def _find(
    docs: Dataset, run: Runner, out: str, *, unit: str, normalize: str | None, name: str, key: str
) -> dict[str, Any]:
    """The passes, and the table."""
    items = [replace(item, key=key_of((key, item.key))) for item in docs.tasks]
    partitions = min(MAX_PARTITIONS, max(1, -(-docs.n_bytes // PARTITION_BYTES)))
    signed = list(run.map(Sign(out, unit, normalize, partitions), items, f"{name}: sign"))
    firsts = tuple(tuple(s["firsts"]) for s in signed)
    matched = list(run.map(Match(out, key, firsts), range(partitions), f"{name}: match"))
    top = sorted((t for m in matched for t in m["top"]), key=lambda t: (-t[0], *t[1:]))[:TOP]
    cut = list(run.map(Cut(out, partitions, firsts, tuple(map(tuple, top))), items, f"{name}: cut"))
    write_spans(files.join(out, TABLE), _read_spans(out, len(items)))
    said = {tuple(place): text for c in cut for *place, text in c["top"]}
    return {
        "documents": sum(s["docs"] for s in signed),
        "units": sum(s["units"] for s in signed),
        "distinct": sum(m["distinct"] for m in matched),
        "duplicates": sum(m["duplicates"] for m in matched),
        "spans": sum(c["spans"] for c in cut),
        "bytes": sum(c["bytes"] for c in cut),
        "top": [{"count": n, "id": str(i), "start": at, "text": said.get((i, at), "")} for n, i, at, _ in top],
    }


def _read_spans(out: str, n_parts: int) -> Iterator[Records]:
    for number in range(n_parts):
        with Spill(files.join(out, "cut", f"part-{number:05d}")) as spill:
            for segment in range(spill.segments):
                yield spill.read(segment, 0, dtype=SPAN)


@dataclass(frozen=True)
class Sign:
    """Read a part and spill a record of every unit of which something is left."""

    out: str
    unit: str
    normalize: str | None
    partitions: int

    def __call__(self, item: Part) -> dict[str, Any]:
        """The receipt: how many documents and units, and the first document of every segment."""
        url = files.join(self.out, "sign", f"part-{item.number:05d}")
        return receipts.once(url + ".json", item.key, lambda: self._write(url, item))

    def _write(self, url: str, part: Part) -> dict[str, Any]:
        counts = {"docs": 0, "units": 0}
        firsts: list[int] = []
        with spill_to(url, self.partitions) as spill:
            for records in _segments(self._records(part, counts)):
                firsts.append(int(records["id"][0]))
                spill.write(self._sections(records))
        return {"files": [url], "firsts": firsts, **counts}

    def _records(self, part: Part, counts: dict[str, int]) -> Iterator[Records]:
        for batch in part.batches(["id", "text"]):
            offsets, data = _checked(batch)
            ids = B.ids(batch)
            counts["docs"] += batch.num_rows
            for block in blocks(offsets, data, self.unit, self.normalize):
                has = np.flatnonzero(block.chars)
                records = np.empty(len(has), RECORD)
                records["a"], records["b"] = block.hashes[has, 0], block.hashes[has, 1]
                text, start = block.text[has], block.start[has]
                records["id"], records["start"] = ids[text], start - offsets[text]
                records["size"] = block.end[has] - start
                records["chars"] = np.minimum(block.chars[has], 2**32 - 1)
                counts["units"] += len(has)
                yield records

    def _sections(self, records: Records) -> list[Records]:
        partition = ((records["a"] >> np.uint64(32)) % np.uint64(self.partitions)).astype(np.uint16)
        order = np.argsort(partition, kind="stable")  # a radix sort, for two bytes
        return np.split(records[order], np.cumsum(np.bincount(partition, minlength=self.partitions))[:-1])


def warm(unit: str, normalize: str | None) -> None:
    """Compile the kernels, for the array types that the passes use."""
    batch = B.make([0], ["a. b. c.\n" * 2], "warm")
    list(blocks(*B.buffers(batch), unit, normalize))
    records = np.frombuffer(np.zeros(2, RECORD).tobytes(), RECORD)
    close_up(_Seen.of(2).meet(records), batch, final=True)


def _checked(batch: Batch) -> tuple[I64, Any]:
    offsets, data = B.buffers(batch)
    longest = int(np.argmax(np.diff(offsets))) if batch.num_rows else 0
    if batch.num_rows and offsets[longest + 1] - offsets[longest] > MAX_DOC_BYTES:
        found = f"document {show_id(int(B.ids(batch)[longest]))} has {offsets[longest + 1] - offsets[longest]:,} bytes"
        msg = f"{found}; places in a document are counted in 32 bits: split it, or read with a smaller max_doc_bytes"
        raise DataprepError(msg)
    return offsets, data


def _segments(pieces: Iterator[Records]) -> Iterator[Records]:
    """The records in runs of about SEGMENT_RECORDS; none is empty."""
    held: list[Records] = []
    for piece in pieces:
        held.append(piece)
        if sum(map(len, held)) >= SEGMENT_RECORDS:
            yield np.concatenate(held)
            held = []
    if sum(map(len, held)):
        yield np.concatenate(held)


@dataclass(frozen=True)
class Match:
    """Read one partition of all parts in order, and spill the units that repeat an earlier one by their segment."""

    out: str
    key: str
    firsts: tuple[tuple[int, ...], ...]  # of every part: the first document of every segment

    def __call__(self, partition: int) -> dict[str, Any]:
        """The receipt: distinct units, duplicates, and the most frequent ones as (count, id, start, size)."""
        url = files.join(self.out, "match", f"partition-{partition:05d}")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, partition))

    def _write(self, url: str, partition: int) -> dict[str, Any]:
        n_units = sum(stop - start for start, stop in self._places(partition)) // RECORD.itemsize
        rounds = -(-n_units // ROUND_RECORDS)
        facts: dict[str, Any] = {"distinct": 0, "duplicates": 0, "top": []}
        with spill_to(url, sum(map(len, self.firsts))) as spill:
            for number in range(rounds):
                seen = _Seen.of(n_units if rounds == 1 else 3 * ROUND_RECORDS // 2 + 1000)
                spill.write(self._round(partition, number, rounds, seen, facts))
                facts["distinct"] += seen.n
                facts["top"] += seen.top()
        facts["top"] = sorted(facts["top"], key=lambda t: (-t[0], *t[1:]))[:TOP]
        return {"files": [url], **facts}

    def _places(self, partition: int) -> Iterator[tuple[int, int]]:
        for spill in self._spills():
            for segment in range(spill.segments):
                yield spill.where(segment, partition)

    def _spills(self) -> Iterator[Spill]:
        for number in range(len(self.firsts)):
            with Spill(files.join(self.out, "sign", f"part-{number:05d}")) as spill:
                yield spill

    def _round(self, partition: int, number: int, rounds: int, seen: _Seen, facts: dict[str, Any]) -> Iterator[Records]:
        """The repeats of every segment among the units whose hash is of this round."""
        for spill in self._spills():
            for segment in range(spill.segments):
                records = spill.read(segment, partition, dtype=RECORD)
                if rounds > 1:
                    records = records[(records["b"] >> np.uint64(40)) % np.uint64(rounds) == number]
                    records.flags.writeable = False  # or the kernel would be compiled again
                repeats = seen.meet(records)
                facts["duplicates"] += len(repeats)
                yield repeats


@dataclass
class _Seen:
    """The distinct units so far, in a table of open addressing."""

    slots: npt.NDArray[np.int32]
    units: Records
    counts: npt.NDArray[np.int64]
    n: int = 0

    @classmethod
    def of(cls, room: int) -> _Seen:
        """A table with room for so many distinct units."""
        slots = np.full(max(8, 1 << (2 * room).bit_length()), -1, np.int32)
        return cls(slots, np.empty(room, RECORD), np.empty(room, np.int64))

    def meet(self, records: Records) -> Records:
        """The records that repeat a unit seen before, as spans; the others are seen now."""
        out = np.empty(len(records), SPAN)
        self.n, found = _meet(records, self.slots, self.units, self.counts, self.n, out)
        return out[:found].copy()

    def top(self) -> list[tuple[int, ...]]:
        """The most frequent units that repeat: (count, id, start, size)."""
        counts = self.counts[: self.n]
        least = max(2, int(np.partition(counts, -TOP)[-TOP])) if self.n > TOP else 2
        often = np.flatnonzero(counts >= least)
        often = often[np.argsort(-counts[often], kind="stable")][:TOP]
        return [(int(counts[i]), *(int(self.units[name][i]) for name in ("id", "start", "size"))) for i in often]


@kernel
def _meet(records: Records, slots: Any, units: Records, counts: I64, n: int, out: Records) -> tuple[int, int]:
    """Look every record up; write those found before to `out`. Returns how many units there are, and repeats."""
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
            out[k]["end"] = np.int64(records[j]["start"]) + np.int64(records[j]["size"])
            out[k]["kept"], out[k]["kept_start"] = units[u]["id"], units[u]["start"]
            k += 1
    return n, k


@dataclass(frozen=True)
class Cut:
    """Bring the repeats of a part together, and write its spans in order."""

    out: str
    partitions: int
    firsts: tuple[tuple[int, ...], ...]
    top: tuple[tuple[int, ...], ...]

    def __call__(self, item: Part) -> dict[str, Any]:
        """The receipt: how many spans and bytes are cut, and the texts of the most frequent units of this part."""
        url = files.join(self.out, "cut", f"part-{item.number:05d}")
        return receipts.once(url + ".json", item.key, lambda: self._write(url, item))

    def _write(self, url: str, item: Part) -> dict[str, Any]:
        n_spans, n_bytes, said = 0, 0, list[list[Any]]()
        with spill_to(url, 1) as spill:
            for spans in self._spans(item, said):
                if len(spans):
                    spill.write([spans])
                    n_spans, n_bytes = n_spans + len(spans), n_bytes + int((spans["end"] - spans["start"]).sum())
        return {"files": [url], "spans": n_spans, "bytes": n_bytes, "top": said}

    def _spans(self, item: Part, said: list[list[Any]]) -> Iterator[Records]:
        """The spans of every batch; a segment of repeats is in memory at a time."""
        firsts, at, held = self.firsts[item.number], 0, np.empty(0, SPAN)
        before = sum(map(len, self.firsts[: item.number]))
        for batch in item.batches(["id", "text"]) if firsts else ():
            if not batch.num_rows:
                continue
            last, more = B.ids(batch)[-1], True
            said += self._texts(batch)
            while more:
                more = at < len(firsts) and firsts[at] <= last
                n = int(np.searchsorted(held["id"], last, "right"))
                done, running = close_up(held[:n], batch, final=not more)
                held = np.concatenate([running, held[n:]])
                yield done
                if more:
                    held = np.concatenate([held, self._repeats(before + at)])
                    at += 1

    def _repeats(self, segment: int) -> Records:
        found = [np.empty(0, SPAN)]
        for partition in range(self.partitions):
            with Spill(files.join(self.out, "match", f"partition-{partition:05d}")) as spill:
                found += [spill.read(number, segment, dtype=SPAN) for number in range(spill.segments)]
        repeats = np.concatenate(found)
        return repeats[np.lexsort((repeats["start"], repeats["id"]))]

    def _texts(self, batch: Batch) -> Iterator[list[Any]]:
        """The most frequent units whose first place is in this batch: [id, start, text]."""
        (offsets, data), ids = B.buffers(batch), B.ids(batch)
        for _, id_, start, size in self.top:
            row = int(np.searchsorted(ids, np.uint64(id_)))
            if row < len(ids) and ids[row] == id_:
                first = int(offsets[row]) + start
                text = bytes(data[first : first + min(size, 4 * TOP_CHARS)]).decode(errors="ignore")
                yield [id_, start, text[:TOP_CHARS]]
