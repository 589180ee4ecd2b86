"""RangeReader: reads an Estimator's table in step with the batches of documents."""

from __future__ import annotations

import contextlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.store import files

from .tables import checked, conform, id_bounds, known_columns


class RangeReader:
    """Reads an Estimator's table (of documents to drop or spans to cut) batch by batch, one row group at a time.

    Raises CorruptShard if the table is missing or damaged, or lacks a required column.
    """

    def __init__(self, url: str, schema: pa.Schema) -> None:
        self.url, self.schema = url, schema
        with self._checked(), contextlib.ExitStack() as opened:
            opened_file = opened.enter_context(files.open_arrow(url))
            self.file = pq.ParquetFile(opened_file, page_checksum_verification=True)
            self.known = known_columns(self.file.schema_arrow, schema)
            self.opened = opened.pop_all()
        self.bounds = id_bounds(self.file.metadata)
        self.held: dict[int, pa.Table] = {}

    def __enter__(self) -> RangeReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.close()

    def _checked(self) -> contextlib.AbstractContextManager[None]:
        return checked(self.url, "verdict table that was written", "remove its folder and run again")

    def of(self, batch: pa.RecordBatch) -> pa.Table:
        """Return the rows of the table that refer to documents of `batch`."""
        numbers = batch.column("id").to_numpy()
        low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (1, 0)
        groups = [i for i, (a, b) in enumerate(self.bounds) if a <= high and b >= low]
        with self._checked():
            self.held = {i: self.held.get(i) or self._read(i) for i in groups}
        if not groups:
            return self.schema.empty_table()
        rows = pa.concat_tables(self.held.values())
        ids = rows.column("id").to_numpy()
        first, last = np.searchsorted(ids, np.uint64(low)), np.searchsorted(ids, np.uint64(high), "right")
        found = rows.slice(first, last - first)
        is_in = pc.is_in(found.column("id"), batch.column("id"))
        return (found if pc.all(is_in).as_py() else found.filter(is_in)).combine_chunks()

    def _read(self, group: int) -> pa.Table:
        return conform(self.file.read_row_group(group, self.known), self.schema)
