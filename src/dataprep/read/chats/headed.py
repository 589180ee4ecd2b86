"""Base of readers of chats in which a line with time and author begins a message, and further lines continue it.

A line that does not begin a message continues the message before it. A line inside a message that looks like a header
cannot be distinguished from a real header, so it begins a message. The position is the byte offset of a message's first
line.
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

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.read.text import Lines, Record, open_at
from dataprep.read.trust import Trust
from dataprep.store import files
from dataprep.unicode.valid import is_utf8

from .charsets import Charset, Utf8Stream, charset_of
from .messages import ChatReader, LineFeeds, message_batch

UNIX_DAY = 719_163  # the ordinal of 1970-01-01


class FirstLine(NamedTuple):
    """The first line of a message: its time (seconds since 1970 on the exporting device's clock), author and text.

    Attributes:
        kind: the kind of the message; "" if the whole message is needed to decide it.
        meta: further fields of the message, if the first line decides them.
        counted: what else is counted in the statistics, such as a field with text that the reader does not know.
    """

    time: int | None
    author: str | None
    text: str
    kind: str = ""
    meta: dict[str, Any] | None = None
    counted: tuple[str, ...] = ()


BETWEEN = FirstLine(None, None, "")  # a line that ends the message before it and begins none, such as a date line


class Held(NamedTuple):
    """A message whose further lines are being collected.

    Attributes:
        position: byte offset of its first line.
        head: the parsed first line.
        rest: the further lines; None if the message is too long to keep.
        n_bytes: the size of the message.
        last: whether it is the last message of the file.
    """

    position: int
    head: FirstLine
    rest: list[bytes] | None
    n_bytes: int
    last: bool = False


class MessageContent(NamedTuple):
    """The columns of a message that `Headed.row` returns; its time and position come from its first line.

    Attributes:
        meta: further fields, stored as JSON.
    """

    author: str | None
    text: str
    kind: str
    meta: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Headed(ChatReader, Lines):
    """Base class of readers of chats in which each message starts with a timestamped header line.

    A subclass recognises first lines (`begin`), states their form (`expected`) and classifies messages (`row`).
    """

    splits: ClassVar[bool] = False

    def begin(self) -> Callable[[str], FirstLine | None]:
        """Return a function, new for each file, that parses a line as the first line of a message.

        It returns a FirstLine (time, author, text), None if the line does not begin a message, or BETWEEN if the line
        is not part of any message.
        """
        raise NotImplementedError

    def expected(self) -> str:
        """Return the form of a message's first line in words, for the error about a file without such lines."""
        raise NotImplementedError

    def chat(self, piece: Slice) -> str:
        """Return the name of the chat in the file of `piece`."""
        return chat_of(piece.url)

    def opened(self, piece: Slice) -> BinaryIO:
        """Return a stream of the file's text in UTF-8, in which lines end with line feeds."""
        charset, stream = _charset(piece), open_at(piece)
        return cast("BinaryIO", LineFeeds(Utf8Stream(stream, charset) if charset else stream))

    def row(self, head: FirstLine, text: str) -> MessageContent:
        """Return author, text, kind and meta of a message.

        Args:
            head: the parsed first line of the message.
            text: the whole text of the message.
        """
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
                good.add(message.position, message.head.time, self.row(message.head, read))
                size += len(read)
                for name in message.head.counted:
                    stats.count(name)
            if size >= B.MAX_BYTES // 4 or len(good.positions) + len(bad) >= B.MAX_ROWS:
                yield from _batch(good, bad, chat, piece, stats, trust)
                good, bad, size = Columns(), [], 0
        yield from _batch(good, bad, chat, piece, stats, trust)
        if charset := _charset(piece):
            charset.state(piece.url, stats)
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
                if found is BETWEEN:
                    head = None
                    continue
                head, rest, position, n_bytes = found, [], line.position, 0
            elif not head:
                if line.data is None or line.data.strip():
                    refuse(line, piece, stats, trust)
                continue
            elif rest is not None and line.data is not None:
                rest.append(line.data)
            n_bytes += line.n_bytes + 1
            if line.data is None or n_bytes > self.max_doc_bytes + 1:
                rest = None
        if head:
            yield Held(position, head, rest, n_bytes, last=True)


def refuse(line: Record, piece: Slice, stats: Ledger, trust: Trust) -> None:
    """Drop a line before the first message of the file of `piece` as `no_header`."""
    trust.count([], [line.position], functools.partial("no message begins with {!r}".format, (line.data or b"")[:60]))
    stats.drop([doc_id(piece.file, line.position)], "no_header", n_bytes=[line.n_bytes])


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

        Args:
            position: its byte offset in the file.
            time: seconds since 1970; None: unknown.
            row: its other columns.
        """
        self.positions.append(position)
        self.times.append(time)
        self.authors.append(row.author)
        self.texts.append(row.text)
        self.kinds.append(row.kind)
        self.metas.append(json.dumps(row.meta, ensure_ascii=False) if row.meta else "{}")


def _charset(piece: Slice) -> Charset | None:
    with files.open_read(piece.url) as stream:
        return charset_of(stream, piece.url)


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


def _text(message: Held) -> str | None:
    """Return the text of a message; None if the message is too long or not UTF-8.

    A character cut by the end of the file is removed.
    """
    if message.rest is None:
        return None
    head = message.head
    if head.text.isascii() and not message.rest and (head.author is None or _is_whole(head.author)):
        return head.text
    if head.author is not None and not _is_whole(head.author):
        return None
    data = b"\n".join([head.text.encode("utf-8", "surrogateescape"), *message.rest])
    try:
        return data.decode().rstrip("\n")
    except UnicodeDecodeError as e:
        cut = message.last and e.reason == "unexpected end of data"
        return data[: e.start].decode().rstrip("\n") if cut else None


def _is_whole(text: str) -> bool:
    """Return whether a text has no bytes that are not UTF-8, which are surrogates in it."""
    return text.isascii() or is_utf8(text.encode("utf-8", "surrogateescape"))


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
    name = re.sub(r"(\.(txt|md|json|log|text))?(\.(gz|zst|xz|bz2))?$", "", files.name_of(url), flags=re.IGNORECASE)
    if name in {"chat", "data", "_chat", "index"}:
        name = files.name_of(url.rpartition("/")[0]) or name
    return name.encode("utf-8", "backslashreplace").decode()  # names of files need not be UTF-8
