"""MergeSections: merge the shuffle files of many tasks into a few, so that the tasks of the next pass open few files.

Every byte is read once per level: one level for up to FAN_IN^2 files, two for up to FAN_IN^3. Memory holds MERGE_BYTES
and the tables of offsets of FAN_IN files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.store import shuffle
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import Spill, spill_to

from .passes import Pass
from .runner import Runner

MERGE_BYTES = 32 << 20  # in memory at once, and again as the sections are put in order


@dataclass(frozen=True)
class MergeSections(Pass[int]):
    """Merge some files of `found` into one file of `merged`, in which each section is contiguous.

    A section consists of the sections of these files, in the order of the files. A subclass names the folder.

    Attributes:
        found: the files to merge.
        merged: the files that all tasks write.
    """

    noun = "group"

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
            for source in own:
                at = self.found.slice_of(first)
                spill = opened.enter_context(Spill(self.found.file(source * self.found.slices + at)))
                before = self.found.cuts(at)[0]
                cut = width * (first - before), width * (last - before)
                pieces += [(spill, spill.offsets(segment, *cut)) for segment in range(spill.segments)]
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


def merged(
    runner: Runner, found: ShuffleFiles, task: type[MergeSections], out: str, key: str, label: str, start: int = 0
) -> ShuffleFiles:
    """Merge shuffle files until each section is in at most FAN_IN files; return the merged files, or `found` itself.

    - task: the subclass of MergeSections, which names the folder.
    - out, key: as in `Pass`.
    - label: the title of the progress bar.
    - start: the number of the first merged file.
    """
    slices = 1
    while found.groups > shuffle.FAN_IN:
        to = replace(
            found, url=task.url(out, 0)[:-5], groups=-(-found.groups // shuffle.FAN_IN), slices=slices, start=start
        )
        start += to.groups * slices
        list(runner.map(task(out, key, found, to), range(to.groups * slices), label))
        found, slices = to, min(found.n, slices * shuffle.FAN_IN)
    return found
