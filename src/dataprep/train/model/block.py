"""One block of the GPT: attention, then a feed-forward layer, and how they are joined to the residual stream."""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from dataprep.train.parts import ATTENTIONS, Matrix, load
from dataprep.train.shape import ModelConfig

from .attention import Sight
from .experts import Experts
from .feed_forward import FeedForward
from .norms import Norm


def parts_of(config: ModelConfig) -> dict[str, Any]:
    """Return the classes of a block's parts by their names in it, for a layer of the shape `config`."""
    return {
        "attention": load(ATTENTIONS[config.attention].home),
        "feed_forward": Experts if config.experts else FeedForward,
    }


def matrices(config: ModelConfig) -> dict[str, Matrix]:
    """Return the linear layers of a block as {name in the block: Matrix}, for a layer of the shape `config`.

    >>> matrices(ModelConfig(d_model=64, n_heads=4))["attention.qkv"].slices["k_proj"]
    slice(64, 128, None)
    """
    parts = parts_of(config).items()
    return {f"{home}.{name}": m for home, part in parts for name, m in part.matrices(config).items()}


class Block(nn.Module):
    """One block of the GPT: attention, then feed-forward, or both of the same input if `config.parallel`.

    The output of each layer is added to the residual stream; `config.place` says what is normalised.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config, place = config, config.place
        parts = parts_of(config)
        self.norm_1, self.attention = Norm(config), parts["attention"](config)
        self.norm_2 = None if config.parallel else Norm(config)
        self.feed_forward = parts["feed_forward"](config)
        self.norm_1_after, self.norm_2_after = (Norm(config) if place.after else None for _ in range(2))

    def forward(self, x_BTD: Tensor, sight: Sight) -> tuple[Tensor, Tensor | None]:
        """Return (the residual stream after this block, (B, T, D); its loss besides that of tokens, or None)."""
        in_BTD = self.norm_1(x_BTD) if self.config.place.before else x_BTD
        out_BTD = self._changed(self.attention(in_BTD, sight), self.norm_1_after)
        if self.norm_2 is None:  # parallel
            more_BTD, loss = self.feed_forward(in_BTD)
            return x_BTD + out_BTD + self._changed(more_BTD, self.norm_2_after), loss
        x_BTD = x_BTD + out_BTD
        x_BTD = self.norm_1(x_BTD) if self.config.place.of_sum else x_BTD
        in_BTD = self.norm_2(x_BTD) if self.config.place.before else x_BTD
        out_BTD, loss = self.feed_forward(in_BTD)
        x_BTD = x_BTD + self._changed(out_BTD, self.norm_2_after)
        return self.norm_2(x_BTD) if self.config.place.of_sum else x_BTD, loss

    def _changed(self, out_BTD: Tensor, norm: nn.Module | None) -> Tensor:
        """Return the output of a layer as it is added to the stream: with dropout in training, and normalised."""
        out_BTD = out_BTD if norm is None else norm(out_BTD)
        return F.dropout(out_BTD, self.config.dropout) if self.config.dropout and self.training else out_BTD


def call_block(block: nn.Module, x_BTD: Tensor, sight: Sight) -> tuple[Tensor, Tensor | None]:
    """Return the output of a block."""
    found: tuple[Tensor, Tensor | None] = block(x_BTD, sight)
    return found
