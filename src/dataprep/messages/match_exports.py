"""Which exports are of one chat: those of one name, and those whose texts say so.

A file's name is often all that names a chat, and "Tea.txt" and "Tea (1).txt" are one. Two exports in different files
are taken for one chat if, of what people wrote in the minutes that both cover, at least half of the smaller is in the
other, and two messages or more. That is told by hashes of author, minute and text: the smallest 16,384 of an export, a
uniform sample, so that memory is bounded. Nothing is dropped for it; it decides what is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.unicode.text import text_hashes

from .overlap_rows import MINUTE, in_seconds

Own: TypeAlias = tuple[str, int]  # a chat in a file
U64: TypeAlias = npt.NDArray[np.uint64]
SKETCH = 16_384
FEWEST = 2  # messages in common
PRIMES = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))  # odd constants that spread bits


@dataclass(frozen=True)
class Span:
    """The times of a chat in a file: first and last in seconds, whether they tell seconds, how many they are.

    sketch: uint64[2, k], the smallest hashes of what people wrote, ascending, and the minutes.
    """

    first: int
    last: int
    fine: bool
    n: int
    sketch: U64

    def joined(self, other: Span) -> Span:
        """Both."""
        first, last = min(self.first, other.first), max(self.last, other.last)
        sketch = _smallest(np.concatenate([self.sketch, other.sketch], 1))
        return Span(first, last, self.fine or other.fine, self.n + other.n, sketch)


def spans_of(batches: Iterable[Batch]) -> dict[Own, Span]:
    """The span of every chat in every file; columns id, chat, author, time, text, and kind if there is one."""
    found: dict[Own, Span] = {}
    for batch in batches:
        hashes, written = _hashes(batch), _written(batch)
        for own, rows, times in by_export(batch):
            said = written[rows]
            sketch = np.stack([hashes[rows[said]], (times[said] // MINUTE).astype(np.uint64)])
            sketch[0] ^= sketch[1] * PRIMES[0]
            fine = bool((times % MINUTE != 0).any())
            span = Span(int(times.min()), int(times.max()), fine, len(rows), _smallest(sketch))
            found[own] = found[own].joined(span) if own in found else span
    return found


def by_export(batch: Batch) -> Iterator[tuple[Own, Any, Any]]:
    """The rows of each chat in each file, and their times; rows without chat or time are left out."""
    times, known = in_seconds(batch.column("time"))
    numbers = B.ids(batch) >> np.uint64(B.POSITION_BITS)
    chats = batch.column("chat")
    coded = chats if pa.types.is_dictionary(chats.type) else chats.cast(pa.string()).dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy()
    names = coded.dictionary.to_pylist()
    for number in np.unique(numbers).tolist():
        for code in np.unique(codes[numbers == number]).tolist():
            rows = np.flatnonzero((numbers == number) & (codes == code) & known)
            if code >= 0 and len(rows):
                yield (names[code], number), rows, times[rows]


def called(spans: Mapping[Own, Span]) -> dict[Own, str]:
    """The name under which each export is compared: that of the first export of its chat."""
    owns = sorted(spans, key=lambda own: (own[1], own[0]))
    first = {own: own for own in owns}

    def root(own: Own) -> Own:
        while first[own] != own:
            own = first[own]
        return own

    for a, b in _met([spans[own].sketch[0] for own in owns]):
        one, two = owns[a], owns[b]
        if one[0] != two[0] and one[1] != two[1] and _are_one(spans[one], spans[two]):
            low, high = sorted((root(one), root(two)), key=owns.index)
            first[high] = low
    return {own: root(own)[0] for own in owns}


def _written(batch: Batch) -> npt.NDArray[np.bool_]:
    """Which messages people wrote."""
    written = pc.is_valid(batch.column("author"))
    if "kind" in batch.schema.names:
        written = pc.and_(written, pc.fill_null(pc.equal(batch.column("kind"), "text"), fill_value=False))
    return np.asarray(written.to_numpy(zero_copy_only=False), np.bool_)


def _hashes(batch: Batch) -> U64:
    """Hashes of author and text, uint64[n]."""
    authors = batch.column("author").cast(pa.string()).fill_null("")
    one, two = (text_hashes(*B.buffers(column))[:, 0] for column in (authors, batch.column("text")))
    return np.asarray(one * PRIMES[1] ^ two, np.uint64)


def _smallest(sketch: U64) -> U64:
    _, first = np.unique(sketch[0], return_index=True)
    return sketch[:, first[:SKETCH]]


def _met(sketches: list[U64]) -> set[tuple[int, int]]:
    """Pairs of exports that have a hash in common; of those that share it, neighbours."""
    hashes = np.concatenate([*sketches, np.zeros(0, np.uint64)])
    owner = np.repeat(np.arange(len(sketches)), [len(s) for s in sketches])
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    return set(zip(owner[order][same].tolist(), owner[order][same + 1].tolist(), strict=True))


def _are_one(a: Span, b: Span) -> bool:
    """Whether enough of what both exports could have is in both."""
    first, last = max(a.first, b.first) // MINUTE, min(a.last, b.last) // MINUTE
    ends = [span.sketch[0, -1] for span in (a, b) if span.sketch.shape[1] == SKETCH]
    end = min(ends) if ends else np.uint64(2**64 - 1)  # up to here both sketches are whole
    one, two = (_near(span.sketch, end, first, last) for span in (a, b))
    common = len(np.intersect1d(one, two, assume_unique=True))
    return common >= FEWEST and 2 * common >= min(len(one), len(two))


def _near(sketch: U64, end: np.uint64, first: int, last: int) -> U64:
    """The hashes up to `end` of the minutes from first to last."""
    minutes = sketch[1].astype(np.int64)
    return np.asarray(sketch[0][(sketch[0] <= end) & (minutes >= first) & (minutes <= last)], np.uint64)
