"""Attention masks, which separate the documents of one row, and let all tokens of a prefix attend to each other.

A mask is made once per step and used by every layer: on CUDA with Triton as a FlexAttention block mask, which skips
blocks without a visible pair, elsewhere as a dense boolean for scaled_dot_product_attention (FlexAttention does not
train on the CPU). Rows with neither documents nor prefixes need no mask.
"""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from dataprep.train.device import HAS_TRITON


class Mask(NamedTuple):
    """Attention mask of a batch of B rows of T inputs.

    Attributes:
        allowed: the inputs (keys) to which each input (query) may attend, as a dense mask or a BlockMask.
        position: each input's offset in its document, int64 (B, T).
    """

    position: Tensor
    allowed: Any
    """bool (B, 1, T, T), query by key, or a BlockMask."""

    @staticmethod
    def of(begins_BT: Tensor | None, prefix_BT: Tensor | None) -> Mask:
        """Return the mask in which an input attends to its document up to itself, and one in a prefix to all of it.

        Args:
            begins_BT: bool (B, T), whether the input begins a document; None: each row is one document.
            prefix_BT: bool (B, T), whether the input belongs to its document's prefix; None: there are no prefixes. One
                of the two is not None.
        """
        like = begins_BT if begins_BT is not None else prefix_BT
        assert like is not None, "a mask of nothing"
        place_BT = torch.arange(like.shape[1], device=like.device).expand(like.shape)
        first_BT = torch.zeros_like(place_BT) if begins_BT is None else (place_BT * begins_BT).cummax(1).values
        seen_BT = torch.zeros_like(like) if prefix_BT is None else prefix_BT
        render = _blocks if like.device.type == "cuda" and HAS_TRITON else _dense
        return Mask(place_BT - first_BT, render(first_BT, seen_BT))


def _dense(first_BT: Tensor, prefix_BT: Tensor) -> Tensor:
    t = first_BT.shape[1]
    causal_TT = torch.ones(t, t, dtype=torch.bool, device=first_BT.device).tril()
    seen_BTT = causal_TT | (prefix_BT[:, :, None] & prefix_BT[:, None, :])
    return (seen_BTT & (first_BT[:, :, None] == first_BT[:, None, :]))[:, None]


def _blocks(first_BT: Tensor, prefix_BT: Tensor) -> Any:
    def may_see(b: Tensor, _h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        same = first_BT[b, q] == first_BT[b, k]
        return same & ((k <= q) | (prefix_BT[b, q] & prefix_BT[b, k]))

    n_rows, t = first_BT.shape
    return _fast(create_block_mask)(may_see, n_rows, None, t, t, device=first_BT.device.type)


def continued(position_BT: Tensor, prefix_B: Tensor, stop: int) -> Tensor:
    """Return which of the first `stop` tokens of its row each new token may attend to; B rows have T new tokens each.

    The result is bool (B, 1, T, stop).

    - position_BT: int64 (B, T), offset of each new token in its row.
    - prefix_B: int64 (B), length of each row's prefix, whose tokens all attend to each other; 0: no prefix.
    """
    q_BT1, s, prefix_B11 = position_BT[:, :, None], torch.arange(stop), prefix_B[:, None, None]
    return ((s <= q_BT1) | ((s < prefix_B11) & (q_BT1 < prefix_B11)))[:, None]


def attend(q_BHTC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, allowed: Any = None) -> Tensor:
    """Return the output of attention for T queries over S keys and values, (B, H, T, C).

    B rows, H query heads, C channels. Each of the K key heads serves H / K query heads.

    - allowed: a dense mask or a BlockMask. None: causal attention if T = S; if T = 1, the query attends to all keys.
    """
    grouped, t = q_BHTC.shape[1] != k_BKSC.shape[1], q_BHTC.shape[2]
    if allowed is not None and not isinstance(allowed, Tensor):
        # Values are a view of the tensor that queries and keys are copied from (rotated): in one compiled graph with
        # them, torch 2.13 reads wrong ones on the CPU.
        values = v_BKSC.contiguous()
        out: Tensor = _fast(flex_attention)(q_BHTC, k_BKSC, values, block_mask=allowed, enable_gqa=grouped)
        return out
    causal = allowed is None and t == k_BKSC.shape[2]
    return F.scaled_dot_product_attention(
        q_BHTC, k_BKSC, v_BKSC, attn_mask=allowed, is_causal=causal, enable_gqa=grouped
    )


def _fast(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of FlexAttention, compiled: uncompiled, both of them store every pair.

    In a model that torch is compiling, it is the function itself, since it becomes a part of that graph.
    """
    return function if torch.compiler.is_compiling() or not HAS_TRITON else _compiled(function)


@functools.cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, dynamic=False)
