"""Tables and rows in memory: data frames of pandas and Polars, DuckDB relations, Arrow tables, lists and generators.

A table is anything that exports an Arrow stream (`__arrow_c_stream__`), as data frames, relations and Arrow tables do.
The items of a list are dicts; those of a generator are dicts or texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from dataprep.core.model.dataset import Dataset
from dataprep.errors import PlanError, ReadError, a_or_an
from dataprep.store.key import key as key_of

from .row_source import NOT_ARROW, RowSource, content_key, in_tables

ROWS = 1_000  # of a table made of dicts
SLICE = 16_384  # rows of a table that are written at once


def is_in_memory(data: Any, key: str | None) -> bool:
    """Return whether `data` is a table, a lazy frame of Polars, a list of dicts, or an iterator.

    If `key`, a name for the content, is None, an iterator is assumed to yield paths, so the result is False.
    """
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return bool(data) and all(isinstance(row, Mapping) for row in data)
    is_rows = key is not None and isinstance(data, Iterator)
    is_table = hasattr(data, "__arrow_c_stream__") or _is_lazy(data) or _is_old_series(data)
    return not isinstance(data, Dataset) and (is_table or is_rows)


def rows_in_memory(data: Any, *, key: str | None = None) -> RowSource:
    """Return the rows of a table or of an iterable of dicts, with a key that identifies their content.

    - key: a name for the content.

    Raises PlanError if `key` is None and the rows can be read only once, as from an iterator.
    """
    data = data.collect() if _is_lazy(data) else data
    data = pa.chunked_array([pa.array(data, from_pandas=True)]) if _is_old_series(data) else data
    once = isinstance(data, (Iterator, pa.RecordBatchReader))
    if once and key is None:
        msg = (
            f"nothing in {a_or_an(type(data).__name__)} identifies its rows, which can be read only once; set key= to "
            'a unique name, for example key="letters 2024-05-01"'
        )
        raise PlanError(msg)
    source = key or "rows"
    found = content_key(_tables(data, source)) if key is None else key_of(["rows", key])
    return RowSource(lambda: _tables(data, source), source, found)


def _is_lazy(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "polars" and type(data).__name__ == "LazyFrame"


def _is_old_series(data: Any) -> bool:
    """Return whether `data` is a series of pandas before version 3, which does not export an Arrow stream."""
    named = type(data).__module__.partition(".")[0] == "pandas" and type(data).__name__ == "Series"
    return named and not hasattr(data, "__arrow_c_stream__")


def _tables(data: Any, source: str) -> Iterator[pa.Table]:
    """Yield the rows as tables, without the index of a pandas data frame."""
    if not hasattr(data, "__arrow_c_stream__"):
        yield from in_tables(data, ROWS, source)
        return
    _check_names(data, source)
    for batch in _batches(data, source):
        table = pa.Table.from_batches([batch])
        table = table.select([name for name in table.column_names if not name.startswith("__index_level_")])
        yield from (table.slice(start, SLICE) for start in range(0, len(table), SLICE))


def _check_names(data: Any, source: str) -> None:
    """Raise ReadError if two columns of a table have the same name."""
    if isinstance(data, pa.RecordBatchReader):
        names = data.schema.names
    else:
        names = getattr(data, "column_names", getattr(data, "columns", ()))
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        msg = f"the table has several columns named {twice!r}; names must be unique: rename or drop the others"
        raise ReadError(msg, source)


def _batches(data: Any, source: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a table; a single column (a series) must contain texts. Raises ReadError otherwise."""
    try:
        batches = pa.RecordBatchReader.from_stream(data)
    except NOT_ARROW as e:
        if "non-struct" not in str(e):
            msg = f"a column cannot be converted to Arrow ({e}); convert all its values to one type, such as str"
            raise ReadError(msg, source) from e
        column = pa.chunked_array(data)
        if column.type not in (pa.string(), pa.large_string(), pa.string_view()):
            msg = f"the series has values of type {column.type}, but a series must contain strings; "
            msg += "to read other types, pass a data frame"
            raise ReadError(msg, source) from e
        yield from pa.table({"text": column}).to_batches()
        return
    yield from batches
