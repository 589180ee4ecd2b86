"""Schemas of the tables of dropped documents, cut spans and unread files; functions to write and read the first two.

A *drop table* or *cut table* belongs to a sealed Dataset and names the stage of each row. A *verdict table* is written
by an Estimator for the stage that it returns; it has the same columns, except `stage`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.errors import CorruptShard, DataprepError, Transient, raise_if_short
from dataprep.store import files

from ..output.layout import Folder
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
        pa.field("kept", pa.uint64()),  # the document of the first occurrence, and its bytes there
        pa.field("kept_start", pa.int64()),
        pa.field("kept_end", pa.int64()),
    ]
)
UNREAD = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),  # as `dp.read` listed it
        pa.field("reason", pa.string(), nullable=False),
        pa.field("offset", pa.int64()),  # decompressed bytes; null: nothing of the file was read
        pa.field("detail", pa.string()),
    ]
)
VERDICTS = pa.schema([field for field in DROPS if field.name != "stage"])
SPANS = pa.schema([field for field in CUTS if field.name != "stage"])
SPAN = np.dtype(
    [("id", "<u8"), ("start", "<i8"), ("end", "<i8"), ("kept", "<u8"), ("kept_start", "<i8"), ("kept_end", "<i8")]
)
NOBODY = np.uint64(2**64 - 1)  # `kept` of a span whose first occurrence is not known
VERDICT_ROWS = 1 << 16  # per row group: a worker reads only those of its shard's id range


def write_verdicts(url: str, tables: pa.Table | Iterable[pa.Table]) -> int:
    """Write an Estimator's table of documents to drop to `url`, and return its number of rows.

    tables: rows with the columns of VERDICTS, in one table or several. The ids of a table must not be less than those
    of the table before.
    """
    return write_rows(url, VERDICTS, [tables] if isinstance(tables, pa.Table) else tables)


def write_spans(url: str, spans: Iterable[npt.NDArray[Any] | pa.Table]) -> int:
    """Write an Estimator's table of spans to cut to `url`, and return its number of rows.

    spans: arrays of dtype SPAN, one row per span: document id, start, end, and the retained copy; or tables of
    `span_table`. No id of an array may be less than the ids of the array before; spans of one document may overlap.
    """
    return write_rows(url, SPANS, (rows if isinstance(rows, pa.Table) else span_table(rows) for rows in spans))


def united(ids: npt.NDArray[Any], start: npt.NDArray[Any], end: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Merge spans of a document that overlap or touch; return the arrays (ids, starts, ends), sorted by id and start.

    ids: the document of each given span. start, end: the offsets of each span. Spans may be in any order.
    """
    order = np.lexsort((start, ids))
    ids, start, end = ids[order], start[order], end[order]
    base = np.cumsum(np.diff(ids, prepend=ids[:1]) != 0) * (int(end.max(initial=0)) + 1)
    reach = np.maximum.accumulate(end + base) if len(end) else end
    first = np.flatnonzero(np.append(True, (start + base)[1:] > reach[:-1])) if len(end) else order
    last = np.append(first[1:], len(end))[: len(first)] - 1
    return ids[first], start[first], (reach - base)[last]


def span_table(rows: npt.NDArray[Any], kept_in: pa.Array | None = None) -> pa.Table:
    """Return spans to cut, an array of dtype SPAN, as a table with the columns of SPANS.

    kept_in: the folder of the Dataset of each retained copy, null for this one; None: all are of this one.
    """
    known = pa.array(rows["kept"] != NOBODY)
    columns = {name: pa.array(np.ascontiguousarray(rows[name])) for name in SPAN.names or ()}
    for name in ("kept", "kept_start", "kept_end"):
        columns[name] = pc.if_else(known, columns[name], None)
    columns["kept_in"] = pa.nulls(len(rows), pa.string()) if kept_in is None else kept_in
    return pa.Table.from_arrays([columns[name] for name in SPANS.names], schema=SPANS)


def write_rows(url: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
    """Write rows with the columns of `schema` to the Parquet file `url`, and return their number.

    No id of a table may be less than the ids of the table before.
    """
    n_rows, last = 0, 0
    with files.atomic(url) as f, _writer(f, schema) as writer:
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
    """One row of a table of dropped documents, and the output folder that the table belongs to.

    id: the dropped document. stage: the stage that dropped it. reason: the reason of the drop. kept: the document that
    was kept instead. kept_in: the Dataset that contains `kept`; None if it is the same as that of `id`. similarity: the
    similarity of the documents `id` and `kept`.
    """

    id: int
    stage: str
    reason: str
    kept_in: str | None
    kept: int | None
    similarity: float | None
    folder: str


@dataclass(frozen=True)
class Cut:
    """One row of a table of spans cut out of texts, and the output folder that the table belongs to.

    id: the document. stage: the stage that cut the span. start, end: the span's offsets, in bytes, in the text that the
    stage read. kept: the document that retains a copy of the cut text. kept_start, kept_end: the offsets of the copy in
    that document. kept_in: the Dataset that contains `kept`; None if it is the same as that of `id`.
    """

    id: int
    stage: str
    start: int
    end: int
    kept_in: str | None
    kept: int | None
    kept_start: int | None
    kept_end: int | None
    folder: str


@contextlib.contextmanager
def checked(
    url: str, what: str = "table that was written", fix: str = "`dataprep verify DIR --repair PIPELINE` makes it again"
) -> Iterator[None]:
    """Turn errors inside the `with` block into CorruptShard for the file `url`, except those of network and memory.

    what: the kind of file that was expected, for the message. fix: the advice to the user, for the message.
    """
    try:
        yield
    except (Transient, ConnectionError, TimeoutError):  # not the fault of the file
        raise
    except (pa.ArrowException, OSError, DataprepError) as e:
        raise_if_short(e)
        state = str(e).rstrip(".") if files.exists(url) else "it is missing"
        msg = f"{url} is not the {what} ({state}); {fix}"
        raise CorruptShard(msg) from e


class FileWriter(pq.ParquetWriter):
    """A writer of Parquet that does not complete its file when it is freed.

    pyarrow's own tries to, after an error also into a file that is closed, and prints a traceback of that.
    """

    def __del__(self) -> None:
        pass


def _writer(f: Any, schema: pa.Schema) -> pq.ParquetWriter:
    return FileWriter(f, schema, compression="zstd", write_page_checksum=True)


def _check_columns(found: pa.Schema, schema: pa.Schema) -> None:
    if found.names != schema.names:
        msg = f"the columns are {', '.join(found.names)}"
        raise pa.ArrowInvalid(msg)


def read_tables(url: str, kind: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all tables of dropped documents or cut spans of the Dataset in the folder `url`.

    kind: folder.DROPS or folder.CUTS. columns: names of the columns to read; None: all.

    Raises CorruptShard if a table is missing or damaged.
    """
    schema = {"drops": DROPS, "cuts": CUTS}[kind]
    encoded = [field.name for field in schema if field.type == pa.string()]
    for table in Folder(url).tables(kind):
        with checked(table), files.open_arrow(table) as f:
            _check_columns(pq.read_schema(f), schema)
            parquet = pq.ParquetFile(f, read_dictionary=encoded, page_checksum_verification=True)
            yield from parquet.iter_batches(1 << 16, columns=None if columns is None else list(columns))


def rows_of_id(url: str, id_: int) -> list[dict[str, Any]]:
    """Return the rows with the id `id_` of a Parquet file, as dicts; only row groups that may contain the id are read.

    Raises CorruptShard if the file is missing or damaged.
    """
    with checked(url), files.open_arrow(url) as f:
        return list(pq.read_table(f, filters=[("id", "=", id_)]).to_pylist())


class RangeReader:
    """Reads an Estimator's table (of documents to drop or spans to cut) batch by batch, one row group at a time.

    Raises CorruptShard if the table is missing or has the wrong columns.
    """

    def __init__(self, url: str, schema: pa.Schema) -> None:
        self.url, self.schema = url, schema
        with self._checked(), contextlib.ExitStack() as opened:
            opened_file = opened.enter_context(files.open_arrow(url))
            self.file = pq.ParquetFile(opened_file, page_checksum_verification=True)
            _check_columns(self.file.schema_arrow, schema)
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

    def _checked(self) -> contextlib.AbstractContextManager[None]:
        return checked(self.url, "verdict table that was written", "remove its folder and run again")

    def of(self, batch: Batch) -> pa.Table:
        """Return the rows of the table that belong to documents of `batch`."""
        numbers = B.ids(batch)
        low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (1, 0)
        groups = [i for i, (a, b) in enumerate(zip(self.first, self.last, strict=True)) if a <= high and b >= low]
        with self._checked():
            self.held = {i: self.held.get(i) or self.file.read_row_group(i) for i in groups}
        if not groups:
            return self.schema.empty_table()
        rows = pa.concat_tables(self.held.values())
        ids = rows.column("id")
        span = (pa.scalar(low, pa.uint64()), pa.scalar(high, pa.uint64()))
        found = rows.filter(pc.and_(pc.greater_equal(ids, span[0]), pc.less_equal(ids, span[1])))
        return found.filter(pc.is_in(found.column("id"), batch.column("id"))).combine_chunks()
