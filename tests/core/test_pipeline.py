"""Pipelines: planning, passes, resuming, and whose folder it is."""

import json
import os
import shutil
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pytest
from pyarrow import parquet

import laws
from dataprep.core.model import batch as B
from dataprep.core.model.dataset import join_datasets, open_dataset
from dataprep.core.model.function import Filter, Map
from dataprep.core.model.stage import Stage
from dataprep.core.output import owned
from dataprep.core.pipeline import Pipeline
from dataprep.core.run.runner import Serial
from dataprep.errors import CorruptShard, PlanError, ReadError, StaleOutput
from dataprep.read import read
from dataprep.store import files, receipts
from fixtures.small_pipeline import STAGES, TEXTS, FirstOfLength, empty, long_enough, words
from laws import dataset_of, same_bytes, same_result


def test_a_pipeline_is_what_its_stages_say(tmp_path):
    """Fused stages, an Estimator and what follows it give what plain Python gives."""
    done = Pipeline(*STAGES).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    seen, expected = set(), []
    for text in TEXTS:
        if text and len(text) not in seen:
            seen.add(len(text))
            if len(text.split()) > 3:
                expected.append(text.upper())
    assert sorted(done.table().column("text").to_pylist()) == sorted(expected)
    assert done.count == len(expected) == len(done.take(100))
    assert [s.name for s in done.stats] == ["read", "empty", "shout", "FirstOfLength", "words", "long_enough"]
    assert done.stats["empty"].reasons == {"empty": 12}
    assert done.stats["FirstOfLength"].dropped["same_length"]
    for one, other in zip(done.stats.stages, done.stats.stages[1:], strict=False):
        assert one.docs_out == other.docs_in
    assert done.columns == ["id", "text", "source", "meta", "words"]
    drops = done.drops().to_pylist()
    assert len(drops) == sum(s.docs_dropped for s in done.stats) == len(TEXTS) - len(expected)
    assert {d["stage"] for d in drops} == {"empty", "FirstOfLength", "long_enough"}


def test_runners_agree_byte_for_byte(tmp_path):
    """Serial and Local write the same files, receipts and manifest included; Ray too, see tests/hard."""
    docs = dataset_of(tmp_path, TEXTS, parts=5)
    Pipeline(*STAGES).run(docs, str(tmp_path / "serial"), Serial())
    Pipeline(*STAGES).run(docs, str(tmp_path / "local"), laws.TWO)
    same_bytes(tmp_path / "serial", tmp_path / "local")


def test_batch_cuts_of_the_reader_do_not_change_the_shards(tmp_path):
    """However a reader cuts its batches, the shards hold the same bytes."""
    for n in (1, 7):
        Pipeline(*STAGES).run(dataset_of(tmp_path, TEXTS, rows_per_batch=n), str(tmp_path / f"by{n}"))
    same_bytes(tmp_path / "by1" / "data", tmp_path / "by7" / "data")
    same_bytes(tmp_path / "by1" / "drops", tmp_path / "by7" / "drops")


def test_a_folder_that_moved_is_the_same_dataset(tmp_path):
    """Receipts and manifest name no absolute path."""
    done = Pipeline(*STAGES).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    shutil.move(tmp_path / "out", tmp_path / "moved")
    moved = open_dataset(str(tmp_path / "moved"))
    assert moved.table().equals(open_dataset(str(tmp_path / "moved")).table())
    assert moved.key == done.key
    again = Pipeline(*STAGES).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "moved"))
    assert again.key == done.key


def test_a_finished_run_is_not_done_again(tmp_path, monkeypatch):
    """The same recipe opens what is there; without its manifest, only what is missing is made."""
    docs = dataset_of(tmp_path, TEXTS)
    Pipeline(*STAGES).run(docs, str(tmp_path / "out"))
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    made = []
    once = receipts.once
    monkeypatch.setattr("dataprep.core.run.seal.Seal._write", lambda *a: made.append(a))
    with monkeypatch.context() as one:
        one.setattr("dataprep.core.output.commit.receipts.all_whole", made.append)  # nor is it read
        Pipeline(*STAGES).run(docs, str(tmp_path / "out"))
    os.unlink(tmp_path / "out" / "manifest.json")
    Pipeline(*STAGES).run(docs, str(tmp_path / "out"))
    assert made == []
    monkeypatch.undo()
    assert once is receipts.once
    os.unlink(tmp_path / "out" / "manifest.json")
    os.unlink(tmp_path / "out" / "data" / "part-00001-000.parquet")
    Pipeline(*STAGES).run(docs, str(tmp_path / "out"))
    same_bytes(tmp_path / "out", tmp_path / "copy")


def test_another_recipe_is_stale_unless_replaced(tmp_path):
    """Another recipe is refused; with replace=True it is made anew, and early steps are used again."""
    docs, out = dataset_of(tmp_path, TEXTS), str(tmp_path / "out")
    Pipeline(*STAGES).run(docs, out)
    steps = os.listdir(os.path.join(out, "steps"))
    with pytest.raises(StaleOutput, match="a different recipe or from different input .*replace=True"):
        Pipeline(*STAGES[:-1]).run(docs, out)
    stamp = os.stat(os.path.join(out, "steps", steps[0], "receipt.json")).st_mtime_ns
    done = Pipeline(*STAGES[:-1]).run(docs, out, replace=True)
    assert os.listdir(os.path.join(out, "steps")) == steps
    assert os.stat(os.path.join(out, "steps", steps[0], "receipt.json")).st_mtime_ns == stamp
    Pipeline(*STAGES[:-1]).run(docs, str(tmp_path / "fresh"))
    same_result(out, tmp_path / "fresh")
    assert done.count > 0


def test_a_strangers_folder_is_never_touched(tmp_path):
    """A folder with other people's files is refused, replace or not."""
    files.write_bytes(str(tmp_path / "mine" / "thesis.doc"), b"x")
    for replace in (False, True):
        with pytest.raises(StaleOutput, match=r"thesis\.doc, which dataprep did not write"):
            Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "mine"), replace=replace)
    assert os.listdir(tmp_path / "mine") == ["thesis.doc"]


def test_changed_input_is_another_recipe(tmp_path):
    """The key follows what is in the input, not its name or date."""
    out = str(tmp_path / "out")
    made = [Pipeline().run(dataset_of(tmp_path, texts), out) for texts in (TEXTS, TEXTS, [*TEXTS[:-1], "x"])]
    assert made[0].key == made[1].key != made[2].key


def test_missing_columns_fail_before_any_work(tmp_path):
    """A stage that needs a column nobody makes is a PlanError that names both."""
    with pytest.raises(PlanError, match=r"needs the column words, .*available: id, text, source, meta.*after columns$"):
        Pipeline(Filter(long_enough)).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    assert not os.path.exists(tmp_path / "out")
    with pytest.raises(PlanError, match=r"wrap a function: dp\.Filter"):
        Pipeline(empty)


def test_filter_after_dedup_warns(tmp_path, caplog):
    """A filter behind an Estimator may drop the only copy: the log says so."""
    Pipeline(FirstOfLength(), Filter(empty)).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    assert "may drop the only remaining copy" in caplog.text


def test_without_stages_it_copies_and_ids_stay(tmp_path):
    """Reading sealed Datasets together shifts file numbers; everything else stays."""
    one = Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "one"))
    assert one.table().to_pylist() == dataset_of(tmp_path, TEXTS).table().to_pylist()
    both = Pipeline().run(join_datasets([one, one]), str(tmp_path / "both"))
    ids = both.table(["id"]).column("id").to_pylist()
    assert ids == sorted(set(ids))
    assert ids[len(TEXTS) :] == [i + (2 << B.POSITION_BITS) for i in ids[: len(TEXTS)]]
    assert both.manifest.inputs[-1]["offset"] == 2


def test_large_parts_become_several_shards(tmp_path, monkeypatch):
    """A part rolls to a new shard at the byte limit; the rows stay in order."""
    monkeypatch.setattr("dataprep.core.run.seal.SHARD_BYTES", 200)
    monkeypatch.setattr(B, "MAX_BYTES", 100)
    done = Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    assert len(done.parts) == 6
    assert done.table().column("text").to_pylist() == dataset_of(tmp_path, TEXTS).table().column("text").to_pylist()


def test_each_part_has_a_receipt_also_if_a_saved_input_has_more_parts(tmp_path, monkeypatch):
    """One part became several shards, which are a part each for what follows; none of their receipts is removed."""
    monkeypatch.setattr("dataprep.core.run.seal.SHARD_BYTES", 200)
    monkeypatch.setattr(B, "MAX_BYTES", 100)

    def longer(text):
        return f"{text}."

    stages = Map(longer), FirstOfLength(), Map(longer), FirstOfLength()
    done = Pipeline(*stages).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    n_saved = len(open_dataset(str(tmp_path / "out" / done.manifest.saved[0])).parts)
    assert n_saved > 1
    for folder in (done.manifest.saved[1], ""):
        made = open_dataset(str(tmp_path / "out" / folder)).manifest
        assert made.parts == len(list((tmp_path / "out" / folder / "receipts").iterdir())) >= n_saved


def test_everything_dropped_is_an_empty_dataset(tmp_path):
    """Nothing left is a Dataset like any other, with its columns."""

    def nothing(text):
        return False

    done = Pipeline(Map(words, adds={"words": pa.int32()}), Filter(nothing)).run(
        dataset_of(tmp_path, TEXTS), str(tmp_path / "out")
    )
    assert done.count == 0 == done.table().num_rows
    assert done.table().column_names == done.columns
    again = Pipeline(FirstOfLength()).run(done, str(tmp_path / "again"))
    assert again.count == 0


def test_corrupt_shards_are_told(tmp_path):
    """A shard of another size fails at open, a damaged one when it is read."""
    done = Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    shard = done.parts[0].slices[0].url
    stored = files.open_raw(shard)
    data = bytearray(stored.read())
    stored.close()
    data[10:60] = bytes(50)
    files.write_bytes(shard, bytes(data))
    with pytest.raises(CorruptShard, match="run the pipeline again|verify DIR --repair"):
        done.table()
    files.write_bytes(shard, bytes(data[:-1]))
    with pytest.raises(CorruptShard, match="were sealed"):
        open_dataset(str(tmp_path / "out"))
    os.unlink(shard)
    with pytest.raises(CorruptShard, match="is missing"):
        open_dataset(str(tmp_path / "out"))
    with pytest.raises(ReadError, match="no sealed Dataset"):
        open_dataset(str(tmp_path))


def test_other_tools_open_the_shards(tmp_path, monkeypatch):
    """DuckDB, Polars, pandas and `datasets` read the Parquet files as they are, and `datasets` the folder."""
    duckdb, polars, pandas = (pytest.importorskip(m) for m in ("duckdb", "polars", "pandas"))
    done = Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    rows = done.table().to_pylist()
    glob = str(tmp_path / "out" / "data" / "*.parquet")
    seen = duckdb.sql(f"select id, text, source from '{glob}' order by id").fetchall()
    assert seen == [(r["id"], r["text"], r["source"]) for r in rows]
    assert polars.read_parquet(glob)["text"].to_list() == [r["text"] for r in rows]
    assert pandas.read_parquet(str(tmp_path / "out" / "data"))["text"].to_list() == [r["text"] for r in rows]
    assert owned.ours(str(tmp_path / "out"), [".huggingface.yaml"]) == [str(tmp_path / "out" / ".huggingface.yaml")]
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "hf"))
    loaded = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    for hf in (done.to_hf(), loaded, dataset_of(tmp_path, TEXTS).to_hf()):
        assert hf["text"][:] == [r["text"] for r in rows]
        assert hf["source"][:] == [r["source"] for r in rows]


def test_an_empty_result_is_opened_too(tmp_path):
    """A Dataset of which every document was dropped has its columns and no rows, also in `datasets`."""
    pytest.importorskip("datasets")
    done = Pipeline(Filter(lambda text: False)).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    for restore in (False, True):
        hf = done.to_hf(restore=restore)
        assert (hf.num_rows, hf.column_names) == (0, done.to_arrow(restore=restore).column_names)


def test_write_one_file(tmp_path):
    """JSONL (plain and compressed) and Parquet hold all rows; another format is refused by name."""
    done = Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
    for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl.zst"):
        done.write(str(tmp_path / name))
        with files.open_read(str(tmp_path / name)) as f:
            lines = f.read().splitlines()
        assert len(lines) == done.count
        assert b'"meta":{}' in lines[0]
        assert [json.loads(line)["id"] for line in lines] == [str(row["id"]) for row in done]  # ids exceed 2^53
    done.write(str(tmp_path / "a.parquet"), format="parquet")
    assert parquet.read_table(str(tmp_path / "a.parquet")).to_pylist() == done.table().to_pylist()
    with pytest.raises(PlanError, match="format='csv' is unknown"):
        done.write(str(tmp_path / "a.csv"), format="csv")
    assert not os.path.exists(tmp_path / "a.csv")


def test_the_input_is_not_written_over(tmp_path):
    """Under any of its names."""
    place = tmp_path / "a.jsonl"
    place.write_text('{"text": "one", "more": 1}\n')
    os.symlink(place, tmp_path / "link.jsonl")
    for path in (place, tmp_path / "link.jsonl"):
        with pytest.raises(PlanError, match="is one of the input files, or the next .*; choose another file as out"):
            read(str(place)).write(str(path))
    assert place.read_text() == '{"text": "one", "more": 1}\n'


def test_unknown_columns_are_named(tmp_path):
    """Asking for a column that is not there names those that are."""
    with pytest.raises(PlanError, match="no column languge; the columns are id, text"):
        dataset_of(tmp_path, TEXTS).table(["languge"])


def test_steps_are_numbered_from_one(tmp_path):
    """Their folders are named after it, and after the stage and its key, which knows all stages before."""
    docs = dataset_of(tmp_path, TEXTS)
    out = str(tmp_path / "out")
    one, two, three = Pipeline(*STAGES[:3]).plan(docs, out).steps
    assert [step.number for step in (one, two, three)] == [1, 2, 3]
    assert two.name == f"02-{two.label}-{two.key[:8]}"
    assert Pipeline(*STAGES[1:3]).plan(docs, out).steps[0].key != two.key
    assert Pipeline(*STAGES[:2]).plan(docs, out).steps[1] == two
    assert not os.path.exists(out), "a plan writes nothing"


def test_stages_are_made_ready_for_workers(tmp_path):
    """In this process, before the work, each once; without workers, when they are called."""
    made = []

    @dataclass(frozen=True)
    class Ready(Stage):
        """Notes that it was made ready."""

        name: str = "ready"

        def warm(self):
            """Note it."""
            made.append(self.name)

        def __call__(self, batches, stats):
            """Yield the documents as they are."""
            assert run.workers == 1 or made == ["one", "two"]
            yield from batches

    @dataclass(frozen=True, kw_only=True)
    class Two(Serial):
        """Says that it has two workers."""

        workers: ClassVar[int] = 2

    for run, expected in ((Serial(), []), (Two(), ["one", "two"])):
        made.clear()
        docs = dataset_of(tmp_path, TEXTS).then(Ready("one"))
        Pipeline(Ready("two")).run(docs, str(tmp_path / f"out{run.workers}"), run)
        assert made == expected
