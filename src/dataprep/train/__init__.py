"""The trainer: makes a decoder-only GPT from token shards. It needs torch and numpy, nothing else.

    from dataprep.train import preset, train
    result = train("work/shards", out="work/model", config=preset("tiny"))

Names load on first use, so reading a config or a preset does not import torch.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
from typing import TYPE_CHECKING, Any

from dataprep.errors import need

if TYPE_CHECKING:
    from .adapters import TorchRows as TorchRows
    from .adapters import to_hf as to_hf
    from .checkpoint import load_model as load_model
    from .config import TrainConfig as TrainConfig
    from .data.sets import named as named
    from .generation import generate as generate
    from .generation import generate_batch as generate_batch
    from .generation import sample_text as sample_text
    from .loop import train as train
    from .model.gpt import GPT as GPT
    from .presets import PRESETS as PRESETS
    from .presets import preset as preset
    from .run import Result as Result
    from .sampling import Sampling as Sampling
    from .shape import ModelConfig as ModelConfig
    from .start import starting_config as starting_config

# Every public name, by the module it is defined in.
_NAMES = {
    "adapters": "TorchRows to_hf", "checkpoint": "load_model", "config": "TrainConfig",
    "data.sets": "named", "generation": "generate generate_batch sample_text", "loop": "train", "model.gpt": "GPT",
    "presets": "PRESETS preset", "run": "Result", "sampling": "Sampling", "shape": "ModelConfig",
    "start": "starting_config",
}  # fmt: skip
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOME)  # noqa: PLE0605 - a list all the same
_CACHE = "TORCHINDUCTOR_CACHE_DIR"  # set by torch to the folder in TMPDIR that it makes, although nothing is compiled


def _remove_empty_cache() -> None:
    """Remove torch's folder for compiled code if it is empty."""
    if _CACHE in os.environ:
        with contextlib.suppress(OSError):
            os.rmdir(os.environ[_CACHE])


if _CACHE not in os.environ:
    atexit.register(_remove_empty_cache)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    if _HOME[name] not in ("config", "presets", "shape"):
        # OpenMP threads that spin while they wait starve each other on a busy machine: 2 threads on 2 cores took
        # 2.4 s per step, and 0.7 s with this. It only has an effect if set before torch is loaded.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        need("torch", extra="train")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
