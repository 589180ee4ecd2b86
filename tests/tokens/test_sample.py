from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import laws
from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset
from dataprep.errors import PlanError
from dataprep.tokens import sample as module
from dataprep.tokens import split
from dataprep.tokens.sample import AT_LEAST, BINS, DOC_BYTES, Sample, SampleTask, Strata, heads
from dataprep.tokens.split import Split

ALL = {"split": Split(val=0.0)}
HALF = Split(val=0.5)


def corpus(folder, per_language, parts=4):
    """Documents of 100 bytes: languages by their counts, in an order that mixes them, of two sources."""
    languages = np.repeat(list(per_language), list(per_language.values()))
    np.random.default_rng(0).shuffle(languages)
    rows = [{"text": f"{i:07} " + "x" * 92, "language": str(x)} for i, x in enumerate(languages)]
    return laws.dataset_of(folder, rows, parts=parts, rows_per_batch=500, strings=("language",))


def texts_of(drawn):
    """The texts of a sample, in order."""
    return [text for batch in drawn.batches() for text in batch.column("text").to_pylist()]


def pick(plan, batches):
    """The texts that one part of these batches gives."""
    count = SampleTask(plan, ("id", "text", "source"))
    total = Strata(merge_sources=True)
    total.add(count.count(batches))
    task = SampleTask(plan, ("id", "text", "source"), plan.limits(total.sums))
    stream = task.pick(batches)
    return pa.ipc.open_stream(stream).read_all()["text"].to_pylist() if stream else []


def test_sample_is_the_share_of_the_training_side():
    """A tenth of the bytes of 20,000 documents' training half, to one bin in 4,096; nothing that is held out."""
    batch = laws.batch_of([f"{i:05}" for i in range(20_000)])
    picked = pick(Sample(share=0.1, split=HALF), [batch])
    training = (split.side_of(B.ids(batch), 0.5) == 0).sum()
    assert 0.1 - 2 / BINS < len(picked) / training <= 0.1
    assert not split.side_of(np.array(picked, np.uint64), 0.5).any()
    held = pick(Sample(share=0.1, split=HALF, held_out=True), [batch])
    assert split.side_of(np.array(held, np.uint64), 0.5).all()


@given(st.lists(st.text("ab", max_size=9), max_size=40), st.integers(1, 60), st.lists(st.integers(1, 9), min_size=1))
def test_sample_takes_the_smallest_hashes(rows, max_bytes, sizes):
    """Within its budget a stratum gives the documents of the smallest hashes, one at least, whatever the batches."""
    batch = laws.batch_of(rows)
    bins = split.sample_rank(B.ids(batch), 0) >> np.uint64(52)
    kept, used, budget = [], 0, min(max_bytes, sum(map(len, rows)))
    for bin_ in np.unique(bins):
        new = np.flatnonzero(bins == bin_).tolist()
        used += sum(len(rows[i]) for i in new)
        if used > budget and any(rows[i] for i in kept):
            break
        kept += new
    picked = pick(Sample(max_bytes=max_bytes, **ALL), laws.cuts(batch, sizes))
    assert [r for r in picked if r] == [rows[i] for i in sorted(kept) if rows[i]]


def test_every_language_has_its_share(tmp_path):
    """Three languages of very unequal size: each gives its share, to a document; the bytes are told by stratum."""
    docs = corpus(tmp_path, {"en": 8_000, "ar": 900, "hi": 100})
    drawn = Sample(share=0.1, **ALL).draw(docs)
    assert {language for _, language in drawn.there} == {"en", "ar", "hi"}
    for language, n in (("en", 8_000), ("ar", 900), ("hi", 100)):
        there = sum(size for (_, x), size in drawn.there.items() if x == language)
        taken = sum(size for (_, x), size in drawn.taken.items() if x == language)
        assert there == 100 * n
        assert taken / there == pytest.approx(0.1, abs=0.03 if language == "hi" else 0.002)
    assert sum(map(len, texts_of(drawn))) == sum(drawn.taken.values())


def test_groups_stay_on_their_side(tmp_path):
    """With a split by a column, no value of it is both in the sample and among what is held out."""
    rows = [{"text": f"host{i % 40}", "host": f"host{i % 40}"} for i in range(400)]
    docs, by_host = laws.dataset_of(tmp_path, rows, strings=("host",)), Split(val=0.2, test=0.2, group="host")
    seen, held = (set(texts_of(Sample(split=by_host, held_out=h).draw(docs))) for h in (False, True))
    assert seen | held == {f"host{i}" for i in range(40)}
    assert not seen & held
    assert len(seen) > len(held) > 5
    with pytest.raises(PlanError, match="group='person' must be a column of the documents: id"):
        Sample(split=Split(group="person")).draw(docs)


def test_a_small_language_has_a_voice(tmp_path):
    """Ten documents among nine thousand: at one in a hundred, one of them at least; the floor is some kilobytes."""
    drawn = Sample(share=0.01, **ALL).draw(corpus(tmp_path, {"en": 9_000, "hi": 10}))
    taken = sum(size for (_, x), size in drawn.taken.items() if x == "hi")
    assert 100 <= taken <= min(AT_LEAST, 1_000)


def test_same_sample_from_any_workers(tmp_path):
    """Two processes and one, other parts: the same texts in the same order."""
    docs = corpus(tmp_path, {"en": 900, "ar": 100})
    plan = Sample(share=0.2, split=Split(val=0.05))
    assert texts_of(plan.draw(docs, laws.TWO)) == texts_of(plan.draw(docs))
    other = corpus(tmp_path, {"en": 900, "ar": 100}, parts=2)
    assert sorted(texts_of(plan.draw(other))) != [] == [x for x in texts_of(plan.draw(docs)) if "x" not in x]


def test_weights_are_the_proportions_by_source(tmp_path):
    """One source asked for three times as often as the other, which is as large: so are the bytes; languages follow."""
    docs = corpus(tmp_path, {"en": 8_000, "ar": 2_000})
    drawn = Sample(share=0.2, weights=(("one", 3), ("two", 1)), **ALL).draw(docs)
    by_source = {s: sum(n for (x, _), n in drawn.taken.items() if x == s) for s in ("one", "two")}
    assert by_source["one"] / by_source["two"] == pytest.approx(3, rel=0.02)
    assert sum(by_source.values()) == pytest.approx(0.2 * 1e6, rel=0.02)
    assert drawn.taken["one", "ar"] / by_source["one"] == pytest.approx(0.2, abs=0.03)
    without = Sample(share=0.2, weights=(("one", 1), ("two", 0)), **ALL).draw(docs)
    assert {source for source, _ in without.taken} == {"one"}


def test_weights_are_met_by_less_where_more_was_not_asked_for(tmp_path):
    """Below min_bytes the sample grows only as far as the weights allow: 9 to 1 of two halves is 5/9 of all."""
    docs = corpus(tmp_path, {"en": 4_000})
    drawn = Sample(share=0.01, min_bytes=1 << 30, weights=(("one", 9), ("two", 1)), **ALL).draw(docs)
    assert sum(drawn.taken.values()) / sum(drawn.there.values()) == pytest.approx(5 / 9, rel=0.02)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ({"one": 1}, "no entry for the source 'two'; give each source a weight, 0 to leave it out: one, two"),
        ({"one": 1, "two": 1, "tow": 1}, "'tow', which is not a source"),
        ({"one": 9, "two": 1}, r"weights need 360,000 bytes of 'one', which has only 200,000; .* sample=0.56"),
        ({"one": -1, "two": 1}, "weights=.* has one: -1"),
        ({"one": 0, "two": 0}, "no source above 0"),
    ],
)
def test_weights_that_cannot_be_met_are_refused(tmp_path, weights, sentence):
    """What is missing, unknown, negative or more than there is: one sentence."""
    with pytest.raises(PlanError, match=sentence):
        Sample(weights=tuple(weights.items()), **ALL).draw(corpus(tmp_path, {"en": 4_000}))


def test_an_error_that_lists_sources_shows_that_there_are_more():
    """Of 21 sources without a weight the error names twenty."""
    sums = {(f"s{i:02}", ""): np.ones(module.BINS, np.int64) for i in range(21)}
    with pytest.raises(PlanError, match=r"s18, s19 \.\.\.$"):
        Sample(weights=(("s00", 1),), **ALL).limits(sums)


def test_too_many_sources_are_not_told_apart(tmp_path, monkeypatch):
    """Past the limit only languages are strata (sources, where these have weights), and the share is still right."""
    monkeypatch.setattr(module, "MAX_STRATA", 2)
    docs = corpus(tmp_path, {"en": 3_000, "ar": 1_000})
    drawn = Sample(share=0.1, **ALL).draw(docs)
    assert set(drawn.there) == {("", "en"), ("", "ar")}
    assert sum(map(len, texts_of(drawn))) == sum(drawn.taken.values()) == pytest.approx(40_000, rel=0.02)
    weighted = Sample(share=0.1, weights=(("one", 1), ("two", 1)), **ALL).draw(docs)
    assert set(weighted.there) == {("one", ""), ("two", "")}
    assert sum(map(len, texts_of(weighted))) == sum(weighted.taken.values())


def test_one_huge_document_is_not_the_sample():
    """Of a document over a megabyte the first megabyte is taken, whole characters."""
    batch = laws.batch_of(["雨" * DOC_BYTES])
    assert pick(Sample(**ALL), [batch]) == ["雨" * (DOC_BYTES // 3)]
    assert heads(batch.column("text").slice(1)).to_pylist() == []


def test_nothing_to_sample():
    """No documents: no strata, no texts."""
    drawn = Sample(**ALL).draw(Dataset(()))
    assert (drawn.there, drawn.taken, texts_of(drawn)) == ({}, {}, [])
