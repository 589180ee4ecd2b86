"""Several tasks may make the same file: parts with equal content, without documents, and of one document."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import dataprep as dp
import laws
import test_laws
from dataprep import extend
from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.score import ScoredFilter
from dataprep.core.output import owned
from dataprep.dedup.older import Deduplication
from dataprep.messages.conversations.cap import CapRepeats
from dataprep.messages.conversations.windows import MESSAGES
from dataprep.store import files

TEXTS = [test_laws.PAGE, "the quick brown fox jumps over a lazy dog", f"{test_laws.PAGE} the end", "wach nta hna", ""]
DROPPED = "of no use"


@dataclass(frozen=True)
class Words(ScoredFilter):
    """The number of words, within a range."""

    score_range: tuple[float | None, float | None] = (None, None)

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """One number per document."""
        return {"words_number": pa.float64()}

    def score(self, batch: B.Batch) -> Mapping[str, pa.Array]:
        """Count the words of each document."""
        return {"words_number": pa.array([float(len(text.split())) for text in batch.column("text").to_pylist()])}

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Drop what is out of the range."""
        low, high = (-np.inf if self.score_range[0] is None else self.score_range[0], self.score_range[1] or np.inf)
        out = [None if low <= n < high else "length" for n in scores["words_number"].to_pylist()]
        return pa.array(out, pa.string())


def answered(text: str) -> dict[str, list[dict[str, object]]]:
    """Return the text as the answer in a window of a chat."""
    turns = [("user", "well?", 0), ("assistant", text, 1)]
    return {"messages": [{"role": r, "name": "", "content": c, "weight": w} for r, c, w in turns]}


CASES: list[tuple[extend.Stage | Estimator, ...]] = [
    *((stage,) for stage in test_laws.ESTIMATORS),
    (test_laws.SemDeDup(embed=test_laws.letters, diversify=0.5),),
    (dp.Percentiles(Words(), cut=(20, 80), min_scores=2),),
    (dp.Map(answered, adds={"messages": MESSAGES}), CapRepeats()),
]


def useless(text: str) -> str | None:
    """Drop the texts of some parts, all of them."""
    return "useless" if text.startswith(DROPPED) else None


def rows_of(texts: list[str], names: tuple[str, ...]) -> list[dict[str, str]]:
    """Return documents with the columns that a stage needs."""
    said = {"chat": "c", "kind": "text", "date": "2020-01-01"}
    return [
        {"text": text, **{name: said.get(name, "") for name in names}}
        | ({"author": ("quick fox", "the lazy", "dog")[n % 3]} if "author" in names else {})
        | ({"time": f"2024-05-01T10:{n:02}:00"} if "time" in names else {})
        | ({"url": f"http://e.org/{n % 2}"} if "url" in names else {})
        for n, text in enumerate(texts)
    ]  # fmt: skip


def equal_parts(folder, names: tuple[str, ...], times: int) -> Dataset:
    """Return parts that are files of one name: of five equal texts, of one, of none, and of texts that are dropped."""
    kinds = [[TEXTS] * 3, [TEXTS[:1]], [[]], [[f"{DROPPED} {n}" for n in range(3)]]]
    rows = [rows_of(texts, names) for _ in range(times) for kind in kinds for texts in kind]
    return Dataset(tuple(laws.part_of(folder / f"{n}", n, one, names) for n, one in enumerate(rows)))


def needed(stages: tuple[extend.Stage | Estimator, ...]) -> tuple[str, ...]:
    """Return the columns that the input must have."""
    wanted = {name for stage in stages for name in stage.needs} - {"messages"}
    return tuple(sorted(wanted))


def runs_agree(stages: tuple[extend.Stage | Estimator, ...], folder, times: int, runners: list[dp.tools.Local]) -> None:
    """Run the stages with each of the runners in turn; the bytes are those of one process."""
    docs = equal_parts(folder / "in", needed(stages), times)
    pipeline = dp.Pipeline(dp.Filter(useless), *stages)
    pipeline.run(docs, str(folder / "serial"))
    for n, runner in enumerate(runners):
        out = folder / f"local-{n}"
        pipeline.run(docs, str(out), runner)
        laws.same_bytes(folder / "serial", out)


FIRST = list({type(stages[-1]): stages for stages in reversed(CASES)}.values())  # the first of each Estimator


@pytest.mark.parametrize("stages", FIRST, ids=lambda stages: stages[-1].name)
def test_workers_share_equal_parts(stages, tmp_path):
    """No task fails, or changes the result, since another one writes the same file at the same time."""
    runs_agree(stages, tmp_path, times=2, runners=[laws.TWO])


@dataclass(frozen=True)
class Keeps(dp.tools.Serial):
    """A runner whose tasks fail if they remove a file, which another task may read."""

    def map(self, task, items, label=""):
        """Yield results as usual."""
        for item in items:
            with pytest.MonkeyPatch.context() as patch:
                for module in (files, owned):
                    patch.setattr(module, "remove", lambda *given: pytest.fail(f"a task removes {given}"))
                result = task(item)
            yield result


@pytest.mark.parametrize("stages", FIRST, ids=lambda stages: stages[-1].name)
def test_no_task_removes_a_file(stages, tmp_path):
    """Also not in a run that makes damaged files again, and this run makes the bytes of the first."""
    docs = equal_parts(tmp_path / "in", needed(stages), 2)
    pipeline, out = dp.Pipeline(dp.Filter(useless), *stages), tmp_path / "out"
    pipeline.run(docs, str(out), Keeps())
    shutil.copytree(out, tmp_path / "before")
    (out / "manifest.json").unlink()
    for path in sorted((out / "steps").rglob("*")):
        if path.is_file() and path.suffix != ".json" and not path.name.startswith(".") and "input" not in path.parts:
            path.write_bytes(b"damaged")
    pipeline.run(docs, str(out), Keeps())
    laws.same_bytes(tmp_path / "before", out)


def test_every_estimator_is_here():
    """The cases above have every Estimator of the package."""
    for module in pkgutil.walk_packages(dp.__path__, "dataprep."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    every = {one for one in _below(Estimator) if one.__module__.startswith("dataprep.")} - {Deduplication}
    assert every == {type(stages[-1]) for stages in FIRST}


def _below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)
