"""Multi-head latent attention (DeepSeek-V2, 2024): keys and values of all heads are projections of one short vector."""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import torch
from torch import Tensor

from dataprep.train.parts import Matrix
from dataprep.train.shape import ModelConfig

from . import masks
from .attention import Attention, Sight
from .cache import KeyValues, store_of
from .linear import Layers, Linear
from .norms import Norm
from .positions import positions_of, rotate


class LatentAttention(Attention):
    """Attention whose cache stores, per token, a vector of `latent` numbers and one rotated key for all heads.

    Queries and keys have `d_head` channels per head without position, and `rotated_width` more that are rotated. In
    generation, keys and values are not made again of the stored vectors (`_absorbed`).
    """

    down: Linear
    up: Linear
    query: Linear
    out: Linear

    def __init__(self, config: ModelConfig) -> None:
        Layers.__init__(self, config)
        self.config, self.bias = config, positions_of(config, "scored")
        self.norm = Norm(config, config.latent)

    @classmethod
    def matrices(cls, config: ModelConfig) -> dict[str, Matrix]:
        """Return the linear layers, for a layer of the shape `config`."""
        heads, latent, bias, wide = config.n_heads, config.latent or 0, config.has_bias, cls.rotated(config)
        values = heads * config.d_head
        return {
            "query": Matrix(config.d_model, {"q_proj": values + heads * wide}, has_bias=bias.of_qkv),
            "down": Matrix(config.d_model, {"kv_a_proj_with_mqa": latent + wide}, has_bias=bias.of_qkv),
            "up": Matrix(latent, {"kv_b_proj": 2 * values}),
            "out": Matrix(values, {"o_proj": config.d_model}, is_residual=True, has_bias=bias.of_others),
        }

    @classmethod
    def rotated(cls, config: ModelConfig) -> int:
        """Return the number of channels of a head that are rotated."""
        return config.rotated_width or max(2, config.d_head // 4 * 2)

    @classmethod
    def flops(cls, config: ModelConfig) -> int:
        """Return the operations per token of a training step, besides the matrices."""
        return 6 * config.n_heads * (2 * config.d_head + cls.rotated(config)) * config.context

    @classmethod
    def kept(cls, config: ModelConfig) -> int:
        """Return how many numbers a cache keeps for one row of `config.context` tokens."""
        return store_of(config).slots_of(config) * ((config.latent or 0) + cls.rotated(config))

    def cache(self, batch: int, device: torch.device, dtype: torch.dtype) -> KeyValues:
        """Return an empty store of this layer's short vectors and rotated keys for `batch` rows."""
        sizes = [(1, width) for width in (self.config.latent or 0, self.rotated(self.config))]
        return store_of(self.config)(self.config, batch, sizes, device, dtype)

    def forward(self, x_BTD: Tensor, sight: Sight) -> Tensor:
        """Return the attention layer's output, (B, T, D), for an input (B rows, T tokens, D channels)."""
        heads, wide = self.config.n_heads, self.rotated(self.config)
        q_BHTC = self.query(x_BTD).unflatten(-1, (heads, -1)).transpose(1, 2)
        short_BTC, turned_BTC = self.down(x_BTD).split([self.config.latent, wide], dim=-1)
        short_B1TC, turned_B1TC = self.norm(short_BTC)[:, None], turned_BTC[:, None]
        if sight.rope is not None:
            plain_BHTC, q_turned_BHTC = q_BHTC.split([self.config.d_head, wide], dim=-1)
            q_BHTC = torch.cat([plain_BHTC, rotate(q_turned_BHTC, sight.rope)], dim=-1)
            turned_B1TC = rotate(turned_B1TC, sight.rope)
        short_B1SC, turned_B1SC = sight.with_stored(short_B1TC, turned_B1TC)
        if sight.cached is not None and self._may_absorb(q_BHTC.shape[2], short_B1SC.shape[2]):
            return self._absorbed(q_BHTC, short_B1SC, turned_B1SC, sight)
        kv_BHSC = self.up(short_B1SC[:, 0]).unflatten(-1, (heads, -1)).transpose(1, 2)
        k_BHSC, v_BHSC = kv_BHSC.chunk(2, dim=-1)
        k_BHSC = torch.cat([k_BHSC, turned_B1SC.expand(-1, heads, -1, -1)], dim=-1)
        return self.attended(q_BHTC, k_BHSC, v_BHSC, sight)

    def _may_absorb(self, t: int, s: int) -> bool:
        """Return whether `_absorbed` has fewer operations for T queries and S keys than making keys and values."""
        c, latent = self.config.d_head, self.config.latent or 0
        return isinstance(self.up, Linear) and t * s * (latent - c) < c * latent * (s - t)

    def _absorbed(self, q_BHTC: Tensor, short_B1SC: Tensor, turned_B1SC: Tensor, sight: Sight) -> Tensor:
        """Return the layer's output without making keys and values of the stored vectors (DeepSeek-V2, 2.1.2).

        The projection of a head's keys is applied to its query instead, which then has a score with each stored vector
        itself; the projection of values is applied to the weighted sum of these vectors.
        """
        heads, width = self.config.n_heads, self.config.d_head
        up_H2CL = self.up.weight.to(q_BHTC.dtype).view(heads, 2 * width, -1)
        plain_BHTC, turned_BHTC = q_BHTC[..., :width], q_BHTC[..., width:]
        q_BHTL = torch.cat([plain_BHTC @ up_H2CL[:, :width], turned_BHTC], dim=-1)
        q_BHTL = q_BHTL * (q_BHTL.shape[-1] / q_BHTC.shape[-1]) ** 0.5  # `attend` divides by the root of the width
        k_B1SL = torch.cat([short_B1SC, turned_B1SC], dim=-1)
        seen_BHTL = masks.attend(q_BHTL, k_B1SL, short_B1SC, sight.allowed, self.bias, sight.places)
        out_BTD: Tensor = self.out((seen_BHTL @ up_H2CL[:, width:].transpose(1, 2)).transpose(1, 2).flatten(2))
        return out_BTD
