"""Exact against its plain twin: which texts go, for whom, and never because of a hash."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import twins.exact
from dataprep.core.pipeline import Pipeline
from dataprep.core.run import merge
from dataprep.core.run.runner import Serial
from dataprep.dedup.exact import Exact
from dataprep.dedup.spans import passes, search, units
from dataprep.dedup.spans.forms import FORMS
from dataprep.errors import DataprepError, PlanError
from dataprep.store import shuffle
from twins.units import sentences, unit_form

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
    expected = twins.exact.same_texts(texts, list(range(len(texts))), form)
    found = drops(Exact(normalize=form), texts, parts=parts, cut=cut)
    assert found == {d: (kept, 1.0) for d, kept in expected.items()}


@settings(max_examples=20)
@given(TEXTS, st.integers(0, 3))
def test_a_hash_alone_deletes_nothing(drops, texts, bits) -> None:
    """With hashes of so few bits that nearly all texts collide, only equal texts go."""
    expected = twins.exact.same_texts(texts, list(range(len(texts))), None)
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
    with pytest.raises(PlanError, match="must be"):
        Exact(**wrong)


# --- Units ------------------------------------------------------------------------------------------------------------

UNIT = 10  # between ids
LINES = st.sampled_from(
    [
        *("", "", " ", "Same line.", "same LINE. ", "  Same line.", "Émile, 12!", "emile 98", "سطر واحد", "سَطْر واحد"),
        *("---", "同じ行。次。", "One. Two. Three.", "Two. Three. Four!", "😀", "İstanbul", "A. B. C. D."),
    ]
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
    assert {d["reason"] for d in drops} <= {"too_short_after_cuts"}
    kept = {r["id"]: r["text"] for r in left}
    return made.facts, rows, [kept.get(i) for i in docs.table(["id"]).column("id").to_pylist()]


@settings(max_examples=100)
@given(
    PAGES,
    st.sampled_from(["line", "paragraph", "span3"]),
    st.sampled_from(["auto", None, *FORMS]),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_units_are_their_twin(dataset, texts, unit, form, parts, per_batch) -> None:
    """What occurred before goes, with the gap it leaves, for the first occurrence; however the input is cut."""
    stage = Exact(unit=unit, normalize=form, min_remaining_chars=0)
    facts, spans, left = cut(stage, dataset(texts, parts=parts, cut=per_batch))
    found = twins.exact.repeats(texts, unit, stage.normalize)
    assert left == [twins.exact.without(t, [r[:2] for r in r_]) for t, r_ in zip(texts, found, strict=True)]
    assert facts["duplicates"] == sum(map(len, found))
    assert facts["distinct"] + facts["duplicates"] == facts["units"]
    gone = [bytearray(len(text.encode())) for text in texts]
    for span in spans:
        gone[span["id"] // UNIT][span["start"] : span["end"]] = b"x" * (span["end"] - span["start"])
    assert facts["bytes"] == sum(marks.count(b"x") for marks in gone)
    assert facts["spans"] == sum(len(re.findall(b"x+", marks)) for marks in gone)
    for d, (text, repeats) in enumerate(zip(texts, found, strict=True)):
        mine = [s for s in spans if s["id"] == UNIT * d]
        pieces = [s for s in mine if s["duplicate_of"] is not None]
        assert len(pieces) == len(repeats)
        for span, (a, b, k, at) in zip(pieces, repeats, strict=True):
            piece, first = text.encode()[span["start"] : span["end"]].decode(), texts[k].encode()
            assert piece.strip() == text[a:b].strip(), "one row per unit, which is in no other line"
            assert span["duplicate_of"] == UNIT * k
            first = first[span["duplicate_of_start"] : span["duplicate_of_end"]].decode()
            assert texts[k][at:].lstrip().startswith(first.strip())
            assert form_of(piece, unit, stage.normalize) == form_of(first, unit, stage.normalize)
        for span in mine:
            is_gap = stage.normalize is None and not text.encode()[span["start"] : span["end"]].decode().strip()
            assert span["duplicate_of"] is not None or is_gap, "it is a part of the row of a unit"


def form_of(piece: str, unit: str, form: str | None) -> list[str]:
    """The form in which a unit is compared, a sentence at a time."""
    return [unit_form(one, form) for one in (sentences(piece) if unit == "span3" else [piece])]


@pytest.mark.parametrize("unit", ["line", "paragraph", "span3"])
def test_units_of_forty_languages_are_the_twins(shared, dataset, unit) -> None:
    """On real pages in forty languages, too, what is left is what the twin leaves."""
    with gzip.open(shared / "text" / "multilingual" / "tldr_pages_40lang.jsonl.gz", "rt", encoding="utf-8") as f:
        texts = [json.loads(line)["text"] for line in f][::40][:700]
    stage = Exact(unit=unit, min_remaining_chars=0)
    facts, _, left = cut(stage, dataset(texts, parts=3, cut=50))
    found = twins.exact.repeats(texts, unit, stage.normalize)
    assert facts["duplicates"] == sum(map(len, found)) > 0
    assert left == [twins.exact.without(t, [r[:2] for r in r_]) for t, r_ in zip(texts, found, strict=True)]


def test_top_names_what_occurs_most(dataset, tmp_path) -> None:
    """The most frequent units come first, with how often and where they occur, and their bytes."""
    texts = [f"Home | About\nUnique line {i} of {i}.\n" + "Read more.\n" * (i % 3) for i in range(90)]
    facts = Exact(unit="line").fit(dataset(texts, parts=4), Serial(), str(tmp_path)).facts
    assert [(t["count"], t["id"], t["start"], t["bytes"]) for t in facts["top"]] == [
        (90, "0", 0, len("Home | About")),
        (90, str(UNIT), 33, len("Read more.")),
    ]
    assert facts["documents"] == 90


def test_partitions_and_segments_change_nothing(monkeypatch, tmp_path) -> None:
    """Spilled in small segments, to many partitions, matched in rounds: the spans of one partition in memory."""
    texts = [f"Line {i % 7}.\nline {i % 11}. And so on.\n\nOnly {i}." for i in range(120)]
    docs = laws.dataset_of(tmp_path, texts, parts=3, rows_per_batch=10)
    whole = {u: cut(Exact(unit=u), docs) for u in ("line", "paragraph", "span3")}
    monkeypatch.setattr(search, "PARTITION_BYTES", 10)
    monkeypatch.setattr(passes, "SEGMENT_RECORDS", 40)
    monkeypatch.setattr(passes, "ROUND_RECORDS", 20)
    for unit, expected in whole.items():
        assert cut(Exact(unit=unit), docs) == expected
    monkeypatch.setattr(merge, "MAX_SECTIONS", 3)  # which are divided into partitions and segments
    assert cut(Exact(unit="line"), docs) == whole["line"]
    monkeypatch.setattr(shuffle, "FAN_IN", 2)  # the files are merged, and merged again
    assert cut(Exact(unit="line"), docs) == whole["line"]
    monkeypatch.setattr(merge, "MAX_SECTIONS", 4096)
    assert cut(Exact(unit="line"), docs) == whole["line"]


def test_digits_are_one_in_ccnet_alone(dataset) -> None:
    """In CCNet's form prices are one paragraph, in any digits; the form with digits compares them, and no accents."""
    docs = dataset(["Only 39 cts!", "ONLY 50 CTS", "only ٥٠ cts", "only 39 çts"])
    assert cut(Exact(unit="paragraph"), docs)[2] == ["Only 39 cts!", None, None, None]
    kept = cut(Exact(unit="paragraph", normalize="ccnet_digits"), docs)[2]
    assert kept == ["Only 39 cts!", "ONLY 50 CTS", "only ٥٠ cts", None]


def test_a_document_left_too_short_goes(dataset) -> None:
    """A document that lost something goes if too little is left; one that lost nothing stays, however short."""
    texts = ["One line.\nTwo lines.", "one line.\nab c \u3000\n", "TWO LINES.", "", "x"]
    docs = dataset(texts)
    assert cut(Exact(unit="line"), docs)[2] == [texts[0], "ab c \u3000\n", None, "", "x"]
    assert cut(Exact(unit="line", min_remaining_chars=3), docs)[2] == [texts[0], "ab c \u3000\n", None, "", "x"]
    assert cut(Exact(unit="line", min_remaining_chars=4), docs)[2] == [texts[0], None, None, "", "x"]
    assert cut(Exact(unit="line", min_remaining_chars=0), docs)[2] == [texts[0], "ab c \u3000\n", "", "", "x"]


def test_spans_that_overlap_are_one_cut(dataset) -> None:
    """Of overlapping spans that occurred before, the union goes; one that repeats itself leaves its first sentence."""
    texts = ["One. Two. Three. Four. Five.", "New. One. Two. Three. Four. Old.", "So. So. So. So.", "One. Two."]
    facts, spans, left = cut(Exact(unit="span3"), dataset(texts))
    assert left == [texts[0], "New. Old.", "So.", "One. Two."]
    assert [(s["start"], s["end"], s["duplicate_of"], s["duplicate_of_start"]) for s in spans] == [
        (4, 21, 0, 0),
        (10, 27, 0, 5),
        (3, 15, 20, 0),
    ]
    assert facts["units"] == 3 + 4 + 2


@pytest.mark.parametrize("unit", ["line", "paragraph", "span3"])
def test_odd_corpora(dataset, tmp_path, unit) -> None:
    """One document, all equal, a great many empty ones, none at all."""
    stage = Exact(unit=unit)
    text = "One here. Two here. Three here."
    assert cut(stage, dataset([text]))[2] == [text]
    assert cut(stage, dataset([text] * 500, parts=3))[2] == [text, *[None] * 499]
    assert cut(stage, dataset([]))[2] == []
    empty = dataset([""] * 20_000, parts=2, cut=5000)
    assert cut(stage, empty)[2] == [""] * 20_000
    assert stage.fit(laws.Dataset(()), Serial(), str(tmp_path)).facts["documents"] == 0


def test_a_long_document_is_cut_a_block_at_a_time(dataset, monkeypatch) -> None:
    """Lines of one document by the thousand, in small blocks and segments, some of them repeats in long runs."""
    lines = [f"Line {i if i % 3 else 0}. It goes on." for i in range(3000)] + ["Line 0. It goes on."] * 3000
    text = "\n".join(lines)
    expected = "\n".join(dict.fromkeys(lines))
    monkeypatch.setattr(passes, "SEGMENT_RECORDS", 100)
    monkeypatch.setattr(merge, "MAX_SECTIONS", 7)  # each with several segments of the same document
    monkeypatch.setattr(units, "BLOCK_UNITS", 64)
    facts, spans, left = cut(Exact(unit="line"), dataset([text, text + "\nNew."]))
    assert left == [expected, "New."]
    assert facts["duplicates"] == 6000 - 2001 + 6000
    assert facts["spans"] == 999 + 1 + 1
    assert sum(span["duplicate_of"] is not None for span in spans) == facts["duplicates"]
    one_line = " ".join(lines)
    assert cut(Exact(unit="line"), dataset([one_line] * 2))[2] == [one_line, None]
    few = " ".join(lines[2800:3200])
    spans3 = twins.exact.repeats([few], "span3", "c4")[0]
    assert cut(Exact(unit="span3"), dataset([few]))[2] == [twins.exact.without(few, [r[:2] for r in spans3])]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"unit": "word"}, "must be one of 'document', 'line'"),
        ({"unit": "line", "keep": "longest"}, "must be 'first' for unit='line'"),
        ({"normalize": "ccnet"}, "for unit='document', one of"),
        ({"unit": "line", "normalize": "upper"}, "for unit='line', one of 'space'"),
        ({"unit": "line", "min_remaining_chars": -1}, "min_remaining_chars=-1"),
    ],
)
def test_wrong_units_are_named(wrong, says) -> None:
    """One sentence that says what there is."""
    with pytest.raises(PlanError, match=says):
        Exact(**wrong)


def test_a_document_too_long_to_count_is_named(dataset, monkeypatch, tmp_path) -> None:
    """Places in a document are 32 bits; a longer one is told with what to do."""
    monkeypatch.setattr(passes, "MAX_DOC_BYTES", 10)
    with pytest.raises(DataprepError, match="document 0:10 has 12 bytes; .*split it"):
        Exact(unit="line").fit(dataset(["short", "twelve bytes"]), Serial(), str(tmp_path))


@pytest.mark.parametrize("unit", ["line", "span3"])
def test_an_interrupted_fit_goes_on(tmp_path, unit) -> None:
    """Stopped in any pass and gone on with, a pipeline seals the bytes of an uninterrupted one."""
    texts = [f"Line {i % 7}.\nline {i % 3}. And so on.\n\nOnly {i}." for i in range(60)]
    docs, pipeline = laws.dataset_of(tmp_path, texts, parts=4), Pipeline(Exact(unit=unit))
    pipeline.run(docs, out=str(tmp_path / "whole"))
    for stopped in ("Exact: hash", "Exact: match", "Exact: cut"):
        with pytest.raises(KeyboardInterrupt):
            pipeline.run(docs, out=str(tmp_path / "torn"), runner=laws.Stops(at=stopped))
    sealed = pipeline.run(docs, out=str(tmp_path / "torn"))
    laws.same_bytes(tmp_path / "whole", tmp_path / "torn")
    assert sealed.manifest.fits[0]["duplicates"] > 30
