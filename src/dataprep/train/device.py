"""Choose the device and the number type of a training run, and raise an error that names a fix if memory runs out."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import resource
import sys
from collections.abc import Iterator

import torch

from dataprep.errors import DataprepError, PlanError

from .config import TrainConfig

_KINDS = ("cpu", "cuda", "mps", "xpu")
HAS_TRITON = importlib.util.find_spec("triton") is not None
"""Whether torch can compile kernels for CUDA; a constant, since torch.compile warns of cached functions."""


def pick_device(name: str) -> torch.device:
    """Return the device with the name `name`; "auto" is CUDA if there is a GPU, else the CPU.

    Raises PlanError if this machine does not have the device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    parts = re.fullmatch(rf"({'|'.join(_KINDS)})(?::(\d{{1,3}}))?", name) if isinstance(name, str) else None
    if parts is None:
        msg = f"device={name!r} must be auto, {', '.join(_KINDS)}, or one of several GPUs, such as cuda:1"
        raise PlanError(msg)
    count = _count(parts[1])
    if int(parts[2] or 0) >= count:
        found = f"{count} of kind {parts[1]}" if count else f"no {parts[1].upper()} card here"
        msg = f"device={name!r}: torch {torch.__version__} sees {found}; use device='cpu', or 'auto'"
        raise PlanError(msg)
    return torch.device(name)


def _count(kind: str) -> int:
    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    return 1 if kind == "cpu" else int(torch.xpu.device_count())


def pick_dtype(name: str, device: torch.device) -> torch.dtype:
    """Return the number type of activations with the name `name`.

    "auto" is bfloat16 if the device computes fast with it (CUDA GPUs of compute capability 8, 2020, or later), else
    float32.
    """
    if name == "auto":
        fast = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
        return torch.bfloat16 if fast else torch.float32
    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[name]


def peak_memory(device: torch.device) -> int:
    """Return the peak memory of tensors on a CUDA device so far, in bytes; for other devices, that of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@contextlib.contextmanager
def memory_named(config: TrainConfig, ranks: int = 1) -> Iterator[None]:
    """Raise a DataprepError that names the settings to lower if memory runs out inside the `with` block.

    - ranks: the number of processes that share a batch.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as e:
        if not is_memory(e):
            raise
        rows, model = min(config.rows, config.batch // ranks), config.model
        less = f"micro_batch (now {rows}; the result is the same), " if rows > 1 else ""
        again = "" if config.recompute else ", or set recompute=True, which is slower and has the same result"
        msg = (
            f"out of memory on device={config.device!r}: lower {less}model.context (now {model.context}), "
            f"model.d_model (now {model.d_model}) or model.n_layers (now {model.n_layers}){again}"
        )
        raise DataprepError(msg) from e


@contextlib.contextmanager
def model_memory_named(device: object, remedy: str) -> Iterator[None]:
    """Raise a DataprepError that names a remedy if memory for a trained model runs out inside the `with` block.

    Args:
        device: the device of the model.
        remedy: the advice to the user, for the message.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as e:
        if not is_memory(e):
            raise
        cpu = "" if str(device) == "cpu" else ", or use device='cpu' (--device cpu)"
        msg = f"out of memory on device='{device}': {remedy}{cpu}"
        raise DataprepError(msg) from e


def is_memory(error: Exception) -> bool:
    """Return whether an error reports a failed allocation, by its class (CUDA) or by its text (other devices)."""
    texts = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
    return isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)) or any(t in str(error) for t in texts)
