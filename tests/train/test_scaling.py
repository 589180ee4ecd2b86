"""Training in float16: the scale of the loss, beside torch's own scaler, and runs that resume."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import DataprepError  # noqa: E402
from dataprep.train import GPT, checkpoint, loop, optim, scaling, train  # noqa: E402
from dataprep.train.data.sets import training_rows  # noqa: E402
from dataprep.train.metrics import read  # noqa: E402
from dataprep.train.scaling import FIRST, OVERFLOW, Scaler  # noqa: E402
from runs import SPEEDS, assert_same_run  # noqa: E402


@pytest.fixture
def half(config):
    """Twenty steps in float16."""
    return replace(config, dtype="float16")


def made(config):
    """A model that computes in float16, its optimiser (not fused), and the scaler."""
    torch.manual_seed(0)
    model = GPT(config.model, 97)
    model.compute_dtype = torch.float16
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2, betas=config.betas), Scaler.begin(torch.device("cpu"))


def test_scale_and_weights_are_those_of_torchs_scaler(shards, half, monkeypatch):
    """Steps with overflows, and a scale that grows after every third step: the same scales, skips and weights."""
    monkeypatch.setattr(scaling, "GROWTH", 3)
    model, optimizer, scaler = made(half)
    twin, other, _ = made(half)
    judge = torch.amp.GradScaler("cpu", init_scale=FIRST, growth_interval=3)
    loader, scales, norms = training_rows({"": shards}, half), [], []
    real = optim.token_nats
    for step in range(14):
        rows, blown = loader.rows(step), step in {2, 3, 9}
        bad = torch.tensor(1.0)
        if blown:  # a gradient that float32 holds, and that overflows once it is scaled
            bad.fill_(1e35)
        with monkeypatch.context() as m:
            m.setattr(optim, "token_nats", lambda model, *a, bad=bad: real(model, *a) * bad)
            norms.append(float(optim.step_once(model, optimizer, rows, 1e-2, half, scaler=scaler)[1]))
        for i in range(0, len(rows.tokens), half.rows):
            x, y, mask = optim.to_device(rows.part(i, i + half.rows), torch.device("cpu"))
            judge.scale(real(twin, x, y, mask).sum() * bad / rows.n_targets).backward()
        judge.unscale_(other)
        torch.nn.utils.clip_grad_norm_(twin.parameters(), half.clip)
        judge.step(other)
        judge.update()
        other.zero_grad()
        scales.append((float(scaler.scale), judge.get_scale()))
    assert [a for a, _ in scales] == [b for _, b in scales]
    assert {i for i, norm in enumerate(norms) if norm == OVERFLOW} == {2, 3, 9}
    assert len({a for a, _ in scales}) >= 3
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)


def test_small_gradients_survive(half):
    """Gradients that are 0 in float16 without the scale are those of float32 with it."""
    model, optimizer, scaler = made(half)
    x = torch.randint(97, (4, 24))
    plain = GPT(half.model, 97)
    plain.load_state_dict(model.state_dict())
    tiny = 1e-5
    found = []
    for of, scale in ((model, None), (model, scaler), (plain, None)):
        of.zero_grad()
        nats = optim.token_nats(of, x, x).mean() * tiny
        (nats if scale is None else nats * scale.scale).backward()
        if scale is not None:
            scale.unscale(of.parameters())
        found.append(of.blocks[0].attention.qkv.weight.grad.clone())
    lost, kept, exact = found
    assert (lost - exact).norm() > 0.5 * exact.norm()
    assert (kept - exact).norm() < 0.05 * exact.norm()
    assert optimizer.defaults["lr"] == 1e-2


def test_a_run_learns_and_resumes_bit_for_bit(shards, config, half, tmp_path):
    """Its losses are near those of float32; the scale is in its checkpoints, and other types have none."""
    results = {how.dtype: train(shards, out=tmp_path / how.dtype, config=how, quiet=True) for how in (config, half)}
    assert results["float16"].val_loss == pytest.approx(results["auto"].val_loss, rel=0.02)
    for stop in (11, None):
        train(shards, out=tmp_path / "parts", config=half, stop_at=stop, quiet=True)
    assert_same_run(tmp_path / "float16", tmp_path / "parts")
    saved = [checkpoint.load(checkpoint.found(tmp_path / name)[-1]) for name in ("float16", "auto")]
    assert saved[0]["scaler"].keys() == {"scale", "steps"}
    assert "scaler" not in saved[1]


def test_an_overflow_is_no_failure(shards, half, tmp_path, monkeypatch):
    """Overflows in succession skip steps until the scale is low enough; nothing rolls back; the metrics have them."""
    monkeypatch.setattr(scaling, "FIRST", 2.0**100)
    monkeypatch.setattr(Scaler, "update", _halved_by(Scaler.update, 20))
    result = train(shards, out=tmp_path, config=half, quiet=True)
    rows = [{k: v for k, v in r.items() if k not in SPEEDS} for r in read(tmp_path / "metrics.jsonl")]
    over = [r["step"] for r in rows if r.get("overflow")]
    assert len(over) >= 4
    assert over == list(range(1, len(over) + 1))
    assert result.skipped == len(over)
    assert not [r for r in rows if "rolled_back_from" in r]


def _halved_by(update, bits):
    """The scaler's update, which halves the scale by so many bits at once."""

    def faster(self, loss, norm):
        found = update(self, loss, norm)
        if float(found) == OVERFLOW:
            self.scale = self.scale / 2 ** (bits - 1)
        return found

    return faster


def test_gradients_that_are_no_numbers_still_end_a_run(shards, half, tmp_path, monkeypatch):
    """Once the scale is 1, a gradient that is not finite is a failure as in other types."""
    real = loop.step_once

    def step(*args):
        args[-1].scale.fill_(1.0)
        args[0].norm.weight.register_hook(lambda g: g * float("nan")) if not step.hooked else None
        step.hooked = True
        return real(*args)

    step.hooked = False
    monkeypatch.setattr(loop, "step_once", step)
    with pytest.raises(DataprepError, match="training has diverged: 3 steps"):
        train(shards, out=tmp_path, config=half, quiet=True)
