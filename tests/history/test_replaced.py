"""What verify, repair, status, clean and forget do beside an unfinished result and a replaced one."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.output.forget_list import digest
from dataprep.core.output.layout import Folder
from dataprep.core.run import seal
from dataprep.errors import Replaced
from dataprep.forget.datasets import remove_documents
from dataprep.history.repair import remove_damaged
from dataprep.history.status import DONE, UNFINISHED, status
from dataprep.history.verify import verify
from dataprep.tokens.shards.verify import STOPPED

TEXTS = [f"text {n}" for n in range(8)]


def long(text: str) -> str | None:
    """Drop one text."""
    return "eight" if text.endswith("7") else None


def shout(text: str) -> str:
    """The text in capitals."""
    return text.upper()


def docs_in(tmp_path):
    """Documents in four parts."""
    return laws.dataset_of(tmp_path, TEXTS, parts=4)


@pytest.fixture
def begun(tmp_path):
    """A folder with a complete result, and one part of the next one."""
    out = str(tmp_path / "out")
    dp.Pipeline().run(docs_in(tmp_path), out)
    with pytest.raises(KeyboardInterrupt):
        dp.Pipeline(dp.Filter(long)).run(docs_in(tmp_path), out, laws.Stops(at="write"), replace=True)
    return out


def test_status_tells_both_results(begun, dataprep) -> None:
    """The progress of the new one, and that the one before is complete."""
    whole, _ = status(begun)
    assert (whole.state, whole.done, whole.of, whole.documents) == (UNFINISHED, 1, 4, 8)
    assert "1 of 4 parts; the previous result is complete (8 documents" in dataprep("status", begun)[1]
    assert dataprep("prune", begun)[0] == 0
    assert (status(begun)[0].state, status(begun)[0].done) == (DONE, None)
    assert not Folder(begun).unfinished.receipts()


def test_replaced_files_are_no_damage_and_are_cleaned(tmp_path, dataprep) -> None:
    """Those who opened the result before still read it, until `clean` or the next run."""
    out = str(tmp_path / "out")
    old = dp.Pipeline().run(docs_in(tmp_path), out)
    dp.Pipeline(dp.Filter(long)).run(docs_in(tmp_path), out, replace=True)
    assert verify(out) == {out: []}
    assert old.count == len(list(old)) == 8
    assert dataprep("prune", out)[0] == 0
    assert not (tmp_path / "out" / "_replaced").exists()
    with pytest.raises(Replaced, match="open it again"):
        list(old)


def test_a_killed_commit_is_told_and_ended(tmp_path, monkeypatch) -> None:
    """Files that the manifest does not name are those of a run that was stopped; the same pipeline ends it."""
    out, stages = str(tmp_path / "out"), dp.Pipeline(dp.Filter(long))
    dp.Pipeline().run(docs_in(tmp_path), out)
    real = os.replace

    def killed(old, new):
        if str(new).endswith("out/manifest.json"):
            raise KeyboardInterrupt
        return real(old, new)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        stages.run(docs_in(tmp_path), out, replace=True)
    monkeypatch.undo()
    found = verify(out)[out]
    assert {problem.do for problem in found} == {STOPPED}
    assert f"data/{'part-00000-000.g2.parquet'}" in {problem.file for problem in found}
    remove_damaged(out)  # nothing of the result before is damaged
    assert dp.open_dataset(out).count == 8
    assert stages.run(docs_in(tmp_path), out, replace=True).count == 7
    assert verify(out) == {out: []}


@pytest.mark.parametrize("kind", ["data", "drops"])
def test_a_repaired_part_alone_is_made_again(tmp_path, kind) -> None:
    """Of a later generation; the files of the other parts stay, and the new ones have the same bytes."""
    out, stages = tmp_path / "out", dp.Pipeline(dp.Filter(long))
    dp.Pipeline().run(docs_in(tmp_path), str(out))
    stages.run(docs_in(tmp_path), str(out), replace=True)
    before = {path.name: path.read_bytes() for path in (out / kind).iterdir()}
    manifest = (out / "manifest.json").read_bytes()
    damaged = max((out / kind).iterdir())
    damaged.write_bytes(b"x" * damaged.stat().st_size)
    times = {path.name: path.stat().st_mtime_ns for path in (out / kind).iterdir() if path != damaged}
    (problem,) = remove_damaged(str(out))[str(out)]
    assert problem.file == f"{kind}/{damaged.name}"
    assert not damaged.exists()
    assert len(Folder(str(out)).receipts()) == 3
    stages.run(docs_in(tmp_path), str(out))
    assert {path.name: path.read_bytes() for path in (out / kind).iterdir()} == before
    assert {path.name: path.stat().st_mtime_ns for path in (out / kind).iterdir() if path.name in times} == times
    assert (out / "manifest.json").read_bytes() == manifest
    assert verify(str(out)) == {str(out): []}


def test_forgotten_text_is_in_no_unfinished_file(begun, tmp_path) -> None:
    """The parts of the next result go; the next run makes them again without the document."""
    id_ = next(row["id"] for row in dp.open_dataset(begun) if row["text"] == TEXTS[0])
    dp.tools.forget(begun, [id_])
    assert [name for name in os.listdir(begun) if name.startswith("_")] == []
    again = dp.Pipeline(dp.Filter(long)).run(docs_in(tmp_path), begun, replace=True)
    assert sorted(row["text"] for row in again) == TEXTS[1:7]


def test_forgotten_text_is_in_no_replaced_file(tmp_path) -> None:
    """Those who opened a result before are told to open it again."""
    out = str(tmp_path / "out")
    old = dp.Pipeline().run(docs_in(tmp_path), out)
    new = dp.Pipeline(dp.Filter(long)).run(docs_in(tmp_path), out, replace=True)
    dp.tools.forget(out, [next(row["id"] for row in new)])
    assert [name for name in os.listdir(out) if name.startswith("_")] == []
    for opened in (old, new):
        with pytest.raises(Replaced, match="open it again"):
            list(opened)


def test_forgetting_in_an_unfinished_first_result(tmp_path) -> None:
    """There is no result yet: its parts go, its recipe stays, and the next run makes it without the document."""
    out, stages = str(tmp_path / "out"), dp.Pipeline(dp.Filter(long))
    with pytest.raises(KeyboardInterrupt):
        stages.run(docs_in(tmp_path), out, laws.Stops(at="write"))
    dp.tools.forget(out, [0], missing_ok=True)
    assert sorted(os.listdir(f"{out}/_unfinished")) == ["origin.json", "recipe.json"]
    assert sorted(row["text"] for row in stages.run(docs_in(tmp_path), out)) == TEXTS[1:7]


def test_a_killed_forget_that_a_run_ends_keeps_the_saved_steps(tmp_path, monkeypatch) -> None:
    """Its manifest is ready: the pipeline moves the files in, and the steps, in which nothing is forgotten any more."""
    out, stages = str(tmp_path / "out"), dp.Pipeline(dp.Map(shout), dp.Exact())
    stages.run(docs_in(tmp_path), out)
    real = os.replace

    def killed(old, new):
        if str(new).endswith("out/manifest.json"):
            raise KeyboardInterrupt
        return real(old, new)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        dp.tools.forget(out, [0])
    monkeypatch.undo()
    (step,) = Folder(out).steps
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "steps").rglob("*") if path.is_file()}
    assert stages.run(docs_in(tmp_path), out).count == 7
    assert {path: path.stat().st_mtime_ns for path in before if path.exists()} == before
    assert sorted(row["text"] for row in dp.open_dataset(step.input.url)) == [text.upper() for text in TEXTS[1:]]
    assert [name for name in os.listdir(out) if name.startswith("_")] == []
    assert verify(out)[out] == []


@pytest.mark.parametrize("kind", ["data", "drops", "manifest"])
def test_a_repaired_dataset_in_which_documents_were_forgotten_keeps_its_key(tmp_path, kind) -> None:
    """So that what was made of it is not made again: each shard states the hash that it had at first."""
    out = tmp_path / "out"
    key = dp.Pipeline().run(docs_in(tmp_path), str(out)).key
    work_keys = [part.key for part in dp.open_dataset(str(out)).tasks]
    dp.tools.forget(str(out), [0, next(row["id"] for row in dp.open_dataset(str(out)) if row["text"] == TEXTS[7])])
    before = Folder(str(out)).manifest.shards
    assert [shard.sealed is not None for shard in before] == [True, False, False, True]
    if kind == "manifest":
        (out / "manifest.json").unlink()
    else:
        damaged = out / (before[0].name if kind == "data" else before[0].drops)
        damaged.write_bytes(b"x" * damaged.stat().st_size)
        remove_damaged(str(out))
        assert not damaged.exists()
    again = dp.Pipeline().run(docs_in(tmp_path), str(out))
    assert [shard.sealed for shard in again.manifest.shards] == [shard.sealed for shard in before]
    assert (again.key, [part.key for part in again.tasks]) == (key, work_keys)
    assert sorted(row["text"] for row in again) == TEXTS[1:7]
    assert verify(str(out)) == {str(out): []}


def test_a_full_shard_loses_only_what_is_forgotten(tmp_path, monkeypatch) -> None:
    """Without a document the batches end elsewhere, and the last of them must not be left out."""
    monkeypatch.setattr(B, "MAX_ROWS", 3)
    texts = ["x" * (10 + n) for n in range(12)]
    docs = dp.Pipeline().run(laws.dataset_of(tmp_path, texts, parts=1), str(tmp_path / "out"))
    monkeypatch.setattr(seal.write_shard, "__defaults__", (40,))
    gone = np.array([1], np.uint64)
    assert remove_documents(Folder(docs.url), gone, digest(gone)) == 1
    assert dp.open_dataset(docs.url).to_arrow()["text"] == pa.chunked_array([[texts[0], *texts[2:]]], pa.large_string())


def test_a_reader_goes_on_whatever_the_name_of_the_folder(tmp_path):
    """A line feed in the name does not hide the files that were set aside."""
    out = str(tmp_path / "odd\nname")
    held = dp.Pipeline(dp.Filter(long)).run(dp.read([{"text": text} for text in TEXTS]), out)
    dp.Pipeline(dp.Exact()).run(dp.read([{"text": text} for text in TEXTS]), out, replace=True)
    assert [row["text"] for row in held] == TEXTS[:7]
