"""`TrainConfig`: the settings of a training run, a frozen dataclass that checks its values; it needs no torch."""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from dataprep.errors import PlanError

from .refusals import refuse_settings
from .shape import ModelConfig, in_range, is_a, plain_fields, positive

SCHEDULES = ("cosine", "linear", "wsd", "constant")
PACKED = ("bestfit", "padded", "cut")
LAYOUTS = ("contiguous", *PACKED)
"""Ways to make rows of token files (see `layouts`); those of PACKED are made of whole documents."""
OPTIMIZERS = ("adamw", "muon")
"""Optimisers (see `optim`)."""
OBJECTIVES = ("next", "prefix", "span", "mlm", "classify")
"""Training objectives (see `objectives`)."""
ON_SPIKE = ("report", "skip", "rollback")
"""What to do about a step whose loss is far above those before it (see `spikes`)."""
BACK_ENDS = ("auto", "cudnn", "flash", "efficient", "math")
"""Ways in which torch computes attention (see `sdpa`)."""
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The matrices of a block that LoRA can change."""
OTHER_PROJECTIONS = ("kv_a_proj_with_mqa", "kv_b_proj")
"""Those that models with the attention "latent" have besides; LoRA changes them if `lora_targets` names them."""
EMBEDDING = "embedding"
"""A target of LoRA that is trained in full: the matrix of the vocabulary, and that of the scores if it is another."""
MODEL = "model."
"""The beginning of the names of settings of the model's shape."""

RUN_ONLY = {
    "micro_batch",
    "recompute",
    "eval_every",
    "eval_rows",
    "save_every",
    "log_every",
    "keep_checkpoints",
    "device",
    "dtype",
    "compile",
    "attention",
    "on_spike",
    "shard_optimizer",
    "reduce_dtype",
}
"""Fields that may change when a run is resumed: without a spike, they do not change what is learned."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The settings of a training run; the defaults are common values for language models trained with AdamW.

    Attributes:
        model: the shape of the model.
        layout: the name of the rule by which documents become rows of `model.context` tokens.
        masks: whether the loss counts only targets with mask 1, if shards have loss masks.
        mask_documents: whether tokens attend only to tokens of their own document; None: True in all layouts but
            "contiguous".
        weights: {set of shards: weight}; the rows of the sets are mixed in these proportions. None: in proportion to
            their numbers of rows.
        objective: the learning objective, "next" (the next token), "prefix", "span", "mlm" (see `objectives`), or
            "classify" (the label of each document).
        labels: for "classify", the names of the labels; the number of a label is its index.
        corruption: for "span" and "mlm", the fraction of tokens that are hidden.
        mean_span: for "span", the mean number of tokens per hidden span.
        steps: the number of optimiser steps; None: one pass over the tokens.
        batch: the number of rows per step.
        micro_batch: the number of rows on the device at once; None: all rows of a step; "auto": as many as fit into
            memory.
        recompute: whether to use activation checkpointing, which stores only the inputs of blocks and recomputes the
            rest for the gradient.
        lr: the maximum learning rate.
        warmup: the number of steps in which the learning rate rises to `lr`.
        schedule: the learning rate after the warm-up: "cosine", "linear", "wsd" (constant, then lowered during the last
            share `decay` of the steps) or "constant".
        decay: the share of the steps, at the end of the run, in which "wsd" lowers the learning rate.
        final_lr: the last learning rate, as a fraction of `lr`.
        optimizer: "adamw"; or "muon", by which the matrices of blocks are trained, and the other weights by AdamW.
        weight_decay: the weight decay of matrices and embeddings.
        betas: the two decay rates of AdamW's moments.
        clip: the maximum gradient norm; 1e9 disables clipping.
        seed: the seed of all random numbers.
        on_spike: the treatment of a step whose loss is far above the losses before it. "report" only reports the step;
            "skip" does not update the weights; "rollback" returns to the newest checkpoint and leaves out the data up
            to this step.
        dpo: the beta of preference tuning on pairs of answers (see `preference`); None: each token is learned.
        lora: the rank of the low-rank updates; None: all weights are trained.
        lora_alpha: the updates are multiplied by lora_alpha / lora; None: by 2.
        lora_targets: the matrices that have an update.
        lora_dropout: the fraction of an update's inputs that are set to 0.
        lora_base: the format of the frozen matrices, "plain" or "nf4" (QLoRA).
        eval_every: the number of steps between validations.
        save_every: the number of steps between checkpoints.
        log_every: the number of steps between reports.
        eval_rows: the maximum number of rows per validation.
        keep_checkpoints: the number of the newest checkpoints to keep.
        device: "cpu", "cuda" ..., or "auto" for a GPU if there is one.
        dtype: the number type of activations, or "auto" for bfloat16 if it is fast on the GPU, else float32.
        compile: whether to use torch.compile; None: only on CUDA, if Triton is installed.
        shard_optimizer: whether each of several processes (torchrun) holds only a part of AdamW's moments (ZeRO stage
            1).
        reduce_dtype: the number type in which processes exchange gradients.
        attention: the back end of attention, one of `BACK_ENDS`; "auto": the fastest that the device has for the model.
    """

    model: ModelConfig = field(default_factory=ModelConfig)
    layout: str = "contiguous"
    """One of `LAYOUTS`."""
    masks: bool = True
    """In shards with masks, count only targets whose loss mask is 1; False: count all targets."""
    mask_documents: bool | None = None
    """Restrict attention to single documents; None: True for the layouts in PACKED."""
    weights: dict[str, float] | None = None
    """Shares of the rows from each set of shards; None: in proportion to the sizes of the sets."""
    objective: str = "next"
    """One of `OBJECTIVES`."""
    labels: tuple[str, ...] | None = None
    """Names of the labels of a classifier."""
    corruption: float = 0.15
    """Share of the tokens that span corruption hides (Raffel et al. 2020), or that a masked language model predicts."""
    mean_span: float = 3.0
    """Tokens in one hidden span, on average."""
    steps: int | None = None
    """Optimiser steps; None is one pass over the training tokens."""
    batch: int = 32
    """Rows in one optimiser step."""
    micro_batch: int | str | None = None
    """Rows on the device at once; None: the whole batch. Gradients are accumulated, with the same result.

    "auto" is the largest number that fits into the memory of the GPU (see `micro_batch`).
    """
    recompute: bool = False
    """Store only the inputs of blocks, and compute the rest again for the gradient; same result, less memory."""
    lr: float = 1e-3
    schedule: str = "cosine"
    warmup: int = 20
    """Steps of linear warm-up."""
    final_lr: float = 0.1
    """Learning rate at the end, as a share of `lr` (not for constant)."""
    decay: float = 0.2
    """Share of the steps in which wsd lowers the learning rate."""
    optimizer: str = "adamw"
    """One of `OPTIMIZERS`."""
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    clip: float = 1.0
    """Largest norm of the gradient; 1e9 means no clipping."""
    dpo: float | None = None
    """Beta of preference tuning (DPO), such as 0.1; None: no pairs."""
    on_spike: str = "report"
    """One of `ON_SPIKE`."""
    lora: int | None = None
    """Rank of the updates that LoRA trains (see `lora`); None: all weights are trained."""
    lora_alpha: float | None = None
    """LoRA's updates are multiplied by `lora_alpha` / `lora`; None: twice the rank."""
    lora_targets: tuple[str, ...] = PROJECTIONS
    """Matrices that LoRA updates, from `PROJECTIONS`; also `EMBEDDING`, to train new tokens."""
    lora_base: str = "plain"
    """"nf4" holds the frozen matrices of the blocks in 4 bits per weight (QLoRA); "plain": in the type of `dtype`."""
    lora_dropout: float = 0.0
    """Share of the inputs of LoRA's updates that is set to 0 in training."""
    seed: int = 0
    eval_every: int = 250
    eval_rows: int = 256
    """Maximum number of validation rows, always the same ones."""
    save_every: int = 250
    log_every: int = 10
    keep_checkpoints: int = 2
    """Checkpoints kept."""
    device: str = "auto"
    dtype: str = "auto"
    """auto: bfloat16 on CUDA cards that have it (weights and optimiser stay float32), else float32.

    "float16", with loss scaling, is for cards of before 2020, such as the T4.
    """
    compile: bool | None = None
    """Compile the model with torch.compile; None: True on CUDA if Triton is installed."""
    shard_optimizer: bool = False
    """Divide AdamW's moments among the processes of torchrun (ZeRO stage 1); the result is the same."""
    reduce_dtype: str = "float32"
    """Type in which processes exchange gradients; "bfloat16" rounds them, and halves the bytes sent."""
    attention: str = "auto"
    """One of `BACK_ENDS`; auto: the fastest that the device has for the model."""

    def __post_init__(self) -> None:
        plain_fields(self)
        for name in (
            "steps",
            "batch",
            "eval_every",
            "eval_rows",
            "save_every",
            "log_every",
            "keep_checkpoints",
            "lora",
        ):
            positive(name, getattr(self, name), optional=name in {"steps", "lora"})
        if self.micro_batch != "auto":
            positive("micro_batch", self.micro_batch, optional=True)
        if not isinstance(self.model, ModelConfig):
            msg = f"model={self.model!r} must be a ModelConfig, the shape of the model"
            raise PlanError(msg)
        for name in ("betas", "lora_targets", "labels"):
            if isinstance(getattr(self, name), list):  # from JSON
                object.__setattr__(self, name, tuple(getattr(self, name)))
        if isinstance(self.lora_targets, str):  # from the command line
            object.__setattr__(self, "lora_targets", tuple(self.lora_targets.split(",")))
        if self.batch % self.rows:
            msg = f"batch={self.batch} must be a multiple of micro_batch={self.micro_batch}; change one of them"
            raise PlanError(msg)
        self._check_choices()
        self._check_ranges()

    @property
    def rows(self) -> int:
        """The number of rows on the device at once: `micro_batch` if it is a number, else `batch`."""
        return self.micro_batch if isinstance(self.micro_batch, int) else self.batch

    @property
    def n_labels(self) -> int:
        """The number of labels among which the model chooses; 0 if it predicts tokens."""
        return len(self.labels or ())

    @property
    def has_prefixes(self) -> bool:
        """Whether the objective has prefixes, whose tokens attend to each other in both directions."""
        return self.objective in ("prefix", "span", "mlm")

    @property
    def has_masks(self) -> bool:
        """Whether attention needs a mask: rows have documents or prefixes, or a layer has its own attention rule."""
        documents = self.layout in PACKED if self.mask_documents is None else self.mask_documents
        return documents or self.has_prefixes or self.model.is_masked

    @property
    def has_dropout(self) -> bool:
        """Whether training draws random numbers for dropout."""
        return max(self.lora_dropout, self.model.dropout, self.model.attention_dropout) > 0

    @property
    def lora_scale(self) -> float:
        """The factor of LoRA's low-rank updates: `lora_alpha` / `lora`, or 2 if `lora_alpha` is None."""
        return 2.0 if self.lora_alpha is None or self.lora is None else self.lora_alpha / self.lora

    def _check_choices(self) -> None:
        choices: dict[str, tuple[Any, ...]] = {
            "schedule": SCHEDULES,
            "optimizer": OPTIMIZERS,
            "dtype": ("auto", "float32", "bfloat16", "float16"),
        }
        choices |= {"layout": LAYOUTS, "objective": OBJECTIVES, "attention": BACK_ENDS, "on_spike": ON_SPIKE}
        choices |= dict.fromkeys(("mask_documents", "compile"), (None, True, False))
        choices |= dict.fromkeys(("masks", "recompute", "shard_optimizer"), (True, False))
        choices |= {"reduce_dtype": ("float32", "bfloat16"), "lora_base": ("plain", "nf4")}
        for name, allowed in choices.items():
            value = getattr(self, name)
            if not any(type(one) is type(value) and one == value for one in allowed):  # 1 is not True
                msg = f"{name}={value!r} must be one of {', '.join(map(str, allowed))}"
                raise PlanError(msg)
        labels: Any = self.labels
        if not (labels is None or (isinstance(labels, tuple) and all(isinstance(name, str) for name in labels))):
            msg = f"labels={labels!r:.80} must be the names of labels, such as ('news', 'fiction'), or None"
            raise PlanError(msg)
        refuse_settings(self)
        targets: Any = self.lora_targets
        known = (*PROJECTIONS, *OTHER_PROJECTIONS, EMBEDDING)
        if not (isinstance(targets, tuple) and targets and all(target in known for target in targets)):
            msg = f"lora_targets={targets!r} must be one or more of {', '.join(known)}"
            raise PlanError(msg)
        if not (self.weights is None or isinstance(self.weights, dict)):
            msg = f"weights={self.weights!r} must map set names to weights, such as {{'web': 0.9, 'chat': 0.1}}"
            raise PlanError(msg)

    def _check_ranges(self) -> None:
        if is_a(self.clip, int, float) and self.clip <= 0:
            msg = f"clip={self.clip!r} must be above 0, since gradients are scaled to it; clip=1e9 clips nothing"
            raise PlanError(msg)
        ranges: dict[str, tuple[float, float]] = dict.fromkeys(("final_lr", "decay", "weight_decay"), (0, 1))
        ranges |= {"lr": (1e-12, 1), "clip": (1e-9, 1e9)}
        ranges |= {"corruption": (0.01, 0.9), "mean_span": (1, 100), "lora_dropout": (0, 0.99)}
        ranges |= {} if self.dpo is None else {"dpo": (1e-4, 100)}
        ranges |= {} if self.lora_alpha is None else {"lora_alpha": (1e-6, 1e6)}
        for name, (low, high) in ranges.items():
            in_range(self, name, low, high)
        for name in ("warmup", "seed"):
            value = getattr(self, name)
            if not (is_a(value, int) and 0 <= value < 1 << 63):
                msg = f"{name}={value!r} must be a whole number from 0 to 2**63 - 1"
                raise PlanError(msg)
        betas: Any = self.betas
        pair = isinstance(betas, tuple) and len(betas) == 2
        if not (pair and all(is_a(b, int, float) and 0 <= b < 1 for b in betas)):
            msg = f"betas={betas!r} must be two numbers from 0 to below 1, such as (0.9, 0.95)"
            raise PlanError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Return the config as plain values, for a checkpoint or JSON."""
        return asdict(self)

    def flat(self) -> dict[str, Any]:
        """Return {name of a setting: value}; the names are those of `override`, such as "lr" and "model.context"."""
        values = self.to_dict()
        model = values.pop("model")
        return {**{f"model.{k}": v for k, v in model.items()}, **values}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """Return the config that has the values of `values`, a result of `to_dict`."""
        return cls(**{**values, "model": ModelConfig(**values["model"])})

    def differences(self, other: TrainConfig) -> list[str]:
        """Return one text per field in which `self` differs from `other`, such as "lr was 0.001, is 0.0003".

        Fields that may change when a run is resumed, since they do not change the training (`RUN_ONLY`), are left out.
        """
        mine, theirs = self.flat(), other.flat()
        changed = [n for n in mine if n not in RUN_ONLY and mine[n] != theirs[n]]
        return [f"{n} was {theirs[n]}, is {mine[n]}" for n in changed]

    def override(self, *settings: str) -> TrainConfig:
        """Return a copy of the config with fields changed by texts of the form `name=value`, as on a command line.

        >>> TrainConfig().override("lr=3e-4", "model.n_layers=2").model.n_layers
        2
        """
        found = dict(map(self._parsed, settings))  # all at once: some are allowed only together
        shape = {name.removeprefix(MODEL): value for name, value in found.items() if name.startswith(MODEL)}
        own = {name: value for name, value in found.items() if not name.startswith(MODEL)}
        return replace(self, model=replace(self.model, **shape), **own)

    def _parsed(self, setting: str) -> tuple[str, Any]:
        """Return the name and the value of a text `name=value`."""
        name, equals, text = setting.partition("=")
        if not equals or name not in self.flat():
            known = ", ".join(self.flat())
            msg = f"setting {setting!r} must be name=value with a name among {known}"
            raise PlanError(msg)
        try:
            return name, ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # what literal_eval may raise
            return name, text


assert RUN_ONLY.issubset(f.name for f in fields(TrainConfig)), "RUN_ONLY names a field that does not exist"
