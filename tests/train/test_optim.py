import copy
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import CorruptShard, PlanError  # noqa: E402
from dataprep.train import GPT, ModelConfig, TrainConfig, train  # noqa: E402
from dataprep.train.data.rows import Rows  # noqa: E402
from dataprep.train.optim import optimizer_of, step_once, take_moments  # noqa: E402
from dataprep.train.schedule import lr_at  # noqa: E402
from runs import assert_same_run  # noqa: E402

MODEL = ModelConfig(n_layers=2, n_heads=2, d_model=32, context=16)


def rows(n=8, vocab=50, seed=0):
    """Random rows, some with masked targets."""
    rng = np.random.default_rng(seed)
    skip = np.array([0, 7, 0, 16, 1, 0, 0, 15][:n])
    return Rows(rng.integers(0, vocab, (n, 17)).astype(np.uint16), np.arange(16) >= skip[:, None])


def made(config, vocab=50):
    """A seeded model with its optimiser."""
    torch.manual_seed(0)
    model = GPT(MODEL, vocab)
    return model, optimizer_of(model, config)


@pytest.mark.parametrize("schedule", ["cosine", "linear", "wsd", "constant"])
def test_schedules_warm_up_stay_below_the_peak_and_end_where_they_say(schedule):
    """Linear to the peak, never above it, never rising again; the last step has the final rate."""
    config = TrainConfig(model=MODEL, steps=100, lr=0.01, warmup=10, schedule=schedule, final_lr=0.2, decay=0.3)
    lrs = [lr_at(step, config) for step in range(100)]
    assert lrs[:10] == pytest.approx([0.001 * (i + 1) for i in range(10)])
    assert max(lrs) == lrs[10] == 0.01
    assert all(a >= b for a, b in pairwise(lrs[10:]))
    assert lrs[-1] == pytest.approx(0.01 if schedule == "constant" else 0.002)


def test_schedules_have_their_shapes():
    """Cosine is half way down in the middle; wsd is flat until its last share, then falls as 1 - sqrt."""
    config = TrainConfig(model=MODEL, steps=101, lr=1.0, warmup=0, final_lr=0.0, decay=0.2)
    assert lr_at(50, config) == pytest.approx(0.5)
    assert lr_at(25, replace(config, schedule="linear")) == pytest.approx(0.75)
    wsd = replace(config, schedule="wsd")
    assert lr_at(79, wsd) == 1.0
    assert lr_at(85, wsd) == pytest.approx(1 - math.sqrt((85 - 80) / 20), abs=0.06)
    assert lr_at(100, wsd) == 0.0


def test_decay_rates_may_be_whole_numbers():
    """betas=(0, 0.95) has no first moment; torch itself refuses an int beside a float."""
    model, optimizer = made(TrainConfig(model=MODEL, betas=(0, 0.95)))
    step_once(model, optimizer, rows(), 0.01, TrainConfig(model=MODEL, betas=(0, 0.95)))
    same, plain = made(TrainConfig(model=MODEL, betas=(0.0, 0.95)))
    step_once(same, plain, rows(), 0.01, TrainConfig(model=MODEL))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), same.parameters(), strict=True))


def test_matrices_decay_and_gains_do_not():
    """Every parameter is in exactly one group, by its number of dimensions."""
    model, optimizer = made(TrainConfig(model=MODEL, weight_decay=0.3))
    decayed, kept = optimizer.param_groups
    assert (decayed["weight_decay"], kept["weight_decay"]) == (0.3, 0.0)
    assert {p.dim() for p in decayed["params"]} == {2}
    assert {p.dim() for p in kept["params"]} == {1}
    assert sum(p.numel() for g in optimizer.param_groups for p in g["params"]) == model.n_params


@pytest.mark.parametrize("micro_batch", [1, 2, 4])
def test_accumulation_is_one_big_batch(micro_batch):
    """Micro-batches with unequal numbers of counted targets give the loss, gradient and weights of the batch."""
    outcomes = []
    for size in (8, micro_batch):
        config = TrainConfig(model=MODEL, batch=8, micro_batch=size, clip=0.5)
        model, optimizer = made(config)
        before = model(torch.arange(16)[None])
        seen = step_once(model, optimizer, rows(), 0.001, config)
        outcomes.append([seen, model(torch.arange(16)[None])])
        assert not torch.equal(before, outcomes[-1][1])
    for whole, parts in zip(*outcomes, strict=True):
        torch.testing.assert_close(whole, parts, rtol=1e-4, atol=1e-5)


def test_loss_is_the_mean_over_counted_targets():
    """The reported loss is what a plain mean over unmasked targets gives."""
    config = TrainConfig(model=MODEL, batch=8, micro_batch=2)
    model, optimizer = made(config)
    r = rows()
    ids = torch.from_numpy(r.tokens.astype(np.int64))
    logits = model(ids[:, :-1]).detach().log_softmax(-1)
    nats = [-logits[b, t, ids[b, t + 1]].item() for b in range(8) for t in range(16) if r.learn[b, t]]
    assert len(nats) == r.n_targets
    assert step_once(model, optimizer, r, 0.001, config)[0].item() == pytest.approx(np.mean(nats), rel=1e-5)


def test_ignored_targets_have_no_gradient():
    """Whatever ids stand where nothing is learned, loss and gradient are the same; with no target at all, none."""
    config = TrainConfig(model=MODEL, batch=8, micro_batch=4)
    after = []
    for other in (0, 1):
        model, _ = made(config)
        r = rows()
        learn = np.zeros((8, 16), np.bool_)
        learn[:, :10] = np.random.default_rng(1).random((8, 10)) < 0.5
        tokens = r.tokens.copy()
        tokens[:, 11:] = (tokens[:, 11:] + other) % 50  # targets from place 10 on, and the inputs after them
        seen = step_once(model, torch.optim.SGD(model.parameters(), lr=1.0), Rows(tokens, learn), 1.0, config)
        after.append(torch.cat([seen, *(p.detach().flatten() for p in model.parameters())]))
    assert torch.equal(*after)
    model, _ = made(config)
    before = [p.detach().clone() for p in model.parameters()]
    nothing = Rows(rows().tokens, np.zeros((8, 16), np.bool_))
    assert step_once(model, torch.optim.SGD(model.parameters(), lr=1.0), nothing, 1.0, config).tolist() == [0, 0]
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_gradients_are_clipped_but_their_norm_is_reported():
    """The norm is the one before clipping; plain descent then moves the weights by lr x clip."""
    config = TrainConfig(model=MODEL, batch=8, clip=0.1)
    model, _ = made(config)
    before = torch.cat([p.detach().flatten().clone() for p in model.parameters()])
    descent = torch.optim.SGD(model.parameters(), lr=1.0)
    _, norm = step_once(model, descent, rows(), 0.5, config).tolist()
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    assert norm > 0.1
    assert (after - before).norm().item() == pytest.approx(0.5 * 0.1, rel=1e-3)


def test_one_batch_is_learnt_by_heart():
    """A model that can learn anything learns eight random rows."""
    config = TrainConfig(model=MODEL, batch=8, lr=0.01)
    model, optimizer = made(config)
    batch = Rows(rows().tokens)
    losses = [step_once(model, optimizer, batch, 0.01, config)[0].item() for _ in range(100)]
    assert losses[0] > 3.5
    assert losses[-1] < 0.15


MUON = TrainConfig(model=MODEL, batch=8, micro_batch=2, optimizer="muon", clip=0.7, weight_decay=0.3)


def twin_of_muon(weight, gradient, lr):
    """A first step of Muon on a matrix, in float64, from the formulas of its authors."""
    x = gradient.double()
    x = x / x.norm()
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return weight.double() * (1 - lr * 0.3) - lr * 0.2 * math.sqrt(max(weight.shape)) * x, x


def test_muon_steps_each_projection_as_a_plain_twin_does():
    """Queries, keys and values apart, from clipped gradients of micro-batches; the others are those of AdamW."""
    model, optimizer = made(MUON)
    plain, adamw = made(replace(MUON, optimizer="adamw"))
    descent, _ = made(MUON)
    before = [h.own.detach().clone() for h in optimizer.hidden]
    step_once(model, optimizer, rows(), 0.01, MUON)
    step_once(plain, adamw, rows(), 0.01, MUON)
    start = [p.detach().clone() for p in descent.parameters()]
    step_once(descent, torch.optim.SGD(descent.parameters(), lr=1.0), rows(), 1.0, MUON)
    moved = (a - b for a, b in zip(start, descent.parameters(), strict=True))
    gradient = dict(zip(model.parameters(), moved, strict=True))
    assert len(optimizer.hidden) == 2 * 7
    for old, h in zip(before, optimizer.hidden, strict=True):
        expected, x = twin_of_muon(old, gradient[h.weight][h.rows], 0.01)
        singular = torch.linalg.svdvals(x)
        assert 0.65 < singular[len(singular) * 3 // 4] < singular.max() < 1.25  # a gradient's own reach to 1e-5
        assert (h.weight[h.rows] - expected).norm() < 0.05 * (h.weight[h.rows] - old).norm()  # bfloat16
    matrices = {h.weight for h in optimizer.hidden}
    for mine, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine, theirs) != (mine in matrices)


def test_muon_continues_from_its_moments_and_skips_a_bad_step():
    """Saved after two steps and loaded into another model: the same third step; a gradient of NaN changes nothing."""
    model, optimizer = made(MUON)
    for seed in range(2):
        step_once(model, optimizer, rows(seed=seed), 0.01, MUON)
    other, again = made(MUON)
    other.load_state_dict(model.state_dict())
    saved = copy.deepcopy(optimizer.state_dict())
    take_moments(again, saved, "here")
    for each, how in ((model, optimizer), (other, again)):
        step_once(each, how, rows(seed=2), 0.01, MUON)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    moments = [t for m in again.state_dict()["state"].values() for n, t in m.items() if n != "step"]
    before = [t.clone() for t in (*other.parameters(), *moments)]
    step_once(other, again, rows(seed=3), 0.01, MUON, limit=torch.tensor(0.1))  # its loss is above
    assert all(torch.equal(a, b) for a, b in zip(before, (*other.parameters(), *moments), strict=True))
    with pytest.raises(CorruptShard, match="has not the moments of this model"):
        take_moments(made(replace(MUON, optimizer="adamw"))[1], saved, "here")
    for change in (lambda t: t * math.nan, lambda t: t.to(torch.complex64), lambda t: t.to_sparse()):
        bad = copy.deepcopy(saved)
        moments = bad["state"][max(bad["state"])]
        moments["momentum_buffer"] = change(moments["momentum_buffer"])
        with pytest.raises(CorruptShard, match="has not the moments of this model"):
            take_moments(made(MUON)[1], bad, "here")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"lora": 2}, "which lora=2 trains in two parts"),
        ({"shard_optimizer": True}, "which shard_optimizer=True divides"),
    ],
)
def test_muon_is_refused_where_matrices_are_not_whole(more, sentence):
    """One sentence each."""
    with pytest.raises(PlanError, match=sentence):
        replace(MUON, **more)


def test_a_run_with_muon_resumes_bit_for_bit(shards, config, tmp_path):
    """Stopped after 8 of 12 steps, and run again."""
    how = replace(config, optimizer="muon", steps=12)
    train(shards, out=tmp_path / "whole", config=how, quiet=True)
    for stop in (8, None):
        train(shards, out=tmp_path / "parts", config=how, quiet=True, stop_at=stop)
    assert_same_run(tmp_path / "whole", tmp_path / "parts")
