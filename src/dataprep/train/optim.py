"""Optimisation: AdamW, in which only some parameters have weight decay, and one training step."""

# ruff: noqa: N806 - the shape letters are capitals
from __future__ import annotations

import torch
from torch import Tensor, nn

from .config import TrainConfig
from .data.rows import Rows
from .data.sets import to_device
from .distributed import ALONE, World
from .loss import token_nats
from .model.gpt import GPT
from .preference import Preference
from .roles import roles
from .scaling import OVERFLOW, Scaler

DECAYED = ("matrix", "embedding")


def adamw(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """Return the optimiser AdamW (Loshchilov and Hutter 2019) for the parameters of `model` that are not frozen.

    Only parameters whose role (such as "matrix" or "norm") is in `DECAYED` have weight decay.
    """
    role_of, params = roles(model), {n: p for n, p in model.named_parameters() if p.requires_grad}
    groups = [
        {"params": [p for n, p in params.items() if role_of[n] in DECAYED], "weight_decay": config.weight_decay},
        {"params": [p for n, p in params.items() if role_of[n] not in DECAYED], "weight_decay": 0.0},
    ]
    fused = next(iter(params.values())).device.type in {"cuda", "cpu"}  # one kernel; on the CPU a fifth of the time
    return torch.optim.AdamW(groups, lr=config.lr, betas=config.betas, fused=fused)


def step_once(
    model: GPT, optimizer: torch.optim.Optimizer, rows: Rows, lr: float, config: TrainConfig, world: World = ALONE,
    limit: Tensor | None = None, n_targets: int | None = None, pairs: Preference | None = None,
    scaler: Scaler | None = None,
) -> Tensor:  # fmt: skip
    """Update the weights by one batch; return (loss in nats per token, gradient norm), float32 (2) on the device.

    rows: the batch, or this process's share of it. lr: learning rate. world: the processes that share the batch. The
    norm is that before clipping. The loss of each micro-batch is divided by the number of targets in the *whole* batch,
    so every token has the same weight. A batch without a target has loss 0 and no gradient. If loss or norm is not
    finite, weights and AdamW's moments do not change; neither do they if the loss is above `limit`, a scalar.
    n_targets: number of targets of all processes; None: this process has all of them. pairs: the loss of preference
    tuning, whose targets are pairs of rows; None: the loss of each token. scaler: that of float16; if a scaled gradient
    overflows, the norm is `scaling.OVERFLOW`, and weights and moments do not change.
    """
    device = model.device
    n_targets = max(1, counted(rows, pairs) if n_targets is None else n_targets)
    loss = torch.zeros((), device=device)
    for i in range(0, len(rows.tokens), config.rows):
        x_BT, y_BT, mask = to_device(rows.part(i, i + config.rows), device)
        losses = token_nats if pairs is None else pairs.losses
        part = losses(model, x_BT, y_BT, mask).sum() / n_targets
        (part if scaler is None else part * scaler.scale).backward()  # type: ignore[no-untyped-call]
        loss += part.detach()
    world.add_up([loss, *(p.grad for p in model.parameters() if p.grad is not None)])
    if scaler is not None:
        scaler.unscale(model.parameters())
    norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    for group in optimizer.param_groups:
        group["lr"] = lr
    found = torch.stack([loss, norm])
    if scaler is not None:
        found = torch.stack([loss, scaler.update(loss, norm)])
    world.copy_first([found])  # whatever the hardware rounds: all processes decide alike
    fine = torch.isfinite(found).all() & (found[1] != OVERFLOW)
    _update(optimizer, fine if limit is None else fine & (found[0] <= limit))
    optimizer.zero_grad(set_to_none=True)
    return found


def counted(rows: Rows, pairs: Preference | None) -> int:
    """Return the number of losses of which a step's loss is the mean: those of targets, or of pairs of rows."""
    return rows.n_targets if pairs is None else len(rows.tokens) // 2


def _update(optimizer: torch.optim.Optimizer, fine: Tensor) -> None:
    """Update the weights if `fine`. A fused optimiser decides that on the device, so that nobody waits for it."""
    if optimizer.defaults.get("fused"):
        optimizer.found_inf = (~fine).float()  # type: ignore[attr-defined]
        optimizer.grad_scale = None  # type: ignore[attr-defined]
        optimizer.step()
    elif fine:
        optimizer.step()
