"""Rows that are not in a file: they are written once to a Parquet file, which is then read like any other.

Document ids and resumed runs need input that stays the same, and an iterator can be read only once. Therefore, the rows
are first written to `out=` or to the folder DATAPREP_CACHE (~/.cache/dataprep by default). The name of the file
contains a key that identifies the content. The position of a document is its row number.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import xxhash

from dataprep.core.model.dataset import Dataset
from dataprep.errors import ReadError
from dataprep.lazy import parquet as pq
from dataprep.store import files, receipts
from dataprep.store.key import key as key_of

from .text_field import meant, paths_in, type_at

GROUP_BYTES = 32 << 20  # of a row group: memory while writing, and the smallest size of a part
NOT_ARROW = (AttributeError, NotImplementedError, OverflowError, TypeError, ValueError)  # of values that Arrow lacks


@dataclasses.dataclass(frozen=True)
class RowSource:
    """Rows to write to a file.

    Attributes:
        tables: function that returns the rows as tables.
        source: the name of the documents' source.
        key: identifies the content.
    """

    tables: Callable[[], Iterable[pa.Table]]
    source: str
    key: str


def write_once(rows: RowSource, text: str, out: str | None) -> str:
    """Write the rows to a Parquet file, unless one with the same key (content) exists; return the file's URL.

    - text: the column of texts.
    - out: the folder to write to; None: a cache folder.

    Raises ReadError if there are no rows or no such column, or if a later table has columns of other types than the
    first.
    """
    cache = os.environ.get("DATAPREP_CACHE") or os.path.join(os.path.expanduser("~"), ".cache", "dataprep")
    name = re.sub(r"[^\w.-]+", "-", rows.source).strip("-") or "rows"
    url = files.join(out or files.join(cache, "rows"), f"{name}-{rows.key[:16]}", "rows.parquet")
    receipts.once(files.join(url.rpartition("/")[0], "receipt.json"), rows.key, lambda: _write(rows, url, text))
    return url


def pinned(docs: Dataset, key: str) -> Dataset:
    """Return `docs` with `key` in place of the hash of its file; finished work on `docs` is recognised by this key."""
    parts = [
        dataclasses.replace(p, slices=tuple(dataclasses.replace(s, fingerprint=key) for s in p.slices))
        for p in docs.parts
    ]
    return docs.of(parts)


def content_key(tables: Iterable[pa.Table]) -> str:
    """Return a hash of the columns and of every value; it depends on how the rows are divided into tables."""
    digest = xxhash.xxh3_128()
    for table in tables:
        with pa.BufferOutputStream() as sink:
            with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
                writer.write_table(table.replace_schema_metadata(None).combine_chunks())
            digest.update(sink.getvalue())
    return key_of(["hf", digest.hexdigest()])


def _write(rows: RowSource, url: str, text: str) -> dict[str, Any]:
    """Stream the rows into one Parquet file with a row group every 32 MB."""
    with files.atomic(url) as f:
        n = _write_groups(f, rows, text)
        if not n:
            msg = "there are no rows; pass data with rows, and check the name and split= of a dataset"
            raise ReadError(msg, rows.source)
    return {"files": [url], "rows": n, "source": rows.source}


def _write_groups(f: BinaryIO, rows: RowSource, text: str) -> int:
    writer: pq.ParquetWriter | None = None
    schema = pa.schema([])
    held: list[pa.Table] = []
    n = 0
    try:
        for table in rows.tables():
            if writer is None:
                schema = _schema(table.schema, rows, text)
                writer = _writer(f, schema, rows)
            held.append(_like(table, schema, rows, n))
            n += len(table)
            if sum(t.nbytes for t in held) >= GROUP_BYTES:
                writer.write_table(pa.concat_tables(held), row_group_size=n)
                held = []
        if writer and held:
            writer.write_table(pa.concat_tables(held), row_group_size=n)
    finally:
        if writer:
            writer.close()
    return n


def _writer(f: BinaryIO, schema: pa.Schema, rows: RowSource) -> pq.ParquetWriter:
    try:
        return pq.ParquetWriter(f, schema, compression="zstd", use_dictionary=False)
    except pa.ArrowNotImplementedError as e:
        msg = f"a column has a type that Parquet does not support ({e}); cast it to text, for example, or leave it out"
        raise ReadError(msg, rows.source) from e


def _schema(schema: pa.Schema, rows: RowSource, text: str) -> pa.Schema:
    """Return the columns of the first rows; a column without any value yet is a string column."""
    if type_at(schema, text) is None:
        there = ", ".join(f"{field.name} ({field.type})" for field in schema)
        near = meant(text, paths_in(schema)) or "; name one of them with text="
        msg = f"there is no text column {text!r}; the columns are {there}{near}"
        raise ReadError(msg, rows.source)
    return pa.schema([pa.field(field.name, _stored(field.type)) for field in schema])


def _stored(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column is written with: plain strings for views, categories and columns of nulls."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    plain = (pa.types.is_null, pa.types.is_string_view, pa.types.is_large_string)
    return pa.string() if any(is_so(kind) for is_so in plain) else kind


def _like(table: pa.Table, schema: pa.Schema, rows: RowSource, row: int) -> pa.Table:
    try:
        return table.select(schema.names).replace_schema_metadata(None).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError, ValueError) as e:
        msg = f"from row {row:,} on, the column types differ from those before ({e}); cast them to the first types"
        raise ReadError(msg, rows.source) from e


def in_tables(rows: Iterable[Any], size: int, source: str) -> Iterator[pa.Table]:
    """Yield rows that are dicts, or texts, as tables of `size` rows; an error of `rows` itself is not changed.

    Raises ReadError if the rows are not a table; the message names `source`.
    """
    held: list[Any] = []
    for row in rows:
        held.append({"text": row} if isinstance(row, str) else row)
        if len(held) == size:
            yield _table(held, source)
            held = []
    if held:
        yield _table(held, source)


def _table(rows: list[Any], source: str) -> pa.Table:
    try:
        return pa.Table.from_pylist(rows)
    except NOT_ARROW as e:
        msg = f"the rows are not a table ({e}); each row must be a text, or a dict with values of the same types"
        raise ReadError(msg, source) from e
