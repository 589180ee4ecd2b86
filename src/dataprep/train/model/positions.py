"""Positions: vectors that are added to those of tokens, or rotations of queries and keys (RoPE, Su et al. 2021).

`parts.POSITIONS` says which class computes which of them, and in which way it is used.
"""

# mypy: disable-error-code=no-any-return
# ruff: noqa: N803 - the shape letters are capitals
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dataprep.train.parts import load
from dataprep.train.shape import ModelConfig

from .linear import STD


class Positions(nn.Embedding):
    """A matrix with a learned vector per position, which is added to the token's vector."""

    role = "embedding"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config.context, config.d_model)
        nn.init.normal_(self.weight, std=STD)

    def at(self, position_BT: Tensor | None, n: int) -> Tensor:
        """Return the vectors of these positions, (B, T, D); None: those of the first `n`, (n, D)."""
        return self.weight[:n] if position_BT is None else self(position_BT)


class Rope(nn.Module):
    """Rotary positions (Su et al. 2021): a rotation of queries and keys by an angle that grows with the position."""

    table: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.register_buffer("table", rope_table(config.context, config.d_head, config.rope_base), persistent=False)

    def at(self, position_BT: Tensor | None, n: int) -> Tensor:
        """Return the cosines and sines of these positions for `rotate`; None: those of the first `n`."""
        return self.table[:, :n] if position_BT is None else self.table[:, position_BT].unsqueeze(2)


def rope_table(context: int, d_head: int, base: float) -> Tensor:
    """Return the cosines and sines of rotary positions (Su et al. 2021), float32 (2, context, d_head / 2)."""
    frequency = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    angle = torch.arange(context, dtype=torch.float64)[:, None] * frequency
    return torch.stack([angle.cos(), angle.sin()]).float()


def rotate(x_BHTC: Tensor, rope: Tensor) -> Tensor:
    """Return queries or keys with the pairs (c, c + C/2) of each head rotated by the angle of the token's position.

    Computed in float32; the result has the input's shape and type.

    - rope: cosines and sines (`rope_table`), (2, T, C/2), or (2, B, 1, T, C/2) if each row has its own positions.
    """
    a, b = x_BHTC.float().chunk(2, dim=-1)
    cos, sin = rope
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).to(x_BHTC.dtype)


def positions_of(config: ModelConfig, way: str) -> Any:
    """Return the module of a layer's positions if they are used in this way, such as "added"; else None."""
    position = config.position
    return load(f"positions.{position.home}")(config) if position.way == way else None
