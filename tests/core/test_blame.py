"""A function of the user that raises names the document, its file and the head of its text, and keeps the cause."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import dataclass
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep import extend
from dataprep.core.model import batch as B
from dataprep.core.model.blame import LastRead, _file_of, culprit, failed, guarded, located, raised, wrong_value
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.core.run.runner import Serial
from dataprep.errors import FunctionFailed, PlanError, ReadError, Transient, portable
from dataprep.store import files
from laws import batch_of, dataset_of

BAD = "bad\x1b[31m text\nof \u202e a document"
TEXTS = [f"document {i} of several words" for i in range(10)]
TEXTS[7] = BAD


class Odd(Exception):
    """An error whose pickle cannot be loaded: its class takes two arguments and states one."""

    def __init__(self, one, two):
        super().__init__(one)


def fails(text):
    """Fails at one document."""
    if text.startswith("bad"):
        msg = "no\x1b good\nat all"
        raise ValueError(msg)
    return text


def keeps(text):
    """Fails at one document, as a filter."""
    return fails(text) is not None


@dataclass(frozen=True, kw_only=True)
class Failing(extend.Stage):
    """A stage of the user that fails somewhere in a batch."""

    def __call__(self, batches, stats):
        """The same batches."""
        for batch in batches:
            for text in batch.column("text").to_pylist():
                fails(text)
            yield batch


@dataclass(frozen=True)
class FailingFit(extend.Estimator):
    """An Estimator of the user that fails while it reads."""

    def fit(self, docs, runner, out):
        """Read until the bad document."""
        for batch in docs.batches():
            for text in batch.column("text").to_pylist():
                fails(text)


def embed(texts):
    """Vectors of the lengths of texts."""
    return [[len(fails(text)), 1.0] for text in texts]


STAGES = {
    "filter": (dp.Filter(keeps, version="1"), "Filter(keeps)", "1:7"),
    "map": (dp.Map(fails, version="1"), "Map(fails)", "1:7"),
    "stage": (Failing(), "Failing", "1:7"),
    "estimator": (FailingFit(), "FailingFit.fit", "1:5 to 1:7"),
    "embed": (dp.SemDeDup(embed=embed, version="1", clusters=1), "embed=embed", "1:7"),
}


@pytest.mark.parametrize("sealed", [False, True], ids=["read", "sealed"])
@pytest.mark.parametrize("name", STAGES)
def test_the_document_is_named(tmp_path, name, sealed):
    """Id, file and head of the text, in one sentence without control characters; the error itself is the cause."""
    docs = dataset_of(tmp_path, TEXTS)
    file = docs.parts[0].slices[0].url
    if sealed:
        docs = dp.Pipeline().run(docs, str(tmp_path / "first"))
    stage, spelled, document = STAGES[name]
    if sealed and name == "estimator":
        document = "1:5 to 1:9"
    with pytest.raises(FunctionFailed) as e:
        dp.Pipeline(stage).run(docs, str(tmp_path / "out"))
    said = str(e.value)
    assert said.startswith(f"{spelled} raised ValueError: no\N{REPLACEMENT CHARACTER} good at all (")
    where = f"test_blame.py, line {fails.__code__.co_firstlineno + 4}) for "
    assert f"{where}{'documents' if name == 'estimator' else 'document'} {document} of {file} (" in said
    assert said.endswith("); correct it and run again; finished work is kept")
    assert not set(said) & set("\x1b\n\u202e")
    assert isinstance(e.value.__cause__, ValueError)
    if name != "estimator":
        assert r"bad\x1b[31m text of \u202e a document" in said


@pytest.mark.parametrize("name", ["filter", "stage"])
def test_workers_name_it_too(tmp_path, name):
    """The same sentence with workers, and the cause travels."""
    docs = dataset_of(tmp_path, TEXTS, parts=2)
    said = []
    for number, runner in enumerate((Serial(), laws.TWO)):
        with pytest.raises(FunctionFailed) as e:
            dp.Pipeline(STAGES[name][0]).run(docs, str(tmp_path / f"out{number}"), runner)
        said.append(str(e.value))
        assert isinstance(e.value.__cause__, ValueError)
    assert said[0] == said[1]


def test_errors_of_earlier_stages_and_of_dataprep_pass(tmp_path):
    """A stage is not blamed for what it reads; network trouble stays network trouble, for a Runner to try again."""
    docs = dataset_of(tmp_path, TEXTS)
    with pytest.raises(FunctionFailed, match=r"^Map\(fails\)"):
        dp.Pipeline(dp.Map(fails, version="1"), _Passes()).run(docs, str(tmp_path / "a"))

    def away(text):
        msg = "the network is away"
        raise Transient(msg)

    with pytest.raises(Transient, match="the network is away"):
        list(docs.then(dp.Map(away, version="1")).batches())


def test_a_stage_that_fails_once_names_its_batch(tmp_path):
    """What does not fail again is named by the batch: its first document."""
    with pytest.raises(FunctionFailed, match=r"Once, at or after its last batch, raised ValueError: once .* 0:3 of"):
        dp.Pipeline(Once([])).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))


@dataclass(frozen=True)
class _Passes(extend.Stage):
    def __call__(self, batches, stats):
        """The same batches."""
        yield from batches


@dataclass(frozen=True)
class Once(extend.Stage):
    """Fails at its second batch, once."""

    seen: list

    def __call__(self, batches, stats):
        """The same batches."""
        for batch in batches:
            self.seen.append(1)
            if len(self.seen) == 2:
                msg = "once"
                raise ValueError(msg)
            yield batch


def test_an_error_that_cannot_be_sent_is_not_a_dead_worker():
    """A class whose pickle cannot be loaded arrives as its text, instead of as "a worker was killed"."""
    assert str(portable(Odd("a", "b"))) == "Odd: a"
    kept = ReadError("is empty", "file", 3)
    assert portable(kept) is kept

    def raises(n):
        raise Odd(*"ab")

    here = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(here)
    try:
        with pytest.raises(RuntimeError, match="Odd: a"):
            list(laws.TWO.map(raises, [1, 2]))
    finally:
        cloudpickle.unregister_pickle_by_value(here)


def test_a_joined_dataset_names_the_input_file(tmp_path):
    """The second of two Datasets: its file numbers are shifted, and the file is the right one all the same."""
    made = []
    for name in "ab":
        (tmp_path / name).mkdir()
        file = tmp_path / name / f"{name}.jsonl"
        file.write_text("".join(json.dumps({"text": f"{name} {i}"}) + "\n" for i in range(3)))
        made.append(dp.Pipeline().run(dp.read(str(file)), str(tmp_path / f"{name}-clean")).url)

    def fails_at_b(text):
        if text == "b 1":
            raise KeyError(text)
        return text

    with pytest.raises(FunctionFailed, match=r"KeyError: 'b 1' .* for document 1:\d+ of .*/b/b\.jsonl \('b 1'\)"):
        dp.Pipeline(dp.Map(fails_at_b, version="1")).run(dp.read(made), str(tmp_path / "out"))


def batch(n):
    """A batch of n rows, of which row k has the text k."""
    return batch_of([str(k) for k in range(n)])


@settings(max_examples=30)
@given(st.integers(0, 20), st.sets(st.integers(0, 19)))
def test_the_first_row_that_fails_is_found(n, bad):
    """Whichever rows fail; none, if none fails alone."""

    def work(batch):
        if bad & set(map(int, batch.column("text").to_pylist())):
            raise ValueError

    bad = {k for k in bad if k < n}
    assert culprit(batch(n), work) == (min(bad) if bad else 0 if n == 1 else None)


def test_rows_that_fail_only_together_are_not_blamed():
    """Nor is one for an error that passes, such as that of the network."""

    def work(batch):
        if batch.num_rows > 1:
            raise ValueError

    assert culprit(batch(8), work) is None
    for error in (Transient("away"), ConnectionError(), TimeoutError(), PlanError("no")):
        assert culprit(batch(2), lambda _, e=error: (_ for _ in ()).throw(e)) is None


class Mute(Exception):
    """An error without a message: to ask for it fails."""

    def __str__(self):
        msg = "no message"
        raise RuntimeError(msg)


def test_an_error_that_cannot_state_its_message_is_named(tmp_path):
    """By its class, as every other, in this process and from a worker."""

    def mute(text):
        raise Mute

    class Local(Mute):
        pass

    assert str(portable(Local())).endswith("Local: ")
    docs = laws.dataset_of(tmp_path, ["a", "b"], parts=2)
    for runner in (None, laws.TWO):
        with pytest.raises(FunctionFailed, match=r"Filter\(mute\) raised Mute \(.* for document 0:0 of "):
            dp.Pipeline(dp.Filter(mute)).run(docs, str(tmp_path / "out"), runner)


def test_an_error_is_told_with_its_place():
    """The last line of the user's file; without text or place, what there is."""
    try:
        fails("bad")
    except ValueError as e:
        says = raised("f", e)
    line = fails.__code__.co_firstlineno + 4
    assert says == f"f raised ValueError: no\x1b good at all ({__file__}, line {line})"
    assert raised("f", KeyError()) == "f raised KeyError"
    assert raised("f", ValueError("a \n b" * 99)) == "f raised ValueError: " + " ".join(("a \n b" * 99).split())[:200]
    rows = batch_of(["x", "  a\t b" + "c" * 400])
    assert (wrong_value("w", rows, 1).document, wrong_value("w", rows, 1).head) == ("0:1", "a b" + "c" * 57)
    assert wrong_value("w", rows.select(["source"]), 1).document is None
    assert wrong_value("w", rows.select(["id"]), 1).head == ""
    assert failed("f", KeyError(), batch(0)).document is failed("f", KeyError()).document is None
    assert failed("f", KeyError(), rows).document == "0:0"


@dataclass(frozen=True)
class Yields(extend.Stage):
    """Yields what it is told."""

    what: str

    adds = {"more": pa.string()}  # noqa: RUF012

    def __call__(self, batches, stats):
        """Other things than batches, or batches with other columns."""
        for one in batches:
            whole = B.with_column(one, "more", pa.nulls(one.num_rows, pa.string()))
            yield {"whole": whole, "rows": one.to_pylist(), "fewer": one, "less": whole.drop_columns(["meta"]),
                   "more": B.with_column(whole, "extra", pa.nulls(one.num_rows))}[self.what]  # fmt: skip


@pytest.mark.parametrize(
    ("what", "says"),
    [("rows", "Yields yielded list; a Stage must yield batches (pyarrow.RecordBatch)"),
     ("fewer", "Yields returned a batch without the column 'more'; return all columns, and those in `adds`"),
     ("less", "Yields returned a batch without the column 'meta'; return all columns, and those in `adds`"),
     ("more", "Yields added the column 'extra', which it does not declare; list it in `adds` with its type")],
)  # fmt: skip
def test_columns_that_were_not_declared(what, says):
    """Each is one sentence; a batch with just these columns passes."""
    stage = guarded(Yields("whole"))
    assert [len(out.schema.names) for out in stage(iter([batch(2)]), Ledger("s"))] == [5]
    with pytest.raises(PlanError) as e:
        list(guarded(Yields(what))(iter([batch(2)]), Ledger("s")))
    assert str(e.value) == says
    ours = dp.Exact(annotate=True)
    assert guarded(ours) is ours


LISTED = {"source": "s", "reader": 0, "size": 1, "fingerprint": "f"}


def test_the_file_of_a_document_is_that_of_its_number(tmp_path):
    """Of shards it is looked up where they were made; hidden names are those of shards."""
    pieces = [Slice(f"{n}.txt", n) for n in range(3)]
    assert [_file_of(pieces, n << 40 | 5) for n in range(4)] == ["0.txt", "1.txt", "2.txt", None]
    files.write_json(str(tmp_path / "a" / "origin.json"), {"files": [LISTED | {"url": "x.txt", "file": 1}]})
    shards = [Slice(f"{tmp_path}/{name}/data/part-00000-000.parquet", n) for name, n in (("hidden", 0), ("a", 4))]
    assert [_file_of(shards, n << 40) for n in (5, 0)] == ["x.txt", shards[0].url]
    for error in (FunctionFailed("f", "2:7", "t"), FunctionFailed("f", "2:7", "t", "known"), FunctionFailed("f")):
        with pytest.raises(FunctionFailed) as e, located(pieces):
            raise error
        assert e.value.file == (error.file or ("2.txt" if error.document else None))


@dataclass(frozen=True)
class FailsAtOnce(extend.Estimator):
    """Reads nothing, or an empty batch, before it fails."""

    def fit(self, docs, runner, out):
        """Fail."""
        raise KeyError(out)


def test_an_estimator_that_reads_nothing_names_no_document(tmp_path):
    """There is none to name."""
    with pytest.raises(FunctionFailed, match=r"^FailsAtOnce.fit raised KeyError: .* \(.*test_blame.py, line ") as e:
        dp.Pipeline(FailsAtOnce()).run(dataset_of(tmp_path, TEXTS[:1]), str(tmp_path / "out"))
    assert (e.value.document, e.value.file) == (None, None)


def loud(text):
    """The text in capital letters."""
    return text.upper()


@dataclass(frozen=True)
class FailsAfterAnother(extend.Estimator):
    """Reads a document of its input, one that a stage changed, and then another Dataset, before it fails."""

    other: Any

    def fit(self, docs, runner, out):
        """Fail."""
        held = next(docs.then(dp.Map(loud)).batches())
        both = [held, next(self.other.batches())]
        raise KeyError(len(both))


def test_only_what_is_read_of_the_input_is_named(tmp_path):
    """Not what was read of another Dataset since; a copy for another process knows of nothing."""
    (tmp_path / "other").mkdir()
    other = dataset_of(tmp_path / "other", ["not of the input"])
    docs = dataset_of(tmp_path, ["of the input"], parts=1)
    with pytest.raises(FunctionFailed) as e:
        dp.Pipeline(FailsAfterAnother(other)).run(docs, str(tmp_path / "out"))
    assert (e.value.document, e.value.head) == ("0:0", "OF THE INPUT")
    last, rows = LastRead(), batch(1)
    assert last.noted(rows) is last.batch is rows
    assert pickle.loads(pickle.dumps(last)).batch is None
