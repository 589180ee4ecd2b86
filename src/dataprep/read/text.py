"""Readers of plain text, one document per file, paragraph or line; and `blocks`, which all readers of lines use.

Text is UTF-8; a byte order mark and carriage returns at the end of lines are removed. A document that is not UTF-8 is
dropped as `invalid_utf8`, one over max_doc_bytes as `too_long`, an empty file as `empty`. Only whole files in another
encoding are decoded (`charsets/decide.py`). The position of a document is the offset of its first byte (0 for a whole
file).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError, counted
from dataprep.store import files
from dataprep.unicode.valid import is_utf8

from .trust import LimitedReader, Trust

PADDING = 64  # bytes a block has beyond its last newline, so that look-ahead never leaves the buffer
BLOCK = 4 << 20  # bytes per read: half a batch, and small enough for the cache
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class LineBlock:
    """Whole lines of a file, data[:stop], each with its newline; the next block overwrites `data`.

    data is longer than `stop` by at least PADDING bytes.

    Attributes:
        start: the offset of data[0] in the file.
        too_long: if not None, the block has no lines, and one line of that many bytes (without its newline) was skipped
            at `start`.
    """

    data: npt.NDArray[np.uint8]
    stop: int
    start: int
    too_long: int | None = None


def blocks(
    stream: BinaryIO, start: int, stop: int | None, max_line: int, n_bytes: int | None = None
) -> Iterator[LineBlock]:
    """Yield the lines that begin at offsets from `start` to before `stop` (None: the end), in blocks of whole lines.

    - stream: must be at offset max(0, start - 1), since the byte before `start` shows whether a line begins at `start`.
    - max_line: the bytes of the longest line to keep. A missing last newline is added. Memory: max_line and one block.
      If the stream is damaged, the whole lines before the damage are yielded before ReadError is raised.
    - n_bytes: the bytes of a block, unless a line is longer; None: BLOCK.
    """
    source = UntilDamage(stream)
    raw = bytearray((n_bytes or BLOCK) + PADDING)
    held = 0  # bytes at the front that were read but not returned: the beginning of a line
    skipped = None  # bytes of the line being skipped, which is reported if it began in this slice
    tell = True
    if start and stream.read(1) != b"\n":
        skipped, tell = 0, False
    while stop is None or start < stop:
        if 2 * held > len(raw) - PADDING:
            raw = raw + bytes(len(raw))
        got = source.readinto(memoryview(raw)[held : len(raw) - PADDING])
        n = held + got
        if not got:
            if not n and skipped is None:
                return
            raw[n] = 10
            n += 1
        at = 0  # of the first line in `raw`, whose offset in the file is `start`
        if skipped is not None:
            at = raw.find(b"\n", 0, n) + 1
            if not at:
                skipped, held = skipped + n, 0
                continue
            if tell:
                yield LineBlock(np.empty(0, np.uint8), 0, start, skipped + at - 1)
            start, skipped, tell = start + skipped + at, None, True
            if stop is not None and start >= stop:
                return
        cut = max(at, raw.rfind(b"\n", at, n) + 1)
        last = -1 if stop is None or start + n - at < stop else raw.find(b"\n", at + stop - 1 - start, n)
        if last >= 0:
            cut = last + 1
        if cut > at:
            yield LineBlock(np.frombuffer(raw, np.uint8)[at:], cut - at, start)
        if last >= 0 or not got:
            return
        start, held = start + cut - at, _move(raw, cut, n)
        if held > max_line:
            skipped, held = held, 0


class UntilDamage:
    """Fills buffers from a stream; bytes that were read before an error are returned before it is raised."""

    def __init__(self, stream: BinaryIO) -> None:
        self.fill: Callable[[memoryview], int] = getattr(stream, "readinto1", None) or stream.readinto  # type: ignore[attr-defined]
        self.error: ReadError | None = None

    def readinto(self, buffer: memoryview) -> int:
        """Return the number of bytes read: as many as the buffer holds, unless the stream ends or is damaged."""
        n = 0
        try:
            while self.error is None and n < len(buffer) and (got := self.fill(buffer[n:])):
                n += got
        except ReadError as e:
            self.error = e
        if self.error is not None and not n:
            raise self.error
        return n

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes."""
        raw = bytearray(size)
        return bytes(memoryview(raw)[: self.readinto(memoryview(raw))])


def _move(raw: bytearray, start: int, stop: int) -> int:
    """Move raw[start:stop] to the front; return how many bytes that is."""
    data = np.frombuffer(raw, np.uint8)
    data[: stop - start] = data[start:stop]
    return stop - start


def open_at(piece: Slice) -> BinaryIO:
    """Return a stream of the decompressed bytes of the file of `piece`, for `blocks`.

    The stream begins one byte before the slice; for a compressed file, at the start of the file.
    """
    if not piece.start or files.is_compressed(piece.url):
        return piece.open()
    stream = files.open_raw(piece.url)
    stream.seek(piece.start - 1)
    return stream


REMEDY = "convert it to UTF-8 (iconv -f LATIN1 -t UTF-8), or allow more with max_bad="


class Record(NamedTuple):
    """A line or paragraph of a file: its offset, content (None if too long), size in bytes, and JSON metadata."""

    position: int
    data: bytes | None
    n_bytes: int
    meta: str = "{}"


@dataclass(frozen=True, kw_only=True)
class Lines(LimitedReader):
    """Reads one document per line; blank lines are skipped."""

    splits: ClassVar[bool] = True

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the lines that begin in the slice as batches, one document per line."""
        whole = piece.start == 0 and piece.stop is None
        trust = Trust(piece.url, self.max_bad, whole=whole, remedy=REMEDY)
        yield from documents(self.records(piece), piece, stats, trust)

    def records(self, piece: Slice) -> Iterator[Record]:
        """Yield a Record for every line that begins in the slice `piece` of a file and is not blank."""
        return (line for line in self._lines(piece) if line.data is None or line.data.strip())

    def opened(self, piece: Slice) -> BinaryIO:
        """Return a stream of the decompressed bytes of a slice, as `open_at` does."""
        return open_at(piece)

    def _lines(self, piece: Slice) -> Iterator[Record]:
        with self.opened(piece) as stream:
            for block in blocks(stream, piece.start, piece.stop, self.max_doc_bytes):
                if block.too_long is not None:
                    yield Record(block.start, None, block.too_long)
                    continue
                position = block.start
                for line in block.data[: block.stop].tobytes().split(b"\n")[:-1]:
                    kept = line.removesuffix(b"\r").removeprefix(BOM if position == 0 else b"")
                    yield Record(position, kept if len(line) <= self.max_doc_bytes else None, len(line))
                    position += len(line) + 1


@dataclass(frozen=True, kw_only=True)
class Paragraphs(Lines):
    """Reads one document per paragraph: consecutive lines that are not blank, joined by line feeds."""

    splits: ClassVar[bool] = False

    def records(self, piece: Slice) -> Iterator[Record]:
        """Yield a Record for each paragraph of `piece`, which is a whole file.

        A paragraph over max_doc_bytes has data=None, and is dropped.
        """
        held: list[bytes] | None = []
        position = n_bytes = 0
        for line in self._lines(piece):
            if line.data is None or line.data.strip():
                position = position if n_bytes else line.position
                n_bytes += (line.n_bytes if line.data is None else len(line.data)) + (n_bytes > 0)
                if held is None or line.data is None or n_bytes > self.max_doc_bytes:
                    held = None
                else:
                    held.append(line.data)
            elif n_bytes:
                yield Record(position, None if held is None else b"\n".join(held), n_bytes)
                held, n_bytes = [], 0
        if n_bytes:
            yield Record(position, None if held is None else b"\n".join(held), n_bytes)


class RecordColumns(NamedTuple):
    """Records of a file as columns: offsets and sizes, int64[n], contents, LargeBinaryArray, JSON metadata, n texts."""

    positions: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    texts: pa.LargeBinaryArray
    metas: Any


class _NextBatch:
    """Records for the next batch, in one buffer, since small objects fragment memory.

    Attributes:
        whole: if given, these records are the whole batch, and no record is added.
    """

    def __init__(self, whole: RecordColumns | None = None) -> None:
        self.whole = whole
        self.positions, self.sizes, self.ends, self.size = array("q"), array("q"), array("q", [0]), 0
        self.texts, self.too_long, self.metas = bytearray(), list[Record](), list[str]()

    def add(self, record: Record) -> bool:
        """Add a record; return whether the batch is full."""
        if record.data is None:
            self.too_long.append(record)
        else:
            self.positions.append(record.position)
            self.sizes.append(record.n_bytes)
            self.texts += record.data
            self.ends.append(len(self.texts))
            self.metas.append(record.meta)
            self.size += record.n_bytes
        return self.size >= B.MAX_BYTES or len(self.metas) + len(self.too_long) >= B.MAX_ROWS

    def columns(self) -> RecordColumns:
        """Return the records that have contents; no record can be added after that."""
        if self.whole is not None:
            return self.whole
        buffers = [None, pa.py_buffer(self.ends), pa.py_buffer(self.texts)]
        texts = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(self.metas), buffers)
        return RecordColumns(np.asarray(self.positions), np.asarray(self.sizes), texts, self.metas)


def documents(
    records: Iterator[Record | RecordColumns], piece: Slice, stats: Ledger, trust: Trust | None
) -> Iterator[Batch]:
    """Yield records as batches of documents; each `RecordColumns` becomes a separate batch.

    Records that are too long or not UTF-8 are recorded in `stats` as dropped.

    - piece: the slice of a file from which they were read.
    - trust: counts good and bad records, and raises ReadError if too many are bad; None: no limit.
    """
    held = _NextBatch()
    try:
        for record in records:
            if isinstance(record, RecordColumns):
                yield from _batch(held.columns(), held.too_long, piece, stats, trust)
                held = _NextBatch(record)
            elif not held.add(record):
                continue
            yield from _batch(held.columns(), held.too_long, piece, stats, trust)
            held = _NextBatch()
    except ReadError:  # the records before the error are documents if bad files are skipped
        yield from _batch(held.columns(), held.too_long, piece, stats, None)
        raise
    yield from _batch(held.columns(), held.too_long, piece, stats, trust)
    if trust is not None:
        trust.close()


def _batch(
    rows: RecordColumns, too_long: list[Record], piece: Slice, stats: Ledger, trust: Trust | None
) -> Iterator[Batch]:
    """Yield a batch of the rows that are UTF-8; the others, and those too long, are dropped."""
    bad = [(r, "too_long") for r in too_long]
    try:
        texts = rows.texts.cast(pa.large_string())
    except pa.ArrowInvalid:
        valid = np.array([is_utf8(text.as_py()) for text in rows.texts], np.bool_)
        wrong = [column[~valid].tolist() for column in rows[:2]], rows.texts.filter(pa.array(~valid)).to_pylist()
        bad += [(Record(at, data, n), "invalid_utf8") for at, n, data in zip(*wrong[0], wrong[1], strict=True)]
        rows = RecordColumns(*(pa.array(column).filter(pa.array(valid)) for column in rows))
        texts = rows.texts.cast(pa.large_string())
    bad.sort()
    if trust is not None:
        trust.count(np.asarray(rows.positions), [r.position for r, _ in bad], lambda: _describe(*bad[0]))
    if bad:
        lost = [r for r, _ in bad]
        stats.drop(_ids([r.position for r in lost], piece), [w for _, w in bad], n_bytes=[r.n_bytes for r in lost])
    if len(texts):
        yield B.make(_ids(rows.positions, piece), texts, piece.source, rows.metas)


def _describe(record: Record, why: str) -> str:
    return f"{why}, {counted(record.n_bytes, 'byte')}" if record.data is None else f"{why} {record.data[:60]!r}"


def _ids(positions: Any, piece: Slice) -> B.Ids:
    return np.asarray(positions, np.uint64) | np.uint64(doc_id(piece.file, 0))
