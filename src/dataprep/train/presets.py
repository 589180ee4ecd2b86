"""Presets: complete settings of a training run by name."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from operator import or_
from typing import Any

from dataprep.errors import PlanError

from .config import TrainConfig
from .shape import ModelConfig


def _gpu(
    n_layers: int, n_heads: int, d_model: int, *, batch: int = 512, rows: int = 32, lr: float = 6e-4, **more: Any
) -> TrainConfig:
    model = ModelConfig(**{"n_layers": n_layers, "n_heads": n_heads, "d_model": d_model, "context": 1024, **more})
    return TrainConfig(
        model=model, batch=batch, micro_batch=rows, lr=lr, warmup=300, save_every=500, eval_every=500, eval_rows=1024
    )


def _course(
    n_layers: int, n_heads: int, d_model: int, *, batch: int = 32, schedule: str = "cosine", **more: Any
) -> TrainConfig:
    """Return the settings of the course for a shape; its models are the Transformer of 2017 with pre-layer norms."""
    parts = {"positions": "learned", "norm": "layer", "feed_forward": "relu", "biases": "all", "tied": False}
    config = _gpu(n_layers, n_heads, d_model, batch=batch, lr=3e-4, **{**parts, "dropout": 0.2, **more})
    return replace(config, warmup=800, schedule=schedule)


PHASES: list[dict[str, Any]] = [
    {}, {"attention": "latent", "latent": 64}, {"positions": "rope"}, {"placement": "post"},
    {"feed_forward": "swiglu"}, {"dropout": 0.0},
]  # fmt: skip
"""What the phases of the course change: latent attention, rotary positions, post-norm, SwiGLU, no dropout."""

PRESETS: dict[str, TrainConfig] = {
    # Small batches, few layers: at equal CPU time (30 s) 4 layers of 128 with 8 rows per step ended at 2.65 bits per
    # byte on 1M tokens of documentation, 2 layers at 2.48, with 4 rows per step at 2.38, this shape at 2.26.
    "tiny": TrainConfig(
        model=ModelConfig(n_layers=2, n_heads=4, d_model=96, context=128),
        steps=1000,
        batch=4,
        lr=5e-3,
        schedule="wsd",
        decay=0.4,
        eval_rows=64,
    ),
    # Of `dp.experiment`, chosen for small differences between seeds: with 8 rows per step their standard deviation was
    # 0.043 bits per byte, with 32 it was 0.012 to 0.030 (docs/experiments.md has more settings).
    "probe": TrainConfig(
        model=ModelConfig(n_layers=1, n_heads=2, d_model=32, context=64, tied=False),
        steps=400,
        batch=32,
        lr=1e-2,
        schedule="wsd",
        decay=0.6,
        final_lr=0.0,
        eval_rows=64,
    ),
    # nanoGPT's settings for a CPU, config/train_shakespeare_char.py: 0.8M parameters with 65 characters.
    "nanogpt": TrainConfig(
        model=ModelConfig(
            n_layers=4, n_heads=4, d_model=128, context=64, positions="learned", norm="layer", feed_forward="gelu"
        ),
        steps=2000,
        batch=12,
        warmup=100,
        betas=(0.9, 0.99),
        eval_rows=400,
    ),
    "11m": _gpu(8, 2, 256, batch=64, rows=64, lr=1e-3),
    "42m": _gpu(10, 4, 512, batch=128, rows=64, lr=1e-3),
    "gpt2-124m": _gpu(12, 12, 768),
    "350m": _gpu(24, 8, 1024, rows=16, lr=3e-4),
    "774m": _gpu(36, 10, 1280, rows=8, lr=2.5e-4),
    "llama-350m": _gpu(24, 8, 1024, rows=16, lr=3e-4, n_kv_heads=4, tied=False),
    # The parts of Qwen 3 and Gemma 3, small: Gemma has five local layers for each global one.
    "qwen3-small": _gpu(8, 4, 384, batch=64, lr=1e-3, n_kv_heads=2, head_width=128, qk_norm=True, rope_base=1e6),
    "gemma3-small": _gpu(
        12, 4, 384, batch=64, lr=1e-3, n_kv_heads=1, head_width=128, qk_norm=True, placement="both",
        feed_forward="geglu", pattern=(*["window"] * 5, "all"), reach=512, rope_base=(*[1e4] * 5, 1e6),
    ),
    # A course on language models of Moroccan Arabic, with its vocabularies of 1,032 and 16,394 ids.
    "darija-11m": _course(6, 6, 384, context=256, batch=64),
    "bodmagh-42m": _course(8, 8, 512, schedule="constant"),
    # Its six phases: each changes one part of the model before. Its own table calls a model without positions the
    # first phase; here the first has learned positions, as its text says.
    **{f"course-phase{n}": _course(4, 16, 256, **model) for n, model in enumerate(accumulate(PHASES, or_))},
}  # fmt: skip
"""Presets by size; `tiny` is the demo's (two CPU cores, under a minute)."""


def preset(name: str) -> TrainConfig:
    """Return the preset, a TrainConfig, with the name `name`, such as "tiny".

    >>> preset("gpt2-124m").model.d_model
    768
    """
    if not isinstance(name, str) or name not in PRESETS:
        msg = f"preset {name!r} must be one of {', '.join(PRESETS)}"
        raise PlanError(msg)
    return PRESETS[name]
