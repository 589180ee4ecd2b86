import math
import types

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from dataprep.train import loss  # noqa: E402
from dataprep.train.data.rows import IGNORE  # noqa: E402

N, D, VOCAB, ROWS = 40, 16, 500, 512  # a matrix has more rows than the vocabulary


def problem(dtype=torch.float32, seed=0):
    """Inputs, a matrix, targets of which some are ignored, and a weight for each target's loss."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(N, D, generator=generator).to(dtype).requires_grad_()
    weight = torch.randn(ROWS, D, generator=generator).requires_grad_()
    targets = torch.randint(VOCAB, (N,), generator=generator)
    targets[::7] = IGNORE
    targets[1], targets[2] = 0, VOCAB - 1
    return x, weight, targets, torch.rand(N, generator=generator)


def solve(x, weight, targets, share):
    """Losses and both gradients."""
    nats = loss.nats(x, weight, targets, VOCAB)
    (nats * share).sum().backward()
    return nats.detach(), x.grad, weight.grad


@pytest.mark.parametrize("block", [1, 64 * N, 100 * N, 449 * N, (VOCAB - 1) * N])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_blocks_of_the_vocabulary_are_the_whole(monkeypatch, block, dtype):
    """Losses and gradients are those of torch's cross entropy, wherever the blocks end; padding has no gradient."""
    whole = solve(*problem(dtype))
    x, _, targets, _ = problem(dtype)
    logits = F.linear(x, problem()[1].to(dtype)).float()[:, :VOCAB]
    assert torch.equal(whole[0], F.cross_entropy(logits, targets, reduction="none", ignore_index=IGNORE).detach())
    monkeypatch.setattr(loss, "BLOCK", block)
    parts = solve(*problem(dtype))
    close = {"atol": 1e-5, "rtol": 1e-5} if dtype == torch.float32 else {"atol": 0.1, "rtol": 0.05}
    for a, b in zip(whole, parts, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, **close)
    assert parts[0][::7].tolist() == [0] * len(targets[::7])
    assert not parts[2][VOCAB:].any()


def test_extreme_scores_stay_finite(monkeypatch):
    """Scores of hundreds overflow no exponential, and a block that holds none of the mass adds nothing."""
    monkeypatch.setattr(loss, "BLOCK", 64 * N)
    x, weight, targets, share = problem()
    big = (x.detach() * 300).requires_grad_()
    nats, grad, _ = solve(big, weight, targets, share)
    assert torch.isfinite(nats).all()
    assert torch.isfinite(grad).all()
    expected = F.cross_entropy(big @ weight[:VOCAB].T, targets, reduction="none", ignore_index=IGNORE)
    torch.testing.assert_close(nats, expected.detach(), rtol=1e-4, atol=1e-3)


class Largest(TorchDispatchMode):
    """The most elements of a tensor that any operation made."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for made in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(made, torch.Tensor):
                self.elements = max(self.elements, made.untyped_storage().nbytes() // made.element_size())
        return out


def test_no_tensor_holds_all_scores(monkeypatch):
    """Forwards and backwards, nothing is larger than a block of scores or the matrix; the plain loss is."""
    with Largest() as plain:
        solve(*problem())
    assert plain.elements >= N * VOCAB
    monkeypatch.setattr(loss, "BLOCK", 128 * N)
    with Largest() as blocks:
        solve(*problem())
    assert blocks.elements == max(128 * N, ROWS * D)


def test_a_uniform_model_is_uniform_in_blocks(monkeypatch):
    """All scores equal: each target costs the logarithm of the vocabulary."""
    monkeypatch.setattr(loss, "BLOCK", 64)
    x, _, targets, _ = problem()
    nats = loss.nats(x, torch.zeros(ROWS, D), targets.clamp(min=0), VOCAB)
    assert nats.tolist() == pytest.approx([math.log(VOCAB)] * N, rel=1e-6)


def test_blocks_follow_the_memory_of_the_card(monkeypatch):
    """32 rows of 1,024 tokens over GPT-2's vocabulary are 6 blocks on a card of 80 GB, 99 on the CPU, never below."""
    n_scores, cpu, card = 32 * 1024 * 50_257, torch.device("cpu"), torch.device("cuda")
    for memory, blocks in ((80e9, 6), (16e9, 27), (1e9, 99)):
        found = types.SimpleNamespace(total_memory=int(memory))
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _, found=found: found)
        assert math.ceil(n_scores / loss.block_of(card)) == blocks
        assert 4 * loss.block_of(card) <= max(memory / loss.SHARE, 4 * loss.BLOCK)
    assert loss.block_of(cpu) == loss.BLOCK
