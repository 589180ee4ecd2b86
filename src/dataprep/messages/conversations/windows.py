"""Join messages to turns, and write windows of turns as documents.

A turn is the consecutive messages of the person to imitate, or of all others together; a window is one example.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.unicode.text import I64

MESSAGES = pa.list_(
    pa.struct([("role", pa.string()), ("name", pa.string()), ("content", pa.string()), ("weight", pa.int8())])
)
"""One dictionary per turn, as trainers read them; weight 0 is context, not to be learned."""
NO_TEXT, ALONE, UNANSWERED, OPENING = "no_text", "without_the_person", "unanswered", "opening"
OUTCOMES = (NO_TEXT, None, "joined", ALONE, UNANSWERED, OPENING)  # of a message; None: its window has its id
ANSWERS = "answers"
NO_WORDS = pa.scalar("", pa.large_string())


class Turn(NamedTuple):
    """Consecutive messages of the person to imitate, or of all others, joined to one text.

    Attributes:
        name: the author; None if the text itself names the speakers.
        start: the index of its first message among those with text.
        stop: the index after its last message.
        answer: True if the person to imitate wrote them.
    """

    name: str | None
    text: str
    start: int  # its messages among those with text: [start, stop)
    stop: int
    answer: bool

    @property
    def role(self) -> str:
        """The role, by the names that trainers use: "assistant" for the person to imitate, "user" for all others."""
        return "assistant" if self.answer else "user"


class Window(NamedTuple):
    """Consecutive turns of a conversation that make one training example, as indices of turns.

    Turns [first, start) are context, repeated from the window before; turns [start, stop) are new.
    """

    first: int
    start: int
    stop: int


class ChatLines(NamedTuple):
    """The messages with text, as arrays of equal length; only `authors` has one entry per author."""

    rows: I64  # in the batch
    number: I64  # of the conversation
    authors: list[str]  # by code
    codes: I64
    answer: npt.NDArray[np.bool_]  # whether the person speaks
    named: npt.NDArray[np.bool_]  # whether the line names the speaker
    lines: pa.LargeStringArray


def lines_of(batch: Batch, starts: I64, person: str | None) -> ChatLines:
    """Return the messages with text; if several people speak to the person, the lines begin with their names.

    - starts: int64[n], the row of each conversation's first message.
    - person: as in `Turns`.
    """
    author = batch.column("author").cast(pa.string())
    texts = pc.utf8_trim_whitespace(batch.column("text"))
    rows = rows_with_text(batch)
    coded = author.take(pa.array(rows)).dictionary_encode()
    codes = coded.indices.to_numpy().astype(np.int64)
    answers = pc.equal(author, person) if person is not None else batch.column(ANSWERS)
    answer = pc.fill_null(answers, False).take(pa.array(rows)).to_numpy(zero_copy_only=False)
    number = np.searchsorted(starts, rows, side="right") - 1
    speakers = np.unique(np.column_stack([number, codes])[~answer], axis=0)
    several = np.bincount(speakers[:, 0], minlength=len(starts)) > 1
    named = several[number] & ~answer
    changes = (np.diff(codes, prepend=-1) != 0) | (np.diff(number, prepend=-1) != 0)
    names = pa.array([f"{name}: " for name in coded.dictionary.to_pylist()], pa.large_string())
    before = pc.if_else(pa.array(named & changes), names.take(coded.indices), NO_WORDS)
    lines = pc.binary_join_element_wise(before, texts.take(pa.array(rows)), NO_WORDS)
    return ChatLines(rows, number, coded.dictionary.to_pylist(), codes, answer, named, lines)


def rows_with_text(batch: Batch) -> I64:
    """Return the rows of the messages that have an author and a text, int64[k]."""
    author = batch.column("author").cast(pa.string())
    speaks = pc.and_(pc.fill_null(pc.not_equal(author, ""), False), pc.equal(batch.column("kind"), "text"))
    written = pc.not_equal(pc.utf8_trim_whitespace(batch.column("text")), "")
    return np.flatnonzero(pc.fill_null(pc.and_(speaks, written), False).to_numpy(zero_copy_only=False))


def turns_of(said: ChatLines, merge: str) -> list[tuple[int, list[Turn]]]:
    """Return (conversation's number, turns) for each conversation with text; questions and answers alternate.

    - merge: the text between messages of one turn.
    """
    if not len(said.rows):
        return []
    begins = np.flatnonzero((np.diff(said.number, prepend=-1) != 0) | (np.diff(said.answer, prepend=False) != 0))
    begins = np.union1d(begins, [0])
    edges = np.append(begins, len(said.rows))
    lines = pa.ListArray.from_arrays(pa.array(edges, pa.int32()), said.lines)
    texts = pc.binary_join(lines, pa.scalar(merge, pa.large_string())).to_pylist()
    single = np.minimum.reduceat(said.codes, begins) == np.maximum.reduceat(said.codes, begins)
    single &= ~said.named[begins]
    names = [said.authors[code] if one else None for code, one in zip(said.codes[begins].tolist(), single, strict=True)]
    turns = list(map(Turn, names, texts, edges[:-1].tolist(), edges[1:].tolist(), said.answer[begins].tolist()))
    number = said.number[begins]
    cuts = np.append(np.flatnonzero(np.diff(number, prepend=-1)), len(turns)).tolist()
    return [(int(number[a]), turns[a:b]) for a, b in itertools.pairwise(cuts)]


def with_opening(turns: list[Turn]) -> list[Turn]:
    """Return the turns after an empty question if they begin with an answer."""
    if not turns[0].answer:
        return turns
    return [Turn(None, "", turns[0].start, turns[0].start, answer=False), *turns]


def set_reasons(turns: Sequence[Turn], windows: Sequence[Window], rows: I64, outcomes: npt.NDArray[np.int8]) -> None:
    """Set, in `outcomes`, the drop reason (index of OUTCOMES) of each message of turns outside all windows.

    - turns: the turns of one conversation.
    - windows: the windows of this conversation.
    - rows: the row of each message with text.
    """
    start, stop = (windows[0].start, windows[-1].stop) if windows else (0, 0)
    spoke = any(turn.answer for turn in turns)
    for turn in (*turns[:start], *turns[stop:]):
        reason = OPENING if turn.answer else UNANSWERED
        outcomes[rows[turn.start : turn.stop]] = OUTCOMES.index(reason if spoke else ALONE)


class WindowColumns(NamedTuple):
    """Columns of the windows of a batch; window i has the turns [ends[i], ends[i + 1])."""

    rows: list[int]  # of the first own message
    conversations: list[int]  # ids
    turns: list[tuple[str, str | None, str, int]]
    ends: list[int]
    texts: list[str]

    def add(self, row: int, conversation: int, turns: Sequence[Turn], said: Sequence[str], n_context: int) -> None:
        """Append a window.

        Args:
            row: the row of the first message that is not context.
            conversation: id.
            turns: the turns of the window.
            said: the texts of these turns, after they were cut to fit.
            n_context: the number of turns, at the beginning, that are context.
        """
        self.rows.append(row)
        self.conversations.append(conversation)
        self.turns.extend(
            (turn.role, turn.name, text, int(turn.answer and i >= n_context))
            for i, (turn, text) in enumerate(zip(turns, said, strict=True))
        )
        self.ends.append(len(self.turns))
        self.texts.append(
            "\n".join(f"{t.name}: {text}" if t.name else text for t, text in zip(turns, said, strict=True) if text)
        )

    def batch(self, batch: Batch) -> Batch:
        """Return the windows as documents: the columns of their first messages, and the new ones."""
        rows = batch.take(pa.array(self.rows, pa.int64()))
        out = B.with_column(rows, "text", pa.array(self.texts, pa.large_string()))
        columns = zip(*self.turns, strict=True) if self.turns else [()] * 4
        fields = [pa.array(column, field.type) for column, field in zip(columns, MESSAGES.value_type, strict=True)]
        each = pa.StructArray.from_arrays(fields, fields=list(MESSAGES.value_type))
        out = B.with_column(out, "messages", pa.ListArray.from_arrays(pa.array(self.ends, pa.int32()), each))
        return B.with_column(out, "conversation", pa.array(self.conversations, pa.uint64()))
