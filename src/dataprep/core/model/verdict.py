"""Verdicts: the stages that apply the decisions of an Estimator, by dropping documents or cutting spans of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.lazy import compute as pc

from . import batch as B
from .batch import Batch
from .ledger import Ledger
from .range_reader import RangeReader
from .stage import Stage, drop_rows
from .tables import SPANS, VERDICTS


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict(Stage):
    """Base class of stages that apply an Estimator's table of documents to drop or spans to cut.

    Attributes:
        key: a hash that identifies the content of the table; it is used in place of the table's path.
        estimator: the name of the Estimator.
        facts: the numbers that the Estimator computed, for the manifest and the report.
    """

    key: str
    estimator: str
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)

    @property
    def name(self) -> str:
        """The name of the Estimator whose table this stage applies."""
        return self.estimator

    def __repr__(self) -> str:
        return f"verdicts of {self.estimator}"

    def recipe(self) -> Any:
        """Return the values that identify this stage: the Estimator's name, and `key`."""
        return (self.estimator, self.key)


def _with_rows(batches: Iterator[Batch], url: str, schema: pa.Schema) -> Iterator[tuple[Batch, Mapping[str, pa.Array]]]:
    """Yield each batch with the table's columns for its documents; no columns if the table contains none of them."""
    with RangeReader(url, schema) as table:
        for batch in batches:
            rows = table.of(batch)
            yield batch, {n: rows.column(n).combine_chunks() for n in schema.names} if rows.num_rows else {}


@dataclass(frozen=True, kw_only=True, repr=False)
class DropIds(Verdict):
    """Drops the documents that an Estimator's table names.

    Attributes:
        verdicts: the URL of the table, which `write_verdicts` wrote.
    """

    only_drops: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = True

    verdicts: str

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the batches without the documents in the table; their drops are recorded in `stats`."""
        for batch, rows in _with_rows(batches, self.verdicts, VERDICTS):
            if rows:
                stats.drop(rows["id"], **{name: column for name, column in rows.items() if name != "id"})
            yield B.chosen(batch, ~np.isin(B.ids(batch), rows["id"].to_numpy())) if rows else batch


@dataclass(frozen=True, kw_only=True, repr=False)
class CutSpans(Verdict):
    """Removes from texts the spans that an Estimator's table names; the spans may overlap.

    Attributes:
        spans: the URL of the table, which `write_spans` wrote.
        min_remaining_chars: if a document was cut and has fewer characters left than this, not counting white space, it
            is dropped with the reason "too_short_after_cuts".
    """

    thread_safe: ClassVar[bool] = True

    spans: str
    min_remaining_chars: int = 1

    def recipe(self) -> Any:
        """Return the values that identify this stage: the Estimator's name, `key` and `min_remaining_chars`."""
        return (*super().recipe(), self.min_remaining_chars)

    def warm(self) -> None:
        """Compile the kernel (compiled function) that cuts spans; called once, before workers start."""
        from dataprep.unicode.cut import without

        one = np.array([0, 1])
        without(*B.buffers(B.make([0], ["a"], "warm")), one, one[:1], one[1:], 1)

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the batches without the spans in the table; drop documents with too little text left."""
        for batch, rows in _with_rows(batches, self.spans, SPANS):
            yield self._cut(batch, rows, stats) if rows else batch

    def _cut(self, batch: Batch, rows: Mapping[str, Any], stats: Ledger) -> Batch:
        from dataprep.unicode.cut import without  # imports Numba, which opening a Dataset does not need

        stats.cut(rows["id"], **{name: column for name, column in rows.items() if name != "id"})
        ids, given = B.ids(batch), rows["id"].to_numpy()
        low, high = (np.searchsorted(given, ids, side) for side in ("left", "right"))
        first = np.append(0, np.cumsum(high - low))
        starts, ends = (rows[name].to_numpy() for name in ("start", "end"))
        if (low != first[:-1]).any():  # the documents are not in order of their ids
            by_row = np.arange(len(given)) + np.repeat(low - first[:-1], high - low)
            starts, ends = starts[by_row], ends[by_row]
        offsets, data, left = without(*B.buffers(batch), first, starts, ends, self.min_remaining_chars)
        short = (np.diff(first) > 0) & (left < self.min_remaining_chars)
        reasons = pc.if_else(pa.array(short), "too_short_after_cuts", None)
        return drop_rows(B.with_column(batch, "text", B.strings(offsets, data)), reasons, stats)
