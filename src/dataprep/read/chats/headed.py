"""Chats whose messages begin with a line that tells when and who, and go on in the lines below.

A line that begins no message continues the one before; a line that looks like a beginning in the middle of a message
cannot be told from one, and becomes one. The position is the byte offset of a message's first line.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dataprep.core import batch as B
from dataprep.core.batch import Batch, doc_id
from dataprep.core.ledger import Ledger
from dataprep.core.reader import Slice
from dataprep.read.text import Lines, Record
from dataprep.read.trust import Trust
from dataprep.store import files

from .messages import Messages, message_batch

UNIX_DAY = 719_163  # the ordinal of 1970-01-01


class Head(NamedTuple):
    """How a message begins: its time in seconds since 1970 on the exporter's clock, who speaks, what is said.

    kind and meta: what the first line alone tells; kind is empty where the whole message has to.
    """

    time: int | None
    author: str | None
    text: str
    kind: str = ""
    meta: dict[str, Any] | None = None


class Held(NamedTuple):
    """A message: where it begins, how, its further lines (None: too long), its bytes, and whether it is the last."""

    position: int
    head: Head
    rest: list[bytes] | None
    n_bytes: int
    last: bool = False


class Row(NamedTuple):
    """A message as a row of the batch."""

    author: str | None
    text: str
    kind: str
    meta: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Headed(Messages, Lines):
    """Base of the readers of such chats; they say how a message begins, and what it is."""

    splits: ClassVar[bool] = False

    def begin(self) -> Callable[[str], Head | None]:
        """What tells the beginning of a message, from a line; made once a file."""
        raise NotImplementedError

    def expected(self) -> str:
        """The form of a first line, for the sentence about a file that is none."""
        raise NotImplementedError

    def row(self, head: Head, text: str) -> Row:
        """What a whole message is."""
        return Row(head.author, text, head.kind or "text", head.meta or {})

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """The messages of a file.

        Errors: ReadError with the first line and the form expected, if no line begins a message.
        """
        trust = Trust(piece.url, self.max_bad, remedy=f"expected is {self.expected()}; format= names another reader")
        good = Columns()
        bad: list[tuple[int, str, int]] = []
        size = 0
        for message in self._messages(piece, stats, trust):
            text = _text(message)
            if text is None:
                bad.append((message.position, "too_long" if message.rest is None else "invalid_utf8", message.n_bytes))
            else:
                good.add(message.position, message.head.time, self.row(message.head, text))
                size += len(text)
            if size >= B.MAX_BYTES // 4 or len(good.positions) + len(bad) >= B.MAX_ROWS:
                yield from _batch(good, bad, piece, stats, trust)
                good, bad, size = Columns(), [], 0
        yield from _batch(good, bad, piece, stats, trust)
        trust.close()

    def _messages(self, piece: Slice, stats: Ledger, trust: Trust) -> Iterator[Held]:
        begin = self.begin()
        head: Head | None = None
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
                    trust.saw([], [line.position], functools.partial(_headless, line))
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
    """Messages by column: numbers and strings, which the garbage collector need not walk (it took half the time)."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.times: list[int | None] = []
        self.authors: list[str | None] = []
        self.texts: list[str] = []
        self.kinds: list[str] = []
        self.metas: list[str] = []

    def add(self, position: int, time: int | None, row: Row) -> None:
        """One message more."""
        self.positions.append(position)
        self.times.append(time)
        self.authors.append(row.author)
        self.texts.append(row.text)
        self.kinds.append(row.kind)
        self.metas.append(json.dumps(row.meta, ensure_ascii=False) if row.meta else "{}")


def _batch(
    good: Columns, bad: list[tuple[int, str, int]], piece: Slice, stats: Ledger, trust: Trust
) -> Iterator[Batch]:
    """Messages as a batch; the bad ones (position, reason, bytes) are dropped."""
    trust.saw(good.positions, [position for position, _, _ in bad], lambda: bad[0][1])
    gone = np.array([doc_id(piece.file, position) for position, _, _ in bad], np.uint64)
    stats.drop(gone, [why for _, why, _ in bad], n_bytes=[n for _, _, n in bad])
    if good.positions:
        columns = {
            "chat": [chat_of(piece.url)] * len(good.positions),
            "author": good.authors,
            "time": good.times,
            "kind": good.kinds,
        }
        ids = np.array(good.positions, np.uint64) + np.uint64(doc_id(piece.file, 0))
        yield message_batch(piece, ids, good.texts, columns, good.metas)


def _text(message: Held) -> str | None:
    """The text of a message, None if it is too long or not UTF-8; a letter cut by the end of the file is left out."""
    if message.rest is None:
        return None
    head = message.head
    first = f"{head.author or ''}\n{head.text}"
    if first.isascii() and not message.rest:
        return head.text
    data = b"\n".join([first.encode("utf-8", "surrogateescape"), *message.rest])
    try:
        whole = data.decode()
    except UnicodeDecodeError as e:
        if not (message.last and e.reason == "unexpected end of data"):
            return None
        whole = data[: e.start].decode()
    return whole.partition("\n")[2].rstrip("\n")


def _headless(line: Record) -> str:
    return f"no message begins with {(line.data or b'')[:60]!r}"


def since_1970(year: int, month: int, day: int, seconds: int = 0) -> int | None:
    """Seconds since 1970 on a clock without a zone; None if there is no such day."""
    try:
        return (datetime(year, month, day).toordinal() - UNIX_DAY) * 86_400 + seconds  # noqa: DTZ001 - no zone
    except ValueError:
        return None


def chat_of(url: str) -> str:
    """The chat's name: the file's, or the folder's where the file is `chat.md`, `data.json` or `_chat.txt`."""
    name = re.sub(r"(\.(txt|md|json|log|text))?(\.(gz|zst|xz))?$", "", files.name_of(url), flags=re.IGNORECASE)
    if name in {"chat", "data", "_chat", "index"}:
        name = files.name_of(url.rpartition("/")[0]) or name
    return name
