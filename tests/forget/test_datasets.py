"""Removing documents from one Dataset, against the rows that a plain filter leaves; and where copies of them are."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
import stated
from dataprep import extend
from dataprep.core.model import batch as B
from dataprep.core.model.tables import DROPS
from dataprep.core.output.forget_list import digest, listed, wanted, write_if_new, write_list
from dataprep.core.output.layout import Folder
from dataprep.core.output.state import Recipe
from dataprep.errors import CorruptShard, PlanError
from dataprep.forget.copies import Copy, dropped_ids, duplicates_of, joined_documents, windows_of_same
from dataprep.forget.datasets import ids_in_file, remove_documents
from dataprep.forget.forget import read_ids
from dataprep.history.verify import verify
from dataprep.store import files, receipts
from dataprep.store.receipts import all_whole

N = 24


def ids_of(*numbers):
    """As an array of ids."""
    return np.array(sorted(numbers), np.uint64)


def half(text: str) -> str | None:
    """Drop every third text."""
    return "third" if int(text.split()[1]) % 3 == 2 else None


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """A Dataset of four parts from two files; positions are the numbers of the texts, which have all lengths."""
    home = tmp_path_factory.mktemp("datasets")
    rows = [{"text": f"n {k} " + "ä" * k, "host": f"h{k}"} for k in range(N)]
    docs = laws.dataset_of(home, rows, parts=4, strings=("host",))
    return dp.Pipeline(dp.Filter(half)).run(docs, str(home / "out"))


def copied(sealed, place):
    """A copy of the Dataset."""
    return shutil.copytree(sealed.url, str(place))


def rows_of(url):
    """All documents of a Dataset."""
    return dp.open_dataset(url).to_arrow().to_pylist()


@settings(max_examples=6)
@given(st.lists(st.sets(st.integers(0, N + 2), max_size=5), min_size=1, max_size=3))
def test_what_is_left_is_what_a_filter_leaves(sealed, tmp_path_factory, steps):
    """Rows, statistics, drop tables, receipts and hashes after each call; other shards keep their names and bytes."""
    url = copied(sealed, tmp_path_factory.mktemp("removed") / "out")
    all_ids = {row["id"] & 0xFFFF: row["id"] for row in rows_of(url)}
    left, gone, forgotten, generation = rows_of(url), ids_of(), {}, 1
    for numbers in steps:
        noted = digest(gone)
        asked = ids_of(*(all_ids.get(n, n) for n in numbers))
        gone = np.union1d(gone, asked)
        out = [row for row in left if row["id"] in asked.tolist()]
        left = [row for row in left if row not in out]
        hit = {row["id"] for row in out}
        old = Folder(url).manifest
        paths = [f"{url}/{shard.name}" for shard in old.shards]
        held = [set(pq.read_table(path, columns=["id"])["id"].to_pylist()) for path in paths]
        assert remove_documents(Folder(url), asked, digest(gone)) == len(out)
        forgotten |= {row["id"]: row for row in out}
        generation += digest(gone) != noted
        new = Folder(url).manifest
        assert rows_of(url) == left
        assert (new.docs, new.bytes) == (len(left), sum(len(row["text"].encode()) for row in left))
        assert new.generation == generation
        assert new.forgotten == digest(gone)
        assert new.is_same(Recipe.of(files.read_json(f"{url}/recipe.json"), url))
        assert (new.content == old.content) is not bool(hit)
        for ids, one, other in zip(held, old.shards, new.shards, strict=True):
            assert (one == other) is not bool(ids & hit)
            assert one == other or other.name.endswith(f".g{generation}.parquet")
        assert {p.name for p in new.shards} == {f"data/{name}" for name in files.listdir(f"{url}/data")}
        assert verify(url) == {url: []}
        assert all_whole(Folder(url).receipts())
        drops = [row for table in Path(url, "drops").iterdir() for row in pq.read_table(table).to_pylist()]
        mine = [row for row in drops if row["stage"] == "forget"]
        assert sorted(row["id"] for row in mine) == sorted(forgotten)
        assert {row["reason"] for row in mine} <= {"forgotten"}
        assert len(drops) - len(mine) == N // 3
        stats = dp.open_dataset(url).stats
        if forgotten:
            own = stats["forget"]
            assert own.docs_dropped == len(forgotten)
            assert own.docs_out == len(left)
            by_source = {s: (a.docs, a.bytes) for s, a in own.dropped["forgotten"].items() if a.docs}
            assert by_source == counted(forgotten.values())
            assert {s: (a.docs, a.bytes) for s, a in own.out.items() if a.docs} == counted(left)


def counted(rows):
    """Documents and bytes by source."""
    found = {}
    for row in rows:
        docs, size = found.get(row["source"], (0, 0))
        found[row["source"]] = (docs + 1, size + len(row["text"].encode()))
    return found


def test_columns_and_compression_stay(sealed, tmp_path) -> None:
    """A rewritten shard has the columns, the types and the codec of the old one, and checksums."""
    url = copied(sealed, tmp_path / "out")
    before = Folder(url).manifest.shards[0]
    old = pq.ParquetFile(f"{url}/{before.name}")

    def columns():
        return [s["columns"] for at in Folder(url).receipts() for s in receipts.read(at, "shards")["shards"]]

    noted = columns()
    assert remove_documents(Folder(url), ids_of(0), digest(ids_of(0))) == 1
    new = pq.ParquetFile(f"{url}/{before.name.replace('.parquet', '.g2.parquet')}")
    assert new.schema_arrow.equals(old.schema_arrow)
    assert columns() == noted
    assert Folder(url).manifest.shards[0].sealed == before.hash
    for i in range(old.metadata.num_columns):
        was, is_ = (file.metadata.row_group(0).column(i) for file in (old, new))
        assert (was.compression, was.has_dictionary_page) == (is_.compression, is_.has_dictionary_page)
        assert was.has_dictionary_page is (was.path_in_schema == "source")
        assert (was.statistics is not None) is (was.path_in_schema == "id")


@dataclass(frozen=True, kw_only=True)
class Coded(extend.Stage):
    """Adds a column whose values are stored once."""

    adds: ClassVar = {"kind": B.SOURCE}

    def __call__(self, batches, stats):
        """Yield the documents with the column."""
        for batch in batches:
            values = pa.array(["long name"] * batch.num_rows).dictionary_encode()
            yield B.with_column(batch, "kind", values.cast(B.SOURCE))


def test_coded_columns_stay_coded(tmp_path) -> None:
    """A column whose values are stored once keeps its type in a rewritten shard."""
    done = dp.Pipeline(Coded()).run(laws.dataset_of(tmp_path, ["a", "b", "c"], parts=1), str(tmp_path / "out"))
    before, schema = rows_of(done.url), done.table().schema
    assert remove_documents(Folder(done.url), ids_of(1), digest(ids_of(1))) == 1
    again = dp.open_dataset(done.url).table().schema
    assert (again, again.field("kind").type) == (schema, B.SOURCE)
    assert rows_of(done.url) == [before[0], before[2]]
    (name,) = files.listdir(f"{done.url}/data")
    group = pq.ParquetFile(f"{done.url}/data/{name}").metadata.row_group(0)
    coded = [group.column(i).path_in_schema for i in range(group.num_columns) if group.column(i).has_dictionary_page]
    assert coded == ["source", "kind"]


def test_ids_at_the_limits(tmp_path) -> None:
    """The first and the last id that there can be; one beyond is a sentence, in any kind of file."""
    (tmp_path / "a.txt").write_text(f"0:0\n{2**64 - 1}\n")
    assert read_ids(str(tmp_path / "a.txt")).tolist() == [0, 2**64 - 1]
    pq.write_table(pa.table({"id": pa.array([0, 5], pa.int64())}), tmp_path / "a.parquet")
    assert read_ids(str(tmp_path / "a.parquet")).tolist() == [0, 5]
    for text in (str(2**64), "-1"):
        (tmp_path / "a.txt").write_text(text)
        with pytest.raises(PlanError, match="is not a document id"):
            read_ids(str(tmp_path / "a.txt"))


def test_examples_of_forgotten_documents_go(sealed, tmp_path) -> None:
    """They quote texts: in the manifest and in receipts, also of documents that were dropped long ago."""
    url = copied(sealed, tmp_path / "out")
    (example, *others) = dp.open_dataset(url).stats["half"].examples["third"]
    assert remove_documents(Folder(url), ids_of(example.id), digest(ids_of(example.id))) == 0
    assert dp.open_dataset(url).stats["half"].examples["third"] == others
    assert all(example.text not in receipt.read_text() for receipt in Path(url, "receipts").iterdir())
    many = ids_of(*(e.id for e in others), example.id)
    remove_documents(Folder(url), many, digest(many))
    assert dp.open_dataset(url).stats["half"].examples == {}
    assert dp.open_dataset(url).stats["half"].docs_dropped == N // 3


def test_ids_in_a_file_are_found_in_every_row_group(tmp_path) -> None:
    """Whatever the groups hold; with or without their bounds; the largest id there is, too."""
    values = ids_of(0, 3, 4, 8, 9, 2**63, 2**64 - 1)
    for bounds in (True, False):
        place = str(tmp_path / f"{bounds}.parquet")
        pq.write_table(pa.table({"x": range(7), "id": values}), place, row_group_size=2, write_statistics=bounds)
        for asked in ([], [0], [3, 4], [5], [9], [1, 2, 2**63], [2**64 - 1], [10, 11], values.tolist()):
            found = ids_in_file(place, ids_of(*asked))
            assert found.tolist() == sorted(set(asked) & set(values.tolist()))


def test_a_damaged_shard_is_one_sentence(sealed, tmp_path) -> None:
    """Arrow's errors name no file; no shard is written then."""
    out = copied(sealed, tmp_path / "out")
    shard = min((tmp_path / "out" / "data").iterdir())
    shard.write_bytes(shard.read_bytes()[:-9] + b"x" + shard.read_bytes()[-8:])
    before = sorted(os.listdir(shard.parent))
    ids = np.array([0], np.uint64)
    for call in (lambda: ids_in_file(str(shard), ids), lambda: dp.tools.forget(str(out), ids.tolist())):
        with pytest.raises(CorruptShard, match=rf"{shard.name} as the table that was written: .*--repair"):
            call()
    assert sorted(os.listdir(shard.parent)) == before


def test_the_list_is_written_if_it_is_new(tmp_path) -> None:
    """Ids are stored once, in order; a list that would stay as it is is not written again."""
    place = str(tmp_path)
    assert listed(place).tolist() == []
    write_if_new(place, ids_of())
    assert not (tmp_path / "forget.parquet").exists()
    write_if_new(place, np.array([5, 3, 5], np.uint64))
    assert listed(place).tolist() == [3, 5]
    written = (tmp_path / "forget.parquet").stat().st_mtime_ns
    write_if_new(place, ids_of(5, 3))
    assert (tmp_path / "forget.parquet").stat().st_mtime_ns == written
    write_if_new(place, ids_of(3, 4, 5))
    assert listed(place).tolist() == [3, 4, 5]
    write_list(place, np.array([9, 2, 9], np.uint64))
    assert listed(place).tolist() == [2, 9]
    assert digest(listed(place)) == digest(np.array([9, 2, 2], np.uint64)) != digest(ids_of(2))
    assert digest(ids_of()) is None
    of_sources = {"a": "x", "b": None}
    assert digest(ids_of(), {"b": None}) is None
    assert len({digest(ids, some) for ids in (ids_of(), ids_of(2)) for some in ({}, of_sources, {"b": "x"})}) == 6


def test_lists_of_inputs_are_obeyed(sealed, tmp_path) -> None:
    """An id on the list of an input is left out of what is made of it, with the number that its file has there."""
    one, two = copied(sealed, tmp_path / "one"), copied(sealed, tmp_path / "two")
    write_list(one, ids_of(4, 12))
    write_list(two, ids_of(1))
    both = dp.read([dp.open_dataset(one), dp.open_dataset(two)])
    shift = 2 << B.POSITION_BITS  # the first has the files 0 and 1
    out = str(tmp_path / "out")
    write_list(out, ids_of(13, shift | 3))
    ids = wanted([(one, 0), (two, 2)], out)
    assert ids.tolist() == [4, 12, 13, shift | 1, shift | 3]
    left = dp.Pipeline().run(both, out).table(["id"])["id"].to_pylist()
    assert sorted(set(both.table(["id"])["id"].to_pylist()) - set(left)) == [4, 12, 13, shift | 1, shift | 3]
    assert listed(out).tolist() == ids.tolist()
    assert wanted([], str(tmp_path / "new")).tolist() == []


def dataset(place, drops, **columns):
    """A Dataset with one drop table and one shard with these columns."""
    shard = pa.table({"id": pa.array(columns.pop("id", [0]), pa.uint64()), **columns})
    for name, table in (("data/part-00000-000.parquet", shard), ("drops/part-00000.parquet", drop_table(drops))):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, place / name)
    size = (place / stated.SHARD["name"]).stat().st_size
    shards = [{**stated.SHARD, "last_id": "9", "size": size}]
    kinds = [[field.name, str(field.type)] for field in shard.schema]
    return Folder(stated.written(place, shards=shards, columns=kinds))


def drop_table(drops):
    """A drop table of rows (id, reason, kept, duplicate_of_dataset)."""
    rows = [
        {"id": i, "stage": "Exact", "reason": why, "duplicate_of": kept, "duplicate_of_dataset": there}
        for i, why, kept, there in drops
    ]
    return pa.Table.from_pylist(rows, schema=DROPS)


def test_copies_are_those_of_the_drop_tables(tmp_path) -> None:
    """Who was dropped for a forgotten document, and who was kept instead of one; not both, none of other Datasets."""
    home = dataset(tmp_path / "a", [
        (1, "exact", 5, None), (2, "exact", 5, "elsewhere"), (3, "joined", 5, None), (4, "short", None, None),
        (5, "near", 8, None), (6, "near", 7, None),
    ])  # fmt: skip
    both = [dataset(tmp_path / "step", [(9, "exact", 1, None)]), home]
    url = home.url

    def found(*ids):
        return sorted(duplicates_of(both, ids_of(*ids)), key=lambda copy: copy.id)

    assert found(5) == [Copy(url, 1, 5, "Exact", None, False), Copy(url, 8, 5, "Exact", None, True)]
    assert found(1) == [Copy(url, 5, 1, "Exact", None, True), Copy(url, 9, 1, "Exact", None, False)]
    assert found(1, 5) == [Copy(url, 8, 5, "Exact", None, True), Copy(url, 9, 1, "Exact", None, False)]
    assert found(2, 3, 4) == found() == []
    assert dropped_ids(both, ids_of(1, 5, 7, 8, 9)).tolist() == [1, 5, 9]
    assert joined_documents(home, ids_of(1, 3, 4)).tolist() == [5]
    assert joined_documents(home, ids_of(1, 5)).tolist() == []
    assert dropped_ids([both[0], Folder("none")], ids_of(1, 5, 7, 8, 9)).tolist() == [9]


def test_windows_of_a_conversation_go_together(tmp_path) -> None:
    """All windows of the conversations of the given ones; a Dataset without conversations has none."""
    talks = pa.array([70, 70, 71, 72, 71], pa.uint64())
    home = dataset(tmp_path / "a", [], id=[1, 2, 3, 4, 5], conversation=talks)
    assert windows_of_same(home, ids_of(2)).tolist() == [1, 2]
    assert windows_of_same(home, ids_of(1, 5)).tolist() == [1, 2, 3, 5]
    assert windows_of_same(home, ids_of(70)).tolist() == []
    assert windows_of_same(dataset(tmp_path / "b", [], id=[1, 2]), ids_of(2)).tolist() == []


def shout(text: str) -> str:
    """The text in capitals."""
    return text.upper()


def test_saved_steps_are_made_again_without_forgotten_documents(tmp_path) -> None:
    """A list that grew since the last run is obeyed by the input of an Estimator, too."""
    docs, out = laws.dataset_of(tmp_path, ["keep one", "secret", "keep two"], parts=1), str(tmp_path / "out")
    stages = dp.Pipeline(dp.Map(shout), dp.Exact())
    done = stages.run(docs, out)
    (forgotten,) = (row["id"] for row in done if row["text"] == "SECRET")
    write_list(out, ids_of(forgotten))
    again = stages.run(docs, out, replace=True)
    assert [row["text"] for row in again] == ["KEEP ONE", "KEEP TWO"]
    (step,) = Folder(out).steps
    assert [row["text"] for row in dp.open_dataset(step.input.url)] == ["KEEP ONE", "KEEP TWO"]
    assert Folder(step.input.url).recipe.forgotten == digest(ids_of(forgotten))
