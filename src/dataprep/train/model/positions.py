"""Positions: vectors added to those of tokens, rotations of queries and keys, or numbers added to attention scores.

`parts.POSITIONS` states the class that computes each kind, and the way it is used.
"""

# mypy: disable-error-code=no-any-return
# ruff: noqa: N803 - the shape letters are capitals
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from dataprep.train.parts import ATTENTIONS, SCALINGS, T5_BUCKETS, T5_FARTHEST, load
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


class Sinusoidal(nn.Module):
    """Vectors of sines and cosines of the position, which are added to the token's vector (Vaswani et al. 2017)."""

    table: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        table = rope_table(config.context, config.d_model, 10_000.0).flip(0).movedim(0, -1).flatten(1)
        self.register_buffer("table", STD * table, persistent=False)  # as large as the vectors of tokens

    def at(self, position_BT: Tensor | None, n: int) -> Tensor:
        """Return the vectors of these positions, (B, T, D); None: those of the first `n`, (n, D)."""
        return self.table[:n] if position_BT is None else self.table[position_BT]


class Rope(nn.Module):
    """Rotary positions (Su et al. 2021): a rotation of queries and keys by an angle that grows with the position."""

    table: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        c, factor = config, config.rope_factor
        before = c.rope_context or max(1, round(c.context / factor))
        width = load(ATTENTIONS[c.attention].home).rotated(c)
        scaled, length = SCALED[c.rope_scaling](width, c.rope_base, factor, before)
        self.register_buffer("table", rope_table(c.context, width, c.rope_base, scaled) * length, persistent=False)

    def at(self, position_BT: Tensor | None, n: int) -> Tensor:
        """Return the cosines and sines of these positions for `rotate`; None: those of the first `n`."""
        return self.table[:, :n] if position_BT is None else self.table[:, position_BT].unsqueeze(2)


def rope_table(context: int, d_head: int, base: float, scaled: Tensor | float = 1.0) -> Tensor:
    """Return the cosines and sines of rotary positions (Su et al. 2021), float32 (2, context, d_head / 2).

    - scaled: factor of each angle, float64 (d_head / 2), from `SCALED`.
    """
    frequency = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head) * scaled
    angle = torch.arange(context, dtype=torch.float64)[:, None] * frequency
    return torch.stack([angle.cos(), angle.sin()]).float()


def _yarn(d_head: int, base: float, factor: float, before: int) -> tuple[Tensor, float]:
    """YaRN (Peng et al. 2023): slow rotations are divided by the factor, fast ones are kept, and scores are sharper."""
    half = d_head // 2
    # The pairs that make 32 turns and 1 turn within the context before.
    fast, last = (d_head * math.log(before / (n * 2 * math.pi)) / (2 * math.log(base)) for n in (32, 1))
    low, high = max(math.floor(fast), 0), min(math.ceil(last), d_head - 1)
    slow = ((torch.arange(half, dtype=torch.float64) - low) / (high - low or 0.001)).clamp(0, 1)  # as in their code
    return slow / factor + 1 - slow, 0.1 * math.log(factor) + 1


SCALED: dict[str, Callable[[int, float, float, int], tuple[Tensor | float, float]]] = {
    "none": lambda *_: (1.0, 1.0),
    "linear": lambda _width, _base, factor, _before: (1 / factor, 1.0),
    "ntk": lambda width, _base, factor, _before: (  # the base that divides the slowest rotation by the factor
        factor ** (-torch.arange(0, width, 2, dtype=torch.float64) / max(width - 2, 1)), 1.0
    ),
    "yarn": _yarn,
}  # fmt: skip
"""{scaling: function of (width of a head, base, factor, the context before); returns a factor of each angle, and of the
vectors}."""
assert tuple(SCALED) == SCALINGS, "the setting has other names"


class Alibi(nn.Module):
    """Scores that fall with the distance, with a different slope in each head (ALiBi, Press et al. 2022)."""

    slopes: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        n, power = config.n_heads, 1 << (config.n_heads.bit_length() - 1)
        every = [2 ** (-8 * (i + 1) / power) for i in range(power)]
        every += [2 ** (-4 * (2 * i + 1) / power) for i in range(n - power)]
        self.register_buffer("slopes", torch.tensor(every), persistent=False)

    def forward(self, head: Tensor, q: Tensor, k: Tensor) -> Tensor:
        """Return the bias of the score of a query at position q and a key at k; the arguments broadcast."""
        return -self.slopes[head] * (q - k).abs()


class Buckets(nn.Module):
    """A learned score per head and distance; large distances share buckets of growing width (Raffel et al. 2020)."""

    role = "embedding"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(T5_BUCKETS, config.n_heads).normal_(std=STD))

    def forward(self, head: Tensor, q: Tensor, k: Tensor) -> Tensor:
        """Return the bias of the score of a query at position q and a key at k; the arguments broadcast."""
        near, distance = T5_BUCKETS // 2, (q - k).clamp(min=0)
        share = (distance.clamp(min=1) / near).log() / math.log(T5_FARTHEST / near)
        far = (near + (share * (T5_BUCKETS - near)).long()).clamp(max=T5_BUCKETS - 1)
        return self.weight[torch.where(distance < near, distance, far), head]


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
