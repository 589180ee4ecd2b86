"""Samples of trials: how much of the input they are, and what memory the whole would take."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
import laws
from dataprep.core.model.batch import text_bytes
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.part import Part
from dataprep.core.model.reader import Slice
from dataprep.core.run.context import Context, context_of, reserve, sees_all, trial_of
from dataprep.core.run.runner import WORKER_BYTES
from dataprep.core.run.trial import Reserved, Sampled, Trial, _most_text, _read_share
from dataprep.errors import FunctionFailed, PlanError
from dataprep.store import hashes


def estimated(docs, sample_bytes, out="/nowhere"):
    """What a trial notes of an input."""
    trial = Trial(out, sample_bytes)
    trial.sample(docs)
    return trial.inputs[0]


@pytest.mark.parametrize("sample_bytes", [2_000, 10_000, 10**6])
@pytest.mark.parametrize("parts", [1, 2])
def test_the_text_of_the_input_is_estimated(tmp_path, sample_bytes, parts) -> None:
    """From the share of the input that was read; all of it, if it is small."""
    docs = laws.dataset_of(tmp_path, ["x" * 100] * 200, parts=parts)
    found = estimated(docs, sample_bytes)
    assert found.stored == docs.n_bytes == 200
    assert found.text == pytest.approx(20_000, rel=0.1)
    assert min(sample_bytes, 20_000) <= found.sample <= sample_bytes + parts * 300


@pytest.mark.parametrize("suffix", ["txt", "jsonl"])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_documents_larger_than_the_sample_are_measured(tmp_path, suffix, n) -> None:
    """Whole books, alone in their files or one after another."""
    for number in range(n):
        book = "words " * 100_000
        lines = book if suffix == "txt" else f'{{"text": "{book}"}}\n' * n
        (tmp_path / f"{number}.{suffix}").write_text(lines)
    docs = dp.read(str(tmp_path))
    assert estimated(docs, 1_000).text == pytest.approx(sum(map(text_bytes, docs.batches())), rel=0.01)


def test_small_inputs_are_read_completely(tmp_path) -> None:
    """Of many small files, compressed or not, everything; of many large ones, beginnings of some."""
    for number in range(20):
        lines = "\n".join(json.dumps({"text": f"{'t' * 50} {number} {k}"}) for k in range(10 * number + 1))
        (tmp_path / f"{number}.jsonl").write_text(lines)
        if number % 2:
            (tmp_path / f"{number}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    docs = dp.read(str(tmp_path))
    trial = Trial("/nowhere", 1 << 20)
    assert trial.sample(docs).count == docs.count
    assert trial.share == 1.0
    assert sees_all(Context(dp.tools.Serial(), trial))
    assert trial.inputs[0].text == trial.inputs[0].sample == sum(map(text_bytes, docs.batches()))
    trial = Trial("/nowhere", 20_000)
    assert trial.sample(docs).count < docs.count
    assert trial.share < 1
    assert not sees_all(Context(dp.tools.Serial(), trial))


@pytest.mark.parametrize(("n", "share"), [(1, 0.03), (10, 0.12), (39, 0.39), (40, 0.42), (60, 0.60), (90, 0.90)])
def test_slices_before_the_last_one_count(tmp_path, n, share) -> None:
    """A part of three files, of which the sample reads some."""
    rows = Part((), laws.Rows())
    url = laws.dataset_of(tmp_path, ["x" * 10] * 100, parts=1).parts[0].slices[0].url
    edges = ((0, 0, 39), (1, 39, 60), (2, 60, 100))
    slices = tuple(Slice(url, file, start, stop, "s", n_bytes=stop - start) for file, start, stop in edges)
    found = estimated(Dataset((replace(rows, slices=slices),)), 10 * n)
    assert found.sample == pytest.approx(1_000 * share, abs=1)
    assert found.text == pytest.approx(1_000, rel=0.5 if n == 1 else 0.12)


def test_a_sealed_input_is_measured_by_its_rows(tmp_path) -> None:
    """Its ids are those of its own input."""
    done = dp.Pipeline().run(laws.dataset_of(tmp_path, ["x" * 100] * 50, parts=2), str(tmp_path / "in"))
    assert estimated(done, 10**6).text == pytest.approx(5_000)
    assert estimated(done, 2_000).text == pytest.approx(5_000)


def test_a_sample_is_no_more_than_a_sample(tmp_path) -> None:
    """What the trial itself wrote is read whole; a sample is not hashed whole for its key."""
    docs = laws.dataset_of(tmp_path, ["x" * 100] * 100, parts=2)
    trial = Trial(str(tmp_path / "out"), 1_000)
    sample = trial.sample(docs)
    assert sample.count == 12
    ends = hashes.ends(docs.parts[0].slices[0].url)
    assert [piece.fingerprint for part in sample.parts for piece in part.slices] == [ends] * 2
    known = docs.of(replace(part, slices=(replace(part.slices[0], fingerprint="f"),)) for part in docs.parts)
    assert [part.slices[0].fingerprint for part in trial.sample(known).parts] == ["f"] * 2
    inner = Trial(str(tmp_path), 1_000)
    assert inner.sample(docs) is docs
    assert inner.inputs == []
    mixed = docs.of([docs.parts[0], replace(docs.parts[1], slices=(Slice(__file__, 0, n_bytes=1),))])
    with pytest.raises(FunctionFailed, match="Rows raised JSONDecodeError"):
        inner.sample(mixed)  # reads the other file, which is not of rows
    assert len(trial.inputs) == 2


def test_a_context_is_the_runner_that_it_has() -> None:
    """Any Runner gets one, which states its trial; one that is given stays as it is, and all of it reads the input."""
    runner, trial = dp.tools.Serial(memory="1GB"), Trial("/nowhere", 1)
    given = Context(runner, trial)
    assert list(given.map(str, [1, 2])) == ["1", "2"]
    assert (given.workers, given.memory, repr(given)) == (1, "1GB", repr(runner))
    assert context_of(given) is given
    assert context_of(runner) == Context(runner)
    assert context_of(None) == Context(dp.tools.Serial())
    assert [trial_of(run) for run in (given, runner, context_of(runner))] == [trial, None, None]
    assert [sees_all(run) for run in (given, runner, context_of(runner))] == [False, True, True]
    with pytest.raises(PlanError, match="runner=3 must be a Runner"):
        context_of(3)


def test_only_a_run_that_is_told_so_is_a_trial(tmp_path) -> None:
    """A pipeline beside one that is tried reads its whole input, also in the same process."""
    docs = laws.dataset_of(tmp_path, ["x" * 100] * 100, parts=2)
    tried = Context(dp.tools.Serial(), Trial(str(tmp_path / "trial"), 1_000))
    assert dp.Pipeline().run(docs, str(tmp_path / "trial" / "out"), tried).count == 12
    assert dp.Pipeline().run(docs, str(tmp_path / "out"), dp.tools.Serial()).count == 100


def test_memory_is_planned_for_the_whole_input() -> None:
    """In a trial it is noted, and grows with the input if it does; else it must fit."""
    trial = Trial("/nowhere", 1, inputs=[Sampled(9, 100.0, 25)])
    tried = Context(dp.tools.Serial(memory="1GB"), trial)
    reserve(tried, 100, "letters", "use fewer")
    reserve(tried, 10**12, "words", "use none", grows=False)
    assert trial.reserved == [Reserved(400, "letters", "use fewer"), Reserved(10**12, "words", "use none")]
    limit = WORKER_BYTES + 1_000
    reserve(dp.tools.Serial(memory=limit), 1_000, "letters", "use fewer")
    with pytest.raises(PlanError, match=r"^letters takes 1\.0 kB of memory in one process.*; use fewer$"):
        reserve(dp.tools.Serial(memory=limit), 1_001, "letters", "use fewer")


@pytest.mark.parametrize(("rows", "read", "share"), [(1, 1, 1.0), (2, 1, 0.5), (0, 0, 0.0), (2, 9, 1.0)])
def test_small_tables_are_measured_by_rows(tmp_path, rows, read, share) -> None:
    """Of none, nothing was read."""
    pq.write_table(pa.table({"text": ["x"] * rows}), tmp_path / "a.parquet")
    assert _read_share(Slice(str(tmp_path / "a.parquet"), 0), 0, read) == share


PACKED = [("a.txt", 1), ("a.zip", 20), ("a.parquet", 20), ("a.jsonl.gz", 20), ("a", 1)]


@pytest.mark.parametrize(("name", "times"), PACKED)
def test_packed_files_may_hold_more_text(name, times) -> None:
    """Twenty times their size, at most; a part adds up its files."""
    slices = (Slice(name, 0, n_bytes=3), Slice("b.txt", 1, n_bytes=4))
    assert _most_text(Part(slices, laws.Rows())) == 3 * times + 4
