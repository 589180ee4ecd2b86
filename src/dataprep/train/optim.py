"""Optimisation: AdamW with decay groups, the learning rate as a function of the step, and one step."""


# ruff: noqa: N806 - the shape letters are capitals
from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .config import TrainConfig
from .data import to_device
from .model import GPT
from .rows import Rows


def lr_at(step: int, config: TrainConfig) -> float:
    """Return the learning rate of a step, counted from 0: linear warm-up, then the schedule.

    cosine: half a cosine from `lr` to `final_lr * lr` (Loshchilov and Hutter 2017). wsd: flat, and over the
    last `decay` of the steps down by 1 - sqrt (Hu et al. 2024; Hägele et al. 2024). constant: flat.
    """
    if step < config.warmup:
        return config.lr * (step + 1) / config.warmup
    steps = config.steps or 0
    if config.schedule == "cosine":
        share = _share(step, config.warmup, steps)
        falling = (1 + math.cos(math.pi * share)) / 2
    elif config.schedule == "wsd":
        first = max(config.warmup, steps - math.ceil(config.decay * steps))
        falling = 1 - math.sqrt(_share(step, first, steps))
    else:
        return config.lr
    return config.lr * (config.final_lr + (1 - config.final_lr) * falling)


def _share(step: int, first: int, steps: int) -> float:
    """Return the progress from `first` to the last step, 0 to 1."""
    return min(1.0, max(0.0, (step - first) / max(1, steps - 1 - first)))


def adamw(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """Return AdamW (Loshchilov and Hutter 2019) with weight decay on matrices only, not on the norms' gains."""
    params = list(model.parameters())
    groups = [
        {"params": [p for p in params if p.dim() > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in params if p.dim() <= 1], "weight_decay": 0.0},
    ]
    fused = params[0].device.type == "cuda"  # one kernel for all weights there
    return torch.optim.AdamW(groups, lr=config.lr, betas=config.betas, fused=fused)


def step_once(model: GPT, optimizer: torch.optim.Optimizer, rows: Rows, lr: float, config: TrainConfig) -> Tensor:
    """Update the weights by one batch; return (loss in nats per token, gradient norm), on the device.

    Each micro-batch is divided by the targets of the *whole* batch, so every token has the same weight. A batch
    without a target has loss 0 and no gradient.
    """
    device, n_targets = model.rope.device, max(1, rows.n_targets)
    loss = torch.zeros((), device=device)
    for i in range(0, len(rows.tokens), config.rows):
        x_BT, y_BT, mask = to_device(rows.part(i, i + config.rows), device)
        part = model(x_BT, y_BT, mask).sum() / n_targets
        part.backward()
        loss += part.detach()
    norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return torch.stack([loss, norm])
