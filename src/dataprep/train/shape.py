"""`ModelConfig`: the shape of a model, a frozen dataclass that checks its values; and the checks themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dataprep.errors import PlanError

SHAPES = {"positions": ("rope", "learned"), "norm": ("rms", "layer"), "feed_forward": ("swiglu", "gelu")}
"""The parts of a model of which there is a choice; the first are Llama's (see `ModelConfig`)."""


def positive(name: str, value: Any, *, optional: bool = False) -> None:
    """Raise PlanError unless `value` is a whole number above 0 and below 2**40, or None if it is optional.

    - name: for the message.
    """
    if not (value is None and optional) and not (is_a(value, int) and 0 < value < 1 << 40):
        msg = f"{name}={value!r} must be a whole number above 0{' and below 2**40' if is_a(value, int) else ''}"
        raise PlanError(msg)


def is_a(value: Any, *types: type) -> bool:
    """Return whether a value has one of the types; True and False are not numbers."""
    return isinstance(value, types) and not isinstance(value, bool)


def in_range(config: Any, name: str, low: float, high: float) -> None:
    """Raise PlanError unless the field `name` of a config is a number from `low` to `high`."""
    value = getattr(config, name)
    if not (is_a(value, int, float) and low <= value <= high):
        msg = f"{name}={value!r} must be a number from {low} to {high:g}"
        raise PlanError(msg)


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of a GPT; the size of the vocabulary is taken from the token shards.

    Attributes:
        n_layers: the number of blocks.
        n_heads: the number of query heads per block.
        d_model: width of the residual stream.
        context: the largest number of tokens that the model sees at once.
        n_kv_heads: the number of key and value heads; None means n_heads, a smaller number means grouped-query
            attention.
        d_ff: hidden width of the feed-forward layers. If it is None, the width is 4 * d_model for "gelu"; for "swiglu"
            it is 8/3 of d_model, rounded up to a multiple of 64, so that the three matrices have as many parameters as
            the two of "gelu" (Shazeer 2020).
        rope_base: base of the rotary positions.
        tied: whether one matrix both embeds tokens and scores the next one.
        norm_eps: number added to the mean square in RMSNorm, or to the variance in LayerNorm.
        positions: "rope" (rotary), or "learned", a vector per position.
        norm: "rms" (RMSNorm), or "layer" (LayerNorm without bias).
        feed_forward: "swiglu", or "gelu": two matrices with GELU between them. The second choices are those of GPT-2
            and nanoGPT.
    """

    n_layers: int = 4
    n_heads: int = 4
    d_model: int = 256
    context: int = 256
    """Tokens per training row, and the most that attention reaches."""
    n_kv_heads: int | None = None
    d_ff: int | None = None
    rope_base: float = 10_000.0
    tied: bool = True
    """Score the next token with the matrix that embeds tokens; False: with one of its own."""
    norm_eps: float = 1e-5
    """Added to the mean square before its root is taken."""
    positions: str = "rope"
    norm: str = "rms"
    feed_forward: str = "swiglu"

    def __post_init__(self) -> None:
        for name in ("n_layers", "n_heads", "d_model", "context", "n_kv_heads", "d_ff"):
            positive(name, getattr(self, name), optional=name in {"n_kv_heads", "d_ff"})
        in_range(self, "rope_base", 1, 1e12)
        in_range(self, "norm_eps", 1e-12, 0.1)
        for name, allowed in {"tied": (True, False), **SHAPES}.items():
            if getattr(self, name) not in allowed or (name == "tied" and not isinstance(self.tied, bool)):
                msg = f"{name}={getattr(self, name)!r} must be {' or '.join(map(str, allowed))}"
                raise PlanError(msg)
        if self.d_model % (2 * self.n_heads):
            msg = (
                f"d_model={self.d_model} with n_heads={self.n_heads}: each head must have an even width; "
                f"make d_model a multiple of {2 * self.n_heads}"
            )
            raise PlanError(msg)
        if self.n_heads % self.kv_heads:
            msg = f"n_heads={self.n_heads} must be a multiple of n_kv_heads={self.n_kv_heads}; change one of them"
            raise PlanError(msg)

    @property
    def d_head(self) -> int:
        """The width of one attention head: `d_model` / `n_heads`."""
        return self.d_model // self.n_heads

    @property
    def kv_heads(self) -> int:
        """The number of key and value heads per layer: `n_kv_heads`, or `n_heads` if it is None."""
        return self.n_kv_heads or self.n_heads

    @property
    def ff_width(self) -> int:
        """The hidden width of the feed-forward layers: `d_ff`, or the default width if `d_ff` is None."""
        return self.d_ff or (4 * self.d_model if self.feed_forward == "gelu" else -(-8 * self.d_model // (3 * 64)) * 64)
