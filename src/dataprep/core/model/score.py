"""Filters that first measure documents and then decide (ScoredFilter), and the stage that only measures (Score).

    dp.Pipeline(dp.Score(dp.Gopher())).run(docs, out="work/scored")           # measures, drops nothing
    dp.Pipeline(dp.Gopher(min_words=80)).run(dp.open_dataset("work/scored"), out="work/clean")    # only decides

Score columns store a hash of the model and settings that produced them. A filter with other settings measures the texts
again; after a stage that changes texts (`batch.with_column`), every filter measures again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.errors import PlanError
from dataprep.store.key import key

from . import batch as B
from . import blame
from .batch import Batch
from .ledger import Ledger
from .stage import Stage, drop_rows

MEASURE_KEY = b"dataprep.scored_by"  # in the metadata of a field: the key of its measure


class ScoredFilter(Stage):
    """A filter with two methods: `score` computes scores of each document, `decide` selects documents to drop by them.

    Subclasses define `scores`, `score` and `decide`. Existing score columns with the same settings are reused, so a
    threshold can be changed without computing the scores again.
    """

    only_drops: ClassVar[bool] = True

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """The columns that `score` returns, as {name: type}; names begin with the filter's, as in gopher_words."""
        raise NotImplementedError

    @property
    def measure(self) -> Any:
        """The parameters on which the scores depend, such as a model or a list of words; not the thresholds."""
        return None

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Measure the n documents of a batch; return {column name: n values} for every column of `scores`."""
        raise NotImplementedError

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return, for each document, the reason to drop it, or null to keep it.

        Args:
            scores: the columns of `score`.
        """
        raise NotImplementedError

    def compared(self, scores: Mapping[str, pa.Array], reasons: pa.StringArray) -> Mapping[str, pa.Array]:  # noqa: ARG002
        """Return columns of the drop table, one value per document: the number or label that led to the drop reason.

        Args:
            scores: the columns of `score`.
            reasons: the reason to drop each document, or null.

        `value` is a number, and `label` is a classifier's label. In this base class, `value` is the score if the filter
        has exactly one score and it is a number; a subclass with several scores chooses one of them.
        """
        only = next(iter(scores.values()))
        numeric = pa.types.is_integer(only.type) or pa.types.is_floating(only.type)
        return {"value": number_or_null(only)} if numeric and len(scores) == 1 else {}

    def recorded(self, drops: pa.Table) -> Mapping[str, pa.Array] | None:
        """Return the scores of dropped documents, from the columns that `compared` returned; None if they lack some.

        Args:
            drops: the documents' rows in the drop table.

        In this base class, the only score is the column `value`, if it is a number.
        """
        kinds = list(self.scores.items())
        if len(kinds) != 1 or not (pa.types.is_integer(kinds[0][1]) or pa.types.is_floating(kinds[0][1])):
            return None
        return {kinds[0][0]: drops["value"].combine_chunks().cast(kinds[0][1])}

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the rows that `decide` keeps; batches without valid score columns are measured first."""
        for batch in batches:
            scores = self.scores_of(batch)
            reasons = self.decide(scores)
            yield drop_rows(batch, reasons, stats, **self.compared(scores, reasons))

    def scores_of(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return the score columns of a batch, as {name: values}; the scores are computed unless valid ones exist."""
        return {name: batch.column(name) for name in self.scores} if self.has_scores(batch) else self.score(batch)

    def has_scores(self, batch: Batch) -> bool:
        """Return whether a batch has valid columns of all scores."""
        mine = self.measure_key()
        fields = [batch.schema.get_field_index(name) for name in self.scores]
        return all(i >= 0 and (batch.schema.field(i).metadata or {}).get(MEASURE_KEY) == mine for i in fields)

    def with_scores(self, batch: Batch) -> Batch:
        """Return the batch with this filter's score columns added; each stores `measure_key` in its metadata."""
        metadata = {MEASURE_KEY: self.measure_key()}
        for name, values in self.scores_of(batch).items():
            batch = B.with_column(batch, name, values)
            index = batch.schema.get_field_index(name)
            batch = batch.set_column(index, batch.schema.field(index).with_metadata(metadata), batch.column(index))
        return batch

    def measure_key(self) -> bytes:
        """Return a hash of everything that the scores depend on: class, version and `measure`."""
        return key((type(self).__name__, self.VERSION, self.measure)).encode()


def number_or_null(values: Any) -> pa.DoubleArray:
    """Return numbers as float64[n], with null in place of NaN, so that tables with the same values compare equal."""
    numbers = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values
    return pa.array(np.asarray(numbers, np.float64), from_pandas=True)


@dataclass(frozen=True)
class Score(Stage):
    """Add the scores of a filter as columns, and drop nothing.

    Args:
        filter: any stage that drops documents. For a `ScoredFilter`, the columns are its scores. For any other filter
            there is one column, NAME_reason: the reason for which the filter would drop the document, or null if it
            would keep the document.
    """

    only_drops: ClassVar[bool] = True

    filter: Stage
    adds: Mapping[str, pa.DataType] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.filter, Stage):
            msg = f"Score must be given a filter such as dp.Gopher(), not {self.filter!r}"
            raise PlanError(msg)
        adds = self.filter.scores if isinstance(self.filter, ScoredFilter) else {self._reason: pa.string()}
        object.__setattr__(self, "adds", dict(adds))

    @property
    def name(self) -> str:
        """The word "Score" followed by the filter's name, as in "Score Gopher"."""
        return f"Score {self.filter.name}"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that the filter reads."""
        return self.filter.needs

    @property
    def _reason(self) -> str:
        return f"{self.filter.name.lower()}_reason"

    def recipe(self) -> Any:
        """Return the values that identify this stage: the `measure_key` of a ScoredFilter, else the filter itself."""
        return self.filter.measure_key().decode() if isinstance(self.filter, ScoredFilter) else self.filter

    def warm(self) -> None:
        """Compile the kernels (compiled functions) of the filter; called once, before workers start."""
        self.filter.warm()

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Yield the same rows with the filter's scores, or its drop reasons, as columns."""
        for batch in batches:
            scored = self.filter.with_scores if isinstance(self.filter, ScoredFilter) else self._reasoned
            yield scored(batch) if blame.is_ours(self.filter) else blame.called(self.filter.name, scored, batch)

    def _reasoned(self, batch: Batch) -> Batch:
        ledger = Ledger(self.filter.name)
        for _ in self.filter(iter([ledger.received(batch)]), ledger):
            pass
        drops = ledger.drop_table()
        why = dict(zip(drops.column("id").to_pylist(), drops.column("reason").to_pylist(), strict=True))
        return B.with_column(batch, self._reason, pa.array([why.get(i) for i in B.ids(batch).tolist()], pa.string()))
