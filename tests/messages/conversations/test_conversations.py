"""Conversations: what is joined, what is not, and that nothing depends on batches."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.model.ledger import Ledger, watch
from dataprep.errors import PlanError
from twins.conversations import conversations

START = datetime(2024, 5, 1)
BASE = 7


def batch_of(messages, ids=None) -> B.Batch:
    """Messages (chat, author, minutes since the start or None, text, row it answers or None) as a batch."""
    chats, authors, minutes, texts, answers = zip(*messages, strict=True) if messages else ([],) * 5
    ids = ids or [BASE + 3 * i for i in range(len(chats))]
    times = [None if m is None else START + timedelta(minutes=m) for m in minutes]
    columns = {
        "chat": pa.array(chats, pa.string()),
        "author": pa.array(authors, pa.string()),
        "time": pa.array(times, pa.timestamp("s")),
        "reply_to": pa.array([None if a is None or a >= len(ids) else ids[a] for a in answers], pa.uint64()),
    }
    return B.make(ids, list(texts), "s", columns=columns)


def texts_of(stage, messages, ids=None):
    rows, _, _ = laws.apply(stage, [batch_of([m if len(m) == 5 else (*m, None) for m in messages], ids)])
    return [r["text"] for r in rows]


def test_joined_within_the_gap() -> None:
    """Less than an hour joins, an hour does not; another chat or no time begins a new one; all are accounted for."""
    batch = batch_of(
        [
            ("a", "Uma", 0, "one", None),
            ("a", None, 59, "Ivo joined", None),
            ("a", "Uma", 119, "an hour later", None),
            ("a", "Ivo", 100, "clock set back", None),
            ("b", "Ivo", 101, "elsewhere", None),
            ("b", "Ivo", None, "no time", None),
            ("b", "{text}", 102, "{author}", None),
        ]
    )
    rows, drops, book = laws.apply(dp.chats.Conversations(gap="1h"), [batch])
    end = [START + timedelta(minutes=m) if m else None for m in (59, 119, 101, None, 102)]
    assert [(r["id"], r["text"], r["n_messages"], r["end_time"]) for r in rows] == [
        (7, "Uma: one\nIvo joined", 2, end[0]),
        (13, "Uma: an hour later\nIvo: clock set back", 2, end[1]),
        (19, "Ivo: elsewhere", 1, end[2]),
        (22, "Ivo: no time", 1, end[3]),
        (25, "{text}: {author}", 1, end[4]),
    ]
    assert [(d["id"], d["reason"], d["duplicate_of"]) for d in drops] == [(10, "joined", 7), (16, "joined", 13)]
    assert book.reasons == {"joined": 2}


def test_answers_continue_a_conversation() -> None:
    """An answer to the open conversation joins it over the gap, but not over the reply gap, nor one that has ended."""
    night = [("a", "Uma", 0, "one"), ("a", "Ivo", 5, "two"), ("a", "Uma", 600, "I mean two", 1)]
    assert texts_of(dp.chats.Conversations(), night) == ["Uma: one\nIvo: two\nUma: I mean two"]
    assert texts_of(dp.chats.Conversations(replies=False), night) == ["Uma: one\nIvo: two", "Uma: I mean two"]
    assert len(texts_of(dp.chats.Conversations(reply_gap="9h"), night)) == 2
    late = [*night, ("a", "Ivo", 1000, "new"), ("a", "Uma", 1100, "about the first", 0)]
    assert texts_of(dp.chats.Conversations(), late)[1:] == ["Ivo: new", "Uma: about the first"]


def test_interleaved_chats() -> None:
    """Each chat has its own conversation; they come in the order of their first messages; files do not matter."""
    messages = [("a", "Uma", 0, "1"), ("b", "Ivo", 1, "2"), ("a", "Ivo", 2, "3"), ("b", "Uma", 3, "4")]
    assert texts_of(dp.chats.Conversations(), messages) == ["Uma: 1\nIvo: 3", "Ivo: 2\nUma: 4"]
    two_files = [B.doc_id(file, place) for file, place in ((1, 0), (1, 9), (2, 0), (2, 9))]
    assert texts_of(dp.chats.Conversations(), messages, two_files) == ["Uma: 1\nIvo: 3", "Ivo: 2\nUma: 4"]


def test_a_long_wait_is_bounded() -> None:
    """A conversation ends after max_bytes of other chats, so later ones are not held back without limit."""
    messages = [("a", "Uma", 0, "1"), *[("b", "Ivo", 1, "x" * 20)] * 9, ("a", "Uma", 2, "2")]
    assert texts_of(dp.chats.Conversations(max_bytes=100), messages)[0] == "Uma: 1"
    given = []
    batches = (given.append(i) or batch_of([(*m, None)], [i]) for i, m in enumerate(messages[:-1]))
    next(watch(dp.chats.Conversations(max_bytes=100), batches, Ledger("x")))
    assert len(given) < 7


def test_without_reply_to_and_other_times() -> None:
    """The column reply_to may be missing, times may be finer; a column of texts is rejected."""
    batch = batch_of([("a", "Uma", 0, "1", None), ("a", "Ivo", 1, "2", 0)])
    finer = B.with_column(batch, "time", batch.column("time").cast(pa.timestamp("us"))).drop_columns(["reply_to"])
    assert len(laws.apply(dp.chats.Conversations(), [finer])[0]) == 1
    with pytest.raises(PlanError, match="timestamp"):
        laws.apply(dp.chats.Conversations(), [B.with_column(batch, "time", pa.array(["1", "2"]))])


MESSAGES = st.lists(
    st.tuples(
        st.sampled_from("aab") | st.none(),
        st.none() | st.sampled_from(["Uma", "é", "", "{text}"]),
        st.none() | st.integers(0, 200),
        st.text(max_size=5),
        st.none() | st.integers(0, 24),
    ),
    max_size=25,
)
STAGES = st.builds(
    dp.chats.Conversations,
    gap=st.sampled_from(["30m", "1h"]),
    reply_gap=st.sampled_from(["10m", "2h"]),
    replies=st.booleans(),
    max_bytes=st.sampled_from([20, 60, 1 << 20]),
    separator=st.sampled_from(["\n", ""]),
)


@settings(max_examples=100)
@given(MESSAGES, STAGES, st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 25))
def test_laws(messages, stage, sizes, next_file) -> None:
    """Batch cuts do not matter, the statistics balance, and the slow twin agrees."""
    batch = batch_of(messages, [B.doc_id(1 + (i >= next_file), BASE + 3 * i) for i in range(len(messages))])
    laws.cuts_do_not_matter(stage, batch, sizes)
    laws.books_balance(stage, batch)
    rows, _, _ = laws.apply(stage, [batch])
    made = [(r["id"], r["text"], r["n_messages"], r["end_time"]) for r in rows]
    assert made == conversations(batch.to_pylist(), stage)


def test_key_and_pickle() -> None:
    """The stage travels, and its key is that of its parameters."""
    laws.key_and_pickle_are_stable(dp.chats.Conversations(gap="2d"))


@pytest.mark.parametrize(
    "wrong", [{"gap": "1 hour"}, {"gap": "0s"}, {"gap": 60}, {"reply_gap": "x"}, {"line": "{author}"}, {"max_bytes": 0}]
)
def test_wrong_parameters(wrong) -> None:
    """A gap that is not a duration and a line without the text are rejected."""
    with pytest.raises(PlanError):
        dp.chats.Conversations(**wrong)


def test_needs_a_chat(tmp_path) -> None:
    """On documents that are not messages it fails before any work, naming the columns."""
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(PlanError, match="chat"):
        dp.Pipeline(dp.chats.Conversations()).run(dp.read(str(tmp_path / "a.jsonl")), out=str(tmp_path / "out"))


def test_sample_chat(samples, tmp_path) -> None:
    """The sample exports become conversations, and each message is accounted for."""
    docs = dp.read([str(samples / "whatsapp_android.txt"), str(samples / "whatsapp_ios.txt")])
    n = docs.count
    joined = dp.Pipeline(dp.chats.Conversations(gap="1h")).run(docs, out=str(tmp_path / "out"))
    assert 1 < joined.count < n
    assert joined.count + joined.stats["Conversations"].reasons["joined"] == n
    assert set(joined.columns) >= {"chat", "author", "time", "kind", "n_messages", "end_time"}


def test_an_unknown_field_of_a_line_is_named():
    """A misspelled field would be written into every text."""
    with pytest.raises(PlanError, match="names 'auther'; its fields must be {author} and {text}"):
        dp.chats.Conversations(line="{auther}: {text}")


def test_a_conversation_begins_where_it_is_cut() -> None:
    """A message of `cuts` begins a conversation, though no time passes; later ones join it."""
    said = [("a", "Uma", k, str(k)) for k in range(6)]
    cuts = (BASE + 3 * 2, BASE + 3 * 5)
    wanted = ["Uma: 0\nUma: 1", "Uma: 2\nUma: 3\nUma: 4", "Uma: 5"]
    assert texts_of(dp.chats.Conversations(cuts=cuts), said) == wanted
