"""Two processes that train together: what one process learns, one voice, one end."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import DataprepError, PlanError  # noqa: E402
from dataprep.train import checkpoint, train  # noqa: E402
from dataprep.train.data.sets import training_rows, validation_rows  # noqa: E402
from dataprep.train.distributed import World, joined  # noqa: E402
from dataprep.train.loop import Asked  # noqa: E402
from dataprep.train.ranks import Launch, is_first, is_first_here, launched  # noqa: E402
from processes import together  # noqa: E402
from runs import assert_same_run, curve, weights  # noqa: E402

PAIR = """
import contextlib, json, math, os, sys
import torch
from dataclasses import replace
from pathlib import Path
from dataprep.errors import DataprepError
from dataprep.train import TrainConfig, checkpoint, loop, optim, train

home, shards, config = Path(sys.argv[1]), sys.argv[2], TrainConfig.from_dict(json.loads(sys.argv[3]))
rank = int(os.environ["RANK"])
sys.stdout = open(home / f"said-{rank}.txt", "w")
done = {}

def run(name, how=config, **more):
    try:
        done[name] = vars(train(shards, out=home / name.split()[0], config=how, **more))
    except DataprepError as e:
        done[name] = [type(e).__name__, str(e)]

run("whole")
done["threads"] = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
sys.stdout = open(os.devnull, "w")

import torch.distributed as dist
from dataprep.train import evaluate
counts, real_reduce, real_nats = {"numbers": 0, "sums": 0, "validated": 0}, dist.all_reduce, evaluate.token_nats
def all_reduce(tensor, *args, **how):
    counts["numbers"] += tensor.dtype == torch.int64
    counts["sums"] += tensor.dtype == torch.float32
    return real_reduce(tensor, *args, **how)
def validated(*args):
    counts["validated"] += 1
    return real_nats(*args)
dist.all_reduce, evaluate.token_nats = all_reduce, validated
run("counted")
dist.all_reduce, evaluate.token_nats = real_reduce, real_nats
done["counts"] = counts

run("parts 1", stop_at=10)
if rank == 0:
    (home / "parts" / "step-00000010.pt").write_bytes(b"damaged")
run("parts 2")
run("handed", stop_at=8)

tuned = replace(config, lora=2, lora_dropout=0.5, steps=6)
run("lora", tuned, init_from=home / "whole")
run("lora_parts 1", tuned, init_from=home / "whole", stop_at=3)
run("lora_parts 2", tuned, init_from=home / "whole")

run("stale", replace(config, steps=1))
run("stale again", replace(config, steps=1, lr=0.02))
run("uneven", replace(config, batch=3, micro_batch=None))
run("other lr", replace(config, lr=0.02 if rank else 0.01))
run("other end", stop_at=5 + rank)
if rank:
    shards = sys.argv[4]
run("other data")
shards = sys.argv[2]

real, count = optim.token_nats, [0]
def poisoned(*args):
    count[0] += 1
    return real(*args) * (math.nan if rank == 1 and 10 <= (count[0] - 1) // 2 <= 12 else 1)
optim.token_nats = poisoned
run("poisoned", replace(config, log_every=50, eval_every=100), quiet=True)
optim.token_nats = real

real_step = loop.step_once
def short(*args):
    count[0] += 1
    if rank == 1 and count[0] > 3:
        raise MemoryError
    return real_step(*args)
count[0], loop.step_once = 0, short
run("short")
loop.step_once = real_step
run("after")

def killed(*args):
    count[0] += 1
    if rank == 1 and count[0] > 3:
        (home / "done-1.json").write_text(json.dumps(done))
        os._exit(1)
    return real_step(*args)
count[0], loop.step_once = 0, killed
run("killed")
(home / "done-0.json").write_text(json.dumps(done))
"""


@pytest.fixture(scope="module")
def masked(make_shards, tmp_path_factory):
    """Shards of which every third document is learned, so that rows have different numbers of targets."""
    return make_shards(tmp_path_factory.mktemp("masked"), masked=3)


@pytest.fixture(scope="module")
def packed(config):
    """Whole documents in rows, with document masks."""
    return replace(config, layout="bestfit", micro_batch=2)


@pytest.fixture(scope="module")
def pair(masked, packed, shards, tmp_path_factory):
    """Runs of two processes (PAIR): the folder, and what each process returned, by name of the run."""
    home = tmp_path_factory.mktemp("pair")
    words = [home, masked.path, json.dumps(packed.to_dict()), shards.path]
    ended = together(PAIR, words, home / "said")
    assert [code for code, *_ in ended] == [0, 1], ended
    return home, [json.loads((home / f"done-{rank}.json").read_text()) for rank in (0, 1)]


@pytest.fixture(scope="module")
def alone(masked, packed, tmp_path_factory):
    """The same run in one process."""
    out = tmp_path_factory.mktemp("alone")
    return out, train(masked, out=out, config=replace(packed, micro_batch=4), quiet=True)


def assert_close_run(a, b):
    """Two folders hold the same weights and losses, to the rounding of sums in another order."""
    for left, right in zip(curve(a), curve(b), strict=True):
        assert left == pytest.approx(right, rel=1e-3)
    left, right = weights(a), weights(b)
    for name, value in left.items():
        torch.testing.assert_close(value, right[name], rtol=1e-2, atol=1e-3)


def test_two_processes_learn_what_one_learns(masked, packed, pair, alone):
    """Losses, norms, validation and weights, although the two have different numbers of targets in each step."""
    loader = training_rows({"": masked}, packed)
    counts = [[loader.rows(step, rank, 2).n_targets for rank in (0, 1)] for step in range(20)]
    assert sum(max(pair) > 1.2 * min(pair) for pair in counts) >= 8, counts
    assert_close_run(pair[0] / "whole", alone[0])
    assert all(weights(pair[0] / "whole")[n].shape == w.shape for n, w in weights(alone[0]).items())


def test_all_processes_return_the_result(pair, alone):
    """The second process, which writes nothing, returns the same result, of the same number of tokens."""
    first, second = (done["whole"] for done in pair[1])
    assert first == second
    assert first["tokens"] == alone[1].tokens
    assert first["val_loss"] == pytest.approx(alone[1].val_loss, rel=1e-3)


def test_a_step_of_a_small_model_has_one_sum_and_all_validate(masked, packed, pair):
    """Gradients, loss, targets and signals; signals are exchanged at the end too. Each process validates a part."""
    layout = validation_rows({"": masked}, packed)[""]
    batches = 3 * -(-min(len(layout), packed.eval_rows) // packed.rows)  # at the beginning, in the middle, at the end
    counts = [done["counts"] for done in pair[1]]
    assert [(c["sums"], c["numbers"]) for c in counts] == [(packed.steps, 1)] * 2
    assert sum(c["validated"] for c in counts) == batches
    assert min(c["validated"] for c in counts) >= batches // 3 // 2 * 3


def test_signals_on_cuda_do_not_wait_for_the_device():
    """They are summed by gloo before the step, and not on the device; a step has nothing to tell then."""
    world = SimpleNamespace(ranks=2, device=torch.device("cuda"), exchanged=lambda *own: [n + 1 for n in own])
    asked = Asked(signal.SIGTERM)
    assert asked.notes(world) is None
    assert asked.of_all == signal.SIGINT
    asked.learn(None)
    assert asked.of_all == signal.SIGINT
    world.device = torch.device("cpu")
    assert asked.notes(world).tolist() == [0, 1]
    asked.learn(torch.tensor([0.0, 2.0]))
    assert asked.of_all == signal.SIGTERM


def test_no_thread_of_gloo_outlives_a_run(pair):
    """Such a thread may abort the program when Python exits."""
    for done in pair[1]:
        assert not [name for name in done["threads"] if "gloo" in name]


def test_one_process_writes_and_prints(pair):
    """The files of a run are those of one process, and only the first prints."""
    home, _ = pair
    said = (home / "said-0.txt").read_text()
    assert " CPU threads in each of 2 processes" in said
    assert said.count("validation loss") == 3
    assert not (home / "said-1.txt").read_text()
    expected = [".dataprep-journal", "metrics.jsonl", "step-00000016.pt", "step-00000020.pt"]
    assert sorted(os.listdir(home / "whole")) == expected


def test_resumed_runs_are_equal_bit_for_bit(pair):
    """Stopped, with its newest checkpoint damaged, and resumed by two processes; with the dropout of LoRA too."""
    home, (first, _) = pair
    assert first["parts 1"]["steps"] == 10
    assert_same_run(home / "whole", home / "parts")
    assert_same_run(home / "lora", home / "lora_parts")
    assert first["lora"]["loss"] != first["whole"]["loss"]


def test_another_number_of_processes_may_resume(masked, packed, pair, tmp_path):
    """Eight steps of two processes and twelve of one are the run of two."""
    home, _ = pair
    shutil.copytree(home / "handed", tmp_path / "run")
    assert train(masked, out=tmp_path / "run", config=packed, quiet=True).steps == 20
    assert_close_run(home / "whole", tmp_path / "run")


def test_losses_that_are_not_finite_in_one_process_roll_back_both(pair):
    """The second process alone has bad batches: both skip three steps, return to step 8, and end equal."""
    home, (first, second) = pair
    assert first["poisoned"] == second["poisoned"]
    assert (first["poisoned"]["steps"], first["poisoned"]["skipped"]) == (20, 3)
    assert {"step": 8, "rolled_back_from": 13, "skipped": 3} in curve(home / "poisoned")
    assert [r["step"] for r in curve(home / "poisoned") if "loss" in r] == list(range(1, 21))


def test_an_error_in_one_process_is_said_by_all(pair):
    """Memory that ends in one, a folder of another run, a batch that cannot be shared, a process that is killed."""
    _, (first, second) = pair
    assert second["short"][1].startswith("out of memory on device='cpu': lower micro_batch (now 2")
    assert first["short"][1] == f"rank 1: {second['short'][1]}"
    assert first["stale again"][0] == "StaleOutput"
    assert "lr was 0.01, is 0.02" in first["stale again"][1]
    assert second["stale again"][1] == f"rank 0: {first['stale again'][1]}"
    uneven = ["PlanError", "batch=3 must be a multiple of the number of ranks, 2; change one of them"]
    assert first["uneven"] == second["uneven"] == uneven
    theirs = "in the first process; start all processes with the same command"
    assert second["other lr"] == ["PlanError", f"lr is 0.02, and 0.01 {theirs}"]
    assert second["other end"] == ["PlanError", f"stop_at is 6, and 5 {theirs}"]
    assert re.fullmatch(f"the hash of the training data is [0-9a-f]+, and [0-9a-f]+ {theirs}", second["other data"][1])
    for name in ("other lr", "other end", "other data"):
        assert first[name] == ["DataprepError", f"rank 1: {second[name][1]}"]
    lost = "another process of this run has ended without a message; run the same command again to resume"
    assert first["killed"] == ["DataprepError", lost]
    assert first["after"] == {**first["whole"], "checkpoint": first["after"]["checkpoint"],
                              "metrics": first["after"]["metrics"]}  # fmt: skip


def test_torchrun_starts_the_command_and_stops_it(masked, packed, tmp_path):
    """`torchrun -m dataprep train`: SIGTERM saves one checkpoint of the step at which both stop, and says so once."""
    config = replace(packed, steps=100_000, save_every=5, eval_every=100_000, eval_rows=1, keep_checkpoints=1)
    settings = {**asdict(config), **{f"model.{n}": v for n, v in asdict(config.model).items()}}
    del settings["model"]
    given = [f"--set={name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "dataprep",
               "train", str(masked.path), "--out", str(tmp_path / "run"), *given]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not checkpoint.found(tmp_path / "run"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert out.count("parameters on") == 1
    assert err.count("dataprep: stopped; finished work is kept in") == 1, err
    (saved,) = checkpoint.found(tmp_path / "run")
    step = checkpoint.load(saved)["step"]
    assert step == curve(tmp_path / "run")[-1]["step"]
    assert sorted(os.listdir(tmp_path / "run")) == [".dataprep-journal", "metrics.jsonl", saved.name]


def test_a_single_process_is_alone(monkeypatch):
    """Without torchrun, or with one process of it, no connection is made and nothing is exchanged."""
    for number in (None, "1"):
        monkeypatch.setenv("WORLD_SIZE", number) if number else monkeypatch.delenv("WORLD_SIZE", raising=False)
        assert launched() == Launch()
        with joined("cpu") as world:
            assert not torch.distributed.is_initialized()
            assert (world.exchanged(3, 4), world.most(3), world.from_first(lambda: 3)) == ([3, 4], 3, 3)
            world.add_up([])
    assert is_first()
    assert is_first_here()


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"RANK": "0"}, "WORLD_SIZE=2 with LOCAL_RANK, MASTER_ADDR, MASTER_PORT missing must not be set by hand"),
        ({"RANK": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, "RANK=2 and LOCAL_RANK=0 must not"),
        ({"RANK": "x", "LOCAL_RANK": "0", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, "RANK=x and LOCAL_RANK=0 must not"),
    ],
)
def test_half_an_environment_is_refused(monkeypatch, environment, sentence):
    """Variables that torchrun would have set are named."""
    for name in ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"WORLD_SIZE": "2", **environment}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(PlanError, match=sentence), joined("cpu"):
        pass


@pytest.mark.parametrize(
    ("device", "local", "sentence"),
    [
        ("cuda:1", "1", "device='cuda:1' must be auto, cuda or cpu for 4 processes, since each has its own GPU"),
        ("auto", "0", "4 processes on this machine must have a GPU each, but torch sees 2; start 2"),
    ],
)
def test_each_process_has_a_card_of_its_own(monkeypatch, device, local, sentence):
    """A card for all, or more processes than cards, is refused before they connect."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    given = {"WORLD_SIZE": "4", "RANK": local, "LOCAL_RANK": local, "MASTER_ADDR": "a", "MASTER_PORT": "1"}
    given["LOCAL_WORLD_SIZE"] = "4"
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(PlanError, match=sentence), joined(device):
        pass


def test_nobody_at_the_address_is_said(monkeypatch):
    """A port that cannot be is one sentence with the address."""
    given = {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "99999"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    sentence = r"rank 1 cannot connect .* at 127\.0\.0\.1:99999 \(port must"
    with pytest.raises(DataprepError, match=sentence), joined("cpu"):
        pass


def test_the_first_error_is_the_one_that_is_told():
    """Later errors follow from it; of an error that is not dataprep's, the type and the first line are told."""
    store = torch.distributed.HashStore()
    world = World(torch.device("cpu"), 1, 2, store)
    world.tell(ValueError("no such thing\nmore"))
    world.tell(DataprepError("later"))
    assert store.get("failure") == b"rank 1: ValueError: no such thing"
