"""RangeReader: reads an Estimator's table in step with the batches of documents."""

from __future__ import annotations

import contextlib
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.errors import ReadError
from dataprep.lazy import parquet as pq
from dataprep.store import files
from dataprep.store.parquet import parts_of

from .batch import find_sorted, runs
from .tables import IDS, checked, conform, id_bounds, known_columns


class RangeReader:
    """Reads an Estimator's table (of documents to drop or spans to cut) batch by batch, one row group at a time.

    If the table has several files, only those with ids of the batch are open.

    Raises CorruptShard if the table is missing or damaged, or lacks a required column.
    """

    def __init__(self, url: str, schema: pa.Schema) -> None:
        self.url, self.schema = url, schema
        self.parts, self.opened = [(url, IDS[1])], dict[int, _Part]()
        self.held: dict[tuple[int, int], pa.Table] = {}  # by the numbers of the file and the row group
        with self._checked():
            try:
                self.opened[0] = _Part(url, schema)
            except ReadError:  # a folder
                if not files.is_dir(url):
                    raise
                self.parts = parts_of(url)

    def __enter__(self) -> RangeReader:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.opened.values():
            one.close()

    def _checked(self) -> contextlib.AbstractContextManager[None]:
        return checked(self.url, "verdict table that was written", "remove its folder and run again")

    def of(self, batch: pa.RecordBatch) -> pa.Table:
        """Return the rows of the table that refer to documents of `batch`."""
        numbers = batch.column("id").to_numpy()
        low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (1, 0)
        with self._checked():
            groups = self._groups(low, high) if len(numbers) else []
            self.held = {at: self.held.get(at) or self.opened[at[0]].read(at[1]) for at in groups}
        if not self.held:
            return self.schema.empty_table()
        rows = pa.concat_tables(self.held.values())
        ids = rows.column("id").to_numpy()
        first, last = np.searchsorted(ids, np.uint64(low)), np.searchsorted(ids, np.uint64(high), "right")
        found = rows.slice(first, last - first)
        begins, n = runs(ids[first:last])
        is_in = find_sorted(np.sort(numbers), ids[first:last][begins])[1]
        return (found if is_in.all() else found.filter(pa.array(np.repeat(is_in, n)))).combine_chunks()

    def _groups(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the row groups that may contain ids from `low` to `high`, and open their files but no others."""
        ends = [last for _, last in self.parts]
        wanted = range(bisect_left(ends, low), min(bisect_right(ends, high) + 1, len(ends)))
        for number in self.opened.keys() - wanted:
            self.opened.pop(number).close()
        for number in wanted:
            self.opened[number] = self.opened.get(number) or _Part(self.parts[number][0], self.schema)
        bounds = [(number, i, *of) for number in wanted for i, of in enumerate(self.opened[number].bounds)]
        return [(number, i) for number, i, first, last in bounds if first <= high and last >= low]


class _Part:
    """An open file of a table."""

    def __init__(self, url: str, schema: pa.Schema) -> None:
        self.schema = schema
        with contextlib.ExitStack() as opened:
            file: Any = opened.enter_context(files.open_arrow(url))
            self.file = pq.ParquetFile(file, page_checksum_verification=True)
            self.known = known_columns(self.file.schema_arrow, schema)
            self.close = opened.pop_all().close
        self.bounds = id_bounds(self.file.metadata)

    def read(self, group: int) -> pa.Table:
        """Return the rows of a row group."""
        return conform(self.file.read_row_group(group, self.known), self.schema)
