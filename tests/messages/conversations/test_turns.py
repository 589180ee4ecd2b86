"""Turns: windows that end with the person's answers, each answer learned once, nothing lost without a reason."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import laws
from dataprep.errors import PlanError
from dataprep.messages.conversations.turns import Turns


@dataclass(frozen=True)
class Letters:
    """A letter is a token."""

    max_length: int
    fixed: int = 0

    def overhead(self, role, name):
        return 1

    def count(self, texts):
        return np.array([len(t) for t in texts.to_pylist()], np.int64)

    def cut(self, text, tokens, *, keep_end):
        return text[len(text) - tokens :] if keep_end else text[:tokens]


def chat(*said, kind="text"):
    """Messages "A hello" one a minute, "+90 A hello" ninety minutes after the one before."""
    rows, minute = [], 0
    for line in said:
        if line.startswith("+"):
            ahead, _, line = line[1:].partition(" ")  # noqa: PLW2901
            minute += int(ahead)
        author, _, text = line.partition(" ")
        minute += 1
        row = {"text": text, "chat": "club", "author": author if author != "-" else None, "kind": kind}
        rows.append({**row, "time": dt.datetime(2024, 5, 1) + dt.timedelta(minutes=minute)})
    return laws.batch_of(rows)


def windows(batch, **options):
    """The turns of each window as "role name: content", `*` where an answer is learned."""
    rows, drops, book = laws.apply(Turns(**{"person": "T", **options}), [batch])
    told = [[f"{'*' * m['weight']}{m['role'][0]} {m['name']}: {m['content']}" for m in row["messages"]] for row in rows]
    return told, rows, drops, book


def test_messages_in_a_row_are_one_turn():
    """Consecutive messages of one author are merged, and a question answered later begins another conversation."""
    told, *_ = windows(
        chat("I are you there?", "I it is cold", "T always", "T take the coat", "I ok", "+90 I back", "T no")
    )
    assert told == [
        ["u I: are you there?\nit is cold", "*a T: always\ntake the coat"],
        ["u I: back", "*a T: no"],
    ]


def test_several_speakers_are_one_user_turn_with_names():
    """In a group the others speak as one user, each named where the speaker changes; a name alone would mislead."""
    told, *_ = windows(chat("I who comes?", "M me", "M and Uma", "T me too", "I good"))
    assert told == [["u None: I: who comes?\nM: me\nand Uma", "*a T: me too"]]
    told, rows, *_ = windows(chat("I who?", "T me", "M me too", "T good"))
    assert told == [["u None: I: who?", "*a T: me", "u None: M: me too", "*a T: good"]]  # named once, by the line
    assert rows[0]["text"] == "I: who?\nT: me\nM: me too\nT: good"


def test_every_message_has_its_outcome():
    """Messages are kept, joined or dropped: openings, unanswered ends, no person, no text."""
    batch = chat("T hello?", "I hi", "T how", "I fine", "+90 I anyone", "M no", "+90 - left", "+90 T alone")
    _, rows, drops, _ = windows(batch)
    told = {d["id"]: (d["reason"], d["duplicate_of"]) for d in drops}
    assert told == {
        0: ("opening", None), 2: ("joined", 1), 3: ("unanswered", None), 4: ("without_the_person", None),
        5: ("without_the_person", None), 6: ("no_text", None), 7: ("opening", None),
    }  # fmt: skip
    assert [(row["id"], row["conversation"]) for row in rows] == [(1, 0)]
    told, *_ = windows(batch, openings=True)
    assert told == [["*a T: hello?", "u I: hi", "*a T: how"], ["*a T: alone"]]


def test_windows_fit_and_carry_context():
    """Each window fits its block and ends with an answer; the turns before it come along, not to be learned again."""
    said = [line for i in range(6) for line in (f"I question{i}", f"T answer{i}")]
    told, *_ = windows(chat(*said), token_counter=Letters(60), context=2)
    assert told == [
        ["u I: question0", "*a T: answer0", "u I: question1", "*a T: answer1", "u I: question2", "*a T: answer2"],
        ["u I: question2", "a T: answer2", "u I: question3", "*a T: answer3", "u I: question4", "*a T: answer4"],
        ["u I: question4", "a T: answer4", "u I: question5", "*a T: answer5"],
    ]
    told, *_ = windows(chat(*said), token_counter=Letters(60), context=0)
    assert [len(w) for w in told] == [6, 6]


def test_what_does_not_fit_is_cut_where_it_hurts_least():
    """A question keeps its end, which stands before the answer; an answer keeps its beginning; both are counted."""
    told, *_, book = windows(chat("I 0123456789", "T abcdefghij"), token_counter=Letters(12))
    assert told == [["u I: 56789", "*a T: abcde"]]
    assert book.counts["cut.answers"] == book.counts["cut.questions"] == 1
    told, *_ = windows(chat("I 0123456789", "T abc"), token_counter=Letters(12))
    assert told == [["u I: 3456789", "*a T: abc"]]
    with pytest.raises(PlanError, match="max_length=3 must be large enough for a question and an answer"):
        windows(chat("I 0123456789", "T abc"), token_counter=Letters(3))


LINES = st.lists(
    st.tuples(st.sampled_from(["", "+90 "]), st.sampled_from("TIM-"), st.text("abc", max_size=9)),
    min_size=1,
    max_size=30,
)


@given(LINES, st.integers(8, 40), st.integers(0, 3), st.booleans())
def test_each_answer_is_learned_once(lines, block, context, openings):
    """Whatever is said: windows fit, begin with a question unless openings are wanted, and learn each answer once."""
    batch = chat(*[f"{gap}{who} {text}" for gap, who, text in lines])
    options = {"context": context, "openings": openings}
    told, *_ = windows(batch, token_counter=Letters(block), **options)
    whole, *_ = windows(batch, **options)
    for window in told:
        assert sum(len(t.partition(": ")[2]) + 1 for t in window) <= block
        assert window[-1].startswith("*a")
        assert openings or window[0].startswith("u")
    learned = [t for w in told for t in w if t[0] == "*"]
    wanted = [t for w in whole for t in w if t[0] == "*"]
    assert len(learned) == len(wanted)
    assert all(full.startswith(part) for full, part in zip(wanted, learned, strict=True))


@given(LINES, st.data(), st.lists(st.integers(1, 30), min_size=1, max_size=4))
def test_laws(lines, data, cuts):
    """Batch cuts do not matter and statistics balance, also if chats are interleaved and messages answer others."""
    batch = chat(*[f"{gap}{who} {text}" for gap, who, text in lines])
    n = len(lines)
    names = data.draw(st.lists(st.sampled_from(["club", "home", None]), min_size=n, max_size=n))
    answered = data.draw(st.lists(st.one_of(st.none(), st.integers(0, n)), min_size=n, max_size=n))
    batch = laws.B.with_column(batch, "chat", pa.array(names, pa.string()))
    batch = laws.B.with_column(batch, "reply_to", pa.array(answered, pa.uint64()))
    stage = Turns(person="T", token_counter=Letters(20), openings=True)
    laws.cuts_do_not_matter(stage, batch, cuts)
    laws.books_balance(stage, batch)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"person": ""}, "person='' must be the name of the author"),
        ({"gap": "soon"}, "gap='soon' must be a duration"),
        ({"context": -1}, "context=-1 must be at least 0"),
    ],
)
def test_bad_parameters(options, sentence):
    """One sentence each, before any work."""
    with pytest.raises(PlanError, match=sentence):
        Turns(**{"person": "T", **options})
