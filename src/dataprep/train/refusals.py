"""Reject settings that are each valid but contradict each other, with a sentence that states the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from dataprep.errors import PlanError

from .parts import ATTENTIONS, PATTERNS

Layer: TypeAlias = Any
"""A `ModelConfig` of one layer."""
Settings: TypeAlias = Any
"""A `TrainConfig`."""

LAYER: list[tuple[Callable[[Layer], bool], str]] = [
    (
        lambda c: PATTERNS[c.pattern].visible is not None and c.reach is None,
        "pattern={c.pattern!r} needs the number of inputs that it reaches; set reach, such as reach=128",
    ),
    (
        lambda c: c.parallel and c.place.of_sum,
        "parallel=True has one sum per block, and placement={c.placement!r} has two; set placement=pre",
    ),
    (
        lambda c: c.pattern == "dilated" and c.stride == 1,
        "pattern='dilated' needs the distance of the inputs that it reaches; set stride, such as stride=4",
    ),
    (
        lambda c: c.positions == "sinusoidal" and c.d_model % 2 == 1,
        "positions='sinusoidal' are pairs of sines and cosines, and d_model={c.d_model} is odd; set an even d_model",
    ),
    (
        lambda c: c.rope_scaling == "yarn" and c.rope_base == 1,
        "rope_scaling='yarn' needs rotations of different speeds; set rope_base above 1, such as rope_base=1e4",
    ),
    (
        lambda c: (c.rope_scaling == "none") != (c.rope_factor == 1),
        "rope_scaling={c.rope_scaling!r} and rope_factor={c.rope_factor} contradict each other; set both or none",
    ),
    (
        lambda c: c.rope_scaling != "none" and c.positions != "rope",
        "rope_scaling={c.rope_scaling!r} changes rotary positions, and this layer has positions={c.positions!r}",
    ),
    (
        lambda c: c.attention == "latent" and c.latent is None,
        "attention='latent' and latent=None contradict each other; set both (latent=64), or neither",
    ),
    (
        lambda c: c.attention == "latent" and (c.n_kv_heads is not None or c.qk_norm),
        "attention='latent' has no keys of its own per head; leave n_kv_heads and qk_norm out",
    ),
    (
        lambda c: not ATTENTIONS[c.attention].has_scores and PATTERNS[c.pattern].visible is not None,
        "attention={c.attention!r} sums all keys, so it has no pattern; set pattern=all for this layer",
    ),
    (
        lambda c: not ATTENTIONS[c.attention].has_scores and c.position.way in ("scored", "rotated"),
        "attention={c.attention!r} has no scores, which positions={c.positions!r} change; set positions=learned",
    ),
    (
        lambda c: not ATTENTIONS[c.attention].has_scores and c.attention_dropout > 0,
        "attention={c.attention!r} has no weights that attention_dropout={c.attention_dropout} sets to 0; set it to 0",
    ),
    (
        lambda c: c.experts != 0 and c.experts < c.experts_used,
        "experts={c.experts} must be at least experts_used={c.experts_used}, or 0 for a layer without experts",
    ),
    (
        lambda c: bool(c.attention == "latent" and c.rotated_width is not None and c.rotated_width % 2),
        "rotated_width={c.rotated_width} must be an even number",
    ),
]
"""(whether a layer is refused, the sentence)."""

MODEL: list[tuple[Callable[[Sequence[Layer]], bool], str]] = [
    (
        lambda every: len({c.positions for c in every}) > 1 and any(c.position.way == "added" for c in every),
        "positions that are added are added once, before the first layer, so all layers must have the same",
    ),
    (
        lambda every: every[0].latent is not None and all(c.attention != "latent" for c in every),
        "attention={c.attention!r} and latent={c.latent} contradict each other; set both (latent=64), or neither",
    ),
    (
        lambda every: every[0].rotated_width is not None and all(c.attention != "latent" for c in every),
        "rotated_width={c.rotated_width} is a setting of attention=latent; set both, or leave rotated_width out",
    ),
    (
        lambda every: every[0].rope_context is not None and all(c.rope_scaling != "yarn" for c in every),
        "rope_context={c.rope_context} is a setting of rope_scaling=yarn; set both, or leave rope_context out",
    ),
    (
        lambda every: all(c.experts == 0 for c in every) and any(c.experts_shared for c in every),
        "experts_shared={c.experts_shared} needs a layer with experts; set experts, or leave experts_shared out",
    ),
    (
        lambda every: len({c.place.of_sum for c in every}) > 1,
        "a model has a norm at its end, or norms of the sums of all layers; give all layers the same placement",
    ),
    (
        lambda every: (
            any(c.reach or c.sinks or c.stride > 1 for c in every)
            and all(PATTERNS[c.pattern].visible is None for c in every)
        ),
        "reach, stride and sinks belong to a pattern, and all layers reach all inputs; set one (pattern=window)",
    ),
]
"""(whether a model of these different layers is refused, the sentence)."""

SETTINGS: list[tuple[Callable[[Settings], bool], str]] = [
    (
        lambda c: c.objective == "span" and (c.layout != "contiguous" or bool(c.mask_documents)),
        "objective='span' needs running text: set layout='contiguous' and mask_documents=False",
    ),
    (
        lambda c: c.has_prefixes and not c.model.has_scores,
        "objective={c.objective!r} has prefixes, which linear attention cannot read; set objective=next",
    ),
    (
        lambda c: c.objective == "mlm" and any(layer.positions == "t5" for layer, _ in c.model.kinds()),
        "objective='mlm' reads in both directions, and positions='t5' has scores for one; set another, such as rope",
    ),
    (
        lambda c: c.dpo is not None and c.labels is not None,
        "dpo compares answers, and labels={c.labels!r:.50} are those of a classifier; leave one of the two out",
    ),
    (
        lambda c: (c.objective == "classify") != (c.labels is not None),
        "objective={c.objective!r} and labels={c.labels!r:.50} do not fit: name a column with --labels (sets both)",
    ),
    (
        lambda c: c.labels is not None and len(c.labels) < 2,
        "labels={c.labels!r} must be two or more, so that there is something to learn; choose another column",
    ),
    (
        lambda c: c.objective == "classify" and (c.layout == "contiguous" or c.mask_documents is False),
        "objective='classify' needs whole documents: set layout=bestfit, and leave mask_documents out",
    ),
    (
        lambda c: c.dpo is not None and (c.layout, c.objective, c.weights, c.masks) != ("cut", "next", None, True),
        "dpo needs a row per answer: set layout='cut', and leave objective, weights and masks out",
    ),
    (
        lambda c: c.dpo is not None and bool(c.model.dropout or c.model.attention_dropout),
        "dpo compares the model with itself, without dropout: set model.dropout=0 and model.attention_dropout=0",
    ),
    (
        lambda c: c.dpo is not None and bool(c.micro_batch == "auto" or c.batch % 2 or c.rows % 2),
        "dpo reads pairs: batch={c.batch} and micro_batch={c.micro_batch} must be even numbers, as a pair has two rows",
    ),
    (
        lambda c: c.optimizer == "muon" and c.lora is not None,
        "optimizer='muon' needs whole matrices, which lora={c.lora} trains in two parts; set optimizer=adamw",
    ),
    (
        lambda c: c.optimizer == "muon" and c.shard_optimizer,
        "optimizer='muon' needs whole matrices, which shard_optimizer=True divides; set one of the two",
    ),
]
"""(whether the settings of a run are refused, the sentence)."""


def refuse(layers: Sequence[Layer]) -> None:
    """Raise PlanError if settings of a model contradict each other.

    - layers: the different layers of the model.
    """
    for layer in layers:
        for is_refused, sentence in LAYER:
            if is_refused(layer):
                raise PlanError(sentence.format(c=layer))
    for are_refused, sentence in MODEL:
        if are_refused(layers):
            raise PlanError(sentence.format(c=layers[0]))


def refuse_settings(config: Settings) -> None:
    """Raise PlanError if settings of a training run contradict each other."""
    for is_refused, sentence in SETTINGS:
        if is_refused(config):
            raise PlanError(sentence.format(c=config))
