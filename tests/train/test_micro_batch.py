"""The largest micro-batch that fits, by injected errors of memory."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from dataprep.errors import DataprepError, PlanError  # noqa: E402
from dataprep.train import GPT, TrainConfig, train  # noqa: E402
from dataprep.train import micro_batch as module  # noqa: E402
from dataprep.train.data.sets import open_sets, training_rows  # noqa: E402
from dataprep.train.micro_batch import divisors, find_micro_batch, largest  # noqa: E402


@given(st.integers(1, 2000))
def test_divisors(n):
    """All of them, in order."""
    assert divisors(n) == [d for d in range(1, n + 1) if n % d == 0]


@given(batch=st.integers(1, 4096), room=st.integers(1, 5000))
def test_the_largest_that_fits(batch, room):
    """It is the largest divisor that fits, and each size is tried once, few of them."""
    tried = []

    def fits(n):
        tried.append(n)
        return n <= room

    assert largest(divisors(batch), fits) == max(d for d in divisors(batch) if d <= room)
    assert len(set(tried)) == len(tried)
    assert len(tried) <= 1 + 2 * batch.bit_length()


@pytest.fixture
def card(monkeypatch):
    """Lets a step use at most `room` rows at once, as if the CPU reported its memory; lists the sizes."""
    tried = []

    def limit(room, error=None):
        step = module.step_once
        error = error or torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

        def limited(model, optimizer, rows, lr, config):
            tried.append((config.rows, len(rows.tokens)))
            if config.rows > room:
                raise error
            return step(model, optimizer, rows, lr, config)

        monkeypatch.setattr(module, "step_once", limited)
        monkeypatch.setattr(module, "REPORTING", ("cpu",))
        return tried

    return limit


@pytest.mark.parametrize(("room", "found"), [(1, 1), (5, 4), (8, 8), (23, 12), (24, 24), (100, 24)])
def test_a_run_is_as_before(shards, config, card, room, found):
    """The largest divisor of the batch that fits is found; weights and random numbers do not change."""
    config = replace(config, batch=24, micro_batch="auto")
    model, loader = GPT(config.model, shards.vocab_size), training_rows(open_sets(shards), config)
    before, state = {k: v.clone() for k, v in model.state_dict().items()}, torch.get_rng_state()
    tried = card(room)
    assert find_micro_batch(model, loader, config) == found
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    assert torch.equal(state, torch.get_rng_state())
    assert all(p.grad is None for p in model.parameters())
    assert all(n_rows == min(24, 2 * n) for n, n_rows in tried)
    assert [n for n, _ in itertools.groupby(n for n, _ in tried)][:2] == [1, 2]


def test_not_even_one_row(shards, config, card):
    """What else to lower is named; an error that is not of memory stays itself."""
    config = replace(config, micro_batch="auto")
    model, loader = GPT(config.model, shards.vocab_size), training_rows(open_sets(shards), config)
    card(0)
    with pytest.raises(DataprepError, match=r"out of memory on device='cpu': lower model.context \(now 24\)"):
        find_micro_batch(model, loader, config)
    card(0, RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes do not match"):
        find_micro_batch(model, loader, config)


def test_the_cpu_is_refused(shards, config, tmp_path):
    """In one sentence; the run trains with a number."""
    with pytest.raises(PlanError, match="micro_batch='auto' .* this run is on the CPU; set a number"):
        train(shards, out=tmp_path, config=replace(config, micro_batch="auto"), quiet=True)


def test_a_run_uses_what_was_found(shards, config, tmp_path, monkeypatch):
    """The number is in the first line and in the checkpoint, and the run is that with this number."""
    monkeypatch.setattr("dataprep.train.begin.find_micro_batch", lambda *_: 2)
    auto = config.override("micro_batch=auto")
    assert (auto.micro_batch, auto.rows, auto.batch) == ("auto", 8, 8)
    train(shards, out=tmp_path / "a", config=auto, stop_at=2, quiet=True)
    train(shards, out=tmp_path / "b", config=replace(config, micro_batch=2), stop_at=2, quiet=True)
    a, b = (torch.load(tmp_path / name / "step-00000002.pt", weights_only=True) for name in "ab")
    assert a["config"] == b["config"]
    assert all(torch.equal(a["model"][k], b["model"][k]) for k in a["model"])


def test_other_words_are_refused():
    """Only "auto"."""
    with pytest.raises(PlanError, match="micro_batch='many' must be a whole number above 0"):
        TrainConfig(micro_batch="many")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA card")
def test_on_a_card(shards, config):
    """A small model fits whole."""
    config = replace(config, device="cuda", micro_batch="auto")
    model = GPT(config.model, shards.vocab_size).to("cuda")
    assert find_micro_batch(model, training_rows(open_sets(shards), config), config) == config.batch
