"""How tables are written to Parquet: sorted, with compact integers, and never completed after an error.

A table with many row groups is a folder of files, so that a reader of a few rows does not read a footer that describes
all row groups of the table (0.8 kB each):

TABLE.parquet                     a table with up to FILE_GROUPS row groups
TABLE.parquet/part-00000.parquet  the first FILE_GROUPS row groups of a larger table
TABLE.parquet/index.parquet       no rows; its schema states the last id in each part. It is written last.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

import pyarrow as pa

from dataprep.errors import ReadError
from dataprep.lazy import parquet as pq

from . import files

FILE_GROUPS = 64  # row groups per file
POSITIONS = ("start", "end", "duplicate_of_start", "duplicate_of_end")  # columns of positions in texts
ENDS = b"last_ids"

AnyRows = TypeVar("AnyRows", pa.Table, pa.RecordBatch)


def compact(schema: pa.Schema) -> dict[str, Any]:
    """Return the options with which tables are written to Parquet: integers as differences, texts as dictionaries.

    The files are half as large as with dictionaries of integers, and are written in two thirds of the time. The
    differences of positions are not compressed, which would make the files about 1 % smaller.
    """
    integers = [field.name for field in schema if pa.types.is_integer(field.type)]
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    codecs = {field.name: "none" if field.name in POSITIONS else "zstd" for field in schema}
    return {
        "compression": codecs, "write_page_checksum": True, "use_dictionary": texts,
        "column_encoding": dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
    }  # fmt: skip


def sorted_rows(rows: AnyRows, order: list[tuple[str, str]]) -> AnyRows:
    """Return the rows of a table in ascending order of columns, of which the first are `id` and, if it exists, `start`.

    - order: these columns, as `sort_by` takes them. The rows are not copied if they already ascend by id and start.
    """
    ids = rows.column("id").to_numpy()
    falls = ids[1:] <= ids[:-1]
    if "start" in rows.schema.names:
        start = rows.column("start").to_numpy()
        falls &= (ids[1:] < ids[:-1]) | (start[1:] <= start[:-1])
    return rows.sort_by(order) if falls.any() else rows


def write_table(
    url: str, schema: pa.Schema, tables: Iterable[pa.Table], group_rows: int, file_groups: int | None = None
) -> None:
    """Write tables together to the file `url`, or to several files in the folder `url`.

    - tables: their columns `id` ascend. None is without rows.
    - group_rows: the number of rows per row group.
    - file_groups: the largest number of row groups per file; None: FILE_GROUPS.
    """
    groups = _regrouped(tables, group_rows)
    n = file_groups or FILE_GROUPS
    first = io.BytesIO()  # of which it is not known yet whether there will be others
    ends = [_write(first, schema, islice(groups, n))]
    second = next(groups, None)
    if second is not None and not files.is_dir(url):
        files.remove(url)
    with files.atomic(url if second is None else part_of(url, 0)) as f:
        f.write(first.getbuffer())
    while second is not None:
        with files.atomic(part_of(url, len(ends))) as f:
            ends.append(_write(f, schema, chain([second], islice(groups, n - 1))))
        second = next(groups, None)
    if len(ends) > 1:
        write_index(url, schema, ends)


def write_index(url: str, schema: pa.Schema, ends: Iterable[int]) -> None:
    """Complete a table of several files in the folder `url`.

    - ends: the last id in each file.
    """
    with files.atomic(index_of(url)) as f:
        _write(f, schema.with_metadata({ENDS: " ".join(map(str, ends))}), iter(()))


def index_of(url: str) -> str:
    """Return the URL of the file that lists the files of a table that has several."""
    return files.join(url, "index.parquet")


def _regrouped(tables: Iterable[pa.Table], n: int) -> Iterator[pa.Table]:
    """Yield the same rows, `n` at a time, so that the row groups do not depend on the sizes of the tables."""
    held: list[pa.Table] = []
    rows = 0
    for table in tables:
        held.append(table)
        rows += len(table)
        while rows >= n:
            together = pa.concat_tables(held)
            yield together[:n].combine_chunks()
            held, rows = [together[n:]], rows - n
    if rows:
        yield pa.concat_tables(held).combine_chunks()


def _write(f: Any, schema: pa.Schema, groups: Iterator[pa.Table]) -> int:
    """Write tables, each as one row group, and return the last id; 0 if there are no rows."""
    from .parquet_writer import FileWriter

    last = 0
    with FileWriter(f, schema, **compact(schema)) as writer:
        for group in groups:
            writer.write(group, len(group))
            last = group.column("id")[-1].as_py()
    return last


def part_of(url: str, number: int) -> str:
    """Return the URL of a file of a table that has several."""
    return files.join(url, f"part-{number:05d}.parquet")


def parts_of(url: str) -> list[tuple[str, int]]:
    """Return the URL of each file of the table in the folder `url`, and the last id in it.

    Raises ReadError if the table is not complete, or if the file that lists them is another one.
    """
    with files.open_arrow(index_of(url)) as f:
        try:
            ends = [int(last) for last in (pq.read_schema(f).metadata or {})[ENDS].split()]
        except (KeyError, ValueError) as e:  # another table in its place
            msg = "it does not list the files of the table"
            raise ReadError(msg, index_of(url)) from e
    return [(part_of(url, number), last) for number, last in enumerate(ends)]
