"""Key sources: the stored keys (hashes of bands) of all documents, read by ranges from the parts or from merged files.

If there are many parts, MergeKeys merges their files of keys: each is read once, and a range of the keys is contiguous
in a merged file. The merged files are divided by more than the top byte of a key if there are so many documents that
the keys of one band and top byte would not fit into memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.run.merge import MergeSections, merged
from dataprep.core.run.passes import Pass
from dataprep.core.run.runner import Runner
from dataprep.store import shuffle
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import Divided, spill_to
from dataprep.unicode.text import U64

from .keys import BUCKETS, PartKeys

MATCH_RECORDS = 4 << 20  # keys matched at once: 130 MB, including copies in groups and the edges
GROUP_DOCS = 1 << 25  # documents of the parts that are merged together: their rows take at most 128 MB
MAX_BITS = 16  # of a key, by which merged files are divided
MAX_UINT32 = (1 << 32) - 1
Numbers = npt.NDArray[Any]  # numbers of documents, uint32 or uint64


def number_type(n_docs: int) -> type[np.unsignedinteger[Any]]:
    """Return the type of a document's number, if there are `n_docs` documents."""
    return np.uint32 if n_docs <= MAX_UINT32 else np.uint64


def n_buckets(n_docs: int) -> int:
    """Return into how many buckets the keys of a band are divided: 256, or more if those had too many keys."""
    bits = (max(0, n_docs - 1) // (MATCH_RECORDS * BUCKETS)).bit_length()
    return 1 << min(MAX_BITS, BUCKETS.bit_length() - 1 + bits)


@dataclass(frozen=True)
class KeyRange:
    """The keys (hashes of bands) that one task matches.

    The range contains the keys of the bands [first, last) = `bands` whose bucket, given by their top bits, is in
    [first, last) = `buckets`. If there are several bands, it contains all of their buckets.

    Attributes:
        number: the task's number.
    """

    number: int
    bands: tuple[int, int]
    buckets: tuple[int, int]

    def sections(self, buckets: int) -> tuple[int, int, int]:
        """Return the first section of a file with `buckets` sections per band, the end, and the sections per band."""
        first, last = self.bands[0] * buckets + self.buckets[0], (self.bands[1] - 1) * buckets + self.buckets[1]
        return first, last, buckets if self.bands[1] - self.bands[0] > 1 else last - first


def key_ranges(n_docs: int, bands: int, buckets: int = BUCKETS) -> list[KeyRange]:
    """Divide the keys (hashes of bands) into ranges, one per task, of at most MATCH_RECORDS keys.

    The result does not depend on memory or the number of workers.

    - n_docs: the number of documents, each with `bands` keys.
    - buckets: the number of buckets into which the keys of a band are divided.
    """
    if n_docs <= MATCH_RECORDS:
        step = max(1, MATCH_RECORDS // max(1, n_docs))
        cuts = [((b, min(b + step, bands)), (0, buckets)) for b in range(0, bands, step)]
    else:
        width = max(1, buckets * MATCH_RECORDS // n_docs)
        ranges = [(lo, min(lo + width, buckets)) for lo in range(0, buckets, width)]
        cuts = [((band, band + 1), r) for band in range(bands) for r in ranges]
    return [KeyRange(number, *cut) for number, cut in enumerate(cuts)]


@dataclass(frozen=True)
class PartsKeys:
    """The keys as they were stored, per input part; every part's files are opened for each range.

    Attributes:
        parts: the stored keys of each part.
        n_docs: the number of documents.
    """

    parts: tuple[PartKeys, ...]
    n_docs: int

    buckets = BUCKETS

    def read(self, wanted: KeyRange) -> Iterator[tuple[int, U64, Numbers]]:
        """Yield (number of the band in the range, keys, numbers of their documents)."""
        number = number_type(self.n_docs)
        for part in self.parts:
            with part.opened() as read:
                for band, found in read(*wanted.sections(BUCKETS)):
                    yield band, found["key"], found["doc"] + number(part.base)


@dataclass(frozen=True)
class MergedKeys:
    """The keys in merged files, in which each range is contiguous; a record has the number of the document.

    Attributes:
        files: the merged files, with `buckets` sections per band.
        n_docs: the number of documents.
        buckets: the number of buckets of a band.
    """

    files: ShuffleFiles
    n_docs: int
    buckets: int

    def read(self, wanted: KeyRange) -> Iterator[tuple[int, U64, Numbers]]:
        """Yield (number of the band in the range, keys, numbers of their documents)."""
        first, last, step = wanted.sections(self.buckets)
        for band, at in enumerate(range(first, last, step)):
            for found in self.files.read(at, at + step, _record(self.n_docs)):
                yield band, found["key"], found["doc"]


def _record(n_docs: int) -> np.dtype[Any]:
    """Return the type of a record in merged files: a key and the number of its document."""
    return np.dtype([("key", "<u8"), ("doc", number_type(n_docs))])


@dataclass(frozen=True)
class KeyGroup:
    """Input parts whose keys are merged into one file.

    Attributes:
        number: the number of this file.
        parts: the stored keys of each part.
    """

    number: int
    parts: tuple[PartKeys, ...]


@dataclass(frozen=True)
class MergeKeys(Pass[KeyGroup]):
    """Merge the keys of some input parts into one file, in which the keys of each band and bucket are contiguous.

    Attributes:
        n_docs: the number of documents of all parts.
        bands: the number of keys per document.
        buckets: the number of buckets of a band.
    """

    folder = "keys-merged"
    noun = "group"
    thread_safe = True

    n_docs: int
    bands: int
    buckets: int

    def write(self, url: str, item: KeyGroup) -> dict[str, Any]:
        """Write the keys of the parts of `item` to the file `url`: one section per band and bucket."""
        with contextlib.ExitStack() as opened:
            every = [(part, opened.enter_context(part.opened())) for part in item.parts]
            with spill_to(url, self.bands * self.buckets) as spill:
                ranges = key_ranges(sum(part.docs for part in item.parts), self.bands)
                spill.write(one for wanted in ranges for one in self._sections(every, wanted))
        return {}

    def _sections(self, every: Sequence[tuple[PartKeys, Any]], wanted: KeyRange) -> Iterator[Divided]:
        """Yield the records of a range, one array per band, in order of their buckets."""
        kind, shift = _record(self.n_docs), np.uint64(65 - self.buckets.bit_length())
        bands: list[list[npt.NDArray[Any]]] = [[np.zeros(0, kind)] for _ in range(*wanted.bands)]
        for part, read in every:
            for band, found in read(*wanted.sections(BUCKETS)):
                records = np.empty(len(found), kind)
                records["key"], records["doc"] = found["key"], found["doc"] + number_type(self.n_docs)(part.base)
                bands[band].append(records)
        low, high = (end * (self.buckets // BUCKETS) for end in wanted.buckets)
        while bands:
            records = np.concatenate(bands.pop(0))
            bucket = (records["key"] >> shift).astype(np.uint16)
            order = np.argsort(bucket, kind="stable")  # a radix sort, for two bytes
            counts = np.bincount(bucket, minlength=high)[low:high]
            yield Divided(records[order], np.append(0, np.cumsum(counts)))


class MergeGroups(MergeSections):
    """Merge the merged files of keys again, if there are very many."""

    folder = MergeKeys.folder


def keys_of_all(
    runner: Runner, parts: Sequence[PartKeys], n_docs: int, bands: int, out: str, key: str, label: str
) -> PartsKeys | MergedKeys:
    """Return the keys of all documents; if there are many parts or documents, they are merged first.

    - bands: the number of keys per document.
    - out, key: as in `Pass`.
    - label: the title of the progress bar.
    """
    buckets = n_buckets(n_docs)
    if len(parts) <= shuffle.FAN_IN and buckets == BUCKETS:
        return PartsKeys(tuple(parts), n_docs)
    groups: list[tuple[PartKeys, ...]] = []
    held: list[PartKeys] = []
    docs = 0
    for part in parts:
        if held and (len(held) == shuffle.FAN_IN or docs + part.docs > GROUP_DOCS):
            groups.append(tuple(held))
            held, docs = [], 0
        held.append(part)
        docs += part.docs
    groups.append(tuple(held))
    task = MergeKeys(out, key, n_docs, bands, buckets)
    list(runner.map(task, [KeyGroup(number, group) for number, group in enumerate(groups)], label))
    found = ShuffleFiles(MergeKeys.url(out, 0)[:-5], len(groups), bands * buckets)
    found = merged(runner, found, MergeGroups, out, key, label, start=len(groups), slices=shuffle.FAN_IN)
    return MergedKeys(found, n_docs, buckets)
