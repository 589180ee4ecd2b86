"""Exact against its plain twin: which texts go, for whom, and never because of a hash."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import oracles
from dataprep.dedup import repeats
from dataprep.dedup.exact import Exact
from dataprep.dedup.forms import FORMS
from dataprep.errors import PlanError
from dataprep.run import Serial

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(["", " ", "\n", "!!!", "...", "A b", "a b", "a  b", "a, b", "a b\n"]), st.text(max_size=6)
    ),
    max_size=30,
)


@settings(max_examples=40)
@given(TEXTS, st.sampled_from([None, "space", "lower", "words"]), st.integers(1, 3), st.integers(1, 5))
def test_exact_is_its_twin(drops, texts, form, parts, cut) -> None:
    """The same documents go for the same survivors, however the input is cut."""
    expected = oracles.same_texts(texts, list(range(len(texts))), form)
    found = drops(Exact(normalize=form), texts, parts=parts, cut=cut)
    assert found == {d: (kept, 1.0) for d, kept in expected.items()}


@settings(max_examples=20)
@given(TEXTS, st.integers(0, 3))
def test_a_hash_alone_deletes_nothing(drops, texts, bits) -> None:
    """With hashes of so few bits that nearly all texts collide, only equal texts go."""
    expected = oracles.same_texts(texts, list(range(len(texts))), None)
    found = drops(Exact(_key_bits=bits), texts)
    assert {d: kept for d, (kept, _) in found.items()} == expected


def test_collisions_of_many_texts_are_told_apart(drops) -> None:
    """1,000 distinct texts in 16 buckets all stay, and one copy of each goes."""
    texts = [f"text number {i}" for i in range(1000)]
    assert drops(Exact(_key_bits=4), texts) == {}
    found = drops(Exact(_key_bits=4), texts + texts, parts=3)
    assert found == {1000 + i: (i, 1.0) for i in range(1000)}


def test_blank_texts_are_not_each_others_copies(drops) -> None:
    """What normalisation empties is compared as it is: "!!!" is not "???", nor a space a tab; empty texts are."""
    found = drops(Exact(normalize="words"), ["!!!", "???", " ", "\t", "", "!!!", ""])
    assert found == {5: (0, 1.0), 6: (4, 1.0)}


@pytest.mark.parametrize("wrong", [{"normalize": "upper"}, {"keep": "last"}, {"keep": "best:"}, {"keep": ""}])
def test_wrong_parameters_are_named(wrong) -> None:
    """One sentence that lists what there is."""
    with pytest.raises(PlanError, match="there are"):
        Exact(**wrong)


# --- Units ------------------------------------------------------------------------------------------------------------

UNIT = 10  # between ids
LINES = st.sampled_from(
    ["", "", " ", "Same line.", "same LINE. ", "  Same line.", "Émile, 12!", "emile 98", "سطر واحد", "سَطْر واحد", "---"]
    + ["同じ行。次。", "One. Two. Three.", "Two. Three. Four!", "😀", "İstanbul", "A. B. C. D."]
)
PAGES = st.lists(
    st.one_of(
        st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n", "\n\n"])), max_size=7).map(
            lambda pairs: "".join(line + end for line, end in pairs)
        ),
        st.lists(LINES, max_size=5).map("\n".join),
        st.text("ab. \n\r\u3000é😀", max_size=20),
    ),
    max_size=8,
)


def cut(stage, docs):
    """What an Estimator counted, the spans it finds, and what it leaves of every text (None: dropped)."""
    with tempfile.TemporaryDirectory() as out:
        made = stage.fit(docs, Serial(), out)
        assert {p.name for p in Path(out).iterdir()} == {"spans.json", "spans.parquet"}
        left, drops, _ = laws.apply(made, list(docs.batches()))
        rows = pq.read_table(made.spans).to_pylist()
    assert {d["reason"] for d in drops} <= {"left_too_short"}
    kept = {r["id"]: r["text"] for r in left}
    return made.facts, rows, [kept.get(i) for i in docs.table(["id"]).column("id").to_pylist()]


@settings(max_examples=150)
@given(
    PAGES,
    st.sampled_from(["line", "paragraph", "span3"]),
    st.sampled_from(["auto", None, *FORMS]),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_units_are_their_twin(dataset, texts, unit, form, parts, per_batch) -> None:
    """What occurred before goes, with the gap it leaves, for the first occurrence; however the input is cut."""
    stage = Exact(unit=unit, normalize=form, min_left=0)
    facts, spans, left = cut(stage, dataset(texts, parts=parts, cut=per_batch))
    found = oracles.repeats(texts, unit, stage.normalize)
    assert left == [oracles.without(t, [r[:2] for r in r_]) for t, r_ in zip(texts, found, strict=True)]
    assert facts["duplicates"] == sum(map(len, found))
    assert facts["distinct"] + facts["duplicates"] == facts["units"]
    assert facts["bytes"] == sum(s["end"] - s["start"] for s in spans)
    assert facts["spans"] == len(spans)
    for (text, places), d in zip(zip(texts, found, strict=True), range(len(texts)), strict=True):
        first = [(len(text[:a].encode()), (UNIT * k, len(texts[k][:b].encode()))) for a, _, k, b in places]
        mine = [s for s in spans if s["id"] == UNIT * d]
        assert all(one["end"] <= two["start"] for one, two in itertools.pairwise(mine))
        for span in mine:  # it names the place of one of the repeats that begin in it, or reach into it
            kept, kept_start = span["kept"] // UNIT, span["kept_start"]
            firsts = [
                (k, len(texts[k][:b].encode())) for a, (_, _, k, b) in zip(at, places, strict=True) if a < span["end"]
            ]
            assert (kept, kept_start) in firsts


def test_top_names_what_occurs_most(dataset, tmp_path) -> None:
    """The most frequent units come first, with how often and where they occur, and their text."""
    texts = [f"Home | About\nUnique line {i} of {i}.\n" + "Read more.\n" * (i % 3) for i in range(90)]
    facts = Exact(unit="line").fit(dataset(texts, parts=4), Serial(), str(tmp_path)).facts
    assert [(t["count"], t["id"], t["start"], t["text"]) for t in facts["top"]] == [
        (90, "0", 0, "Home | About"),
        (90, str(UNIT), 33, "Read more."),
    ]
    assert facts["documents"] == 90


def test_partitions_and_segments_change_nothing(monkeypatch, tmp_path) -> None:
    """Spilled in small segments, to many partitions, matched in rounds: the spans of one partition in memory."""
    texts = [f"Line {i % 7}.\nline {i % 11}. And so on.\n\nOnly {i}." for i in range(120)]
    docs = laws.dataset_of(tmp_path, texts, parts=3, rows_per_batch=10)
    whole = {u: cut(Exact(unit=u), docs) for u in ("line", "paragraph", "span3")}
    monkeypatch.setattr(repeats, "PARTITION_BYTES", 10)
    monkeypatch.setattr(repeats, "SEGMENT_RECORDS", 40)
    monkeypatch.setattr(repeats, "ROUND_RECORDS", 20)
    for unit, expected in whole.items():
        assert cut(Exact(unit=unit), docs) == expected
