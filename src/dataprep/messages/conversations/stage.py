"""Conversations: join messages of one chat to a document, if little time passes between them or one answers another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger, watch
from dataprep.core.model.stage import Stage
from dataprep.errors import PlanError
from dataprep.messages.times import duration
from dataprep.unicode.text import I64

from .grouping import NEVER, Grouping, finished_conversations, seconds_or_never


@dataclass(frozen=True, kw_only=True)
class Conversations(Stage):
    """Join the messages of one chat into one document while less than `gap` passes between one message and the next.

    The document has the id and the columns of its first message, `n_messages`, and `end_time`, the latest time in it;
    the other messages are dropped with the reason `joined`, and the `duplicate_of` column of the table of dropped
    documents has the id of the first message. A message without a time forms its own conversation. Media and system
    lines are joined too, unless `CleanMessages` or a Filter on `kind` comes before.

    Chats may be interleaved, as in the export of an account; each chat has its own conversations. A chat is identified
    by its name, so a chat in several files (Telegram's pages, or two exports after `Overlaps`) continues from one file
    to the next. Conversations are returned in the order of their first messages.

    Args:
        gap: a duration such as "90s", "30m", "1h" or "2d"; a message joins the conversation of the message before it if
            less time passes between them.
        reply_gap: a duration; the limit that `replies` uses instead of `gap`.
        replies: whether an answer to a message of the chat's newest conversation (column `reply_to`, if present) joins
            this conversation if less than `reply_gap` passes between the answer and the message before it. An answer
            never reopens an older conversation.
        line: the template of a message, with {author} and {text}; a message without an author is written as its text
            alone.
        separator: the text between messages.
        cuts: the ids of messages that always begin a new conversation.
        max_bytes: the maximum size in bytes of a conversation together with the messages of other chats since its first
            message; a larger conversation is split between two messages. This limits the memory.

    Raises PlanError for invalid values.

    >>> dp.Pipeline(dp.chats.Conversations(gap="1h")).run(dp.read("chat.txt"), out="conversations")    # doctest: +SKIP
    """

    gap: str = "1h"
    replies: bool = True
    reply_gap: str = "1d"
    line: str = "{author}: {text}"
    separator: str = "\n"
    max_bytes: int = 1 << 20
    cuts: tuple[int, ...] = ()

    VERSION: ClassVar[int] = 2
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "time")
    loses: ClassVar[Mapping[str, str]] = {"authors": "", "messages": ""}

    def __post_init__(self) -> None:
        duration(self.gap), duration(self.reply_gap, "reply_gap")
        unknown = [name for name in re.findall(r"\{(\w*)\}", self.line) if name not in ("author", "text")]
        if unknown:
            msg = f"line={self.line!r} names {unknown[0]!r}; its fields must be {{author}} and {{text}}"
            raise PlanError(msg)
        if "{text}" not in self.line:
            msg = f"line={self.line!r} must contain {{text}}; without it the messages would be lost"
            raise PlanError(msg)
        if self.max_bytes < 1:
            msg = f"max_bytes={self.max_bytes!r} must be at least 1; it is the maximum size of a conversation in bytes"
            raise PlanError(msg)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The names and types of the added columns: `n_messages`, and `end_time`, the latest time of a message."""
        return {"n_messages": pa.uint32(), "end_time": pa.timestamp("s")}

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield one document per conversation, after it and all earlier ones have ended; drop the other messages.

        A conversation may span any number of batches.
        """
        gap, reply_gap = duration(self.gap), duration(self.reply_gap) if self.replies else 0
        lines = (B.with_column(batch, "text", self._lines(batch)) for batch in batches)
        grouping = Grouping(gap, reply_gap, self.max_bytes, self.cuts)
        for found in finished_conversations(lines, grouping, len(self.separator.encode())):
            yield self._documents(found.messages, found.starts, stats)

    def warm(self) -> None:
        """Compile the kernel, before workers start."""
        columns = {"chat": pa.array(["c"]), "author": pa.array(["a"]), "time": pa.array([0], pa.timestamp("s"))}
        list(watch(self, iter([B.make([0], ["A text."], "warm", columns=columns)]), Ledger(self.name)))

    def _lines(self, batch: Batch) -> pa.LargeStringArray:
        author = batch.column("author").cast(pa.large_string())
        values = {"{author}": author, "{text}": batch.column("text")}
        parts = [values.get(part, _scalar(part)) for part in re.split(r"(\{author\}|\{text\})", self.line)]
        has_author = pc.fill_null(pc.not_equal(author, ""), fill_value=False)
        return pc.if_else(has_author, pc.binary_join_element_wise(*parts, _scalar("")), batch.column("text"))

    def _documents(self, messages: Batch, starts: I64, stats: Ledger) -> Batch:
        """Drop all but the first message of each conversation; return these with the lines of all as their text."""
        ids, n_messages = B.ids(messages), np.diff(starts, append=messages.num_rows)
        is_first = np.zeros(len(ids), bool)
        is_first[starts] = True
        stats.drop(ids[~is_first], "joined", duplicate_of=np.repeat(ids[starts], n_messages)[~is_first], moved=True)
        after = pc.if_else(pa.array(np.append(is_first[1:], True)), _scalar(""), _scalar(self.separator))
        offsets, data = B.buffers(pc.binary_join_element_wise(messages.column("text"), after, _scalar("")))
        texts = B.strings(np.append(offsets[starts], offsets[-1]), data)
        end = np.maximum.reduceat(seconds_or_never(messages), starts)
        end_time = pa.array(end, pa.timestamp("s"), mask=end == NEVER)
        out = B.with_column(messages.take(pa.array(starts)), "text", texts)
        return B.with_column(B.with_column(out, "n_messages", pa.array(n_messages, pa.uint32())), "end_time", end_time)


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
