"""Turns: cut chats into windows of turns for a fine-tuning trainer; each ends with a turn of the person to imitate.

    Ilse 09:12  are you there?            user       are you there? / it is cold
    Ilse 09:12  it is cold           ->   assistant  always. put on the other coat
    Tomas 09:13 always
    Tomas 09:13 put on the other coat

Consecutive messages of one author are one turn. All messages of other authors between two turns of the person are one
user turn. A conversation ends when nobody writes for `gap`. A window has as many turns as fit; the next window repeats
the last turns of the previous one as context. Answers in the context have weight 0, so each answer is learned once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage
from dataprep.errors import PlanError
from dataprep.messages.times import duration
from dataprep.unicode.text import I64

from .grouping import Grouping, finished_conversations
from .windows import (
    ANSWERS,
    MESSAGES,
    OUTCOMES,
    Turn,
    Window,
    WindowColumns,
    lines_of,
    set_reasons,
    turns_of,
    with_opening,
)

UNLIMITED = 1 << 62
MAX_BYTES = 1 << 22  # of a conversation, with the messages of other chats since it began: bounds the memory


class TokenCounter(Protocol):
    """Counts the tokens of turns for a model. It must be a frozen dataclass, so that recipes can be hashed.

    A window is the text of one training example, made of turns.
    """

    @property
    def max_length(self) -> int:
        """The largest number of tokens of a window (one training example)."""

    @property
    def fixed(self) -> int:
        """The number of tokens that a window (one training example) has in addition to the tokens of its turns."""

    def overhead(self, role: str, name: str | None) -> int:
        """Return the largest number of tokens that the chat template adds to the text of a turn.

        Args:
            role: "user" or "assistant".
            name: the author, or None.
        """

    def count(self, texts: pa.LargeStringArray) -> npt.NDArray[np.int64]:
        """Return the number of tokens of each text, int64[n]."""

    def cut(self, text: str, tokens: int, *, keep_end: bool) -> str:
        """Return the beginning of a text, or its end if `keep_end`, of at most `tokens` tokens."""


@dataclass(frozen=True, kw_only=True)
class Turns(Stage):
    """Join messages into windows (training examples) of turns, each of which ends with an answer of `person`.

    Args:
        person: the author to imitate. None: the `answers` column marks the messages of this author; add this column
            before `Pseudonyms` replaces the authors.
        token_counter: the object that counts tokens (`dataprep.tokens.dialogue.ChatTokenCounter`); None: each
            conversation is one window.
        gap: the pause that ends a conversation, as in `Conversations`.
        replies: whether an answer continues a conversation after a longer pause, as in `Conversations`.
        reply_gap: the longest pause before such an answer, as in `Conversations`.
        cuts: the ids of messages that always begin a new conversation, as in `Conversations`.
        merge: the text between messages of one turn.
        context: the number of turns that a window repeats from the end of the previous window.
        openings: the treatment of the first messages of a conversation if the person wrote them. "empty": they become
            the answer to an empty user turn. True: the window begins with them, which some templates reject. False:
            they are dropped.

    Adds the columns `messages` (role, name, content, weight) and `conversation` (the id of the conversation's first
    message, for `dp.Split(group="conversation")`). The text of a window is a transcript. A window has the id of its
    first message that is not context. Its other messages are dropped with the reason `joined`; messages that are in no
    window are dropped with the reason `no_text`, `without_the_person`, `unanswered` or `opening`. A question that does
    not fit into a window loses its beginning, and an answer that does not fit loses its end; both cases are counted.

    Raises PlanError for invalid values.
    """

    person: str | None = None
    token_counter: TokenCounter | None = None
    gap: str = "1h"
    replies: bool = True
    reply_gap: str = "1d"
    merge: str = "\n"
    context: int = 2
    openings: bool | str = False
    cuts: tuple[int, ...] = ()

    loses: ClassVar[Mapping[str, str]] = {"authors": "", "messages": ""}

    def __post_init__(self) -> None:
        duration(self.gap), duration(self.reply_gap, "reply_gap")
        if self.person == "":
            msg = "person='' must be the name of the author to imitate; pass it as the export writes it"
            raise PlanError(msg)
        if self.openings not in (True, False, "empty"):
            msg = f"openings={self.openings!r} must be True, False or 'empty'"
            raise PlanError(msg)
        if self.context < 0:
            msg = f"context={self.context} must be at least 0; it is the number of turns to repeat"
            raise PlanError(msg)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that this stage reads: the message columns, and `answers` if `person` is None."""
        return ("chat", "author", "time", "kind", *((ANSWERS,) if self.person is None else ()))

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The names and types of the added columns, `messages` and `conversation`."""
        return {"messages": MESSAGES, "conversation": pa.uint64()}

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield one document per window of a conversation, after its end; drop the other messages with a reason."""
        held: list[Batch] = []  # windows that come after an open conversation
        for finished in finished_conversations(batches, self.grouping()):
            held.append(self._windows_of(finished.messages, finished.starts, stats))
            windows = B.concat(held)
            windows = windows.take(pa.array(np.argsort(B.ids(windows))))
            settled = int(np.searchsorted(B.ids(windows), np.uint64(finished.settled)))
            held = [windows.slice(settled)]
            yield windows.slice(0, settled)

    def grouping(self) -> Grouping:
        """Return the rule that decides where a conversation ends."""
        return Grouping(duration(self.gap), duration(self.reply_gap) if self.replies else 0, MAX_BYTES, self.cuts)

    def _windows_of(self, batch: Batch, starts: I64, stats: Ledger) -> Batch:
        outcomes = np.zeros(batch.num_rows, np.int8)  # indices into OUTCOMES
        kept = np.zeros(batch.num_rows, np.uint64)
        made = WindowColumns([], [], [], [0], [])
        lines = lines_of(batch, starts, self.person)
        conversations = turns_of(lines, self.merge)
        if self.openings == "empty":
            conversations = [(number, with_opening(turns)) for number, turns in conversations]
        sizes = iter(self._sizes([turn for _, turns in conversations for turn in turns]))
        ids = B.ids(batch)
        for number, turns in conversations:
            lengths = [next(sizes) for _ in turns]
            windows = self._cut(turns, lengths)
            set_reasons(turns, windows, lines.rows, outcomes)
            for window in windows:
                own = lines.rows[turns[window.start].start : turns[window.stop - 1].stop]
                outcomes[own], kept[own] = OUTCOMES.index("joined"), ids[own[0]]
                outcomes[own[0]] = OUTCOMES.index(None)
                made.add(int(own[0]), int(ids[starts[number]]), *self._messages(turns, lengths, window, stats))
        lost = outcomes != OUTCOMES.index(None)
        joined = outcomes == OUTCOMES.index("joined")
        stats.drop(ids[joined], "joined", duplicate_of=kept[joined], moved=True)
        stats.drop(ids[lost & ~joined], pa.array(OUTCOMES).take(pa.array(outcomes[lost & ~joined])))
        return made.batch(batch)

    def _sizes(self, turns: Sequence[Turn]) -> list[int]:
        if self.token_counter is None:
            return [0] * len(turns)
        counts: list[int] = self.token_counter.count(
            pa.array([turn.text for turn in turns], pa.large_string())
        ).tolist()
        return [n + self._overhead(turn) for n, turn in zip(counts, turns, strict=True)]

    def _overhead(self, turn: Turn) -> int:
        return 0 if self.token_counter is None else self.token_counter.overhead(turn.role, turn.name)

    @property
    def _capacity(self) -> int:
        """The number of tokens that the turns of a window may have."""
        return UNLIMITED if self.token_counter is None else self.token_counter.max_length - self.token_counter.fixed

    def _cut(self, turns: Sequence[Turn], sizes: Sequence[int]) -> list[Window]:
        """Return windows of as many turns as fit, each ending with an answer."""
        windows: list[Window] = []
        start = 1 if turns and turns[0].answer and not self.openings else 0
        while (window := self._next(turns, sizes, start, fresh=not windows)) is not None:
            windows.append(window)
            start = window.stop
        return windows

    def _next(self, turns: Sequence[Turn], sizes: Sequence[int], start: int, *, fresh: bool) -> Window | None:
        first, capacity = start, self._capacity
        while not fresh and 0 < first > start - self.context and sum(sizes[first - 1 : start]) <= capacity // 2:
            first -= 1
        first += first < start and turns[first].answer  # a window begins with a question
        for begin in dict.fromkeys((first, start)):
            total, stop = sum(sizes[begin:start]), None
            for i in range(start, len(turns)):
                total += sizes[i]
                if total > capacity:
                    break
                stop = i + 1 if turns[i].answer else stop
            if stop is not None:
                return Window(begin, start, stop)
        stop = start + 1 if start < len(turns) and turns[start].answer else start + 2
        return Window(start, start, stop) if stop <= len(turns) else None

    def _messages(
        self, turns: Sequence[Turn], sizes: Sequence[int], window: Window, stats: Ledger
    ) -> tuple[list[Turn], list[str], int]:
        """Return the turns of a window, their texts, and the number of turns that are context."""
        shown = list(turns[window.first : window.stop])
        texts = [turn.text for turn in shown]
        if sum(sizes[window.first : window.stop]) > self._capacity:
            texts = self._shortened(turns[window.start : window.stop], sizes[window.start : window.stop], stats)
        n_context = window.start - window.first
        stats.count("answers", sum(turn.answer for turn in shown[n_context:]))
        return shown, texts, n_context

    def _shortened(self, turns: Sequence[Turn], sizes: Sequence[int], stats: Ledger) -> list[str]:
        """Return a question and an answer (or an answer alone), cut to fit; the answer gets at least half the tokens.

        Raises PlanError if a window has no token for each of them.
        """
        assert self.token_counter is not None, "without sizes everything fits"
        overheads = [self._overhead(turn) for turn in turns]
        capacity = self._capacity - sum(overheads)
        if capacity < len(turns):
            msg = (
                f"max_length={self.token_counter.max_length} must be large enough for a question and an answer; set "
                "a larger max_length"
            )
            raise PlanError(msg)
        *question, answer = (n - overhead for n, overhead in zip(sizes, overheads, strict=True))
        for_answer = min(answer, max(capacity // 2 if question else capacity, capacity - sum(question)))
        texts = []
        for turn, tokens in zip(turns, [*([capacity - for_answer] if question else []), for_answer], strict=True):
            texts.append(self.token_counter.cut(turn.text, tokens, keep_end=not turn.answer))
            if texts[-1] != turn.text:
                stats.count("cut.answers" if turn.answer else "cut.questions")
        return texts
