"""QLoRA: frozen matrices in NF4, whose products and gradients are those of the decoded matrix."""

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train import GPT, ModelConfig, TrainConfig, checkpoint, load_model, lora, train  # noqa: E402
from dataprep.train.loss import token_nats  # noqa: E402
from dataprep.train.model.nf4 import BLOCK, NF4, VALUES, decode, encode  # noqa: E402
from runs import assert_same_run  # noqa: E402

SHAPE = ModelConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, context=24)
TUNING = TrainConfig(model=SHAPE, lora=3, lora_base="nf4")


def plainly(weight):
    """The slow twin: each weight by itself, in Python."""
    flat, found = weight.flatten().tolist(), []
    for start in range(0, len(flat), BLOCK):
        block = flat[start : start + BLOCK]
        largest = float(torch.tensor(max(1e-30, *map(abs, block))).bfloat16())
        found += [min(VALUES, key=lambda v, w=w, d=largest: abs(w / d - v)) * largest for w in block]
    return torch.tensor(found).view_as(weight)


@pytest.mark.parametrize("shape", [(32, 32), (3, 50), (7, 2), (128, 96)])
def test_every_weight_becomes_the_nearest_value(shape):
    """Of the 16 of its block; also in a last block that is not full, and in one of zeros."""
    torch.manual_seed(0)
    weight = torch.randn(shape) * 0.02
    weight[0] = 0
    packed = NF4(weight)
    torch.testing.assert_close(packed.decoded(), plainly(weight), atol=1e-9, rtol=1e-6)
    assert packed.numel == weight.numel()
    again = NF4(packed.decoded())
    torch.testing.assert_close(again.decoded(), packed.decoded(), atol=1e-9, rtol=0.01)


def test_a_weight_takes_4_25_bits():
    """0.53 bytes, and the error of normal weights is a tenth of their size."""
    torch.manual_seed(0)
    weight = torch.randn(1024, 256)
    codes, divisors = encode(weight)
    assert (codes.nbytes + divisors.nbytes) * 8 / weight.numel() == 4.25
    rms = (decode(codes, divisors, torch.tensor(VALUES), 1024, 256, torch.float32) - weight).square().mean().sqrt()
    assert 0.05 < rms < 0.11


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_products_and_gradients_are_those_of_the_decoded_matrix(dtype):
    """Bit for bit, and torch's own checks of an operation pass."""
    torch.manual_seed(0)
    packed, x = NF4(torch.randn(48, 32)), torch.randn(2, 5, 32, dtype=dtype)
    a, b = (x.clone().requires_grad_() for _ in range(2))
    y, z = packed(a), torch.nn.functional.linear(b, packed.decoded(dtype))
    assert torch.equal(y, z)
    assert y.dtype == dtype
    slope = torch.randn_like(y)
    y.backward(slope)
    z.backward(slope)
    assert torch.equal(a.grad, b.grad)
    given = (x.requires_grad_(), packed.codes, packed.divisors, packed.values, 48, 32)
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(torch.ops.dataprep.nf4_product.default, given, test_utils=checks)


def made(*, packed, **more):
    """A model with random changes, of frozen matrices in NF4, or of what these decode to (the twin)."""
    torch.manual_seed(0)
    config = replace(TUNING, **more)
    model = GPT(SHAPE, 97)
    lora.add(model, config)
    for *_, change in lora.changes(model):
        torch.nn.init.normal_(change.b, std=0.1)
    if packed:
        return model
    for layer in model.modules():
        if isinstance(layer, lora.Adapted):
            layer.weight = torch.nn.Parameter(layer.packed.decoded(), requires_grad=False)
            layer.packed = None
    return model


def ids():
    """Random ids."""
    return torch.randint(97, (3, 24), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("more", [{}, {"lora_targets": ("q_proj",)}, {"lora_dropout": 0.3}], ids=str)
def test_losses_and_gradients_are_those_of_a_twin_that_decodes(more):
    """Bit for bit; a layer without a change of its own is packed too."""
    model, twin = made(packed=True, **more), made(packed=False, **more)
    found = []
    for each in (model, twin):
        torch.manual_seed(1)
        nats = token_nats(each, ids(), ids())
        nats.sum().backward()
        found.append((nats.detach(), {n: p.grad for n, p in each.named_parameters() if p.grad is not None}))
    assert torch.equal(found[0][0], found[1][0])
    assert found[0][1].keys() == found[1][1].keys()
    assert all(torch.equal(g, found[1][1][n]) for n, g in found[0][1].items())
    assert sum(isinstance(m, NF4) for m in model.modules()) == 4 * SHAPE.n_layers
    assert model.n_params == twin.n_params
    assert model.flops_per_token == twin.flops_per_token


def test_no_decoded_matrix_is_kept_for_the_gradient():
    """A forward pass stores no tensor of the size of a matrix, as it does if it decodes before the product."""

    def kept(model):
        shapes = {layer.weight.shape for layer in made(packed=False).modules() if isinstance(layer, lora.Adapted)}
        found = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: found.append(t.detach()) or t, lambda t: t):
            model.hidden(ids())
        return [t for t in found if {t.shape, t.shape[::-1]} & shapes]

    assert not kept(made(packed=True))
    assert kept(made(packed=False))


@torch.no_grad()
def test_a_merged_model_has_the_decoded_weights_and_the_changes():
    """Ordinary layers with the same scores to rounding."""
    model = made(packed=True, lora_alpha=5.0).eval()
    before, twin = model(ids()), copy.deepcopy(model)
    lora.merge(model)
    torch.testing.assert_close(model(ids()), before, atol=1e-5, rtol=1e-5)
    assert model.state_dict().keys() == GPT(SHAPE, 97).state_dict().keys()
    with lora.without(twin):
        assert not torch.allclose(twin(ids()), before, atol=1e-3)


@pytest.fixture(scope="module")
def base(shards, config, tmp_path_factory):
    """A trained model to adapt."""
    out = tmp_path_factory.mktemp("base")
    train(shards, out=out, config=config, quiet=True)
    return out


def test_a_run_learns_resumes_and_merges(make_shards, base, config, tmp_path):
    """On other data the loss falls; stopped and resumed, it is the same run; the checkpoint holds codes."""
    other = make_shards(tmp_path / "other", seed=9)
    tuning = replace(config, lora=4, lora_base="nf4", lr=2e-2, layout="bestfit", steps=30)
    whole = train(other, out=tmp_path / "whole", config=tuning, init_from=base, quiet=True)
    train(other, out=tmp_path / "parts", config=tuning, init_from=base, stop_at=11, quiet=True)
    train(other, out=tmp_path / "parts", config=tuning, quiet=True)
    assert_same_run(tmp_path / "whole", tmp_path / "parts")
    still = train(other, out=tmp_path / "still", config=replace(tuning, lr=1e-12), init_from=base, quiet=True)
    assert whole.val_loss < still.val_loss - 0.02
    saved = checkpoint.load(checkpoint.found(tmp_path / "whole")[-1])["model"]
    assert {t.dtype for n, t in saved.items() if n.endswith("codes")} == {torch.uint8}
    assert not [n for n in saved if n.startswith("blocks") and n.endswith("attention.qkv.weight")]
    merged, _ = load_model(tmp_path / "whole")
    apart, _ = load_model(tmp_path / "whole", merge=False)
    torch.testing.assert_close(merged(ids()), apart(ids()), atol=1e-5, rtol=1e-5)
    assert {p.dtype for p in merged.parameters()} == {torch.float32}
    full = replace(tuning, lora=None, lora_base="plain", steps=1, lr=1e-12)
    train(other, out=tmp_path / "full", config=full, init_from=tmp_path / "whole", quiet=True)
    torch.testing.assert_close(load_model(tmp_path / "full")[0](ids()), merged(ids()))


def test_a_base_in_nf4_needs_a_rank(shards, base, config, tmp_path):
    """One sentence, before any work."""
    with pytest.raises(PlanError, match=r"lora_base='nf4' holds the frozen weights of LoRA: set lora=RANK"):
        train(shards, out=tmp_path / "a", config=replace(config, lora_base="nf4"), init_from=base, quiet=True)
    assert not (tmp_path / "a").exists()
    with pytest.raises(PlanError, match="lora_base='int8' must be one of plain, nf4"):
        replace(config, lora_base="int8")


@pytest.mark.filterwarnings("ignore")  # of the compiler itself
def test_a_compiled_model_computes_the_same():
    """Scores and gradients, traced as torch's own compiler traces them, without its kernels."""
    model = made(packed=True)
    token_nats(model, ids(), ids()).sum().backward()
    expected = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    model.stream = torch.compile(model.stream, dynamic=False, fullgraph=True, backend="aot_eager")
    token_nats(model, ids(), ids()).sum().backward()
    for name, p in model.named_parameters():
        if p.grad is not None:
            torch.testing.assert_close(p.grad, expected[name], atol=1e-4, rtol=1e-4)
    torch.compiler.reset()
