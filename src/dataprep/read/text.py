"""Readers of plain text: one document per file, paragraph or line.

Text is UTF-8; a byte order mark and carriage returns at the end of lines are removed. A document that is not UTF-8 is
dropped as `invalid_utf8`, one over max_doc_bytes as `too_long`; nothing is guessed or replaced. The position is the
byte offset of the document's first byte (0 for a whole file).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch, doc_id
from dataprep.core.ledger import Ledger
from dataprep.core.reader import Reader, Slice
from dataprep.errors import PlanError
from dataprep.store import files

from .lines import BLOCK, BOM, blocks, open_at
from .trust import MAX_BAD, MAX_DOC_BYTES, Trust

REMEDY = "convert it to UTF-8 (iconv -f LATIN1 -t UTF-8), or allow more with max_bad="


class Record(NamedTuple):
    """Piece of a file: its offset, its bytes (None if they are over the limit), and its size in bytes."""

    position: int
    data: bytes | None
    n_bytes: int
    meta: str = "{}"


@dataclass(frozen=True, kw_only=True)
class Text(Reader):
    """Reads one document per file; a file that is not UTF-8 is a dropped document, not an error."""

    max_doc_bytes: int = MAX_DOC_BYTES

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the file as one document."""
        with files.open_read(piece.url) as stream:
            data = stream.read(self.max_doc_bytes + len(BOM) + 1).removeprefix(BOM)
            n_bytes = len(data)
            while len(data) > self.max_doc_bytes and (more := len(stream.read(BLOCK))):
                n_bytes += more
        record = Record(0, data if n_bytes <= self.max_doc_bytes else None, n_bytes)
        yield from documents(iter([record]), piece, stats, None)


@dataclass(frozen=True, kw_only=True)
class Lines(Reader):
    """Reads one document per line; blank lines are skipped. max_bad: the share of bad lines allowed (`trust.py`)."""

    max_doc_bytes: int = MAX_DOC_BYTES
    max_bad: float = MAX_BAD
    splits: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.max_doc_bytes < 1:
            msg = f"max_doc_bytes={self.max_doc_bytes} must be at least 1: the bytes of the longest one to keep"
            raise PlanError(msg)

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the lines that begin in the slice."""
        whole = piece.start == 0 and piece.stop is None
        trust = Trust(piece.url, self.max_bad, whole=whole, remedy=REMEDY)
        yield from documents(self.records(piece), piece, stats, trust)

    def records(self, piece: Slice) -> Iterator[Record]:
        """Yield every line that is not blank."""
        return (line for line in self._lines(piece) if line.data is None or line.data.strip())

    def _lines(self, piece: Slice) -> Iterator[Record]:
        with open_at(piece) as stream:
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
    """Reads one document per paragraph: neighbouring lines that are not blank, joined by line feeds."""

    splits: ClassVar[bool] = False

    def records(self, piece: Slice) -> Iterator[Record]:
        """Yield every paragraph; one over max_doc_bytes is read to its end without being kept."""
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


def documents(records: Iterator[Record], piece: Slice, stats: Ledger, trust: Trust | None) -> Iterator[Batch]:
    """Yield records as batches; records that are too long or not UTF-8 are dropped."""
    held: list[Record] = []
    size = 0
    for record in records:
        held.append(record)
        size += record.n_bytes if record.data is not None else 0
        if size >= B.MAX_BYTES or len(held) >= B.MAX_ROWS:
            yield from _batch(held, piece, stats, trust)
            held, size = [], 0
    yield from _batch(held, piece, stats, trust)
    if trust is not None:
        trust.close()


def _batch(records: list[Record], piece: Slice, stats: Ledger, trust: Trust | None) -> Iterator[Batch]:
    good = [r for r in records if r.data is not None]
    texts = pa.array([r.data for r in good], pa.large_binary())
    bad = [(r, "too_long") for r in records if r.data is None]
    try:
        texts = texts.cast(pa.large_string())
    except pa.ArrowInvalid:
        bad += [(r, "invalid_utf8") for r in good if not is_utf8(r.data)]
        good = [r for r in good if is_utf8(r.data)]
        texts = pa.array([r.data for r in good], pa.large_binary()).cast(pa.large_string())
    bad.sort()
    if trust is not None:
        trust.count([r.position for r in good], [r.position for r, _ in bad], lambda: _describe(*bad[0]))
    stats.drop(_ids([r for r, _ in bad], piece), [why for _, why in bad], n_bytes=[r.n_bytes for r, _ in bad])
    if good:
        yield B.make(_ids(good, piece), texts, piece.source, [r.meta for r in good])


def is_utf8(data: bytes | None) -> bool:
    """Return whether bytes are UTF-8."""
    try:
        (data or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _describe(record: Record, why: str) -> str:
    return f"{why}, {record.n_bytes:,} bytes" if record.data is None else f"{why} {record.data[:60]!r}"


def _ids(records: list[Record], piece: Slice) -> B.Ids:
    return np.array([doc_id(piece.file, r.position) for r in records], np.uint64)
