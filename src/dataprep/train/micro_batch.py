"""Find the largest micro-batch that fits into the memory of a GPU, by training steps of growing size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

import torch

from dataprep.errors import PlanError

from .config import TrainConfig
from .data.sets import Loader
from .device import is_memory, memory_named
from .distributed import ALONE, World
from .model.gpt import GPT
from .optim import optimizer_of, step_once

SPARE = 0.05
"""Share of a GPU's memory that a step must leave free: later steps divide the memory in another way."""
REPORTING = ("cuda", "xpu", "mps")
"""Devices that raise an error when their memory is full."""


def find_micro_batch(model: GPT, loader: Loader, config: TrainConfig, world: World = ALONE) -> int:
    """Return the largest number of rows, a divisor of `config.batch`, with which a training step fits into memory.

    - model: the model, on the device to train on and not compiled (a compiled model needs less memory). The weights of
      the model and the state of the random generators are the same afterwards.
    - world: the processes among which moments are divided; nothing is exchanged. The result depends only on the model,
      the config, and the memory that is free on the device.

    Raises PlanError if the device is the CPU, which does not report when its memory is full; DataprepError if not even
    one row fits.
    """
    if model.device.type not in REPORTING:
        msg = "micro_batch='auto' measures the memory of a GPU, and this run is on the CPU; set a number, or None"
        raise PlanError(msg)
    weights = {name: tensor.to("cpu", copy=True) for name, tensor in model.state_dict().items()}
    cards = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(cards):
        found = largest(divisors(config.batch), lambda n: _fits(model, loader, replace(config, micro_batch=n), world))
    model.load_state_dict(weights)
    return found


def divisors(n: int) -> list[int]:
    """Return the divisors of `n`, ascending.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    low = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return low + [n // d for d in reversed(low) if d * d != n]


def largest(sizes: Sequence[int], fits: Callable[[int], bool]) -> int:
    """Return the largest of `sizes`, ascending numbers, that fits; the first one must fit.

    Sizes are at least doubled until one does not fit; then the sizes between are bisected. If a size does not fit, all
    larger ones are assumed not to fit.

    - fits: function that returns whether a size fits.
    """
    low, high = 0, len(sizes)  # sizes[low] fits, sizes[high] does not
    assert fits(sizes[0]), "the smallest size must fit"
    while low + 1 < high == len(sizes):
        tried = next((i for i in range(low + 1, len(sizes)) if sizes[i] >= 2 * sizes[low]), len(sizes) - 1)
        low, high = (tried, high) if fits(sizes[tried]) else (low, tried)
    while low + 1 < high:
        tried = (low + high) // 2
        low, high = (tried, high) if fits(sizes[tried]) else (low, tried)
    return sizes[low]


def _fits(model: GPT, loader: Loader, config: TrainConfig, world: World) -> bool:
    """Return whether two steps fit into memory; raise DataprepError if even micro-batches of one row do not fit."""
    with memory_named(config) if config.rows == 1 else nullcontext():
        try:
            _two_steps(model, loader, config, world)
        except (MemoryError, RuntimeError) as e:
            if config.rows == 1 or not is_memory(e):
                raise
            fits = False
        else:
            fits = True
    model.zero_grad(set_to_none=True)
    if model.device.type == "cuda":
        torch.cuda.empty_cache()
    return fits


def _two_steps(model: GPT, loader: Loader, config: TrainConfig, world: World) -> None:
    """Make two steps of two micro-batches; the second starts with gradients and moments in memory."""
    spare = _spare(model.device)
    rows, optimizer = loader.rows(0).part(0, min(config.batch, 2 * config.rows)), optimizer_of(model, config, world)
    for _ in range(2):
        step_once(model, optimizer, rows, 0.0, config)
    del spare


def _spare(device: torch.device) -> torch.Tensor | None:
    """Return a tensor that occupies the memory that must stay free."""
    if device.type != "cuda":
        return None
    return torch.empty(int(SPARE * torch.cuda.mem_get_info(device)[1]), dtype=torch.uint8, device=device)
