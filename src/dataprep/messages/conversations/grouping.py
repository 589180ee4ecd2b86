"""Group messages into conversations: a silence ends a conversation, and chats may be interleaved.

Slow reference for the tests: tests/twins/conversations.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.errors import PlanError
from dataprep.messages.times import seconds_of
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64

NEVER = -(1 << 63)  # the time of a message that has none
NOTHING = (1 << 64) - 1  # the id answered by a message that answers none


class Messages(NamedTuple):
    """The columns of n messages, in the order of the input.

    Attributes:
        chats: the row of OpenChats for each message's chat.
        ids: the messages' ids.
        times: the messages' times in seconds since 1970, or NEVER if unknown.
        sizes: the messages' sizes in bytes.
        answered: the id of the message that each message answers, or NOTHING.
        cut: whether a conversation has to begin with each message.
    """

    chats: I64
    ids: U64
    times: I64
    sizes: I64  # bytes
    answered: U64  # the id of the message that this one answers, or NOTHING
    cut: npt.NDArray[np.bool_]


class OpenChats(NamedTuple):
    """The newest conversation of each chat, one row per chat; `conversations_of` updates the arrays in place.

    Attributes:
        number: the conversation's number; -1 if the chat has none yet.
        first: the id of its first message.
        begin: total bytes of all messages before its first one.
        last: the time of its last message in seconds since 1970.
    """

    number: I64  # -1: none yet
    first: U64  # id of its first message
    begin: I64  # bytes read before its first message
    last: I64  # time of its last message


class Limits(NamedTuple):
    """The limits of a conversation, and the state before the first message.

    Attributes:
        gap: the silence in seconds that ends a conversation.
        reply_gap: a reply continues the conversation if the silence is shorter than this, in seconds.
        max_bytes: the largest size of a conversation in bytes.
        next_number: the number of the next new conversation.
        bytes_read: the bytes of all earlier messages.
    """

    gap: int
    reply_gap: int
    max_bytes: int
    next_number: int
    bytes_read: int


@kernel
def conversations_of(messages: Messages, chats: OpenChats, limits: Limits) -> I64:
    """Return the number of the conversation of each message, int64[n]; update `chats` to the state after them."""
    following, read = limits.next_number, limits.bytes_read
    number, first, begin, last = chats
    out = np.empty(len(messages.chats), np.int64)
    for r in range(len(messages.chats)):
        c, time, size = messages.chats[r], messages.times[r], messages.sizes[r]
        joins = not messages.cut[r] and number[c] >= 0 and time != NEVER and last[c] != NEVER
        joins = joins and read + size - begin[c] <= limits.max_bytes
        if joins:
            apart = abs(time - last[c])  # a phone's clock may be set back
            answers = first[c] <= messages.answered[r] < messages.ids[r]
            joins = apart < limits.gap or (apart < limits.reply_gap and answers)
        if not joins:
            number[c], first[c], begin[c] = following, messages.ids[r], read
            following += 1
        last[c] = time
        read += size
        out[r] = number[c]
    return out


class OpenConversation(NamedTuple):
    """A conversation that is open: later messages may join it.

    The fields are those of a row of `OpenChats`.
    """

    number: int
    first: int
    begin: int
    last: int


class Grouping:
    """Numbers conversations in the order of their first messages, and remembers which conversations are open.

    Attributes:
        gap: a silence of this many seconds ends a conversation.
        reply_gap: a reply to a message of the conversation continues it, if the silence is shorter than this.
        max_bytes: the size at which a conversation is split.
        cuts: the ids of messages with which a conversation begins in any case.
    """

    def __init__(self, gap: int, reply_gap: int, max_bytes: int, cuts: Sequence[int] = ()) -> None:
        """Start without conversations."""
        self.gap, self.reply_gap, self.max_bytes = gap, reply_gap, max_bytes
        self.cuts = np.array(cuts, np.uint64)
        self.open: dict[str | None, OpenConversation] = {}
        self.next_number = 0  # of the conversation that begins next
        self.bytes_read = 0

    def assign(self, batch: Batch, sizes: I64) -> I64:
        """Return the number of the conversation of each of n messages, int64[n].

        - sizes: int64[n], the bytes that each message adds to its conversation.
        """
        coded = batch.column("chat").cast(pa.string()).dictionary_encode(null_encoding="encode")
        chats, times = coded.dictionary.to_pylist(), seconds_or_never(batch)
        known = [self.open.get(chat, OpenConversation(-1, 0, 0, NEVER)) for chat in chats]
        number, begin, last = (np.array([getattr(k, n) for k in known], np.int64) for n in ("number", "begin", "last"))
        state = OpenChats(number, np.array([k.first for k in known], np.uint64), begin, last)
        ids, cut = B.ids(batch), np.isin(B.ids(batch), self.cuts)
        messages = Messages(coded.indices.to_numpy().astype(np.int64), ids, times, sizes, _answered(batch), cut)
        limits = Limits(self.gap, self.reply_gap, self.max_bytes, self.next_number, self.bytes_read)
        numbers = conversations_of(messages, state, limits)
        self.next_number = max(self.next_number, int(numbers.max()) + 1)
        self.bytes_read += int(sizes.sum())
        now = zip(*(column.tolist() for column in state), strict=True)
        self.open.update({chat: OpenConversation(*row) for chat, row in zip(chats, now, strict=True)})
        oldest = self.bytes_read - self.max_bytes  # no message can join a conversation that began before
        self.open = {chat: one for chat, one in self.open.items() if one.begin >= oldest}
        return numbers

    def first_open(self) -> int:
        """Return the smallest number of an open conversation; if none is open, the number of the next new one."""
        return min((one.number for one in self.open.values()), default=self.next_number)


class Finished(NamedTuple):
    """Messages of conversations that have ended, one conversation after another.

    Attributes:
        starts: int64, the row of `messages` at which each conversation begins.
        settled: the smallest id of a message in a conversation that has not ended; 2^64 - 1 if there is none.
    """

    messages: Batch
    starts: I64
    settled: int


def finished_conversations(batches: Iterator[Batch], grouping: Grouping, extra: int = 0) -> Iterator[Finished]:
    """Yield the messages grouped by conversation; conversations are in the order of their first messages.

    Each conversation is yielded after it and all earlier ones have ended.

    - grouping: decides where conversations end.
    - extra: the bytes that a message adds to its conversation in addition to its text.
    """
    held: list[Batch] = []
    numbers: list[I64] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            numbers.append(grouping.assign(batch, B.lengths(batch) + extra))
            if np.concatenate(numbers).min() < grouping.first_open():
                rows, number = _grouped(held, numbers)
                n = int(np.searchsorted(number, grouping.first_open()))
                first_open_id = min((one.first for one in grouping.open.values()), default=NOTHING)
                yield Finished(rows.slice(0, n), _starts(number[:n]), first_open_id)
                held, numbers = ([rows.slice(n)], [number[n:]]) if n < len(number) else ([], [])
    if held:
        rows, number = _grouped(held, numbers)
        yield Finished(rows, _starts(number), NOTHING)


def _grouped(held: list[Batch], numbers: list[I64]) -> tuple[Batch, I64]:
    """Return messages by the number of their conversation, and these numbers."""
    rows, number = B.concat(held), np.concatenate(numbers)
    if (number[1:] >= number[:-1]).all():
        return rows, number
    order = np.argsort(number, kind="stable")
    return rows.take(pa.array(order)), number[order]


def _starts(number: I64) -> I64:
    return np.flatnonzero(np.diff(number, prepend=-1))


def seconds_or_never(batch: Batch) -> I64:
    """Return the column `time` of a batch in seconds since 1970, int64[n]; NEVER for a missing time.

    Raises PlanError if the column is not a timestamp.
    """
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
