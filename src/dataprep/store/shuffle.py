"""Shuffle files of one pass, each of which has some of the sections, so that a section is read from a few files.

If each of P tasks writes a file with K sections, and each of K tasks reads its section from all files, P * K files are
opened. `MergeSections` (`core/run/merge.py`) therefore merges the files of FAN_IN tasks into one, in which a section is
contiguous. A task then opens at most FAN_IN files, and the number of opens grows with P + K. If there are more than
FAN_IN groups of files, their files are merged again, each into several files with a *slice* of the sections, so that
no task reads more than the tasks before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from . import files
from .spill import Spill

FAN_IN = 64  # files that a task reads


@dataclass(frozen=True)
class ShuffleFiles:
    """The sections of a pass, each in one file per group.

    Attributes:
        url: the URL of a file without its number, which is `start` + group * `slices` + slice.
        groups: the number of groups, each of which has all sections.
        n: the number of sections; or of pairs of sections, if `width` is 2.
        width: the number of adjacent sections that are never in different files.
        slices: the number of files of a group; file s has the sections n * s // slices to n * (s + 1) // slices - 1.
        start: the number of the first file.
    """

    url: str
    groups: int
    n: int
    width: int = 1
    slices: int = 1
    start: int = 0

    def file(self, number: int) -> str:
        """Return the URL of file `number`, counted from 0."""
        return f"{self.url}{self.start + number:05d}"

    def cuts(self, number: int) -> tuple[int, int]:
        """Return the first section of slice `number`, and the section after its last one."""
        return self.n * number // self.slices, self.n * (number + 1) // self.slices

    def slice_of(self, section: int) -> int:
        """Return the number of the slice that contains a section."""
        return ((section + 1) * self.slices - 1) // self.n

    def of(self, section: int) -> tuple[list[str], int]:
        """Return the URLs of the files that contain a section, in order of the groups, and its index in each."""
        own = self.slice_of(section)
        urls = [self.file(group * self.slices + own) for group in range(self.groups)]
        return urls, section - self.cuts(own)[0]

    def blocks(self, section: int, dtype: Any, n: int) -> Iterator[npt.NDArray[Any]]:
        """Yield the data of a section in order, as arrays of at most `n` items of `dtype`."""
        urls, index = self.of(section)
        size = np.dtype(dtype).itemsize
        for url in urls:
            with Spill(url) as spill:
                for segment in range(spill.segments):
                    start, stop = spill.where(segment, index)
                    for low in range(start, stop, n * size):
                        yield spill.bytes(low, min(low + n * size, stop)).view(dtype)

    def section(self, number: int, dtype: Any) -> npt.NDArray[Any]:
        """Return the data of section `number`, or of its first one of a pair, as one array of `dtype`."""
        return np.concatenate([np.zeros(0, dtype), *self.read(number, number + 1, dtype)])

    def size(self, section: int) -> int:
        """Return the number of bytes of a section."""
        urls, index = self.of(section)

        def size(url: str) -> int:
            with Spill(url) as spill:
                return int(sum(-np.subtract(*spill.where(segment, index)) for segment in range(spill.segments)))

        return sum(n for _, n in files.each(size, urls))

    def read(self, first: int, last: int, dtype: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the data of the sections `first` to `last - 1`, as arrays of `dtype`."""
        while first < last:
            urls, index = self.of(first)
            end = min(last, self.cuts(self.slice_of(first))[1])
            cut = self.width * index, self.width * (index + end - first)
            for _, found in files.each(partial(_sections, *cut, dtype), urls):
                yield from found
            first = end


def _sections(first: int, last: int, dtype: Any, url: str) -> list[npt.NDArray[Any]]:
    """Return the data of the sections `first` to `last - 1` of a file, as one array of `dtype` per segment."""
    with Spill(url) as spill:
        return [spill.read(segment, first, last, dtype) for segment in range(spill.segments)]
