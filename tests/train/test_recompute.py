"""Activation checkpointing: the same gradients, with less memory."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.train import GPT, ModelConfig, TrainConfig, checkpoint, lora, train  # noqa: E402
from dataprep.train.loss import token_nats  # noqa: E402
from dataprep.train.model.masks import Mask  # noqa: E402

SHAPE = ModelConfig(n_layers=3, n_heads=4, n_kv_heads=2, d_model=32, context=24)


def gradients(*, recompute, changes=False, mask=None):
    """Gradients by name, bytes stored for the backward pass outside of blocks, and the next random number."""
    torch.manual_seed(0)
    model = GPT(SHAPE, 97)
    if changes:
        lora.add(model, TrainConfig(model=SHAPE, lora=3, lora_dropout=0.5))
    model.recompute = recompute
    x = torch.randint(97, (4, 25))
    weights, stored = {p.data_ptr() for p in model.parameters()}, {}

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() not in weights:
            stored[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        loss = token_nats(model, x[:, :-1], x[:, 1:], mask).sum()
    loss.backward()
    named = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return named, sum(stored.values()), torch.rand(())


@pytest.mark.parametrize("changes", [False, True], ids=["full", "lora"])
@pytest.mark.parametrize("masked", [False, True], ids=["causal", "documents"])
def test_gradients_are_equal_and_less_is_stored(changes, masked):
    """Bit for bit, with document masks, dropout and frozen weights too; a block stores its input alone."""
    mask = Mask.of(torch.arange(24).expand(4, 24) % 7 == 0, None) if masked else None
    plain, much, after = gradients(recompute=False, changes=changes, mask=mask)
    again, little, after_again = gradients(recompute=True, changes=changes, mask=mask)
    assert plain.keys() == again.keys()
    assert plain
    assert all(torch.equal(plain[name], again[name]) for name in plain)
    assert torch.equal(after, after_again), "the same random numbers follow"
    assert little < much / 3


def test_a_run_may_change_to_it(shards, config, tmp_path):
    """The weights of a run are the same with it, without it, and if it is set when the run is resumed."""
    other = replace(config, recompute=True)
    train(shards, out=tmp_path / "a", config=config, quiet=True)
    train(shards, out=tmp_path / "b", config=config, stop_at=8, quiet=True)
    train(shards, out=tmp_path / "b", config=other, quiet=True)
    a, b = (checkpoint.load(checkpoint.found(tmp_path / name)[-1])["model"] for name in "ab")
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_blocks_with_a_cache_are_not_computed_twice():
    """A second computation would add keys and values to the cache again; with gradients on, too."""
    torch.manual_seed(0)
    model, found = GPT(SHAPE, 97), []
    for model.recompute in (False, True):
        cache = model.cache(1)
        for new in ([5, 6, 7], [8]):
            slots = cache.take([0], [len(new)], prefix=False)
            found.append(model.hidden(torch.tensor([new]), slots=slots))
    assert torch.equal(found[1], found[3])
