"""MergeSections: merge the shuffle files of many tasks into a few, so that the tasks of the next pass open few files.

Every byte is read once per level: one level for up to FAN_IN^2 files, two for up to FAN_IN^3. Memory holds MERGE_BYTES
and the tables of offsets of FAN_IN files.

If many tasks had to write many sections each, their tables of offsets would be larger than the data. They then write
MAX_SECTIONS, and SplitSections divides each of these into the sections of one file.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.store import files, shuffle
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import Divided, Spill, spill_to

from .passes import Pass
from .runner import Runner

MERGE_BYTES = 32 << 20  # in memory at once, and again as the sections are put in order
MAX_SECTIONS = 4096  # of a file that many tasks write


@dataclass(frozen=True)
class MergeSections(Pass[int]):
    """Merge some files of `found` into one file of `merged`, in which each section is contiguous.

    A section consists of the sections of these files, in the order of the files. A subclass names the folder.

    Attributes:
        found: the files to merge.
        merged: the files that all tasks write.
    """

    noun = "group"
    thread_safe = True

    found: ShuffleFiles
    merged: ShuffleFiles

    def url_of(self, item: int) -> str:
        """Return the URL of the merged file number `item`."""
        return self.merged.file(item)

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write the merged file number `item` to `url`."""
        group, number = divmod(item, self.merged.slices)
        first, last = self.merged.cuts(number)
        width, n, m = self.found.width, self.found.groups, self.merged.groups
        own = range(group * n // m, (group + 1) * n // m)
        with contextlib.ExitStack() as opened:
            pieces: list[tuple[Spill, npt.NDArray[np.int64]]] = []  # per segment, the offsets of its sections
            at = self.found.slice_of(first)
            cut = [width * (section - self.found.cuts(at)[0]) for section in (first, last)]

            def read(source: str) -> tuple[Spill, list[npt.NDArray[np.int64]]]:
                spill = opened.enter_context(Spill(source))
                return spill, [spill.offsets(segment, *cut) for segment in range(spill.segments)]

            for _, (spill, found) in files.each(read, [self.found.file(one * self.found.slices + at) for one in own]):
                pieces += [(spill, offsets) for offsets in found]
            n_sections = width * (last - first)
            table = np.array([offsets for _, offsets in pieces], np.int64).reshape(len(pieces), n_sections + 1)
            sizes = np.diff(table, axis=1)
            with spill_to(url, n_sections) as spilled:
                spilled.write_bytes(sizes.sum(axis=0), _ordered([spill for spill, _ in pieces], table, sizes))
        return {}


def _ordered(spills: list[Spill], table: Any, sizes: Any) -> Iterator[Any]:
    """Yield the bytes of all sections in turn; of each section, those of every piece (a segment of a file) in turn.

    - table: the offsets of the sections of each piece, int64[pieces, sections + 1].
    - sizes: the sizes of these sections.
    """
    total = sizes.sum(axis=0)
    ends = np.append(0, np.cumsum(total))
    first = 0
    while first < len(total):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + MERGE_BYTES, "right")) - 1)
        spans = zip(spills, table[:, first].tolist(), table[:, last].tolist(), strict=True)
        if last == first + 1:  # one section, of any size
            for spill, start, stop in spans:
                for low in range(start, stop, MERGE_BYTES):
                    yield spill.bytes(low, min(low + MERGE_BYTES, stop))
        else:
            data = [spill.bytes(start, stop).data for spill, start, stop in spans]
            inside = table[:, first : last + 1] - table[:, first, None]
            section, piece = np.nonzero(sizes[:, first:last].T)
            low, high = inside[piece, section].tolist(), inside[piece, section + 1].tolist()
            yield b"".join([data[p][a:b] for p, a, b in zip(piece.tolist(), low, high, strict=True)])
        first = last


@dataclass(frozen=True)
class SplitSections(Pass[int]):
    """Divide one section of `found` into the sections of one file of `split`; a subclass names the folder.

    Unless a subclass defines `sections_of`, the rows have a field "section", the number of their section in `split`. If
    the width is 2, the rows are headers, each with a payload of as many eight-byte words as its field "words" states.

    Attributes:
        found: the files to divide.
        split: the files that all tasks write: a slice per section of `found`.
        dtype: the type of a row.
    """

    noun = "group"
    thread_safe = True

    found: ShuffleFiles
    split: ShuffleFiles
    dtype: np.dtype[Any]

    def url_of(self, item: int) -> str:
        """Return the URL of the file with the sections of section number `item`."""
        return self.split.file(item)

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write the sections of section number `item` of `found` to `url`."""
        first, last = self.split.cuts(item)
        with spill_to(url, self.split.width * (last - first)) as spill:
            for rows, payloads in self._blocks(item):
                spill.write(in_sections(self.sections_of(rows, item), rows, payloads, last - first))
        return {}

    def sections_of(self, rows: Any, item: int) -> npt.NDArray[Any]:
        """Return the number of the section of each row, counted from the first one in section `item` of `found`."""
        return np.asarray(rows["section"] - np.uint32(self.split.cuts(item)[0]))

    def _blocks(self, item: int) -> Iterator[tuple[Any, Any]]:
        """Yield the rows of a section and their payloads (None if the width is 1), about MERGE_BYTES at a time."""
        if self.found.width == 1:
            for rows in self.found.blocks(item, self.dtype, max(1, MERGE_BYTES // self.dtype.itemsize)):
                yield rows, None
            return
        urls, index = self.found.of(item)
        for url in urls:
            with Spill(url) as spill:
                for segment in range(spill.segments):
                    rows = spill.read(segment, 2 * index, dtype=self.dtype)
                    start, _ = spill.where(segment, 2 * index + 1)
                    ends = np.append(0, np.cumsum(8 * rows["words"]))
                    cuts = np.flatnonzero(np.diff(ends[1:] // MERGE_BYTES)) + 1
                    for low, high in itertools.pairwise([0, *cuts.tolist(), len(rows)]):
                        words = spill.bytes(start + int(ends[low]), start + int(ends[high])).view(np.uint64)
                        yield rows[low:high], payloads_of(words, rows["words"][low:high])


def in_sections(numbers: Any, rows: Any, payloads: Sequence[Any] | None, n: int) -> list[Any]:
    """Return `n` sections of rows; with payloads, the rows and the payloads of every section in turn.

    - numbers: the number of each row's section.
    - payloads: the payload of each row, uint64; None if rows have none.
    """
    order = np.argsort(numbers, kind="stable")
    cuts = np.append(0, np.cumsum(np.bincount(numbers, minlength=n)))
    if payloads is None:
        return [Divided(rows.take(order), cuts)]
    sections = []
    for low, high in itertools.pairwise(cuts.tolist()):
        own = order[low:high]
        sections += [rows.take(own), np.concatenate([np.zeros(0, np.uint64), *(payloads[r] for r in own.tolist())])]
    return sections


def payloads_of(words: Any, sizes: Any) -> list[Any]:
    """Return the payload of each row, as views of `words`, in which they follow each other.

    - sizes: the number of words of each payload, int64[n].
    """
    ends = np.cumsum(sizes)
    return [words[start:end] for start, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True)]


def merged(
    runner: Runner, found: ShuffleFiles, task: type[MergeSections], out: str, key: str, label: str, *, start: int = 0,
    slices: int = 1,
) -> ShuffleFiles:  # fmt: skip
    """Merge shuffle files until each section is in at most FAN_IN files; return the merged files, or `found` itself.

    - task: the subclass of MergeSections, which names the folder.
    - out, key: as in `Pass`.
    - label: the title of the progress bar.
    - start: the number of the first merged file.
    - slices: the number of files of each group; more than 1 if the files are large, so that no task reads much more
      than the tasks before it.
    """
    slices = min(found.n, slices)
    while found.groups > shuffle.FAN_IN:
        to = replace(
            found, url=task.url(out, 0)[:-5], groups=-(-found.groups // shuffle.FAN_IN), slices=slices, start=start
        )
        start += to.groups * slices
        list(runner.map(task(out, key, found, to), range(to.groups * slices), label))
        found, slices = to, min(found.n, slices * shuffle.FAN_IN)
    return found


def split(
    runner: Runner, found: ShuffleFiles, n: int, task: type[SplitSections], dtype: np.dtype[Any], out: str, key: str,
    label: str, **more: Any,
) -> ShuffleFiles:  # fmt: skip
    """Divide the sections of shuffle files, so that there are `n`; return the new files, or `found` if it has `n`.

    - task: the subclass of SplitSections, which names the folder.
    - dtype: the type of a row.
    - out, key, label: as in `merged`.
    - more: further fields of the task.
    """
    if n == found.n:
        return found
    url = task.url(out, 0)[:-5]
    start = found.start + found.groups * found.slices if url == found.url else 0
    to = ShuffleFiles(url, 1, n, found.width, found.n, start)
    list(runner.map(task(out, key, found, to, dtype, **more), range(found.n), label))
    return to
