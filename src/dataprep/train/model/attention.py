"""Causal self-attention with grouped keys and values."""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from dataprep.train.parts import Matrix
from dataprep.train.shape import ModelConfig

from . import masks
from .cache import KeyValues, Slots, View, store_of
from .linear import Layers, Linear
from .norms import Norm
from .positions import positions_of, rotate


class Sight(NamedTuple):
    """Facts about the tokens of a pass that a layer's attention needs.

    Attributes:
        allowed: attention mask (see `masks.attend`).
        rope: rotary positions (see `rotate`); None if the layer has none.
        position: the offset of each token in its document, int64 (B, T); None: the offset in its row, without a cache.
        places: the positions of tokens and keys in their rows, (B, T) and (B, S), for biases of scores; None: 0, 1 ...
        cached: the layer's store, the slots of the tokens, and what the tokens see; tokens then attend to the store
            too. None: there is no cache.
    """

    allowed: Any = None
    rope: Tensor | None = None
    position: Tensor | None = None
    cached: tuple[KeyValues, Slots, View] | None = None
    places: tuple[Tensor, Tensor] | None = None

    def with_stored(self, *new: Tensor) -> list[Tensor]:
        """Store tensors of the new tokens, (B, K, T, C); return those of all tokens that may be seen, (B, K, S, C)."""
        if self.cached is None:
            return [*new]
        store, slots, view = self.cached
        return store.add(slots, view, *new)


class Attention(Layers):
    """Multi-head attention; with fewer key and value heads, grouped-query attention (Ainslie et al. 2023)."""

    qkv: Linear
    out: Linear

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.config = config
        self.heads = [config.n_heads, config.kv_heads, config.kv_heads]
        self.bias = positions_of(config, "scored")
        self.q_norm, self.k_norm = (Norm(config, config.d_head) if config.qk_norm else None for _ in range(2))

    @classmethod
    def matrices(cls, config: ModelConfig) -> dict[str, Matrix]:
        """Return the linear layers, for a layer of the shape `config`."""
        queries, keys = config.n_heads * config.d_head, config.kv_heads * config.d_head
        return {
            "qkv": Matrix(
                config.d_model, {"q_proj": queries, "k_proj": keys, "v_proj": keys}, has_bias=config.has_bias.of_qkv
            ),
            "out": Matrix(queries, {"o_proj": config.d_model}, is_residual=True, has_bias=config.has_bias.of_others),
        }

    @classmethod
    def flops(cls, config: ModelConfig) -> int:
        """Return the operations per token of a training step, except matrices: scores and sums, in both passes."""
        return 12 * config.n_heads * config.d_head * config.context

    @classmethod
    def kept(cls, config: ModelConfig) -> int:
        """Return how many numbers a cache keeps for one row of `config.context` tokens."""
        return 2 * store_of(config).slots_of(config) * config.kv_heads * config.d_head

    def cache(self, batch: int, device: torch.device, dtype: torch.dtype) -> KeyValues:
        """Return an empty store of this layer's keys and values for `batch` rows."""
        sizes = [(self.config.kv_heads, self.config.d_head)] * 2
        return store_of(self.config)(self.config, batch, sizes, device, dtype)

    @classmethod
    def rotated(cls, config: ModelConfig) -> int:
        """Return the number of channels of a head that are rotated."""
        return config.d_head

    def queries_keys_values(self, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, (B, H, T, C), and keys and values, (B, K, T, C), of an input (B, T, D)."""
        x_BTHC = self.qkv(x_BTD).unflatten(-1, (-1, self.config.d_head))
        q_BHTC, k_BKTC, v_BKTC = x_BTHC.transpose(1, 2).split(self.heads, dim=1)
        if self.q_norm is not None and self.k_norm is not None:
            q_BHTC, k_BKTC = self.q_norm(q_BHTC), self.k_norm(k_BKTC)
        return q_BHTC, k_BKTC, v_BKTC

    def forward(self, x_BTD: Tensor, sight: Sight) -> Tensor:
        """Return the attention layer's output, (B, T, D), for an input (B rows, T tokens, D channels)."""
        q_BHTC, k_BKTC, v_BKTC = self.queries_keys_values(x_BTD)
        if sight.rope is not None:
            q_BHTC, k_BKTC = rotate(q_BHTC, sight.rope), rotate(k_BKTC, sight.rope)
        k_BKSC, v_BKSC = sight.with_stored(k_BKTC, v_BKTC)
        return self.attended(q_BHTC, k_BKSC, v_BKSC, sight)

    def attended(self, q_BHTC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, sight: Sight) -> Tensor:
        """Return the layer's output, (B, T, D), for queries and all keys and values that they may attend to."""
        dropout = self.config.attention_dropout if self.training else 0.0
        seen_BHTC = masks.attend(q_BHTC, k_BKSC, v_BKSC, sight.allowed, self.bias, sight.places, dropout)
        out_BTD: Tensor = self.out(seen_BHTC.transpose(1, 2).flatten(2))
        return out_BTD
