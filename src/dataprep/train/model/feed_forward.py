"""Feed-forward layers: SwiGLU (Shazeer 2020) or GELU."""

# mypy: disable-error-code=no-any-return
# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from dataprep.train.shape import ModelConfig

from .linear import Linear


class SwiGLU(nn.Module):
    """The feed-forward layer: a gated layer with the activation SwiGLU (Shazeer 2020)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = Linear(config.d_model, 2 * config.ff_width)
        self.down = Linear(config.ff_width, config.d_model, n_residual=2 * config.n_layers)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the feed-forward layer's output, (B, T, D), for an input (B, T, D)."""
        gate_BTF, x_BTF = self.up(x_BTD).chunk(2, dim=-1)
        return self.down(F.silu(gate_BTF) * x_BTF)


class GELU(nn.Module):
    """The feed-forward layer of GPT-2: two matrices with the activation GELU between them (Hendrycks 2016)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = Linear(config.d_model, config.ff_width)
        self.down = Linear(config.ff_width, config.d_model, n_residual=2 * config.n_layers)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the feed-forward layer's output, (B, T, D), for an input (B, T, D)."""
        return self.down(F.gelu(self.up(x_BTD)))
