"""One block of the GPT: attention, then a feed-forward layer, and how they are joined to the residual stream."""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from dataprep.train.parts import ATTENTIONS, Matrix, load
from dataprep.train.shape import ModelConfig

from .attention import Sight
from .feed_forward import FeedForward
from .norms import Norm


def parts_of(config: ModelConfig) -> dict[str, Any]:
    """Return the classes of a block's parts by their names in it, for a layer of the shape `config`."""
    return {"attention": load(ATTENTIONS[config.attention]), "feed_forward": FeedForward}


def matrices(config: ModelConfig) -> dict[str, Matrix]:
    """Return the linear layers of a block as {name in the block: Matrix}, for a layer of the shape `config`.

    >>> matrices(ModelConfig(d_model=64, n_heads=4))["attention.qkv"].slices["k_proj"]
    slice(64, 128, None)
    """
    parts = parts_of(config).items()
    return {f"{home}.{name}": m for home, part in parts for name, m in part.matrices(config).items()}


class Block(nn.Module):
    """One block of the GPT: attention, then feed-forward.

    Each layer reads the residual stream, normalised, and its output is added to the stream.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        parts = parts_of(config)
        self.norm_1, self.attention = Norm(config), parts["attention"](config)
        self.norm_2, self.feed_forward = Norm(config), parts["feed_forward"](config)

    def forward(self, x_BTD: Tensor, sight: Sight) -> tuple[Tensor, Tensor | None]:
        """Return (the residual stream after this block, (B, T, D); its loss besides that of tokens, or None)."""
        x_BTD = x_BTD + self.attention(self.norm_1(x_BTD), sight)
        return x_BTD + self.feed_forward(self.norm_2(x_BTD)), None


def call_block(block: nn.Module, x_BTD: Tensor, sight: Sight) -> tuple[Tensor, Tensor | None]:
    """Return the output of a block."""
    found: tuple[Tensor, Tensor | None] = block(x_BTD, sight)
    return found
