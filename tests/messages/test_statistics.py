"""What `MessageStats` counts is what counting message by message gives, and no name is saved that is to be hidden."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dataprep as dp
import twins.statistics
from dataprep.core.model import batch as B
from dataprep.core.model.ledger import Ledger, watch
from dataprep.errors import PlanError
from dataprep.messages import counts as C
from dataprep.messages.emoji import emoji_counts, emoji_spans
from dataprep.messages.names.stage import Pseudonyms
from dataprep.messages.statistics import MessageStats

BEGIN = datetime(2023, 12, 30, 22, 0)
HISTOGRAMS = {
    "talk": C.CONVERSATION_MESSAGES, "seconds": C.CONVERSATION_SECONDS, "reply": C.REPLY_SECONDS, "chars": C.CHARS,
}  # fmt: skip
minutes = st.one_of(st.none(), st.integers(-70, 200), st.integers(-4_000_000, 4_000_000))
message = st.tuples(
    st.sampled_from(["tea", "é.1", None]), st.sampled_from(["Bo", "Ada", "a.b", None]), minutes,
    st.sampled_from(["text", "text", "image", "system"]), st.sampled_from(["", "ok", "نعم", "😂 a 😂", "👍🏽"]),
    st.sampled_from(["en", None]),
)  # fmt: skip


def batches_of(rows, size):
    """The rows as batches of so many."""
    names = ("chat", "author", "time", "kind", "language")
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        chats, authors, times, kinds, texts, languages = zip(*some, strict=True)
        columns = dict(zip(names, map(pa.array, (chats, authors, times, kinds, languages)), strict=True))
        columns |= {n: columns[n].cast(pa.string()) for n in ("chat", "author", "language")}
        columns["time"] = columns["time"].cast(pa.timestamp("s"))
        yield B.make(range(start, start + len(some)), list(texts), "s", columns=columns)


def book_of(rows, size=1_000, **options):
    """Return the statistics of the stage; each document is passed on."""
    ledger = Ledger("MessageStats")
    out = list(watch(MessageStats(**options), batches_of(rows, size), ledger))
    assert sum(b.num_rows for b in out) == len(rows)
    return ledger.record


@given(made=st.lists(message, max_size=30), size=st.integers(1, 9))
# A conversation that ends in the batch after the one in which it began.
@example(made=[("tea", "Bo", step, "text", "", None) for step in (0, 10, 10, 30, 300)], size=3)
def test_counts_are_those_of_the_plain_twin(made, size) -> None:
    """Counts and histograms are right, however batches are cut, clocks go back and chats are interleaved."""
    rows, at = [], BEGIN
    for chat, author, step, *rest in made:
        at = at if step is None else at + timedelta(minutes=step)
        rows.append((chat, author, None if step is None else at, *rest))
    counts, values = twins.statistics.message_stats(rows, timedelta(hours=1))
    book = book_of(rows, size)
    emoji = {name: n for name, n in book.counts.items() if name.startswith("emoji.")}
    said = "".join(text for _, author, _, kind, text, _ in rows if author and kind == "text")
    assert emoji == {f"emoji.{e}": said.count(e) for e in ("😂", "👍🏽") if e in said}
    assert {name: n for name, n in book.counts.items() if name not in emoji} == counts
    for name, histogram in HISTOGRAMS.items():
        assert book.histograms.get(histogram, {}) == Counter(v.bit_length() for v in values[name]), name


letters = st.sampled_from([*"ab 1#字한نé😂❤⌚🇲🇦‼\ufe0f\u20e3\u200d\U000f0000", "👍🏽", "©\ufe0f"])


@given(texts=st.lists(st.lists(letters, max_size=9).map("".join), max_size=9), cut=st.integers(0, 3))
def test_emoji_are_those_of_each_text(texts, cut) -> None:
    """Looking only at texts with a byte that emoji have finds what looking at each text finds, in slices, too."""
    wanted = Counter(t[a:b] for t in texts[cut:] for a, b in emoji_spans(t))
    assert emoji_counts(pa.array(texts, pa.large_string())[cut:]) == wanted


def test_the_most_frequent_are_named() -> None:
    """With top= the others are counted together, and nothing is lost; ties go by name."""
    rows = [("tea", who, BEGIN, "text", "x", None) for who in "aaabbcde"]
    found = C.of_family(book_of(rows, top=3).counts, "author")
    assert found == {"a": 3, "b": 2, "c": 1, C.OTHERS: 2}
    with pytest.raises(PlanError, match="top=0"):
        MessageStats(top=0)
    with pytest.raises(PlanError, match="gap='soon'"):
        MessageStats(gap="soon")


def test_tables() -> None:
    """Empty months are included unless the range is too long; a week has seven days of 24 hours."""
    rows = [("tea", "a", t, "text", "x", None) for t in (datetime(2024, 1, 1, 9), datetime(2023, 10, 8, 23))]
    counts = book_of(rows).counts
    assert C.months_of(counts) == [("2023-10", 1), ("2023-11", 0), ("2023-12", 0), ("2024-01", 1)]
    assert C.clock_of(counts).nonzero()[0].tolist() == [0, 6]  # Monday and Sunday
    assert C.clock_of(counts)[0, 9] == C.clock_of(counts)[6, 23] == 1
    mad = C.months_of({"month.2024-01": 1, "month.190000-02": 2, "month.-005-03": 1, "month.others": 1})
    assert mad == [("-005-03", 1), ("2024-01", 1), ("190000-02", 2)]
    assert C.months_of({}) == []
    assert MessageStats.__name__ == C.STAGE


def test_nobody_is_named_before_pseudonyms(samples, tmp_path) -> None:
    """Counts before names are hidden save no name; after them, pseudonyms."""
    docs = dp.read(str(samples / "whatsapp_android.txt"))
    safe = dp.Pipeline(MessageStats(), Pseudonyms(key=b"0123456789abcdef"), MessageStats())
    before, after = (b for b in safe.run(docs, out=str(tmp_path / "safe")).stats if b.name.startswith("MessageStats"))
    assert before.counts["kind.text"] == after.counts["kind.text"] > 5
    assert not C.of_family(before.counts, "author")
    assert not C.of_family(before.counts, "chat")
    assert set(C.of_family(after.counts, "author").values()) == {3, 4}
    assert all(name.startswith("Person-") for name in C.of_family(after.counts, "author"))
    for place in (tmp_path / "safe").rglob("*"):
        assert not place.is_file() or b"Ilse" not in place.read_bytes(), place
