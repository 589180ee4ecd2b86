"""The tables of what is dropped and what is cut: their schemas, row classes, writers and the reader of id ranges.

A *drop table* or *cut table* belongs to a sealed Dataset and names the stage of each row. A *verdict table* is what an
Estimator writes for the stage that it returns: the same columns without `stage`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.errors import CorruptShard, ReadError
from dataprep.store import files

from . import batch as B
from .batch import Batch

DROPS = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("kept_in", pa.string()),  # the Dataset of the kept document; null: this one
        pa.field("kept", pa.uint64()),
        pa.field("similarity", pa.float32()),
    ]
)
CUTS = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),  # UTF-8 bytes of the text that the stage read
        pa.field("end", pa.int64(), nullable=False),
        pa.field("kept_in", pa.string()),
        pa.field("kept", pa.uint64()),  # the document of the first occurrence, and its offset there
        pa.field("kept_start", pa.int64()),
    ]
)
VERDICTS = pa.schema([field for field in DROPS if field.name != "stage"])
SPANS = pa.schema([field for field in CUTS if field.name != "stage"])
SPAN = np.dtype([("id", "<u8"), ("start", "<i8"), ("end", "<i8"), ("kept", "<u8"), ("kept_start", "<i8")])
NOBODY = np.uint64(2**64 - 1)  # `kept` of a span whose first occurrence is not known
VERDICT_ROWS = 1 << 16  # per row group: a worker reads only those of its shard's id range


def write_verdicts(url: str, tables: pa.Table | Iterable[pa.Table]) -> int:
    """Write a verdict table of dropped documents, and return the number of rows; ids ascend from table to table."""
    return _write(url, VERDICTS, [tables] if isinstance(tables, pa.Table) else tables)


def write_spans(url: str, spans: Iterable[npt.NDArray[Any]]) -> int:
    """Write a verdict table of cut spans, and return the number of rows.

    spans: arrays of SPAN in order of (id, start), disjoint in each document.
    """
    return _write(url, SPANS, map(_span_table, spans))


def _span_table(rows: npt.NDArray[Any]) -> pa.Table:
    known = pa.array(rows["kept"] != NOBODY)
    columns = {name: pa.array(np.ascontiguousarray(rows[name])) for name in SPAN.names or ()}
    for name in ("kept", "kept_start"):
        columns[name] = pc.if_else(known, columns[name], None)
    columns["kept_in"] = pa.nulls(len(rows), pa.string())
    return pa.Table.from_arrays([columns[name] for name in SPANS.names], schema=SPANS)


def _write(url: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
    n_rows, last = 0, 0
    with files.atomic(url) as f, pq.ParquetWriter(f, schema, compression="zstd") as writer:
        for table in tables:
            order = [(name, "ascending") for name in schema.names[:2]]
            ordered = table.select(schema.names).cast(schema).sort_by(order)
            if len(ordered):
                assert last <= ordered.column("id")[0].as_py(), "verdicts come in order of ids"
                last = ordered.column("id")[-1].as_py()
                n_rows += len(ordered)
                writer.write_table(ordered, VERDICT_ROWS)
    return n_rows


@dataclass(frozen=True)
class Drop:
    """One row of a drop table, and the sealed folder that the table belongs to."""

    id: int
    stage: str
    reason: str
    kept_in: str | None
    kept: int | None
    similarity: float | None
    folder: str


@dataclass(frozen=True)
class Cut:
    """One row of a cut table, and its sealed folder; offsets count bytes of the text that the stage read."""

    id: int
    stage: str
    start: int
    end: int
    kept_in: str | None
    kept: int | None
    kept_start: int | None
    folder: str


class RangeReader:
    """Reads the rows of an id range out of a verdict or span table, one row group at a time.

    Raises CorruptShard if the table is missing or has other columns.
    """

    def __init__(self, url: str, schema: pa.Schema) -> None:
        self.url, self.schema = url, schema
        with self._checked(), contextlib.ExitStack() as opened:
            self.file = pq.ParquetFile(opened.enter_context(files.open_raw(url)))
            if self.file.schema_arrow.names != schema.names:
                msg = f"its columns are {', '.join(self.file.schema_arrow.names)}"
                raise pa.ArrowInvalid(msg)
            self.opened = opened.pop_all()
        meta = self.file.metadata
        groups = range(meta.num_row_groups) if meta.num_rows else ()
        bounds = [meta.row_group(i).column(0).statistics for i in groups]
        self.first = [s.min for s in bounds]
        self.last = [s.max for s in bounds]
        self.held: dict[int, pa.Table] = {}

    def __enter__(self) -> RangeReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.close()

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (ReadError, pa.ArrowInvalid) as e:
            msg = f"{self.url} is not the verdict table that was written ({e}); remove its folder and run again"
            raise CorruptShard(msg) from e

    def of(self, batch: Batch) -> pa.Table:
        """Return the rows about documents of a batch."""
        if batch.num_rows == 0:
            return self.schema.empty_table()
        ids = B.ids(batch)
        found = self.between(int(ids.min()), int(ids.max()))
        return found.filter(pc.is_in(found.column("id"), batch.column("id"))).combine_chunks()

    def between(self, low: int, high: int) -> pa.Table:
        """Return the rows with low <= id <= high."""
        groups = [i for i, (a, b) in enumerate(zip(self.first, self.last, strict=True)) if a <= high and b >= low]
        with self._checked():
            self.held = {i: self.held.get(i) or self.file.read_row_group(i) for i in groups}
        if not groups:
            return self.schema.empty_table()
        rows = pa.concat_tables(self.held.values())
        ids = rows.column("id")
        span = (pa.scalar(low, pa.uint64()), pa.scalar(high, pa.uint64()))
        return rows.filter(pc.and_(pc.greater_equal(ids, span[0]), pc.less_equal(ids, span[1])))
