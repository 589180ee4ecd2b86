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
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.stage import Stage
from dataprep.errors import PlanError
from dataprep.unicode.text import I64

from .grouping import Talks, seconds_of, whole_talks

MESSAGES = pa.list_(
    pa.struct([("role", pa.string()), ("name", pa.string()), ("content", pa.string()), ("weight", pa.int8())])
)
"""One dictionary a turn, as trainers read them; weight 0 is context, not to be learned."""
NO_TEXT, ALONE, UNANSWERED, OPENING = "no_text", "without_the_person", "unanswered", "opening"
FATES = (NO_TEXT, None, "joined", ALONE, UNANSWERED, OPENING)  # of a message; None: its window has its id
ANSWERS = "answers"
NOTHING_SAID = pa.scalar("", pa.large_string())
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
    """What one side says until the other answers; `name` is None where the text names who speaks."""

    name: str | None
    text: str
    start: int  # its messages among those that say something: [start, stop)
    stop: int
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

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
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

    def _windows_of(self, batch: Batch, starts: I64, stats: Ledger) -> Batch:
        fates = np.zeros(batch.num_rows, np.int8)  # of FATES
        kept = np.zeros(batch.num_rows, np.uint64)
        made = _Made([], [], [], [0], [])
        said = self._said(batch, starts)
        talks = _turns(said, self.merge)
        sizes = iter(self._sizes([turn for _, turns in talks for turn in turns]))
        ids = B.ids(batch)
        for talk, turns in talks:
            lengths = [next(sizes) for _ in turns]
            windows = self._cut(turns, lengths)
            _settle(turns, windows, said.rows, fates)
            for window in windows:
                own = said.rows[turns[window.start].start : turns[window.stop - 1].stop]
                fates[own], kept[own] = FATES.index("joined"), ids[own[0]]
                fates[own[0]] = FATES.index(None)
                made.add(int(own[0]), int(ids[starts[talk]]), *self._messages(turns, lengths, window, stats))
        lost = fates != FATES.index(None)
        joined = fates[lost] == FATES.index("joined")
        reasons = pa.array(FATES).take(pa.array(fates[lost]))
        stats.drop(ids[lost], reasons, kept=pa.array(kept[lost], mask=~joined))
        return made.batch(batch)

    def _said(self, batch: Batch, starts: I64) -> _Said:
        """The messages that say something, with their authors in front of them where several speak to the person."""
        author = batch.column("author").cast(pa.string())
        texts = pc.utf8_trim_whitespace(batch.column("text"))
        speaks = pc.and_(pc.fill_null(pc.not_equal(author, ""), False), pc.equal(batch.column("kind"), "text"))
        keep = pc.fill_null(pc.and_(speaks, pc.not_equal(texts, "")), False)
        rows = np.flatnonzero(keep.to_numpy(zero_copy_only=False))
        coded = author.take(pa.array(rows)).dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int64)
        answers = pc.equal(author, self.person) if self.person is not None else batch.column(ANSWERS)
        answer = pc.fill_null(answers, False).take(pa.array(rows)).to_numpy(zero_copy_only=False)
        talk = np.searchsorted(starts, rows, side="right") - 1
        who = np.unique(np.column_stack([talk, codes])[~answer], axis=0)
        several = np.bincount(who[:, 0], minlength=len(starts)) > 1
        named = several[talk] & ~answer
        changes = (np.diff(codes, prepend=-1) != 0) | (np.diff(talk, prepend=-1) != 0)
        names = pa.array([f"{name}: " for name in coded.dictionary.to_pylist()], pa.large_string())
        before = pc.if_else(pa.array(named & changes), names.take(coded.indices), NOTHING_SAID)
        lines = pc.binary_join_element_wise(before, texts.take(pa.array(rows)), NOTHING_SAID)
        return _Said(rows, talk, coded.dictionary.to_pylist(), codes, answer, named, lines)

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

    def _messages(
        self, turns: Sequence[Turn], sizes: Sequence[int], window: Window, stats: Ledger
    ) -> tuple[list[Turn], list[str], int]:
        """The turns of a window, what they say, and how many of them are context."""
        shown = list(turns[window.first : window.stop])
        texts = [turn.text for turn in shown]
        if sum(sizes[window.first : window.stop]) > self._room:
            texts = self._shortened(turns[window.start : window.stop], sizes[window.start : window.stop], stats)
        n_context = window.start - window.first
        stats.count("answers", sum(turn.answer for turn in shown[n_context:]))
        return shown, texts, n_context

    def _shortened(self, turns: Sequence[Turn], sizes: Sequence[int], stats: Ledger) -> list[str]:
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


class _Said(NamedTuple):
    """Messages that say something: their rows and talks, who speaks, whether it is the person, what stands there."""

    rows: I64
    talk: I64
    authors: list[str]
    codes: I64
    answer: npt.NDArray[np.bool_]
    named: npt.NDArray[np.bool_]  # whether the line says who speaks
    lines: pa.LargeStringArray


def _turns(said: _Said, merge: str) -> list[tuple[int, list[Turn]]]:
    """The turns of each talk in which somebody says something; questions and answers alternate."""
    if not len(said.rows):
        return []
    begins = np.flatnonzero((np.diff(said.talk, prepend=-1) != 0) | (np.diff(said.answer, prepend=False) != 0))
    begins = np.union1d(begins, [0])
    edges = np.append(begins, len(said.rows))
    lines = pa.ListArray.from_arrays(pa.array(edges, pa.int32()), said.lines)
    texts = pc.binary_join(lines, pa.scalar(merge, pa.large_string())).to_pylist()
    single = np.minimum.reduceat(said.codes, begins) == np.maximum.reduceat(said.codes, begins)
    single &= ~said.named[begins]
    names = [said.authors[code] if one else None for code, one in zip(said.codes[begins].tolist(), single, strict=True)]
    turns = list(map(Turn, names, texts, edges[:-1].tolist(), edges[1:].tolist(), said.answer[begins].tolist()))
    talks = said.talk[begins]
    cuts = np.append(np.flatnonzero(np.diff(talks, prepend=-1)), len(turns)).tolist()
    return [(int(talks[a]), turns[a:b]) for a, b in itertools.pairwise(cuts)]


def _settle(turns: Sequence[Turn], windows: Sequence[Window], rows: I64, fates: npt.NDArray[np.int8]) -> None:
    """Why the messages of turns outside all windows are dropped."""
    start, stop = (windows[0].start, windows[-1].stop) if windows else (0, 0)
    spoke = any(turn.answer for turn in turns)
    for turn in (*turns[:start], *turns[stop:]):
        reason = OPENING if turn.answer else UNANSWERED
        fates[rows[turn.start : turn.stop]] = FATES.index(reason if spoke else ALONE)


class _Made(NamedTuple):
    """The windows of a batch: the row of the first message, the talk, all turns and where windows end in them."""

    rows: list[int]
    talks: list[int]
    turns: list[tuple[str, str | None, str, int]]
    ends: list[int]
    texts: list[str]

    def add(self, row: int, talk: int, turns: Sequence[Turn], said: Sequence[str], n_context: int) -> None:
        """One more."""
        self.rows.append(row)
        self.talks.append(talk)
        self.turns.extend(
            (turn.role, turn.name, text, int(turn.answer and i >= n_context))
            for i, (turn, text) in enumerate(zip(turns, said, strict=True))
        )
        self.ends.append(len(self.turns))
        self.texts.append(
            "\n".join(f"{t.name}: {text}" if t.name else text for t, text in zip(turns, said, strict=True))
        )

    def batch(self, batch: Batch) -> Batch:
        """As documents: the columns of their first messages, and the new ones."""
        rows = batch.take(pa.array(self.rows, pa.int64()))
        out = B.with_column(rows, "text", pa.array(self.texts, pa.large_string()))
        columns = zip(*self.turns, strict=True) if self.turns else [()] * 4
        fields = [pa.array(column, field.type) for column, field in zip(columns, MESSAGES.value_type, strict=True)]
        each = pa.StructArray.from_arrays(fields, fields=list(MESSAGES.value_type))
        out = B.with_column(out, "messages", pa.ListArray.from_arrays(pa.array(self.ends, pa.int32()), each))
        return B.with_column(out, "conversation", pa.array(self.talks, pa.uint64()))
