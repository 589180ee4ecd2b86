"""Learning rate as a function of the step."""

from __future__ import annotations

import math

from .config import TrainConfig

FIELDS = {"lr", "steps", "schedule", "warmup", "final_lr", "decay"}
"""Fields of a config that only the learning rate depends on."""


def lr_at(step: int, config: TrainConfig) -> float:
    """Return the learning rate of a step, counted from 0: linear warm-up, then the schedule.

    "cosine": half a cosine from `lr` to `final_lr * lr` (Loshchilov and Hutter 2017). "linear": a line to the same
    value. "wsd": constant, then, over the last share `decay` of the steps, lowered to `final_lr * lr` by 1 - sqrt (Hu
    et al. 2024; Hägele et al. 2024). "constant": always `lr`.
    """
    if step < config.warmup:
        return config.lr * (step + 1) / config.warmup
    steps = config.steps or 0
    if config.schedule == "cosine":
        falling = (1 + math.cos(math.pi * _share(step, config.warmup, steps))) / 2
    elif config.schedule == "linear":
        falling = 1 - _share(step, config.warmup, steps)
    elif config.schedule == "wsd":
        falling = 1 - math.sqrt(_share(step, flat_until(config), steps))
    else:
        return config.lr
    return config.lr * (config.final_lr + (1 - config.final_lr) * falling)


def flat_until(config: TrainConfig) -> int:
    """Return the step at which the schedule "wsd" begins to lower the learning rate."""
    steps = config.steps or 0
    return max(config.warmup, steps - math.ceil(config.decay * steps))


def same_past(step: int, config: TrainConfig, other: TrainConfig) -> bool:
    """Return whether the learning rates of the first `step` steps are the same in both configs."""
    return all(lr_at(i, config) == lr_at(i, other) for i in range(step))


def _share(step: int, first: int, steps: int) -> float:
    """Return the progress from `first` to the last step, 0 to 1."""
    return min(1.0, max(0.0, (step - first) / max(1, steps - 1 - first)))
