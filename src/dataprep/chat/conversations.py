"""Conversations: messages of one chat that follow each other closely become one document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from .. import batch as B
from ..batch import Batch
from ..errors import PlanError
from ..meter import Meter
from ..stage import Stage

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True, kw_only=True)
class Conversations(Stage):
    """Join consecutive messages of one chat while less than `gap` lies between one and the next.

    The document has the id and the columns of its first message; the others are dropped as `joined`, `kept` naming the
    first. A change of chat, or a message without a time, begins a new one. What is no text (media, system lines) is
    joined too, unless a Filter on `kind` comes before.

    gap: "90s", "30m", "1h" or "2d". line: how a message is written; {author} and {text} are replaced, and a message
    without an author is its text alone. separator: between messages. max_bytes: a talk that grows over this is cut
    between two messages; bounds the memory.

    >>> dp.Pipeline(dp.Conversations(gap="1h")).run(dp.read("chat.txt"), out="talks")    # doctest: +SKIP
    """

    gap: str = "1h"
    line: str = "{author}: {text}"
    separator: str = "\n"
    max_bytes: int = 1 << 20
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "time")

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[1-9]\d*[smhd]", str(self.gap)):
            msg = f"gap={self.gap!r} is no length of time; write 90s, 30m, 1h or 2d"
            raise PlanError(msg)
        if "{text}" not in self.line:
            msg = f"line={self.line!r} would lose the messages; it needs {{text}}"
            raise PlanError(msg)

    @property
    def seconds(self) -> int:
        """The gap in seconds."""
        return int(self.gap[:-1]) * UNITS[self.gap[-1]]

    def __call__(self, batches: Iterator[Batch], stats: Meter) -> Iterator[Batch]:
        """Every conversation once its end is known; one may cross any number of batches."""
        talk: _Talk | None = None
        for batch in batches:
            closed: list[_Talk] = []
            for row, message in enumerate(_messages(batch)):
                line = self._line(message)
                n_bytes = len(line.encode()) + len(self.separator.encode())
                if talk and self._continues(talk, message, n_bytes):
                    talk.add(message, line, n_bytes)
                    continue
                closed += [talk] if talk else []
                talk = _Talk(batch.slice(row, 1), message, [line], n_bytes)
            yield from self._documents(closed, stats)
        yield from self._documents([talk] if talk else [], stats)

    def _line(self, message: tuple[Any, ...]) -> str:
        _, _, author, _, text = message
        return self.line.replace("{author}", author).replace("{text}", text) if author else str(text)

    def _continues(self, talk: _Talk, message: tuple[Any, ...], n_bytes: int) -> bool:
        _, chat, _, time, _ = message
        _, last_chat, _, last_time, _ = talk.last
        if chat != last_chat or time is None or last_time is None:
            return False
        if talk.n_bytes + n_bytes > self.max_bytes:
            return False
        apart: float = (time - last_time).total_seconds()
        return abs(apart) < self.seconds  # phones' clocks are set back, too

    def _documents(self, talks: list[_Talk], stats: Meter) -> Iterator[Batch]:
        if not talks:
            return
        joined = [(id_, talk.ids[0]) for talk in talks for id_ in talk.ids[1:]]
        gone = np.array(joined, np.uint64).reshape(-1, 2)
        stats.drop(gone[:, 0], "joined", kept=gone[:, 1])
        texts = pa.array([self.separator.join(talk.lines) for talk in talks], pa.large_string())
        yield B.with_column(B.concat([talk.first for talk in talks]), "text", texts)


@dataclass
class _Talk:
    """An open conversation: its first message as a row, its last, and what was written."""

    first: Batch
    last: tuple[Any, ...]
    lines: list[str]
    n_bytes: int
    ids: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.ids = [self.last[0]]

    def add(self, message: tuple[Any, ...], line: str, n_bytes: int) -> None:
        """One more message."""
        self.last = message
        self.ids.append(message[0])
        self.lines.append(line)
        self.n_bytes += n_bytes


def _messages(batch: Batch) -> Iterator[tuple[Any, ...]]:
    """(id, chat, author, time, text) of each row."""
    return zip(*(batch.column(n).to_pylist() for n in ("id", "chat", "author", "time", "text")), strict=True)
