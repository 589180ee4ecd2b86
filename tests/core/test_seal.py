"""What the manifest states of a shard and of stages, against values that are counted one by one."""

from __future__ import annotations

import gc
import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.model.stage import Stage
from dataprep.core.model.stats import HIDDEN, Amount, StageStats
from dataprep.core.run import seal
from dataprep.core.run.seal import Flow, published, write_shard
from dataprep.errors import PlanError
from dataprep.store.parquet import compact
from dataprep.store.parquet_writer import FileWriter


class Hides(Stage):
    """A stage before which everything is private."""

    hides = True


ROW = {"id": 7, "text": "ab", "source": "web", "meta": "{}", "n": 1, "s": "x", "few": [1], "b": True}
KINDS = {"n": pa.int64(), "s": pa.string(), "few": pa.list_(pa.int64()), "b": pa.bool_()}


def made(rows):
    """A batch of rows with four further columns."""
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in KINDS.items()}
    ids = np.array([row["id"] for row in rows], np.uint64)
    batch = B.make(ids, [row["text"] for row in rows], "web", [row["meta"] for row in rows], columns)
    return B.with_column(batch, "source", pa.array([row["source"] for row in rows]).cast(B.SOURCE))


def facts_of(batches, place):
    """The entry of a shard, after a look into the shard."""
    batches = list(batches)
    facts = write_shard(Flow(iter(batches)), str(place), "zstd", B.SCHEMA, 1 << 28)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert pq.read_table(place).to_pylist() == rows
    assert (facts["docs"], facts["bytes"]) == (len(rows), sum(len(row["text"].encode()) for row in rows))
    assert facts["last_id"] == str(max(row["id"] for row in rows))
    assert [name for name, _ in facts["columns"]] == list(rows[0])
    return facts


@settings(max_examples=6)
@given(
    st.lists(st.sampled_from(["", "a", "ä", "word " * 9]), min_size=1, max_size=9),
    st.lists(st.integers(1, 4), min_size=1),
)
def test_an_entry_states_its_shard(tmp_path_factory, texts, sizes) -> None:
    """However the rows come in batches."""
    place = tmp_path_factory.mktemp("shard") / "a.parquet"
    batch = made([ROW | {"id": n, "text": text} for n, text in enumerate(texts)])
    assert facts_of([batch], place) == facts_of(laws.cuts(batch, sizes), place)


OTHER = [
    {"id": 8}, {"text": "ac"}, {"text": ""}, {"source": "wiki"}, {"meta": '{"a":1}'}, {"n": 2}, {"n": None},
    {"s": ""}, {"s": None}, {"few": [2]}, {"few": []}, {"few": None}, {"b": False}, {"b": None},
]  # fmt: skip


@pytest.mark.parametrize("change", OTHER, ids=str)
def test_every_value_changes_the_content(tmp_path, change) -> None:
    """The hash is that of all values; a null is not an empty value."""
    first, last = ROW | {"id": 1}, ROW | {"id": 9}
    one = facts_of([made([first, ROW, last])], tmp_path / "a.parquet")["content"]
    other = facts_of([made([first, ROW | change, last])], tmp_path / "a.parquet")["content"]
    assert one != other
    assert one == facts_of([made([first, ROW, last])], tmp_path / "b.parquet")["content"]


def test_the_content_is_that_of_each_row(tmp_path) -> None:
    """The same letters, or the same nulls, in another row are another content."""
    for one, other in (({"text": "ab"}, {"text": "c"}), ({"s": None}, {"s": "x"}), ({"n": None}, {"n": 1})):
        found = [
            facts_of([made([ROW | {"id": 1} | a, ROW | {"id": 2} | b])], tmp_path / "a.parquet")["content"]
            for a, b in ((one, other), (other, one))
        ]
        assert found[0] != found[1]
    place = tmp_path / "a.parquet"
    one, other = (facts_of([laws.batch_of(texts)], place) for texts in (["ab", "c"], ["a", "bc"]))
    assert one["content"] != other["content"]


@pytest.mark.parametrize("limit", [1, 5, 6, 12, 1000])
def test_shards_have_at_least_a_size(tmp_path, monkeypatch, limit) -> None:
    """Each is closed by the batch that fills it; all together are the documents, and the manifest adds them up."""
    monkeypatch.setattr(seal, "SHARD_BYTES", limit)
    monkeypatch.setattr(B, "recut", iter)
    done = dp.Pipeline().run(laws.dataset_of(tmp_path, ["ab"] * 10, parts=1, rows_per_batch=3), str(tmp_path / "out"))
    per = max(1, -(-limit // 6)) * 3
    sizes = [min(per, 10 - at) for at in range(0, 10, per)]
    assert [shard.docs for shard in done.manifest.shards] == sizes
    assert [shard.bytes for shard in done.manifest.shards] == [2 * n for n in sizes]
    assert (done.manifest.docs, done.manifest.bytes, len(list(done))) == (10, 20, 10)


@pytest.mark.parametrize("pattern", ["".join(p) for n in range(4) for p in itertools.product("h-", repeat=n)])
@pytest.mark.parametrize("readers", [1, 2])
def test_statistics_up_to_the_last_stage_that_hides(pattern, readers) -> None:
    """Are without names, those of the reader and of the forget list, too; later ones are as they were."""
    stages = [Hides() if c == "h" else Stage() for c in pattern]
    names = ["read", "forget"][:readers] + list(pattern)
    given = [StageStats(name, {"web": Amount(1, 2)}) for name in names]
    for i, (one, was) in enumerate(zip(published(given, stages), given, strict=True)):
        hides = "h" in pattern[max(0, i - readers) :]
        assert list(one.into) == ([HIDDEN] if hides else ["web"])
        assert hides or one == was


def test_a_runner_returns_one_result_per_task(tmp_path) -> None:
    """Else documents would be missing from the result."""

    class Loses(dp.tools.Serial):
        """Loses the last result."""

        def map(self, task, items, label=""):
            """Yield all but one."""
            return itertools.islice(super().map(task, items, label), len(items) - 1)

    with pytest.raises(PlanError, match="returned 1 results of 2 tasks"):
        dp.Pipeline().run(laws.dataset_of(tmp_path, ["a", "b"], parts=2), str(tmp_path / "out"), Loses())
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_writer_that_an_error_left_prints_nothing(tmp_path, monkeypatch) -> None:
    """Of a shard and a table whose file was closed by an error, the writer is freed without a traceback."""
    printed = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    batch = made([ROW])
    for k, options in enumerate(({}, compact(batch.schema))):
        with (tmp_path / str(k)).open("wb") as f:
            writer = FileWriter(f, batch.schema, **options)
            writer.write_batch(batch)
        del writer
        gc.collect()
    assert printed == []


def test_a_part_without_documents_has_each_column_once():
    """Also if a stage names one that every batch has."""
    stages = (SimpleNamespace(adds={"n": pa.int8()}), SimpleNamespace(adds={"text": pa.large_string(), "m": pa.int8()}))
    part = SimpleNamespace(reader=SimpleNamespace(adds={"r": pa.string(), "n": pa.string()}), stages=stages)
    schema = seal._schema(part)
    assert schema.names == ["id", "text", "source", "meta", "r", "n", "m"]
    assert schema.field("n").type == pa.int8()
