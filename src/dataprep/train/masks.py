"""Attention masks: documents of one row kept apart, and prefixes whose tokens all see each other.

A mask is made once per step and used by every layer: on CUDA with Triton as a FlexAttention block mask, which skips
blocks without a visible pair, elsewhere as a dense boolean for scaled_dot_product_attention (FlexAttention does not
train on the CPU). Rows with neither documents nor prefixes need no mask.
"""


# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import importlib.util
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Mask(NamedTuple):
    """`position` int64 (B, T), from the start of each document; `allowed` in the form that the device needs."""

    position: Tensor
    allowed: Any
    """bool (B, 1, T, T), query by key, or a BlockMask."""

    @staticmethod
    def of(begins_BT: Tensor | None, prefix_BT: Tensor | None) -> Mask:
        """Return the mask of rows: an input sees its document up to itself, and in a prefix the whole prefix.

        bool (B, T): `begins`, the input begins a document; `prefix`, it belongs to its document's prefix.
        """
        like = begins_BT if begins_BT is not None else prefix_BT
        assert like is not None, "a mask of nothing"
        place_BT = torch.arange(like.shape[1], device=like.device).expand(like.shape)
        first_BT = torch.zeros_like(place_BT) if begins_BT is None else (place_BT * begins_BT).cummax(1).values
        seen_BT = torch.zeros_like(like) if prefix_BT is None else prefix_BT
        render = _blocks if like.device.type == "cuda" and _flex() is not None else _dense
        return Mask(place_BT - first_BT, render(first_BT, seen_BT))


def _dense(first_BT: Tensor, prefix_BT: Tensor) -> Tensor:
    t = first_BT.shape[1]
    causal_TT = torch.ones(t, t, dtype=torch.bool, device=first_BT.device).tril()
    seen_BTT = causal_TT | (prefix_BT[:, :, None] & prefix_BT[:, None, :])
    return (seen_BTT & (first_BT[:, :, None] == first_BT[:, None, :]))[:, None]


def _blocks(first_BT: Tensor, prefix_BT: Tensor) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    def may_see(b: Tensor, _h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        same = first_BT[b, q] == first_BT[b, k]
        return same & ((k <= q) | (prefix_BT[b, q] & prefix_BT[b, k]))

    n_rows, t = first_BT.shape
    return create_block_mask(may_see, n_rows, None, t, t, device=first_BT.device.type)


def attend(q_BHTC: Tensor, k_BKTC: Tensor, v_BKTC: Tensor, mask: Mask) -> Tensor:
    """Return attention under a mask, (B, H, T, C); each of the K key heads serves H / K query heads."""
    grouped = q_BHTC.shape[1] != k_BKTC.shape[1]
    if isinstance(mask.allowed, Tensor):
        return F.scaled_dot_product_attention(q_BHTC, k_BKTC, v_BKTC, attn_mask=mask.allowed, enable_gqa=grouped)
    flex = _flex()
    assert flex is not None, "block masks are made where FlexAttention is"
    out: Tensor = flex(q_BHTC, k_BKTC, v_BKTC, block_mask=mask.allowed, enable_gqa=grouped)
    return out


_compiled: list[Any] = []


def _flex() -> Any:
    """Return FlexAttention, compiled (uncompiled it stores every score); None if torch or Triton lacks it."""
    if not _compiled:
        try:
            from torch.nn.attention.flex_attention import flex_attention
        except ImportError:
            _compiled.append(None)
        else:
            found = importlib.util.find_spec("triton") is not None
            _compiled.append(torch.compile(flex_attention, dynamic=False) if found else None)
    return _compiled[0]
