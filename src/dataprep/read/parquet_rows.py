"""Limit the rows of a Parquet file that are decoded at once, so that a value that many rows share does not fill memory.

A dictionary stores each distinct value once: a file of 500 bytes may hold 900 references to a text of 1 MB, which take
900 MB when they are decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS = 1_024  # decoded at once: few rows have over 8 kB
DECODED_BYTES = 64 << 20  # that dictionaries may add to the decoded rows


def rows_at_once(f: Any, metadata: pq.FileMetaData, k: int, columns: Sequence[str] | None) -> int:
    """Return how many rows of row group `k` to decode at once, 1 to ROWS.

    f: the open file. metadata: the file's metadata. columns: the names of the columns that are read; None: all.
    """
    group = metadata.row_group(k)
    rows = min(ROWS, max(1, group.num_rows))
    row_bytes = 0
    for i in range(group.num_columns):
        column = group.column(i)
        read = columns is None or column.path_in_schema.partition(".")[0] in columns
        is_text = column.physical_type == "BYTE_ARRAY" and metadata.schema.column(i).logical_type.type != "DECIMAL"
        if read and is_text and column.has_dictionary_page:
            values_per_row = -(-column.num_values // max(1, group.num_rows))
            if rows * values_per_row * column.total_uncompressed_size > DECODED_BYTES:
                row_bytes += values_per_row * _longest(f, metadata, k, column.path_in_schema)
    return max(1, min(ROWS, DECODED_BYTES // max(1, row_bytes)))


def _longest(f: Any, metadata: pq.FileMetaData, k: int, path: str) -> int:
    """Return the bytes of the longest value in the dictionary of a column; the rows are not decoded."""
    file = pq.ParquetFile(f, metadata=metadata, read_dictionary=[path])
    for rows in (1, ROWS):  # the first row shows the dictionary, unless it is null
        for batch in file.iter_batches(rows, row_groups=[k], columns=[path], use_threads=False):
            found = [values for column in batch.columns for values in _dictionaries(column) if len(values)]
            if found:
                return max(int(pc.max(pc.binary_length(values)).as_py() or 0) for values in found)
            if rows == 1:
                break
    return 0


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
