"""Base of readers of chats in which a line with time and author begins a message, and further lines continue it.

A line that begins no message continues the one before. A line inside a message that looks like a beginning cannot be
distinguished from one, and begins a message. The position is the byte offset of a message's first line.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, ClassVar, NamedTuple, cast

import numpy as np

from dataprep.core import batch as B
from dataprep.core.batch import Batch, doc_id
from dataprep.core.ledger import Ledger
from dataprep.core.reader import Slice
from dataprep.read.text import Lines, open_at
from dataprep.read.trust import Trust
from dataprep.store import files

from .messages import ChatReader, LineFeeds, from_latin1, message_batch

UNIX_DAY = 719_163  # the ordinal of 1970-01-01


class FirstLine(NamedTuple):
    """The first line of a message: its time (seconds since 1970 on the exporting device's clock), author and text.

    kind, meta: kind and further fields of the message, if the first line decides them; kind is "" if the whole message
    is needed to decide it.
    """

    time: int | None
    author: str | None
    text: str
    kind: str = ""
    meta: dict[str, Any] | None = None


class Held(NamedTuple):
    """A message whose further lines are being collected.

    position: byte offset of its first line. head: the parsed first line. rest: the further lines; None if the message
    is too long to keep. n_bytes: size of the message. last: whether it is the last message of the file.
    """

    position: int
    head: FirstLine
    rest: list[bytes] | None
    n_bytes: int
    last: bool = False


class MessageContent(NamedTuple):
    """The columns of a message that `Headed.row` returns; its time and position come from its first line.

    meta: further fields, stored as JSON.
    """

    author: str | None
    text: str
    kind: str
    meta: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Headed(ChatReader, Lines):
    """Base class of readers of chats in which a first line with a time begins each message.

    A subclass recognises first lines (`begin`), states their form (`expected`) and classifies messages (`row`).
    """

    splits: ClassVar[bool] = False

    def begin(self) -> Callable[[str], FirstLine | None]:
        """Return a function, new for each file, that parses a line as the first line of a message.

        It returns a FirstLine (time, author, text), or None if the line does not begin a message.
        """
        raise NotImplementedError

    def expected(self) -> str:
        """Return the form of a message's first line in words, for the error about a file without such lines."""
        raise NotImplementedError

    def chat(self, piece: Slice) -> str:
        """Return the name of the chat in the file of `piece`."""
        return chat_of(piece.url)

    def opened(self, piece: Slice) -> BinaryIO:
        """Return a stream of the file's bytes, in which lines end with line feeds."""
        return cast("BinaryIO", LineFeeds(open_at(piece)))

    def row(self, head: FirstLine, text: str) -> MessageContent:
        """Return author, text, kind and meta of a message; head: its parsed first line; text: its whole text."""
        return MessageContent(head.author, text, head.kind or "text", head.meta or {})

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of a file as batches, one row per message.

        Raises ReadError with the first line and the expected form if no line begins a message.
        """
        trust = Trust(
            piece.url, self.max_bad, remedy=f"the expected form is {self.expected()}; name another reader with format="
        )
        good, chat = Columns(), self.chat(piece)
        bad: list[tuple[int, str, int]] = []
        size = 0
        for message in self._messages(piece, stats, trust):
            read = _text(message)
            if read is None:
                bad.append((message.position, "too_long" if message.rest is None else "invalid_utf8", message.n_bytes))
            else:
                author, text, was_latin1 = read
                head = message.head._replace(author=author) if was_latin1 else message.head
                good.add(message.position, head.time, self.row(head, text))
                stats.count("from_latin1", int(was_latin1))
                size += len(text)
            if size >= B.MAX_BYTES // 4 or len(good.positions) + len(bad) >= B.MAX_ROWS:
                yield from _batch(good, bad, chat, piece, stats, trust)
                good, bad, size = Columns(), [], 0
        yield from _batch(good, bad, chat, piece, stats, trust)
        trust.close()

    def _messages(self, piece: Slice, stats: Ledger, trust: Trust) -> Iterator[Held]:
        begin = self.begin()
        head: FirstLine | None = None
        rest: list[bytes] | None = []
        position = n_bytes = 0
        for line in self._lines(piece):
            found = None if line.data is None else begin(line.data.decode("utf-8", "surrogateescape"))
            if found:
                if head:
                    yield Held(position, head, rest, n_bytes)
                head, rest, position, n_bytes = found, [], line.position, 0
            elif not head:
                if line.data is None or line.data.strip():
                    first = functools.partial("no message begins with {!r}".format, (line.data or b"")[:60])
                    trust.count([], [line.position], first)
                    stats.drop([doc_id(piece.file, line.position)], "no_header", n_bytes=[line.n_bytes])
                continue
            elif rest is not None and line.data is not None:
                rest.append(line.data)
            n_bytes += line.n_bytes + 1
            if line.data is None or n_bytes > self.max_doc_bytes + 1:
                rest = None
        if head:
            yield Held(position, head, rest, n_bytes, last=True)


class Columns:
    """Messages, collected as one list per column; one object per message would double the time (garbage collection)."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.times: list[int | None] = []
        self.authors: list[str | None] = []
        self.texts: list[str] = []
        self.kinds: list[str] = []
        self.metas: list[str] = []

    def add(self, position: int, time: int | None, row: MessageContent) -> None:
        """Append one message.

        position: its byte offset in the file. time: seconds since 1970; None: unknown. row: its other columns.
        """
        self.positions.append(position)
        self.times.append(time)
        self.authors.append(row.author)
        self.texts.append(row.text)
        self.kinds.append(row.kind)
        self.metas.append(json.dumps(row.meta, ensure_ascii=False) if row.meta else "{}")


def _batch(
    good: Columns, bad: list[tuple[int, str, int]], chat: str, piece: Slice, stats: Ledger, trust: Trust
) -> Iterator[Batch]:
    """Drop the bad messages (position, reason, bytes); yield the good ones as a batch."""
    trust.count(good.positions, [position for position, _, _ in bad], lambda: bad[0][1])
    dropped = np.array([doc_id(piece.file, position) for position, _, _ in bad], np.uint64)
    stats.drop(dropped, [why for _, why, _ in bad], n_bytes=[n for _, _, n in bad])
    if good.positions:
        columns = {"chat": [chat] * len(good.positions), "author": good.authors, "time": good.times, "kind": good.kinds}
        ids = np.array(good.positions, np.uint64) + np.uint64(doc_id(piece.file, 0))
        yield message_batch(piece, ids, good.texts, columns, good.metas)


def _text(message: Held) -> tuple[str | None, str, bool] | None:
    """Return author, text, and whether they were Latin-1; None if the message is too long or neither that nor UTF-8.

    A character cut by the end of the file is removed.
    """
    if message.rest is None:
        return None
    head = message.head
    first = f"{head.author or ''}\n{head.text}"
    if first.isascii() and not message.rest:
        return head.author, head.text, False
    data = b"\n".join([first.encode("utf-8", "surrogateescape"), *message.rest])
    was_latin1 = False
    try:
        whole = data.decode()
    except UnicodeDecodeError as e:
        if message.last and e.reason == "unexpected end of data":
            whole = data[: e.start].decode()
        else:
            mended = from_latin1(data)
            if mended is None:
                return None
            whole, was_latin1 = mended.decode(), True
    author, _, text = whole.partition("\n")
    return author or None, text.rstrip("\n"), was_latin1


def since_1970(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int | None:
    """Return a time as seconds since 1970, without a time zone; None if it does not exist (second=60 is accepted)."""
    try:
        start = datetime(year, month, day, hour, minute)  # noqa: DTZ001 - no zone
    except ValueError:
        return None
    seconds = (start.toordinal() - UNIX_DAY) * 86_400 + hour * 3_600 + minute * 60 + second
    return seconds if second <= 60 else None


def chat_of(url: str) -> str:
    """Return the chat's name: the file's name, or its folder's name for `chat.md`, `data.json` and `_chat.txt`."""
    name = re.sub(r"(\.(txt|md|json|log|text))?(\.(gz|zst|xz))?$", "", files.name_of(url), flags=re.IGNORECASE)
    if name in {"chat", "data", "_chat", "index"}:
        name = files.name_of(url.rpartition("/")[0]) or name
    return name
