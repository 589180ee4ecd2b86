"""Cut the longest conversation so that a part of it can be held out: between two exchanges, at a long pause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset
from dataprep.unicode.text import I64, U64

from .grouping import finished_conversations, seconds_or_never
from .turns import Turns
from .windows import ANSWERS, rows_with_text


class Places(NamedTuple):
    """The positions at which a conversation may be cut: before another author's turn that follows one of the person.

    Attributes:
        ids: uint64[k], of the message after each place.
        pauses: int64[k], the pause before each place, in seconds.
        after: int64[k], the number of letters that the person writes from each place to the end.
        size: the number of letters of the person in the conversation.
    """

    ids: U64
    pauses: I64
    after: I64
    size: int


def cuts_of(messages: Dataset, turns: Turns, shares: Sequence[float]) -> tuple[int, ...]:
    """Return the ids of the messages with which parts of the longest conversation are to begin; () if it cannot be cut.

    - messages: the Dataset to which `turns` is applied, with the column `answers`.
    - shares: shares of the person's letters in all messages; the conversation is cut so that its end has a part of
      about each of these sizes. Of the positions at which the part has between half and one and a half times the wanted
      size, the one with the longest pause is used; if there are none, the one with the nearest size.
    """
    best, total = Places(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64), 0), 0
    for finished in finished_conversations(messages.batches(), turns.grouping()):
        spoken = _Spoken.of(finished.messages, finished.starts)
        total += int(spoken.sizes.sum())
        sums = np.bincount(spoken.number, spoken.sizes, len(finished.starts))
        for number in np.argsort(-sums, kind="stable").tolist():
            if sums[number] <= best.size:
                break
            places = spoken.places(number)
            if len(places.ids):
                best = places
                break
    return _chosen(best, [share * total for share in shares if share], total)


def _chosen(places: Places, sizes: Sequence[float], total: int) -> tuple[int, ...]:
    cuts: list[int] = []
    behind = 0  # letters after the earlier cuts
    for size in sizes:
        own = places.after - behind
        possible = (own > 0) & (places.after <= max(total / 2, behind + 1.5 * size))
        good = possible & (own >= size / 2) & (own <= 1.5 * size)
        rank = np.lexsort((np.abs(own - size), -places.pauses * good, ~good, ~possible))
        if len(rank) and possible[rank[0]]:
            cuts.append(int(places.ids[rank[0]]))
            behind = int(places.after[rank[0]])
    return tuple(cuts)


class _Spoken(NamedTuple):
    """Messages with text: id, conversation, whether the person wrote it, letters of the person, and seconds."""

    ids: U64
    number: I64
    answer: npt.NDArray[np.bool_]
    sizes: I64
    times: I64

    @classmethod
    def of(cls, batch: B.Batch, starts: I64) -> _Spoken:
        rows = rows_with_text(batch)
        answer = pc.fill_null(batch.column(ANSWERS), False).to_numpy(zero_copy_only=False)[rows]
        letters = pc.utf8_length(batch.column("text").take(pa.array(rows))).to_numpy().astype(np.int64)
        number = np.searchsorted(starts, rows, side="right") - 1
        return cls(B.ids(batch)[rows], number, answer, letters * answer, seconds_or_never(batch)[rows])

    def places(self, number: int) -> Places:
        """Return the positions at which the conversation `number` may be cut."""
        first, last = np.searchsorted(self.number, [number, number + 1])
        answer, sizes, times = (column[first:last] for column in (self.answer, self.sizes, self.times))
        at = np.flatnonzero(answer[:-1] & ~answer[1:]) + 1
        after = np.append(np.cumsum(sizes[::-1])[::-1], 0)[at]
        at, after = at[after > 0], after[after > 0]
        return Places(self.ids[first:last][at], np.abs(times[at] - times[at - 1]), after, int(sizes.sum()))
