"""`ModelConfig`: the shape of a model, a frozen dataclass that checks its values; and the checks themselves."""

from __future__ import annotations

import copy
import math
import os
from ast import literal_eval
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from dataprep.errors import PlanError

from .parts import (
    ACTIVATIONS,
    ATTENTIONS,
    BIASES,
    CAUSAL,
    NORMS,
    PATTERNS,
    PLACEMENTS,
    POSITIONS,
    SCALINGS,
    Biases,
    Placement,
    Position,
    Sees,
)
from .refusals import refuse

PARTS: dict[str, Collection[str]] = {
    "positions": POSITIONS, "norm": NORMS, "feed_forward": ACTIVATIONS, "attention": ATTENTIONS, "pattern": PATTERNS,
    "placement": PLACEMENTS, "biases": BIASES, "rope_scaling": SCALINGS,
}  # fmt: skip
"""The parts of a model of which there is a choice."""
BY_LAYER = (
    "positions", "feed_forward", "attention", "pattern", "reach", "stride", "sinks", "placement", "parallel",
    "rope_base", "rope_scaling", "rope_factor", "experts",
)  # fmt: skip
"""Fields that may differ between layers: one value, or a tuple of which layer i has the value i modulo its length."""
PerLayer: TypeAlias = Any


def positive(name: str, value: Any, *, optional: bool = False) -> None:
    """Raise PlanError unless `value` is a whole number above 0 and below 2**40, or None if it is optional.

    - name: for the message.
    """
    if not (value is None and optional) and not (is_a(value, int) and 0 < value < 1 << 40):
        msg = f"{name}={value!r} must be a whole number above 0{' and below 2**40' if is_a(value, int) else ''}"
        raise PlanError(msg)


def check_path(name: str, value: Any, *, optional: bool = False) -> None:
    """Raise PlanError unless `value` is a path, or None if it is optional.

    - name: for the message.
    """
    if not (isinstance(value, (str, os.PathLike)) or (value is None and optional)):
        msg = f"{name}={value!r:.80} must be a path, as a text or a pathlib.Path"
        raise PlanError(msg)


def is_a(value: Any, *types: type) -> bool:
    """Return whether a value has one of the types; True and False are not numbers."""
    return isinstance(value, types) and not isinstance(value, bool)


def plain_fields(config: Any) -> None:
    """Replace the values of a config's fields by plain ones (see `plain`)."""
    for each in fields(config):
        object.__setattr__(config, each.name, plain(getattr(config, each.name)))


def plain(value: Any) -> Any:
    """Return a value of numpy or torch, or of a subclass such as a member of an Enum, as the plain one that it equals.

    Checkpoints are read without running code, so they may hold no others. Other values are returned as they are.

    >>> import numpy
    >>> plain([numpy.float64(0.5), numpy.int64(2)])
    [0.5, 2]
    """
    if hasattr(value, "tolist") and not isinstance(value, type):
        value = value.tolist()
    if isinstance(value, dict):
        return {plain(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        made = [plain(one) for one in value]
        return made if isinstance(value, list) else tuple(made)
    if isinstance(value, str):
        return str.__str__(value)
    if is_a(value, int, float):
        return int(value) if isinstance(value, int) else float(value)
    return value


def in_range(config: Any, name: str, low: float, high: float) -> None:
    """Raise PlanError unless the field `name` of a config, or of a dict, is a number from `low` to `high`."""
    value = config[name] if isinstance(config, dict) else getattr(config, name)
    if not (is_a(value, int, float) and low <= value <= high):
        msg = f"{name}={value!r} must be a number from {low} to {high:g}"
        raise PlanError(msg)


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of a GPT; the size of the vocabulary is taken from the token shards.

    A field of `BY_LAYER` may have one value per layer, such as pattern=("window", "window", "all"): the values are
    repeated in this order. On the command line, they are separated by commas.

    Attributes:
        n_layers: the number of blocks.
        n_heads: the number of query heads per block.
        d_model: width of the residual stream.
        context: the largest number of tokens that the model sees at once.
        n_kv_heads: the number of key and value heads; None means n_heads, a smaller number means grouped-query
            attention.
        d_ff: hidden width of the feed-forward layers. If it is None, the width is 4 * d_model; for a gated layer it is
            8/3 of d_model, rounded up to a multiple of 64, so that its three matrices have as many parameters as the
            two of the others (Shazeer 2020).
        rope_base: base of the rotary positions.
        tied: whether one matrix both embeds tokens and scores the next one.
        norm_eps: number added to the mean square in RMSNorm, or to the variance in LayerNorm.
        positions: "rope" (rotary), "learned" (a vector per position), "sinusoidal" (computed vectors), "alibi" (scores
            that fall with the distance), "t5" (a learned score per distance and head), or "none".
        rope_scaling: change of rotary positions for a context longer than `rope_context`: "none"; "linear", positions
            are divided by `rope_factor`; "ntk", the base is larger; or "yarn" (Peng et al. 2023).
        rope_factor: the context divided by the original context.
        rope_context: the original context, for "yarn"; None: context / rope_factor.
        norm: "rms" (RMSNorm), or "layer" (LayerNorm without bias).
        feed_forward: "swiglu", or another key of `parts.ACTIVATIONS`, such as "gelu" (two matrices with GELU between
            them).
        attention: the kind of attention: "heads"; "latent" (MLA), in which keys and values are computed from one short
            vector per token; or "linear", a running sum.
        latent: for "latent", how many numbers are cached per token, in addition to a rotated key.
        rotated_width: for "latent", the channels of queries and keys that are rotated; None: half of a head's width,
            rounded down to an even number, or 2.
        experts: the number of feed-forward layers among which a router chooses for each token; 0: there is one.
        experts_used: the number of experts that a token uses.
        experts_shared: the number of additional experts that all tokens use.
        balance: the weight of the loss that balances experts.
        router_z: the weight of the loss that keeps the router's scores small.
        pattern: the inputs of a document that a layer attends to: "all" inputs up to the input itself, or one of
            `parts.PATTERNS`: "window", the last `reach` inputs; "chunk", the inputs of the same chunk of `reach`
            inputs; or "dilated", every `stride`-th of the last `reach` inputs.
        reach: the number of inputs that the pattern reaches.
        stride: the distance between neighbours in the pattern "dilated".
        sinks: the number of inputs at the beginning of each document that are visible in every pattern, as attention
            sinks (StreamingLLM) or global tokens.
        placement: where norms are: "pre", each layer reads the normalised residual stream; "post", the sum of the
            stream and a layer's output is normalised; or "both", a layer's input and its output are normalised.
        parallel: whether attention and feed-forward layer read the same normalised input (PaLM).
        biases: "none", "qkv" for queries, keys and values, or "all" for all linear layers of blocks and LayerNorm.
        qk_norm: whether queries and keys of each head are normalised before they are rotated.
        embedding_norm: whether the vectors of tokens are normalised before the first block.
        head_width: the width of a head; None: d_model / n_heads.
        dropout: the share of the vectors of tokens, and of each layer's output, that is set to 0 in training.
        attention_dropout: the share of the weights of attention that is set to 0 in training; scores of masked rows
            are then stored as on the CPU, since FlexAttention does not support it.
        softcap: scores of the next token become softcap * tanh(score / softcap), which is below softcap (Gemma 2);
            None: scores are unchanged.
    """

    n_layers: int = 4
    n_heads: int = 4
    d_model: int = 256
    context: int = 256
    """Tokens per training row, and the maximum range of attention."""
    n_kv_heads: int | None = None
    d_ff: int | None = None
    rope_base: PerLayer = 10_000.0
    tied: bool = True
    """Score the next token with the embedding matrix; False: with a separate matrix."""
    norm_eps: float = 1e-5
    """Number that is added to the mean square before its root is taken."""
    positions: PerLayer = "rope"
    rope_scaling: PerLayer = "none"
    rope_factor: PerLayer = 1.0
    rope_context: int | None = None
    norm: str = "rms"
    feed_forward: PerLayer = "swiglu"
    attention: PerLayer = "heads"
    latent: int | None = None
    rotated_width: int | None = None
    pattern: PerLayer = "all"
    reach: PerLayer | None = None
    stride: PerLayer = 1
    sinks: PerLayer = 0
    placement: PerLayer = "pre"
    parallel: PerLayer = False
    biases: str = "none"
    qk_norm: bool = False
    embedding_norm: bool = False
    head_width: int | None = None
    dropout: float = 0.0
    attention_dropout: float = 0.0
    softcap: float | None = None
    experts: PerLayer = 0
    experts_used: int = 2
    experts_shared: int = 0
    balance: float = 0.01
    router_z: float = 0.001

    def __post_init__(self) -> None:
        plain_fields(self)
        for name in BY_LAYER:
            object.__setattr__(self, name, _per_layer(getattr(self, name)))
        self._check_values()
        for name in ("n_layers", "n_heads", "d_model", "context", "experts_used"):
            positive(name, getattr(self, name))
        for name in ("n_kv_heads", "d_ff", "head_width", "rope_context", "latent", "rotated_width"):
            positive(name, getattr(self, name), optional=True)
        in_range(self, "norm_eps", 1e-12, 0.1)
        in_range(self, "dropout", 0, 0.9)
        in_range(self, "attention_dropout", 0, 0.9)
        in_range(self, "balance", 0, 10)
        in_range(self, "router_z", 0, 10)
        if self.softcap is not None:
            in_range(self, "softcap", 1, 1e6)
        if self.head_width is not None and self.head_width % 2:
            msg = f"head_width={self.head_width} must be an even number"
            raise PlanError(msg)
        if self.head_width is None and self.d_model % (2 * self.n_heads):
            msg = (
                f"d_model={self.d_model} with n_heads={self.n_heads}: each head must have an even width; "
                f"make d_model a multiple of {2 * self.n_heads}, or set head_width"
            )
            raise PlanError(msg)
        if self.n_heads % self.kv_heads:
            msg = f"n_heads={self.n_heads} must be a multiple of n_kv_heads={self.n_kv_heads}; change one of them"
            raise PlanError(msg)
        refuse([layer for layer, _ in self.kinds()])

    def _check_values(self) -> None:
        """Raise PlanError if a part does not exist, or a number of one layer is out of its range."""
        for name, table in PARTS.items():
            for value in self._values(name):
                if not isinstance(value, str) or value not in table:
                    *first, last = table
                    msg = f"{name}={value!r} must be {', '.join(first)}{' or ' if first else ''}{last}"
                    raise PlanError(msg)
        for name in ("tied", "qk_norm", "embedding_norm", "parallel"):
            for value in self._values(name):
                if not isinstance(value, bool):
                    msg = f"{name}={value!r} must be True or False"
                    raise PlanError(msg)
        for name in ("reach", "stride"):
            for value in self._values(name):
                positive(name, value, optional=name == "reach")
        for name in ("sinks", "experts", "experts_shared"):
            for value in self._values(name):
                if not (is_a(value, int) and 0 <= value < 1 << 40):
                    msg = f"{name}={value!r} must be a whole number, 0 or more"
                    raise PlanError(msg)
        for name, low, high in (("rope_base", 1, 1e12), ("rope_factor", 1, 1e6)):
            for value in self._values(name):
                in_range({name: value}, name, low, high)

    def _values(self, name: str) -> tuple[Any, ...]:
        """Return the values of a field in the layers; a field that is not in `BY_LAYER` has one value."""
        value = getattr(self, name)
        if name not in BY_LAYER or not isinstance(value, tuple):
            return (value,)
        if not value:
            msg = "a setting with a value per layer must have one value or more, such as pattern='window,all'"
            raise PlanError(msg)
        return value

    @property
    def d_head(self) -> int:
        """The width of one attention head: `head_width`, or `d_model` / `n_heads` if it is None."""
        return self.head_width or self.d_model // self.n_heads

    @property
    def kv_heads(self) -> int:
        """The number of key and value heads per layer: `n_kv_heads`, or `n_heads` if it is None."""
        return self.n_kv_heads or self.n_heads

    @property
    def ff_width(self) -> int:
        """The hidden width of a layer's feed-forward layer: `d_ff`, or the default width if `d_ff` is None."""
        return self.d_ff or ACTIVATIONS[self.feed_forward].width(self.d_model)

    @property
    def position(self) -> Position:
        """The positions of a layer."""
        return POSITIONS[self.positions]

    @property
    def place(self) -> Placement:
        """The positions of the norms around a layer."""
        return PLACEMENTS[self.placement]

    @property
    def has_bias(self) -> Biases:
        """The linear layers that add a bias."""
        return BIASES[self.biases]

    @property
    def sees(self) -> Sees:
        """The rule of a layer's attention inside a document."""
        return (
            Sees(self.pattern, self.reach or 0, self.stride, self.sinks) if PATTERNS[self.pattern].visible else CAUSAL
        )

    def layer(self, i: int) -> ModelConfig:
        """Return the shape of layer i, a config in which each field has one value."""
        values = {name: value[i % len(value)] for name in BY_LAYER if isinstance(value := getattr(self, name), tuple)}
        if not values:
            return self
        found = copy.copy(self)  # without the checks, which have been made for all layers together
        for name, value in values.items():
            object.__setattr__(found, name, value)
        return found

    def kinds(self) -> list[tuple[ModelConfig, int]]:
        """Return (shape, number of layers) for each distinct layer shape, the shape of the first layer first."""
        period = math.lcm(*(len(v) for name in BY_LAYER if isinstance(v := getattr(self, name), tuple)))
        found: dict[ModelConfig, int] = {}
        for i in range(min(period, self.n_layers)):
            layer = self.layer(i)
            found[layer] = found.get(layer, 0) + (self.n_layers - i - 1) // period + 1
        return list(found.items())

    @property
    def has_scores(self) -> bool:
        """Whether attention of all layers has a score for each pair of a query and a key."""
        return all(ATTENTIONS[layer.attention].has_scores for layer, _ in self.kinds())

    @property
    def has_experts(self) -> bool:
        """Whether a layer has experts, and with them losses besides that of tokens."""
        return any(layer.experts for layer, _ in self.kinds())

    @property
    def is_masked(self) -> bool:
        """Whether attention of a layer needs a mask, although rows have neither documents nor prefixes."""
        return any(layer.sees != CAUSAL or layer.position.way == "scored" for layer, _ in self.kinds())


def _per_layer(value: Any) -> Any:
    """Return a field of `BY_LAYER` with a list, or a text with commas, as a tuple."""
    if isinstance(value, str) and "," in value:
        return tuple(map(_parsed, value.split(",")))
    return tuple(value) if isinstance(value, list) else value


def _parsed(text: str) -> Any:
    try:
        return literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()
