"""Compare the parts of models: each variant is trained on the same tokens with several seeds, and measured.

    dataprep run pipelines/architectures.py --out out/architectures
    ARCHITECTURES_STEPS=8000 ARCHITECTURES_PRESET=course-phase0 dataprep run pipelines/architectures.py --out out/course

A variant changes one part of the preset, and the six phases of the course are rows of their own; all have the sizes of
the preset, and the same kernels. The table has, for each row, the parameters, the validation loss (mean over seeds),
its difference from the base with a 95 % interval (Student's t over the differences of equal seeds), the tokens per
second of training and of generation relative to the base, the memory that a training step keeps for the gradient, and
the bytes of a cache of one full context in 16-bit numbers. Speeds are those of CPU time, which other programs on the
machine change less than the clock's. A model that was trained is not trained again unless its folder is deleted.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import dataprep as dp
from dataprep.experiment.student import quantile
from dataprep.store import files
from dataprep.train import GPT, TrainConfig, generate, load_model, preset, train
from dataprep.train.data.rows import Rows
from dataprep.train.data.sets import to_device
from dataprep.train.loss import token_nats
from dataprep.train.optim import optimizer_of, step_once
from dataprep.train.presets import PHASES
from dataprep.train.size import cached

SAMPLES = Path(__file__).parent.parent / "sample_data"
INPUT = os.environ.get("ARCHITECTURES_INPUT", str(SAMPLES / "*.jsonl*"))
PRESET = os.environ.get("ARCHITECTURES_PRESET", "course-phase0")
VOCABULARY = int(os.environ.get("ARCHITECTURES_VOCABULARY", "1024"))
STEPS = int(os.environ.get("ARCHITECTURES_STEPS", "200"))
SEEDS = range(int(os.environ.get("ARCHITECTURES_SEEDS", "3")))
SETTINGS = os.environ.get(
    "ARCHITECTURES_SETTINGS", "model.n_layers=2 model.n_heads=4 model.d_model=64 model.context=64 batch=8 lr=3e-3"
).split()
DRAWN = 48  # tokens whose generation is timed
ROUNDS = 5  # of measuring speeds

VARIANTS: dict[str, dict[str, Any]] = {
    "positions: none": {"positions": "none"},
    "positions: sinusoidal": {"positions": "sinusoidal"},
    "positions: rope": {"positions": "rope"},
    "positions: alibi": {"positions": "alibi"},
    "positions: t5": {"positions": "t5"},
    "attention: mqa": {"n_kv_heads": 1},
    "attention: gqa": {"n_kv_heads": 2},
    "attention: latent": {"attention": "latent", "latent": 16},
    "attention: linear": {"attention": "linear"},
    "pattern: window": {"pattern": "window", "reach": 16},
    "pattern: window with sinks": {"pattern": "window", "reach": 16, "sinks": 4},
    "pattern: chunk": {"pattern": "chunk", "reach": 16},
    "pattern: dilated": {"pattern": "dilated", "reach": 32, "stride": 2},
    "pattern: local and global": {"pattern": ("window", "all"), "reach": 16},
    "feed-forward: gelu": {"feed_forward": "gelu"},
    "feed-forward: relu2": {"feed_forward": "relu2"},
    "feed-forward: swiglu": {"feed_forward": "swiglu"},
    "feed-forward: experts": {"experts": 4, "experts_used": 1},
    "norm: rms": {"norm": "rms"},
    "norm: post": {"placement": "post"},
    "norm: both": {"placement": "both"},
    "norm: queries and keys": {"qk_norm": True},
    "parallel": {"parallel": True},
    "no biases": {"biases": "none"},
    "no dropout": {"dropout": 0.0},
}


def _rows(base: TrainConfig) -> dict[str, TrainConfig]:
    """Return the configs of the rows of the table by name: the base, its variants, and the phases of the course."""
    shape = base.model
    shapes = {name: replace(shape, **change) for name, change in VARIANTS.items()}
    for n, change in enumerate(PHASES[1:], start=1):
        shape = replace(shape, **change | ({"latent": 16} if "latent" in change else {}))
        shapes[f"phase {n}"] = shape
    found = {"base": base, "optimizer: muon": replace(base, optimizer="muon")}
    return found | {name: replace(base, model=shape) for name, shape in shapes.items()}


def shards(out, runner):
    """Train a vocabulary on the corpus, and write token shards, of which a tenth is for validation."""
    docs = dp.Pipeline(dp.Exact()).run(dp.read(INPUT), out=files.join(out, "docs"), runner=runner, replace=True)
    tok = dp.train_bpe(docs, vocab_size=VOCABULARY, val=0.1, runner=runner, out=files.join(out, "tokenizer"))
    return dp.encode(docs, tok, out=files.join(out, "tokens"), val=0.1, runner=runner, replace=True)


def table(shards, out):
    """Train every row with every seed, and write the table as JSON and as Markdown."""
    config = preset(PRESET).override("micro_batch=None", *SETTINGS)
    config = replace(config, steps=STEPS, warmup=STEPS // 10, eval_every=STEPS, save_every=STEPS, log_every=STEPS)
    rows = _rows(config)
    found = [{"name": name} | _trained(how, shards.path, Path(out) / name.replace(": ", "-").replace(" ", "-"))
             for name, how in rows.items()]  # fmt: skip
    for _ in range(ROUNDS):  # the fastest of several rounds: another program does not slow down a row in all of them
        for row, how in zip(found, rows.values(), strict=True):
            for name, speed in _speeds(how, shards.vocab_size).items():
                row[name] = max(speed, row.get(name, 0.0))
    files.write_json(files.join(out, "table.json"), found)
    with files.atomic(files.join(out, "table.md")) as f:
        f.write(_markdown(found).encode())
    return _markdown(found)


def _trained(config: TrainConfig, data: str, out: Path) -> dict[str, Any]:
    """Train one row with every seed; return its losses and sizes."""
    every = [train(data, out=out / str(seed), config=replace(config, seed=seed), quiet=True) for seed in SEEDS]
    model, _ = load_model(out / str(SEEDS[0]))
    return {
        "parameters": model.n_params, "losses": [one.val_loss for one in every], "kept_bytes": _kept(model, config),
        "cache_bytes": 2 * cached(config.model), "settings": asdict(config.model),
    }  # fmt: skip


def _rows_of(model: GPT, config: TrainConfig) -> Rows:
    """Return a batch of random tokens."""
    ids = np.random.default_rng(0).integers(0, model.vocab_size, (config.batch, config.model.context + 1))
    return Rows(ids.astype(np.uint16))


def _kept(model: GPT, config: TrainConfig) -> int:
    """Return how many bytes a training step keeps for the gradient, without the weights."""
    own, kept = {p.untyped_storage().data_ptr() for p in model.parameters()}, dict[int, int]()

    def note(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        nats = token_nats(model.train(), *to_device(_rows_of(model, config), model.device))
    del nats  # while this was held, no memory was used twice
    return sum(n for place, n in kept.items() if place not in own)


def _speeds(config: TrainConfig, vocab_size: int) -> dict[str, float]:
    """Return the tokens per second of CPU time: of training, and of generation after a short and a long prompt."""
    model, half = GPT(config.model, vocab_size), config.model.context // 2
    optimizer, rows, drawn = optimizer_of(model, config), _rows_of(model, config), min(DRAWN, half)
    of_training = _seconds(lambda: step_once(model, optimizer, rows, 1e-3, config))
    short, long = (
        _seconds(lambda n=n: list(generate(model.eval(), [i % vocab_size for i in range(n)], max_tokens=drawn)))
        for n in (1, half - 1)
    )
    return {
        "tokens_per_s": config.batch * config.model.context / of_training, "drawn_per_s": drawn / short,
        "drawn_per_s_long": drawn / long,
    }  # fmt: skip


def _seconds(call: Callable[[], Any]) -> float:
    """Return the least CPU time of three calls."""
    times = []
    for _ in range(3):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def _markdown(found: list[dict[str, Any]]) -> str:
    """Return the table; the last columns have the tokens drawn per second after a short and after a long prompt."""
    names = ("variant", "parameters", "loss", "difference", "training", "drawing", "drawing, long", "memory", "cache")
    lines, base = [f"| {' | '.join(names)} |", "|---|" + "---:|" * 8], found[0]
    for row in found:
        apart = [mine - its for mine, its in zip(row["losses"], base["losses"], strict=True)]
        wide = len(apart) > 1 and quantile(0.95, len(apart) - 1) * statistics.stdev(apart) / len(apart) ** 0.5
        speeds = [row[name] / base[name] for name in ("tokens_per_s", "drawn_per_s", "drawn_per_s_long")]
        lines.append(
            f"| {row['name']} | {row['parameters']:,} | {statistics.fmean(row['losses']):.3f} | "
            f"{statistics.fmean(apart):+.3f} ± {wide:.3f} | {' | '.join(f'{speed:.2f}' for speed in speeds)} | "
            f"{row['kept_bytes'] / 2**20:.1f} MiB | {row['cache_bytes'] / 1024:,.0f} KiB |"
        )
    return "\n".join(lines) + "\n"
