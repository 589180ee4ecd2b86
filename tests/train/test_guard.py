"""A run that meets losses which are no numbers: skipped, rolled back, ended."""

import json
import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import DataprepError  # noqa: E402
from dataprep.train import GPT, checkpoint, loop, optim, train  # noqa: E402
from dataprep.train.data.sets import training_rows  # noqa: E402
from dataprep.train.guard import PATIENCE, Guard  # noqa: E402
from dataprep.train.metrics import read  # noqa: E402
from runs import SPEEDS  # noqa: E402


class Poison:
    """Losses of some batches, numbered as the run reads them, are NaN; counts what was read."""

    def __init__(self, monkeypatch, config, bad):
        self.bad, self.per_step, self.calls = bad, config.batch // config.micro_batch, 0
        self.real = optim.token_nats
        monkeypatch.setattr(optim, "token_nats", self)

    def __call__(self, *args):
        batch = self.calls // self.per_step
        self.calls += 1
        return self.real(*args) * (math.nan if self.bad(batch) else 1)


def rows(out):
    """Metrics without speeds."""
    return [{k: v for k, v in row.items() if k not in SPEEDS} for row in read(out / "metrics.jsonl")]


def state(out):
    """Weights and moments of the newest checkpoint."""
    content = checkpoint.load(checkpoint.found(out)[-1])
    moments = [v for s in content["optimizer"]["state"].values() for v in s.values()]
    return [*content["model"].values(), *moments]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_step_that_is_not_finite_changes_nothing(config, fused, value, monkeypatch):
    """Weights, moments and the optimiser's count stay, for optimisers that decide on the device too."""
    torch.manual_seed(0)
    model = GPT(config.model, 97)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=fused)
    batch = optim.Rows(torch.randint(97, (8, 25)).numpy().astype("uint16"))
    assert torch.isfinite(optim.step_once(model, optimizer, batch, 1e-2, config)).all()
    before = [t.clone() for t in (*model.parameters(), *(v for s in optimizer.state.values() for v in s.values()))]
    with monkeypatch.context() as m:
        m.setattr(optim, "token_nats", lambda *_: model.embedding.weight.sum() * value)
        assert not torch.isfinite(optim.step_once(model, optimizer, batch, 1e-2, config)).all()
    after = [*model.parameters(), *(v for s in optimizer.state.values() for v in s.values())]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    optim.step_once(model, optimizer, batch, 1e-2, config)
    assert not torch.equal(before[0], after[0])


def test_a_nan_is_skipped_and_counted(shards, config, tmp_path, monkeypatch, capsys):
    """Two bad batches cost two steps: the others learn, and metrics stay JSON that every reader takes."""
    Poison(monkeypatch, config, lambda batch: batch in {5, 12})
    result = train(shards, out=tmp_path, config=config)
    assert (result.steps, result.skipped) == (20, 2)
    assert math.isfinite(result.loss)
    assert [r["step"] for r in rows(tmp_path) if r.get("skipped")] == [6, 13]
    assert [r["step"] for r in rows(tmp_path) if "loss" in r] == [n for n in range(1, 21) if n not in {6, 13}]
    assert "step      6  skipped: loss nan" in capsys.readouterr().out

    def fail(_):
        raise AssertionError

    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=fail)


@pytest.mark.parametrize("log_every", [1, 10, 50])
def test_nans_in_succession_roll_back_and_step_over_the_data(shards, config, tmp_path, monkeypatch, log_every):
    """From step 8 again, with the batches after the bad ones: the run that never saw them, whenever it looks."""
    config = replace(config, log_every=log_every, eval_every=100, save_every=8)
    with monkeypatch.context() as m:
        poison = Poison(m, config, lambda batch: batch in {10, 11, 12})
        result = train(shards, out=tmp_path / "bad", config=config, quiet=True)
    assert (result.steps, result.skipped) == (20, 3)
    assert {"step": 8, "rolled_back_from": 13, "skipped": 3} in rows(tmp_path / "bad")
    assert [r["step"] for r in rows(tmp_path / "bad") if "loss" in r] == list(range(1, 21))
    guard = Guard(**checkpoint.load(checkpoint.found(tmp_path / "bad")[-1])["guard"])
    assert guard == Guard(skipped=3, furthest=13, ahead=5)
    assert poison.calls >= poison.per_step * 25
    # A run that steps over batches 8 to 12 by itself.
    out = tmp_path / "good"
    train(shards, out=out, config=config, stop_at=8, quiet=True)
    content = checkpoint.load(checkpoint.found(out)[-1])
    del content["format"]
    checkpoint.save(checkpoint.found(out)[-1], content | {"guard": content["guard"] | {"ahead": 5}}, 2)
    train(shards, out=out, config=config, quiet=True)
    assert all(torch.equal(a, b) for a, b in zip(state(tmp_path / "bad"), state(out), strict=True))


def test_a_stopped_run_counts_on(shards, config, tmp_path, monkeypatch):
    """Stopped before bad steps and after the rollback, and resumed: the run that nobody stopped."""
    real, poisoned = loop.step_once, {begin_rows(shards, config, n) for n in (11, 12, 13, 17)}

    def step(model, optimizer, batch, *more):
        bad = batch.tokens.tobytes() in poisoned
        found = real(model, torch.optim.SGD(model.parameters(), 0.0) if bad else optimizer, batch, *more)
        return found * math.nan if bad else found

    monkeypatch.setattr(loop, "step_once", step)
    for name, stops in (("whole", [None]), ("parts", [8, 15, None])):
        for stop in stops:
            result = train(shards, out=tmp_path / name, config=config, stop_at=stop, quiet=True)
        assert (result.steps, result.skipped) == (20, 4)
    assert rows(tmp_path / "whole") == rows(tmp_path / "parts")
    assert all(torch.equal(a, b) for a, b in zip(state(tmp_path / "whole"), state(tmp_path / "parts"), strict=True))


def begin_rows(shards, config, batch):
    """Tokens of a batch of the run, as bytes."""
    return training_rows({"": shards}, config).rows(batch).tokens.tobytes()


def test_a_diverging_run_stops_with_a_sentence(shards, config, tmp_path, monkeypatch):
    """If all batches are bad it returns twice, further the second time, and then ends; good checkpoints stay."""
    train(shards, out=tmp_path, config=config, stop_at=16, quiet=True)
    monkeypatch.setattr("dataprep.train.loop.step_once", lambda *_: torch.tensor([math.nan, 1.0]))
    with pytest.raises(DataprepError, match=r"training has diverged: 9 steps .*lower lr .*step-00000016\.pt") as e:
        train(shards, out=tmp_path, config=config, quiet=True)
    assert "\n" not in str(e.value)
    assert [p.name for p in checkpoint.found(tmp_path)] == ["step-00000008.pt", "step-00000016.pt"]


def test_without_a_checkpoint_it_ends_at_once(shards, config, tmp_path, monkeypatch):
    """Nothing to return to: a sentence after the third bad step, and no checkpoint of it."""
    monkeypatch.setattr("dataprep.train.loop.step_once", lambda *_: torch.tensor([1.0, math.inf]))
    with pytest.raises(DataprepError, match=f"step {PATIENCE}: training has diverged.*lengthen warmup"):
        train(shards, out=tmp_path, config=config, quiet=True)
    assert not checkpoint.found(tmp_path)


def test_a_run_that_fails_at_the_same_step_ends(shards, config, tmp_path, monkeypatch):
    """Rollbacks count until the run has passed the step that failed, although checkpoints are written before it."""
    real, calls = optim.token_nats, []

    def blown(model, *args):
        calls.append(1)
        assert len(calls) < 1000, "the run never ends"
        return real(model, *args) * (math.nan if loop_step(model) else 1)

    def loop_step(model):
        return model.embedding.weight.grad is None and float(model.norm.weight.detach().std()) > 0.012

    monkeypatch.setattr(optim, "token_nats", blown)
    with pytest.raises(DataprepError, match="after 2 rollbacks"):
        train(shards, out=tmp_path, config=replace(config, save_every=2, steps=200, eval_every=500), quiet=True)


def test_a_flipped_checkpoint_and_a_nan_together(shards, config, tmp_path, monkeypatch):
    """The newest checkpoint is damaged when the run must return: it returns to the one before."""
    train(shards, out=tmp_path, config=config, stop_at=16, quiet=True)
    path = checkpoint.found(tmp_path)[-1]
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 255]) + data[len(data) // 2 + 1 :])
    Poison(monkeypatch, config, lambda batch: batch in {1, 2, 3})
    result = train(shards, out=tmp_path, config=config, quiet=True)
    assert (result.steps, result.skipped) == (20, 3)
