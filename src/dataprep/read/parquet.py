"""Parquet files: one document per row, the text in a string column.

The position of a document is its row. The other columns are written to `meta` as JSON, or become columns with their
own types. Rows whose text is null (`no_text`), not UTF-8 (`invalid_utf8`) or over max_doc_bytes (`too_long`) are
dropped.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Reader, Slice
from dataprep.errors import ReadError, raise_if_short
from dataprep.read.json.columns import arrow_type, check_taken
from dataprep.store import files
from dataprep.unicode.valid import is_utf8

from .parquet_rows import decoded, pieces, rows_at_once
from .source_field import PREFIX, as_sources, field_path
from .text_field import meant, paths_in, place_of, taken_out, type_at
from .trust import MAX_DOC_BYTES


@dataclass(frozen=True, kw_only=True)
class Parquet(Reader):
    """Reads Parquet files, one document per row.

    Attributes:
        text: the column that contains the text, or "OUTER.INNER" for a field of a struct.
        columns: pairs (name, Arrow type) of further columns to keep as columns.
        meta: whether to keep the rest as JSON.
        max_doc_bytes: rows with longer texts are dropped.
        source: "field:NAME" or "field:OUTER.INNER" (in a struct, or in a string with JSON), the column that names the
            source of a document.
    """

    thread_safe: ClassVar[bool] = True

    text: str = "text"
    columns: tuple[tuple[str, str], ...] = ()
    meta: bool = True
    max_doc_bytes: int = MAX_DOC_BYTES
    source: str = ""

    def __post_init__(self) -> None:
        check_taken(self.text, [name for name, _ in self.columns])
        field_path(self.source, self.text)
        for _, kind in self.columns:
            arrow_type(kind)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns that this reader adds to id, text, source and meta, as {name: type}."""
        return {name: arrow_type(kind) for name, kind in self.columns}

    @classmethod
    def types_of(cls, url: str, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return (name, Arrow type) of each of the columns `names` of a file; nested columns become JSON strings."""
        with _open(url) as (file, _):
            schema = file.schema_arrow
        absent = [name for name in names if name not in schema.names]
        if absent:
            msg = f"there is no column {', '.join(absent)}; the columns are {_show(schema)}"
            raise ReadError(msg, url)
        return tuple((name, _kind(schema.field(name).type)) for name in names)

    def enters(self, url: str) -> bool:  # noqa: ARG002 - the compression is inside the format
        """Return True: reading can begin inside a file, since its footer states the offset of every row group."""
        return True

    def cuts(self, url: str, n_bytes: int, target: int) -> list[tuple[int, int | None, int]]:  # noqa: ARG002
        """Check the file's schema, and return its slices, one per task: (first row, row after the last, decoded bytes).

        A slice is one row group, or several of up to `target` decoded bytes in total.

        - n_bytes: the file's size.
        """
        with _open(url) as (file, _):
            self._check(file.schema_arrow, url)
            found: list[tuple[int, int | None, int]] = []
            start = row = size = 0
            for k in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(k)
                if size and size + group.total_byte_size > target:
                    found.append((start, row, size))
                    start, size = row, 0
                row, size = row + group.num_rows, size + group.total_byte_size
            if row == 0:
                msg = "the file has no rows; leave it out"
                raise ReadError(msg, url, reason="empty")
            return [*found, (start, row, size)]

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of the rows [piece.start, piece.stop) as batches; rows without valid text are dropped."""
        with _open(piece.url) as (file, raw):
            self._check(file.schema_arrow, piece.url)
            row, seen = 0, set[str]()
            for k in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(k).num_rows
                if piece.start < row + rows and (piece.stop is None or row < piece.stop):
                    n = rows_at_once(raw, file.metadata, k, self._wanted, piece.url)
                    batches = file.iter_batches(n, [k], self._wanted, use_threads=False)
                    yield from self._group(batches, row, piece, stats, seen)
                row += rows

    def _check(self, schema: pa.Schema, url: str) -> None:
        kind = type_at(schema, self.text)
        if kind is None or not _is_text(_plain(kind)):
            state = f"has the type {_plain(kind)}, not string" if kind else "does not exist"
            texts = [name for name in paths_in(schema) if _is_text(_plain(type_at(schema, name)))]
            near = meant(self.text, texts) or "; name one of them with text="
            msg = f"the text column {self.text!r} {state}; the columns are {_show(schema)}{near}"
            raise ReadError(msg, url)
        named = self.source.removeprefix(PREFIX)
        absent = [name for name in self._named if name not in schema.names and named not in schema.names]
        if absent:
            near = meant(named, paths_in(schema))
            msg = f"there is no column {absent[0]}, which source= names; the columns are {_show(schema)}{near}"
            raise ReadError(msg, url)

    @property
    def _named(self) -> list[str]:
        """The column that has the source, as a list; [] if none is named."""
        return list(field_path(self.source, self.text)[:1])

    @property
    def _wanted(self) -> list[str] | None:
        named = [*self._named, self.source.removeprefix(PREFIX)] if self.source else []
        return None if self.meta else [self.text, *(name for name, _ in self.columns), *named]

    def _group(
        self, batches: Iterator[Batch], row: int, piece: Slice, stats: Ledger, seen: set[str]
    ) -> Iterator[Batch]:
        """Yield the documents of a row group; `row` is the position of its first row."""
        for batch in batches:
            first = max(0, piece.start - row)
            last = batch.num_rows if piece.stop is None else max(first, min(batch.num_rows, piece.stop - row))
            row += first
            for rows in pieces(batch.slice(first, last - first), piece.url):
                yield from self._documents(rows, row, piece, stats, seen)
                row += rows.num_rows
            row += batch.num_rows - last

    def _documents(self, rows: Batch, row: int, piece: Slice, stats: Ledger, seen: set[str]) -> Iterator[Batch]:
        """Yield rows as documents; `row` is the position of the first.

        - seen: the sources of the file so far.
        """
        positions = np.arange(row, row + rows.num_rows)
        rows = pa.RecordBatch.from_arrays([decoded(column) for column in rows.columns], rows.schema.names)
        texts, rows = self._texts(rows)
        sizes = pc.fill_null(pc.binary_length(texts), 0).to_numpy()
        reasons = np.full(rows.num_rows, "", object)
        reasons[sizes > self.max_doc_bytes] = "too_long"
        reasons[_not_utf8(texts)] = "invalid_utf8"
        reasons[texts.is_null().to_numpy(zero_copy_only=False)] = "no_text"
        bad = reasons != ""
        ids = (positions + doc_id(piece.file, 0)).astype(np.uint64)
        stats.drop(ids[bad], reasons[bad].tolist(), n_bytes=sizes[bad])
        if bad.all():
            return
        keep = pa.array(~bad)
        rows = rows.filter(keep)
        columns = {name: self._lifted(rows, name, kind, piece.url) for name, kind in self.columns}
        source: Any = piece.source
        if self.source:
            source = as_sources(*self._source_values(rows, piece.url), piece, seen, stats)
        others = [n for n in rows.schema.names if n != self.text and n not in columns]
        meta = _as_json(rows.select(others), piece.url) if others and self.meta else None
        yield B.make(ids[~bad], texts.filter(keep).cast(pa.large_string()), source, meta, columns)

    def _texts(self, rows: Batch) -> tuple[pa.LargeBinaryArray, Batch]:
        """Return the texts, and the rows without them."""
        path = place_of(self.text, rows.schema.names)
        texts, rest = taken_out(rows.column(path[0]), path[1:])
        if len(path) > 1:
            k = rows.schema.get_field_index(path[0])
            rows = rows.remove_column(k) if rest is None else rows.set_column(k, path[0], rest)
        return decoded(texts).cast(pa.large_binary()), rows

    def _source_values(self, rows: Batch, url: str) -> tuple[pa.Array, tuple[str, ...]]:
        """Return the column that `source` names as strings, and the rest of the path inside them if they are JSON."""
        path = field_path(self.source, self.text)
        name = ".".join(path)
        path = (name,) if name in rows.schema.names else path
        values = rows.column(path[0])
        depth = 1
        while depth < len(path) and pa.types.is_struct(values.type):
            if values.type.get_field_index(path[depth]) < 0:
                near = meant(name, paths_in(rows.schema))
                msg = f"there is no field {name!r}, which source= names; the columns are {_show(rows.schema)}{near}"
                raise ReadError(msg, url)
            values, depth = pc.struct_field(values, path[depth]), depth + 1
        values = decoded(values)
        if _is_text(values.type) or not pa.types.is_nested(values.type):
            return values.cast(pa.large_string()), path[depth:]
        msg = f"the field {name!r}, which source= names, has the type {values.type}; name a field inside it or a string"
        raise ReadError(msg, url)

    def _lifted(self, rows: Batch, name: str, kind: str, url: str) -> pa.Array:
        if name not in rows.schema.names:
            msg = f"there is no column {name}; the columns are {_show(rows.schema)}"
            raise ReadError(msg, url)
        values = rows.column(name)
        if pa.types.is_nested(values.type):
            return pa.array([None if v is None else _dumps(v) for v in values.to_pylist()], pa.large_string())
        try:
            stored = values.storage if isinstance(values, pa.ExtensionArray) else values
            return stored.cast(arrow_type(kind))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            wanted = "binary" if _is_text(_plain(values.type)) and kind == "string" else "TYPE"
            msg = (
                f"the column {name} of type {values.type} cannot be cast to {kind} ({e}); "
                f"change its type: columns={{{name!r}: {wanted!r}}}"
            )
            raise ReadError(msg, url) from e


@contextlib.contextmanager
def _open(url: str) -> Iterator[tuple[pq.ParquetFile, BinaryIO]]:
    """Yield the file as a Parquet file, and its stream."""
    with files.open_raw(url) as f:
        try:
            with pq.ParquetFile(f) as file:
                yield file, f
        except (pa.ArrowException, OSError, UnicodeDecodeError) as e:  # the last: a damaged name of a column
            raise_if_short(e)
            msg = f"this is not a complete Parquet file ({str(e).splitlines()[0]}); fetch it again"
            raise ReadError(msg, url) from e


def _plain(kind: pa.DataType) -> pa.DataType:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in (*texts, types.is_binary, types.is_large_binary, types.is_binary_view))


def _kind(kind: pa.DataType) -> str:
    plain = _plain(kind)
    return "string" if _is_text(plain) or pa.types.is_nested(plain) or pa.types.is_decimal(plain) else str(plain)


def _show(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


def _not_utf8(texts: pa.LargeBinaryArray) -> npt.NDArray[np.bool_]:
    """Return bool[n], True for texts that are not UTF-8; neither Parquet nor Arrow checks the encoding."""
    try:
        texts.cast(pa.large_string())
    except pa.ArrowInvalid:
        return np.array([not is_utf8(t or b"") for t in texts.to_pylist()], bool)
    return np.zeros(len(texts), bool)


def _as_json(rows: Batch, url: str) -> pa.LargeStringArray:
    """Return each row as a JSON object without its nulls."""
    columns = [_readable(column) for column in rows.columns]
    try:
        values = zip(*(column.to_pylist() for column in columns), strict=True)
        names = rows.schema.names
        found = [_dumps({n: v for n, v in zip(names, row, strict=True) if v is not None}) for row in values]
    except UnicodeDecodeError as e:
        msg = f"a column other than the text is not UTF-8 ({e}); leave it out with meta=False"
        raise ReadError(msg, url) from e
    return pa.array(found, pa.large_string())


def _readable(column: pa.Array) -> pa.Array:
    """Return nanoseconds, times and durations as text, since Python's types cannot hold them; other types unchanged."""
    kind = column.type
    tests = (pa.types.is_timestamp(kind) and kind.unit == "ns", pa.types.is_time64(kind), pa.types.is_duration(kind))
    return column.cast(pa.string()) if any(tests) else column


def _dumps(value: Any) -> str:
    return orjson.dumps(value, default=_plain_value, option=orjson.OPT_NON_STR_KEYS).decode()


def _plain_value(value: Any) -> Any:
    """Return values that JSON cannot hold as text: decimals, and bytes as UTF-8 text if possible, else in base64."""
    if isinstance(value, bytes):
        return value.decode() if is_utf8(value) else base64.b64encode(value).decode()
    return str(value)
