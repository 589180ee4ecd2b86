"""Optimisation: the optimiser of a model, in which only some parameters have weight decay, and one training step."""

# ruff: noqa: N806 - the shape letters are capitals
from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .checkpoint import is_numbers, rejected
from .config import TrainConfig
from .data.rows import Rows
from .data.sets import to_device
from .distributed import ALONE, World
from .gradients import GradientSums
from .loss import token_nats, token_nats_and_more
from .model.gpt import GPT
from .muon import MuonAndAdamW, hidden_of
from .preference import Preference
from .roles import roles
from .scaling import OVERFLOW, Scaler
from .sharded import MOMENTS, ShardedAdamW

DECAYED = ("matrix", "embedding")
REDUCED = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def optimizer_of(model: GPT, config: TrainConfig, world: World = ALONE) -> torch.optim.AdamW:
    """Return the optimiser for the parameters of `model` that are not frozen.

    With `config.optimizer` "adamw", all are updated by AdamW (Loshchilov and Hutter 2019); with "muon", the matrices of
    blocks by Muon (`MuonAndAdamW`), and the others by AdamW. Only parameters whose role (such as "matrix" or "norm") is
    in `DECAYED` have weight decay. If `config.shard_optimizer`, the moments of AdamW are divided among the processes of
    `world`.
    """
    role_of, params = roles(model), {n: p for n, p in model.named_parameters() if p.requires_grad}
    fused = next(iter(params.values())).device.type in {"cuda", "cpu"}  # one kernel; on the CPU a fifth of the time
    hidden = hidden_of(model) if config.optimizer == "muon" else []
    others = {n: p for n, p in params.items() if not any(p is h.weight for h in hidden)}
    groups = [
        {"params": [p for n, p in others.items() if role_of[n] in DECAYED], "weight_decay": config.weight_decay},
        {"params": [p for n, p in others.items() if role_of[n] not in DECAYED], "weight_decay": 0.0},
    ]
    betas = (float(config.betas[0]), float(config.betas[1]))  # torch refuses whole numbers
    how: dict[str, Any] = {"lr": config.lr, "betas": betas, "fused": fused}
    if hidden:
        return MuonAndAdamW(groups, hidden, config.weight_decay, **how)
    if config.shard_optimizer and world.ranks > 1:
        return ShardedAdamW(groups, world, **how)
    return torch.optim.AdamW(groups, **how)


def take_moments(optimizer: torch.optim.AdamW, saved: Mapping[str, Any], path: Path) -> None:
    """Load the moments of a checkpoint's optimiser; learning rate, weight decay and so on are those of `optimizer`.

    - saved: the result of the `state_dict` of an optimiser for the same parameters.
    - path: the checkpoint's path, for the message.

    Raises CorruptShard if the moments are of other parameters, or not finite numbers.
    """
    state, forms = saved.get("state"), _forms(optimizer)
    moments = [state.get(i) for i in range(len(forms))] if isinstance(state, dict) else []
    if len(moments) != len(forms) or not all(map(_have, moments, forms)):
        raise rejected(path, "its optimizer has not the moments of this model")
    groups = torch.optim.AdamW.state_dict(optimizer)["param_groups"]
    optimizer.load_state_dict({"state": {i: moments[i] for i in range(len(forms))}, "param_groups": groups})


def _forms(optimizer: torch.optim.AdamW) -> list[dict[str, tuple[int, ...]]]:
    """Return the shape of each of the moments of each parameter, in the order of `state_dict`."""
    if isinstance(optimizer, ShardedAdamW):
        parameters = [share.parameter for share in optimizer.shares]
    else:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
    found = [{"step": (), **dict.fromkeys(MOMENTS, tuple(p.shape))} for p in parameters]
    hidden = optimizer.hidden if isinstance(optimizer, MuonAndAdamW) else []
    return [*found, *({"momentum_buffer": tuple(h.own.shape)} for h in hidden)]


def _have(moments: Any, form: Mapping[str, tuple[int, ...]]) -> bool:
    """Return whether moments are tensors of these shapes, of finite numbers."""
    if not isinstance(moments, dict) or moments.keys() != form.keys():
        return False
    return all(is_numbers(moments[name]) and tuple(moments[name].shape) == form[name] for name in form)


def step_once(
    model: GPT, optimizer: torch.optim.Optimizer, rows: Rows, lr: float, config: TrainConfig, world: World = ALONE,
    limit: Tensor | None = None, notes: Tensor | None = None, pairs: Preference | None = None,
    scaler: Scaler | None = None,
) -> Tensor:  # fmt: skip
    """Update the weights by one batch; return (loss in nats per token, gradient norm), float32 (2) on the device.

    - rows: the batch, or this process's share of it.
    - lr: the learning rate.
    - world: the processes that share the batch. The norm is the one before clipping. Loss and gradient are divided by
      the number of targets in the *whole* batch, so every token has the same weight. Several processes receive this
      number with the sums of the gradients; until then, they divide by the largest possible number. A batch without a
      target has loss 0 and no gradient. The model's other losses (`GPT.outputs`) contribute gradients, weighted by the
      targets of each micro-batch, but are not included in the returned loss. If loss or norm is not finite, weights and
      the moments do not change; neither do they if the loss is above `limit`, a scalar.
    - notes: 1-D float32, numbers to replace by their sums over all processes, in the same exchange.
    - pairs: the loss of preference tuning, whose targets are pairs of rows; None: the loss of each token.
    - scaler: the loss scaler of float16; if a scaled gradient overflows, the norm is `scaling.OVERFLOW`, and weights
      and moments do not change.
    """
    device = model.device
    n_targets, alone = counted(rows, pairs), world.ranks == 1
    most = config.batch * config.model.context if pairs is None else config.batch // 2
    divisor = max(1, n_targets) if alone else most
    loss = torch.zeros((), device=device)
    sums = GradientSums(model.parameters(), world, REDUCED[config.reduce_dtype])
    for i in range(0, len(rows.tokens), config.rows):
        some = rows.part(i, i + config.rows)
        x_BT, y_BT, mask = to_device(some, device)
        if pairs is None and model.config.has_experts:
            part, more = token_nats_and_more(model, x_BT, y_BT, mask)
        else:
            losses = token_nats if pairs is None else pairs.losses
            part, more = losses(model, x_BT, y_BT, mask), None
        part = part.sum() / divisor
        loss += part.detach()
        if more is not None:
            part = part + more * (counted(some, pairs) / divisor)
        with sums.begun_early() if i + config.rows >= len(rows.tokens) else contextlib.nullcontext():
            (part if scaler is None else part * scaler.scale).backward()  # type: ignore[no-untyped-call]
    if not alone:
        loss = _finish(sums, model, loss, n_targets, divisor, notes)
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
    if isinstance(optimizer, ShardedAdamW) and world.ranks > 1:
        optimizer.gather_weights()
    optimizer.zero_grad(set_to_none=True)
    return found


def _finish(
    sums: GradientSums, model: nn.Module, loss: Tensor, n_targets: int, divisor: int, notes: Tensor | None
) -> Tensor:
    """Finish the sums over all processes; divide gradients by the number of all targets; return the loss of all.

    - loss: the sum of this process's losses over `divisor`, by which its gradients were divided too.
    """
    numbers = [loss[None], torch.full_like(loss[None], n_targets), *([] if notes is None else [notes])]
    shared = torch.cat(numbers)
    sums.finish(shared)
    scale = divisor / shared[1].clamp(min=1)
    torch._foreach_mul_([p.grad for p in model.parameters() if p.grad is not None], scale)
    if notes is not None:
        notes.copy_(shared[2:])
    return shared[0] * scale


def counted(rows: Rows, pairs: Preference | None) -> int:
    """Return the number of losses of which a step's loss is the mean: those of targets, or of pairs of rows."""
    return rows.n_targets if pairs is None else len(rows.tokens) // 2


def _update(optimizer: torch.optim.Optimizer, fine: Tensor) -> None:
    """Update the weights if `fine`. A fused optimiser decides this on the device, so that the host does not wait."""
    if optimizer.defaults.get("fused"):
        optimizer.found_inf = (~fine).float()  # type: ignore[attr-defined]
        optimizer.grad_scale = None  # type: ignore[attr-defined]
        optimizer.step()
    elif fine:
        optimizer.step()
