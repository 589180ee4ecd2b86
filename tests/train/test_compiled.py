"""Compiled steps: none runs uncompiled, and what is compiled computes what the model computes."""

# ruff: noqa: N806 - the shape letters are capitals

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from functorch.compile import make_boxed_func  # noqa: E402

from dataprep.errors import DataprepError  # noqa: E402
from dataprep.tokens.shards.writer import save  # noqa: E402
from dataprep.train import GPT, ModelConfig, compiled, gradients, loss, micro_batch, train  # noqa: E402
from dataprep.train.begin import begin  # noqa: E402
from dataprep.train.config import PROJECTIONS  # noqa: E402
from dataprep.train.data.sets import to_device  # noqa: E402
from dataprep.train.model import masks  # noqa: E402


@pytest.fixture
def ran(monkeypatch):
    """Compiles on the CPU as on a card, by running torch's graphs; counts calls of `kinds` that ran (un)compiled."""
    calls = {"compiled": 0, "uncompiled": 0}

    def backend(graph, _inputs):
        def run(*args):
            calls["compiled"] += 1
            return graph(*args)

        return run

    real = torch.compile
    monkeypatch.setattr(torch, "compile", lambda function, **how: real(function, backend=backend, **how))

    def watched(function):
        def call(*args):
            if not torch.compiler.is_compiling():
                calls["uncompiled"] += 1
            return function(*args)

        return call

    monkeypatch.setattr(GPT, "stream", watched(GPT.stream))
    monkeypatch.setattr(loss, "_fold", watched(loss._fold))
    monkeypatch.setattr(loss, "_slope", watched(loss._slope))
    monkeypatch.setattr(loss, "has_kernels", lambda _: True)
    monkeypatch.setattr(loss, "BLOCK", 4000)
    loss._compiled.cache_clear()
    yield calls
    loss._compiled.cache_clear()
    torch.compiler.reset()


def test_every_step_runs_compiled(shards, config, tmp_path, monkeypatch, ran):
    """After a search among ten sizes, and in the fifth model of a process, no kernel and no step runs uncompiled."""
    monkeypatch.setattr(micro_batch, "REPORTING", ("cpu",))
    searched, real = [], micro_batch.step_once

    def step(model, optimizer, rows, lr, how):
        searched.append(how.rows)
        if how.rows > 29:
            raise MemoryError
        before = ran["uncompiled"]
        found = real(model, optimizer, rows, lr, how)
        assert ran["uncompiled"] - before == len(rows.tokens) // how.rows  # the model's passes alone
        ran["uncompiled"] = before
        return found

    monkeypatch.setattr(micro_batch, "step_once", step)
    config = replace(config, batch=120, micro_batch="auto", compile=True, steps=3, warmup=0, eval_every=5)
    train(shards, out=tmp_path / "auto", config=config, quiet=True)
    assert len(set(searched)) >= 6
    assert ran["uncompiled"] == 0
    for width in (16, 24, 40, 48):
        before = ran["compiled"]
        other = replace(config, model=replace(config.model, d_model=width, n_heads=2), micro_batch=4 * width // 8)
        other = replace(other, batch=other.rows)
        train(shards, out=tmp_path / str(width), config=other, quiet=True)
        assert ran["uncompiled"] == 0
        assert ran["compiled"] - before > 3 * 3  # in each step the model, and a kernel for each of several blocks


def test_a_shape_too_many_is_an_error(shards, config, tmp_path, monkeypatch, ran):
    """It is one sentence that names the setting, not a run that is slower from there on."""
    monkeypatch.setattr(compiled, "SHAPES", 1)
    with pytest.raises(DataprepError, match="encountered more than 1 shapes of one function.* set compile=False"):
        train(shards, out=tmp_path, config=replace(config, compile=True), quiet=True)
    assert torch._dynamo.config.recompile_limit == 8
    assert not torch._dynamo.config.fail_on_recompile_limit_hit


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # of the compiler, which does not show it
@pytest.mark.parametrize(
    "more", [{}, {"lora": 2, "lora_dropout": 0.5, "lora_targets": PROJECTIONS}], ids=["all", "lora"]
)
def test_wrong_values_stop_a_run_before_its_first_step(shards, config, tmp_path, monkeypatch, ran, more):
    """If the compiled model computes other values than the model itself, the run says so and trains nothing."""
    train(shards, out=tmp_path / "base", config=replace(config, steps=1, warmup=0), quiet=True)
    config = replace(config, compile=True, layout="bestfit", steps=2, warmup=0, **more)
    begin = {"init_from": tmp_path / "base"} if more else {}
    train(shards, out=tmp_path / "right", config=config, quiet=True, **begin)
    real = masks.attend

    def wrong(q, k, v, *more):
        out = real(q, k, v, *more)
        return torch.cat([out[..., :5, :], out[..., 5:6, :] * 3, out[..., 6:, :]], -2) if compiling() else out

    compiling = torch.compiler.is_compiling
    monkeypatch.setattr(masks, "attend", wrong)
    said = r"compiles this model to code with different results on cpu \(relative .* compile=False"
    with pytest.raises(DataprepError, match=said):
        train(shards, out=tmp_path / "wrong", config=config, quiet=True, **begin)
    assert not list((tmp_path / "wrong").glob("step-*"))
    train(shards, out=tmp_path / "wrong", config=replace(config, compile=False), quiet=True, **begin)


@pytest.mark.filterwarnings("ignore")  # of the compiler itself
@pytest.mark.parametrize("recompute", [False, True])
def test_sums_of_gradients_begin_between_compiled_blocks(monkeypatch, recompute):
    """With several processes, a model is compiled once for all its blocks; the first sums begin before the last block.

    The values are those of the model itself.
    """
    from torch._dynamo.backends.common import aot_autograd

    order, graphs = [], []

    def noted(graph, _inputs):
        graphs.append(graph)

        def run(*args):
            order.append("block")
            return graph(*args)

        return make_boxed_func(run)

    backend = aot_autograd(fw_compiler=lambda graph, _: make_boxed_func(graph.forward), bw_compiler=noted)
    real = torch.compile
    monkeypatch.setattr(torch, "compile", lambda function, **how: real(function, backend=backend, **how))
    monkeypatch.setattr(gradients, "LARGE", 1)
    torch.manual_seed(0)
    shape = ModelConfig(n_layers=4, n_heads=4, d_model=32, context=24)
    model, ids_BT = GPT(shape, 97), torch.randint(97, (2, 24))
    model.recompute = recompute
    loss.token_nats(model, ids_BT, ids_BT).sum().backward()
    expected = {name: p.grad for name, p in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    world = SimpleNamespace(ranks=2, begin_sum=lambda _: order.append("sum"), wait=lambda _: None)
    model.stream = compiled.stream_of(model, by_block=True)
    sums, total = gradients.GradientSums(model.parameters(), world), loss.token_nats(model, ids_BT, ids_BT).sum()
    with sums.begun_early():
        total.backward()
    sums.finish(total.detach())
    assert order.count("block") == 4
    assert len(graphs) == 1
    assert order.index("sum") < order.index("block", order.index("block") + 1), "before the second block from the end"
    for name, p in model.named_parameters():
        torch.testing.assert_close(p.grad, expected[name], atol=1e-5, rtol=1e-4)
    torch.compiler.reset()


def traced(monkeypatch):
    """Let torch.compile trace as torch's own compiler does, without its kernels; return [forward, backward] graphs."""
    from torch._dynamo.backends.common import aot_autograd

    graphs = ([], [])

    def noting(found):
        def compiler(graph, _inputs):
            found.append(graph)
            return make_boxed_func(graph.forward)

        return compiler

    backend = aot_autograd(fw_compiler=noting(graphs[0]), bw_compiler=noting(graphs[1]))
    real = torch.compile
    monkeypatch.setattr(torch, "compile", lambda function, **how: real(function, backend=backend, **how))
    return graphs


def calls_of_flex(graphs):
    """The number of FlexAttention operations in each graph."""
    return [sum("flex_attention" in str(node.target) and node.op == "call_function" for node in g.graph.nodes)
            for g in graphs]  # fmt: skip


@pytest.mark.filterwarnings("error:(?s).*lru_cache")
@pytest.mark.filterwarnings("ignore")  # of the compiler itself
@pytest.mark.parametrize(
    ("depths", "more"), [((2, 5), {}), ((5,), {"lora": 2}), ((2,), {"lora": 2, "lora_base": "nf4"})],
    ids=["all", "lora", "qlora"],
)  # fmt: skip
def test_masked_models_of_any_depth_compile_one_block(shards, config, tmp_path, monkeypatch, depths, more):
    """FlexAttention is compiled once for 2 and for 5 layers; losses and gradients are those of the dense mask."""
    monkeypatch.setattr("torch.nn.attention.flex_attention._validate_device", lambda *_: None)  # it trains on the CPU
    graphs, real = traced(monkeypatch), masks._dense
    for n_layers in depths:
        model_config = replace(config.model, n_layers=n_layers)
        how = replace(config, model=model_config, compile=True, layout="bestfit", micro_batch=4)
        base = replace(how, compile=False, steps=1, warmup=0)
        train(shards, out=tmp_path / f"base {n_layers}", config=base, quiet=True)
        run = begin(
            shards, tmp_path / str(n_layers), replace(how, **more),
            init_from=tmp_path / f"base {n_layers}" if more else None,
        )  # fmt: skip
        rows = run.loader.rows(0).part(0, 4)
        found = []
        for render in (masks._blocks, real):
            monkeypatch.setattr(masks, "_dense", render)
            ids_BT, y_BT, mask = to_device(rows, torch.device("cpu"))
            torch.compiler.reset()
            for each in graphs:
                each.clear()
            if render is real:
                run.model.stream = run.model.outputs
            nats_BT = loss.token_nats(run.model, ids_BT, y_BT, mask)
            nats_BT.sum().backward()
            found.append([nats_BT.detach(), {n: p.grad for n, p in run.model.named_parameters() if p.requires_grad}])
            run.model.zero_grad(set_to_none=True)
            if render is not real:
                calls = [1] if not more else [1, 1]  # the inputs of the first block need no gradient
                assert [calls_of_flex(each) for each in graphs] == [calls, calls]
        torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)
    assert not graphs[0]
    torch.compiler.reset()


@pytest.mark.filterwarnings("ignore")  # of the compiler itself
def test_rotated_keys_and_blocks_in_one_graph():
    """Rotation and FlexAttention, compiled together by torch's own compiler, compute what the dense mask computes."""
    torch.manual_seed(0)
    shape = ModelConfig(n_layers=1, n_heads=4, d_model=64, context=128)
    model, ids_BT = GPT(shape, 97), torch.randint(97, (2, 128))
    begins_BT = torch.zeros(2, 128, dtype=torch.bool)
    begins_BT[:, [0, 40, 90]] = True
    dense = masks.Mask.of(begins_BT, None)
    first_BT = (torch.arange(128).expand(2, 128) * begins_BT).cummax(1).values
    blocks = masks.Mask(dense.position, masks._blocks(first_BT, torch.zeros_like(begins_BT)))
    with torch.no_grad():
        found_BTD = torch.compile(model.hidden, dynamic=False)(ids_BT, blocks)
        torch.testing.assert_close(found_BTD, model.hidden(ids_BT, dense), atol=1e-4, rtol=1e-4)
    torch.compiler.reset()


def test_resumed_runs_are_compared_too(shards, config, tmp_path, monkeypatch, ran):
    """Each call that trains compares once, a finished run never, and an uncompiled run never."""
    real, differences = compiled.check, []
    monkeypatch.setattr("dataprep.train.loop.check", lambda *args: differences.append(real(*args)))
    config = replace(config, compile=True)
    for stop, n in ((4, 1), (None, 2), (None, 2)):
        train(shards, out=tmp_path / "a", config=config, stop_at=stop, quiet=True)
        assert len(differences) == n
    assert max(differences) < 1e-5
    train(shards, out=tmp_path / "b", config=replace(config, compile=False), quiet=True)
    assert len(differences) == 2


@pytest.mark.parametrize("rank", [None, 2])
def test_preference_tuning_runs_compiled(shards, config, tmp_path, ran, rank):
    """The model and its reference, which is a copy or the model without LoRA's updates, and validation of pairs."""
    train(shards, out=tmp_path / "base", config=replace(config, steps=1, warmup=0), quiet=True)
    splits, masks = {"train": [], "val": []}, {"train": [], "val": []}
    homes = {}
    for answer in (60, 80):
        for split in splits:
            splits[split] = [[i, i + 1, answer] for i in range(16)]
            masks[split] = [np.array([0, 0, 1, 1]) > 0] * 16
        homes[answer] = save(tmp_path / str(answer), splits, vocab_size=97, eot=96, masks=masks)
    sets = {"chosen": homes[60], "rejected": homes[80]}
    how = replace(config, compile=True, steps=3, warmup=0, lora=rank)
    ran["uncompiled"] = ran["compiled"] = 0
    train(sets, out=tmp_path / "dpo", config=how, init_from=tmp_path / "base", dpo=0.1, quiet=True)
    assert ran["uncompiled"] == 0
    assert ran["compiled"] >= 3 * 2 * 2
