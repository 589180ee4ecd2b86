"""Restore the columns that documents had in their input: the fields in `meta`, and the text under its original name.

Names and types are taken from the input files, as far as these still exist: `origin.json` of each folder lists the
files from which the Dataset was made, and how they were read.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from typing import Any

import orjson
import pyarrow as pa

from dataprep.errors import ReadError, require
from dataprep.lazy import parquet as pq
from dataprep.store import files

from ..model import batch as B
from ..model.part import Part
from ..model.reader import Reader
from .look_up import first_inputs, is_there

FIRST_BYTES = 1 << 20  # of JSON Lines, the part in which the first record is searched for
BOM = b"\xef\xbb\xbf"
BEYOND = re.compile(r"[0-9]{19}|[eE][+]?[0-9]{3}")  # may occur in a number that orjson would round or reject


def original(table: pa.Table, parts: Sequence[Part]) -> pa.Table:
    """Return the documents of a table with the columns of their input, followed by the columns that stages added.

    - parts: the parts of the Dataset.

    Raises PlanError if the Dataset's input files have their texts in different fields.
    """
    inputs = [(reader.plain, url) for reader, url in first_inputs(parts)]
    names = sorted({getattr(reader, "text", "text") for reader, _ in inputs}) or ["text"]
    require(len(names) == 1, f"the input files have their texts in different fields ({', '.join(names)}); read them "
            "in several calls, and use restore= for each")  # fmt: skip
    types = _types(inputs)
    rows = [json.loads(meta) if BEYOND.search(meta) else orjson.loads(meta) for meta in table["meta"].to_pylist()]
    path = [names[0]] if names[0] in types else names[0].split(".")
    added = {name: table[name] for name in table.column_names if name not in B.FIXED}
    found = {name: [row.get(name) for row in rows] for name in {name: None for row in rows for name in row}}
    texts = table["text"].to_pylist()
    if len(path) == 1:
        found[path[0]] = texts
    else:
        found[path[0]] = [_inside(row.get(path[0]), path[1:], text) for row, text in zip(rows, texts, strict=True)]
    columns = {name: _column(found[name], types.get(name)) for name in found if name not in added}
    columns |= {name: _parsed(values, types.get(name)) for name, values in added.items()}
    first = [name for name in _first_names(inputs) if name in {path[0], *columns}]
    order = [*types, *first, path[0], *columns]
    empty = {name: pa.nulls(len(table), kind) for name, kind in types.items()}
    return pa.table({name: (empty | columns)[name] for name in dict.fromkeys(order)})


def _types(inputs: Sequence[tuple[Reader, str]]) -> dict[str, pa.DataType]:
    """Return {column: type} of the Parquet inputs, from one file per reader; {} if there are none."""
    found: dict[str, pa.DataType] = {}
    for reader, url in {reader: url for reader, url in inputs if type(reader).__name__ == "Parquet"}.items():
        if getattr(reader, "meta", False) and is_there(url):
            with files.open_raw(url) as f:
                found = {field.name: field.type for field in pq.read_schema(f)} | found
    return found


def _first_names(inputs: Sequence[tuple[Reader, str]]) -> list[str]:
    """Return the fields of the first record of JSON Lines among the input files, in order; [] if none can be read.

    `meta` does not state the position of the text among the other fields.
    """
    for reader, url in inputs:
        if type(reader).__name__ == "Jsonl" and is_there(url):
            with contextlib.suppress(ReadError, OSError, ValueError), files.open_read(url) as stream:
                record = orjson.loads(stream.read(FIRST_BYTES).lstrip(BOM).lstrip().partition(b"\n")[0])
                if isinstance(record, dict):
                    return list(record)
    return []


def _inside(value: Any, path: Sequence[str], text: str) -> Any:
    """Return an object with the text inserted at a path of field names."""
    value = dict(value) if isinstance(value, dict) else {}
    value[path[0]] = text if len(path) == 1 else _inside(value.get(path[0]), path[1:], text)
    return value


def _column(values: list[Any], kind: pa.DataType | None) -> pa.Array:
    """Return JSON values as an array of a type if possible, else of their own type; mixed objects become JSON."""
    errors = (pa.ArrowException, TypeError, ValueError, OverflowError)
    if kind is not None and not pa.types.is_binary(kind) and not pa.types.is_large_binary(kind):
        with contextlib.suppress(*errors):
            return pa.array(values, kind)
        with contextlib.suppress(*errors):
            return pa.array(values).cast(kind)
    with contextlib.suppress(*errors):
        return pa.array(values)
    compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    return pa.array([v if v is None or isinstance(v, str) else compact(v) for v in values])


def _parsed(values: pa.ChunkedArray, kind: pa.DataType | None) -> Any:
    """Return a column; if it was nested in the input, and is JSON here, it is converted back."""
    if kind is None or not pa.types.is_nested(kind) or pa.types.is_nested(values.type):
        return values
    return _column([None if value is None else orjson.loads(value) for value in values.to_pylist()], kind)
