"""Turns: a chat becomes what a fine-tuning trainer reads, windows of turns that end with the person to imitate.

    Ilse 09:12  are you there?            user       are you there? / it is cold
    Ilse 09:12  it is cold           ->   assistant  always. put on the other coat
    Tomas 09:13 always
    Tomas 09:13 put on the other coat

Consecutive messages of one author are one turn; others who speak between two turns of the person are one user turn
together. A talk ends where nobody writes for `gap`. A window holds as many turns as fit; the next one begins with the
last turns of the one before as context, whose answers have weight 0: no answer is learned twice, none without context.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .. import batch as B
from ..batch import Batch
from ..errors import PlanError
from ..meter import Meter
from ..stage import Stage
from .talks import Talks, seconds_of, whole_talks

MESSAGES = pa.list_(
    pa.struct([("role", pa.string()), ("name", pa.string()), ("content", pa.string()), ("weight", pa.int8())])
)
"""One dictionary a turn, as trainers read them; weight 0 is context, not to be learned."""
NO_TEXT, ALONE, UNANSWERED, OPENING = "no_text", "without_the_person", "unanswered", "opening"
ANSWERS = "answers"
UNLIMITED = 1 << 62
MAX_BYTES = 1 << 22  # of a talk, with what other chats said since it began: bounds the memory


class Size(Protocol):
    """How long turns are to a model: a frozen dataclass, so that it has a key."""

    @property
    def block(self) -> int:
        """The tokens that a window may have."""

    @property
    def fixed(self) -> int:
        """Tokens of a window beside those of its turns."""

    def overhead(self, role: str, name: str | None) -> int:
        """Tokens that a template adds to a turn, at most."""

    def count(self, texts: pa.LargeStringArray) -> npt.NDArray[np.int64]:
        """Tokens of each text."""

    def cut(self, text: str, tokens: int, *, keep_end: bool) -> str:
        """The beginning of a text, or its end, of at most so many tokens."""


class Turn(NamedTuple):
    """What one side says until the other answers; `name` is None where several speak."""

    name: str | None
    text: str
    rows: list[int]  # the messages it is made of
    answer: bool

    @property
    def role(self) -> str:
        """As trainers name it."""
        return "assistant" if self.answer else "user"


class Window(NamedTuple):
    """Some turns of a talk: [first, start) are context, [start, stop) its own."""

    first: int
    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Turns(Stage):
    """Windows of turns that end with an answer of `person`; needs the message columns.

    person: the author to imitate; None: the column `answers` says which messages are theirs, made before authors became
    pseudonyms. size: how many tokens turns have and fit (`dataprep.tokens.dialogue.TokenSize`); without it a talk is
    one window. gap, replies, reply_gap: where a talk ends, as in `Conversations`. merge: between messages of one turn.
    context: turns of the window before that the next one begins with.
    openings: whether a talk may begin with the person, which templates that want a user first refuse.

    Gives the columns `messages` (role, name, content, weight) and `conversation` (the id of the talk's first message,
    for `dp.Split(group="conversation")`); the text is a transcript. A window has the id of its first own message. The
    others are dropped as `joined`; what is not learned from, as `no_text`, `without_the_person`, `unanswered` or
    `opening`. A question that does not fit loses its beginning, an answer its end; both are counted.
    """

    person: str | None = None
    size: Size | None = None
    gap: str = "1h"
    replies: bool = True
    reply_gap: str = "1d"
    merge: str = "\n"
    context: int = 2
    openings: bool = False

    def __post_init__(self) -> None:
        seconds_of(self.gap)
        seconds_of(self.reply_gap, "reply_gap")
        if self.person == "":
            msg = "person= is the author to imitate; give the name as the export has it"
            raise PlanError(msg)
        if self.context < 0:
            msg = f"context={self.context} is the number of turns to repeat, 0 or more"
            raise PlanError(msg)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The message columns, and `answers` where no person is named."""
        return ("chat", "author", "time", "kind", *((ANSWERS,) if self.person is None else ()))

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """Messages and conversation."""
        return {"messages": MESSAGES, "conversation": pa.uint64()}

    def __call__(self, batches: Iterator[Batch], stats: Meter) -> Iterator[Batch]:
        """The windows of each talk, once its end is known."""
        talks = Talks(seconds_of(self.gap), seconds_of(self.reply_gap) if self.replies else 0, MAX_BYTES)
        held: list[Batch] = []  # windows that come after a talk that is not over
        for whole in whole_talks(batches, talks):
            held.append(self._windows_of(whole.messages, whole.starts, stats))
            windows = B.concat(held)
            windows = windows.take(pa.array(np.argsort(B.ids(windows))))
            settled = int(np.searchsorted(B.ids(windows), np.uint64(whole.settled)))
            held = [windows.slice(settled)]
            yield windows.slice(0, settled)

    def _windows_of(self, batch: Batch, starts: npt.NDArray[np.int64], stats: Meter) -> Batch:
        fates: list[str | None] = [NO_TEXT] * batch.num_rows
        kept: list[int | None] = [None] * batch.num_rows
        made = _Made([], [], [], [])
        talks = self._talks(batch, starts)
        sizes = iter(self._sizes([turn for _, turns in talks for turn in turns]))
        ids = B.ids(batch)
        for first, turns in talks:
            lengths = [next(sizes) for _ in turns]
            windows = self._cut(turns, lengths)
            self._settle(turns, windows, fates)
            for window in windows:
                own = [row for turn in turns[window.start : window.stop] for row in turn.rows]
                for row in own[1:]:
                    fates[row], kept[row] = "joined", int(ids[own[0]])
                fates[own[0]] = None
                made.add(own[0], int(ids[first]), self._messages(turns, lengths, window, stats))
        gone = pa.array(fates, pa.string())
        lost = gone.is_valid()
        stats.drop(
            ids[lost.to_numpy(zero_copy_only=False)], gone.filter(lost), kept=pa.array(kept, pa.uint64()).filter(lost)
        )
        return made.batch(batch)

    def _talks(self, batch: Batch, starts: npt.NDArray[np.int64]) -> list[tuple[int, list[Turn]]]:
        """The first row of each talk, and its turns; questions and answers alternate."""
        author = batch.column("author").cast(pa.string())
        answers = pc.equal(author, self.person) if self.person is not None else batch.column(ANSWERS)
        rows = list(zip(*(c.to_pylist() for c in (author, batch["kind"], batch["text"], answers)), strict=True))
        edges = [*starts.tolist(), batch.num_rows]
        return [(a, self._turns(range(a, b), rows)) for a, b in itertools.pairwise(edges)]

    def _turns(self, talk: range, rows: Sequence[tuple[Any, ...]]) -> list[Turn]:
        said = [
            (r, rows[r][0], rows[r][2].strip(), bool(rows[r][3])) for r in talk if rows[r][0] and rows[r][1] == "text"
        ]
        named = len({author for _, author, _, answer in said if not answer}) > 1
        turns: list[Turn] = []
        before = None
        for row, author, text, answer in said:
            if not text:
                continue
            line = f"{author}: {text}" if named and not answer and author != before else text
            if turns and turns[-1].answer == answer:
                last = turns[-1]
                name = last.name if author == last.name else None
                turns[-1] = Turn(name, last.text + self.merge + line, [*last.rows, row], answer)
            else:
                turns.append(Turn(author, line, [row], answer))
            before = author
        return turns

    def _sizes(self, turns: Sequence[Turn]) -> list[int]:
        if self.size is None:
            return [0] * len(turns)
        counts: list[int] = self.size.count(pa.array([turn.text for turn in turns], pa.large_string())).tolist()
        return [n + self._overhead(turn) for n, turn in zip(counts, turns, strict=True)]

    def _overhead(self, turn: Turn) -> int:
        return 0 if self.size is None else self.size.overhead(turn.role, turn.name)

    @property
    def _room(self) -> int:
        return UNLIMITED if self.size is None else self.size.block - self.size.fixed

    def _cut(self, turns: Sequence[Turn], sizes: Sequence[int]) -> list[Window]:
        """As many turns a window as fit, each ending with an answer."""
        windows: list[Window] = []
        start = 1 if turns and turns[0].answer and not self.openings else 0
        while (window := self._next(turns, sizes, start, fresh=not windows)) is not None:
            windows.append(window)
            start = window.stop
        return windows

    def _next(self, turns: Sequence[Turn], sizes: Sequence[int], start: int, *, fresh: bool) -> Window | None:
        first, room = start, self._room
        while not fresh and 0 < first > start - self.context and sum(sizes[first - 1 : start]) <= room // 2:
            first -= 1
        first += first < start and turns[first].answer  # a window begins with a question
        for begin in dict.fromkeys((first, start)):
            total, stop = sum(sizes[begin:start]), None
            for i in range(start, len(turns)):
                total += sizes[i]
                if total > room:
                    break
                stop = i + 1 if turns[i].answer else stop
            if stop is not None:
                return Window(begin, start, stop)
        stop = start + 1 if start < len(turns) and turns[start].answer else start + 2
        return Window(start, start, stop) if stop <= len(turns) else None

    def _settle(self, turns: Sequence[Turn], windows: Sequence[Window], fates: list[str | None]) -> None:
        """Why the messages of turns outside all windows are dropped."""
        start, stop = (windows[0].start, windows[-1].stop) if windows else (0, 0)
        spoke = any(turn.answer for turn in turns)
        for i, turn in enumerate(turns):
            if not start <= i < stop:
                reason = OPENING if turn.answer else UNANSWERED
                for row in turn.rows:
                    fates[row] = reason if spoke else ALONE

    def _messages(
        self, turns: Sequence[Turn], sizes: Sequence[int], window: Window, stats: Meter
    ) -> list[dict[str, Any]]:
        texts = [turn.text for turn in turns[window.first : window.stop]]
        if sum(sizes[window.first : window.stop]) > self._room:
            texts = self._shortened(turns[window.start : window.stop], sizes[window.start : window.stop], stats)
        stats.count("answers", sum(turn.answer for turn in turns[window.start : window.stop]))
        return [
            {
                "role": turn.role,
                "name": turn.name,
                "content": text,
                "weight": int(turn.answer and i >= window.start),
            }
            for i, (turn, text) in enumerate(zip(turns[window.first : window.stop], texts, strict=True), window.first)
        ]

    def _shortened(self, turns: Sequence[Turn], sizes: Sequence[int], stats: Meter) -> list[str]:
        """A question and an answer (or an answer alone) that do not fit: half the block is the answer's at least."""
        assert self.size is not None, "without sizes everything fits"
        overheads = [self._overhead(turn) for turn in turns]
        room = self._room - sum(overheads)
        if room < len(turns):
            msg = f"block={self.size.block} has no room for a question and an answer; give a longer one"
            raise PlanError(msg)
        *question, answer = (n - overhead for n, overhead in zip(sizes, overheads, strict=True))
        for_answer = min(answer, max(room // 2 if question else room, room - sum(question)))
        texts = []
        for turn, tokens in zip(turns, [*([room - for_answer] if question else []), for_answer], strict=True):
            texts.append(self.size.cut(turn.text, tokens, keep_end=not turn.answer))
            if texts[-1] != turn.text:
                stats.count("cut.answers" if turn.answer else "cut.questions")
        return texts


class _Made(NamedTuple):
    """The windows of a batch: the row of the first message, the talk, the turns, the transcript."""

    rows: list[int]
    talks: list[int]
    messages: list[list[dict[str, Any]]]
    texts: list[str]

    def add(self, row: int, talk: int, messages: list[dict[str, Any]]) -> None:
        """One more."""
        self.rows.append(row)
        self.talks.append(talk)
        self.messages.append(messages)
        self.texts.append("\n".join(f"{m['name'] or m['role']}: {m['content']}" for m in messages))

    def batch(self, batch: Batch) -> Batch:
        """As documents: the columns of their first messages, and the new ones."""
        out = B.with_column(
            batch.take(pa.array(self.rows, pa.int64())), "text", pa.array(self.texts, pa.large_string())
        )
        out = B.with_column(out, "messages", pa.array(self.messages, MESSAGES))
        return B.with_column(out, "conversation", pa.array(self.talks, pa.uint64()))
