"""The effect of another value of a filter's parameter: documents that it keeps, and documents that it drops instead.

A filter with scores (`ScoredFilter`) decides from the scores alone. So if the scores of all documents that it received
are known, the result with another limit is that of a full run. The scores of dropped documents are in the drop table if
the filter has one score, and those of kept documents in the columns that `Language` and `Score` add. Otherwise the
filter measures the documents again, all or a random sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.part import Part
from dataprep.core.model.score import ScoredFilter
from dataprep.core.model.stage import Stage
from dataprep.core.model.tables import DROPS as DROP_ROWS
from dataprep.core.model.tables import Drop, read_tables
from dataprep.core.output.layout import DROPS
from dataprep.core.run.runner import Runner
from dataprep.errors import DataprepError, PlanError, require

from .remade import with_parameters
from .review import wilson
from .stage_input import RunStage, run_stages

U64 = npt.NDArray[np.uint64]
LOW, HIGH = ".low", ".high"  # the two bounds of a range, behind the name of the parameter
STORED, MEASURED, SAMPLED = "stored", "measured", "sample"


@dataclass(frozen=True)
class Limit:
    """A number with which a filter compares scores.

    Attributes:
        name: the parameter, such as "min_words"; "score_range.low" and "score_range.high" for the bounds of a range.
        value: its value in the run.
    """

    name: str
    value: float


@dataclass(frozen=True)
class ScoredStep:
    """A filter of a run that decides by scores.

    Attributes:
        at: its place in the run.
        filter: the filter.
        limits: the limits that are set, of which another value can be tried.
    """

    at: RunStage
    filter: ScoredFilter
    limits: tuple[Limit, ...]

    def limit(self, name: str | None) -> Limit:
        """Return a limit by its name; None: the only one. Raises PlanError if there is no such limit."""
        chosen = [one for one in self.limits if name in (None, one.name)]
        names = ", ".join(one.name for one in self.limits) or "none"
        require(len(chosen) == 1, f"parameter={name!r} must be one limit of {self.at.name}, which has {names}")
        return chosen[0]

    def changed(self, name: str, value: float | None) -> ScoredFilter:
        """Return the filter with another value of a parameter; None switches the rule off.

        Raises PlanError if the filter refuses the value, or if its scores would differ.
        """
        made = _changed(self.filter, name, value)
        require(made.measure_key() == self.filter.measure_key(), f"{name} changes the scores of {self.at.name}, not "
                "only its decisions; use `dataprep what-if`, or run it in full")  # fmt: skip
        return made


@dataclass(frozen=True)
class Scores:
    """The scores of the documents that a filter received.

    Attributes:
        rows: the columns id (ascending), source, and each score.
        how: STORED, MEASURED or SAMPLED.
        unknown: the number of documents whose scores are not stored; the filter kept all of them.
    """

    rows: pa.Table
    how: str
    unknown: int = 0


@dataclass(frozen=True)
class OtherValue:
    """The result of a filter with another value of a parameter, compared with its result in the run.

    Attributes:
        parameter: the parameter, as in `Limit.name`.
        value: the other value.
        how: the origin of the scores: STORED, MEASURED or SAMPLED.
        known: the number of documents with known scores.
        unknown: the number of documents that the filter kept, and whose scores are not known. `back` is exact all the
            same.
        is_known: False if some of the unknown documents may be newly dropped, so that `dropped` and `new` are only the
            least numbers.
        dropped: the number of documents that the filter drops, without the unknown ones; for a sample, in the sample.
        back: the ids that the run dropped and this value keeps, uint64[n], ascending.
        new: the ids that the run kept and this value drops, uint64[n], ascending.
        by_source: {source: (number of `back`, number of `new`)}, most first.
        examples: `back` or `new` documents with a value nearest to the limit, each as its drop, in the run or with the
            other value.
        intervals: for a sample, Wilson's 95 % intervals of the numbers of documents of the whole run that are dropped,
            that come back, and that are newly dropped, each (estimate, low, high); None otherwise.
    """

    parameter: str
    value: float | None
    how: str
    known: int
    unknown: int
    is_known: bool
    dropped: int
    back: U64
    new: U64
    by_source: dict[str, tuple[int, int]]
    examples: tuple[list[Drop], list[Drop]]
    intervals: tuple[tuple[float, float, float], ...] | None = None


def scored_steps(url: str, known: Mapping[str, Stage] | None = None) -> list[ScoredStep]:
    """Return the filters of the run in the folder `url` that decide by scores and can be made again.

    - known: stages by label, which are not reconstructed from their descriptions.
    """
    found = []
    for at in run_stages(url):
        try:
            stage = None if at.is_estimator else at.made(known)
        except PlanError:  # a function, or a model that was moved
            continue
        if isinstance(stage, ScoredFilter) and stage.only_drops:
            found.append(ScoredStep(at, stage, tuple(_limits(stage))))
    return found


def scored_of(url: str, stage: str | None = None, known: Mapping[str, Stage] | None = None) -> ScoredStep:
    """Return a filter with scores by its name, as in `RunStage.name`; None: the only one of the run.

    Raises PlanError if there is no such filter, or if there are several and `stage` is None.
    """
    found = scored_steps(url, known)
    chosen = [step for step in found if stage in (None, step.at.name)]
    names = ", ".join(repr(step.at.name) for step in found) or "none"
    require(len(chosen) == 1, f"stage={stage!r} must be the name of one filter with scores of {url}, which has {names}")
    return chosen[0]


def _limits(stage: ScoredFilter) -> Iterator[Limit]:
    """Yield the numbers among a filter's parameters on which the scores do not depend."""
    for field in fields(stage):  # type: ignore[arg-type]  # filters are dataclasses
        value: Any = getattr(stage, field.name, None)
        if field.name == "score_range":
            given = zip((LOW, HIGH), _range(value), strict=True)
            yield from (Limit(field.name + end, bound) for end, bound in given if bound is not None)
            continue
        is_number = field.init and isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and any(_is_limit(stage, field.name, other) for other in (value / 2, value + 1)):
            yield Limit(field.name, value)


def _is_limit(stage: ScoredFilter, name: str, value: float) -> bool:
    try:
        return _changed(stage, name, value).measure_key() == stage.measure_key()
    except (DataprepError, TypeError, ValueError):
        return False


def _range(value: Any) -> tuple[Any, Any]:
    """Return the two bounds of a `score_range`, of which a single number is the lower one."""
    return (value[0], value[1]) if isinstance(value, (tuple, list)) else (value, None)


def _changed(stage: ScoredFilter, name: str, value: float | None) -> ScoredFilter:
    """Return a filter with another value of one parameter; raises what the filter raises for a wrong value."""
    field, dot, _ = name.partition(".")
    now = getattr(stage, field, None)
    given: Any = int(value) if isinstance(now, int) and value is not None and value == int(value) else value
    if dot:
        require(name in (field + LOW, field + HIGH), f"{name!r} must be {field}{LOW} or {field}{HIGH}")
        low, high = _range(now)
        given = (value, high) if name.endswith(LOW) else (low, value)
    made = with_parameters(stage, {field: given})
    assert isinstance(made, ScoredFilter)
    return made


def stored_scores(step: ScoredStep) -> Scores | None:
    """Return the scores that the run stored; None if those of the dropped documents are not stored.

    Nothing is computed, except that a Dataset with score columns is read.
    """
    drops = drops_of(step.at)
    recorded = step.filter.recorded(drops) if len(drops) else _no_scores(step.filter)
    if recorded is None or (len(drops) and step.filter.decide(recorded).null_count):
        return None
    rows = [pa.table({"id": drops["id"], "source": drops["source"].cast(pa.string()), **recorded}),
            *_stored_of_kept(step)]  # fmt: skip
    found = pa.concat_tables(rows).sort_by("id").combine_chunks()
    return Scores(found, STORED, step.at.stats.docs_in - len(found))


def _no_scores(filter_: ScoredFilter) -> dict[str, pa.Array]:
    return {name: pa.array([], kind) for name, kind in filter_.scores.items()}


def _stored_of_kept(step: ScoredStep) -> Iterator[pa.Table]:
    """Yield the scores of kept documents, from the columns of the Dataset that the pass wrote."""
    names, labels = list(step.filter.scores), [one.name for one in step.at.own]
    after = [step.at.described.get(label, {}).get("class") for label in labels[labels.index(step.at.label) + 1 :]]
    is_own = set(names) <= set(step.filter.adds) and type(step.filter).__name__ not in after
    if not step.at.home.is_dataset:
        return
    for batch in open_dataset(step.at.home.url).batches():
        if not set(names) <= set(batch.schema.names):
            return
        if is_own or step.filter.has_scores(batch):
            columns = {name: batch.column(name).cast(kind) for name, kind in step.filter.scores.items()}
            yield pa.table({"id": batch.column("id"), "source": batch.column("source").cast(pa.string()), **columns})


@dataclass(frozen=True)
class MeasurePart:
    """Task that measures the documents of a part with a filter."""

    filter: ScoredFilter

    def __call__(self, part: Part | None) -> pa.Table:
        """Return the columns id, source and each score of the documents; no rows if `part` is None."""
        kinds = {"id": pa.uint64(), "source": pa.string(), **self.filter.scores}
        tables = [pa.table({name: pa.array([], kind) for name, kind in kinds.items()})]
        for batch in () if part is None else part.batches():
            given = {"id": batch.column("id"), "source": batch.column("source"), **self.filter.scores_of(batch)}
            tables.append(pa.table({name: given[name].cast(kind) for name, kind in kinds.items()}))
        return pa.concat_tables(tables)


def measured_scores(
    step: ScoredStep, runner: Runner, sample: int | None = None, known: Mapping[str, Stage] | None = None
) -> Scores:
    """Measure the documents that the filter received again, in the input of its pass.

    Args:
        step: the filter.
        runner: the Runner that runs the stages before it and the filter.
        sample: the approximate number of documents to choose, by a hash of their ids; None: all.
        known: stages by label, which are not reconstructed.

    Raises PlanError if an earlier stage cannot be made again, or if the filter now decides otherwise than in the run;
    ReadError if the input is missing, has changed, or is hidden.
    """
    share = 1.0 if sample is None else min(1.0, sample / max(1, step.at.stats.docs_in))
    parts = step.at.parts(known, share)
    tables = list(runner.map(MeasurePart(step.filter), parts, f"{step.at.name}: scores"))
    rows = pa.concat_tables([MeasurePart(step.filter)(None), *tables]).sort_by("id").combine_chunks()
    dropped = rows.filter(pc.is_valid(_reasons(step.filter, rows)))["id"]
    recorded = drops_of(step.at)["id"]
    wanted = recorded.filter(pc.is_in(recorded, rows["id"].combine_chunks()))
    same = dropped.to_pylist() == sorted(wanted.to_pylist()) and (share < 1 or len(rows) == step.at.stats.docs_in)
    require(same, f"{step.at.name} now decides otherwise than in the run, or receives other documents: dataprep, a "
            "model or an input file has changed; run the Pipeline again with replace=True")  # fmt: skip
    return Scores(rows, MEASURED if share == 1 else SAMPLED)


def drops_of(at: RunStage) -> pa.Table:
    """Return the rows of a stage in the drop tables of its pass, in order of ids."""
    batches = [
        batch.filter(pc.equal(batch.column("stage").cast(pa.string()), at.label))
        for batch in read_tables(at.home.url, DROPS)
    ]  # fmt: skip
    return pa.Table.from_batches(batches, DROP_ROWS if not batches else None).unify_dictionaries().sort_by("id")


def _reasons(filter_: ScoredFilter, rows: pa.Table) -> pa.Array:
    if not len(rows):
        return pa.array([], pa.string())
    return filter_.decide({name: rows[name].combine_chunks() for name in filter_.scores})


def at_values(
    step: ScoredStep, scores: Scores, parameter: str, values: Sequence[float | None], n_examples: int = 0
) -> list[OtherValue]:
    """Return the results of a filter with other values of a parameter, from scores; later stages are not run again.

    With scores of all documents, each is that of a full run. Raises PlanError as `ScoredStep.changed` does.
    """
    before = _values(step.filter, scores.rows)
    return [_other(step, scores, parameter, value, before, n_examples) for value in values]


def _values(filter_: ScoredFilter, rows: pa.Table) -> pa.Table:
    """Return the columns reason, value and label: the decisions of a filter, as in a drop table."""
    reasons = _reasons(filter_, rows)
    columns: dict[str, Any] = {"reason": reasons, "value": pa.nulls(len(rows), pa.float64()),
                               "label": pa.nulls(len(rows), pa.string())}  # fmt: skip
    if len(rows):
        given = {name: rows[name].combine_chunks() for name in filter_.scores}
        columns |= dict(filter_.compared(given, reasons))
    return pa.table(columns)


def _other(
    step: ScoredStep, scores: Scores, parameter: str, value: float | None, before: pa.Table, n_examples: int
) -> OtherValue:
    rows, after = scores.rows, _values(step.changed(parameter, value), scores.rows)
    was, now = (pc.is_valid(one["reason"]).to_numpy() for one in (before, after))
    back, new = np.flatnonzero(was & ~now), np.flatnonzero(now & ~was)
    ids, sources = rows["id"].to_numpy(), rows["source"]
    counts = [Counter(sources.take(pa.array(some)).to_pylist()) for some in (back, new)]
    by_source = {name: (counts[0][name], counts[1][name]) for name in {*counts[0], *counts[1]} if name is not None}
    intervals = None
    if scores.how == SAMPLED:
        total, n = step.at.stats.docs_in, len(rows)
        parts = [k / n if n else 0.0 for k in (int(now.sum()), len(back), len(new))]
        edges = [(share, *wilson(share, n)) for share in parts]
        intervals = tuple((total * share, total * low, total * high) for share, low, high in edges)
    own = next((one.value for one in step.limits if one.name == parameter), 0.0)
    limit = own if value is None else value
    # A limit that lets documents come back drops no others.
    is_known = not scores.unknown or value is None or value == own or len(back) > 0
    return OtherValue(
        parameter, value, scores.how, len(rows), scores.unknown, is_known, int(now.sum()), ids[back], ids[new],
        dict(sorted(by_source.items(), key=lambda item: (-sum(item[1]), item[0]))),
        (_nearest(step, rows, before, back, limit, n_examples), _nearest(step, rows, after, new, limit, n_examples)),
        intervals,
    )  # fmt: skip


def _nearest(
    step: ScoredStep, rows: pa.Table, decided: pa.Table, at: npt.NDArray[np.intp], limit: float, n: int
) -> list[Drop]:
    """Return the documents at some rows whose values are nearest to a limit, each as its drop."""
    if not n:
        return []
    values = decided["value"].to_numpy()[at]
    order = np.lexsort((at, np.nan_to_num(np.abs(values - limit), nan=np.inf)))[:n]
    return [_drop(step, rows, decided, int(row)) for row in at[order]]


def _drop(step: ScoredStep, rows: pa.Table, decided: pa.Table, row: int) -> Drop:
    given = {name: decided[name][row].as_py() for name in ("reason", "value", "label")}
    return Drop(
        id=rows["id"][row].as_py(), stage=step.at.label, duplicate_of_dataset=None, duplicate_of=None, similarity=None,
        source=rows["source"][row].as_py(), bytes=None, folder=step.at.home.url, **given,
    )  # fmt: skip
