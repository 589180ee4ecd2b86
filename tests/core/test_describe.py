"""What manifests state about stages, and the labels that tell stages of one name apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

import dataprep as dp
from dataprep import extend
from dataprep.core.model.describe import describe, labels_of, numbered, stated
from dataprep.core.model.stage import Stage
from dataprep.core.output.changes import spelled
from laws import dataset_of


def read(text):
    """A filter that has the name of the reader in statistics."""
    return "short" if len(text) < 4 else None


@dataclass(frozen=True, kw_only=True)
class C4(Stage):
    """A class of somebody else that has the name of one of dataprep's."""

    n: int = 1
    secret: str = field(default="s3cret", repr=False)

    def __call__(self, batches, stats):
        yield from batches


def test_fields_are_stated_and_spelled():
    """Class, version, fields and promise are stated; people read the call."""
    stated = describe(dp.Exact(unit="line"))
    assert {k: stated[k] for k in ("class", "version", "only_drops")} == {
        "class": "Exact", "version": dp.Exact.VERSION, "only_drops": False,
    }  # fmt: skip
    assert stated["fields"]["unit"] == "line"
    assert spelled(stated).startswith("Exact(unit='line', ")
    assert describe(dp.Exact())["only_drops"]


def test_other_classes_are_not_taken_for_ours_and_secrets_stay_out():
    """A class outside dataprep is named with its module; fields that are not printed are not stated."""
    stated = describe(C4())
    assert stated["class"].endswith(".C4")
    assert stated["class"] != "C4"
    assert stated["fields"] == {"n": 1}
    assert describe(dp.chats.Pseudonyms(key=b"a key of enough bytes"))["fields"] == {}


@pytest.mark.parametrize(
    ("stages", "labels"),
    [
        ((dp.Exact(unit="paragraph"), dp.Exact(unit="line")), ["Exact(paragraph)", "Exact(line)"]),
        ((dp.MinHash(threshold=0.8), dp.MinHash(threshold=0.9)), ["MinHash(0.8)", "MinHash(0.9)"]),
        ((dp.Exact(), dp.C4(), dp.Exact()), ["Exact", "C4", "Exact #2"]),
        ((dp.Filter(lambda text: len(text) > 0), dp.Filter(lambda text: len(text) > 1)), ["lambda", "lambda #2"]),
        ((C4(), dp.C4()), ["C4", "C4 #2"]),
    ],
)
def test_labels_are_different(stages, labels):
    """Stages of one name are told apart by the fields in which they differ, else by number."""
    assert labels_of(stages) == labels


def test_labels_are_those_of_statistics_tables_and_steps(tmp_path):
    """Statistics, drop and cut tables, manifest and folders use the labels; a bare name finds the first."""
    docs = dataset_of(tmp_path, ["a\nb\n\nc", "a\nb\n\nd", "e\nb", "e\nb"], parts=2)
    done = dp.Pipeline(dp.Exact(), dp.Exact(unit="line", min_remaining_chars=0)).run(docs, str(tmp_path / "out"))
    assert [s.name for s in done.stats][-2:] == ["Exact(document)", "Exact(line)"]
    assert set(done.drops()["stage"].to_pylist()) == {"Exact(document)"}
    assert set(done.cuts()["stage"].to_pylist()) == {"Exact(line)"}
    assert [f["stage"] for f in done.manifest.fits] == ["Exact(document)", "Exact(line)"]
    assert [s["label"] for s in done.manifest.stages] == ["Exact(document)", "Exact(line)"]
    assert done.stats["Exact"].name == "Exact(document)"
    with pytest.raises(KeyError, match="no stage 'C4'"):
        done.stats["C4"]


def test_a_stage_called_read_has_statistics_of_its_own(tmp_path):
    """The reader's line is not added to that of a stage of the same name."""
    docs = dataset_of(tmp_path, ["abcd", "abc", "abcde"], parts=2)
    done = dp.Pipeline(dp.Filter(read), dp.Filter(read)).run(docs, str(tmp_path / "out"))
    assert [(s.name, s.docs_in, s.docs_out) for s in done.stats] == [
        ("read", 3, 3), ("read #2", 3, 2), ("read #3", 2, 2),
    ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Odd(extend.Estimator):
    """States and counts values that JSON has no form for."""

    value: object = None
    forgets: bool = False

    def fit(self, docs, runner, out):
        rows = pa.table({"id": pa.array([], pa.uint64()), "reason": pa.array([], pa.string())})
        return None if self.forgets else self.drop(docs, out, rows, mean=np.float64(0.5), stage="other")


@pytest.mark.parametrize(
    "value", [np.float64(0.5), np.int32(3), 2**70, -(2**64), "\ud800", ("a", "\ud800"), float("inf")]
)
def test_any_value_can_be_stated(tmp_path, value):
    """Fields and facts that JSON has no form for are stated as text; a fact does not replace the label."""
    done = dp.Pipeline(Odd(value=value)).run(dataset_of(tmp_path, ["a"], parts=1), str(tmp_path / "out"))
    assert done.manifest.fits == [{"mean": 0.5, "stage": "Odd"}]
    assert spelled(done.manifest.stages[0])


def test_an_estimator_without_a_result_is_named(tmp_path):
    """A `fit` that forgets to return is one sentence with the class."""
    with pytest.raises(dp.DataprepError, match="Odd.fit returned None; it must return the Stage"):
        dp.Pipeline(Odd(forgets=True)).run(dataset_of(tmp_path, ["a"], parts=1), str(tmp_path / "out"))


class Loses(dp.tools.Serial):
    """A runner that returns one result too few."""

    def map(self, task, items, label=""):
        """Yield all results but the last."""
        yield from list(super().map(task, items, label))[:-1]


def test_a_runner_that_loses_results_is_noticed(tmp_path):
    """Nothing is sealed of fewer results than parts."""
    with pytest.raises(dp.DataprepError, match="returned 1 results of 2 tasks"):
        dp.Pipeline().run(dataset_of(tmp_path, ["a", "b"], parts=2), str(tmp_path / "out"), Loses())
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_name_that_looks_like_a_label_is_not_taken_twice():
    """A stage that is called like the second of two others keeps its name, and they get others."""
    assert numbered(["a #2", "a", "a", "a"]) == ["a #2", "a", "a #3", "a #4"]


@dataclass(frozen=True)
class Merges(Stage):
    """Loses what the next one must see."""

    loses: ClassVar[dict[str, str]] = {"authors": "", "dates": "take them first"}


@dataclass(frozen=True)
class Sees(Stage):
    """Must see something."""

    what: str

    @property
    def sees(self):
        return ("names", self.what)


@pytest.mark.parametrize(
    ("before", "stages", "says"),
    [((), (Merges(), Sees("authors")), "Sees after Merges would not see all authors; put Sees before Merges"),
     ((), (Merges(), Sees("dates")), "Sees after Merges would not see all dates; take them first"),
     ((Merges(),), (Sees("dates"),), "Sees after Merges would not see all dates; take them first"),
     ((), (Sees("dates"), Merges(), Sees("places")), None), ((Merges(), Sees("authors")), (), None)],
)  # fmt: skip
def test_what_is_lost_is_not_seen_later(tmp_path, before, stages, says):
    """The first stage that loses it is named, with the way out; stages that were applied before count, too."""
    docs, out = dataset_of(tmp_path, ["a"], parts=2).then(*before), str(tmp_path / "out")
    if says is None:
        assert [step.number for step in dp.Pipeline(*stages).plan(docs, out).steps] == list(range(1, len(stages) + 1))
    else:
        with pytest.raises(dp.DataprepError) as e:
            dp.Pipeline(*stages).plan(docs, out)
        assert str(e.value) == says
    assert not (tmp_path / "out").exists()


def test_a_pipeline_is_shown_as_its_call():
    """And refuses what is no stage, or may be changed."""
    assert repr(dp.Pipeline()) == "Pipeline()"
    assert repr(dp.Pipeline(dp.Filter(read), Odd(value=3))) == "Pipeline(Filter(read), Odd(value=3, forgets=False))"

    @dataclass
    class Thawed(Stage):
        """May be changed."""

    with pytest.raises(dp.DataprepError, match="Thawed must be frozen, since workers get copies; write @dataclass"):
        dp.Pipeline(Thawed())
    with pytest.raises(dp.DataprepError, match=r"^5 is not a stage; pass stages such as"):
        dp.Pipeline(dp.Filter(read), 5)


def test_stages_inside_stages_are_stated():
    """As stages, in lists, too; sets are sorted; keys of dicts are text; functions go by their names."""
    inner = stated(dp.Exact())
    assert (inner["class"], stated([dp.Exact()])[0], stated({1: dp.Exact()})["1"]) == ("Exact", inner, inner)
    assert spelled({"class": "A", "fields": {"n": 1, "b": inner}}) == f"A(n=1, b={spelled(inner)})"
    values = ({"b", "a"}, frozenset({2, 1}), {"c", 3}, (1, 2), np.arange(2), read, Odd)
    values = (*values, None, True, -(2**63), 2**63, float("nan"), "\udcff")
    assert [stated(v) for v in values] == [
        ["a", "b"], [1, 2], [3, "c"], [1, 2], [0, 1], "read", "Odd", None, True, -(2**63), str(2**63), "nan", "\\udcff",
    ]  # fmt: skip
    assert stated("https://ada:pw@h/a") == "https://***@h/a"


@pytest.mark.parametrize(
    ("ns", "labels"),
    [([(1, 2), (1, 3)], ["C4(2)", "C4(3)"]), ([(1, 2), (2, 2)], ["C4(1)", "C4(2)"]),
     ([(1, 2), (1, 3), (2, 2)], ["C4(1, 2)", "C4(1, 3)", "C4(2, 2)"]), ([(1, 2), (2, 3)], ["C4(1)", "C4(2)"]),
     ([(1, 2), (1, 2), (1, 3)], ["C4(2)", "C4(2) #2", "C4(3)"]),
     ([("x" * 99, 0), ("y", 0)], [f"C4({'x' * 60})", "C4(y)"]),
     ([(None, 0), ((), 0)], ["C4", "C4 #2"])],
)  # fmt: skip
def test_labels_have_as_few_fields_as_are_needed(ns, labels):
    """The first fields that differ; short values only."""

    @dataclass(frozen=True)
    class Two(Stage):
        a: object
        b: object
        name = "C4"

    assert labels_of([Two(*n) for n in ns]) == labels
