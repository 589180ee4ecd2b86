"""Shuffle files: a task writes a segment when its memory is full, with one section per partition.

The next pass reads its sections of every file. Layout: the sections back to back, then their offsets
int64[segments * sections + 1], then the two counts, so that a reader reads only the offsets that it needs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from . import files

TAIL = 16  # bytes of the two counts


class SpillWriter:
    """Writer of segments of `n_sections` sections each; `close` writes the offsets."""

    def __init__(self, f: BinaryIO, n_sections: int) -> None:
        self.f, self.n_sections = f, n_sections
        self.offsets = [0]
        self.segments = 0

    def write(self, sections: Iterable[npt.NDArray[Any]]) -> None:
        """Write one segment: an array per section."""
        for section in sections:
            data = np.ascontiguousarray(section)
            self.f.write(data.view(np.uint8).data if data.size else b"")
            self.offsets.append(self.offsets[-1] + data.nbytes)
        self.segments += 1

    def close(self) -> None:
        """Write the offsets and the counts."""
        self.f.write(np.array(self.offsets, np.int64).tobytes())
        self.f.write(np.array([self.segments, self.n_sections], np.int64).tobytes())


@contextlib.contextmanager
def spill_to(url: str, n_sections: int) -> Iterator[SpillWriter]:
    """Yield a shuffle file that appears whole when the block ends."""
    with files.atomic(url) as f:
        writer = SpillWriter(f, n_sections)
        yield writer
        writer.close()


class Spill:
    """Reader of a shuffle file: `where(segment, k)` for offsets, `read(segment, k, dtype)` for contents."""

    def __init__(self, url: str) -> None:
        self.f = files.open_raw(url)
        end = self.f.seek(-TAIL, 2)
        self.segments, self.n_sections = np.frombuffer(self.f.read(TAIL), np.int64).tolist()
        self.table = end - 8 * (self.segments * self.n_sections + 1)

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *_: object) -> None:
        self.f.close()

    def where(self, segment: int, first: int, last: int | None = None) -> tuple[int, int]:
        """Return first byte and end of the sections [first, last) of a segment; `last` None: one section."""
        last = first + 1 if last is None else last
        self.f.seek(self.table + 8 * (segment * self.n_sections + first))
        offsets = np.frombuffer(self.f.read(8 * (last - first + 1)), np.int64)
        return int(offsets[0]), int(offsets[-1])

    def read(self, segment: int, first: int, last: int | None = None, dtype: Any = np.uint8) -> npt.NDArray[Any]:
        """Return the contents of the sections [first, last) of a segment; `last` None: one section."""
        start, stop = self.where(segment, first, last)
        return self.bytes(start, stop).view(dtype)

    def bytes(self, start: int, stop: int) -> npt.NDArray[np.uint8]:
        """Return the bytes [start, stop) of the file."""
        self.f.seek(start)
        return np.frombuffer(self.f.read(stop - start), np.uint8)
