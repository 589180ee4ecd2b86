"""Read many records of an archive at once: decompress them into one buffer, and find them there (`split.py`).

If the package `fastwarc` is installed, it decompresses gzip, because it is twice as fast as Python's zlib. It does not
report where a member begins; but each member begins with the same three bytes, and ends with the size of its content.
If these do not agree with the records, or if data is damaged, records are read one by one (`records.py`).
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from dataprep.errors import ReadError
from dataprep.store import files
from dataprep.unicode.text import I64, U8

from .archive import HEADERS, Archive, Entry
from .members import CHUNK, GZIP, filler
from .split import BODY, COLUMNS, END, FIRST, KIND, KINDS, ODD, SHORT, TYPE, member_starts, split

SMALLEST, LARGEST = 1 << 16, 1 << 21  # bytes read at once: few at first, since what follows an odd record is read again
PIECE = 1 << 16  # bytes that FastWARC decompresses into new memory, which should stay in the cache
MAX_RECORD = 8 << 20  # bytes; larger ones are read one by one, in bounded memory
MAX_RECORDS = 8_192  # in one block


class ArchiveBlock(NamedTuple):
    """Records of an archive, one after the other; valid until the next block is read.

    Attributes:
        data: uint8, bytes of the archive.
        rows: int64[n, COLUMNS], the offsets in `data` of the parts of each record, see `split.py`.
        positions: int64[n], the offset of each record in the file as stored.
    """

    data: U8
    rows: I64
    positions: I64

    def kinds(self) -> Counter[str]:
        """Return how many records of each type there are."""
        known = np.bincount(self.rows[:, KIND] + 1, minlength=len(KINDS) + 1)
        return Counter({kind: int(n) for kind, n in zip(("other", *KINDS), known, strict=True) if n})

    def without(self, kept: frozenset[str]) -> tuple[ArchiveBlock, Counter[str]]:
        """Return the records of the types `kept` or of unknown types, and how many others of each type there are."""
        is_left = np.array([True, *(kind in kept for kind in KINDS)])[self.rows[:, KIND] + 1]
        others = ArchiveBlock(self.data, self.rows[~is_left], self.positions[~is_left]).kinds()
        return ArchiveBlock(self.data, self.rows[is_left], self.positions[is_left]), others

    def entries(self, wanted: frozenset[str], max_bytes: int) -> Iterator[Entry]:
        """Yield the records one by one, those of `wanted` types with headers, and with their content up to a size."""
        data = self.data.data
        for row, position in zip(self.rows.tolist(), self.positions.tolist(), strict=True):
            start, end = row[BODY], row[END]
            typed = slice(row[FIRST + 2 * TYPE], row[FIRST + 2 * TYPE + 1])
            kind = KINDS[row[KIND]] if row[KIND] >= 0 else str(data[typed], "utf-8", "replace").strip().lower()
            if kind not in wanted:
                yield Entry(position, {"warc-type": kind}, end - start, None)
                continue
            spans = zip(HEADERS, row[FIRST::2], row[FIRST + 1 :: 2], strict=True)
            headers = {name: str(data[i:j], "utf-8", "replace").strip() for name, i, j in spans if j}
            yield Entry(position, headers, end - start, bytes(data[start:end]) if end - start <= max_bytes else None)


def blocks(archive: Archive) -> Iterator[ArchiveBlock]:
    """Yield the records at the archive's position and after it, up to one that must be read by itself.

    The archive is then at this record.
    """
    is_gzip = archive.magic == GZIP and archive.apart is True and not archive.damaged
    source: Any = _Members(archive) if is_gzip and _gzip_reader() is not None else _Stream(archive)
    rows = np.empty((MAX_RECORDS, COLUMNS), np.int64)
    raw, held, size, why = bytearray(len(source.begun) + LARGEST), len(source.begun), SMALLEST, SHORT
    raw[:held] = source.begun  # what is not filled takes no memory yet
    try:
        while why != ODD and held < MAX_RECORD:
            got = 0
            if why == SHORT:
                if len(raw) < held + size:
                    raw = raw + bytes(len(raw))
                got = source.fill(memoryview(raw)[held : held + size])
                held, size = held + got, min(2 * size, LARGEST)
            data = np.frombuffer(raw, np.uint8)
            found, bounds, why = split(data, held, rows)
            positions = source.positions(bounds)
            n = len(positions)
            if n < len(found) or (why == SHORT and not got):
                why = ODD
            if n:
                yield ArchiveBlock(data, found[:n], positions)
                held -= int(bounds[n])
                raw[:held] = raw[bounds[n] : bounds[n] + held]
    finally:
        source.close()
    source.leave(bytes(raw[:held]))


class _Stream:
    """The decompressed bytes of an archive, from its current record on, as the archive itself reads them."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.begun, self.error = archive.take()
        self.base = archive.at - len(self.begun)  # the decompressed offset of the next record
        self.stored = archive.mark  # the offset of the next record as stored, if reading can begin there

    def fill(self, view: memoryview) -> int:
        """Read bytes into `view`; return their number, less than its length only at the end or before damage."""
        n, fill = 0, filler(self.archive.stream)
        try:
            while self.error is None and n < len(view) and (got := fill(view[n : n + CHUNK])):
                n += got
        except ReadError as e:
            self.error = e
        self.archive.at += n
        return n

    def positions(self, bounds: I64) -> I64:
        """Return the offsets of the records in the stored file, int64[n]; fewer if later records have no known offset.

        Args:
            bounds: int64[n + 1], the offsets in the buffer at which the records begin, and the end of the last record.
        """
        at, n = self.base + bounds, len(bounds) - 1
        stored = at
        if self.archive.members is not None and self.archive.apart:
            starts = self.archive.members.starts
            given = np.fromiter(starts, np.int64, len(starts))
            k = np.minimum(np.searchsorted(given, at), len(given) - 1)
            right = (given[k] == at) & (k == k[0] + np.arange(n + 1))
            n = 0 if not right[0] else int(np.append(right, False).argmin()) - 1
            stored = np.fromiter(starts.values(), np.int64, len(starts))[k]
        self.base, self.stored = int(at[n]), int(stored[n]) if n else self.stored
        if n and self.archive.members is not None:
            self.archive.members.starts = {g: s for g, s in self.archive.members.starts.items() if g >= self.base}
        return stored[:n]

    def close(self) -> None:
        """Do nothing: the archive closes its file."""

    def leave(self, rest: bytes) -> None:
        """Let the archive continue at the next record.

        Args:
            rest: the bytes that are held from there on.
        """
        self.archive.damaged = False
        if self.archive.is_seekable:
            self.archive.open(self.stored)
        else:
            self.archive.give_back(rest, self.error)


class _Members:
    """The decompressed bytes of gzip members, from the current record of an archive on, as FastWARC reads them."""

    begun = b""

    def __init__(self, archive: Archive) -> None:
        archive.close()
        self.archive, self.base = archive, archive.mark  # base: the offset of the next record as stored
        self.tap = _Tap(files.open_raw(archive.url))
        self.tap.raw.seek(self.base)
        self.reader = _gzip_reader()(self.tap)

    def fill(self, view: memoryview) -> int:
        """Read bytes into `view`; return their number, less than its length only at the end or before damage."""
        n, data = 0, b" "
        try:
            while n < len(view) and data and not self.archive.damaged:
                data = self.reader.read(min(PIECE, len(view) - n))
                view[n : n + len(data)] = data
                n += len(data)
        except OSError:
            if self.tap.error is not None:
                raise self.tap.error from None
            self.archive.damaged = True
        return n

    def positions(self, bounds: I64) -> I64:
        """Return the offsets of the records in the stored file, int64[n]; fewer if one cannot be found.

        Args:
            bounds: int64[n + 1], the offsets in the buffer at which the records begin, and the end of the last record.
        """
        starts = member_starts(np.frombuffer(self.tap.stored, np.uint8), bounds)
        found = self.base + starts
        self.base = int(found[-1])
        del self.tap.stored[: int(starts[-1])]
        return found[:-1]

    def close(self) -> None:
        """Close the file."""
        self.tap.raw.close()

    def leave(self, rest: bytes) -> None:  # noqa: ARG002 - they are decompressed again
        """Let the archive continue at the next record."""
        self.archive.open(self.base)


class _Tap:
    """A file that records the bytes read from it, and the error that reading raised."""

    def __init__(self, raw: BinaryIO) -> None:
        self.raw, self.stored = raw, bytearray()
        self.error: BaseException | None = None

    def read(self, n: int = -1) -> bytes:
        """Return at most n bytes."""
        try:
            data = self.raw.read(n)
        except BaseException as e:
            self.error = e
            raise
        self.stored += data
        return data

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self.raw.tell()


@cache
def _gzip_reader() -> Any:
    """Return FastWARC's reader of gzip, or None if it is not installed, or so old that it has none."""
    try:
        return importlib.import_module("fastwarc.stream_io").GzipReader
    except (ImportError, AttributeError):
        return None
