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

from ... import batch as B
from ... import files
from ...batch import Batch, doc_id
from ...meter import Meter
from ...part import Slice
from ..text import Lines, Record
from ..trust import Trust
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
    """A message: where it begins, how, its further lines (None: too long), and its bytes."""

    position: int
    head: Head
    rest: list[bytes] | None
    n_bytes: int


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

    def __call__(self, piece: Slice, stats: Meter) -> Iterator[Batch]:
        """The messages of a file.

        Errors: ReadError with the first line and the form expected, if no line begins a message.
        """
        trust = Trust(piece.url, self.max_bad, remedy=f"expected is {self.expected()}; format= names another reader")
        held: list[Held] = []
        size = 0
        for message in self._messages(piece, stats, trust):
            held.append(message)
            size += message.n_bytes if message.rest is not None else 0
            if size >= B.MAX_BYTES or len(held) >= B.MAX_ROWS:
                yield from self._batch(held[:-1], piece, stats, trust)
                held, size = held[-1:], message.n_bytes
        yield from self._batch(held, piece, stats, trust, ends=True)
        trust.close()

    def _messages(self, piece: Slice, stats: Meter, trust: Trust) -> Iterator[Held]:
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
            yield Held(position, head, rest, n_bytes)

    def _batch(
        self, held: list[Held], piece: Slice, stats: Meter, trust: Trust, *, ends: bool = False
    ) -> Iterator[Batch]:
        """Messages as one batch; those that are too long or not UTF-8 are dropped, a cut last letter is left out."""
        good: list[tuple[int, int | None, Row]] = []
        bad: list[tuple[Held, str]] = []
        for message in held:
            text = self._text(message, last=ends and message is held[-1])
            if text is None:
                bad.append((message, "too_long" if message.rest is None else "invalid_utf8"))
            else:
                good.append((message.position, message.head.time, self.row(message.head, text)))
        trust.saw([p for p, _, _ in good], [m.position for m, _ in bad], lambda: bad[0][1])
        gone = np.array([doc_id(piece.file, m.position) for m, _ in bad], np.uint64)
        stats.drop(gone, [why for _, why in bad], n_bytes=[m.n_bytes for m, _ in bad])
        if not good:
            return
        positions, times, rows = zip(*good, strict=True)
        columns = {
            "chat": [chat_of(piece.url)] * len(rows),
            "author": [r.author for r in rows],
            "time": times,
            "kind": [r.kind for r in rows],
        }
        metas = [json.dumps(r.meta, ensure_ascii=False) if r.meta else "{}" for r in rows]
        ids = np.array([doc_id(piece.file, p) for p in positions], np.uint64)
        yield message_batch(piece, ids, [r.text for r in rows], columns, metas)

    @staticmethod
    def _text(message: Held, *, last: bool) -> str | None:
        if message.rest is None:
            return None
        first = f"{message.head.author or ''}\n{message.head.text}".encode("utf-8", "surrogateescape")
        data = b"\n".join([first, *message.rest])
        try:
            whole = data.decode()
        except UnicodeDecodeError as e:
            if not (last and e.reason == "unexpected end of data"):
                return None
            whole = data[: e.start].decode()
        return whole.partition("\n")[2].rstrip("\n")


def _headless(line: Record) -> str:
    return f"no message begins with {(line.data or b'')[:60]!r}"


def seconds_of(year: int, month: int, day: int, seconds: int = 0) -> int | None:
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
