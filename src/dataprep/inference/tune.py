"""Train a persona: a base model on all conversations, and from it a model that learns one person's answers.

    OUT/base       learned all conversations as plain text, and the person's conversations in the chat template
    OUT/model      starts from OUT/base and learns the person's answers, mixed with plain conversations (replay)
    OUT/model/report.json   comparison of both models on held-out conversations (`compare`)

Neither model is trained on the conversations of the validation and test splits. A stopped run resumes, and finished
work is not repeated; a model in OUT with other data or settings is trained again.
"""

from __future__ import annotations

import logging
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dataprep.core.model.dataset import Dataset
from dataprep.errors import PlanError, StaleOutput
from dataprep.shown.notebook import block
from dataprep.store import files, lease, receipts
from dataprep.store.key import key
from dataprep.tokens.shards.shard import Shards
from dataprep.train import TrainConfig, lora, starting_config, train
from dataprep.train.device import pick_device
from dataprep.train.ranks import launched
from dataprep.train.start import Loaded, check_shape

from .compare import PersonaReport, compare
from .open_model import beginning

log = logging.getLogger("dataprep")

ANSWERS, TRANSCRIPTS = "answers", "transcripts"
BASE_EPOCHS, TUNE_EPOCHS = 8.0, 4.0  # at most; of the base's data and of the answers
TUNE_LR = 0.1  # of the base's learning rate


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The settings of `tune`.

    Attributes:
        preset: the preset of the trainer for both models; None: "tiny", or with `init_from` the settings of that model.
        init_from: the folder of a model with the same tokenizer, from whose weights the base model starts.
        replay: the fraction of rows with plain conversations in fine-tuning, from 0 to below 1.
        settings: texts name=value that change the config of both models, such as "steps=500".
    """

    preset: str | None = None
    init_from: str | None = None
    replay: float = 0.25
    settings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.replay < 1:
            msg = f"replay={self.replay} must be a share: at least 0 and less than 1"
            raise PlanError(msg)

    def check(self) -> None:
        """Raise PlanError if the models could not be trained with these settings; this check needs no data."""
        if (ranks := launched().ranks) > 1:
            msg = (
                f"persona --train must run in one process, and torchrun started {ranks}; start it without torchrun, or "
                "run `dataprep persona` and then `torchrun ... -m dataprep train OUT/shards`"
            )
            raise PlanError(msg)
        config = self.config(begun := beginning(self.init_from))
        pick_device(config.device)
        if config.lora and begun is None:
            msg = (
                f"lora={config.lora} needs a trained model: name it with init_from= (--init-from), or leave lora out"
            )
            raise PlanError(msg)
        if begun is not None:
            check_shape(self.init_from, starting_config(None, begun).model, config.model)
        lora.check(config)
        if "lr" not in self.named:
            replace(config, lr=config.lr * TUNE_LR)

    def config(self, begun: str | Loaded | None, context: int | None = None) -> TrainConfig:
        """Return the config of the base model: the preset, or that of `begun`, with `settings`; all tokens are targets.

        Args:
            begun: the model from which the base model starts; None: random weights.
            context: the context of the model; None: the context of the config.
        """
        config = starting_config(self.preset, begun)
        if context is not None:
            config = replace(config, model=replace(config.model, context=context))
        config = replace(config, layout="bestfit", masks=False, weights=None, lora=None)
        return config.override(*self.settings)

    @property
    def named(self) -> set[str]:
        """The names of the config's fields that `settings` changes."""
        return {setting.partition("=")[0] for setting in self.settings}


@dataclass(frozen=True)
class Tuned:
    """The result of `tune`: the folders of both models, and how they compare."""

    base: str
    model: str
    comparison: PersonaReport

    _repr_html_ = block

    def __str__(self) -> str:
        return f"{self.comparison}\nto talk to it: dataprep chat {self.model}"


@lease.writes
def tune(
    answers: Shards | str | os.PathLike[str], transcripts: Shards | str | os.PathLike[str],
    out: str | os.PathLike[str], how: Tuning | None = None, *, windows: Dataset | None = None, quiet: bool = False,
) -> Tuned:  # fmt: skip
    """Train OUT/base on all conversations and OUT/model on the answers, and compare them on held-out conversations.

    Args:
        answers: the token shards of dialogues with a loss mask.
        transcripts: the token shards of all conversations as text, with the same tokenizer and split.
        out: the folder of both models.
        how: the settings; None: `Tuning()`.
        windows: the Dataset of `answers`, which states the windows that belong to one conversation, for the comparison;
            None: each window is a conversation.
        quiet: whether to print no progress.

    Raises PlanError if a setting is wrong or the vocabularies differ, and InUse if another process writes into `out`.
    """
    how = how or Tuning()
    how.check()
    said, told = (s if isinstance(s, Shards) else Shards.open(s) for s in (answers, transcripts))
    base, model = (files.join(os.fspath(out), name) for name in ("base", "model"))
    config = base_config(said, told, how)
    _train({ANSWERS: said, TRANSCRIPTS: told}, base, config, beginning(how.init_from), quiet=quiet)
    replayed = how.replay > 0 and told.split("train").n_tokens > 0
    sets = {ANSWERS: said, **({TRANSCRIPTS: told} if replayed else {})}
    config = tuned_config(said, how, config)
    _train(sets, model, config if replayed else replace(config, weights=None), base, quiet=quiet)
    return Tuned(base, model, _compared(base, model, said, windows))


def base_config(answers: Shards, transcripts: Shards, how: Tuning) -> TrainConfig:
    """Return the config of the base training: all tokens are targets, rows fit the longest window, few epochs."""
    context = 16 * math.ceil(max(_longest(answers), 64) / 16) if how.init_from is None else None
    config = how.config(beginning(how.init_from), context)
    n_tokens = sum(s.split("train").n_tokens for s in (answers, transcripts))
    return config if "steps" in how.named else _in_steps(config, BASE_EPOCHS * n_tokens)


def tuned_config(answers: Shards, how: Tuning, base: TrainConfig) -> TrainConfig:
    """Return the config of the fine-tuning after a base with the config `base`."""
    weights = {ANSWERS: 1 - how.replay, TRANSCRIPTS: how.replay}
    config = replace(base, masks=True, weights=weights)
    if "lr" not in how.named:
        config = replace(config, lr=base.lr * TUNE_LR)
    if "steps" in how.named:
        return config
    return _in_steps(config, TUNE_EPOCHS * answers.split("train").n_tokens / (1 - how.replay))


def _in_steps(config: TrainConfig, n_tokens: float) -> TrainConfig:
    """Return the config with the number of steps that read this number of tokens, or its own number if smaller."""
    steps = max(1, math.ceil(n_tokens / (config.batch * config.model.context)))
    steps = steps if config.steps is None else min(config.steps, steps)
    every = max(1, steps // 4)
    return replace(config, steps=steps, eval_every=every, save_every=max(every, 50), warmup=min(config.warmup, steps))


def _longest(shards: Shards) -> int:
    """Return the tokens of the longest document, its separator included."""
    lengths = [np.diff(np.asarray(shards.ends(i)), prepend=0) for i in range(len(shards.shards))]
    return max((int(n.max()) for n in lengths if len(n)), default=0)


def _train(sets: dict[str, Shards], out: str, config: TrainConfig, init: str | Loaded | None, *, quiet: bool) -> None:
    options: dict[str, Any] = {"out": out, "config": config, "init_from": init, "quiet": quiet}
    try:
        train(sets, **options)
    except StaleOutput as e:
        log.warning("%s; it is trained again", str(e).partition(";")[0])
        train(sets, resume=False, **options)


def _compared(base: str, model: str, answers: Shards, windows: Dataset | None) -> PersonaReport:
    """Return the comparison; read it from report.json if that is of these models and shards."""
    from dataprep.train import checkpoint

    newest = [str(checkpoint.found(Path(folder))[-1]) for folder in (base, model)]
    work = key([2, [files.content_hash(url) for url in newest], answers.manifest.recipe, windows is not None])
    report = files.join(model, "report.json")
    made = receipts.once(report, work, lambda: {"files": [], **compare(base, model, answers, windows).to_dict()})
    return PersonaReport.from_dict(made)
