"""Normalisation of vectors: RMSNorm, LayerNorm or another of `parts.NORMS`, as the config names it."""

# ruff: noqa: N803 - the shape letters are capitals
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dataprep.train.parts import NORMS
from dataprep.train.shape import ModelConfig


class Norm(nn.Module):
    """A layer that normalises vectors and multiplies each channel by a learned factor.

    RMSNorm divides by the root of the mean square (Zhang and Sennrich 2019). LayerNorm subtracts the mean and divides
    by the standard deviation (Ba, Kiros and Hinton 2016).
    """

    role = "norm"

    def __init__(self, config: ModelConfig, width: int | None = None) -> None:
        """`width` is the number of channels; None: the width of the model."""
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width or config.d_model)), config.norm_eps
        self.kind = NORMS[config.norm]
        has_bias = self.kind.may_have_bias and config.has_bias.of_others
        self.bias = nn.Parameter(torch.zeros_like(self.weight)) if has_bias else None

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the normalised input, of the same shape (..., channels) and type."""
        bias = None if self.bias is None else self.bias.to(x_BTD.dtype)
        out: Tensor = self.kind.of(F, x_BTD, self.weight.to(x_BTD.dtype), bias, self.eps)
        return out
