"""Attention masks for separate documents in a row, prefixes with bidirectional attention, and rules of layers.

A mask is built once per pass for all layers with the same rule. On CUDA with Triton it is a FlexAttention block mask,
which skips blocks without a visible pair. Elsewhere it is a dense boolean mask for scaled_dot_product_attention,
because FlexAttention does not train on the CPU. Rows with neither documents nor prefixes need no mask in layers without
a rule.
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
from dataprep.train.parts import CAUSAL, Sees

Bias = Callable[[Tensor, Tensor, Tensor], Tensor]
"""What is added to scores, as a function of (head, position of the query, position of the key); these broadcast."""


class Mask(NamedTuple):
    """Attention mask of a batch of B rows of T inputs.

    Attributes:
        position: each input's offset in its document, int64 (B, T).
        allowed: which input (query) may attend to which (key), as a dense mask or a BlockMask; rules of layers are not
            included (see `of_layer`).
        first: the place in its row of the first input of an input's document, int64 (B, T).
        prefix: whether an input belongs to its document's prefix, bool (B, T).
    """

    position: Tensor
    allowed: Any
    """bool (B, 1, T, T), query by key, or a BlockMask."""
    first: Tensor | None = None
    prefix: Tensor | None = None

    @staticmethod
    def of(begins_BT: Tensor | None, prefix_BT: Tensor | None) -> Mask:
        """Return the mask in which an input attends to its document up to itself, or, in a prefix, to the whole prefix.

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
        return Mask(place_BT - first_BT, _rendered(first_BT, seen_BT, CAUSAL), first_BT, seen_BT)


def of_layer(sees: Sees, mask: Mask | None, ids_BT: Tensor, *, dense: bool = False) -> Any:
    """Return the mask of a layer with the rule `sees`, dense or a BlockMask.

    - mask: the documents and prefixes of the rows; None: each row of ids_BT is one document.
    - dense: whether a BlockMask would not do.
    """
    if mask is None:
        first_BT = torch.zeros_like(ids_BT)
        return _rendered(first_BT, first_BT > 0, sees, dense=dense)
    if sees == CAUSAL and not dense:
        return mask.allowed
    assert mask.first is not None, "a mask made by `Mask.of`"
    assert mask.prefix is not None, "a mask made by `Mask.of`"
    return _rendered(mask.first, mask.prefix, sees, dense=dense)


def _rendered(first_BT: Tensor, prefix_BT: Tensor, sees: Sees, *, dense: bool = False) -> Any:
    render = _blocks if first_BT.device.type == "cuda" and HAS_TRITON and not dense else _dense
    return render(first_BT, prefix_BT, sees)


def _dense(first_BT: Tensor, prefix_BT: Tensor, sees: Sees = CAUSAL) -> Tensor:
    place_BT = torch.arange(first_BT.shape[1], device=first_BT.device) - first_BT
    both_BTT = prefix_BT[:, :, None] & prefix_BT[:, None, :]
    seen_BTT = sees.visible(place_BT[:, :, None], place_BT[:, None, :], both_BTT)
    found: Tensor = (seen_BTT & (first_BT[:, :, None] == first_BT[:, None, :]))[:, None]
    return found


def _blocks(first_BT: Tensor, prefix_BT: Tensor, sees: Sees = CAUSAL) -> Any:
    def may_see(b: Tensor, _h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        first = first_BT[b, q]
        seen: Tensor = sees.visible(q - first, k - first, prefix_BT[b, q] & prefix_BT[b, k])
        return seen & (first == first_BT[b, k])

    n_rows, t = first_BT.shape
    return _fast(create_block_mask)(may_see, n_rows, None, t, t, device=first_BT.device.type)


def attend(
    q_BHTC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, allowed: Any = None, bias: Bias | None = None,
    places: tuple[Tensor, Tensor] | None = None, dropout: float = 0.0,
) -> Tensor:  # fmt: skip
    """Return the output of attention for T queries over S keys and values, (B, H, T, C).

    B rows, H query heads, C channels. Each of the K key heads serves H / K query heads.

    - allowed: a dense mask or a BlockMask. None: causal attention if T = S; if T = 1, the query attends to all keys.
    - bias: the term that is added to scores; None: nothing.
    - places: the positions of queries (B, T) and keys (B, S) for `bias`; None: 0, 1, 2 ...
    - dropout: the share of the weights that is set to 0, not with a BlockMask.
    """
    grouped, t = q_BHTC.shape[1] != k_BKSC.shape[1], q_BHTC.shape[2]
    if allowed is not None and not isinstance(allowed, Tensor):
        # Values are a view of the tensor that queries and keys are copied from (rotated): in one compiled graph with
        # them, torch 2.13 reads wrong ones on the CPU.
        values = v_BKSC.contiguous()
        how = {"block_mask": allowed, "enable_gqa": grouped, "score_mod": None if bias is None else _score_mod(bias)}
        out: Tensor = _fast(flex_attention)(q_BHTC, k_BKSC, values, **how)
        return out
    if bias is not None:
        return _biased(q_BHTC, k_BKSC, v_BKSC, allowed, bias, places, dropout)
    causal = allowed is None and t == k_BKSC.shape[2]
    return F.scaled_dot_product_attention(
        q_BHTC, k_BKSC, v_BKSC, attn_mask=allowed, dropout_p=dropout, is_causal=causal, enable_gqa=grouped
    )


def _score_mod(bias: Bias) -> Callable[..., Tensor]:
    def score_mod(score: Tensor, _b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return score + bias(h, q, k)

    return score_mod


def _biased(
    q_BHTC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, allowed: Tensor | None, bias: Bias,
    places: tuple[Tensor, Tensor] | None, dropout: float,
) -> Tensor:  # fmt: skip
    """Return the output of attention whose scores have a bias, as `attend`; all biases are computed at once."""
    heads, t, s = q_BHTC.shape[1], q_BHTC.shape[2], k_BKSC.shape[2]
    head_H11 = torch.arange(heads, device=q_BHTC.device)[:, None, None]
    if places is None:
        places = (torch.arange(t, device=q_BHTC.device)[None], torch.arange(s, device=q_BHTC.device)[None])
    q_B1T1, k_B11S = places[0][:, None, :, None], places[1][:, None, None]
    bias_BHTS = bias(head_H11, q_B1T1, k_B11S).to(q_BHTC.dtype)
    seen = k_B11S <= q_B1T1 if allowed is None else allowed
    bias_BHTS = bias_BHTS.masked_fill(~seen, -torch.inf)
    grouped = heads != k_BKSC.shape[1]
    return F.scaled_dot_product_attention(
        q_BHTC, k_BKSC, v_BKSC, attn_mask=bias_BHTS, dropout_p=dropout, enable_gqa=grouped
    )


def _fast(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiled function of FlexAttention; uncompiled, these functions store every pair.

    In a model that torch is compiling, it is the function itself, since it becomes a part of that graph.
    """
    return function if torch.compiler.is_compiling() or not HAS_TRITON else _compiled(function)


@functools.cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, dynamic=False)
