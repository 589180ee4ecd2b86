import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dataprep.train import GPT, ModelConfig  # noqa: E402
from dataprep.train.data.layouts import layout_of  # noqa: E402
from dataprep.train.data.rows import IGNORE  # noqa: E402
from dataprep.train.data.sets import to_device  # noqa: E402
from dataprep.train.loss import token_nats  # noqa: E402
from dataprep.train.model import masks  # noqa: E402
from dataprep.train.model.masks import Mask  # noqa: E402

VOCAB = 97


@pytest.fixture(params=[None, 2], ids=["heads", "grouped"])
def model(request):
    """An untrained model whose scores differ enough to see a leak."""
    torch.manual_seed(0)
    made = GPT(ModelConfig(n_layers=2, n_heads=4, n_kv_heads=request.param, d_model=32, context=24), VOCAB).eval()
    torch.nn.init.normal_(made.embedding.weight, std=0.5)
    return made


def flags(*places, rows=1, length=24):
    """Flags (rows, length), set at these places of each row."""
    made = torch.zeros(rows, length, dtype=torch.bool)
    made[:, list(places)] = True
    return made


@torch.no_grad()
def test_packed_scores_are_those_of_the_documents_alone(model):
    """In a row of three documents each gets the scores that it has by itself, at positions of its own."""
    x = torch.randint(VOCAB, (2, 24), generator=torch.Generator().manual_seed(0))
    packed = model(x, mask=Mask.of(flags(0, 7, 8, rows=2), None))
    alone = torch.cat([model(piece) for piece in x.split([7, 1, 16], dim=1)], dim=1)
    torch.testing.assert_close(packed, alone, atol=1e-5, rtol=1e-5)
    assert (packed - model(x)).abs().max() > 0.1


@torch.no_grad()
def test_packed_losses_are_those_of_the_documents_alone(model, in_memory):
    """From shards to losses: each document's sum, rests of long ones included, is the one of its own padded row."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 70, 30)
    shards = in_memory(lengths, [10, 20], eot=96, separators=True)
    for tokens in shards.memmaps():
        tokens[tokens != 96] %= 96
    sums = {}
    for how in ("bestfit", "padded"):
        layout = layout_of(shards, how, 24)
        rows = layout.rows(np.arange(len(layout)))
        x, y, mask = to_device(rows, torch.device("cpu"))
        losses = token_nats(model, x, y, mask).numpy()
        document = rows.begins.cumsum() - 1
        of_piece = np.bincount(document, losses.reshape(-1))
        sums[how] = dict(zip(layout.plan.start.tolist(), of_piece, strict=True))
        assert (y != IGNORE).sum() == lengths.sum()
    assert len(sums["bestfit"]) > len(layout_of(shards, "bestfit", 24))
    assert sums["bestfit"] == pytest.approx(sums["padded"], rel=1e-4)


RULES = {"causal": ((), ()), "documents": ((0, 9, 17), ()), "prefix": ((), range(5)),
         "prefixes of documents": ((0, 9, 17), (*range(4), 9, 10, 11))}  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("positions", ["rope", "learned"])
@pytest.mark.parametrize("rule", RULES)
def test_an_input_moves_only_what_may_see_it(rule, positions):
    """For every rule and kind of positions: a change at any place moves no score before it, except in its prefix."""
    torch.manual_seed(0)
    model = GPT(ModelConfig(n_layers=2, n_heads=4, d_model=32, context=24, positions=positions), VOCAB).eval()
    torch.nn.init.normal_(model.embedding.weight, std=0.5)
    begins, prefix = (flags(*places) for places in RULES[rule])
    mask = None if rule == "causal" else Mask.of(begins if begins.any() else None, prefix if prefix.any() else None)
    document, prefix = begins[0].cumsum(0).tolist(), prefix[0].tolist()
    x = torch.randint(VOCAB, (1, 24), generator=torch.Generator().manual_seed(1)).repeat(25, 1)
    for place in range(24):
        x[place, place] = (x[place, place] + 1) % VOCAB
    if mask is not None:
        mask = Mask(mask.position.expand(25, -1), mask.allowed.expand(25, -1, -1, -1))
    scores = model(x, mask=mask)
    moved = (scores - scores[-1]).abs().amax(-1) > 1e-6
    for k in range(24):
        seen = [document[q] == document[k] and (k <= q or (prefix[q] and prefix[k])) for q in range(24)]
        assert moved[k].tolist() == seen, k


def test_the_mask_is_what_the_rule_says():
    """Every pair, against the rule written out in loops."""
    rng = np.random.default_rng(0)
    begins, prefix = rng.random((4, 16)) < 0.2, rng.random((4, 16)) < 0.5
    mask = Mask.of(torch.from_numpy(begins), torch.from_numpy(prefix))
    for row in range(4):
        document = np.cumsum(np.where(np.arange(16) == 0, 0, begins[row]))
        for q in range(16):
            first = np.flatnonzero(document == document[q])[0]
            assert mask.position[row, q] == q - first
            for k in range(16):
                seen = document[q] == document[k] and (k <= q or (prefix[row, q] and prefix[row, k]))
                assert bool(mask.allowed[row, 0, q, k]) == seen


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_block_masks_say_the_same():
    """FlexAttention's form of the mask, made where it can be made, allows what the dense one allows."""
    flex = pytest.importorskip("torch.nn.attention.flex_attention")

    begins, prefix = flags(0, 50, 90, rows=2, length=128), flags(*range(20), *range(50, 60), rows=2, length=128)
    dense = Mask.of(begins, prefix).allowed
    first = (torch.arange(128) * begins).cummax(1).values
    blocks = masks._blocks(first, prefix)
    q = k = v = torch.randn(2, 1, 128, 16, generator=torch.Generator().manual_seed(0))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=dense)
    assert isinstance(blocks, flex.BlockMask)
    with torch.no_grad():
        pairs = flex.create_mask(blocks.mask_mod, 2, None, 128, 128, device="cpu")
        torch.testing.assert_close(flex.flex_attention(q, k, v, block_mask=blocks), expected)
    assert torch.equal(pairs, dense)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_dropped_weights_of_attention_are_those_of_a_plain_twin(masked, biased):
    """The same seed, softmax, dropout and product; each weight that is left is larger by what was dropped."""
    torch.manual_seed(1)
    q, k, v = torch.randn(3, 2, 4, 12, 8).unbind()
    allowed = torch.rand(2, 1, 12, 12) < 0.7 if masked else None
    seen = torch.ones(12, 12, dtype=torch.bool).tril() if allowed is None else allowed | torch.eye(12, dtype=torch.bool)
    scores = q @ k.transpose(2, 3) / 8**0.5 + (0.1 * torch.arange(4.0)[:, None, None] if biased else 0)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    bias = (lambda head, q, k: 0.1 * head + 0 * (q - k)) if biased else None
    torch.manual_seed(2)
    expected = torch.nn.functional.dropout(weights, 0.3) @ v
    torch.manual_seed(2)
    found = masks.attend(q, k, v, None if allowed is None else seen, bias, None, 0.3)
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, weights @ v, atol=0.1)
