import importlib.util
import itertools
import math
from dataclasses import asdict

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train import GPT, PRESETS, ModelConfig, preset  # noqa: E402
from dataprep.train.data.rows import IGNORE  # noqa: E402
from dataprep.train.loss import token_nats  # noqa: E402
from dataprep.train.model.positions import rope_table, rotate  # noqa: E402

VOCAB = 97
SHAPES = {
    "heads": ModelConfig(n_layers=2, n_heads=4, d_model=32, context=24),
    "grouped": ModelConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, context=24),
    "one kv head": ModelConfig(n_layers=2, n_heads=4, n_kv_heads=1, d_model=32, context=24),
    "untied": ModelConfig(n_layers=2, n_heads=4, d_model=32, context=24, tied=False, norm_eps=1e-6),
    "nanogpt": ModelConfig(
        n_layers=2, n_heads=4, d_model=32, context=24, positions="learned", norm="layer", feed_forward="gelu"
    ),
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def model(request):
    """An untrained model."""
    torch.manual_seed(0)
    return GPT(request.param, VOCAB).eval()


def ids(batch=3, length=24, seed=0):
    """Random ids."""
    return torch.randint(VOCAB, (batch, length), generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def test_the_future_changes_nothing(model):
    """Other ids from place t on move no score before t, and do move those after."""
    before = ids()
    for t in (1, 12, 23):
        after = before.clone()
        after[:, t:] = (after[:, t:] + 1) % VOCAB
        a, b = model(before), model(after)
        assert torch.equal(a[:, :t], b[:, :t])
        assert not torch.equal(a[:, t:], b[:, t:])


@torch.no_grad()
def test_an_untrained_model_knows_nothing(model):
    """Its loss is about the logarithm of the vocabulary, of which padding is no part."""
    x = ids(64)
    loss = token_nats(model, x[:, :-1], x[:, 1:]).mean().item()
    assert abs(loss - math.log(VOCAB)) < 0.1
    assert model(x).shape == (64, 24, VOCAB)
    assert model.embedding.weight.shape == (128, 32)


@torch.no_grad()
def test_ignored_targets_cost_nothing(model):
    """A masked target has loss 0 and no other loss moves."""
    x, y = ids(), ids(seed=1)
    full = token_nats(model, x, y)
    y[1, :5] = IGNORE
    masked = token_nats(model, x, y)
    assert masked[1, :5].tolist() == [0] * 5
    masked[1, :5] = full[1, :5]
    assert torch.equal(masked, full)


@torch.no_grad()
@pytest.mark.parametrize("pieces", [[1] * 24, [24], [10, 1, 1, 7, 5]])
def test_cached_scores_are_those_of_a_full_pass(model, pieces):
    """Feeding the ids in pieces through the cache gives the scores of one pass over all of them."""
    x = ids()
    cache = model.cache(3)
    streams = [model.hidden(p, slots=cache.take([0, 1, 2], [p.shape[1]] * 3)) for p in x.split(pieces, dim=1)]
    cached = model.logits(torch.cat(streams, dim=1))
    torch.testing.assert_close(cached, model(x), atol=1e-5, rtol=1e-5)


def test_rotary_scores_depend_on_distance_only():
    """The product of two turned vectors is the same wherever both are moved to; position 0 turns nothing."""
    rope = rope_table(24, 8, 10_000.0)
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    turned_q, turned_k = (rotate(v.expand(1, 1, 24, 8), rope)[0, 0] for v in (q, k))
    products = turned_q @ turned_k.T
    for distance in (0, 3, 11):
        diagonal = products.diagonal(-distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(turned_q[0], q)


@torch.no_grad()
def test_bfloat16_is_close(model):
    """Activations in bfloat16 move the scores by its rounding, not more; the weights stay float32."""
    x = ids()
    exact = model(x)
    model.compute_dtype = torch.bfloat16
    assert model(x).dtype == torch.float32
    assert (model(x) - exact).abs().max() < 0.03 * exact.abs().max()
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_the_nanogpt_shape_is_the_plain_model(root):
    """With learned positions, LayerNorm and GELU, scores and loss are those of the plain loop's model."""
    spec = importlib.util.spec_from_file_location("bench_shakespeare", root / "benchmarks" / "bench_shakespeare.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    model = GPT(SHAPES["nanogpt"], VOCAB)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    plain = bench.PlainGPT(VOCAB, SHAPES["nanogpt"])
    names = {
        "embedding": "tokens", "positions": "positions", "norm": "norm", "norm_1": "ln_1", "norm_2": "ln_2",
        "attention.qkv": "attn", "attention.out": "proj", "feed_forward.up": "mlp.0", "feed_forward.down": "mlp.2",
    }  # fmt: skip
    state = {}
    for name, weight in model.state_dict().items():
        layer = name.removesuffix(".weight")
        home = layer[: len("blocks.0.")] if layer.startswith("blocks.") else ""
        state[f"{home}{names[layer.removeprefix(home)]}.weight"] = weight[:VOCAB] if layer == "embedding" else weight
    plain.load_state_dict({**state, "head.weight": state["tokens.weight"]})
    x = ids()
    loss = token_nats(model, x[:, :-1], x[:, 1:]).mean()
    torch.testing.assert_close(loss, plain(x[:, :-1], x[:, 1:]), rtol=1e-5, atol=1e-5)
    loss.backward()
    plain(x[:, :-1], x[:, 1:]).backward()
    torch.testing.assert_close(model.positions.weight.grad, plain.positions.weight.grad, rtol=1e-3, atol=1e-5)


GPT2 = {"positions": "learned", "norm": "layer", "feed_forward": "gelu"}


@pytest.mark.parametrize("parts", [{"tied": True}, {"tied": False}, GPT2], ids=["tied", "untied", "gpt2"])
def test_flops_are_those_that_torch_counts(parts):
    """The closed form is what torch counts for one pass forward and back, attention in plain products."""
    model = GPT(ModelConfig(n_layers=2, n_heads=4, d_model=64, context=32, **parts), 128)
    x = ids(2, 32)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        token_nats(model, x, x).sum().backward()
    assert counter.get_total_flops() == model.flops_per_token * x.numel()


def test_presets_have_the_size_of_their_name():
    """Parameters with GPT-2's vocabulary for the larger ones, and 16k ids for the small ones; heads are 128 wide."""
    with torch.device("meta"):
        sizes = {n: GPT(preset(n).model, 50257).n_params / 1e6 for n in ("gpt2-124m", "350m", "774m")}
        sizes |= {n: GPT(preset(n).model, 16_394).n_params / 1e6 for n in ("11m", "42m")}
        assert all(GPT(preset(n).model, 1000).n_params > 1e4 for n in PRESETS)
        course = {n: GPT(preset(n).model, 16_394).n_params / 1e6 for n in ("course-phase0", "bodmagh-42m")}
        course |= {"darija-11m": GPT(preset("darija-11m").model, 1032).n_params / 1e6}
    for name, millions in sizes.items():
        said = float(name.removeprefix("gpt2-").removesuffix("m"))
        assert abs(millions / said - 1) < 0.12, (name, millions)
        assert preset(name).model.d_head == (64 if name == "gpt2-124m" else 128)
    assert course == pytest.approx({"course-phase0": 11.83, "bodmagh-42m": 42.54, "darija-11m": 11.53}, rel=0.01)


def test_each_phase_of_the_course_changes_one_part():
    """From learned positions and heads to the last, whose parts are those that the course ends with."""
    shapes = [asdict(preset(f"course-phase{n}").model) for n in range(6)]
    changed = [{k: v for k, v in b.items() if v != a[k]} for a, b in itertools.pairwise(shapes)]
    assert changed == [
        {"attention": "latent", "latent": 64}, {"positions": "rope"}, {"placement": "post"},
        {"feed_forward": "swiglu"}, {"dropout": 0.0},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ({"d_model": 30, "n_heads": 4}, "make d_model a multiple of 8"),
        ({"n_heads": 4, "n_kv_heads": 3}, "n_heads=4 must be a multiple of n_kv_heads=3"),
        ({"n_layers": 0}, "n_layers=0 must be a whole number above 0"),
        ({"context": 1.5}, "context=1.5"),
        ({"tied": 1}, "tied=1 must be True or False"),
        ({"positions": "absolute"}, "positions='absolute' must be rope, learned"),
        ({"norm": []}, r"norm=\[\] must be rms or layer"),
        ({"feed_forward": None}, "feed_forward=None must be swiglu, gelu"),
        ({"norm_eps": 0}, "norm_eps=0 must be a number from 1e-12 to 0.1"),
    ],
)
def test_impossible_shapes_are_refused(shape, sentence):
    """A shape that cannot be built is refused when it is written down."""
    with pytest.raises(PlanError, match=sentence):
        ModelConfig(**shape)
