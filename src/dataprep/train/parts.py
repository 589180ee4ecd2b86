"""The parts of a model by name: what each part computes and declares. This module needs no torch.

`ModelConfig` names the parts; other code never compares names but uses the declarations of the part. A new activation,
norm, pattern or position is one entry here; a position that computes something is also a class in `model.positions`. A
new attention is a file in `model` that declares its matrices, operations and cache. The fields of `ModelConfig` that
belong to a part are described in `ModelConfig`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Matrix:
    """A linear layer of a block. LoRA, sizes and exports read these declarations.

    Attributes:
        n_in: the width of its input.
        rows: {name of a projection, as in Llama's files: the number of its rows}; one layer may compute several.
        is_residual: whether its output is added to the residual stream.
        has_bias: whether it adds a bias.
        share: the share of the tokens that it computes.
        is_adaptable: whether LoRA may change it, and QLoRA round it.
    """

    n_in: int
    rows: Mapping[str, int]
    is_residual: bool = False
    has_bias: bool = False
    share: float = 1.0
    is_adaptable: bool = True

    @property
    def n_out(self) -> int:
        """The width of its output."""
        return sum(self.rows.values())

    @property
    def n_weights(self) -> int:
        """The number of its weights, without the bias."""
        return self.n_out * self.n_in

    @property
    def slices(self) -> dict[str, slice]:
        """The rows of each projection in the layer's weight."""
        found, start = {}, 0
        for name, size in self.rows.items():
            found[name] = slice(start, start + size)
            start += size
        return found


class Activation(NamedTuple):
    """An activation of feed-forward layers.

    Attributes:
        of: function of (torch.nn.functional, a tensor).
        is_gated: whether its result is multiplied by a second projection of the input (Shazeer 2020).
        hidden_act: its name in config.json of Hugging Face; "" if it has none.
    """

    of: Callable[[Any, Any], Any]
    is_gated: bool = False
    hidden_act: str = ""

    def width(self, d_model: int) -> int:
        """Return the default hidden width; gated layers (three matrices) have as many weights as others (two)."""
        return -(-8 * d_model // (3 * 64)) * 64 if self.is_gated else 4 * d_model


ACTIVATIONS = {
    "swiglu": Activation(lambda f, x: f.silu(x), is_gated=True, hidden_act="silu"),
    "gelu": Activation(lambda f, x: f.gelu(x), hidden_act="gelu"),
    "geglu": Activation(lambda f, x: f.gelu(x), is_gated=True, hidden_act="gelu"),
    "relu": Activation(lambda f, x: f.relu(x), hidden_act="relu"),
    "reglu": Activation(lambda f, x: f.relu(x), is_gated=True, hidden_act="relu"),
    "relu2": Activation(lambda f, x: f.relu(x).square(), hidden_act="relu2"),  # So et al. 2021
    "relu2glu": Activation(lambda f, x: f.relu(x).square(), is_gated=True, hidden_act="relu2"),
    "silu": Activation(lambda f, x: f.silu(x), hidden_act="silu"),
}


class NormKind(NamedTuple):
    """A normalisation of vectors.

    Attributes:
        of: function of (torch.nn.functional, input, gain per channel, bias per channel or None, number added to the
            mean square or variance).
        may_have_bias: whether it has a bias if the model has biases.
    """

    of: Callable[[Any, Any, Any, Any, float], Any]
    may_have_bias: bool = False


NORMS = {
    "rms": NormKind(lambda f, x, gain, _, eps: f.rms_norm(x, gain.shape, gain, eps=eps)),
    "layer": NormKind(
        lambda f, x, gain, bias, eps: f.layer_norm(x, gain.shape, gain, bias, eps=eps), may_have_bias=True
    ),
}


class Position(NamedTuple):
    """A way to tell a model the order of tokens.

    Attributes:
        way: "added" to the vectors of tokens, "rotated" (queries and keys), "scored" (added to the scores of
            attention), or "" for none.
        home: its class in `model.positions`.
        n_weights: function of a layer's config; the number of its weights, in each layer, or once if it is added.
        by_context: whether weights depend on the context.
        by: for a position without weights, the fields of `ModelConfig` on which it depends; layers with equal values
            share it.
    """

    way: str
    home: str = ""
    n_weights: Callable[[Any], int] = lambda _: 0
    by_context: bool = False
    by: tuple[str, ...] = ()


T5_BUCKETS, T5_FARTHEST = 32, 128
"""Buckets of distances for the positions "t5"; all from the second number on are one bucket (Raffel et al. 2020)."""
POSITIONS = {
    "rope": Position("rotated", "Rope", by=("rope_base", "rope_scaling", "rope_factor", "rope_context")),
    "learned": Position("added", "Positions", lambda c: c.context * c.d_model, by_context=True),
    "sinusoidal": Position("added", "Sinusoidal"),
    "alibi": Position("scored", "Alibi"),
    "t5": Position("scored", "Buckets", lambda c: T5_BUCKETS * c.n_heads),
    "none": Position(""),
}
SCALINGS = ("none", "linear", "ntk", "yarn")
"""Changes of rotary positions for contexts that are longer than those of the training (see `model.positions`)."""


class Pattern(NamedTuple):
    """A rule that restricts an input's attention to some inputs of its document.

    Attributes:
        visible: function of (position of the query, position of the key, `Sees`); None: there is no such rule.
        is_band: whether only the last `reach` keys are visible, so that a cache needs no other keys.
    """

    visible: Callable[[Any, Any, Any], Any] | None = None
    is_band: bool = False


PATTERNS = {
    "all": Pattern(),
    "window": Pattern(lambda q, k, sees: abs(q - k) < sees.reach, is_band=True),
    "chunk": Pattern(lambda q, k, sees: q // sees.reach == k // sees.reach),
    "dilated": Pattern(lambda q, k, sees: (abs(q - k) < sees.reach) & ((q - k) % sees.stride == 0)),
}


class Sees(NamedTuple):
    """The rule of a layer's attention inside a document.

    Attributes:
        pattern: a key of `PATTERNS`.
        reach: the number of inputs that the pattern reaches.
        stride: the distance between neighbours in a dilated pattern.
        sinks: the number of inputs at the beginning of a document that are visible in any pattern.
    """

    pattern: str = "all"
    reach: int = 0
    stride: int = 1
    sinks: int = 0

    def visible(self, q: Any, k: Any, in_prefix: Any = None) -> Any:
        """Return whether queries may attend to keys, a boolean tensor; all arguments are tensors that broadcast.

        - q, k: positions in the document.
        - in_prefix: whether both belong to its prefix, whose inputs all attend to each other; None: there is none.
        """
        seen = k <= q if in_prefix is None else (k <= q) | in_prefix
        rule = PATTERNS[self.pattern].visible
        if rule is None:
            return seen
        return seen & (rule(q, k, self) | (k < self.sinks)) if self.sinks else seen & rule(q, k, self)


CAUSAL = Sees()
"""Attention to all inputs before."""


class AttentionKind(NamedTuple):
    """A kind of attention.

    Attributes:
        home: its class in `model`.
        has_scores: whether each pair of a query and a key has a score, which patterns, prefixes and biases need.
    """

    home: str
    has_scores: bool = True


ATTENTIONS = {
    "heads": AttentionKind("attention.Attention"),
    "latent": AttentionKind("latent.LatentAttention"),
    "linear": AttentionKind("running.RunningAttention", has_scores=False),
}


class Placement(NamedTuple):
    """The positions of the norms around a layer of a block.

    Attributes:
        before: whether its input is normalised.
        after: whether its output is normalised before it is added to the residual stream.
        of_sum: whether the residual stream is normalised after the output was added to it; the model then has no final
            norm.
    """

    before: bool = False
    after: bool = False
    of_sum: bool = False


PLACEMENTS = {
    "pre": Placement(before=True),
    "post": Placement(of_sum=True),  # Vaswani et al. 2017
    "both": Placement(before=True, after=True),
}


class Biases(NamedTuple):
    """The linear layers that add a bias: the projections of queries, keys and values, and the other layers of a block.

    LayerNorm has a bias too if the other layers have one.
    """

    of_qkv: bool = False
    of_others: bool = False


BIASES = {"none": Biases(), "qkv": Biases(of_qkv=True), "all": Biases(of_qkv=True, of_others=True)}


def load(home: str) -> Any:
    """Return a class of `dataprep.train.model`, such as "attention.Attention"; this imports torch."""
    module, _, name = home.rpartition(".")
    return getattr(importlib.import_module(f"dataprep.train.model.{module}"), name)
