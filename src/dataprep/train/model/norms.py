"""Normalisation of the residual stream: RMSNorm or LayerNorm, as the config names it."""

# mypy: disable-error-code=no-any-return
# ruff: noqa: N803 - the shape letters are capitals
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dataprep.train.shape import ModelConfig


class RMSNorm(nn.Module):
    """A layer that divides by the root of the mean square, and multiplies each channel by a learned factor.

    Source: Zhang and Sennrich 2019.
    """

    role = "norm"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(config.d_model)), config.norm_eps

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the normalised input, of the same shape (B rows, T tokens, D channels) and type."""
        return F.rms_norm(x_BTD, self.weight.shape, self.weight.to(x_BTD.dtype), eps=self.eps)


class LayerNorm(nn.Module):
    """A layer that subtracts the mean, divides by the standard deviation, and multiplies each channel by a factor.

    Source: Ba, Kiros and Hinton 2016; without their bias.
    """

    role = "norm"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(config.d_model)), config.norm_eps

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the normalised input, of the same shape (B rows, T tokens, D channels) and type."""
        return F.layer_norm(x_BTD, self.weight.shape, self.weight.to(x_BTD.dtype), eps=self.eps)


def norm_of(config: ModelConfig) -> RMSNorm | LayerNorm:
    """Return a new layer of the norm that `config` names."""
    return LayerNorm(config) if config.norm == "layer" else RMSNorm(config)
