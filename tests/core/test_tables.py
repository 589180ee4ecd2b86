"""Tables of dropped documents and cut spans: merging, writing in order, and reading by ranges, against plain lists."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import stated
from dataprep.core.model import tables
from dataprep.core.model.range_reader import RangeReader
from dataprep.core.model.tables import (
    CUTS,
    DROPS,
    NOBODY,
    SPAN,
    SPANS,
    UNREAD,
    VERDICTS,
    checked,
    read_rows,
    rows_of_ids,
    span_rows,
    united,
    write_spans,
    write_verdicts,
)
from dataprep.errors import CorruptShard, ReadError, Transient
from dataprep.store import files, parquet
from fixtures import faults


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 5)), max_size=9))
def test_spans_are_united_as_sets_of_places_are(spans):
    """Overlapping and touching spans of one document become one; those of others never do."""
    rows = [(id_, start, start + length) for id_, start, length in spans]
    expected = []
    for id_, start, end in sorted(rows, key=lambda row: row[:2]):
        if expected and expected[-1][0] == id_ and start <= expected[-1][2]:
            expected[-1][2] = max(expected[-1][2], end)
        else:
            expected.append([id_, start, end])
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    found = united(columns[0].astype(np.uint64), columns[1], columns[2])
    assert [list(row) for row in zip(*(column.tolist() for column in found), strict=True)] == expected


def verdicts(ids):
    """A table of these ids; the reason says which row it is."""
    columns = {"id": pa.array(ids, pa.uint64()), "reason": [f"r{k}" for k in range(len(ids))]}
    more = {field.name: pa.nulls(len(ids), field.type) for field in VERDICTS if field.name not in columns}
    return pa.table(columns | more)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 40), max_size=12, unique=True), st.lists(st.sets(st.integers(0, 40)), max_size=4))
def test_rows_of_a_batch_are_those_of_its_ids(tmp_path_factory, ids, asked):
    """Whatever files and row groups they lie in, and in whatever order batches come."""
    place = str(tmp_path_factory.mktemp("tables") / "v.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "VERDICT_ROWS", 3)
        patch.setattr(parquet, "FILE_GROUPS", 2)
        assert write_verdicts(place, verdicts(ids)) == len(ids)
    assert Path(place).is_dir() == (len(ids) > 6)
    with RangeReader(place, VERDICTS) as table:
        for some in asked:
            batch = laws.batch_of(["x"] * 41).filter(pa.array([k in some for k in range(41)]))
            rows = table.of(batch)
            assert rows.schema.equals(VERDICTS)
            assert [(row["id"], row["reason"]) for row in rows.to_pylist()] == [
                (i, f"r{ids.index(i)}") for i in sorted(some & set(ids))
            ]
            near = [k // 3 for k, i in enumerate(sorted(ids)) if some and i >= min(some)]
            far = [k // 3 for k, i in enumerate(sorted(ids)) if some and i <= max(some)]
            assert {2 * n + i for n, i in table.held} == set(near) & set(far)  # no other row group is read
            files = [sorted(ids)[n : n + 6] for n in range(0, len(ids), 6)]
            lasts = [-1, *(of[-1] for of in files)]  # of each file, and of the one before
            wanted = {n for n in range(len(files)) if some and lasts[n] <= max(some) and lasts[n + 1] >= min(some)}
            assert len(files) < 2 or not some or set(table.opened) == wanted
    assert read_rows(place, VERDICTS)["id"].to_pylist() == sorted(ids)
    for id_ in range(41) if len(ids) <= 6 else ():
        assert [row["id"] for row in rows_of_ids(place, [id_])] == [id_] * (id_ in ids)


def test_a_large_table_is_a_folder_of_files(tmp_path, monkeypatch) -> None:
    """Other programs read the folder; a table of one file and one of several replace each other; no file is left."""
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    place = tmp_path / "v.parquet"
    monkeypatch.setattr(tables, "VERDICT_ROWS", 2)
    for n, groups in ((9, 2), (3, 2), (9, 3)):
        monkeypatch.setattr(parquet, "FILE_GROUPS", groups)
        parts = [verdicts(range(at, min(at + 4, n))) for at in range(0, n, 4)]
        assert write_verdicts(str(place), parts) == n
        names = ["index.parquet", *(f"part-{k:05d}.parquet" for k in range(-(-n // (2 * groups))))]
        assert sorted(path.name for path in place.glob("*")) == (names if n > 4 else [])
        assert duckdb.read_parquet(str(place)).fetchnumpy()["id"].tolist() == [*range(n)]
        assert polars.read_parquet(place)["id"].to_list() == pq.read_table(place)["id"].to_pylist() == [*range(n)]
        assert pq.ParquetFile(place / names[1] if n > 4 else place).num_row_groups == min(groups, -(-n // 2))


@pytest.mark.parametrize("before", [2, 9])
def test_a_killed_writer_leaves_a_table_that_is_whole_or_none(tmp_path, monkeypatch, before) -> None:
    """At every call: who reads finds the old rows, the new ones or an error, and the next writer leaves equal files."""
    monkeypatch.setattr(tables, "VERDICT_ROWS", 1)
    monkeypatch.setattr(parquet, "FILE_GROUPS", 3)
    write_verdicts(str(tmp_path / "whole" / "v.parquet"), verdicts(range(8)))
    for at in itertools.count(1):
        place = tmp_path / str(at) / "v.parquet"
        write_verdicts(str(place), verdicts(range(before)))
        with faults.Disk(str(place.parent), "killed", at).mounted(), contextlib.suppress(faults.Crash):
            write_verdicts(str(place), verdicts(range(8)))
            break
        with contextlib.suppress(CorruptShard):
            assert len(read_rows(str(place), VERDICTS)) in (before, 8)
        files.sweep(str(place.parent))
        write_verdicts(str(place), verdicts(range(8)))
        laws.same_bytes(tmp_path / "whole", place.parent)
    assert at > 10


@pytest.mark.parametrize("lost", ["index", "part-00001"])
def test_a_lost_file_of_a_large_table_is_one_sentence(tmp_path, monkeypatch, lost) -> None:
    """Its name, and what to do."""
    monkeypatch.setattr(tables, "VERDICT_ROWS", 1)
    monkeypatch.setattr(parquet, "FILE_GROUPS", 1)
    place = tmp_path / "v.parquet"
    write_verdicts(str(place), verdicts(range(3)))
    (place / f"{lost}.parquet").unlink()
    with pytest.raises(CorruptShard, match=rf"{lost}.*(missing|cannot be opened).*; remove its folder and run again"):
        RangeReader(str(place), VERDICTS).of(laws.batch_of(["a", "b", "c"]))
    with pytest.raises(CorruptShard, match=lost):
        read_rows(str(place), VERDICTS)
    shutil.copy(place / "part-00000.parquet", place / f"{lost}.parquet")  # which is no index
    if lost == "index":
        with pytest.raises(CorruptShard, match="index.parquet.* does not list the files of the table"):
            read_rows(str(place), VERDICTS)


def test_tables_come_in_order_of_ids(tmp_path) -> None:
    """Several tables are one; an equal id may follow, a smaller one may not; no rows are a table without rows."""
    place = str(tmp_path / "v.parquet")
    assert write_verdicts(place, [verdicts([3, 1]), verdicts([]), verdicts([3, 9])]) == 4
    found = pq.read_table(place)
    assert found.schema.equals(VERDICTS)
    assert found["id"].to_pylist() == [1, 3, 3, 9]
    assert found["reason"].to_pylist() == ["r1", "r0", "r0", "r1"]
    with pytest.raises(AssertionError, match="verdicts come in order of ids"):
        write_verdicts(place, [verdicts([1, 9]), verdicts([8])])
    assert write_verdicts(place, []) == 0
    with RangeReader(place, VERDICTS) as table:
        assert table.of(laws.batch_of(["a"])).num_rows == 0


def test_spans_of_nobody_have_no_copy(tmp_path) -> None:
    """A first occurrence that is not known is null; spans are sorted by document and place."""
    rows = np.array([(5, 7, 9, 3, 1, 3), (5, 1, 4, NOBODY, 0, 0), (2, 0, 1, 5, 2, 3)], SPAN)
    assert write_spans(str(tmp_path / "s.parquet"), [rows]) == 3
    found = pq.read_table(tmp_path / "s.parquet")
    assert found.schema.equals(SPANS)
    names = ("id", "start", "end", "duplicate_of_dataset", "duplicate_of", "duplicate_of_start", "duplicate_of_end")
    assert [tuple(row[name] for name in names) for row in found.to_pylist()] == [
        (2, 0, 1, None, 5, 2, 3), (5, 1, 4, None, None, None, None), (5, 7, 9, None, 3, 1, 3),
    ]  # fmt: skip
    assert span_rows(rows, pa.array(["a", "b", None]))["duplicate_of_dataset"].to_pylist() == ["a", "b", None]
    found = span_rows(rows, reason=pa.array(["x", "y", "x"]))
    assert found["reason"].to_pylist() == ["x", "y", "x"]
    write_verdicts(str(tmp_path / "v.parquet"), [])
    with pytest.raises(CorruptShard, match=r"as the verdict table .*: there is no column start, end; "):
        RangeReader(str(tmp_path / "v.parquet"), SPANS)


COLUMNS = {
    DROPS: "id:uint64! stage:string! reason:string! duplicate_of_dataset:string duplicate_of:uint64 "
    "similarity:float source:string bytes:int64 value:double label:string",
    CUTS: "id:uint64! stage:string! start:int64! end:int64! duplicate_of_dataset:string duplicate_of:uint64 "
    "duplicate_of_start:int64 duplicate_of_end:int64 reason:string source:string",
    UNREAD: "file:string! reason:string! offset:int64 detail:string",
}


@pytest.mark.parametrize("schema", COLUMNS, ids=["drops", "cuts", "unread"])
def test_columns_are_the_documented_ones(schema) -> None:
    """Names, types, and which always have a value: other programs read these tables."""
    assert " ".join(f"{f.name}:{f.type}{'' if f.nullable else '!'}" for f in schema) == COLUMNS[schema]


@pytest.mark.parametrize(
    "error", [Transient("a"), ConnectionError(), TimeoutError(), MemoryError(), KeyError("a")], ids=repr
)
def test_what_is_no_fault_of_the_file_passes(tmp_path, error) -> None:
    """As it was raised."""
    with pytest.raises(type(error)), checked(str(tmp_path)):
        raise error


@pytest.mark.parametrize("error", [pa.ArrowInvalid("cut."), OSError("cut"), ReadError("cut")], ids=repr)
def test_a_damaged_file_is_one_sentence(tmp_path, error) -> None:
    """With what it should be and what to do; a missing one is said to be missing."""
    for place, state in ((tmp_path, "cut"), (tmp_path / "none", "it is missing")):
        with pytest.raises(CorruptShard) as e, checked(str(place), "table", "run again"):
            raise error
        assert str(e.value) == f"cannot read {place} as the table: {state}; run again"
    says = r"as the table that was written: cut; `dataprep verify DIR --repair"
    with pytest.raises(CorruptShard, match=says), checked(str(tmp_path)):
        raise error


def test_tables_of_a_dataset_are_read_by_columns(tmp_path) -> None:
    """Of all parts, as the manifest names them; a table without the columns that always have values is not one."""
    names = ["drops/part-00000.parquet", "drops/part-00001.g2.parquet"]
    for n, name in enumerate(names):
        rows = pa.Table.from_batches([tables.new_rows(DROPS, id=[n], stage="S", reason="r")])
        (tmp_path / "drops").mkdir(exist_ok=True)
        pq.write_table(rows, tmp_path / name)
    pq.write_table(rows, tmp_path / "drops" / "part-00001.parquet")  # of the result before
    shards = [(0, names[0]), (0, names[0]), (1, names[1])]  # two of one part
    stated.written(tmp_path, shards=[{**stated.SHARD, "name": f"data/{k}", "drops": name} for k, name in shards])
    found = [row for batch in tables.read_tables(str(tmp_path), "drops", ["id", "reason"]) for row in batch.to_pylist()]
    assert found == [{"id": 0, "reason": "r"}, {"id": 1, "reason": "r"}]
    assert [n for batch in tables.read_tables(str(tmp_path), "drops") for n in batch.schema.names] == DROPS.names * 2
    pq.write_table(rows.select(["id"]), tmp_path / "drops" / "part-00000.parquet")
    with pytest.raises(CorruptShard, match=r"part-00000.parquet as the table .*: there is no column stage, r"):
        list(tables.read_tables(str(tmp_path), "drops"))


def test_a_changed_byte_of_a_table_is_an_error(tmp_path) -> None:
    """Pages have checksums, which are compared, also where nothing else would notice."""
    row = {name: "aaaa" if kind == pa.string() else 1 for name, kind in zip(DROPS.names, DROPS.types, strict=True)}
    (tmp_path / "drops").mkdir()
    place = tmp_path / "drops" / "part-00000.parquet"
    stated.written(tmp_path, shards=[stated.SHARD])
    for schema in (DROPS, VERDICTS):
        table = pa.Table.from_pylist([{name: row[name] for name in schema.names}], schema=schema)
        pq.write_table(table, place, compression="none", write_page_checksum=True, write_statistics=["id"])
        place.write_bytes(place.read_bytes().replace(b"aaaa", b"aaab"))
        with pytest.raises(CorruptShard, match="part-00000.parquet as the "):
            if schema is DROPS:
                list(tables.read_tables(str(tmp_path), "drops"))
            else:
                RangeReader(str(place), VERDICTS).of(laws.batch_of(["a", "b"]))
