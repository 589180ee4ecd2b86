"""Verdicts: the table of who is dropped, why and for whom, and the Stage that applies it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import batch as B
from . import files
from .batch import Batch
from .meter import Meter
from .stage import Stage

VERDICTS = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("kept_in", pa.string()),  # the Dataset the survivor lives in; null is this one
        pa.field("kept", pa.uint64()),
        pa.field("similarity", pa.float32()),
    ]
)
VERDICT_ROWS = 1 << 16  # a worker reads only the row groups of its shard's id range


def write_verdicts(url: str, table: pa.Table) -> None:
    """Write a verdict table: who is dropped, why, and for whom; sorted by id."""
    ordered = table.select(VERDICTS.names).cast(VERDICTS).sort_by("id")
    with files.atomic(url) as f:
        pq.write_table(ordered, f, row_group_size=VERDICT_ROWS, compression="zstd")


@dataclass(frozen=True, kw_only=True, repr=False)
class DropIds(Stage):
    """Drop the documents that a verdict table names.

    verdicts: URL of a table that `write_verdicts` wrote. made_by: the key of what made it, so that the recipe does
    not depend on where the table lies.
    """

    verdicts: str
    made_by: str
    called: str = "DropIds"

    @property
    def name(self) -> str:
        """The name of the Estimator that decided."""
        return self.called

    def __repr__(self) -> str:
        return f"verdicts of {self.called}"

    def recipe(self) -> Any:
        """Who made the verdicts, not where they lie."""
        return (self.called, self.made_by)

    def __call__(self, batches: Iterator[Batch], stats: Meter) -> Iterator[Batch]:
        """Look each batch's id range up in the table."""
        with files.open_raw(self.verdicts) as f:
            table = VerdictReader(f)
            for batch in batches:
                if batch.num_rows == 0:
                    yield batch
                    continue
                ids = B.ids(batch)
                verdicts = table.between(int(ids.min()), int(ids.max()))
                hit = verdicts.filter(pc.is_in(verdicts.column("id"), batch.column("id"))).combine_chunks()
                if not hit.num_rows:
                    yield batch
                    continue
                why = {name: hit.column(name).combine_chunks() for name in VERDICTS.names[2:]}
                stats.drop(hit.column("id").to_numpy(), hit.column("reason"), **why)
                yield batch.filter(pc.invert(pc.is_in(batch.column("id"), hit.column("id").combine_chunks())))


class VerdictReader:
    """Reads the rows of an id range out of a verdict table, one row group at a time."""

    def __init__(self, f: Any) -> None:
        self.file = pq.ParquetFile(f)
        meta = self.file.metadata
        groups = range(meta.num_row_groups) if meta.num_rows else ()
        bounds = [meta.row_group(i).column(0).statistics for i in groups]
        self.first = [s.min for s in bounds]
        self.last = [s.max for s in bounds]
        self.held: dict[int, pa.Table] = {}

    def between(self, low: int, high: int) -> pa.Table:
        """The verdicts with low <= id <= high."""
        groups = [i for i, (a, b) in enumerate(zip(self.first, self.last, strict=True)) if a <= high and b >= low]
        self.held = {i: self.held.get(i) or self.file.read_row_group(i) for i in groups}
        if not groups:
            return VERDICTS.empty_table()
        rows = pa.concat_tables(self.held.values())
        ids = rows.column("id")
        span = (pa.scalar(low, pa.uint64()), pa.scalar(high, pa.uint64()))
        return rows.filter(pc.and_(pc.greater_equal(ids, span[0]), pc.less_equal(ids, span[1])))
