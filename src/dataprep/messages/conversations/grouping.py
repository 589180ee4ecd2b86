"""Talks: which messages belong together. A talk ends with a silence; chats may be interleaved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.errors import PlanError
from dataprep.unicode.text import I64, U64

from .kernel import NEVER, NOTHING, talks_of

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds_of(gap: str, name: str = "gap") -> int:
    """A length of time as people write it, in seconds; name: of the parameter, for the error.

    >>> seconds_of("90s"), seconds_of("1h")
    (90, 3600)
    """
    if not re.fullmatch(r"[1-9]\d*[smhd]", str(gap)):
        msg = f"{name}={gap!r} is no length of time; write 90s, 30m, 1h or 2d"
        raise PlanError(msg)
    return int(gap[:-1]) * UNITS[gap[-1]]


class Open(NamedTuple):
    """The talk of a chat that may go on: its number, first message, where it began in all bytes read; its last time."""

    number: int
    first: int
    begin: int
    last: int


class Talks:
    """Numbers talks in the order of their first messages, and remembers which may go on."""

    def __init__(self, gap: int, reply_gap: int, max_bytes: int) -> None:
        """Seconds of silence that end a talk, and that an answer bridges; bytes at which it is cut."""
        self.gap, self.reply_gap, self.max_bytes = gap, reply_gap, max_bytes
        self.open: dict[str | None, Open] = {}
        self.next = 0  # the number of the talk that begins next
        self.read = 0  # bytes of lines

    def number(self, batch: Batch, sizes: I64) -> tuple[I64, I64]:
        """The talk of each message of `sizes` bytes, and its time in seconds (NEVER: it has none), int64[n] both."""
        coded = batch.column("chat").cast(pa.string()).dictionary_encode(null_encoding="encode")
        chats = coded.dictionary.to_pylist()
        times = _seconds(batch)
        state = [self.open.get(chat, Open(-1, 0, 0, NEVER)) for chat in chats]
        number, begin, last = (np.array([getattr(s, n) for s in state], np.int64) for n in ("number", "begin", "last"))
        first = np.array([s.first for s in state], np.uint64)
        codes = coded.indices.to_numpy().astype(np.int64)
        message = (codes, B.ids(batch), times, sizes, _answered(batch))
        limits = np.array([self.gap, self.reply_gap, self.max_bytes, self.next, self.read], np.int64)
        numbers = talks_of(*message, number, first, begin, last, limits)
        self.next, self.read = max(self.next, int(numbers.max()) + 1), self.read + int(sizes.sum())
        now = zip(number.tolist(), first.tolist(), begin.tolist(), last.tolist(), strict=True)
        self.open.update({chat: Open(*talk) for chat, talk in zip(chats, now, strict=True)})
        self._forget()
        return numbers, times

    def first_open_id(self) -> int:
        """The smallest id of a first message of a talk that may go on; NOTHING if there is none."""
        return min((talk.first for talk in self.open.values()), default=NOTHING)

    def first_open(self) -> int:
        """The smallest number of a talk that may go on."""
        return min((talk.number for talk in self.open.values()), default=self.next)

    def _forget(self) -> None:
        """Talks that are bigger than they may be: nothing can join them any more."""
        oldest = self.read - self.max_bytes
        self.open = {chat: talk for chat, talk in self.open.items() if talk.begin >= oldest}


class Whole(NamedTuple):
    """Messages of talks that are over, side by side: `starts` are the rows where talks begin.

    Nothing that comes later has an id below `settled`, but for messages of these talks.
    """

    messages: Batch
    starts: I64
    settled: int


def whole_talks(batches: Iterator[Batch], talks: Talks) -> Iterator[Whole]:
    """The same messages by talks, in the order of their first messages."""
    held: list[Batch] = []
    numbers: list[I64] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            numbers.append(talks.number(batch, np.diff(B.buffers(batch)[0]))[0])
            if np.concatenate(numbers).min() < talks.first_open():
                rows, of = B.concat(held), np.concatenate(numbers)
                over = of < talks.first_open()
                yield _side_by_side(rows, of, np.flatnonzero(over), talks.first_open_id())
                held, numbers = [rows.filter(pa.array(~over))], [of[~over]]
                if not len(numbers[0]):
                    held, numbers = [], []
    if held:
        of = np.concatenate(numbers)
        yield _side_by_side(B.concat(held), of, np.arange(len(of)), NOTHING)


def _side_by_side(messages: Batch, numbers: I64, rows: I64, settled: int) -> Whole:
    rows = rows[np.argsort(numbers[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(numbers[rows], prepend=-1))
    return Whole(messages.take(pa.array(rows)), starts, settled)


def _seconds(batch: Batch) -> I64:
    """The times in seconds, NEVER where there is none."""
    time = batch.column("time")
    if not pa.types.is_timestamp(time.type):
        msg = f"there is a column time of type {time.type}; talks need a timestamp, as chat readers give it"
        raise PlanError(msg)
    seconds = time.cast(pa.timestamp("s", time.type.tz), safe=False).cast(pa.int64())
    return np.asarray(pc.fill_null(seconds, NEVER))


def _answered(batch: Batch) -> U64:
    """The ids of the messages that are answered, NOTHING where none is."""
    if batch.schema.get_field_index("reply_to") < 0:
        return np.full(batch.num_rows, NOTHING, np.uint64)
    return np.asarray(pc.fill_null(batch.column("reply_to").cast(pa.uint64()), pa.scalar(NOTHING, pa.uint64())))
