"""What a Stage of the user declares is checked: columns, and that it changes no text; so is what functions return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dataprep as dp
from dataprep import extend
from dataprep.core.model.batch import with_column
from dataprep.errors import FunctionFailed, PlanError
from laws import dataset_of

TEXTS = ["one text", "two texts", "Three texts", "four"]


def undeclared(batch):
    return batch.append_column("length", pc.utf8_length(batch["text"]))


def without_meta(batch):
    return batch.drop_columns(["meta"])


def one_in_capitals(batch):
    text = pc.if_else(pc.starts_with(batch["text"], "two"), pc.utf8_upper(batch["text"]), batch["text"])
    return with_column(batch, "text", text)


def in_reverse_batches(batch):
    return [batch]


def unchanged(batch):
    return batch


@dataclass(frozen=True, kw_only=True)
class Apply(extend.Stage):
    """Applies a function to each batch."""

    fn: Callable
    only_drops = True

    def __call__(self, batches, stats):
        yield from map(self.fn, batches)


@dataclass(frozen=True, kw_only=True)
class Adds(Apply):
    """The same, and promises a column."""

    adds: ClassVar = {"length": pa.int32()}


@dataclass(kw_only=True)
class Thawed(extend.Stage):
    """A dataclass that is not frozen."""

    def __call__(self, batches, stats):
        yield from batches


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (Apply(fn=undeclared), "Apply added the column 'length', .* list it in `adds`"),
        (Apply(fn=without_meta), "Apply returned a batch without the column 'meta'; return all columns"),
        (Adds(fn=unchanged), "Adds returned a batch without the column 'length'; .* and those in `adds`"),
        (Apply(fn=in_reverse_batches), "Apply yielded list; a Stage must yield batches"),
        (Apply(fn=one_in_capitals), r"Apply has only_drops = True and changed a text; .* 0:\d+ .*two texts"),
    ],
    ids=["undeclared", "lost", "promised", "a list", "changed text"],
)
def test_a_stage_must_keep_its_promises(tmp_path, stage, says):
    """One sentence names the stage and the column, or the document."""
    with pytest.raises((PlanError, FunctionFailed), match=says):
        dp.Pipeline(stage).run(dataset_of(tmp_path / "in", TEXTS), out=str(tmp_path / "out"))


def test_a_stage_that_keeps_them_is_left_alone(tmp_path):
    """A declared column arrives; a stage may reorder nothing, and drop what it likes."""
    docs = dataset_of(tmp_path / "in", TEXTS)
    made = dp.Pipeline(Adds(fn=undeclared), Apply(fn=unchanged)).run(docs, out=str(tmp_path / "out"))
    assert made.table(["length"]).column(0).to_pylist() == [len(t) for t in TEXTS]


def test_a_stage_must_be_frozen():
    """Its key is computed once; a field that changes later would make the key wrong."""
    with pytest.raises(PlanError, match=r"Thawed must be frozen, .* @dataclass\(frozen=True\)"):
        dp.Pipeline(Thawed())


def surrogate(text):
    return "\ud800" if text == "four" else text


def as_word(text):
    return {"length": "long" if text == "four" else 1}


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (dp.Map(surrogate), r"Map\(surrogate\) returned '.ud800', which has a lone surrogate for .*four"),
        (dp.Filter(surrogate), r"Filter\(surrogate\) returned '.ud800', which has a lone surrogate for .*four"),
        (dp.Map(as_word, adds={"length": pa.int32()}), r"returned 'long', which is not of type int32 for .*four"),
    ],
    ids=["text", "reason", "type"],
)
def test_a_wrong_value_names_its_document(tmp_path, stage, says):
    """Values that Arrow cannot store are named with the document that they were returned for."""
    with pytest.raises(FunctionFailed, match=says):
        dp.Pipeline(stage).run(dataset_of(tmp_path / "in", TEXTS), out=str(tmp_path / "out"))


@pytest.mark.parametrize("out", ["", None, 5])
def test_out_must_be_a_folder(tmp_path, out, monkeypatch):
    """Nothing is written into a folder called None."""
    monkeypatch.chdir(tmp_path)
    docs = dataset_of(tmp_path / "in", TEXTS)
    with pytest.raises(PlanError, match=f"out={out!r} must be the path or URL of a folder"):
        dp.Pipeline().run(docs, out=out)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_positions_from_the_end(tmp_path):
    """A Dataset that is not sealed is read once for a position from the end."""
    seen = []

    def count(text):
        seen.append(text)
        return True

    docs = dataset_of(tmp_path / "in", TEXTS).then(dp.Filter(count, version="1"))
    assert [docs[-n]["text"] for n in (1, 2, 4)] == ["four", "Three texts", "one text"]
    assert len(seen) == 3 * len(TEXTS)
    assert [row["text"] for row in docs[-3:-1]] == TEXTS[-3:-1]
    assert len(seen) == 4 * len(TEXTS)
    with pytest.raises(IndexError, match=r"no document at position -5; there are 4"):
        docs[-5]
