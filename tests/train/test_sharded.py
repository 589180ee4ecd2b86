"""Moments divided among processes, and gradients summed in buckets: what undivided ones and plain sums learn."""

import json
import os
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.train import TrainConfig, checkpoint, gradients, train  # noqa: E402
from dataprep.train.distributed import World  # noqa: E402
from dataprep.train.sharded import Portion  # noqa: E402
from processes import together  # noqa: E402
from runs import assert_same_run, curve, weights  # noqa: E402

RUNS = """
import json, os, sys
import torch
import torch.distributed as dist
from dataclasses import replace
from pathlib import Path
from dataprep.train import TrainConfig, distributed, gradients, optim, sharded, train

home, shards, config = Path(sys.argv[1]), sys.argv[2], TrainConfig.from_dict(json.loads(sys.argv[3]))
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
divided = replace(config, shard_optimizer=True)
done = {}

def run(name, how=config, **more):
    train(shards, out=home / name.split()[0], config=how, quiet=True, **more)

class Plain:
    def __init__(self, parameters, world, dtype):
        self.parameters, self.world = list(parameters), world
        self.begun_early = lambda: __import__("contextlib").nullcontext()
    def finish(self, loss):
        for tensor in [loss, *(p.grad for p in self.parameters if p.grad is not None)]:
            dist.all_reduce(tensor)

real, optim.GradientSums = optim.GradientSums, Plain
run("plain")
optim.GradientSums = real
gradients.LARGE = 2000  # so that the small model has several buckets
held = []
def spied(self, *args):
    found = real_state(self, *args)
    held.append(sum(v.numel() for s in self.state.values() for n, v in s.items() if n in sharded.MOMENTS))
    return found
real_state, sharded.ShardedAdamW.state_dict = sharded.ShardedAdamW.state_dict, spied
run("divided", divided)
done["held"] = held[0]
if ranks == 2:
    calls, inside, real_sum, real_early = [], [False], distributed.World.begin_sum, real.begun_early
    def begin_sum(self, tensor):
        calls.append((inside[0], tensor.numel()))
        return real_sum(self, tensor)
    import contextlib
    @contextlib.contextmanager
    def begun_early(self):
        inside[0] = True
        with real_early(self):
            yield
        inside[0] = False
    distributed.World.begin_sum, real.begun_early = begin_sum, begun_early
    run("counted", replace(config, steps=3, warmup=0, eval_every=10))
    distributed.World.begin_sum, real.begun_early = real_sum, real_early
    done["calls"] = calls
    run("rounded", replace(divided, reduce_dtype="bfloat16"))
    run("parts 1", divided, stop_at=8)
    run("parts 2", divided)
    run("handed", divided, stop_at=8)
    run("taken", divided)
    run("lora", replace(divided, lora=2, steps=6), init_from=home / "plain")
    run("lora-plain", replace(config, lora=2, steps=6), init_from=home / "plain")
(home / f"done-{rank}.json").write_text(json.dumps(done))
if ranks == 2:
    step_once, count = optim.step_once, [0]
    def killed(*args):
        count[0] += 1
        if count[0] == 12:
            os._exit(7)
        return step_once(*args)
    from dataprep.train import loop
    loop.step_once = killed
    run("killed", divided)
os._exit(0)
"""

AGAIN = """
import json, os, sys
from dataclasses import replace
from dataprep.train import TrainConfig, train
config = replace(TrainConfig.from_dict(json.loads(sys.argv[3])), shard_optimizer=True)
train(sys.argv[2], out=sys.argv[1], config=config, quiet=True)
os._exit(0)  # gloo may abort a process that ends, after all is done
"""


@pytest.fixture(scope="module")
def settings(config):
    """Whole documents in rows; a batch that two and three processes can divide."""
    return replace(config, layout="bestfit", batch=12, micro_batch=2, save_every=8)


@pytest.fixture(scope="module")
def alone(shards, settings, tmp_path_factory):
    """Runs of one process: whole, and stopped at step 8."""
    home = tmp_path_factory.mktemp("alone")
    train(shards, out=home / "whole", config=settings, quiet=True)
    train(shards, out=home / "taken", config=settings, stop_at=8, quiet=True)
    return home


@pytest.fixture(scope="module")
def pair(shards, settings, alone, tmp_path_factory):
    """Runs of two processes: the folder, and what each of them counted."""
    home = tmp_path_factory.mktemp("pair")
    os.symlink(alone / "taken", home / "taken")
    words = [home, shards.path, json.dumps(settings.to_dict())]
    ended = together(RUNS, words, home / "said")
    assert [code for code, *_ in ended] == [7, 7], ended  # the last run is killed
    assert together(AGAIN, [home / "killed", *words[1:]], home / "again") == [(0, "", "")] * 2
    return home, [json.loads((home / f"done-{rank}.json").read_text()) for rank in (0, 1)]


def newest(out):
    """The bytes of the newest checkpoint."""
    return checkpoint.found(out)[-1].read_bytes()


def assert_close_run(a, b):
    """Two folders hold the same weights, moments and losses, to the rounding of sums in another order."""
    for left, right in zip(curve(a), curve(b), strict=True):
        assert left == pytest.approx(right, rel=1e-3)
    left, right = weights(a), weights(b)
    assert left.keys() == right.keys()
    for name, value in left.items():
        torch.testing.assert_close(value, right[name], rtol=1e-2, atol=1e-3)


def test_divided_moments_in_buckets_learn_what_plain_sums_learn(pair, alone):
    """Bit for bit: losses, norms, weights and moments; apart from rounding, what one process learns."""
    home, _ = pair
    assert_same_run(home / "plain", home / "divided")
    assert_same_run(home / "lora-plain", home / "lora")
    assert_close_run(home / "divided", alone / "whole")


def test_three_processes_have_parts_of_unequal_size(shards, settings, tmp_path):
    """Bit for bit what three processes with undivided moments learn, whose sums are in the same order."""
    ended = together(RUNS, [tmp_path, shards.path, json.dumps(settings.to_dict())], tmp_path / "said", ranks=3)
    assert [code for code, *_ in ended] == [0] * 3, ended
    assert_close_run(tmp_path / "plain", tmp_path / "divided")
    held = [json.loads((tmp_path / f"done-{rank}.json").read_text())["held"] for rank in range(3)]
    assert held[0] > held[2]


def test_each_process_holds_half_of_the_moments(pair):
    """Apart from those of small parameters, which each process holds."""
    home, done = pair
    whole = sum(v.numel() for n, v in weights(home / "divided").items() if n.endswith("exp_avg"))
    for one in done:
        assert one["held"] / 2 == pytest.approx(whole / 2, rel=0.02)


def test_checkpoints_do_not_tell_the_number_of_processes(pair, alone):
    """The file of divided moments has the bytes of that of undivided ones, but for the setting; so has one process."""
    home, _ = pair
    contents = [checkpoint.load(checkpoint.found(place)[-1]) for place in (home / "plain", home / "divided")]
    for content in contents:
        content["config"] |= {"shard_optimizer": None}
        del content["config_hash"]
        torch.save(content, path := home / "saved")
        content["bytes"] = path.read_bytes()
    assert contents[0]["bytes"] == contents[1]["bytes"]
    one = checkpoint.load(checkpoint.found(alone / "whole")[-1])
    first, second = (
        {i: {n: v.shape for n, v in s.items()} for i, s in c["optimizer"]["state"].items()} for c in (contents[1], one)
    )
    assert first == second
    assert [{**g, "lr": 0} for g in contents[1]["optimizer"]["param_groups"]] == [
        {**g, "lr": 0} for g in one["optimizer"]["param_groups"]
    ]


def test_stopped_and_killed_runs_end_with_the_same_bytes(pair):
    """With divided moments: stopped at step 8, and killed in step 12, then resumed."""
    home, _ = pair
    assert newest(home / "divided") == newest(home / "parts") == newest(home / "killed")
    assert_same_run(home / "divided", home / "killed")


def test_another_number_of_processes_resumes(shards, settings, pair, alone):
    """Portion moments of two go on in one, and those of one in two, each with the losses of the whole run."""
    home, _ = pair
    train(shards, out=home / "handed", config=settings, quiet=True)
    assert_close_run(alone / "whole", home / "handed")
    assert_close_run(alone / "whole", home / "taken")


def test_sums_begin_in_the_backward_pass_of_the_last_micro_batch(pair):
    """Once per bucket and step, not per micro-batch; the last bucket, with the loss, after the backward pass."""
    _, done = pair
    calls = [(inside, n) for inside, n in done[0]["calls"] if n != 4]  # 4: sums of a validation
    model = sum(v.numel() for n, v in weights(pair[0] / "plain").items() if n.endswith("exp_avg"))
    per_step = [calls[i : i + len(calls) // 3] for i in range(0, len(calls), len(calls) // 3)]
    for step in per_step:
        assert len(step) >= 5
        assert [inside for inside, _ in step] == [True] * (len(step) - 1) + [False]
        assert sum(n for _, n in step) == model + 4  # the loss, the number of targets, and two signals
    assert done[0]["calls"] == done[1]["calls"]


def test_gradients_in_bfloat16_round(pair):
    """The losses are close to those of float32, and not equal."""
    home, _ = pair
    exact, rounded = ([r["loss"] for r in curve(home / n) if "loss" in r] for n in ("plain", "rounded"))
    assert rounded == pytest.approx(exact, rel=0.02)
    assert rounded != exact


def test_buckets_have_every_parameter_once():
    """Large ones alone, small ones together, the last first."""
    large = gradients.LARGE
    made = [torch.nn.Parameter(torch.zeros(n)) for n in (large, 3, 5, large + 1, large - 1, 2)]
    found = [[p.numel() for p in bucket] for bucket in gradients.buckets(made)]
    assert found == [[2, large - 1], [large + 1], [large], [5, 3]]
    assert gradients.buckets([]) == []


@pytest.mark.parametrize("ranks", [2, 3, 7, 64])
@pytest.mark.parametrize("n", [32, 1024, 38_633_472, 4097])
def test_parts_cover_a_parameter_once(ranks, n):
    """No part is empty; all begin at a multiple of 64 elements."""
    whole = torch.arange(n, dtype=torch.int32) if n < 10**6 else torch.zeros(n, dtype=torch.int8)
    shares = [Portion.of(torch.nn.Parameter(torch.empty(n, device="meta")), World(torch.device("cpu"), r, ranks))
              for r in range(ranks)]  # fmt: skip
    parts = [share.part(whole) for share in shares]
    assert all(len(part) for part in parts)
    if shares[0].is_divided:
        assert sum(map(len, parts)) == n
        assert all(part.storage_offset() % 64 == 0 for part in parts)
    else:
        assert n < 64 * ranks * ranks


def test_wrong_settings_are_one_sentence():
    """They name what is allowed."""
    from dataprep.errors import PlanError

    for setting, sentence in (
        ("shard_optimizer=2", "shard_optimizer=2 must be one of True, False"),
        ("reduce_dtype=float16", "reduce_dtype='float16' must be one of float32, bfloat16"),
    ):
        with pytest.raises(PlanError, match=sentence):
            TrainConfig().override(setting)
