"""Choose the documents whose cuts the statistics quote, and find the text to quote.

For each rule, the documents with the smallest hashes of their ids are chosen, so that all runs quote the same texts.
Stages that name their rules are run once more, on these documents only, to find where each rule cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.store.ranks import mix

Batch: TypeAlias = pa.RecordBatch
RowOf: TypeAlias = Callable[[int], tuple[Batch, int] | None]
Quote: TypeAlias = tuple[int, int, str, str]  # as the first fields of an Example: rank, id, source, text

QUOTED_BYTES = 1 << 20  # a longer document is not quoted, since this would take time and memory
QUOTED_CHARS = 500  # held, of which statistics show `EXAMPLE_CHARS`: what a later stage masks may begin before the end
ANCHORS = 24, 8  # number of equal characters after which two texts count as the same again
LINE = 1_000  # characters within which the beginning of a line is searched for


@dataclass
class Quotes:
    """The texts to quote for one stage, by rule, and the documents that must be read once more to find them.

    Attributes:
        most: the maximum number of quotes per rule.
        chosen: {rule: [(hash of the id, id)]}, smallest first.
        found: {(rule, id): the text}.
        waiting: {id: batch of one row}, the chosen documents.
    """

    most: int
    chosen: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    found: dict[tuple[str, int], Quote] = field(default_factory=dict)
    waiting: dict[int, Batch] = field(default_factory=dict)

    def choose(self, rule: str, ids: npt.NDArray[np.uint64], row_of: RowOf) -> Iterator[int]:
        """Choose documents that a rule cut, and copy them; yield the id of each newly chosen document.

        - row_of: a function that returns the batch and the row of a document, or None if the document must not be
          quoted.
        """
        have, ranks = self.chosen.setdefault(rule, []), mix(ids, 0)
        few = np.flatnonzero(ranks <= np.uint64(have[-1][0])) if len(have) == self.most else np.arange(len(ids))
        for i in few[np.argsort(ranks[few], kind="stable")].tolist():
            one = (int(ranks[i]), int(ids[i]))
            if len(have) == self.most and one >= have[-1]:
                return
            if one not in have and (place := row_of(one[1])) is not None:
                have.append(one)
                have.sort()
                del have[self.most:]
                self.waiting.setdefault(one[1], place[0].take(pa.array([place[1]])))
                yield one[1]

    def keep(self, rule: str, id_: int, text: str) -> None:
        """Keep the text that a rule cut out of a chosen document."""
        source = self.waiting[id_].column("source")[0].as_py()
        self.found[rule, id_] = (int(mix(np.array([id_], np.uint64), 0)[0]), id_, source, text[:QUOTED_CHARS])

    def forget_others(self) -> None:
        """Free the documents that are no longer chosen."""
        wanted = {id_ for have in self.chosen.values() for _, id_ in have}
        self.waiting = {id_: row for id_, row in self.waiting.items() if id_ in wanted}

    def replayed(self) -> list[Batch]:
        """Return the chosen documents, in order of their ids, to be passed to the stage once more."""
        wanted = {id_ for rule, have in self.chosen.items() for _, id_ in have if (rule, id_) not in self.found}
        return [self.waiting[id_] for id_ in sorted(wanted)]

    def keep_spans(self, cuts: pa.Table) -> None:
        """Keep one text per rule and document from the rows of cuts, sorted by id, that a replay recorded."""
        ids, start, end = (cuts.column(name).to_numpy() for name in ("id", "start", "end"))
        rules = cuts.column("reason").combine_chunks().fill_null("").dictionary_encode()
        numbers, codes = {rule: n for n, rule in enumerate(rules.dictionary.to_pylist())}, rules.indices.to_numpy()
        for rule, have in self.chosen.items():
            for rank, id_ in have:
                first, last = (int(np.searchsorted(ids, np.uint64(id_), side)) for side in ("left", "right"))
                rows = first + np.flatnonzero(codes[first:last] == numbers.get(rule, -1))
                if len(rows) and (rule, id_) not in self.found:
                    data = self.waiting[id_].column("text")[0].as_py().encode()
                    mine = zip(start[rows].tolist(), end[rows].tolist(), strict=True)
                    shown = [text for a, b in mine if (text := _text(data, a, b)).strip()]
                    if shown:
                        self.keep(rule, id_, shown[rank % len(shown)])

    def of(self, rule: str) -> list[Quote]:
        """Return the quotes of a rule, in the order of the hashes of their ids; blank quotes are left out."""
        found = (self.found.get((rule, id_)) for _, id_ in self.chosen.get(rule, ()))
        return [quote for quote in found if quote is not None and quote[3]]


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode(errors="replace").strip("\r\n")


def missing_pieces(before: str, after: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of `before`, in characters, that are missing from `after`, in order.

    The texts are compared once from the beginning: removed text is skipped up to the offset at which both texts agree
    again. A replaced word is one range.
    """
    i = j = 0
    while i < len(before):
        same = _same(before, i, after, j)
        i, j = i + same, j + same
        if i == len(before):
            return
        if j == len(after):
            yield _at_line(before, i, len(before))
            return
        at, new = _again(before, i, after[j : j + ANCHORS[0]]), _again(after, j, before[i : i + ANCHORS[0]])
        if at >= 0 and not 0 <= new - j < at - i:
            yield _at_line(before, i, at)
            i = at
        elif new >= 0:
            j = new
        else:  # replaced: up to the next blanks
            end = _word_end(before, i)
            yield i, end
            i, j = end, _word_end(after, j)


def _same(a: str, i: int, b: str, j: int) -> int:
    """Return the number of equal characters of two texts, starting at `i` and `j`."""
    low, high = 0, min(len(a) - i, len(b) - j)
    step = 64
    while low < high:  # steps double while the texts are equal, and are then halved
        size = min(step, high - low)
        if a[i + low : i + low + size] == b[j + low : j + low + size]:
            low, step = low + size, step * 2
        else:
            high, step = low + size - 1 if size == 1 else low + size, max(1, size // 2)
    return low


def _again(text: str, start: int, anchor: str) -> int:
    """Return the first offset from `start` on at which `anchor` or a prefix of it occurs in a text; -1 if none."""
    if len(anchor) < ANCHORS[0] and text.endswith(anchor):  # the end of both texts
        return max(start, len(text) - len(anchor))
    found = (text.find(anchor[:size], start) for size in ANCHORS)
    return next((at for at in found if at >= 0), -1)


def _at_line(text: str, start: int, end: int) -> tuple[int, int]:
    """Return an equivalent range that begins at a line start, if one exists: for `A|B A|`, it is `|A B|A`."""
    line = text.rfind("\n", max(0, start - LINE), start) + 1
    back = start - line
    if 0 < back < LINE and text[line:start] == text[end - back : end]:
        return start - back, end - back
    return start, end


def _word_end(text: str, at: int) -> int:
    """Return the end of the word at `at`, at least one character further on."""
    at += 1
    while at < len(text) and not text[at].isspace():
        at += 1
    return at


def first_missing(before: str, after: str) -> str:
    """Return the first non-blank text of `before` that is missing from `after`; "" if there is none."""
    pieces: Iterable[str] = (before[a:b].strip("\r\n") for a, b in missing_pieces(before, after))
    return next((piece for piece in pieces if piece.strip()), "")
