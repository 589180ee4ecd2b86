"""Batches of documents: their schema, document ids, and the limits of a batch.

A Batch is a `pyarrow.RecordBatch`; a document becomes a Python object only while a user's function reads it. On 60,000
documents of 1.9 kB, parsing a document took 5.1 us with dataclasses and 2.4 us with batches; writing a document took
12.6 us with dataclasses and 1.0 us with batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.errors import PlanError
from dataprep.store import pandas_later

pandas_later.put_off()

Batch: TypeAlias = pa.RecordBatch
Ids: TypeAlias = npt.NDArray[np.uint64]

NO_IDS: Ids = np.zeros(0, np.uint64)
SOURCE = pa.dictionary(pa.int32(), pa.string())
FIXED = {"id": pa.uint64(), "text": pa.large_string(), "source": SOURCE, "meta": pa.large_string()}
SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in FIXED.items()])

MAX_ROWS = 16_384
MAX_BYTES = 8 << 20  # of text: big enough to hide per-batch costs, small enough to stay near the cache
POSITION_BITS = 40  # bits for a position inside one file: 1 TiB; leaves 16.7 million files


def doc_id(file: int, position: int) -> int:
    """Return the id of a document: its high bits are `file`, the number of the input file, its low 40 bits `position`.

    - position: the offset of the document in the file, in bytes or in records, as the reader of the file decides.
    """
    return file << POSITION_BITS | position


def split_id(id_: int) -> tuple[int, int]:
    """Return (file, position) of a document id: the number of the input file, and the document's offset in it."""
    return id_ >> POSITION_BITS, id_ & (1 << POSITION_BITS) - 1


def file_numbers(ids: Ids) -> set[int]:
    """Return the file numbers that the given ids contain."""
    return set((ids >> np.uint64(POSITION_BITS)).tolist())


def find_sorted(
    values: npt.NDArray[Any], wanted: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return the index of each wanted value in ascending `values`, intp[n], and whether the value is present, bool[n].

    The index of an absent value is arbitrary but valid, or 0 if `values` is empty.
    """
    at = np.minimum(np.searchsorted(values, wanted), max(0, len(values) - 1))
    return at, values[at] == wanted if len(values) else np.zeros(len(wanted), np.bool_)


def runs(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the index at which each run of equal values begins, and the length of each run."""
    begins = np.flatnonzero(values[1:] != values[:-1]) + 1
    begins = np.concatenate([np.zeros(min(1, len(values)), np.intp), begins])
    return begins, np.diff(begins, append=len(values))


def show_id(id_: int) -> str:
    """Return a document id as text: `file:position`.

    >>> show_id(doc_id(3, 1745))
    '3:1745'
    """
    return "{}:{}".format(*split_id(id_))


def parse_id(text: str) -> int:
    """Return the document id written in `text`: "file:position" or an integer. Raises PlanError for any other text."""
    numbers = [int(one) if one.isascii() and one.isdigit() and len(one) <= 20 else -1 for one in text.split(":")]
    id_ = numbers[0] if len(numbers) == 1 else doc_id(*numbers[:2])
    if min(numbers) < 0 or len(numbers) > 2 or id_ >> 64:
        msg = f"{text!r:.100} is not a document id; write it as file:position (3:1745) or as an integer"
        raise PlanError(msg)
    return id_


def make(ids: Any, text: Any, source: Any, meta: Any = None, columns: dict[str, Any] | None = None) -> Batch:
    """Return a batch of n documents.

    Args:
        ids: the documents' ids, uint64[n].
        text: n strings.
        source: one name for all rows, or n names.
        meta: n JSON objects as text; None: "{}" in each row.
        columns: the values of further columns, n each, by name.
    """
    n = len(ids)
    if isinstance(source, str):
        source = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([source], pa.string()))
    arrays = {
        "id": _array(ids, pa.uint64()),
        "text": _array(text, pa.large_string()),
        "source": _array(source, SOURCE),
        "meta": pa.repeat(pa.scalar("{}", pa.large_string()), n) if meta is None else _array(meta, pa.large_string()),
        **{name: _array(values, None) for name, values in (columns or {}).items()},
    }
    schema = pa.schema([pa.field(k, v.type, nullable=k not in FIXED) for k, v in arrays.items()])
    return pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema)


def _array(values: Any, kind: pa.DataType | None) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(values, kind)
    return array if kind is None or array.type == kind else array.cast(kind)


def empty(schema: pa.Schema = SCHEMA) -> Batch:
    """Return a batch without rows, with the columns of `schema`."""
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)


def buffers(texts: Batch | pa.LargeStringArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return the n texts of a batch or array without a copy: (offsets, int64[n + 1]; UTF-8 bytes, uint8).

    Text k is data[offsets[k]:offsets[k + 1]]. Both arrays are always read-only. Otherwise compiled functions (kernels)
    would be compiled twice, once for read-only and once for writable arrays.
    """
    if isinstance(texts, pa.RecordBatch):
        texts = texts.column("text")
    if not pa.types.is_large_string(texts.type):
        texts = texts.cast(pa.large_string())
    n, start = len(texts), texts.offset
    _, offsets, data = texts.buffers()
    if n == 0 or offsets is None:
        offsets, data = np.zeros(n + 1, np.int64), None
    spans = np.frombuffer(offsets, np.int64)[start if n else 0 :][: n + 1]
    data_view = np.frombuffer(b"" if data is None else data, np.uint8)
    spans.flags.writeable = data_view.flags.writeable = False
    return spans, data_view


def strings(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> pa.LargeStringArray:
    """Return n texts as an Arrow array without a copy; text k is data[offsets[k]:offsets[k + 1]].

    Args:
        offsets: int64[n + 1].
        data: valid UTF-8 bytes, uint8.
    """
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))


def chosen(batch: Batch, keep: npt.NDArray[np.bool_]) -> Batch:
    """Return the documents of a batch for which `keep`, bool[n], is true; Arrow would copy texts at half the speed."""
    from dataprep.unicode.cut import chosen as chosen_texts

    mask, columns = pa.array(keep), []
    for column in batch.columns:
        is_text = pa.types.is_large_string(column.type) and not column.null_count
        columns.append(strings(*chosen_texts(*buffers(column), keep)) if is_text else column.filter(mask))
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def with_column(batch: Batch, name: str, values: pa.Array) -> Batch:
    """Return the batch with the column `name` replaced by `values`, or added.

    If `name` is "text", the score columns of filters are marked as out of date, so that filters measure the new texts.
    """
    if name == "text" and any(f.metadata for f in batch.schema):
        fields = [f.remove_metadata() for f in batch.schema]
        batch = pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields, batch.schema.metadata))
    field = pa.field(name, values.type, nullable=name not in FIXED)
    index = batch.schema.get_field_index(name)
    return batch.append_column(field, values) if index < 0 else batch.set_column(index, field, values)


def ids(batch: Batch) -> Ids:
    """Return the ids of a batch's documents, uint64[n], without a copy."""
    return np.asarray(batch.column("id").to_numpy(), np.uint64)


def union(some: Iterable[Ids]) -> Ids:
    """Return the distinct ids of several arrays of ids, uint64[n], ascending."""
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *some]))


def lengths(batch: Batch) -> npt.NDArray[np.int64]:
    """Return the number of UTF-8 bytes of each text of a batch, int64[n]."""
    return np.diff(buffers(batch)[0])


def text_bytes(batch: Batch) -> int:
    """Return the total number of UTF-8 bytes of the texts of a batch."""
    offsets, _ = buffers(batch)
    return int(offsets[-1] - offsets[0])


def check(batch: Batch, stage: str) -> Batch:
    """Return the batch if it has the columns id, text, source and meta with their types.

    - stage: the name of the stage that made the batch, for the error message.

    Raises PlanError if a column is missing, has another type or contains nulls.
    """
    for name, kind in FIXED.items():
        index = batch.schema.get_field_index(name)
        if index < 0 or batch.schema.field(index).type != kind:
            found = "is missing" if index < 0 else f"has type {batch.schema.field(index).type}"
            msg = f"{stage} returned a batch whose column '{name}' {found}; every batch must have {name}: {kind}"
            raise PlanError(msg)
        if batch.column(index).null_count:
            msg = f"{stage} returned a batch with nulls in the column '{name}'; give each document a value, or drop it"
            raise PlanError(msg)
    return batch


def recut(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the same rows in batches that end at 16,384 rows or 8 MB of text, whichever comes first.

    Files that are written from these batches therefore do not depend on the sizes of the given batches.
    """
    held: list[Batch] = []
    rows = size = 0
    for batch in batches:
        while batch.num_rows:
            taken = _fits(batch, MAX_ROWS - rows, MAX_BYTES - size)
            held.append(batch.slice(0, taken))
            rows, size = rows + taken, size + text_bytes(held[-1])
            batch = batch.slice(taken)  # noqa: PLW2901 - the rest of the same batch
            if rows >= MAX_ROWS or size >= MAX_BYTES:
                yield concat(held)
                held, rows, size = [], 0, 0
    if held:
        yield concat(held)


def _fits(batch: Batch, rows: int, size: int) -> int:
    """Return how many leading rows fill a batch with space for `rows` rows and `size` bytes (at least one)."""
    offsets, _ = buffers(batch)
    by_size = int(np.searchsorted(offsets[1:] - offsets[0], size)) + 1
    return max(1, min(rows, by_size, int(batch.num_rows)))


def concat(batches: Sequence[Batch]) -> Batch:
    """Return the rows of several batches as one; dictionary columns list their values in order of first appearance."""
    if not batches:
        return empty()
    names = batches[0].schema.names
    arrays = []
    for name in names:
        chunks = [b.column(name) for b in batches]
        if pa.types.is_dictionary(chunks[0].type):
            kind = chunks[0].type
            plain = pa.concat_arrays([c.dictionary_decode() for c in chunks])
            arrays.append(plain.dictionary_encode().cast(kind))
        else:
            arrays.append(chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks))
    return pa.RecordBatch.from_arrays(arrays, schema=batches[0].schema)
