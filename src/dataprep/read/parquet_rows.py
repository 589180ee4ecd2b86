"""Limit the rows of a Parquet file that are decoded at once, so that a small file cannot fill memory.

A file of 500 bytes may contain 900 references to a text of 1 MB, which take 900 MB when they are decoded. There are
three ways: a dictionary, prefixes (DELTA_BYTE_ARRAY), and plain values, since equal values compress well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.core.model.batch import Batch
from dataprep.errors import ReadError

ROWS = 1_024  # decoded at once: few rows have over 8 kB
FEW = 16  # rows at once of a column whose values share prefixes, so that their sizes are not known
DECODED_BYTES = 64 << 20  # of decoded rows
ROW_BYTES = 256 << 20  # of one row; its JSON takes several times as much


def rows_at_once(f: Any, metadata: pq.FileMetaData, k: int, columns: Sequence[str] | None, url: str = "") -> int:
    """Return how many rows of row group `k` to decode at once, 1 to ROWS.

    - f: the open file.
    - metadata: the file's metadata.
    - columns: the names of the columns that are read; None: all.
    - url: the file's name.

    Raises ReadError if a row, with its references to dictionaries decoded, would be larger than ROW_BYTES.
    """
    group = metadata.row_group(k)
    rows = max(1, group.num_rows)
    at_once, row_bytes = ROWS, 0
    for i in range(group.num_columns):
        column = group.column(i)
        read = columns is None or any(f"{column.path_in_schema}.".startswith(f"{name}.") for name in columns)
        is_text = column.physical_type == "BYTE_ARRAY" and metadata.schema.column(i).logical_type.type != "DECIMAL"
        if not (read and is_text):
            continue
        stored = max(1, column.total_uncompressed_size)
        if "DELTA_BYTE_ARRAY" in column.encodings:
            at_once = min(at_once, max(FEW, DECODED_BYTES // stored))
        elif column.has_dictionary_page and min(ROWS * column.num_values // rows, column.num_values) * stored > (
            DECODED_BYTES
        ):
            row_bytes += _row_bytes(f, metadata, k, i, url)
        row_bytes += stored // rows
    return max(1, min(at_once, DECODED_BYTES // max(1, row_bytes)))


def pieces(rows: Batch, url: str) -> Iterator[Batch]:
    """Yield decoded rows in batches of up to DECODED_BYTES. Raises ReadError if one row has over ROW_BYTES."""
    if rows.num_rows > 1 and rows.nbytes > DECODED_BYTES:
        yield from pieces(rows.slice(0, rows.num_rows // 2), url)
        yield from pieces(rows.slice(rows.num_rows // 2), url)
        return
    if rows.nbytes > ROW_BYTES:
        sizes = {name: column.nbytes for name, column in zip(rows.schema.names, rows.columns, strict=True)}
        name = max(sizes, key=sizes.__getitem__)
        raise _too_large(name, sizes[name], url)
    yield rows


def _too_large(name: str, n_bytes: int, url: str) -> ReadError:
    msg = f"a row has {n_bytes >> 20:,} MiB in the column {name!r}, over {ROW_BYTES >> 20} MiB; set meta=False"
    return ReadError(msg + ", which leaves the column out", url)


def _row_bytes(f: Any, metadata: pq.FileMetaData, k: int, i: int, url: str) -> int:
    """Return the maximum bytes of a row of column `i`, from the longest value in the column's dictionary.

    If a row may have several values, all rows are measured. Only the dictionary and its references are decoded.
    """
    column = metadata.row_group(k).column(i)
    path = column.path_in_schema
    file = pq.ParquetFile(f, metadata=metadata, read_dictionary=[path])
    repeated = metadata.schema.column(i).max_repetition_level > 0
    largest = 0
    for rows in (1, ROWS):  # the first row shows the dictionary, unless it is null
        for batch in file.iter_batches(rows, row_groups=[k], columns=[path], use_threads=False):
            longest = max((_longest(d) for one in batch.columns for d in _dictionaries(one)), default=0)
            if longest and (not repeated or longest * column.num_values <= DECODED_BYTES):
                return 0 if repeated else longest  # all rows together are small
            if rows == 1:
                break
            largest = max(largest, *(int(_sizes(one).max(initial=0)) for one in batch.columns))
            if largest > ROW_BYTES:
                raise _too_large(path.partition(".")[0], largest, url)
    return largest


def _longest(values: pa.Array) -> int:
    return int(pc.max(pc.binary_length(values)).as_py() or 0)


def _dictionaries(values: pa.Array) -> Iterator[pa.Array]:
    """Yield the dictionaries inside a column, which may be nested."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        yield values.dictionary
    elif pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from _dictionaries(values.field(i))
    elif pa.types.is_map(kind):
        yield from _dictionaries(values.keys)
        yield from _dictionaries(values.items)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _dictionaries(values.values)


def _sizes(values: pa.Array) -> npt.NDArray[np.int64]:
    """Return the bytes of each row of a column, which may be nested, if its dictionaries are decoded."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        sizes = pc.fill_null(pc.binary_length(values.dictionary), 0).take(values.indices)
        return np.asarray(pc.fill_null(sizes, 0).to_numpy(zero_copy_only=False), np.int64)
    if pa.types.is_struct(kind):
        return sum((_sizes(one) for one in values.flatten()), np.zeros(len(values), np.int64))
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _sizes(values.keys) + _sizes(values.items) if pa.types.is_map(kind) else _sizes(values.values)
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(inner)])
        return np.asarray(np.diff(ends[values.offsets.to_numpy()]), np.int64)
    return np.zeros(len(values), np.int64)


def decoded(values: pa.Array) -> pa.Array:
    """Return dictionaries and views as plain values, which every Arrow function accepts."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = _without_views(values.type)
    return values if kind == values.type else values.cast(kind)


def _without_views(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_without_views(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_without_views(kind.value_type))
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(kind, kind)
