"""Conversations: what is joined, what is not, and that nothing depends on batches."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep import batch as B
from dataprep.errors import PlanError
from oracles import conversations

START = datetime(2024, 5, 1)


def batch_of(messages) -> B.Batch:
    """Messages (chat, author, minutes since the start or None, text) as a batch."""
    chats, authors, minutes, texts = zip(*messages, strict=True) if messages else ([], [], [], [])
    times = [None if m is None else START + timedelta(minutes=m) for m in minutes]
    columns = {
        "chat": pa.array(chats, pa.string()),
        "author": pa.array(authors, pa.string()),
        "time": pa.array(times, pa.timestamp("s")),
    }
    return B.make([7 + 3 * i for i in range(len(chats))], list(texts), "s", columns=columns)


def test_joined_within_the_gap() -> None:
    """Less than an hour joins, an hour does not; another chat or no time begins anew."""
    batch = batch_of(
        [
            ("a", "Uma", 0, "one"),
            ("a", None, 59, "Ivo joined"),
            ("a", "Uma", 119, "an hour later"),
            ("a", "Ivo", 100, "clock set back"),
            ("b", "Ivo", 101, "elsewhere"),
            ("b", "Ivo", None, "no time"),
            ("b", "Ivo", 102, "{author}"),
        ]
    )
    rows, drops, book = laws.apply(dp.Conversations(gap="1h"), [batch])
    assert [(r["id"], r["text"]) for r in rows] == [
        (7, "Uma: one\nIvo joined"),
        (13, "Uma: an hour later\nIvo: clock set back"),
        (19, "Ivo: elsewhere"),
        (22, "Ivo: no time"),
        (25, "Ivo: {author}"),
    ]
    assert [(d["id"], d["reason"], d["kept"]) for d in drops] == [(10, "joined", 7), (16, "joined", 13)]
    assert book.reasons == {"joined": 2}


MESSAGES = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.none() | st.sampled_from(["Uma", "é"]),
        st.none() | st.integers(0, 120),
        st.text(max_size=5),
    ),
    max_size=25,
)
STAGES = st.builds(
    dp.Conversations,
    gap=st.sampled_from(["30m", "1h"]),
    max_bytes=st.sampled_from([20, 1 << 20]),
    separator=st.sampled_from("\n "),
)


@settings(max_examples=100)
@given(MESSAGES, STAGES, st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_laws(messages, stage, sizes) -> None:
    """Batch cuts do not matter, the books balance, and a plain loop says the same."""
    batch = batch_of(messages)
    laws.cuts_do_not_matter(stage, batch, sizes)
    laws.books_balance(stage, batch)
    rows, _, _ = laws.apply(stage, [batch])
    assert [(r["id"], r["text"]) for r in rows] == conversations(batch.to_pylist(), stage)


def test_key_and_pickle() -> None:
    """The stage travels, and its key is that of its parameters."""
    laws.key_and_pickle_are_stable(dp.Conversations(gap="2d"))


@pytest.mark.parametrize("wrong", [{"gap": "1 hour"}, {"gap": "0s"}, {"gap": 60}, {"line": "{author}"}])
def test_wrong_parameters(wrong) -> None:
    """A gap that is no time and a line without the text are refused."""
    with pytest.raises(PlanError):
        dp.Conversations(**wrong)


def test_needs_a_chat(tmp_path) -> None:
    """On documents that are no messages it fails before any work, naming the columns."""
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(PlanError, match="chat"):
        dp.Pipeline(dp.Conversations()).run(dp.read(str(tmp_path / "a.jsonl")), out=str(tmp_path / "out"))


def test_sample_chat(samples, tmp_path) -> None:
    """The sample exports become talks; whose messages are all accounted for."""
    docs = dp.read([str(samples / "whatsapp_android.txt"), str(samples / "whatsapp_ios.txt")])
    n = docs.count
    talks = dp.Pipeline(dp.Conversations(gap="1h")).run(docs, out=str(tmp_path / "out"))
    assert 1 < talks.count < n
    assert talks.count + talks.stats["Conversations"].reasons["joined"] == n
    assert set(talks.columns) >= {"chat", "author", "time", "kind"}
