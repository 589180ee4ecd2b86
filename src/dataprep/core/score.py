"""Scores and decisions apart: filters that measure and then decide, and the stage that only measures.

    dp.Pipeline(dp.Score(dp.Gopher())).run(docs, out="work/scored")           # measures, drops nothing
    dp.Pipeline(dp.Gopher(min_words=80)).run(dp.open_dataset("work/scored"), out="work/clean")    # only decides

Score columns carry the key of their measure, so a filter with another model does not use them; they are void once a
stage changes the text (`batch.with_column`).
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

MEASURE_KEY = b"dataprep.scored_by"  # in the metadata of a field: the key of its measure


class ScoredFilter(Stage):
    """A filter in two halves: `score` measures each document, `decide` uses the scores alone to choose what to drop.

    Subclasses define `scores`, `score` and `decide`. Columns that the same measure made before are used as they are,
    so a threshold can change without measuring again.
    """

    only_drops: ClassVar[bool] = True

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Names and types of the columns that `score` returns, named after the filter: gopher_words ..."""
        raise NotImplementedError

    @property
    def measure(self) -> Any:
        """Parameters that the scores depend on, such as a model or a list of words; not the thresholds."""
        return None

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return every column of `scores` for the rows of a batch."""
        raise NotImplementedError

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the reason to drop each row, null to keep it."""
        raise NotImplementedError

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents that are kept, after measuring what has no scores yet."""
        for batch in batches:
            yield drop_rows(batch, self.decide(self.scores_of(batch)), stats)

    def scores_of(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return the score columns: those of the batch if the same measure made them, else new ones."""
        mine = self.measure_key()
        fields = {name: batch.schema.get_field_index(name) for name in self.scores}
        if all(i >= 0 and (batch.schema.field(i).metadata or {}).get(MEASURE_KEY) == mine for i in fields.values()):
            return {name: batch.column(i) for name, i in fields.items()}
        return self.score(batch)

    def with_scores(self, batch: Batch) -> Batch:
        """Return the batch with score columns that carry the key of the measure."""
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
    """Adds the scores of a filter as columns, and drops nothing.

    filter: any stage that drops. A `ScoredFilter` adds its scores; any other adds one column NAME_reason: the reason
    for which it would drop the document, null if it would keep it.
    """

    only_drops: ClassVar[bool] = True

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
        """The filter's name after "Score"."""
        return f"Score {self.filter.name}"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that the filter reads."""
        return self.filter.needs

    @property
    def _reason(self) -> str:
        return f"{self.filter.name.lower()}_reason"

    def recipe(self) -> Any:
        """Return the key of the measure if there is one, since thresholds do not change scores; else the filter."""
        return self.filter.measure_key().decode() if isinstance(self.filter, ScoredFilter) else self.filter

    def warm(self) -> None:
        """Compile the kernels of the filter."""
        self.filter.warm()

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Yield the same rows with more columns."""
        for batch in batches:
            yield self.filter.with_scores(batch) if isinstance(self.filter, ScoredFilter) else self._reasoned(batch)

    def _reasoned(self, batch: Batch) -> Batch:
        ledger = Ledger(self.filter.name)
        for _ in self.filter(iter([ledger.received(batch)]), ledger):
            pass
        drops = ledger.drop_table()
        why = dict(zip(drops.column("id").to_pylist(), drops.column("reason").to_pylist(), strict=True))
        return B.with_column(batch, self._reason, pa.array([why.get(i) for i in B.ids(batch).tolist()], pa.string()))
