"""Verdicts: the tables of what is dropped or cut, why and for whom, and the Stages that apply them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import batch as B
from . import files
from .batch import Batch
from .errors import CorruptShard, PlanError, ReadError
from .meter import Meter
from .stage import Stage, drop_rows

VERDICTS = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("kept_in", pa.string()),  # the Dataset the survivor lives in; null is this one
        pa.field("kept", pa.uint64()),
        pa.field("similarity", pa.float32()),
    ]
)
SPANS = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),  # UTF-8 bytes of the text that the stage reads
        pa.field("end", pa.int64(), nullable=False),
        pa.field("kept_in", pa.string()),  # the Dataset the first occurrence lives in; null is this one
        pa.field("kept", pa.uint64()),
        pa.field("kept_start", pa.int64()),
    ]
)
SPAN = np.dtype([("id", "<u8"), ("start", "<i8"), ("end", "<i8"), ("kept", "<u8"), ("kept_start", "<i8")])
NOBODY = np.uint64(2**64 - 1)  # `kept` of a span whose first occurrence is not known
VERDICT_ROWS = 1 << 16  # a worker reads only the row groups of its shard's id range


def write_verdicts(url: str, tables: pa.Table | Iterable[pa.Table]) -> int:
    """Write who is dropped, why, and for whom; ids ascend from table to table. Returns how many."""
    return _write(url, VERDICTS, [tables] if isinstance(tables, pa.Table) else tables)


def write_spans(url: str, spans: Iterable[npt.NDArray[Any]]) -> int:
    """Write what is cut: arrays of SPAN in order of (id, start), disjoint in each document. Returns how many."""
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


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict(Stage):
    """Applies a table that an Estimator wrote; reads nothing but ids and texts, so it is applied while reading.

    made_by: the key of what made the table, so that the recipe does not depend on where it lies. facts: what the
    Estimator counted, for people.
    """

    made_by: str
    called: str
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)
    keyless: ClassVar[bool] = False  # whether keys leave it out, as they do the forget list

    @property
    def name(self) -> str:
        """The name of the Estimator that decided."""
        return self.called

    def __repr__(self) -> str:
        return f"verdicts of {self.called}"

    def recipe(self) -> Any:
        """Who made the verdicts, not where they lie."""
        return (self.called, self.made_by)


@dataclass(frozen=True, kw_only=True, repr=False)
class DropIds(Verdict):
    """Drop the documents that a verdict table names; verdicts: the URL of one that `write_verdicts` wrote."""

    verdicts: str

    def __call__(self, batches: Iterator[Batch], stats: Meter) -> Iterator[Batch]:
        """Look each batch's id range up in the table."""
        with VerdictReader(self.verdicts, VERDICTS) as table:
            for batch in batches:
                hit = table.of(batch)
                if not hit.num_rows:
                    yield batch
                    continue
                why = {name: hit.column(name).combine_chunks() for name in VERDICTS.names[2:]}
                stats.drop(hit.column("id").to_numpy(), hit.column("reason"), **why)
                yield batch.filter(pc.invert(pc.is_in(batch.column("id"), hit.column("id").combine_chunks())))


def check_min_left(min_left: Any) -> None:
    """A PlanError if this is not what `CutSpans` takes as `min_left`."""
    if not isinstance(min_left, int) or min_left < 0:
        msg = f"min_left={min_left!r} is not a number of characters, an integer from 0 on; give 0 or more"
        raise PlanError(msg)


@dataclass(frozen=True, kw_only=True, repr=False)
class CutSpans(Verdict):
    """Cut the spans that a table names out of the texts; spans: the URL of one that `write_spans` wrote.

    A document that lost something and of which fewer than `min_left` characters other than white space are left is
    dropped: "left_too_short".
    """

    spans: str
    min_left: int = 1

    def recipe(self) -> Any:
        """Who made the spans, and what is done with too little."""
        return (*super().recipe(), self.min_left)

    def warm(self) -> None:
        """Compile the kernel."""
        from . import text

        one = np.array([0, 1])
        text.without(*B.buffers(B.make([0], ["a"], "warm")), one, one[:1], one[1:])

    def __call__(self, batches: Iterator[Batch], stats: Meter) -> Iterator[Batch]:
        """Look each batch's id range up in the table, and copy the texts without their spans."""
        with VerdictReader(self.spans, SPANS) as table:
            for batch in batches:
                hit = table.of(batch)
                if not hit.num_rows:
                    yield batch
                    continue
                found = {name: hit.column(name).combine_chunks() for name in SPANS.names}
                stats.cut(found["id"], **{name: found[name] for name in SPANS.names[1:]})
                yield self._cut(batch, found, stats)

    def _cut(self, batch: Batch, found: Mapping[str, Any], stats: Meter) -> Batch:
        from . import text  # Numba: opening a Dataset does not wait for it

        ids = B.ids(batch)
        order = np.argsort(ids, kind="stable")
        row = order[np.searchsorted(ids, found["id"].to_numpy(), sorter=order)]
        by_row = np.argsort(row, kind="stable")
        first = np.searchsorted(row[by_row], np.arange(len(ids) + 1))
        starts, ends = (found[name].to_numpy()[by_row] for name in ("start", "end"))
        offsets, data, left = text.without(*B.buffers(batch), first, starts, ends)
        short = (np.diff(first) > 0) & (left < self.min_left)
        reasons = pc.if_else(pa.array(short), "left_too_short", None)
        kept = drop_rows(batch, reasons, stats)
        texts = B.strings(offsets, data)
        return B.with_column(kept, "text", texts.filter(pa.array(~short)) if short.any() else texts)


class VerdictReader:
    """Reads the rows of an id range out of a verdict or span table, one row group at a time.

    Errors: CorruptShard if the table is missing or not one.
    """

    def __init__(self, url: str, schema: pa.Schema) -> None:
        self.url, self.schema = url, schema
        with self._told(), contextlib.ExitStack() as opened:
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

    def __enter__(self) -> VerdictReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (ReadError, pa.ArrowInvalid) as e:
            msg = f"{self.url} is not the verdict table that was written ({e}); remove its folder and run again"
            raise CorruptShard(msg) from e

    def of(self, batch: Batch) -> pa.Table:
        """The verdicts on the documents of a batch."""
        if batch.num_rows == 0:
            return self.schema.empty_table()
        ids = B.ids(batch)
        found = self.between(int(ids.min()), int(ids.max()))
        return found.filter(pc.is_in(found.column("id"), batch.column("id"))).combine_chunks()

    def between(self, low: int, high: int) -> pa.Table:
        """The verdicts with low <= id <= high."""
        groups = [i for i, (a, b) in enumerate(zip(self.first, self.last, strict=True)) if a <= high and b >= low]
        with self._told():
            self.held = {i: self.held.get(i) or self.file.read_row_group(i) for i in groups}
        if not groups:
            return self.schema.empty_table()
        rows = pa.concat_tables(self.held.values())
        ids = rows.column("id")
        span = (pa.scalar(low, pa.uint64()), pa.scalar(high, pa.uint64()))
        return rows.filter(pc.and_(pc.greater_equal(ids, span[0]), pc.less_equal(ids, span[1])))
