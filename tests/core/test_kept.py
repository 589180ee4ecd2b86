"""`keep_dropped=True`: dropped documents can be read when the input is gone, and nothing private is in them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep.core.output import commit
from dataprep.core.output.layout import Folder
from dataprep.errors import PlanError, ReadError
from dataprep.history import why
from dataprep.history.run_summary import summarize
from dataprep.history.verify import verify
from dataprep.report import render
from fixtures.erased import traces
from killed import bytes_of, kills

TEXTS = [
    "the first page of all", "the first page of all", "x", "كان يا ما كان في قديم الزمان",
    "كان يا ما كان في قديم الزمان", "write to joe.doe@example.com or call", "write to joe.doe@example.com or call", "y",
]  # fmt: skip
SECRET = b"joe.doe@example.com"


def long_enough(text: str) -> bool:
    """Keep texts of two characters or more."""
    return len(text) > 1


def stages() -> tuple:
    """A filter, a deduplication, and then a stage that masks."""
    return dp.Filter(long_enough), dp.Exact(), dp.PII()


@pytest.fixture
def given(tmp_path) -> Path:
    """A folder with two files."""
    (tmp_path / "in").mkdir()
    for name, some in (("a", TEXTS[:4]), ("b", TEXTS[4:])):
        rows = (json.dumps({"text": text, "n": n}, ensure_ascii=False) + "\n" for n, text in enumerate(some))
        (tmp_path / "in" / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    return tmp_path


def read(given: Path) -> dp.Dataset:
    """The two files as a Dataset."""
    return dp.read(str(given / "in" / "*.jsonl"), columns={"n": "int64"})


@pytest.mark.parametrize("runner", [dp.tools.Serial(), dp.tools.Local(2)])
def test_dropped_documents_outlive_the_input(given, runner) -> None:
    """Texts, sources and columns; why, clusters and the report show them, with masked text; any runner, same rows."""
    done = dp.Pipeline(*stages()).run(read(given), str(given / "run" / "out"), runner, keep_dropped=True)
    plain = dp.Pipeline(*stages()).run(read(given), str(given / "plain"))
    wanted = [{**row, "text": row["text"].replace(SECRET.decode(), "<email>")} for row in plain.dropped().take(9)]
    assert len(wanted) == 5
    shutil.move(given / "in", given / "moved")
    with pytest.raises(ReadError, match="is missing"):
        plain.dropped()
    dropped = done.dropped()
    assert dropped.take(9) == wanted
    own = ["stage", "reason", "duplicate_of_dataset", "duplicate_of", "similarity", "value", "label"]
    assert dropped.columns == ["id", "text", "source", "meta", "n", *own]
    for row in wanted:
        fate = why.follow(done.url, row["id"])
        assert why.dropped_document(str(given / "run"), fate.drops[0])["text"] == row["text"]
    page = render(summarize(str(given / "run")))
    assert "كان يا ما كان" in page
    assert "The text cannot be shown" not in page


def test_what_a_stage_masks_is_in_no_kept_file(given) -> None:
    """The stage runs on the kept documents, and the manifest states it."""
    done = dp.Pipeline(*stages()).run(read(given), str(given / "out"), keep_dropped=True)
    kept = Folder(done.url).kept
    texts = [row["text"] for row in dp.open_dataset(kept.url).take(9)]
    assert sum("<email>" in text for text in texts) == 1
    assert not any(SECRET in stored(url) for url in files_of(kept.url))
    assert not any(SECRET.decode() in text for text in texts)
    assert [stage["label"] for stage in kept.sealed.stages] == ["PII"]


@pytest.mark.parametrize("stage", [dp.chats.Pseudonyms(key=b"k" * 32), dp.chats.Consent(refused=("Ana",))])
def test_what_a_stage_hides_is_not_kept(given, stage) -> None:
    """One sentence before any work, also for an input that was hidden."""
    said = {"chat": "c", "author": "Ana", "kind": "text", "text": "hello"}
    (given / "chat.jsonl").write_text(json.dumps(said))
    docs = dp.read(str(given / "chat.jsonl"), columns=["chat", "author", "kind"])
    with pytest.raises(PlanError, match=f"keep_dropped=True would keep what {stage.name} hides"):
        dp.Pipeline(dp.Exact(), stage).run(docs, str(given / "out"), keep_dropped=True)
    assert not (given / "out").exists()


def test_forgotten_documents_are_not_kept(given) -> None:
    """`forget` removes them from the kept documents too, and a rerun does not bring them back."""
    out = str(given / "out")
    done = dp.Pipeline(*stages()).run(read(given), out, keep_dropped=True)
    gone, *others = done.dropped().take(9)
    dp.tools.forget(out, np.array([gone["id"]], np.uint64))
    again = dp.open_dataset(out)
    left = again.dropped().take(9)
    assert [row["id"] for row in left] == [row["id"] for row in others]
    assert len(left) == 4
    rerun = dp.Pipeline(*stages()).run(read(given), out, keep_dropped=True)
    assert rerun.dropped().take(9) == left
    kept = dp.open_dataset(Folder(out).kept.url)
    assert (kept.count, rerun.count) == (4, 3)
    shutil.rmtree(Path(out) / "steps")
    plain = dp.open_dataset(out).dropped()  # from the input, which has them
    assert gone["id"] not in [row["id"] for row in plain.take(9)]
    dp.Pipeline(*stages()).run(read(given), out, keep_dropped=True)
    assert gone["text"].encode() not in b"".join(map(stored, files_of(Folder(out).kept.url)))
    found = verify(out)
    assert Folder(out).kept.url in found
    assert not any(found.values())
    shard = next(url for url in files_of(Folder(out).kept.url) if "/data/" in url)
    Path(shard).write_bytes(Path(shard).read_bytes()[:-9])
    (problem,) = verify(out)[Folder(out).kept.url]
    assert shard.endswith(problem.file)


def test_runs_again(given) -> None:
    """A finished result opens, also without its input; a run without `keep_dropped` can be completed by one with it."""
    out = str(given / "out")
    dp.Pipeline(*stages()).run(read(given), out)
    assert not files_of(Folder(out).kept.url)
    first = dp.Pipeline(*stages()).run(read(given), out, keep_dropped=True).dropped().take(9)
    before = files_of(Folder(out).kept.url)
    assert dp.Pipeline(*stages()).run(read(given), out, keep_dropped=True).dropped().take(9) == first
    assert files_of(Folder(out).kept.url) == before
    other = dp.Pipeline(dp.Filter(long_enough)).run(read(given), out, replace=True)
    assert {row["reason"] for row in other.dropped().take(9)} == {"long_enough"}  # not those of the other recipe
    assert not files_of(Folder(out).kept.url)


def stored(url: str) -> bytes:
    """The bytes of a file; of Parquet, of its values."""
    return str(pq.read_table(url).to_pylist()).encode() if url.endswith(".parquet") else Path(url).read_bytes()


def files_of(url: str) -> dict[str, int]:
    """The files in a folder, with the time at which each was written."""
    return {str(p): p.stat().st_mtime_ns for p in Path(url).rglob("*") if p.is_file()}


def test_a_killed_run_is_completed(given, monkeypatch) -> None:
    """Killed at some of its renames and deletions, the same call makes the same files."""
    empty, out = given / "empty", given / "run" / "out"
    empty.mkdir()
    whole = given / "whole"
    dp.Pipeline(*stages()).run(read(given), str(whole), keep_dropped=True)
    wanted, tried = bytes_of(whole), 0

    def run() -> dp.Dataset:
        return dp.Pipeline(*stages()).run(read(given), str(out), keep_dropped=True)

    for at in kills(monkeypatch, empty, out.parent, run, step=19):
        run()
        assert bytes_of(out) == wanted, at
        tried += 1
    assert tried >= 2


def test_kept_documents_without_receipts_are_completed(given, monkeypatch) -> None:
    """A run that is killed once the dropped documents are in place is finished by the next one."""
    out, settle = given / "out", commit._settle_receipts

    def run() -> dp.Dataset:
        return dp.Pipeline(*stages()).run(read(given), str(out), keep_dropped=True)

    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(commit, "_settle_receipts", lambda *to: 1 / 0 if "99-dropped" in to[0].url else settle(*to))
        run()
    assert any(verify(str(out)).values())
    run()
    assert not any(verify(str(out)).values())


def test_a_killed_forget_is_completed(given, monkeypatch) -> None:
    """After the second call, no file has the forgotten text."""
    made, out = given / "made", given / "run" / "out"
    done = dp.Pipeline(*stages()).run(read(given), str(made / "out"), keep_dropped=True)
    gone = [row for row in done.dropped().take(9) if row["text"].startswith("كان")]
    kept = [row["id"] for row in done.take(9) if row["text"].startswith("كان")]
    ids = [*(row["id"] for row in gone), *kept]
    assert len(ids) == 2
    tried = 0
    for at in kills(monkeypatch, made, out.parent, lambda: dp.tools.forget(str(out), ids), step=19):
        dp.tools.forget(str(out), ids)
        left = dp.open_dataset(str(out)).dropped().take(9)
        assert not any("كان" in row["text"] for row in left), at
        assert not traces(out, ["كان"]), at
        tried += 1
    assert tried >= 2
