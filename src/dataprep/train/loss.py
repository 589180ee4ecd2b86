"""Loss of each token, computed from the model's residual stream, for a part of the vocabulary at a time.

The scores of 32 rows of 1,024 tokens over 50,257 ids need 6 GiB in float32; their softmax and their gradient each need
as much again. Here no tensor has more scores than `block_of(device)`. For each token, the forward pass keeps only the
logarithm of the sum of the scores' exponentials; the backward pass computes the scores again, which costs one more
product with the matrix of the vocabulary.
"""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .compiled import compiled, has_kernels
from .data.rows import IGNORE
from .model.gpt import GPT, capped
from .model.masks import Mask

BLOCK = 1 << 24
"""Maximum count of scores in a tensor on the CPU: 64 MiB in float32. Fewer are one block, by torch's cross entropy."""
SHARE = 64
"""On CUDA a tensor has at most this part of the card's memory: each block reads and adds to the gradient of all inputs,
so that few large ones are faster."""


def token_nats(model: GPT, ids_BT: Tensor, targets_BT: Tensor, mask: Mask | None = None) -> Tensor:
    """Return the loss in nats of predicting each target, float32 (B, T); 0 for targets that are IGNORE (-100).

    - ids_BT: the inputs of B rows of T tokens, int64.
    - targets_BT: the targets of these rows, int64.
    - mask: the inputs to which each input attends; None: causal attention.
    """
    return token_nats_and_more(model, ids_BT, targets_BT, mask)[0]


def token_nats_and_more(
    model: GPT, ids_BT: Tensor, targets_BT: Tensor, mask: Mask | None = None
) -> tuple[Tensor, Tensor | None]:
    """Return (the result of `token_nats`, the model's further losses, None if there are none).

    The second element is a mean over the tokens, a scalar (see `GPT.outputs`).
    """
    x_BTD, more = model.stream(ids_BT, mask)
    nats_N = nats(x_BTD.flatten(0, 1), model.head_weight, targets_BT.flatten(), model.n_scores, model.config.softcap)
    return nats_N.view_as(targets_BT), more


def nats(x_ND: Tensor, weight_VD: Tensor, targets_N: Tensor, vocab_size: int, softcap: float | None = None) -> Tensor:
    """Return -log softmax of each target's score, float32 (N); 0 for targets that are IGNORE (-100).

    - x_ND: N outputs of the model's last layer, of width D. The scores are their products with the first `vocab_size`
      rows of weight_VD, the matrix of the vocabulary, which may have more rows.
    - softcap: the bound of the scores (see `ModelConfig`), or None.
    """
    if len(x_ND) * vocab_size > block_of(x_ND.device):
        out: Tensor = _InBlocks.apply(x_ND, weight_VD[:vocab_size], targets_N, softcap)  # type: ignore[no-untyped-call]
        return out
    logits_NV = F.linear(x_ND, weight_VD.to(x_ND.dtype)).float()[:, :vocab_size]
    return F.cross_entropy(capped(logits_NV, softcap), targets_N, ignore_index=IGNORE, reduction="none")


def block_of(device: torch.device) -> int:
    """Return the maximum number of scores in one tensor: `BLOCK`, or on CUDA a `SHARE`th of the memory in float32."""
    if device.type != "cuda":
        return BLOCK
    return max(BLOCK, torch.cuda.get_device_properties(device).total_memory // (4 * SHARE))


def _blocks(x_ND: Tensor, weight_VD: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Yield parts of the matrix, in the type of x_ND, with their first id; the scores of each part fill one block.

    A part has at least 64 ids.
    """
    width = max(64, block_of(x_ND.device) // len(x_ND) // 64 * 64)
    for first in range(0, len(weight_VD), width):
        yield first, weight_VD[first : first + width].to(x_ND.dtype)


class _InBlocks(torch.autograd.Function):
    """`nats` with its gradients, a block of the vocabulary at a time."""

    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, weight_VD: Tensor, targets_N: Tensor, softcap: float | None) -> Tensor:
        fold = _fused(_fold, x_ND)
        total_N = torch.full((len(x_ND),), -torch.inf, device=x_ND.device)
        target_N = torch.zeros_like(total_N)
        for first, block_VD in _blocks(x_ND, weight_VD):
            total_N, target_N = fold(x_ND @ block_VD.T, total_N, target_N, targets_N - first, softcap)
        ctx.save_for_backward(x_ND, weight_VD, targets_N, total_N)
        ctx.softcap = softcap
        return (total_N - target_N).masked_fill(targets_N == IGNORE, 0)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        x_ND, weight_VD, targets_N, total_N = ctx.saved_tensors
        grad_N = grads[0].masked_fill(targets_N == IGNORE, 0)
        slope = _fused(_slope, x_ND)
        grad_ND = torch.zeros(x_ND.shape, device=x_ND.device)
        grad_VD = torch.empty(weight_VD.shape, device=x_ND.device) if ctx.needs_input_grad[1] else None
        for first, block_VD in _blocks(x_ND, weight_VD):
            slope_NV = slope(x_ND @ block_VD.T, total_N, grad_N, targets_N - first, ctx.softcap)
            grad_ND += slope_NV @ block_VD
            if grad_VD is not None:
                grad_VD[first : first + len(block_VD)] = slope_NV.T @ x_ND
        return grad_ND.to(x_ND.dtype), None if grad_VD is None else grad_VD.to(weight_VD.dtype), None, None


def _fold(
    logits_NV: Tensor, total_N: Tensor, target_N: Tensor, place_N: Tensor, softcap: float | None
) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the sum so far with a block's scores added, and the targets' scores so far."""
    logits_NV = capped(logits_NV.float(), softcap)
    inside_N = (place_N >= 0) & (place_N < logits_NV.shape[1])
    own_N = logits_NV.gather(1, place_N.clamp(0, logits_NV.shape[1] - 1)[:, None])[:, 0]
    return torch.logaddexp(total_N, logits_NV.logsumexp(1)), torch.where(inside_N, own_N, target_N)


def _slope(logits_NV: Tensor, total_N: Tensor, grad_N: Tensor, place_N: Tensor, softcap: float | None) -> Tensor:
    """Return the gradient with respect to a block's scores, (N, V) in their type."""
    scores_NV = capped(logits_NV.float(), softcap)
    share_NV = (scores_NV - total_N[:, None]).exp_()
    inside_N = (place_N >= 0) & (place_N < logits_NV.shape[1])
    place_N = place_N.clamp(0, logits_NV.shape[1] - 1)
    share_NV.scatter_add_(1, place_N[:, None], -inside_N[:, None].float())
    slope_NV = share_NV.mul_(grad_N[:, None])
    if softcap is not None:
        slope_NV = slope_NV * (1 - (scores_NV / softcap).square())  # the derivative of tanh
    return slope_NV.to(logits_NV.dtype)


@functools.cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return compiled(function)


def _fused(function: Callable[..., Any], like: Tensor) -> Callable[..., Any]:
    """Return the function, as one kernel on CUDA with Triton."""
    return _compiled(function) if has_kernels(like.device) else function
