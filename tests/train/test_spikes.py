"""Spikes of the loss: found, reported, and by choice skipped or rolled back; and a loss that rises for good."""

import logging
import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train import TrainConfig, checkpoint, optim, train  # noqa: E402
from dataprep.train.metrics import read  # noqa: E402
from dataprep.train.spikes import FAR, LEAST, SHARE, WINDOW, Spikes  # noqa: E402
from runs import SPEEDS  # noqa: E402

HIGH = (21, 30)  # batches whose loss is far above the others


@pytest.fixture
def long(config):
    """Forty steps."""
    return replace(config, steps=40, save_every=8, eval_every=100, micro_batch=None)


@pytest.fixture
def high(monkeypatch):
    """Makes the loss of the batches `HIGH`, numbered as the run reads them, three times as high; counts batches."""
    real, seen = optim.token_nats, []

    def nats(*args):
        seen.append(1)
        return real(*args) * (3 if len(seen) - 1 in HIGH else 1)

    monkeypatch.setattr(optim, "token_nats", nats)
    return seen


def rows(out):
    """Metrics without speeds."""
    return [{k: v for k, v in row.items() if k not in SPEEDS} for row in read(out / "metrics.jsonl")]


def state(out):
    """Weights and moments of the newest checkpoint."""
    content = checkpoint.load(checkpoint.found(out)[-1])
    return [*content["model"].values(), *(v for s in content["optimizer"]["state"].values() for v in s.values())]


def plain(losses):
    """Which losses are spikes, one after the other."""
    found, known = [], []
    for loss in losses:
        recent = sorted(known[-WINDOW:])
        middle = recent[(len(recent) - 1) // 2] if recent else math.nan
        apart = sorted(abs(x - middle) for x in recent)
        spread = 1.4826 * apart[(len(apart) - 1) // 2] if recent else math.nan
        found.append(len(recent) >= LEAST and loss > middle + max(FAR * spread, SHARE * abs(middle)))
        known += [loss] if math.isfinite(loss) else []
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_rule_is_that_of_a_plain_loop(seed):
    """Falling, noisy losses with spikes, some of them infinite or no number: the same steps."""
    rng = np.random.default_rng(seed)
    losses = 5 * np.exp(-np.arange(300) / 30) + 1 + 0.1 * rng.normal(size=300)
    losses[120 + rng.permutation(180)[:8]] += 2
    losses[rng.integers(0, 300, 3)] = math.nan
    losses[rng.integers(0, 300, 3)] = math.inf
    losses = losses.astype(np.float32)
    spikes, found = Spikes.begin(9.0, torch.device("cpu")), []
    for n, loss in enumerate(losses):
        if n == 150:  # through a checkpoint
            later = Spikes.begin(1.0, torch.device("cpu"))
            later.restore(spikes.state())
            spikes = later
        found.append(bool(spikes.add(torch.tensor([loss, 1.0]))[2]))
    expected = [yes and math.isfinite(loss) for yes, loss in zip(plain(losses.tolist()), losses, strict=True)]
    assert found == expected
    assert sum(found) >= 4


def test_noise_has_no_spikes():
    """Of 20,000 losses of one level and normal noise, and of falling ones, next to none is called a spike."""
    rng, found = np.random.default_rng(0), 0
    for level in (np.full(10_000, 3.0), 8 / np.arange(1, 10_001) ** 0.2):
        spikes = Spikes.begin(9.0, torch.device("cpu"))
        for loss in (level + 0.2 * rng.normal(size=10_000)).tolist():
            found += int(spikes.add(torch.tensor([loss, 1.0]))[2])
    assert found <= 4


def test_spikes_are_counted_and_said(shards, long, tmp_path, high, capsys):
    """By default they are in the result, on the terminal and in the metrics, and training is as without a word."""
    result = train(shards, out=tmp_path / "a", config=long)
    assert (result.spikes, result.skipped) == (2, 0)
    assert [r["step"] for r in rows(tmp_path / "a") if r.get("spike")] == [n + 1 for n in HIGH]
    assert "step     22  spike: loss " in capsys.readouterr().out
    high.clear()
    train(shards, out=tmp_path / "b", config=replace(long, log_every=1), quiet=True)
    assert rows(tmp_path / "a") == rows(tmp_path / "b")
    high.clear()
    for stop in (25, None):
        train(shards, out=tmp_path / "c", config=long, stop_at=stop, quiet=True)
    assert rows(tmp_path / "a") == rows(tmp_path / "c")
    assert all(torch.equal(x, y) for x, y in zip(state(tmp_path / "a"), state(tmp_path / "c"), strict=True))


def test_skipped_spikes_change_no_weight(shards, long, tmp_path, high, monkeypatch):
    """With "skip" the run is that in which these steps have no update at all, whenever losses are looked at."""
    results = []
    for log_every in (1, 50):
        high.clear()
        skip = replace(long, on_spike="skip", log_every=log_every)
        results.append(train(shards, out=tmp_path / str(log_every), config=skip, quiet=True))
        assert (results[-1].spikes, results[-1].skipped) == (2, 2)
    assert [r["step"] for r in rows(tmp_path / "1") if r.get("skipped")] == [n + 1 for n in HIGH]
    assert rows(tmp_path / "1") == rows(tmp_path / "50")
    real, done = optim._update, []

    def update(optimizer, fine):
        done.append(1)
        real(optimizer, fine & (len(done) - 1 not in HIGH))

    monkeypatch.setattr(optim, "_update", update)
    high.clear()
    train(shards, out=tmp_path / "plain", config=long, quiet=True)
    assert all(torch.equal(x, y) for x, y in zip(state(tmp_path / "1"), state(tmp_path / "plain"), strict=True))


@pytest.mark.parametrize("log_every", [1, 50])
def test_a_spike_rolls_back(shards, long, tmp_path, high, log_every, monkeypatch):
    """With "rollback" it returns to the checkpoint before, and leaves the data up to the spike out."""
    monkeypatch.setitem(globals(), "HIGH", (21,))
    back = replace(long, on_spike="rollback", log_every=log_every)
    result = train(shards, out=tmp_path, config=back, quiet=True)
    found = [(r["step"], r["rolled_back_from"]) for r in rows(tmp_path) if "rolled_back_from" in r]
    assert found == [(16, 22)]
    assert result.spikes == 1
    assert [r["step"] for r in rows(tmp_path) if "loss" in r] == list(range(1, 41))
    guard = checkpoint.load(checkpoint.found(tmp_path)[-1])["guard"]
    assert guard["ahead"] == 6
    assert not guard["spiked"]


def test_without_a_checkpoint_a_spike_is_only_reported(shards, long, tmp_path, high):
    """There is nothing to return to, and a spike is no reason to end a run."""
    back = replace(long, on_spike="rollback", save_every=100)
    assert train(shards, out=tmp_path, config=back, quiet=True).spikes == 2
    assert not [r for r in rows(tmp_path) if "rolled_back_from" in r]


def test_a_rising_loss_is_said_once(shards, config, tmp_path, caplog):
    """A learning rate of 1 without clipping ends above the loss of a guess: one sentence names it; others are quiet."""
    with caplog.at_level(logging.WARNING):
        train(shards, out=tmp_path / "good", config=replace(config, steps=60), quiet=True)
        assert not caplog.messages
        bad = replace(config, lr=1.0, clip=1e9, steps=60, schedule="constant")
        result = train(shards, out=tmp_path / "bad", config=bad, quiet=True)
        train(shards, out=tmp_path / "bad", config=replace(bad, steps=70), quiet=True)
    assert result.loss > 4
    [said] = caplog.messages
    assert said.startswith("step 17: the training loss has risen to ")
    assert said.endswith(
        "from 4.57, so training diverges: lower lr (now 1) or clip (now 1e+09), or lengthen warmup (now 4)"
    )
    assert [r["step"] for r in rows(tmp_path / "bad") if "risen_from" in r] == [17]


def test_other_words_are_refused():
    """Only three."""
    with pytest.raises(PlanError, match="on_spike='stop' must be one of report, skip, rollback"):
        TrainConfig(on_spike="stop")
