"""Find exports of the same chat: exports with equal names, and exports that share messages.

Often only the file's name states the chat, and "Tea.txt" and "Tea (1).txt" are the same chat. Two exports in different
files are treated as one chat if, in the minutes that both cover, at least two and at least half of the messages of the
smaller one are in the other. Messages are compared by hashes of author, minute and text: the smallest 16,384 per
export, a uniform sample, so memory is bounded. The result only decides which exports are compared; it drops nothing.
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
from dataprep.unicode.hashes import text_hashes

from .times import MINUTE, seconds_of

Export: TypeAlias = tuple[str, int]  # name of a chat, number of a file
U64: TypeAlias = npt.NDArray[np.uint64]
SKETCH = 16_384
MIN_COMMON = 2  # messages
PRIMES = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))  # odd constants that spread bits


@dataclass(frozen=True)
class ExportSpan:
    """A summary of the messages of one export (one chat in one file), to compare it with other exports.

    first, last: the first and last time, in seconds since 1970. fine: True if a time has seconds. n: the number of
    messages. sketch: uint64[2, k], a sample of people's messages; row 0: the smallest hashes, ascending; row 1: the
    time of each of these messages, in whole minutes since 1970.
    """

    first: int
    last: int
    fine: bool
    n: int
    sketch: U64

    def joined(self, other: ExportSpan) -> ExportSpan:
        """Return the summary of an export from the summaries of two parts of it, `self` and `other`."""
        first, last = min(self.first, other.first), max(self.last, other.last)
        sketch = _smallest(np.concatenate([self.sketch, other.sketch], 1))
        return ExportSpan(first, last, self.fine or other.fine, self.n + other.n, sketch)


def spans_of(batches: Iterable[Batch]) -> dict[Export, ExportSpan]:
    """Return the summary (ExportSpan) of each export, which is a pair (chat, number of the file).

    Batches need the columns id, chat, author, time and text; the column kind is read if present.
    """
    found: dict[Export, ExportSpan] = {}
    for batch in batches:
        hashes, written = _hashes(batch), _written(batch)
        for export, rows, times in by_export(batch):
            said = written[rows]
            sketch = np.stack([hashes[rows[said]], (times[said] // MINUTE).astype(np.uint64)])
            sketch[0] ^= sketch[1] * PRIMES[0]
            fine = bool((times % MINUTE != 0).any())
            span = ExportSpan(int(times.min()), int(times.max()), fine, len(rows), _smallest(sketch))
            found[export] = found[export].joined(span) if export in found else span
    return found


def by_export(batch: Batch) -> Iterator[tuple[Export, Any, Any]]:
    """Yield (export, rows, times) for each chat in each file: row indices in the batch, and their times in seconds.

    An export is a pair (chat, number of the file). Rows without a chat or a time are left out.
    """
    times, known = seconds_of(batch.column("time"))
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


def chat_names(spans: Mapping[Export, ExportSpan]) -> dict[Export, str]:
    """Return the name of the chat of each export; exports that share messages get the chat name of the first of them.

    spans: the summary of each export, a pair (chat, number of the file).
    """
    exports = sorted(spans, key=lambda export: (export[1], export[0]))
    first = {export: export for export in exports}

    def root(export: Export) -> Export:
        while first[export] != export:
            export = first[export]
        return export

    for a, b in _candidates([spans[export].sketch[0] for export in exports]):
        one, two = exports[a], exports[b]
        if one[0] != two[0] and one[1] != two[1] and _are_one_chat(spans[one], spans[two]):
            low, high = sorted((root(one), root(two)), key=exports.index)
            first[high] = low
    return {export: root(export)[0] for export in exports}


def _written(batch: Batch) -> npt.NDArray[np.bool_]:
    written = pc.is_valid(batch.column("author"))
    if "kind" in batch.schema.names:
        written = pc.and_(written, pc.fill_null(pc.equal(batch.column("kind"), "text"), fill_value=False))
    return np.asarray(written.to_numpy(zero_copy_only=False), np.bool_)


def _hashes(batch: Batch) -> U64:
    """Return hashes of author and text, uint64[n]."""
    authors = batch.column("author").cast(pa.string()).fill_null("")
    one, two = (text_hashes(*B.buffers(column))[:, 0] for column in (authors, batch.column("text")))
    return np.asarray(one * PRIMES[1] ^ two, np.uint64)


def _smallest(sketch: U64) -> U64:
    _, first = np.unique(sketch[0], return_index=True)
    return sketch[:, first[:SKETCH]]


def _candidates(sketches: list[U64]) -> set[tuple[int, int]]:
    """Return pairs of exports that share a hash; if more than two share one, only pairs of neighbours."""
    hashes = np.concatenate([*sketches, np.zeros(0, np.uint64)])
    owner = np.repeat(np.arange(len(sketches)), [len(s) for s in sketches])
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    return set(zip(owner[order][same].tolist(), owner[order][same + 1].tolist(), strict=True))


def _are_one_chat(a: ExportSpan, b: ExportSpan) -> bool:
    """Return whether enough messages of the minutes that both exports cover are in both."""
    first, last = max(a.first, b.first) // MINUTE, min(a.last, b.last) // MINUTE
    ends = [span.sketch[0, -1] for span in (a, b) if span.sketch.shape[1] == SKETCH]
    end = min(ends) if ends else np.uint64(2**64 - 1)  # up to here both sketches are complete
    one, two = (_between(span.sketch, end, first, last) for span in (a, b))
    common = len(np.intersect1d(one, two, assume_unique=True))
    return common >= MIN_COMMON and 2 * common >= min(len(one), len(two))


def _between(sketch: U64, end: np.uint64, first: int, last: int) -> U64:
    """Return the hashes up to `end` of the minutes from `first` to `last`."""
    minutes = sketch[1].astype(np.int64)
    return np.asarray(sketch[0][(sketch[0] <= end) & (minutes >= first) & (minutes <= last)], np.uint64)
