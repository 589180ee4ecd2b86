"""Scores and decisions apart: a filter that first measures and then decides, and the stage that only measures.

    dp.Pipeline(dp.Score(dp.Gopher())).run(docs, out="work/scored")           # measures, drops nothing
    dp.Pipeline(dp.Gopher(min_words=80)).run(dp.open_dataset("work/scored"), out="work/clean")    # only decides

The columns of scores remember what made them, so a filter with another model does not take them for its own; and they
are void once a stage changes the text (`batch.with_column`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from dataprep.errors import PlanError
from dataprep.store.key import key

from . import batch as B
from .batch import Batch
from .ledger import Ledger
from .stage import Stage, drop_rows

MEASURE_KEY = b"dataprep.scored_by"  # field metadata: the key of what the scores depend on


class ScoredFilter(Stage):
    """A filter in two halves: `score` measures each document, `decide` says by the numbers alone who goes.

    Subclasses give `scores`, `score` and `decide`. If a batch has the columns already, made by the same measure, they
    are used as they are: a threshold is changed without measuring again.
    """

    only_drops: ClassVar[bool] = True

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """The columns that `score` makes, named after the filter: gopher_words ..."""
        raise NotImplementedError

    @property
    def measure(self) -> Any:
        """What the scores depend on, beyond the class: a model, a list of words; not the thresholds."""
        return None

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Every column of `scores` for the rows of a batch."""
        raise NotImplementedError

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """The reason to drop each row, null to keep it."""
        raise NotImplementedError

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Measure what was not measured yet, and decide."""
        for batch in batches:
            yield drop_rows(batch, self.decide(self.scores_of(batch)), stats)

    def scores_of(self, batch: Batch) -> Mapping[str, pa.Array]:
        """The columns of scores: those of the batch if the same measure made them, else made now."""
        mine = self.measure_key()
        fields = {name: batch.schema.get_field_index(name) for name in self.scores}
        if all(i >= 0 and (batch.schema.field(i).metadata or {}).get(MEASURE_KEY) == mine for i in fields.values()):
            return {name: batch.column(i) for name, i in fields.items()}
        return self.score(batch)

    def with_scores(self, batch: Batch) -> Batch:
        """The batch with its scores as columns that remember what made them."""
        metadata = {MEASURE_KEY: self.measure_key()}
        for name, values in self.scores_of(batch).items():
            batch = B.with_column(batch, name, values)
            index = batch.schema.get_field_index(name)
            batch = batch.set_column(index, batch.schema.field(index).with_metadata(metadata), batch.column(index))
        return batch

    def measure_key(self) -> bytes:
        """Return the key of the measure: class, version, and what `measure` names."""
        return key((type(self).__name__, self.VERSION, self.measure)).encode()


@dataclass(frozen=True)
class Score(Stage):
    """Add what a filter measures as columns, and drop nothing.

    filter: any stage that drops. One that measures (`ScoredFilter`) adds its scores; any other adds one column
    NAME_reason: why it would drop the document, null if it would not.
    """

    filter: Stage
    adds: Mapping[str, pa.DataType] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.filter, Stage):
            msg = f"Score takes a filter such as dp.Gopher(), not {self.filter!r}"
            raise PlanError(msg)
        adds = self.filter.scores if isinstance(self.filter, ScoredFilter) else {self._reason: pa.string()}
        object.__setattr__(self, "adds", dict(adds))

    @property
    def name(self) -> str:
        """Its filter's name."""
        return f"Score {self.filter.name}"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the filter reads."""
        return self.filter.needs

    @property
    def _reason(self) -> str:
        return f"{self.filter.name.lower()}_reason"

    def recipe(self) -> Any:
        """The measure alone where there is one: another threshold gives the same scores."""
        return self.filter.measure_key().decode() if isinstance(self.filter, ScoredFilter) else self.filter

    def warm(self) -> None:
        """Compile the filter's kernels."""
        self.filter.warm()

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """The same rows with more columns."""
        for batch in batches:
            yield self.filter.with_scores(batch) if isinstance(self.filter, ScoredFilter) else self._reasoned(batch)

    def _reasoned(self, batch: Batch) -> Batch:
        ledger = Ledger(self.filter.name)
        for _ in self.filter(iter([ledger.saw(batch)]), ledger):
            pass
        drops = ledger.drop_table()
        why = dict(zip(drops.column("id").to_pylist(), drops.column("reason").to_pylist(), strict=True))
        return B.with_column(batch, self._reason, pa.array([why.get(i) for i in B.ids(batch).tolist()], pa.string()))
