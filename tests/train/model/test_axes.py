"""Every variant of the model obeys the same laws.

It is causal, packed rows equal separate ones, a cache equals a full pass, a batch can be learned, and what is declared
about sizes and operations is what torch counts.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train import GPT, ModelConfig, TrainConfig, checkpoint, lora, train  # noqa: E402
from dataprep.train.data.rows import Rows  # noqa: E402
from dataprep.train.data.sets import to_device  # noqa: E402
from dataprep.train.loss import token_nats_and_more  # noqa: E402
from dataprep.train.metrics import read  # noqa: E402
from dataprep.train.model import experts, masks, positions  # noqa: E402
from dataprep.train.model import running as linear  # noqa: E402
from dataprep.train.model.masks import Mask  # noqa: E402
from dataprep.train.optim import step_once  # noqa: E402
from dataprep.train.preference import settings_for  # noqa: E402
from dataprep.train.size import cached, flops_of, weights_of  # noqa: E402

VOCAB, T = 64, 24
VARIANTS = {
    "no positions": {"positions": "none"},
    "sinusoidal": {"positions": "sinusoidal"},
    "alibi": {"positions": "alibi", "n_heads": 6, "n_kv_heads": 3, "d_model": 48},
    "t5": {"positions": ("t5", "rope")},
    "yarn": {"rope_scaling": "yarn", "rope_factor": 4.0, "rope_base": 100.0},
    "ntk and linear": {"rope_scaling": ("ntk", "linear"), "rope_factor": 2.0},
    "alibi in a window with sinks": {"positions": "alibi", "pattern": "window", "reach": 4, "sinks": 2},
    "chunks": {"pattern": "chunk", "reach": 7, "sinks": 1},
    "dilated": {"pattern": "dilated,all", "reach": "9,None", "stride": (3, 1)},
    "latent": {"attention": "latent", "latent": 12},
    "latent in windows": {"attention": "latent", "latent": 10, "rotated_width": 6, "pattern": "window", "reach": 5},
    "latent and heads": {"attention": ("latent", "heads"), "latent": 10, "head_width": 2, "positions": ("rope", "t5")},
    "linear and heads": {"attention": ("linear", "heads"), "n_kv_heads": 2, "positions": "learned"},
    "linear": {"attention": "linear", "positions": "none", "qk_norm": True},
    "experts": {"experts": (4, 0), "d_ff": 16, "experts_shared": 1},
    "local and global layers": {"pattern": "window,all", "reach": 5, "rope_base": (1e4, 1e6)},
    "post": {"placement": "post", "norm": "layer", "biases": "all"},
    "both": {"placement": "both", "qk_norm": True, "embedding_norm": True, "head_width": 12, "softcap": 20.0},
    "parallel": {"parallel": (True, False), "biases": "qkv"},
    "two activations": {"feed_forward": ("relu2", "geglu"), "n_kv_heads": 1},
}


def shape(**more):
    """A small shape of two layers."""
    return ModelConfig(**{"n_layers": 2, "n_heads": 4, "d_model": 32, "context": T, **more})


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def model(request):
    """An untrained model whose scores differ enough to see a leak."""
    torch.manual_seed(0)
    made = GPT(shape(**request.param), VOCAB).eval()
    torch.nn.init.normal_(made.embedding.weight, std=0.5)
    return made


def ids(rows=3, length=T, seed=0):
    """Random ids."""
    return torch.randint(VOCAB, (rows, length), generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def test_the_future_changes_nothing(model):
    """Other ids from a place on move no score before it, and move one after it."""
    before, after = ids(), ids()
    after[:, 12:] = (after[:, 12:] + 1) % VOCAB
    a, b = model(before), model(after)
    assert torch.allclose(a[:, :12], b[:, :12], atol=1e-6)
    assert not torch.allclose(a[:, 12:], b[:, 12:], atol=1e-3)


@torch.no_grad()
def test_packed_scores_are_those_of_the_documents_alone(model):
    """In a row of three documents each gets the scores that it has by itself."""
    begins = torch.zeros(3, T, dtype=torch.bool)
    begins[:, [0, 11, 12]] = True
    packed = model(ids(), mask=Mask.of(begins, None))
    alone = torch.cat([model(piece) for piece in ids().split([11, 1, 12], dim=1)], dim=1)
    torch.testing.assert_close(packed, alone, atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_documents_that_are_read_in_full_are_those_alone(model):
    """As a masked language model reads them: packed equals separate, and an input sees what follows it."""
    if not model.config.has_scores:
        with pytest.raises(PlanError, match="which linear attention cannot read"):
            TrainConfig(model=model.config, objective="mlm")
        return
    begins, full = torch.zeros(3, T, dtype=torch.bool), torch.ones(3, T, dtype=torch.bool)
    begins[:, [0, 11, 12]] = True
    packed = model(ids(), mask=Mask.of(begins, full))
    pieces = ids().split([11, 1, 12], dim=1)
    alone = [model(piece, mask=Mask.of(None, full[:, : piece.shape[1]])) for piece in pieces]
    torch.testing.assert_close(packed, torch.cat(alone, dim=1), atol=2e-5, rtol=1e-4)
    assert not torch.allclose(model(ids())[:, 9], packed[:, 9], atol=1e-3)


@torch.no_grad()
@pytest.mark.parametrize("pieces", [[1] * T, [9, 1, 1, 8, 5]], ids=["one by one", "pieces"])
def test_a_cache_is_a_full_pass(model, pieces):
    """Ids given in pieces have the scores of one pass over all."""
    cache = model.cache(3)
    found = [model.hidden(p, slots=cache.take([0, 1, 2], [p.shape[1]] * 3)) for p in ids().split(pieces, dim=1)]
    torch.testing.assert_close(model.logits(torch.cat(found, dim=1)), model(ids()), atol=2e-5, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("more", [{"latent": 12}, {"latent": 4, "positions": "alibi"}], ids=str)
def test_latent_attention_decodes_without_its_keys(more, monkeypatch):
    """After a prompt, the projection to keys and values runs no more; the scores are those of a full pass."""
    torch.manual_seed(0)
    made = GPT(shape(attention="latent", **more), VOCAB).eval()
    cache, calls = made.cache(3), []
    found = [made.hidden(ids()[:, :9], slots=cache.take([0, 1, 2], [9] * 3))]
    for block in made.blocks:
        monkeypatch.setattr(block.attention.up, "forward", calls.append)
    found += [made.hidden(ids()[:, i : i + 1], slots=cache.take([0, 1, 2], [1] * 3)) for i in range(9, T)]
    monkeypatch.undo()
    torch.testing.assert_close(made.logits(torch.cat(found, dim=1)), made(ids()), atol=2e-5, rtol=1e-4)
    assert not calls


@torch.no_grad()
def test_rows_of_a_cache_have_their_own_lengths(model):
    """Prompts of unequal lengths, a row that is left out of a step and one that begins again: each as by itself."""
    x, cache = ids(), model.cache(3)
    for rows, spans in (
        ([0, 1, 2], [(0, 13), (0, 2), (0, 7)]), ([0, 2], [(13, 14), (7, 12)]),
        ([0, 1, 2], [(14, 20), (2, 3), (12, 13)]), (None, 2),
        ([1, 2], [(3, 4), (0, 9)]), ([0, 1, 2], [(20, 21), (4, 5), (9, 10)]),
    ):  # fmt: skip
        if rows is None:
            cache.clear(spans)
            continue
        new = [x[row, a:b] for row, (a, b) in zip(rows, spans, strict=True)]
        padded = torch.nn.utils.rnn.pad_sequence(new, batch_first=True)
        found = model.logits(model.hidden(padded, slots=cache.take(rows, [len(n) for n in new])))
        for i, (row, (a, b)) in enumerate(zip(rows, spans, strict=True)):
            torch.testing.assert_close(found[i, : b - a], model(x[row : row + 1, :b])[0, a:], atol=2e-5, rtol=1e-4)


@torch.no_grad()
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_block_masks_have_the_same_scores(model, monkeypatch):
    """FlexAttention, with blocks and biases, computes what the dense masks do, for documents with prefixes too."""
    begins, prefix = (torch.zeros(3, T, dtype=torch.bool) for _ in range(2))
    begins[:, [0, 11, 12]], prefix[:, [0, 1, 2, 12, 13]] = True, True
    dense = [model(ids()), model(ids(), mask=Mask.of(begins, prefix))]
    monkeypatch.setattr(masks, "_dense", masks._blocks)
    torch.testing.assert_close([model(ids()), model(ids(), mask=Mask.of(begins, prefix))], dense, atol=2e-5, rtol=1e-4)


def test_declared_sizes_are_those_of_the_model(model):
    """The weights that a file's config states, besides norms and scalars, and torch's count of operations."""
    small = [p.numel() for n, p in model.named_parameters() if p.ndim == 1]
    assert weights_of(model.config, VOCAB) == model.n_params - sum(small)
    unused = (model.head_weight.shape[0] - VOCAB) * model.config.d_model
    assert flops_of(model.config, VOCAB) == model.flops_per_token - 6 * unused
    x = ids(2)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        token_nats_and_more(model, x, x)[0].sum().backward()
    assert counter.get_total_flops() == model.flops_per_token * x.numel()


def test_a_batch_is_learned(model):
    """Forty steps on one batch, with gradients for every weight."""
    model.train()
    x, y = ids(2, seed=3), ids(2, seed=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(40):
        nats, more = token_nats_and_more(model, x, y)
        loss = nats.mean() if more is None else nats.mean() + more
        loss.backward()
        assert all(p.grad is not None for p in model.parameters())
        optimizer.step()
        optimizer.zero_grad()
        losses.append(nats.mean().item())
    assert losses[-1] < 0.2 * losses[0]


@torch.no_grad()
def test_low_rank_updates_reach_every_matrix(model):
    """Untrained ones change nothing; trained ones are merged to the same scores, with the same names of weights."""
    before, names = model(ids()), model.state_dict().keys()
    every = {name for rows in lora.projections(model.config.layer(0)).values() for name in rows}
    lora.add(model, TrainConfig(model=model.config, lora=2, lora_targets=tuple(sorted(every))))
    assert torch.equal(model(ids()), before)
    for *_, change in lora.changes(model):
        torch.nn.init.normal_(change.b, std=0.1)
    assert {name for block, _, name, _ in lora.changes(model) if block == 0} == every
    changed = model(ids())
    lora.merge(model)
    assert not torch.allclose(changed, before, atol=1e-3)
    torch.testing.assert_close(model(ids()), changed, atol=2e-5, rtol=1e-4)
    assert model.state_dict().keys() == names


def test_capped_losses_are_the_same_in_blocks(monkeypatch):
    """A part of the vocabulary at a time: the losses and gradients of torch's own cross entropy of capped scores."""
    torch.manual_seed(0)
    model, found = GPT(shape(softcap=2.0), VOCAB), []
    torch.nn.init.normal_(model.embedding.weight, std=0.5)
    for block in (1 << 24, 1000):
        monkeypatch.setattr("dataprep.train.loss.BLOCK", block)
        nats, _ = token_nats_and_more(model, ids(), ids(seed=1))
        nats.sum().backward()
        found.append((nats.detach(), {n: p.grad for n, p in model.named_parameters()}))
        model.zero_grad(set_to_none=True)
    torch.testing.assert_close(*found)
    assert model(ids()).abs().max() < 2


def test_dropout_is_seeded_by_the_step(shards, config, tmp_path):
    """A run that was stopped has the weights of one that was not; validation has no dropout."""
    config = replace(config, model=replace(config.model, dropout=0.3, attention_dropout=0.2), steps=6, save_every=3)
    train(shards, out=tmp_path / "a", config=config, quiet=True)
    train(shards, out=tmp_path / "b", config=config, stop_at=3, quiet=True)
    train(shards, out=tmp_path / "b", config=config, quiet=True)
    plain = replace(config, model=replace(config.model, dropout=0, attention_dropout=0))
    train(shards, out=tmp_path / "c", config=plain, quiet=True)
    a, b, c = (checkpoint.load(checkpoint.found(tmp_path / name)[-1])["model"] for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not torch.equal(a["embedding.weight"], c["embedding.weight"])
    first = [read(tmp_path / name / "metrics.jsonl")[0]["val_loss"] for name in "ac"]
    assert first[0] == first[1]
    with pytest.raises(PlanError, match=r"dpo compares the model with itself, .* set model.dropout=0"):
        settings_for(config, 0.1)


@torch.no_grad()
@pytest.mark.parametrize("chunk", [1, 5, 8, 64])
def test_linear_attention_is_its_sum_over_all_pairs(monkeypatch, chunk):
    """For documents of a row, against weights of all pairs; parts of a row give what the whole gives."""
    monkeypatch.setattr(linear, "CHUNK", chunk)
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.rand(2, 3, T, 4, generator=generator) for _ in range(3))
    v[..., -1] = 1
    first = torch.tensor([[0] * 9 + [9] * 2 + [11] * 13, [0] * T])
    pairs = (q @ k.transpose(2, 3)) * (first[:, None, :, None] == first[:, None, None]).tril()
    expected = (pairs @ v)[..., :-1] / pairs.sum(-1, keepdim=True)
    torch.testing.assert_close(linear.running(q, k, v, first, None)[0], expected)
    sums, found = torch.zeros(2, 3, 4, 4), []
    for a, b in ((0, 7), (7, 8), (8, T)):
        part = [x[:, :, a:b] for x in (q, k, v)]
        out, sums = linear.running(*part, torch.full((2, b - a), -1), sums)
        found.append(out)
    torch.testing.assert_close(torch.cat(found, 2)[1], expected[1])


def test_declared_operations_of_chunks_are_counted(monkeypatch):
    """Linear attention over several chunks: the count of its parts is torch's."""
    monkeypatch.setattr(linear, "CHUNK", 8)
    model = GPT(shape(attention="linear", positions="none"), VOCAB)
    with FlopCounterMode(display=False) as counter:
        token_nats_and_more(model, ids(), ids())[0].sum().backward()
    assert counter.get_total_flops() == model.flops_per_token * ids().numel()


@torch.no_grad()
def test_the_loss_of_equal_experts_is_its_constant():
    """With a router that prefers none, the balance is 1 and z the square of log(experts); one favourite costs more."""
    layer = experts.Experts(shape(experts=4, balance=1.0, router_z=0.0)).train()
    torch.nn.init.zeros_(layer.router.weight)
    x = torch.randn(1, 256, 32, generator=torch.Generator().manual_seed(0))
    assert float(layer(x)[1]) == pytest.approx(1, abs=1e-6)
    layer.config = shape(experts=4, balance=0.0, router_z=1.0)
    assert float(layer(x)[1]) == pytest.approx(math.log(4) ** 2, rel=1e-5)
    layer.config = shape(experts=4, balance=1.0, router_z=0.0)
    with torch.no_grad():
        layer.router.weight[0] += 10 * x.mean((0, 1))
    assert float(layer(x)[1]) > 1.0
    assert layer.eval()(x)[1] is None


@torch.no_grad()
def test_a_token_has_the_output_of_its_experts():
    """Against a loop over tokens: the two likeliest experts, weighted by their shares of both, and the shared one."""
    torch.manual_seed(0)
    layer = experts.Experts(shape(experts=5, experts_shared=1, d_ff=16)).eval()
    x = torch.randn(2, 7, 32)
    found = layer(x)[0]
    for row, place in ((0, 0), (0, 6), (1, 3)):
        token = x[row, place]
        share = (layer.router.weight @ token).softmax(0)
        best = share.argsort(descending=True)[:2]
        expected = layer.shared[0](token)[0]
        for i in best:
            expected = expected + share[i] / share[best].sum() * layer.experts[i](token)[0]
        torch.testing.assert_close(found[row, place], expected, atol=1e-5, rtol=1e-4)


def test_a_router_learns_from_a_single_expert():
    """Its probability is the weight of the output, so that the loss of tokens has a gradient for the router."""
    torch.manual_seed(0)
    model = GPT(shape(experts=4, experts_used=1, d_ff=16), VOCAB)
    token_nats_and_more(model, ids(), ids())[0].sum().backward()
    assert all(block.feed_forward.router.weight.grad.abs().max() > 1e-3 for block in model.blocks)


def test_losses_of_the_router_are_weighted_by_targets(config):
    """Two micro-batches with 20 targets and 4: each one's loss has this share of the gradient, besides the tokens'."""
    config = replace(config, model=shape(experts=4, balance=3.0), batch=2, micro_batch=1, clip=1e9)
    tokens, learn = ids(2, T + 1).numpy(), np.ones((2, T), np.bool_)
    learn[0, 20:], learn[1, 4:] = False, False
    models = []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(GPT(config.model, VOCAB).train())
    total = 0
    for i, n in enumerate((20, 4)):
        x, y, _ = to_device(Rows(tokens[i : i + 1], learn[i : i + 1]), torch.device("cpu"))
        nats, more = token_nats_and_more(models[0], x, y)
        total = total + nats.sum() / 24 + more * n / 24
    total.backward()
    expected = {n: p.grad for n, p in models[0].named_parameters()}
    optimizer, found = torch.optim.SGD(models[1].parameters(), lr=1.0), {}
    optimizer.register_step_pre_hook(lambda *_: found.update({n: p.grad for n, p in models[1].named_parameters()}))
    step_once(models[1], optimizer, Rows(tokens, learn), 1.0, config)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-4)


@pytest.mark.filterwarnings("ignore")  # of the compiler itself
def test_experts_are_trained_compiled(shards, config, tmp_path, monkeypatch):
    """The numbers of tokens of experts change in each step, and no shape is too many; losses are those without it."""
    real = torch.compile
    monkeypatch.setattr(torch, "compile", lambda f, **how: real(f, backend="eager", **how))
    monkeypatch.setattr("dataprep.train.compiled.SHAPES", 4)
    losses = []
    for name, compiled in (("a", True), ("b", False)):
        how = replace(config, model=replace(config.model, experts=4, d_ff=16), steps=8, compile=compiled)
        train(shards, out=tmp_path / name, config=how, quiet=True)
        losses.append([row["loss"] for row in read(tmp_path / name / "metrics.jsonl") if "loss" in row])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    torch.compiler.reset()


def seen(model, place):
    """The places whose scores change if the id at `place` does."""
    x = ids(1)
    other = x.clone()
    other[0, place] = (other[0, place] + 1) % VOCAB
    return ((model(x) - model(other)).abs().amax(-1)[0] > 1e-6).nonzero().flatten().tolist()


@torch.no_grad()
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"pattern": "window", "reach": 5}, [*range(4, 9)]),
        ({"pattern": "chunk", "reach": 6}, [4, 5]),
        ({"pattern": "dilated", "reach": 9, "stride": 4}, [4, 8, 12]),
        ({"pattern": "window", "reach": 5, "sinks": 5}, [*range(4, T)]),
        ({"pattern": "window", "reach": 5, "n_layers": 2}, [*range(4, 13)]),  # a layer sees what the one before saw
        ({"pattern": ("window", "all"), "reach": 5, "n_layers": 2}, [*range(4, T)]),
    ],
    ids=["window", "chunk", "dilated", "sinks", "two windows", "window and all"],
)
def test_a_pattern_reaches_as_far_as_it_says(more, expected):
    """One layer or two; the id at place 4 moves these places only."""
    torch.manual_seed(0)
    model = GPT(shape(**{"n_layers": 1, **more}), VOCAB).eval()
    assert seen(model, 4) == expected


def test_a_window_keeps_no_more_than_it_sees():
    """The store of a local layer has a slot for each token that it reaches, and its bytes are counted so."""
    config = shape(pattern="window,all", reach=5)
    local, whole = GPT(config, VOCAB).cache(2).layers
    assert [t.shape for t in (*local.kept, *whole.kept)] == [(2, 4, 5, 8)] * 2 + [(2, 4, T, 8)] * 2
    assert cached(config) == sum(t.numel() for store in (local, whole) for t in store.kept) / 2


@pytest.mark.parametrize(
    ("name", "layers", "heads", "width", "megabytes"),
    [("125M", 12, 12, 768, 36), ("350M", 24, 16, 1024, 96), ("760M", 24, 16, 1536, 144), ("2.7B", 32, 32, 2560, 320)],
)
def test_a_cache_has_the_bytes_of_gpt_3(name, layers, heads, width, megabytes):
    """In 16-bit numbers for 1,024 tokens, as published; those of 1.3B (288 MB) need 24 heads of 128 at width 2,048."""
    config = ModelConfig(n_layers=layers, n_heads=heads, d_model=width, context=1024)
    assert 2 * cached(config) == megabytes << 20, name
    odd = ModelConfig(n_layers=24, n_heads=24, d_model=2048, head_width=128, context=1024)
    assert 2 * cached(odd) == 288 << 20


def test_layers_have_their_values_in_turn():
    """Values of five layers and of a million; from the command line, and from JSON."""
    config = shape(n_layers=5, pattern="window,all", reach="4,None", rope_base=[1e4, 1e6])
    assert [layer.pattern for layer in map(config.layer, range(5))] == ["window", "all", "window", "all", "window"]
    assert [(layer.reach, layer.rope_base, n) for layer, n in config.kinds()] == [(4, 1e4, 3), (None, 1e6, 2)]
    many = shape(n_layers=1_000_001, positions=("rope", "none", "none"))
    assert [n for _, n in many.kinds()] == [333_334, 666_667]
    with torch.device("meta"):
        assert [b.config.pattern for b in GPT(config, VOCAB).blocks] == ["window", "all", "window", "all", "window"]


@torch.no_grad()
def test_scores_of_distances_are_those_of_the_papers():
    """ALiBi's slopes for 8 heads and for 6, and T5's buckets of some distances."""
    slopes = [positions.Alibi(shape(n_heads=n, head_width=4)).slopes.tolist() for n in (8, 6)]
    assert slopes[0] == [2**-i for i in range(1, 9)]
    assert slopes[1] == [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]
    buckets = positions.Buckets(shape(n_heads=1, d_model=2))
    buckets.weight[:, 0] = torch.arange(32)
    distance = torch.tensor([-3, 0, 1, 15, 16, 17, 20, 31, 32, 64, 100, 127, 128, 1000])
    found = buckets(torch.tensor(0), distance, torch.tensor(0)).tolist()
    assert found == [0, 0, 1, 15, 16, 16, 17, 21, 21, 26, 30, 31, 31, 31]


def test_scaled_rotations_are_what_they_say():
    """Linear: a quarter of the angle; NTK: the slowest pair alone has it; YaRN: fast pairs stay, slow ones have it."""

    def angles(scaling, width=16):
        config = shape(d_model=4 * width, context=256, rope_scaling=scaling, rope_factor=1 if scaling == "none" else 4)
        cos, sin = positions.Rope(config).table
        return torch.atan2(sin[1], cos[1]), (cos[1] ** 2 + sin[1] ** 2).sqrt()

    plain, _ = angles("none")
    torch.testing.assert_close(angles("linear")[0], plain / 4)
    ratio = (plain / angles("ntk")[0]).tolist()
    assert ratio == pytest.approx([4 ** (i / 7) for i in range(8)], rel=1e-4)
    yarn, length = angles("yarn")
    assert (plain / yarn)[[0, -1]].tolist() == pytest.approx([1, 4], rel=1e-4)
    assert length.tolist() == pytest.approx([0.1 * math.log(4) + 1] * 8)


def test_learned_scores_are_trained(shards, config, tmp_path):
    """A run with T5's positions and a window: its back end is named, and it learns."""
    how = replace(config, model=replace(config.model, positions=("t5", "alibi"), pattern="window", reach=8))
    result = train(shards, out=tmp_path, config=how, quiet=True)
    rows = read(tmp_path / "metrics.jsonl")
    assert {row["attention"] for row in rows if "loss" in row} == {"math"}
    assert result.val_loss < rows[0]["val_loss"] - 0.3
