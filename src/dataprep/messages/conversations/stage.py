"""Conversations: join messages of one chat that follow each other closely, or answer each other, into one document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger, watch
from dataprep.core.stage import Stage
from dataprep.errors import PlanError
from dataprep.messages.times import duration

from .grouping import Grouping
from .kernel import NEVER


@dataclass(frozen=True, kw_only=True)
class Conversations(Stage):
    """Join the messages of one chat into one document while less than `gap` passes between one message and the next.

    The document has the id and the columns of its first message, `n_messages`, and `end_time`, the latest time in it;
    the other messages are dropped as `joined`, and `kept` names the first. A message without a time is a conversation
    of its own. Media and system lines are joined too, unless `CleanMessages` or a Filter on `kind` comes before.

    Chats may be interleaved, as in the export of an account: each chat has its own conversations. A chat is identified
    by its name, so one in several files (Telegram's pages, two exports after `Overlaps`) continues from one file to the
    next. Conversations are returned in the order of their first messages.

    gap, reply_gap: durations such as "90s", "30m", "1h" or "2d".
    replies: a message that answers one of the open conversation (column `reply_to`, if present) joins it while less
        than `reply_gap` passes between it and the message before; an answer never reopens an older conversation.
    line: template of a message, with {author} and {text}; a message without an author is its text alone.
    separator: text between messages.
    max_bytes: a conversation is cut between two messages if it, with the messages of other chats since its first one,
        would become larger than this; bounds the memory.

    Raises PlanError for values that are not valid.

    >>> dp.Pipeline(dp.Conversations(gap="1h")).run(dp.read("chat.txt"), out="conversations")    # doctest: +SKIP
    """

    gap: str = "1h"
    replies: bool = True
    reply_gap: str = "1d"
    line: str = "{author}: {text}"
    separator: str = "\n"
    max_bytes: int = 1 << 20

    VERSION: ClassVar[int] = 2
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "time")

    def __post_init__(self) -> None:
        duration(self.gap), duration(self.reply_gap, "reply_gap")
        if "{text}" not in self.line:
            msg = f"line={self.line!r} must contain {{text}}; without it the messages would be lost"
            raise PlanError(msg)
        if self.max_bytes < 1:
            msg = f"max_bytes={self.max_bytes!r} must be 1 or more: the bytes that a conversation may have"
            raise PlanError(msg)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """n_messages, and end_time: the latest time of a message."""
        return {"n_messages": pa.uint32(), "end_time": pa.timestamp("s")}

    @property
    def seconds(self) -> tuple[int, int]:
        """Gap and reply_gap in seconds; without replies, the second is 0."""
        return duration(self.gap), duration(self.reply_gap) if self.replies else 0

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield each conversation after it and all earlier ones have ended; it may span any number of batches."""
        grouping, pending = Grouping(*self.seconds, self.max_bytes), _Pending()
        separator_bytes = len(self.separator.encode())
        for batch in batches:
            if batch.num_rows:
                lines = self._lines(batch)
                numbers, times = grouping.assign(batch, np.diff(B.buffers(lines)[0]) + separator_bytes)
                pending.add(batch, lines, numbers, times)
                yield from pending.finish(grouping.first_open(), self.separator, stats)
        yield from pending.finish(grouping.next_number, self.separator, stats)

    def warm(self) -> None:
        """Compile the kernel."""
        columns = {"chat": pa.array(["c"]), "author": pa.array(["a"]), "time": pa.array([0], pa.timestamp("s"))}
        list(watch(self, iter([B.make([0], ["A text."], "warm", columns=columns)]), Ledger(self.name)))

    def _lines(self, batch: Batch) -> pa.LargeStringArray:
        author = batch.column("author").cast(pa.large_string())
        values = {"{author}": author, "{text}": batch.column("text")}
        parts = [values.get(part, _scalar(part)) for part in re.split(r"(\{author\}|\{text\})", self.line)]
        has_author = pc.fill_null(pc.not_equal(author, ""), fill_value=False)
        return pc.if_else(has_author, pc.binary_join_element_wise(*parts, _scalar("")), batch.column("text"))


@dataclass
class _Pending:
    """Messages of conversations that are open, or that began after an open one."""

    firsts: list[Batch] = field(default_factory=list)  # first messages, in order
    messages: list[pa.RecordBatch] = field(default_factory=list)  # columns number, id, time, line
    begun: int = 0  # conversations of which a message was seen
    finished: int = 0  # conversations that were returned

    def add(self, batch: Batch, lines: pa.LargeStringArray, numbers: Any, times: Any) -> None:
        """Add the messages of a batch; `numbers` are their conversations."""
        new, rows = np.unique(numbers, return_index=True)
        begun = self.begun
        self.firsts.append(batch.take(pa.array(rows[new >= begun])))
        columns = {"number": pa.array(numbers), "id": batch.column("id"), "time": pa.array(times), "line": lines}
        self.messages.append(pa.RecordBatch.from_pydict(columns))
        self.begun = max(begun, int(new[-1]) + 1)

    def finish(self, end: int, separator: str, stats: Ledger) -> Iterator[Batch]:
        """Drop all but the first message of each conversation numbered below `end`; yield them as documents."""
        if end <= self.finished:
            return
        held, firsts = B.concat(self.messages), B.concat(self.firsts)
        over = np.asarray(held.column("number")) < end
        rows = np.flatnonzero(over)
        rows = rows[np.argsort(np.asarray(held.column("number"))[rows], kind="stable")]
        self.messages = [held.filter(pa.array(~over))]
        self.firsts = [firsts.slice(end - self.finished)]
        yield _documents(firsts.slice(0, end - self.finished), held.take(pa.array(rows)), separator, stats)
        self.finished = end


def _documents(firsts: Batch, messages: pa.RecordBatch, separator: str, stats: Ledger) -> Batch:
    """Return conversations as documents, of their first rows and of all their messages, grouped by conversation."""
    number = np.asarray(messages.column("number"))
    is_first = np.append(True, number[1:] != number[:-1])
    starts = np.flatnonzero(is_first)
    ids, n_messages = B.ids(messages), np.diff(np.append(starts, len(number)))
    stats.drop(ids[~is_first], "joined", kept=np.repeat(ids[starts], n_messages)[~is_first], moved=True)
    after = pc.if_else(pa.array(np.append(is_first[1:], True)), _scalar(""), _scalar(separator))
    offsets, data = B.buffers(pc.binary_join_element_wise(messages.column("line"), after, _scalar("")))
    texts = B.strings(np.append(offsets[starts], offsets[-1]), data)
    end = np.maximum.reduceat(np.asarray(messages.column("time")), starts)
    end_time = pa.array(end, pa.timestamp("s"), mask=end == NEVER)
    out = B.with_column(firsts, "text", texts)
    return B.with_column(B.with_column(out, "n_messages", pa.array(n_messages, pa.uint32())), "end_time", end_time)


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
