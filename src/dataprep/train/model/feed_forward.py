"""Feed-forward layers: two matrices with an activation between them, or three with a gate (Shazeer 2020)."""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from dataprep.train.parts import ACTIVATIONS, Matrix
from dataprep.train.shape import ModelConfig

from .linear import Layers, Linear


class FeedForward(Layers):
    """The feed-forward layer; with a gated activation, one layer `up` computes the gate and the values."""

    up: Linear
    down: Linear

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.activation = ACTIVATIONS[config.feed_forward]

    @classmethod
    def matrices(cls, config: ModelConfig) -> dict[str, Matrix]:
        """Return the linear layers, for a layer of the shape `config`."""
        width, gated, bias = config.ff_width, ACTIVATIONS[config.feed_forward].is_gated, config.has_bias.of_others
        return {
            "up": Matrix(
                config.d_model, {"gate_proj": width, "up_proj": width} if gated else {"up_proj": width}, has_bias=bias
            ),
            "down": Matrix(width, {"down_proj": config.d_model}, is_residual=True, has_bias=bias),
        }

    def forward(self, x_BTD: Tensor) -> tuple[Tensor, None]:
        """Return (the feed-forward layer's output, (..., D), for an input (..., D); no loss besides that of tokens)."""
        if self.activation.is_gated:
            gate_BTF, x_BTF = self.up(x_BTD).chunk(2, dim=-1)
            out_BTD: Tensor = self.down(self.activation.of(F, gate_BTF) * x_BTF)
        else:
            out_BTD = self.down(self.activation.of(F, self.up(x_BTD)))
        return out_BTD, None
