"""Bloom: what is removed against a set in the filter's place, its rates as measured, its file as pybloom_live's."""

from __future__ import annotations

import logging
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import twins.bloom
import twins.hyperloglog
from dataprep.core.model import batch as B
from dataprep.core.pipeline import Pipeline
from dataprep.core.run.runner import WORKER_BYTES, Serial
from dataprep.dedup import bloom
from dataprep.dedup.bloom import Bloom, bloom_hashes
from dataprep.dedup.membership import hyperloglog
from dataprep.dedup.membership.bloom_filter import BloomFilter, FilterSize, contains
from dataprep.dedup.membership.keys import SetBits, document_keys
from dataprep.errors import DataprepError, PlanError
from dataprep.store.ranks import mix

SURE = 1e-9  # a filter that errs so seldom is a set
WORDS = ["a b c", "A b  c", "a b c d", "b c d é", "!!!", "٣ x Σας", "c d e a b", "a, b. c\r"]
LINES = st.sampled_from(["", "", " ", *WORDS])
TEXTS = st.lists(st.one_of(st.lists(LINES, max_size=6).map("\n".join), st.text(max_size=6)), max_size=14)


@pytest.fixture(scope="session")
def fitted(dataset):
    """The verdicts of a fit on texts, and what it counted."""

    def fit(stage: Bloom, out: Path, texts, runner=None, **cuts):
        verdict = stage.fit(dataset(texts, **cuts), runner or Serial(), str(out))
        name = "verdicts" if stage.unit == "document" else "spans"
        files = sorted(p.name for p in Path(out).iterdir())
        assert files == sorted(["filter.bloom", f"{name}.json", f"{name}.parquet"])
        return pq.read_table(out / f"{name}.parquet"), verdict.facts

    return fit


@pytest.fixture(scope="session")
def found(fitted):
    """What a Bloom removes: documents, or (document, start, end)."""

    def find(stage: Bloom, out: Path, texts, **cuts) -> list:
        table = fitted(stage, out, texts, **cuts)[0]
        rows = [i // 10 for i in table.column("id").to_pylist()]  # ids are 0, 10, 20 ...
        assert not any(table.column("duplicate_of").to_pylist())
        if stage.unit == "document":
            return rows
        return list(zip(rows, table.column("start").to_pylist(), table.column("end").to_pylist(), strict=True))

    return find


@settings(max_examples=40)
@given(TEXTS, st.sampled_from([None, "space", "lower", "words", "c4", "ccnet"]), st.integers(1, 3), st.integers(1, 5))
def test_documents_and_paragraphs_are_their_twins(found, tmp_path_factory, texts, form, parts, cut) -> None:
    """What was seen goes, blank lines never, however the input is cut."""
    for unit, twin in (("document", twins.bloom.seen_documents), ("paragraph", twins.bloom.seen_paragraphs)):
        stage = Bloom(unit=unit, normalize=form, error_rate=SURE)
        assert found(stage, tmp_path_factory.mktemp("out"), texts, parts=parts, cut=cut) == twin(texts, form)


@settings(max_examples=60)
@given(TEXTS, st.integers(1, 4), st.sampled_from([0.1, 0.5, 0.8, 1.0]), st.integers(1, 3), st.integers(1, 5))
def test_ngrams_are_their_twin(found, tmp_path_factory, texts, n, threshold, parts, cut) -> None:
    """Lines and documents go by the share of their runs that what stayed of earlier documents had."""
    stage = Bloom(unit="ngram", ngram=n, threshold=threshold, error_rate=SURE)
    out = tmp_path_factory.mktemp("out")
    assert found(stage, out, texts, parts=parts, cut=cut) == twins.bloom.seen_ngrams(texts, n, threshold)


def test_a_document_does_not_delete_itself(found, tmp_path) -> None:
    """N-grams enter after their document was judged: one of equal lines stays, and so does its first copy only."""
    text = "\n".join(["one two three four five six seven eight nine ten eleven twelve thirteen fourteen"] * 5)
    assert found(Bloom(unit="ngram"), tmp_path / "ngram", [text, "short", text]) == [(2, 0, len(text))]
    first = text.index("\n")
    assert found(Bloom(unit="paragraph"), tmp_path / "lines", [text]) == [(0, first, len(text))]


def test_hyperloglog_registers_are_their_twin() -> None:
    """Every register is the one read off the binary digits of its keys."""
    keys = [0, 1, 2**64 - 1, 1 << 47, *mix(np.arange(3000, dtype=np.uint64), 3).tolist()]
    keys += [key & ~((1 << 48) - 1) | key >> 16 >> key % 32 for key in keys]  # long runs of zeros
    registers = hyperloglog.empty()
    hyperloglog.observe(registers, np.array(keys, np.uint64))
    assert registers.tolist() == twins.hyperloglog.observe(keys, hyperloglog.PRECISION)


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-6])
def test_hyperloglog_series_are_their_sums(x) -> None:
    """Those of Ertl (2017), term by term."""
    assert hyperloglog._sigma(x) == pytest.approx(x + sum(x ** 2**k * 2 ** (k - 1) for k in range(1, 40)))
    assert hyperloglog._tau(x) == pytest.approx((1 - x - sum((1 - x**2**-k) ** 2 * 2**-k for k in range(1, 60))) / 3)
    assert (hyperloglog._sigma(1.0), hyperloglog._tau(1.0)) == (math.inf, 0.0)


@pytest.mark.parametrize("n", [0, 1, 30, 5_000, 60_000, 200_000, 1_000_000])
def test_hyperloglog_counts_within_its_error(n) -> None:
    """Over ten sets of keys the estimate has no bias, and the spread that the paper states."""
    errors = []
    for seed in range(10):
        registers = hyperloglog.empty()
        hyperloglog.observe(registers, mix(np.arange(n, dtype=np.uint64), seed))
        half = registers.copy()
        hyperloglog.observe(half, mix(np.arange(n // 2, dtype=np.uint64), seed))
        assert (half == registers).all(), "a key counts once"
        errors.append(hyperloglog.estimate(registers) / max(1, n) - (n > 0))
    limit = hyperloglog.STANDARD_ERROR
    assert abs(np.mean(errors)) < 4 * limit / 10**0.5
    assert np.std(errors) < 2 * limit


def test_hyperloglog_counts_more_than_could_be_listed() -> None:
    """Registers as 10^12 keys leave them: each the greatest of 10^12 / 65,536 geometric numbers."""
    share = 1e12 / (1 << hyperloglog.PRECISION)
    uniform = np.random.default_rng(1).random(1 << hyperloglog.PRECISION)
    ranks = np.ceil(-np.log2(1 - uniform ** (1 / share))).clip(0, 64 - hyperloglog.PRECISION + 1)
    estimate = hyperloglog.estimate(ranks.astype(np.uint8))
    assert abs(estimate / 1e12 - 1) < 4 * hyperloglog.STANDARD_ERROR


@pytest.fixture(scope="module")
def million() -> np.ndarray:
    """The keys of two million different texts."""
    texts = pa.array(np.arange(2_000_000)).cast(pa.large_string())
    return document_keys(*B.buffers(texts), None)


@pytest.mark.parametrize("rate", [1e-4, 1e-2])
def test_false_positives_are_as_many_as_stated(million, rate) -> None:
    """A million keys at capacity: none is forgotten, and of a million new ones the stated share is taken for seen."""
    n = 1_000_000
    full = BloomFilter(FilterSize(n + 1000, rate))
    early = int(full.enter(million[:n]).sum())
    assert full.n_keys == n - early
    expected = full.size.expected_errors(full.n_keys)
    assert abs(early - expected) < 5 * max(1, expected**0.5)
    stated = full.measured_rate()
    assert stated == pytest.approx(rate, rel=0.03)
    assert full.enter(million[:n]).all(), "nothing is forgotten"
    wrong = int(contains(full.bits, million[n:], full.size.n_slices, full.size.slice_bits).sum())
    assert abs(wrong - n * stated) < 5 * (n * stated) ** 0.5


@pytest.mark.parametrize(("capacity", "rate"), [(1000, 1e-4), (1003, 1e-2), (40_000, 0.3)])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_threads_set_the_same_bits(million, capacity, rate, n) -> None:
    """No byte is changed by two of them; a slice may end inside a byte, and there may be more threads than slices."""
    one, several = (BloomFilter(FilterSize(capacity, rate)) for _ in range(2))
    keys = np.random.default_rng(n).choice(million, capacity // 2)
    with ThreadPoolExecutor(n) as threads:
        several.divide(threads, n)
        for some in np.array_split(keys, 3):
            assert (one.enter(some) == several.enter(some)).all()
    assert (one.bits == several.bits).all()
    assert one.n_keys == several.n_keys


def test_expected_errors_are_counted_over_the_run(fitted, tmp_path) -> None:
    """Of 30,000 different texts as many are taken for seen as the facts of the fit expect."""
    removed = expected = 0
    for seed in range(3):
        _, facts = fitted(Bloom(error_rate=0.1), tmp_path / str(seed), [f"{seed} {i}" for i in range(30_000)])
        removed, expected = removed + facts["dropped"], expected + facts["expected_errors"]
        assert facts["distinct"] == pytest.approx(30_000, rel=0.02)
        assert facts["measured_rate"] < 0.1
    assert abs(removed - expected) < 5 * expected**0.5


KEYS = [f"document {i} of some {i % 7} words that differ, ending here" for i in range(3000)]


@pytest.mark.parametrize(
    "stage",
    [
        Bloom(),
        Bloom(unit="paragraph"),
        Bloom(unit="paragraph", normalize="ccnet"),
        Bloom(unit="ngram", ngram=3, threshold=1),
    ],
    ids=repr,
)
def test_pybloom_live_reads_the_filter(fitted, tmp_path, stage) -> None:
    """The saved filter opens there, holds what was entered and little else, and is what pybloom_live itself fills."""
    pybloom_live = pytest.importorskip("pybloom_live")
    keys = KEYS[:400] if stage.unit == "ngram" else KEYS  # a key has nine runs
    texts = keys if stage.unit != "paragraph" else ["\n".join(keys[i : i + 5]) for i in range(0, len(keys), 5)]
    _, facts = fitted(stage, tmp_path, texts)
    with (tmp_path / "filter.bloom").open("rb") as f:
        opened = pybloom_live.BloomFilter.fromfile(f)
    assert (len(opened), opened.capacity, opened.error_rate) == (facts["entered"], facts["capacity"], 1e-4)
    opened.make_hashes = bloom_hashes(opened, stage)
    present = keys
    if stage.unit == "ngram":
        present = [" ".join(run) for key in keys for run in twins.bloom.runs_of(key, 3)]
        with pytest.raises(PlanError, match="a run of 3 words"):
            _ = "two words" in opened
    assert all(key in opened for key in present)
    assert sum(f"never {i} entered" in opened for i in range(10_000)) < 10
    theirs = pybloom_live.BloomFilter(facts["capacity"], 1e-4)
    theirs.make_hashes = opened.make_hashes
    for key in present:
        theirs.add(key)
    assert theirs.bitarray == opened.bitarray[: len(theirs.bitarray)]
    assert abs(len(theirs) - len(opened)) <= 1


@pytest.mark.parametrize("unit", ["document", "paragraph", "ngram"])
def test_sizes_are_those_of_pybloom_live(unit) -> None:
    """Slices and bits for any capacity and rate; 19.2 bits a key at 1e-4."""
    pybloom_live = pytest.importorskip("pybloom_live")
    for capacity, rate in ((1, 0.5), (1000, 1e-4), (123_457, 0.013), (10**6, 1e-9)):
        theirs, ours = pybloom_live.BloomFilter(capacity, rate), FilterSize(capacity, rate)
        assert (ours.n_slices, ours.slice_bits) == (theirs.num_slices, theirs.bits_per_slice)
        assert ours.n_bytes == theirs.bitarray.nbytes
    assert 8 * FilterSize(10**9, 1e-4).n_bytes / 10**9 == pytest.approx(19.2, abs=0.05)


def test_workers_and_cuts_do_not_change_a_byte(fitted, tmp_path) -> None:
    """One process or two, small batches or large: the same verdicts and the same filter, byte for byte."""
    texts = [f"a line that comes back\nline {i}\n{'x ' * (i % 20)}" for i in range(400)]
    for unit in ("document", "paragraph", "ngram"):
        stage = Bloom(unit=unit, ngram=3)
        fitted(stage, tmp_path / unit / "one", texts, parts=4, cut=7)
        fitted(stage, tmp_path / unit / "two", texts, parts=4, cut=100)
        fitted(stage, tmp_path / unit / "local", texts, parts=4, cut=7, runner=laws.TWO)
        laws.same_bytes(tmp_path / unit / "one", tmp_path / unit / "local")
        for receipt in (tmp_path / unit).glob("*/*.json"):
            receipt.unlink()  # they hold the key of the input, which knows how these tests cut it
        laws.same_bytes(tmp_path / unit / "one", tmp_path / unit / "two")


@pytest.mark.parametrize(("unit", "older"), [("document", 1), ("paragraph", 0), ("paragraph", 2)])
def test_pieces_do_not_change_a_byte(dataset, tmp_path, monkeypatch, unit, older) -> None:
    """A filter that does not fit into memory, filled in pieces whose ends are inside slices: the same files."""
    texts = [f"line {i % 170}\nسطر {i}\n{'x ' * (i % 20)}" for i in range(200)]
    before = [str(tmp_path / f"old{number}") for number in range(older)]
    for number, out in enumerate(before):
        Pipeline(Bloom(unit=unit, capacity=2000)).run(dataset(texts[number : number + 40]), out)
    stage = Bloom(unit=unit, capacity=2000, against=before)
    stage.fit(dataset(texts, parts=3, cut=7), Serial(), str(tmp_path / "whole"))
    monkeypatch.setattr(bloom, "PIECE_BYTES", 701)
    monkeypatch.setattr(bloom, "MAX_PIECES", 5)
    made, plain = [], SetBits.write
    monkeypatch.setattr(SetBits, "write", lambda self, url, item: made.append(item) or plain(self, url, item))
    stage.fit(dataset(texts, parts=3, cut=7), Serial(memory=WORKER_BYTES), str(tmp_path / "pieces"))
    assert made == [0, 1, 2, 3, 4]
    laws.same_bytes(tmp_path / "whole", tmp_path / "pieces")


def test_more_keys_than_the_capacity_are_refused(fitted, dataset, tmp_path) -> None:
    """One sentence, at once or when the filter is full, and nothing is written; enough capacity is kept to."""
    texts = [f"text {i}" for i in range(3000)]
    for capacity in (1000, 2999):
        with pytest.raises(DataprepError, match="at least the number of distinct keys.* leave it out to have"):
            Bloom(capacity=capacity).fit(dataset(texts), Serial(), str(tmp_path / str(capacity)))
        assert not list((tmp_path / str(capacity)).glob("*.*"))
    with pytest.raises(DataprepError, match="distinct keys .more than that many."):
        Bloom(unit="ngram", ngram=1, capacity=100).fit(dataset(texts), Serial(), str(tmp_path / "ngram"))
    _, facts = fitted(Bloom(capacity=3000), tmp_path / "enough", texts)
    assert facts["capacity"] == 3000


def test_a_filter_over_budget_is_refused_before_any_work(dataset, tmp_path) -> None:
    """The sentence states the filter's size, and what needs none."""
    with pytest.raises(PlanError, match=r"takes 2\.4 GB .* Exact\(unit=\"paragraph\"\) needs no filter"):
        Bloom(unit="ngram", capacity=10**9).fit(dataset(["a"]), Serial(memory="1GB"), str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_plan_states_the_filter_of_the_whole_input(tmp_path) -> None:
    """From a sample of an eighth: the filter's bytes within a twentieth, for a capacity that is given exactly."""
    from dataprep.history.trials import estimate
    from dataprep.pipeline_file import Step
    from dataprep.read import read

    words = [f"w{i:04}" for i in range(3000)]
    lines = [f'{{"text": "{i} {" ".join(words[i % 2900 : i % 2900 + 100])}"}}' for i in range(12_000)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))

    def step(stage: Bloom) -> list[Step]:
        docs = read(str(tmp_path / "in.jsonl"))
        return [Step("dedup", lambda out, runner: Pipeline(stage).run(docs, out, runner), ("out", "runner"))]

    (counted,) = estimate(step(Bloom()), 1 << 20).reserved
    assert counted.n_bytes == pytest.approx(FilterSize(12_000, 1e-4).n_bytes, rel=0.05)
    assert "Bloom" in counted.what
    (given,) = estimate(step(Bloom(capacity=10**12)), 1 << 20).reserved
    assert given.n_bytes == FilterSize(10**12, 1e-4).n_bytes


def test_plan_says_what_to_do_without_a_filter(tmp_path, monkeypatch, samples) -> None:
    """A filter that does not fit is said so beside the memory, with what needs none."""
    from typer.testing import CliRunner

    from dataprep.cli import app

    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "recipe.py").write_text(f"""
import dataprep as dp

def clean(out, runner):
    docs = dp.read({str(samples / "articles.jsonl")!r})
    return dp.Pipeline(dp.Bloom(unit="ngram", capacity=10**12)).run(docs, out, runner)
""")
    said = CliRunner().invoke(app, ["plan", str(tmp_path / "recipe.py"), "--memory", "1GB"]).output
    assert "the filter of Bloom(unit='ngram'), in addition to one worker: about 2.4 TB of memory" in said
    assert "of memory, does not fit into 1.0 GB; " in said
    assert 'Exact(unit="paragraph") needs no filter' in said


@pytest.mark.parametrize("unit", ["document", "paragraph", "ngram"])
def test_odd_inputs(found, tmp_path, unit) -> None:
    """None, one document, all equal, ten thousand empty ones, and one of a megabyte."""
    stage, twin = Bloom(unit=unit, ngram=3), {"document": 1, "paragraph": 0, "ngram": 0}[unit]
    line = "the same line for everyone"
    whole = {"document": list(range(1, 50)), "paragraph": [(i, 0, 26) for i in range(1, 50)]}
    assert found(stage, tmp_path / "none", []) == []
    assert found(stage, tmp_path / "one", [line]) == []
    assert found(stage, tmp_path / "equal", [line] * 50, cut=7) == whole.get(unit, whole["paragraph"])
    assert len(found(stage, tmp_path / "empty", [""] * 10_000, cut=4_096)) == 9_999 * twin
    long = "\n".join(f"line {i} of a long document" for i in range(40_000))
    assert found(replace(stage, error_rate=SURE), tmp_path / "long", [long, line]) == []


def test_a_document_that_is_left_too_short_is_dropped(tmp_path) -> None:
    """A Pipeline cuts the lines, drops what has nothing left, says so, and keeps what was counted in the manifest."""
    texts = ["head\none", "head\ntwo", "head", "\n\n", "head\n ", "a\n\nhead\nb", "c\nhead\n\nd"]
    docs = laws.dataset_of(tmp_path, texts)
    clean = Pipeline(Bloom(unit="paragraph")).run(docs, str(tmp_path / "out"))
    assert clean.table().column("text").to_pylist() == ["head\none", "two", "\n\n", "a\n\nb", "c\n\nd"]
    drops = pq.read_table(tmp_path / "out" / "drops").to_pylist()
    assert [d["reason"] for d in drops] == ["too_short_after_cuts"] * 2
    (fit,) = clean.manifest.fits
    assert (fit["stage"], fit["keys"], fit["entered"], fit["spans"]) == ("Bloom", 12, 7, 5)


def test_a_filter_that_is_too_full_is_alarming(fitted, tmp_path, monkeypatch, caplog) -> None:
    """If the count were wrong, the measured rate would say so."""
    monkeypatch.setattr("dataprep.dedup.membership.bloom_filter.BloomFilter.measured_rate", lambda _: 2e-4)
    with caplog.at_level(logging.WARNING, "dataprep"):
        fitted(Bloom(), tmp_path, ["a", "b"])
    assert "false-positive rate is 0.0002, above error_rate=0.0001" in caplog.text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"unit": "line"}, "one of 'document', 'paragraph', 'ngram'"),
        ({"ngram": 0}, "integer of at least 1"),
        ({"threshold": 0}, "above 0 and at most 1"),
        ({"threshold": 1.2}, "above 0 and at most 1"),
        ({"error_rate": 0}, "from 1e-9 to 0.5"),
        ({"error_rate": 1}, "from 1e-9 to 0.5"),
        ({"error_rate": "low"}, "error_rate='low' must be from 1e-9 to 0.5"),
        ({"capacity": 0}, "integer of at least 1"),
        ({"capacity": 1e9}, "integer of at least 1"),
        ({"normalize": "upper"}, "None or one of 'space'"),
        ({"unit": "ngram", "normalize": "space"}, "leave it out"),
        ({"min_remaining_chars": -1}, "min_remaining_chars=-1"),
    ],
)
def test_wrong_parameters_are_named(wrong, said) -> None:
    """One sentence that says what there is."""
    with pytest.raises(PlanError, match=said):
        Bloom(**wrong)
