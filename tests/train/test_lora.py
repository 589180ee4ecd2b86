"""LoRA: the identity at the start, one matrix after merging, and only the changes are trained."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError, StaleOutput  # noqa: E402
from dataprep.train import GPT, ModelConfig, TrainConfig, checkpoint, load_model, lora, train  # noqa: E402
from dataprep.train.config import PROJECTIONS  # noqa: E402
from dataprep.train.loss import token_nats  # noqa: E402

SHAPE = ModelConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, context=24)


def made(*, untrained=False, **settings):
    """A model with random changes, or with untrained ones."""
    torch.manual_seed(0)
    model = GPT(SHAPE, 97)
    lora.add(model, TrainConfig(model=SHAPE, lora=3, **settings))
    for *_, change in () if untrained else lora.changes(model):
        torch.nn.init.normal_(change.b, std=0.1)
    return model


def ids(rows=3):
    """Random ids."""
    return torch.randint(97, (rows, 24), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def test_untrained_changes_change_nothing():
    """The scores are those of the model without them, bit for bit, in training too."""
    torch.manual_seed(0)
    plain = GPT(SHAPE, 97)(ids())
    model = made(untrained=True, lora_dropout=0.5)
    assert torch.equal(model.train()(ids()), plain)
    assert not torch.equal(made()(ids()), plain)


@torch.no_grad()
@pytest.mark.parametrize("targets", [PROJECTIONS, ("q_proj", "v_proj"), ("up_proj",)], ids="-".join)
def test_merged_scores_are_those_of_the_changes(targets):
    """The merged model has ordinary layers under the same names, and the same scores to rounding."""
    model = made(lora_targets=targets, lora_alpha=5.0).eval()
    before = model(ids())
    lora.merge(model)
    torch.testing.assert_close(model(ids()), before, atol=1e-5, rtol=1e-5)
    assert model.state_dict().keys() == GPT(SHAPE, 97).state_dict().keys()
    assert all(p.requires_grad for p in model.parameters())


@torch.no_grad()
def test_gelu_has_no_gate():
    """Its feed-forward layer has two matrices, and both are changed and merged."""
    shape = replace(SHAPE, feed_forward="gelu")
    model = GPT(shape, 97).eval()
    before = model(ids())
    lora.add(model, TrainConfig(model=shape, lora=3))
    assert torch.equal(model(ids()), before)
    named = [name for block, _, name, _ in lora.changes(model) if block == 0]
    assert named == [name for name in PROJECTIONS if name != "gate_proj"]
    for *_, change in lora.changes(model):
        torch.nn.init.normal_(change.b, std=0.1)
    changed = model(ids())
    lora.merge(model)
    assert not torch.allclose(changed, before, atol=1e-3)
    torch.testing.assert_close(model(ids()), changed, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_change_is_of_the_named_rows_only():
    """The weight of a fused layer plus scale * b @ a in the rows of the projection, and nowhere else."""
    model = made(lora_targets=("k_proj",), lora_alpha=6.0)
    torch.manual_seed(0)
    difference = GPT(SHAPE, 97).state_dict()
    found = list(lora.changes(model))
    assert [(n, path, name) for n, path, name, _ in found] == [(n, "attention.qkv", "k_proj") for n in range(2)]
    lora.merge(model)
    for n, path, _, change in found:
        name = f"blocks.{n}.{path}.weight"
        moved = model.state_dict()[name] - difference[name]
        torch.testing.assert_close(moved[32:48], 2.0 * change.b @ change.a, atol=1e-6, rtol=1e-4)
        assert not moved[:32].any()
        assert not moved[48:].any()


def test_only_the_changes_have_gradients():
    """Weights, embedding and norms are frozen; a long vocabulary computes no gradient for its matrix."""
    model = made()
    token_nats(model, ids(), ids()).sum().backward()
    trained = {n for n, p in model.named_parameters() if p.grad is not None}
    assert trained == {n for n, p in model.named_parameters() if ".changes." in n}
    assert len(trained) == 2 * 2 * len(PROJECTIONS)


def test_frozen_weights_cost_no_gradient():
    """Fewer operations are counted than for full training."""
    assert made().flops_per_token < GPT(SHAPE, 97).flops_per_token * 1.1
    assert made().flops_per_token > GPT(SHAPE, 97).flops_per_token * 0.6


def test_dropout_is_for_training_only():
    """In training two passes differ; in evaluation they are equal."""
    model = made(lora_dropout=0.5)
    assert not torch.equal(model.train()(ids()), model(ids()))
    assert torch.equal(model.eval()(ids()), model(ids()))


@pytest.fixture(scope="module")
def base(shards, config, tmp_path_factory):
    """A trained model to adapt."""
    out = tmp_path_factory.mktemp("base")
    train(shards, out=out, config=config, quiet=True)
    return out


@pytest.fixture(scope="module")
def tuning(config):
    """Settings of an adaptation with all of LoRA's options."""
    return replace(config, lora=4, lora_dropout=0.2, lr=2e-2, layout="bestfit", steps=30, lora_targets=PROJECTIONS[:6])


def test_a_run_trains_changes_and_resumes_bit_for_bit(make_shards, base, tuning, tmp_path):
    """Stopped and resumed it is the same run; the base's weights are in it unchanged, and the merged loss is lower."""
    other = make_shards(tmp_path / "other", seed=9)
    whole = train(other, out=tmp_path / "whole", config=tuning, init_from=base, quiet=True)
    train(other, out=tmp_path / "parts", config=tuning, init_from=base, stop_at=11, quiet=True)
    train(other, out=tmp_path / "parts", config=tuning, quiet=True)  # the base need not be named again
    contents = [checkpoint.load(checkpoint.found(tmp_path / n)[-1]) for n in ("whole", "parts")]
    assert all(torch.equal(v, contents[1]["model"][n]) for n, v in contents[0]["model"].items())
    started = load_model(base)[0].state_dict()
    assert all(torch.equal(v, contents[0]["model"][n]) for n, v in started.items())
    moments = contents[0]["optimizer"]["state"]
    assert len(moments) == 2 * 2 * 6
    still = train(other, out=tmp_path / "still", config=replace(tuning, lr=1e-12), init_from=base, quiet=True)
    assert whole.val_loss < still.val_loss - 0.02


def test_a_loaded_run_is_merged(make_shards, base, tuning, tmp_path):
    """`load_model` has ordinary layers, whose scores are those of the changes; it can be trained on in full."""
    other = make_shards(tmp_path / "other", seed=9)
    train(other, out=tmp_path / "tuned", config=tuning, init_from=base, quiet=True)
    merged, _ = load_model(tmp_path / "tuned")
    apart, _ = load_model(tmp_path / "tuned", merge=False)
    x = ids()[:, :24]
    torch.testing.assert_close(merged(x), apart(x), atol=1e-5, rtol=1e-5)
    assert (merged(x) - load_model(base)[0](x)).abs().max() > 0.01
    full = replace(tuning, lora=None, steps=1, lr=1e-12)
    train(other, out=tmp_path / "full", config=full, init_from=tmp_path / "tuned", quiet=True)
    torch.testing.assert_close(load_model(tmp_path / "full")[0](x), merged(x))


def test_mistakes_are_one_sentence(shards, base, tuning, tmp_path):
    """No base, another rank in the same folder, and settings that cannot be."""
    with pytest.raises(PlanError, match="lora=4 needs a trained model: name it with init_from"):
        train(shards, out=tmp_path / "none", config=tuning, quiet=True)
    assert not (tmp_path / "none").exists()
    short = replace(tuning, steps=1)
    assert train(shards, out=tmp_path / "a", config=replace(short, lora=None), lora=2, init_from=base, quiet=True)
    with pytest.raises(StaleOutput, match="lora was 2, is 3"):
        train(shards, out=tmp_path / "a", config=short, lora=3, init_from=base, quiet=True)
    for setting, sentence in (
        ("lora=0", "lora=0 must be a whole number above 0"),
        ("lora_targets=q_proj,qkv", r"lora_targets=\('q_proj', 'qkv'\) must be one or more of q_proj"),
        ("lora_dropout=1", "lora_dropout=1 must be a number from 0 to 0.99"),
        ("lora_alpha=-1", "lora_alpha=-1 must be a number from 1e-06"),
        ("lora_targets=[[1]]", r"lora_targets=\(\[1\],\) must be one or more of q_proj"),
    ):
        with pytest.raises(PlanError, match=sentence):
            TrainConfig().override(setting)
    with pytest.raises(PlanError, match="lora=100000 must be at most 32, the largest rank"):
        train(shards, out=tmp_path / "b", config=tuning, lora=100_000, init_from=base, quiet=True)
    gelu = replace(tuning, model=replace(tuning.model, feed_forward="gelu"), lora_targets=("gate_proj",))
    with pytest.raises(PlanError, match="lora_targets=gate_proj must name a matrix that this model has: q_proj"):
        lora.check(gelu)
    for name in PROJECTIONS:
        shape, smallest = tuning.model, {"k_proj": 16, "v_proj": 16}.get(name, 32)
        lora.check(TrainConfig(model=shape, lora=smallest, lora_targets=(name,)))
        with pytest.raises(PlanError, match=f"must be at most {smallest}"):
            lora.check(TrainConfig(model=shape, lora=smallest + 1, lora_targets=(name,)))
    assert TrainConfig().override("lora_targets=q_proj,v_proj").lora_targets == ("q_proj", "v_proj")


def held(model):
    """Bytes per frozen weight: the weights, and copies of them that a forward pass stores for the gradient."""
    sizes = {p.numel() for p in model.parameters() if not p.requires_grad and p.ndim == 2}
    found = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes()
             for p in model.parameters() if not p.requires_grad}  # fmt: skip

    def note(tensor):
        if tensor.numel() in sizes:
            found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        nats = token_nats(model, ids(2), ids(2))
    nats.sum().backward()
    return sum(found.values()) / sum(p.numel() for p in model.parameters() if not p.requires_grad), nats.detach()


def test_a_frozen_weight_takes_two_bytes():
    """In bfloat16; the losses and gradients are those of weights held in float32, bit for bit."""
    plain, half = made(), made()
    plain.compute_dtype = half.compute_dtype = torch.bfloat16
    lora.hold_frozen(half, torch.bfloat16)
    (before, expected), (now, found) = held(plain), held(half)
    assert before > 5.5
    assert now == 2.0
    assert torch.equal(expected, found)
    gradients = [[p.grad for p in m.parameters() if p.requires_grad] for m in (plain, half)]
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))
    assert all(p.dtype == torch.float32 for p in half.parameters() if p.requires_grad)
    lora.merge(half)
    assert all(p.dtype == torch.float32 for n, p in half.named_parameters() if n.startswith("blocks.0.attention"))


def test_a_run_in_bfloat16_resumes_bit_for_bit(shards, base, tuning, tmp_path):
    """Its checkpoints have frozen weights of two bytes, which `load_model` and a run in float32 take as they are."""
    half = replace(tuning, dtype="bfloat16", steps=6, save_every=3)
    train(shards, out=tmp_path / "whole", config=half, init_from=base, quiet=True)
    train(shards, out=tmp_path / "parts", config=half, init_from=base, stop_at=3, quiet=True)
    train(shards, out=tmp_path / "parts", config=half, quiet=True)
    whole, parts = (checkpoint.load(checkpoint.found(tmp_path / n)[-1])["model"] for n in ("whole", "parts"))
    assert all(torch.equal(value, parts[name]) for name, value in whole.items())
    assert {value.dtype for name, value in whole.items() if ".changes." not in name} == {torch.bfloat16}
    started = load_model(base)[0].state_dict()
    assert all(torch.equal(value, whole[name].to(torch.bfloat16)) for name, value in
               ((n, v.to(torch.bfloat16)) for n, v in started.items()))  # fmt: skip
    model, _ = load_model(tmp_path / "whole")
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    more = replace(half, dtype="float32", steps=6)
    assert train(shards, out=tmp_path / "parts", config=more, quiet=True).steps == 6
