"""Group messages into conversations: a silence ends one, and chats may be interleaved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.errors import PlanError
from dataprep.messages.times import seconds_of
from dataprep.unicode.text import I64, U64

from .kernel import NEVER, NOTHING, Limits, Messages, OpenChats, conversations_of


class OpenConversation(NamedTuple):
    """A conversation that later messages may join: the fields of one row of `OpenChats`."""

    number: int
    first: int
    begin: int
    last: int


class Grouping:
    """Number conversations in the order of their first messages, and remember which are open."""

    def __init__(self, gap: int, reply_gap: int, max_bytes: int) -> None:
        """Take the seconds of silence that end a conversation, and that a reply bridges; bytes at which it is cut."""
        self.gap, self.reply_gap, self.max_bytes = gap, reply_gap, max_bytes
        self.open: dict[str | None, OpenConversation] = {}
        self.next_number = 0  # of the conversation that begins next
        self.bytes_read = 0

    def assign(self, batch: Batch, sizes: I64) -> tuple[I64, I64]:
        """Return each message's conversation and its time in seconds (NEVER if it has none), int64[n] both.

        sizes: int64[n], bytes that each message adds to its conversation.
        """
        coded = batch.column("chat").cast(pa.string()).dictionary_encode(null_encoding="encode")
        chats, times = coded.dictionary.to_pylist(), _seconds(batch)
        known = [self.open.get(chat, OpenConversation(-1, 0, 0, NEVER)) for chat in chats]
        number, begin, last = (np.array([getattr(k, n) for k in known], np.int64) for n in ("number", "begin", "last"))
        state = OpenChats(number, np.array([k.first for k in known], np.uint64), begin, last)
        messages = Messages(coded.indices.to_numpy().astype(np.int64), B.ids(batch), times, sizes, _answered(batch))
        limits = Limits(self.gap, self.reply_gap, self.max_bytes, self.next_number, self.bytes_read)
        numbers = conversations_of(messages, state, limits)
        self.next_number = max(self.next_number, int(numbers.max()) + 1)
        self.bytes_read += int(sizes.sum())
        now = zip(*(column.tolist() for column in state), strict=True)
        self.open.update({chat: OpenConversation(*row) for chat, row in zip(chats, now, strict=True)})
        self._close_full()
        return numbers, times

    def first_open_id(self) -> int:
        """Return the smallest id of a first message of an open conversation; NOTHING if none is open."""
        return min((one.first for one in self.open.values()), default=NOTHING)

    def first_open(self) -> int:
        """Return the smallest number of an open conversation."""
        return min((one.number for one in self.open.values()), default=self.next_number)

    def _close_full(self) -> None:
        """Remove conversations that reached `max_bytes`: no message can join them."""
        oldest = self.bytes_read - self.max_bytes
        self.open = {chat: one for chat, one in self.open.items() if one.begin >= oldest}


class Finished(NamedTuple):
    """Messages of finished conversations, grouped by conversation; `starts` are their first rows.

    No later message has an id below `settled`, except messages of these conversations.
    """

    messages: Batch
    starts: I64
    settled: int


def finished_conversations(batches: Iterator[Batch], grouping: Grouping) -> Iterator[Finished]:
    """Yield the same messages grouped by conversation, in the order of the first messages."""
    held: list[Batch] = []
    numbers: list[I64] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            numbers.append(grouping.assign(batch, np.diff(B.buffers(batch)[0]))[0])
            if np.concatenate(numbers).min() < grouping.first_open():
                rows, number = B.concat(held), np.concatenate(numbers)
                over = number < grouping.first_open()
                yield _grouped(rows, number, np.flatnonzero(over), grouping.first_open_id())
                held, numbers = [rows.filter(pa.array(~over))], [number[~over]]
                if not len(numbers[0]):
                    held, numbers = [], []
    if held:
        number = np.concatenate(numbers)
        yield _grouped(B.concat(held), number, np.arange(len(number)), NOTHING)


def _grouped(messages: Batch, numbers: I64, rows: I64, settled: int) -> Finished:
    rows = rows[np.argsort(numbers[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(numbers[rows], prepend=-1))
    return Finished(messages.take(pa.array(rows)), starts, settled)


def _seconds(batch: Batch) -> I64:
    """Return the times in seconds, NEVER if a message has none. Raises PlanError if they are not timestamps."""
    time = batch.column("time")
    if not pa.types.is_timestamp(time.type):
        msg = f"column time has type {time.type}; it must be a timestamp, as the chat readers write it"
        raise PlanError(msg)
    seconds, known = seconds_of(time)
    return np.where(known, seconds, NEVER)


def _answered(batch: Batch) -> U64:
    """Return the ids of the messages that are answered, NOTHING for messages that answer none."""
    if batch.schema.get_field_index("reply_to") < 0:
        return np.full(batch.num_rows, NOTHING, np.uint64)
    return np.asarray(pc.fill_null(batch.column("reply_to").cast(pa.uint64()), pa.scalar(NOTHING, pa.uint64())))
