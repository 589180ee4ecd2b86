"""How tables are written to Parquet: every integer comes back, and rows are in order."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from dataprep.core.model.tables import SPANS, VERDICTS, new_rows
from dataprep.store.parquet import compact, sorted_rows
from dataprep.store.parquet_writer import FileWriter

ids = st.integers(0, 2**64 - 1)
places = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))


@given(st.lists(st.tuples(ids, places, st.sampled_from(["a", "né", "王", ""])), max_size=9))
def test_integers_and_texts_come_back(rows):
    """The largest and the smallest, missing ones, and texts in any script."""
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = (pa.uint64(), pa.int64(), pa.string())
    given_rows = pa.table({k: pa.array(v, t) for k, v, t in zip("abc", columns, kinds, strict=True)})
    file = io.BytesIO()
    with FileWriter(file, given_rows.schema, **compact(given_rows.schema)) as writer:
        writer.write(given_rows)
    assert pq.read_table(file).equals(given_rows)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["b", "a"])), max_size=6))
def test_rows_are_sorted(rows):
    """By id, start and reason, as `sorted` does; rows without a start by id, in their relative order."""
    id_, start, reason = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    given_ids = np.array(id_, np.uint64)
    starts, ends = np.array(start, np.int64), np.zeros(len(rows), np.int64)
    spans = new_rows(SPANS, id=given_ids, start=starts, end=ends, reason=reason)
    found = sorted_rows(spans, [(name, "ascending") for name in ("id", "start", "reason")])
    assert [(r["id"], r["start"], r["reason"]) for r in found.to_pylist()] == sorted(rows)
    drops = new_rows(VERDICTS, id=given_ids, reason=[f"{k}" for k in range(len(rows))])
    kept = [r["reason"] for r in sorted_rows(drops, [("id", "ascending")]).to_pylist()]
    assert kept == [f"{k}" for k in sorted(range(len(rows)), key=id_.__getitem__)]
