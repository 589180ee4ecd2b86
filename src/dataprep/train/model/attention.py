"""Causal self-attention with grouped keys and values."""

# mypy: disable-error-code=no-any-return
# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dataprep.train.shape import ModelConfig

from . import masks
from .cache import KeyValues, Slots
from .linear import Linear
from .positions import rotate


class Attention(nn.Module):
    """Multi-head attention; with fewer key and value heads, grouped-query attention (Ainslie et al. 2023)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.d_head, self.context = config.d_head, config.context
        self.heads = [config.n_heads, config.kv_heads, config.kv_heads]
        self.qkv = Linear(config.d_model, sum(self.heads) * config.d_head)
        self.out = Linear(config.n_heads * config.d_head, config.d_model, n_residual=2 * config.n_layers)

    def cache(self, batch: int, device: torch.device, dtype: torch.dtype) -> KeyValues:
        """Return an empty cache of this layer's keys and values for `batch` rows."""
        return KeyValues((batch, self.heads[1], self.context, self.d_head), device, dtype)

    def forward(
        self, x_BTD: Tensor, rope: Tensor | None, allowed: Any, cache: tuple[KeyValues, Slots] | None
    ) -> Tensor:  # fmt: skip
        """Return the attention layer's output, (B, T, D), for an input (B rows, T tokens, D channels).

        - rope: rotary positions (see `rotate`); None if the model has none.
        - allowed: attention mask (see `masks.attend`).
        - cache: this layer's cache and the slots of the new tokens, which then attend to the tokens in the cache too;
          None: there is no cache.
        """
        x_BTHC = self.qkv(x_BTD).unflatten(-1, (-1, self.d_head))
        q_BHTC, k_BKTC, v_BKTC = x_BTHC.transpose(1, 2).split(self.heads, dim=1)
        if rope is not None:
            q_BHTC, k_BKTC = rotate(q_BHTC, rope), rotate(k_BKTC, rope)
        if cache is not None:
            own, slots = cache
            k_BKTC, v_BKTC = own.add(k_BKTC, v_BKTC, slots)
        seen = masks.attend(q_BHTC, k_BKTC, v_BKTC, allowed)
        return self.out(seen.transpose(1, 2).flatten(2))
