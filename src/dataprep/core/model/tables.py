"""Schemas of the tables of dropped documents, cut spans and unread files; functions to write and read tables.

A *drop table* or *cut table* belongs to a sealed Dataset and names the stage of each row. A *verdict table* is written
by an Estimator for the stage that it returns. It has the same columns except `stage`, `source` and `bytes`, which the
`Ledger` fills in.

Columns are identified by name, not by position. `new_rows` fills the columns that a writer does not name with nulls.
`conform` reads files that have more or fewer columns than the schema. Adding a nullable column therefore takes one line
in this file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.errors import CorruptShard, DataprepError, Replaced, Transient, raise_if_short
from dataprep.lazy import compute as pc
from dataprep.lazy import parquet as pq
from dataprep.store import files
from dataprep.store.parquet import AnyRows, parts_of, sorted_rows, write_table

DROPS = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("duplicate_of_dataset", pa.string()),  # the Dataset of the kept document; null: this Dataset
        pa.field("duplicate_of", pa.uint64()),
        pa.field("similarity", pa.float32()),
        pa.field("source", pa.string()),  # of the document; null if a later stage hides it
        pa.field("bytes", pa.int64()),  # of its text, as the stage received it
        pa.field("value", pa.float64()),  # the number that the rule compared
        pa.field("label", pa.string()),  # the label that a classifier assigned
    ]
)
CUTS = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),  # UTF-8 bytes of the text that the stage read
        pa.field("end", pa.int64(), nullable=False),
        pa.field("duplicate_of_dataset", pa.string()),
        pa.field("duplicate_of", pa.uint64()),  # the document of the first occurrence, and its bytes there
        pa.field("duplicate_of_start", pa.int64()),
        pa.field("duplicate_of_end", pa.int64()),
        pa.field("reason", pa.string()),  # the rule that cut the span; null: the stage has only one rule
        pa.field("source", pa.string()),
    ]
)
UNREAD = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),  # as `dp.read` listed it
        pa.field("reason", pa.string(), nullable=False),
        pa.field("offset", pa.int64()),  # decompressed bytes; null: no part of the file was read
        pa.field("detail", pa.string()),
    ]
)
UNREADABLE, EMPTY, QUARANTINED = "unreadable", "empty", "quarantined"  # reasons of UNREAD
BAD_DIGEST, DAMAGED, SEGMENTED = "bad_digest", "damaged", "segmented"  # read, except for some records
BY_LEDGER = ("stage", "source", "bytes")  # the columns that only a Ledger can fill
VERDICTS = pa.schema([field for field in DROPS if field.name not in BY_LEDGER])
SPANS = pa.schema([field for field in CUTS if field.name not in BY_LEDGER])
ID = pa.schema([DROPS.field("id")])
SCHEMAS = {"drops": DROPS, "cuts": CUTS}  # by kind, as `core/output/layout.py` names them
SPAN = np.dtype(
    [
        ("id", "<u8"),
        ("start", "<i8"),
        ("end", "<i8"),
        ("duplicate_of", "<u8"),
        ("duplicate_of_start", "<i8"),
        ("duplicate_of_end", "<i8"),
    ]
)
JOINED = "joined"  # the reason of a message that became part of the document `duplicate_of`
NOBODY = np.uint64(2**64 - 1)  # `duplicate_of` of a span whose first occurrence is not known
VERDICT_ROWS = 1 << 16  # per row group: a worker reads only those of its shard's id range
ORDER = ("id", "start", "reason")  # the columns by which the rows of a verdict table are sorted
IDS = (0, 2**64 - 1)  # the smallest and the largest possible id

AnyRow = TypeVar("AnyRow")


def new_rows(schema: pa.Schema, /, **columns: Any) -> pa.RecordBatch:
    """Return new rows of a table with the columns of `schema`, given by name; columns that are not given contain nulls.

    - columns: for each column, an array with one value per row, a single value for all rows, or None for nulls; the
      first must be an array.

    Raises TypeError if the schema has no such column, or if a required column is not given.
    """
    known = list(schema)
    wrong = [*columns.keys() - {field.name for field in known}]
    wrong += [field.name for field in known if not field.nullable and field.name not in columns]
    if wrong:
        needed = ", ".join(f"{field.name}{' (optional)' if field.nullable else ''}" for field in known)
        msg = f"the columns of a table must be {needed}; wrong or missing: {', '.join(wrong)}"
        raise TypeError(msg)
    n = len(next(iter(columns.values())))
    arrays = [_array(columns.get(field.name), field.type, n) for field in known]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Any, kind: pa.DataType, n: int) -> pa.Array:
    if values is None:
        return pa.nulls(n, kind)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(kind)
    if isinstance(values, (str, int, float)):
        return pa.repeat(pa.scalar(values, kind), n)
    return pa.array(np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values, kind)


def without_columns(rows: pa.Table, *names: str) -> pa.Table:
    """Return the rows with nulls in the columns `names`."""
    for name in names:
        field = rows.schema.field(name)
        rows = rows.set_column(rows.schema.get_field_index(name), field, pa.nulls(len(rows), field.type))
    return rows


def conform(rows: AnyRows, schema: pa.Schema) -> AnyRows:
    """Return the rows of a file with the columns of `schema`: other columns are removed, missing columns contain nulls.

    Raises ArrowInvalid, which `checked` converts to CorruptShard, if a required column is missing.
    """
    if rows.schema.equals(schema):
        return rows
    known = known_columns(rows.schema, schema)
    columns = [
        rows.column(field.name).cast(field.type) if field.name in known else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return type(rows).from_arrays(columns, schema=schema)


def known_columns(found: pa.Schema, schema: pa.Schema) -> list[str]:
    """Return the names of those columns of `schema` that are in `found`; raise ArrowInvalid as `conform` does."""
    missing = [field.name for field in schema if not field.nullable and field.name not in found.names]
    if missing:
        msg = f"there is no column {', '.join(missing)}"
        raise pa.ArrowInvalid(msg)
    return [name for name in schema.names if name in found.names]


def write_verdicts(url: str, tables: pa.Table | Iterable[pa.Table | pa.RecordBatch]) -> int:
    """Write an Estimator's table of documents to drop to `url`, and return its number of rows.

    The ids in a table must not be less than those in the previous table.

    - tables: rows with the columns of VERDICTS, in one or more tables; optional columns may be missing.
    """
    return write_rows(url, VERDICTS, [tables] if isinstance(tables, pa.Table) else tables)


def write_spans(url: str, spans: Iterable[npt.NDArray[Any] | pa.RecordBatch]) -> int:
    """Write an Estimator's table of spans to cut to `url`, and return its number of rows.

    The ids in an array must not be less than those in the previous array. Spans of one document may overlap.

    - spans: arrays of dtype SPAN, one row per span: document id, start, end, and the retained copy; or rows of
      `span_rows`.
    """
    return write_rows(url, SPANS, (span_rows(rows) if isinstance(rows, np.ndarray) else rows for rows in spans))


def united(ids: npt.NDArray[Any], start: npt.NDArray[Any], end: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Merge spans of a document that overlap or touch; return the arrays (ids, starts, ends), sorted by id and start.

    Args:
        ids: the document of each given span.
        start: the offset at which each span begins. Spans may be in any order.
        end: the offset after the last byte of each span.
    """
    if not len(ids):
        return ids, start, end
    joins = ids[1:] == ids[:-1]
    if (ids[1:] < ids[:-1]).any() or (joins & (start[1:] < start[:-1])).any():
        order = np.lexsort((start, ids))
        ids, start, end = ids[order], start[order], end[order]
        joins = ids[1:] == ids[:-1]
    if not (joins & (end[1:] < end[:-1])).any():  # no span within another one
        cuts = np.flatnonzero(~joins | (start[1:] > end[:-1]))
        first, last = (np.concatenate(ends) for ends in (([0], cuts + 1), (cuts, [len(ids) - 1])))
        return ids[first], start[first], end[last]
    base = np.append(0, np.cumsum(~joins)) * (int(end.max()) + 1)
    reach = np.maximum.accumulate(end + base)
    first = np.flatnonzero(np.append(True, (start + base)[1:] > reach[:-1]))
    last = np.append(first[1:], len(end)) - 1
    return ids[first], start[first], (reach - base)[last]


def span_rows(
    rows: npt.NDArray[Any], duplicate_of_dataset: pa.Array | None = None, reason: Any = None
) -> pa.RecordBatch:
    """Return spans to cut, an array of dtype SPAN, as rows with the columns of SPANS.

    - duplicate_of_dataset: the folder of the Dataset that contains each retained copy, or null for this Dataset; None:
      all copies are in this Dataset.
    - reason: the rule that cuts each span; None if the stage has only one rule.
    """
    is_known = rows["duplicate_of"] != NOBODY
    columns = {name: pa.array(np.ascontiguousarray(rows[name])) for name in SPAN.names or ()}
    for name in () if is_known.all() else ("duplicate_of", "duplicate_of_start", "duplicate_of_end"):
        columns[name] = pc.if_else(pa.array(is_known), columns[name], None)
    return new_rows(SPANS, **columns, duplicate_of_dataset=duplicate_of_dataset, reason=reason)


def write_rows(
    url: str, schema: pa.Schema, tables: Iterable[pa.Table | pa.RecordBatch], file_groups: int | None = None
) -> int:
    """Write rows with the columns of `schema` to the Parquet file `url`, and return their number.

    A table with more than FILE_GROUPS row groups is written as a folder of files, see `write_table`. No id in a table
    may be less than the ids in the previous table. Rows with the same id are in the order of `ORDER`.

    - file_groups: as in `write_table`.
    """
    order = [(name, "ascending") for name in ORDER if name in schema.names]
    counted = {"rows": 0, "last": 0}

    def ordered() -> Iterator[pa.Table]:
        for table in tables:
            rows = sorted_rows(conform(table, schema), order)
            if len(rows):
                assert counted["last"] <= rows.column("id")[0].as_py(), "verdicts come in order of ids"
                counted["last"] = rows.column("id")[-1].as_py()
                counted["rows"] += len(rows)
                yield rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])

    if files.is_dir(url):  # the files of an earlier table
        from ..output.owned import discard

        discard(url)
    write_table(url, schema, ordered(), VERDICT_ROWS, file_groups)
    return counted["rows"]


@dataclass(frozen=True)
class Drop:
    """One row of a table of dropped documents, and the output folder that the table belongs to.

    Attributes:
        id: the dropped document.
        stage: the stage that dropped it.
        reason: the reason for which the document was dropped.
        duplicate_of: the document that was kept instead.
        duplicate_of_dataset: the Dataset that contains `duplicate_of`; None if it is the same as that of `id`.
        similarity: the similarity of the documents `id` and `duplicate_of`.
        source: the document's source.
        bytes: the size of its text in UTF-8 bytes.
        value: the number that the rule compared.
        label: the label of a classifier, such as the language.
    """

    id: int
    stage: str
    reason: str
    duplicate_of_dataset: str | None
    duplicate_of: int | None
    similarity: float | None
    source: str | None
    bytes: int | None
    value: float | None
    label: str | None
    folder: str


@dataclass(frozen=True)
class Cut:
    """One row of a table of spans cut out of texts, and the output folder that the table belongs to.

    Attributes:
        id: the document.
        stage: the stage that cut the span.
        start: the offset of the span's first byte in the text that the stage read.
        end: the offset after the span's last byte.
        duplicate_of: the document that retains a copy of the cut text.
        duplicate_of_start: the offset, in bytes, at which the copy begins in that document.
        duplicate_of_end: the offset after the last byte of the copy.
        duplicate_of_dataset: the Dataset that contains `duplicate_of`; None if it is the same as that of `id`.
        reason: the rule that cut the span; None if the stage has only one rule.
        source: the document's source.
    """

    id: int
    stage: str
    start: int
    end: int
    duplicate_of_dataset: str | None
    duplicate_of: int | None
    duplicate_of_start: int | None
    duplicate_of_end: int | None
    reason: str | None
    source: str | None
    folder: str


@dataclass(frozen=True)
class Unread:
    """One row of the table of files that were not read, or not read to the end.

    Attributes:
        file: the file's URL.
        reason: one word, such as "unreadable".
        offset: the offset at which reading stopped, in decompressed bytes.
        detail: a sentence, such as the error message.
    """

    file: str
    reason: str
    offset: int | None = None
    detail: str | None = None


def row_object(kind: type[AnyRow], row: Mapping[str, Any], **more: Any) -> AnyRow:
    """Return an object of the dataclass `kind` whose field values are taken from `row` and `more`.

    Columns of the row without a corresponding field are ignored.
    """
    own = {field.name: row[field.name] for field in fields(kind) if field.name not in more}  # type: ignore[arg-type]
    return kind(**own, **more)


@contextlib.contextmanager
def checked(
    url: str, what: str = "table that was written", fix: str = "`dataprep verify DIR --repair PIPELINE` restores it"
) -> Iterator[None]:
    """Convert errors raised inside the `with` block to CorruptShard for the file `url`.

    Network and out-of-memory errors are raised unchanged.

    - what: the kind of file that was expected, for the message.
    - fix: the advice to the user, for the message.

    Raises Replaced if a later run removed the file.
    """
    try:
        yield
    except (Replaced, Transient, ConnectionError, TimeoutError):  # not the fault of the file
        raise
    except (pa.ArrowException, OSError, DataprepError) as e:
        from ..output.layout import at_hand

        raise_if_short(e)
        at_hand(url)
        state = str(e).rstrip(".") if files.exists(url) else "it is missing"
        msg = f"cannot read {url} as the {what}: {state}; {fix}"
        raise CorruptShard(msg) from e


@contextlib.contextmanager
def opened(url: str, schema: pa.Schema) -> Iterator[pq.ParquetFile]:
    """Open a table with the columns of `schema`, to be read with `conform`.

    Raises CorruptShard, also inside the `with` block, if the file is missing or damaged, or lacks a required column.
    """
    from ..output.layout import at_hand

    with checked(url), files.open_arrow(at_hand(url)) as f:
        file = pq.ParquetFile(f, page_checksum_verification=True)
        known_columns(file.schema_arrow, schema)
        yield file


def read_rows(url: str, schema: pa.Schema) -> pa.Table:
    """Return all rows of a table, with the columns of `schema`. Raises CorruptShard as `opened` does."""
    if files.is_dir(url):
        with checked(url):
            return pa.concat_tables([read_rows(one, schema) for one, _ in parts_of(url)])
    with opened(url, schema) as file:
        return conform(file.read(known_columns(file.schema_arrow, schema)), schema)


def id_bounds(metadata: pq.FileMetaData) -> list[tuple[int, int]]:
    """Return the smallest and the largest id in each row group of a Parquet file; IDS if these are not stated."""
    at = [i for i in range(metadata.num_columns) if metadata.schema.column(i).path == "id"]
    groups = range(metadata.num_row_groups) if metadata.num_rows else ()
    stated = [metadata.row_group(group).column(at[0]).statistics for group in groups]
    return [IDS if s is None or not s.has_min_max else (int(s.min), int(s.max)) for s in stated]


def read_tables(url: str, kind: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all tables of dropped documents or cut spans of the Dataset in the folder `url`.

    - kind: folder.DROPS or folder.CUTS.
    - columns: the names of the columns to read; None means all. String columns are dictionary-encoded.

    Raises CorruptShard if a table is missing or damaged.
    """
    from ..output.layout import Folder, at_hand

    schema = SCHEMAS[kind]
    encoded = [field.name for field in schema if field.type == pa.string()]
    coded = [f.with_type(pa.dictionary(pa.int32(), f.type)) if f.name in encoded else f for f in schema]
    wanted = pa.schema([field for field in coded if columns is None or field.name in columns])
    for table in Folder(url).tables(kind):
        with checked(table), files.open_arrow(at_hand(table)) as f:
            known = known_columns(pq.read_schema(f), schema)
            coded_here = [name for name in encoded if name in known]
            parquet = pq.ParquetFile(f, read_dictionary=coded_here, page_checksum_verification=True)
            for batch in parquet.iter_batches(1 << 16, columns=[name for name in known if name in wanted.names]):
                yield conform(batch, wanted)


def rows_between(url: str, first: int, last: int, schema: pa.Schema | None = None) -> pa.Table:
    """Return the rows of a Parquet file with ids from `first` to `last`; row groups without such ids are not read.

    - schema: the columns of the table, as for `conform`; None: all columns of the file, unchanged.

    Raises CorruptShard as `opened` does.
    """
    with opened(url, ID if schema is None else schema) as file:
        groups = [i for i, (low, high) in enumerate(id_bounds(file.metadata)) if low <= last and high >= first]
        if schema is None:
            return between(file.read_row_groups(groups), first, last)
        rows = file.read_row_groups(groups, known_columns(file.schema_arrow, schema))
        return between(conform(rows, schema), first, last)


def between(rows: pa.Table, first: int, last: int) -> pa.Table:
    """Return the rows with ids from `first` to `last`."""
    ids, low, high = rows.column("id"), pa.scalar(first, pa.uint64()), pa.scalar(last, pa.uint64())
    return rows.filter(pc.and_(pc.greater_equal(ids, low), pc.less_equal(ids, high)))


def rows_of_ids(url: str, ids: Sequence[int], schema: pa.Schema | None = None) -> Iterator[dict[str, Any]]:
    """Yield rows of a Parquet file with the given ids, in ascending order, as dicts; other row groups are not read.

    The schema and the errors are those of `rows_between`.
    """
    wanted = np.array(ids, np.uint64)
    with opened(url, ID if schema is None else schema) as file:
        names = None if schema is None else known_columns(file.schema_arrow, schema)
        for group, (low, high) in enumerate(id_bounds(file.metadata)):
            first, last = np.searchsorted(wanted, np.array([low, high], np.uint64))
            if first < len(wanted) and (first < last or wanted[first] == high):
                here = file.read_row_group(group, ["id"], use_threads=False).column("id")
                hit = pc.is_in(here, pa.array(wanted))
                if pc.any(hit).as_py():
                    rows = file.read_row_group(group, names, use_threads=False).filter(hit)
                    yield from (rows if schema is None else conform(rows, schema)).to_pylist()
