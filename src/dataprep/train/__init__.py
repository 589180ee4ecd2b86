"""The trainer: token shards in, a decoder-only GPT out. It needs torch and numpy, nothing else.

    from dataprep.train import preset, train
    result = train("work/shards", out="work/model", config=preset("tiny"))

Names load on first use, so reading a config or a preset does not import torch.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from dataprep.errors import need

if TYPE_CHECKING:
    from .adapters import TorchRows, to_hf
    from .checkpoint import load_model
    from .config import PRESETS, ModelConfig, TrainConfig, preset
    from .loop import train
    from .model import GPT
    from .run import Result
    from .sample import Sampling, generate, sample_text
    from .sets import named

__all__ = [
    "GPT",
    "PRESETS",
    "ModelConfig",
    "Result",
    "Sampling",
    "TorchRows",
    "TrainConfig",
    "generate",
    "load_model",
    "named",
    "preset",
    "sample_text",
    "to_hf",
    "train",
]

_HOME = {
    "GPT": "model",
    "PRESETS": "config",
    "ModelConfig": "config",
    "Result": "run",
    "Sampling": "sample",
    "TorchRows": "adapters",
    "TrainConfig": "config",
    "generate": "sample",
    "load_model": "checkpoint",
    "named": "sets",
    "preset": "config",
    "sample_text": "sample",
    "to_hf": "adapters",
    "train": "loop",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    if _HOME[name] != "config":
        # OpenMP threads that spin while they wait starve each other on a busy machine: 2 threads on 2 cores took
        # 2.4 s per step, and 0.7 s with this. It only has an effect if set before torch is loaded.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        need("torch", extra="train")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
