"""Compare the parts of models: each variant is trained on the same tokens with several seeds, and measured.

    dataprep run pipelines/architectures.py --out out/architectures
    ARCHITECTURES_STEPS=8000 ARCHITECTURES_PRESET=course-phase0 dataprep run pipelines/architectures.py --out out/course

A variant changes one part of the preset, and the six phases of the course are rows of their own; all have the sizes of
the preset, and the same kernels. The table has, for each row, the parameters, the validation loss (mean and standard
deviation over seeds), the tokens per second of training and of generation, and the bytes of a cache of one full context
in 16-bit numbers. A model that was trained is not trained again unless its folder is deleted; the speeds are those of
its only run, so nothing else should run on the machine.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import dataprep as dp
from dataprep.store import files
from dataprep.train import Sampling, TrainConfig, generate, load_model, preset, train
from dataprep.train.metrics import read
from dataprep.train.presets import PHASES
from dataprep.train.shape import ModelConfig
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


def _rows(base: ModelConfig) -> dict[str, ModelConfig]:
    """Return {name: shape} of the rows of the table: the base, its variants, and the phases of the course."""
    found, shape = {"base": base} | {name: replace(base, **change) for name, change in VARIANTS.items()}, base
    for n, change in enumerate(PHASES[1:], start=1):
        shape = replace(shape, **change | ({"latent": 16} if "latent" in change else {}))
        found[f"phase {n}"] = shape
    return found


def shards(out, runner):
    """Train a vocabulary on the corpus, and write token shards, of which a tenth is for validation."""
    docs = dp.Pipeline(dp.Exact()).run(dp.read(INPUT), out=files.join(out, "docs"), runner=runner, replace=True)
    tok = dp.train_bpe(docs, vocab_size=VOCABULARY, val=0.1, runner=runner, out=files.join(out, "tokenizer"))
    return dp.encode(docs, tok, out=files.join(out, "tokens"), val=0.1, runner=runner, replace=True)


def table(shards, out):
    """Train every row with every seed, and write the table as JSON and as Markdown."""
    config = preset(PRESET).override("micro_batch=None", *SETTINGS)
    config = replace(config, steps=STEPS, warmup=STEPS // 10, eval_every=STEPS, save_every=STEPS, log_every=STEPS)
    found = [_measured(name, shape, config, shards.path, Path(out)) for name, shape in _rows(config.model).items()]
    files.write_json(files.join(out, "table.json"), found)
    with files.atomic(files.join(out, "table.md")) as f:
        f.write(_markdown(found).encode())
    return _markdown(found)


def _measured(name: str, shape: ModelConfig, config: TrainConfig, data: str, out: Path) -> dict[str, Any]:
    """Train one row with every seed; return its figures."""
    losses, speeds = [], []
    for seed in SEEDS:
        home = out / name.replace(": ", "-").replace(" ", "-") / str(seed)
        result = train(data, out=home, config=replace(config, model=shape, seed=seed), quiet=True)
        losses.append(result.val_loss)
        speeds += [row["tokens_per_s"] for row in read(home / "metrics.jsonl") if "tokens_per_s" in row]
    model, _ = load_model(home)
    drawn, half = {}, shape.context // 2
    for length in (1, half - 1):
        prompt = [i % model.vocab_size for i in range(length)]
        began = time.perf_counter()
        n = sum(1 for _ in generate(model, prompt, Sampling(seed=0), max_tokens=min(DRAWN, half)))
        drawn[str(length)] = round(n / (time.perf_counter() - began))
    return {
        "name": name, "parameters": model.n_params, "loss": statistics.fmean(losses),
        "deviation": statistics.stdev(losses) if len(losses) > 1 else 0.0, "tokens_per_s": statistics.median(speeds),
        "drawn_per_s": drawn, "cache_bytes": 2 * cached(shape), "settings": asdict(shape),
    }  # fmt: skip


def _markdown(found: list[dict[str, Any]]) -> str:
    """Return the table; the last columns have the tokens drawn per second after a short and after a long prompt."""
    names = ("variant", "parameters", "loss", "deviation", "tokens/s", "drawn/s", "drawn/s, long", "cache")
    lines = [f"| {' | '.join(names)} |", "|---|" + "---:|" * 7]
    for row in found:
        short, long = row["drawn_per_s"].values()
        lines.append(
            f"| {row['name']} | {row['parameters']:,} | {row['loss']:.4f} | {row['deviation']:.4f} | "
            f"{row['tokens_per_s']:,.0f} | {short:,} | {long:,} | {row['cache_bytes'] / 1024:,.0f} KiB |"
        )
    return "\n".join(lines) + "\n"
