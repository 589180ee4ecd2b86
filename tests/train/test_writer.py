"""Checkpoints are written while training continues: copies, order, errors and kills."""

import errno
import os
import signal
import threading
import time
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import DataprepError  # noqa: E402
from dataprep.train import checkpoint, train  # noqa: E402
from dataprep.train.writer import CheckpointWriter  # noqa: E402
from runs import assert_same_run, curve  # noqa: E402


@pytest.fixture
def gate(monkeypatch):
    """Holds back every write of a checkpoint until it is set."""
    gate, real = threading.Event(), checkpoint.save

    def save(*args):
        assert gate.wait(60)
        real(*args)

    monkeypatch.setattr(checkpoint, "save", save)
    yield gate
    gate.set()


@pytest.fixture
def writer():
    """A writer, closed at the end."""
    writer = CheckpointWriter()
    yield writer
    writer.close()


def test_the_copy_is_of_the_moment(gate, writer, tmp_path):
    """What training changes while the file is written is not in it; nested values come back as they were."""
    weight, path = torch.zeros(3), checkpoint.path_of(tmp_path, 1)
    writer.write(path, {"model": {"a": weight}, "groups": [{"params": [0, 1], "betas": (0.9, 0.95)}], "step": 1}, 2)
    weight += 1
    writer.check()
    assert not path.exists()
    gate.set()
    writer.wait()
    content = torch.load(path, weights_only=True)
    assert torch.equal(content["model"]["a"], torch.zeros(3))
    assert content["groups"] == [{"params": [0, 1], "betas": (0.9, 0.95)}]


def test_each_update_waits_for_the_copy_before_it(shards, config, tmp_path, monkeypatch):
    """`protect` is called once per step, before the weights change, and before the next checkpoint is begun."""
    order, real_write, real_protect = [], CheckpointWriter.write, CheckpointWriter.protect

    def write(self, path, content, *more):
        order.append(("write", weight := content["model"]["embedding.weight"], weight.clone()))
        real_write(self, path, content, *more)

    def protect(self, *more):
        order.append("protect")
        if isinstance(order[-2:][0], tuple):
            _, weight, then = order[-2]
            assert torch.equal(weight, then), "the copy may still be read"
        real_protect(self, *more)

    monkeypatch.setattr(CheckpointWriter, "write", write)
    monkeypatch.setattr(CheckpointWriter, "protect", protect)
    train(shards, out=tmp_path, config=config, quiet=True)
    assert [kind if kind == "protect" else kind[0] for kind in order] == [
        *["protect"] * 8, "write", *["protect"] * 8, "write", *["protect"] * 4, "write",
    ]  # fmt: skip


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no card")
def test_a_copy_from_a_card_is_of_the_moment(gate, writer, tmp_path):
    """On CUDA: the update that follows is not in the file, the memory is pinned, and the next checkpoint uses it."""
    weights = [torch.zeros(1 << 24, device="cuda") for _ in range(4)]
    buffers = []
    for step in (1, 2):
        gate.clear()
        path = checkpoint.path_of(tmp_path, step)
        writer.write(path, {"model": dict(enumerate(weights)), "step": step}, 2)
        buffers.append([b.data_ptr() for b in writer._copies._buffers.values()])
        assert all(b.is_pinned() for b in writer._copies._buffers.values())
        writer.protect()
        for weight in weights:
            weight.add_(1)
        gate.set()
        writer.wait()
        content = torch.load(path, weights_only=True)
        assert all(bool((w == step - 1).all()) for w in content["model"].values())
    assert buffers[0] == buffers[1]


def test_one_is_written_at_a_time(writer, tmp_path, monkeypatch):
    """The next write begins after the one before has ended, so there is one copy at most."""
    running, most, order = [], [], []

    def save(path, *_):
        running.append(path)
        most.append(len(running))
        time.sleep(0.02)
        order.append(path.name)
        running.pop()

    monkeypatch.setattr(checkpoint, "save", save)
    for step in range(4):
        writer.write(checkpoint.path_of(tmp_path, step), {}, 2)
        assert len(order) >= step, "the write before has ended"
    writer.wait()
    assert most == [1] * 4
    assert order == [checkpoint.path_of(tmp_path, step).name for step in range(4)]


def test_training_continues_while_a_checkpoint_is_written(shards, config, tmp_path, monkeypatch):
    """The write of step 8 ends only after step 10 is done, and the run is that of any other."""
    real, out = checkpoint.save, tmp_path / "slow"

    def save(path, *more):
        while path.name.endswith("08.pt") and not any(row["step"] == 10 for row in curve(out)):
            time.sleep(0.01)
        real(path, *more)

    config = replace(config, log_every=1, eval_every=50)
    train(shards, out=tmp_path / "plain", config=config, quiet=True)
    monkeypatch.setattr(checkpoint, "save", save)
    train(shards, out=out, config=config, quiet=True)
    assert_same_run(tmp_path / "plain", out)


def test_a_failed_write_ends_the_run_with_its_sentence(shards, config, tmp_path, monkeypatch):
    """A full disk in the thread stops the loop at the latest when the next checkpoint is due; nothing is left."""

    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(DataprepError, match=r"step-00000008\.pt: .*disk") as e:
        train(shards, out=tmp_path, config=replace(config, log_every=1), quiet=True)
    assert "\n" not in str(e.value)
    assert curve(tmp_path)[-1]["step"] <= 16
    assert sorted(p.name for p in tmp_path.iterdir()) == [".dataprep-failure", ".dataprep-journal", "metrics.jsonl"]


def test_an_error_of_training_is_not_hidden(shards, config, tmp_path, monkeypatch):
    """If a step fails while a write fails, the step's error is raised; the thread has ended by then."""
    real, ended = checkpoint.path_of, []

    def save(*_args):
        time.sleep(0.1)
        ended.append(1)
        msg = "the disk is gone"
        raise DataprepError(msg)

    def step(*_args):
        if run_step["n"] == 9:
            msg = "shapes do not match"
            raise RuntimeError(msg)
        run_step["n"] += 1
        return torch.ones(2)

    run_step = {"n": 0}
    monkeypatch.setattr(checkpoint, "save", save)
    monkeypatch.setattr("dataprep.train.loop.step_once", step)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        train(shards, out=tmp_path, config=config, quiet=True)
    assert ended == [1]
    assert not real(tmp_path, 8).exists()


KILLED = """
import sys, time, threading, torch
from dataprep.train import TrainConfig, train
real = torch.save
def save(content, f):
    if content["step"] < 16:
        return real(content, f)
    f.write(b"half of it")
    f.flush()
    time.sleep(100)
torch.save = save
config = TrainConfig.from_dict({config!r})
train({shards!r}, out={out!r}, config=config, quiet=True)
"""


def test_a_kill_in_the_middle_of_a_write_resumes_from_the_one_before(copies, shards, config, tmp_path):
    """Step 16 is half written when the process is killed: step 8 is resumed, and the half file is removed."""
    config, out = replace(config, log_every=1), tmp_path / "killed"
    pid = copies.start(KILLED.format(config=config.to_dict(), shards=str(shards.path), out=str(out)))
    while not (half := list(out.glob(".step-00000016.pt.*.tmp"))) or not any(r["step"] > 16 for r in curve(out)):
        assert copies.poll(pid) is None
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    assert copies.wait(pid) == -signal.SIGKILL
    assert half[0].read_bytes() == b"half of it"
    assert [p.name for p in checkpoint.found(out)] == ["step-00000008.pt"]
    for name in (".dataprep-journal", "metrics.jsonl", "tokenizer.json", ".dataprep-hashes", "notes.txt"):
        (out / f".{name}.0123456789ab.tmp").write_bytes(b"half")
    train(shards, out=tmp_path / "whole", config=config, quiet=True)
    train(shards, out=out, config=config, quiet=True)
    assert_same_run(tmp_path / "whole", out)
    assert [p.name for p in out.glob(".*.tmp")] == [".notes.txt.0123456789ab.tmp"]
