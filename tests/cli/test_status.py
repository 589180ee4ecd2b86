"""`dataprep status`: what a folder has and what is left, who writes into it, and the last failure."""

from __future__ import annotations

import json
import os
import socket
import time

import pytest

import dataprep as dp
from dataprep.errors import FunctionFailed, StaleOutput
from dataprep.history.run_summary import training_metrics
from dataprep.history.status import status as state_of
from dataprep.store import failure, lease

STEPS = """
import dataprep as dp

def first(out, runner):
    return dp.Pipeline().run(dp.read({texts!r}), out, runner, replace=True)

def second(first, out, runner):
    {second}

def third(second, out, runner):
    return None
"""


def status(dataprep, folder):
    """The figures of a folder, and those of the folders in it by name."""
    code, said, _ = dataprep("status", folder, "--json")
    assert code == 0
    found = json.loads(said)
    return found, {one["name"]: one for one in found["folders"]}


@pytest.fixture
def texts(tmp_path):
    """Two files, each of which is a part, since their formats differ."""
    (tmp_path / "a.jsonl").write_text('{"text": "a secret of a"}\n')
    (tmp_path / "b.txt").write_text("a secret of b")
    return [str(tmp_path / "a.jsonl"), str(tmp_path / "b.txt")]


def test_a_failed_dataset(dataprep, texts, tmp_path):
    """One of two parts is finished; the failure names the document, not its text, and is gone after a good run."""
    out = str(tmp_path / "clean")

    def fail(text):
        if text.endswith("b"):
            raise ValueError(text[:1])
        return text

    with pytest.raises(FunctionFailed, match="a secret of b"):
        dp.Pipeline(dp.Map(fail, version="1")).run(dp.read(texts), out)
    found, _ = status(dataprep, out)
    assert (found["kind"], found["state"], found["done"], found["of"]) == ("dataset", "unfinished", 1, 2)
    assert "for document 1:0" in found["failure"]["error"]
    assert "secret" not in found["failure"]["error"]
    assert "failed:" in dataprep("status", out)[1]
    dp.Pipeline(dp.Map(lambda text: text)).run(dp.read(texts), out, replace=True)
    found, _ = status(dataprep, out)
    assert (found["state"], found["documents"], found["failure"]) == ("done", 2, None)
    assert not os.path.exists(os.path.join(out, failure.NAME))


def test_the_pass_that_works_now(dataprep, tmp_path):
    """Its tasks, rate and time left, by the times of its receipts, whatever earlier passes and runs left."""
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / "in" / f"{number}.txt").write_text(f"text {number} " * 10_000 + str(number))

    def fail(text):
        if text.endswith("3"):
            raise ValueError
        return text

    def shout(text):
        return text.upper()

    out = tmp_path / "clean"
    docs = dp.read([str(tmp_path / "in" / f"{number}.txt") for number in range(4)], part_size="64KiB")
    with pytest.raises(FunctionFailed):
        dp.Pipeline(dp.Map(shout), dp.Exact(), dp.Map(fail, version="1")).run(docs, str(out))
    n = len(docs.parts)
    assert n == 4
    written = sorted((out / "_unfinished" / "receipts").glob("*.json"))
    keys = sorted((out / "steps").rglob("keys/*.json"))
    for at, path in enumerate((out / "steps").rglob("*.json")):
        os.utime(path, (at, at))
    for at, path in enumerate(keys):
        os.utime(path, (5000 + 2 * at, 5000 + 2 * at))
    for path in written:
        os.utime(path, (4000, 4000))
    now = status(dataprep, str(out))[0]["progress"]
    assert now["step"].startswith("02-Exact-")
    assert (now["work"], now["done"], now["of"], now["per_second"]) == ("keys", 4, 4, 0.5)
    keys[-1].unlink()
    said = dataprep("status", str(out))[1]
    assert "stopped: 02-Exact-" in said
    assert "keys, 3 of 4 tasks, 0.5 a second, about 0:00:02 left in this pass" in said


def test_a_failed_run(dataprep, texts, tmp_path):
    """The step that failed and those after it are left; a rerun finishes them."""
    pipeline, out = tmp_path / "steps.py", tmp_path / "run"
    pipeline.write_text(STEPS.format(texts=texts, second='raise ValueError("no disk for that")'))
    assert dataprep("run", pipeline, "--out", out)[0] == 1
    found, inside = status(dataprep, out)
    assert (found["kind"], found["state"], found["left"]) == ("run", "unfinished", ["second", "third"])
    assert found["failure"]["step"] == "second"
    assert found["failure"]["error"] == "ValueError: no disk for that"
    assert [one["state"] for one in inside.values()] == ["done", "not begun", "not begun"]
    pipeline.write_text(STEPS.format(texts=texts, second="return dp.Pipeline().run(first, out, runner)"))
    assert dataprep("run", pipeline, "--out", out)[0] == 0
    found, _ = status(dataprep, out)
    assert (found["failure"], found["left"]) == (None, ["third"])


def test_a_refusal_is_not_a_failure_of_the_folder(dataprep, texts, tmp_path):
    """A finished folder stays as it is if a call with another recipe is refused."""
    out = str(tmp_path / "clean")
    dp.Pipeline().run(dp.read(texts), out)
    with pytest.raises(StaleOutput):
        dp.Pipeline(dp.Exact()).run(dp.read(texts), out)
    found, _ = status(dataprep, out)
    assert (found["state"], found["failure"]) == ("done", None)


def test_who_writes(dataprep, texts, tmp_path):
    """The process that holds the lease; nobody after it, or if it was killed."""
    out = str(tmp_path / "clean")
    dp.Pipeline().run(dp.read(texts), out)
    with lease.held(out):
        assert status(dataprep, out)[0]["holder"]["pid"] == os.getpid()
        assert f"in use: {out} by pid {os.getpid()}" in dataprep("status", out)[1]
    assert status(dataprep, out)[0]["holder"] is None
    stated = {"pid": 1, "host": lease.socket.gethostname(), "boot": lease._boot()}
    (tmp_path / "clean" / lease.NAME).write_text(json.dumps(stated))
    assert status(dataprep, out)[0]["holder"] is None
    assert lease.holder(str(tmp_path / "nowhere")) is None


def test_a_store_shows_the_process_and_the_pass(texts):
    """While a run writes there; afterwards, no process and no pass."""
    out, seen = "memory://status-of-a-store/clean", []

    def look(text):
        seen.extend([state_of(out)[0]] if text.endswith("b") else [])
        return text

    dp.Pipeline(dp.Map(look, version="1")).run(dp.read(texts), out)
    [found] = seen
    assert found.holder == {"pid": os.getpid(), "host": socket.gethostname()}
    assert (found.state, found.done, found.of) == ("unfinished", 1, 2)
    assert (found.progress.work, found.progress.done, found.progress.of) == ("write", 1, 2)
    assert abs(time.time() - found.progress.at) < 60
    found, _ = state_of(out)
    assert (found.state, found.holder, found.progress) == ("done", None, None)


def test_models(dataprep, tmp_path):
    """A model is finished if the step of its newest intact checkpoint is the last one; damaged ones are passed over."""
    torch = pytest.importorskip("torch")
    from dataprep.train import checkpoint

    home = tmp_path / "run" / "model"
    home.mkdir(parents=True)
    weights = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(weights.parameters()).state_dict()
    for step in (3, 6):
        content = {"step": step, "config": {"steps": 6}, "model": weights.state_dict(), "optimizer": optimizer}
        checkpoint.save(checkpoint.path_of(home, step), content, keep=2)
    found, _ = status(dataprep, home)
    assert (found["kind"], found["state"], found["done"], found["of"]) == ("model", "done", 6, 6)
    newest = checkpoint.path_of(home, 6)
    newest.write_bytes(newest.read_bytes()[:100])
    found, inside = status(dataprep, tmp_path / "run")
    assert (found["kind"], found["left"]) == ("folder", ["model"])
    assert (inside["model"]["state"], inside["model"]["done"]) == ("unfinished", 3)
    checkpoint.path_of(home, 3).unlink()
    (home / "metrics.jsonl").write_text('{"step": 2}\n{"step": 4')
    newest.unlink()
    assert status(dataprep, home)[0]["done"] == 2
    (home / "metrics.jsonl").write_bytes(b'{"step": 1}\n\xff\xfe{]\n{"step": 3}\n[1]\n{"a"}\n')
    assert status(dataprep, home)[0]["done"] == 3
    assert training_metrics(str(home)) == [{"step": 1}, {"step": 3}]


def test_an_unfinished_persona(dataprep, tmp_path):
    """Its folders are in the order of the work; tokens that are being encoded have no total yet."""
    for name in ("conversations", "messages"):
        (tmp_path / "p" / name / "receipts").mkdir(parents=True)
        (tmp_path / "p" / name / "recipe.json").write_text('{"kind": "dataset", "key": "1", "stages": []}')
    (tmp_path / "p" / "shards" / "pieces-01234567" / "parts").mkdir(parents=True)
    (tmp_path / "p" / "shards" / "pieces-01234567" / "parts" / "part-00000.json").write_text("{}")
    found, inside = status(dataprep, tmp_path / "p")
    assert (found["kind"], found["state"]) == ("persona", "unfinished")
    assert list(inside) == ["messages", "conversations", "shards"]
    assert (inside["shards"]["kind"], inside["shards"]["done"], inside["shards"]["of"]) == ("tokens", 1, None)


@pytest.mark.parametrize("name", ["nowhere", "empty", "notes"])
def test_other_folders_are_refused(dataprep, tmp_path, name):
    """A folder that dataprep did not write is one sentence; nothing is written there."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a note")
    code, said, other = dataprep("status", tmp_path / name)
    assert (code, said, other.count("\n")) == (1, "", 1)
    assert "pass the folder of a run" in other
    assert {p.name for p in tmp_path.rglob("*")} == {"empty", "notes", "a.txt"}
