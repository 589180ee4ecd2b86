"""Find exports of the same chat: exports with equal names, and exports that share messages.

Often only the file's name states the chat, and "Tea.txt" and "Tea (1).txt" are the same chat. Two exports in different
files share messages if, in the minutes that both cover, at least two and at least half of the messages of the smaller
one are in the other, by minute and text. A person may send the same messages to several people, so two exports with
different names are one chat only if

- at least two authors, with the same names in both, wrote these messages, or
- names differ (a contact was renamed), but nearly all messages are in both, the authors correspond one to one, there
  are at least two authors, and authors with different names wrote at least three distinct texts.

Messages are compared by hashes of minute and text: the smallest 16,384 per export, a uniform sample, so memory is
bounded. The result only decides which exports are compared; it drops nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.unicode.hashes import text_hashes

from .times import MINUTE, seconds_of

Export: TypeAlias = tuple[str, int]  # name of a chat, number of a file
U64: TypeAlias = npt.NDArray[np.uint64]
SKETCH = 16_384
MIN_COMMON = 2  # messages
NEARLY_ALL, RENAMED = 0.8, 3  # share of the messages; different texts of authors whose names differ
UNCLEAR = np.uint64(2**64 - 1)  # the author of a text that an export has twice in one minute
_COPY = re.compile(r"\s*\(\d+\)\Z")
PRIMES = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))  # odd constants that spread bits


@dataclass(frozen=True)
class ExportSpan:
    """A summary of the messages of one export (one chat in one file), to compare it with other exports.

    Attributes:
        first: the first time, in seconds since 1970.
        last: the last time, in seconds since 1970.
        fine: True if a time has seconds.
        n: the number of messages.
        sketch: uint64[3, k], a sample of people's messages; row 0: the smallest hashes of minute and text, ascending;
            row 1: the time of each of these messages, in whole minutes since 1970; row 2: a hash of the author, or
            UNCLEAR if the export has the text twice in that minute.
    """

    first: int
    last: int
    fine: bool
    n: int
    sketch: U64

    def joined(self, other: ExportSpan) -> ExportSpan:
        """Return the summary of an export from the summaries of two parts of it, `self` and `other`."""
        first, last = min(self.first, other.first), max(self.last, other.last)
        sketch = smallest(np.concatenate([self.sketch, other.sketch], 1))
        return ExportSpan(first, last, self.fine or other.fine, self.n + other.n, sketch)


def spans_of(batches: Iterable[Batch]) -> dict[Export, ExportSpan]:
    """Return the summary (ExportSpan) of each export, which is a pair (chat, number of the file).

    Batches need the columns id, chat, author, time and text; the column kind is read if present.
    """
    found: dict[Export, ExportSpan] = {}
    for batch in batches:
        (authors, texts), written = _hashes(batch), _written(batch)
        for export, rows, times in by_export(batch):
            said = written[rows]
            minutes = (times[said] // MINUTE).astype(np.uint64)
            sketch = np.stack([texts[rows[said]] ^ minutes * PRIMES[0], minutes, authors[rows[said]]])
            fine = bool((times % MINUTE != 0).any())
            span = ExportSpan(int(times.min()), int(times.max()), fine, len(rows), smallest(sketch))
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
    """Return the name of the chat of each export; exports that share messages get the name of the first one.

    Args:
        spans: the summary of each export, a pair (chat, number of the file).
    """
    exports = sorted(spans, key=lambda export: (export[1], export[0]))
    first = {export: export for export in exports}

    def root(export: Export) -> Export:
        while first[export] != export:
            export = first[export]
        return export

    for a, b in sharing([spans[export].sketch[0] for export in exports]):
        one, two = exports[a], exports[b]
        if one[0] == two[0] or one[1] == two[1]:
            continue
        if are_one_chat(SharedMessages.of(spans[one].sketch, spans[two].sketch), alike=named_alike(one, two)):
            low, high = sorted((root(one), root(two)), key=exports.index)
            first[high] = low
    return {export: root(export)[0] for export in exports}


def _written(batch: Batch) -> npt.NDArray[np.bool_]:
    written = pc.is_valid(batch.column("author"))
    if "kind" in batch.schema.names:
        written = pc.and_(written, pc.fill_null(pc.equal(batch.column("kind"), "text"), fill_value=False))
    return np.asarray(written.to_numpy(zero_copy_only=False), np.bool_)


def _hashes(batch: Batch) -> tuple[U64, U64]:
    """Return hashes of the authors and of the texts, uint64[n] each."""
    authors = batch.column("author").cast(pa.string()).fill_null("")
    one, two = (text_hashes(*B.buffers(column))[:, 0] for column in (authors, batch.column("text")))
    return np.asarray(one, np.uint64), np.asarray(two, np.uint64)


def smallest(rows: U64) -> U64:
    """Return the columns with the smallest hashes, ascending; the author of a hash that occurs twice is UNCLEAR.

    Args:
        rows: uint64[3, n], a sketch in any order, or two of them.
    """
    _, first, count = np.unique(rows[0], return_index=True, return_counts=True)
    found = rows[:, first]
    found[2, count > 1] = UNCLEAR
    return np.asarray(found[:, :SKETCH], np.uint64)


def sharing(hashes: list[U64]) -> set[tuple[int, int]]:
    """Return pairs of exports that share a hash; if more than two exports share a hash, only pairs of neighbours."""
    every = np.concatenate([*hashes, np.zeros(0, np.uint64)])
    owner = np.repeat(np.arange(len(hashes)), [len(one) for one in hashes])
    order = np.argsort(every, kind="stable")
    same = np.flatnonzero(every[order][1:] == every[order][:-1])
    return set(zip(owner[order][same].tolist(), owner[order][same + 1].tolist(), strict=True))


class SharedMessages(NamedTuple):
    """The sampled messages that two exports have in common, in the minutes that both cover.

    Attributes:
        texts: uint64[k], a hash of the text of each.
        one, two: uint64[k], its author in each export, or UNCLEAR.
        of_one, of_two: number of sampled messages of each export in these minutes.
    """

    texts: U64
    one: U64
    two: U64
    of_one: int
    of_two: int

    @classmethod
    def of(cls, one: U64, two: U64) -> SharedMessages:
        """Return the messages that the sketches `one` and `two`, uint64[3, n], share."""
        full = [s[0, -1] for s in (one, two) if s.shape[1] == SKETCH]
        end = min(full) if full else UNCLEAR  # up to here both sketches are complete
        first, last = max(one[1].min(), two[1].min()), min(one[1].max(), two[1].max())
        a, b = (s[:, (s[0] <= end) & (s[1] >= first) & (s[1] <= last)] for s in (one, two))
        _, i, j = np.intersect1d(a[0], b[0], assume_unique=True, return_indices=True)
        return cls(a[0, i] ^ a[1, i] * PRIMES[0], a[2, i], b[2, j], a.shape[1], b.shape[1])

    def clear(self) -> SharedMessages:
        """Return the messages whose author is known in both exports."""
        known = (self.one != UNCLEAR) & (self.two != UNCLEAR)
        return self._replace(texts=self.texts[known], one=self.one[known], two=self.two[known])


def named_alike(one: Export, two: Export) -> bool:
    """Return whether the names of two chats are equal but for the number of a copy, as in "Tea (1)"."""
    a, b = (_COPY.sub("", name).casefold() for name, _ in (one, two))
    return a == b


def are_one_chat(shared: SharedMessages, *, alike: bool) -> bool:
    """Return whether two exports are of one chat, by the messages that they share.

    - alike: whether their names are equal. If not, messages of a single author do not count as evidence.
    """
    fewer, more = sorted((shared.of_one, shared.of_two))
    if len(shared.texts) < MIN_COMMON or 2 * len(shared.texts) < fewer:
        return False
    if alike:
        return True
    clear = shared.clear()
    same = clear.one == clear.two
    if 2 * int(same.sum()) >= fewer and len(np.unique(clear.one[same])) > 1:
        return True
    pairs = np.unique(np.stack([clear.one, clear.two]), axis=1).shape[1]
    one_to_one = pairs == len(np.unique(clear.one)) == len(np.unique(clear.two)) > 1
    enough = len(np.unique(clear.texts[~same])) >= RENAMED
    return one_to_one and enough and len(shared.texts) >= NEARLY_ALL * more
