"""Comparison of training runs: weights, moments and loss curves of two folders."""

import torch

from dataprep.train import checkpoint
from dataprep.train.metrics import read

PLAIN = {
    "loss": 1.0, "val_loss": None, "bits_per_byte": None, "stop": [], "chat": None, "trained_on": {}, "data": "",
    "tokenizer": "", "start": "", "before": "", "root": "", "optimizer": {}, "guard": {}, "spikes": {},
}  # fmt: skip
"""What a checkpoint that a test writes by itself has besides its step, config, ids and weights."""
SPEEDS = {"tokens_per_s", "loader_wait", "mfu", "peak_memory", "attention"}


def weights(out):
    """The newest checkpoint's tensors, optimiser included, by name."""
    content = checkpoint.load(checkpoint.found(out)[-1])
    moments = {f"{i} {k}": v for i, state in content["optimizer"]["state"].items() for k, v in state.items()}
    return {**content["model"], **moments}


def curve(out):
    """What metrics.jsonl says apart from how it computed."""
    return [{k: v for k, v in row.items() if k not in SPEEDS} for row in read(out / "metrics.jsonl")]


def assert_same_run(a, b):
    """Two folders hold the same weights, moments and loss curve, bit for bit."""
    left, right = weights(a), weights(b)
    assert left.keys() == right.keys()
    assert all(torch.equal(left[k], right[k]) for k in left)
    assert curve(a) == curve(b)
