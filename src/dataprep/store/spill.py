"""Shuffle files, which the tasks of one pass write for the tasks of the next pass; their data is partitioned.

A task writes a segment each time its memory is full; a segment has one section (array) per partition. A task of the
next pass reads one partition's sections from all files.

A file contains the sections one after another, then the offset of each section, int64[segments * sections + 1], then
the number of segments and the number of sections per segment. A section can therefore be read without the sections
before it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from . import files

T = TypeVar("T")
TAIL = 16  # bytes of the two counts


class Divided(NamedTuple):
    """An array that consists of several sections, which are written at once: section k is rows[cuts[k]:cuts[k + 1]].

    Attributes:
        cuts: int64, ascending, from 0 to the number of rows.
    """

    rows: npt.NDArray[Any]
    cuts: npt.NDArray[np.int64]


class SpillWriter:
    """Writes a shuffle file: segments of `n_sections` sections (arrays) each; `close` writes the table of offsets."""

    def __init__(self, f: BinaryIO, n_sections: int) -> None:
        self.f, self.n_sections = f, n_sections
        self.offsets = [0]
        self.segments = 0

    def write(self, sections: Iterable[npt.NDArray[Any] | Divided]) -> None:
        """Write one segment: `sections` yields the array of each section, or several sections as a Divided."""
        for section in sections:
            rows = section.rows if isinstance(section, Divided) else section
            at = self.offsets[-1]
            if rows.size:
                self.f.write(np.ascontiguousarray(rows).view(np.uint8).data)
            if isinstance(section, Divided):
                self.offsets += (at + rows.nbytes // max(1, len(rows)) * section.cuts[1:]).tolist()
            else:
                self.offsets.append(at + rows.nbytes)
        self.segments += 1

    def write_together(
        self, items: Iterable[T], size: Callable[[T], int], enough: int, sections: Callable[[list[T]], Any]
    ) -> None:
        """Write all `items`; a segment is written each time the collected items have a total size of at least `enough`.

        The items that remain at the end are written as a segment too.

        - size: a function that returns the size of an item.
        - sections: a function that takes a list of items and returns the arrays of their segment, one per section.
        """
        held: list[T] = []
        total = 0
        for item in items:
            held.append(item)
            total += size(item)
            if total >= enough:
                self.write(sections(held))
                held, total = [], 0
        if held:
            self.write(sections(held))

    def write_bytes(self, sizes: npt.NDArray[np.int64], pieces: Iterable[Any]) -> None:
        """Write one segment from bytes: `pieces` yields the bytes of all sections, cut anywhere.

        - sizes: the size of each section in bytes.
        """
        self.offsets += (self.offsets[-1] + np.cumsum(sizes)).tolist()
        self.segments += 1
        for piece in pieces:
            self.f.write(piece)

    def close(self) -> None:
        """Write the end of the file: the table of offsets, and the numbers of segments and sections."""
        self.f.write(np.array(self.offsets, np.int64).tobytes())
        self.f.write(np.array([self.segments, self.n_sections], np.int64).tobytes())


@contextlib.contextmanager
def spill_to(url: str, n_sections: int) -> Iterator[SpillWriter]:
    """Yield the writer of a shuffle file; the file appears at `url` when the `with` block ends without an error.

    - n_sections: the number of sections (arrays) per segment, one per partition.
    """
    with files.atomic(url, synced=False) as f:
        writer = SpillWriter(f, n_sections)
        yield writer
        writer.close()


def write_spill(url: str, sections: Sequence[npt.NDArray[Any]]) -> None:
    """Write a shuffle file of one segment: one section per array of `sections`."""
    with spill_to(url, len(sections)) as spill:
        spill.write(sections)


class Spill:
    """Reads a shuffle file, which consists of segments of sections (arrays); `read` returns sections as arrays."""

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
        """Return the byte range (start, stop) in the file of sections `first` to `last - 1` of a segment.

        - last: None for section `first` only.
        """
        offsets = self.offsets(segment, first, first + 1 if last is None else last)
        return int(offsets[0]), int(offsets[-1])

    def offsets(self, segment: int, first: int, last: int) -> npt.NDArray[np.int64]:
        """Return the offsets in the file of sections `first` to `last - 1` of a segment, and of their end."""
        self.f.seek(self.table + 8 * (segment * self.n_sections + first))
        return np.frombuffer(self.f.read(8 * (last - first + 1)), np.int64)

    def read(self, segment: int, first: int, last: int | None = None, dtype: Any = np.uint8) -> npt.NDArray[Any]:
        """Return the data of sections `first` to `last - 1` of a segment as one array of `dtype`.

        - last: None for section `first` only.
        """
        start, stop = self.where(segment, first, last)
        return self.bytes(start, stop).view(dtype)

    def divided(self, segment: int, first: int, last: int, step: int, dtype: Any) -> list[npt.NDArray[Any]]:
        """Return the data of sections `first` to `last - 1` as arrays of `step` sections each, from one read."""
        ends = self.offsets(segment, first, last)[::step]
        data = self.bytes(int(ends[0]), int(ends[-1]))
        return [data[low:high].view(dtype) for low, high in itertools.pairwise((ends - ends[0]).tolist())]

    def bytes(self, start: int, stop: int) -> npt.NDArray[np.uint8]:
        """Return the bytes `start` to `stop - 1` of the file, uint8."""
        self.f.seek(start)
        return np.frombuffer(self.f.read(stop - start), np.uint8)


def each_section(urls: Iterable[str], number: int, dtype: Any) -> Iterator[npt.NDArray[Any]]:
    """Yield section `number` of every segment of the shuffle files `urls`, in order, as arrays of `dtype`."""
    for url in urls:
        with Spill(url) as spill:
            for segment in range(spill.segments):
                yield spill.read(segment, number, dtype=dtype)


def all_sections(urls: Iterable[str], number: int, dtype: Any) -> npt.NDArray[Any]:
    """Return section `number` of all segments of the shuffle files `urls`, concatenated into one array of `dtype`."""
    return np.concatenate([np.zeros(0, dtype), *each_section(urls, number, dtype)])


@dataclass
class SpilledRows:
    """The rows of one partition of shuffle files; a row is a header of fixed size, and a payload of any size.

    Each segment has two sections per partition, one of headers and one of payloads.

    Attributes:
        urls: the files.
        headers: the headers of all rows, in memory.
        file: for each row, the index in `urls` of the file with its payload.
        offset: the offset of this payload in the file, in bytes.
        size: the size of this payload in bytes.
    """

    urls: Sequence[str]
    headers: npt.NDArray[Any]
    file: npt.NDArray[np.int32]  # index in `urls`
    offset: npt.NDArray[np.int64]  # of the payload in the file, in bytes
    size: npt.NDArray[np.int64]  # of the payload, in bytes

    @classmethod
    def read(
        cls, urls: Sequence[str], partition: int, dtype: Any, size: Callable[[Any], npt.NDArray[np.int64]]
    ) -> SpilledRows:
        """Return the rows of partition number `partition`, in order of the shuffle files `urls`; reads only headers.

        - dtype: the dtype of a header.
        - size: a function that takes n headers and returns the sizes in bytes of their payloads, int64[n].
        """

        def read(url: str) -> list[tuple[Any, int]]:
            """Return, for each segment of a file, its headers and the offset of its payloads."""
            with Spill(url) as spill:
                return [
                    (spill.read(segment, 2 * partition, dtype=dtype), spill.where(segment, 2 * partition + 1)[0])
                    for segment in range(spill.segments)
                ]

        none = np.zeros(0, np.int64)
        rows: list[tuple[Any, ...]] = [(np.zeros(0, dtype), none.astype(np.int32), none, none)]
        for number, (_, segments) in enumerate(files.each(read, urls)):
            for found, start in segments:
                n = size(found)
                rows.append((found, np.full(len(found), number, np.int32), start + np.cumsum(n) - n, n))
        headers, file, offset, sizes = (np.concatenate(column) for column in zip(*rows, strict=True))
        return cls(urls, headers, file, offset, sizes)

    def load(self, rows: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Read the payloads of n rows; return (the offset of each payload in the bytes, int64[n]; the bytes, uint8).

        Args:
            rows: the indices of these rows.
        """
        order = np.lexsort((self.offset[rows], self.file[rows]))
        chosen = rows[order]
        file, offset, size = self.file[chosen], self.offset[chosen], self.size[chosen]
        ends = np.cumsum(size)
        out = np.empty(int(size.sum()), np.uint8)
        apart = (file[1:] != file[:-1]) | (offset[1:] != offset[:-1] + size[:-1])  # otherwise adjacent: one read
        cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(order)] if len(order) else []
        runs = itertools.groupby(itertools.pairwise(cuts), lambda run: self.urls[file[run[0]]])
        runs_of = {url: list(own) for url, own in runs}

        def read(url: str) -> None:
            with files.open_raw(url) as f:
                for low, high in runs_of[url]:
                    f.seek(int(offset[low]))
                    n_bytes = int(size[low:high].sum())
                    out[ends[high - 1] - n_bytes : ends[high - 1]] = np.frombuffer(f.read(n_bytes), np.uint8)

        for _ in files.each(read, list(runs_of)):
            pass
        starts = np.empty(len(rows), np.int64)
        starts[order] = ends - size
        return starts, out
