"""Whole lines of a stream, block by block, in bounded memory; shared by every reader of lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from dataprep.core.reader import Slice
from dataprep.store import files

PADDING = 64  # bytes a block has beyond its last newline, so that look-ahead never leaves the buffer
BLOCK = 4 << 20  # bytes per read: half a batch, and small enough for the cache
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class LineBlock:
    """Whole lines `data[:stop]`, each with its newline; the buffer `data`, longer by PADDING at least, is reused later.

    start: bytes of the stream before data[0]. too_long: if not None, the block holds no lines: one line at `start` of
    that many bytes (without its newline) was skipped.
    """

    data: npt.NDArray[np.uint8]
    stop: int
    start: int
    too_long: int | None = None


def blocks(stream: BinaryIO, start: int, stop: int | None, max_line: int) -> Iterator[LineBlock]:
    """Yield the lines that begin in [start, stop); the stream must begin at byte max(0, start - 1).

    The byte before `start` shows whether a line begins there: a line that began earlier belongs to the slice before. A
    missing last newline is added. Memory: max_line and one block.
    """
    raw = bytearray(BLOCK + PADDING)
    held = 0  # bytes at the front that were read but not returned: the beginning of a line
    skipped = None  # bytes of the line being skipped, which is reported if it began in this slice
    tell = True
    if start and stream.read(1) != b"\n":
        skipped, tell = 0, False
    while stop is None or start < stop:
        if len(raw) < held + BLOCK + PADDING:
            raw = raw + bytes(max(len(raw), BLOCK))
        got = stream.readinto(memoryview(raw)[held : held + BLOCK])  # type: ignore[attr-defined]
        n = held + got
        if not got:
            if not n and skipped is None:
                return
            raw[n] = 10
            n += 1
        if skipped is not None:
            end = raw.find(b"\n", 0, n)
            if end < 0:
                skipped, held = skipped + n, 0
                continue
            if tell:
                yield LineBlock(np.empty(0, np.uint8), 0, start, skipped + end)
            start, skipped, tell = start + skipped + end + 1, None, True
            held = _move(raw, end + 1, n)
            continue
        cut = raw.rfind(b"\n", 0, n) + 1
        last = -1 if stop is None or start + n < stop else raw.find(b"\n", stop - 1 - start, n)
        if last >= 0:
            cut = last + 1
        if cut:
            yield LineBlock(np.frombuffer(raw, np.uint8), cut, start)
        if last >= 0 or not got:
            return
        start, held = start + cut, _move(raw, cut, n)
        if held > max_line:
            skipped, held = held, 0


def _move(raw: bytearray, start: int, stop: int) -> int:
    """Move raw[start:stop] to the front; return how many bytes that is."""
    raw[: stop - start] = memoryview(raw)[start:stop].tobytes()
    return stop - start


def open_at(piece: Slice) -> BinaryIO:
    """Return the decompressed bytes of a slice, from the byte that `blocks` expects."""
    if files.is_compressed(piece.url):
        return files.open_read(piece.url)
    stream = files.open_raw(piece.url)
    stream.seek(max(0, piece.start - 1))
    return stream
