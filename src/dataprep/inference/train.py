"""Train a model on token shards or on messages, from Python and for the command; torch is imported in the call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataprep.core.model.dataset import Dataset
from dataprep.core.run.trial import PlannedTraining, Untrained
from dataprep.errors import PlanError
from dataprep.tokens.shards.shard import Shards

if TYPE_CHECKING:
    from dataprep.train import Result, TrainConfig
    from dataprep.train.start import Loaded

Data = Shards | str | Path


def train(
    shards: Data | Mapping[str, Data] | Sequence[str],
    *,
    out: str | Path,
    config: TrainConfig | str | None = None,
    settings: Sequence[str] = (),
    init_from: str | Path | Loaded | None = None,
    lora: int | None = None,
    dpo: float | None = None,
    template: str | os.PathLike[str] | None = None,
    val: float | None = None,
    labels: str | None = None,
    docs: Dataset | str | None = None,
    resume: bool = True,
    stop_at: int | None = None,
    quiet: bool = False,
    plot: bool = False,
    tensorboard: bool = False,
) -> Result:
    """Train a GPT, and write its checkpoints, metrics.jsonl and tokenizer.json to `out`; return the Result.

    A run that was stopped or killed is resumed by the same call, and a finished run returns its result at once. The
    trainer itself is `dataprep.train.train`, which takes token shards only and needs no package but torch and numpy.

    Args:
        shards: the folder of token shards; or a file of JSON Lines of messages, {"messages": [{"role", "content"},
            ...]}, which is encoded for the model of `init_from` into OUT/data; or several of these, as {name: folder or
            file} or as texts NAME=FOLDER. The config's `weights` setting contains the shares of several sets.
        out: the folder of the run.
        config: a preset by name, such as "tiny" or "42m", or a TrainConfig. None: "tiny", or with `init_from` the
            config of that model.
        settings: changes of the config, as strings such as "steps=500" and "model.context=512".
        init_from: a run, a checkpoint, a Hugging Face folder, or a loaded model; training starts from its weights.
        lora: the rank for LoRA; only low-rank updates of the weights of `init_from` are trained.
        dpo: the strength (beta), such as 0.1, of training on preferences, {"prompt", "chosen", "rejected"}; None: no
            preferences.
        template: the chat template for messages: "course", "chatml" or a Jinja template; None: the template of the
            model.
        val: the fraction of conversations that is held out; None: 0.05.
        labels: the column of the label of each document, "source" or a column of `docs`; trains a classifier.
        docs: for `labels`, the Dataset that the shards were encoded from, or its folder; not needed for "source".
        resume: whether to resume a run in `out`; False replaces that run with a new one.
        stop_at: the step after which a checkpoint is written and the call returns.
        quiet: whether to print no progress.
        plot: whether to draw the loss curve on the terminal.
        tensorboard: whether to also write the metrics for TensorBoard, which needs the extra `tensorboard`.

    Raises:
        PlanError: torch is not installed, a setting is wrong, or the data does not fit the model.
        StaleOutput: `out` has a run on other data or with another config.
        InUse: another process trains into `out`.

    >>> dp.train("work/shards", out="work/model", config="tiny", settings=["steps=500"]).bits_per_byte
    """
    from dataprep.train import named, starting_config  # names the extra if torch is not installed
    from dataprep.train import train as train_on_shards
    from dataprep.train.begin import has_checkpoints
    from dataprep.train.data.sets import open_sets
    from dataprep.train.shape import check_path
    from dataprep.train.start import settled

    from . import messages, preferences
    from .labels import classifier_of
    from .open_model import beginning, open_model

    check_path("out", out)
    given = _arguments(shards)
    if docs is not None and labels is None:
        msg = "docs has no effect without labels; add labels, or leave docs out"
        raise PlanError(msg)
    begin: Any = init_from
    sets: Any
    if messages.has_messages(given):
        if labels is not None:
            msg = f"labels={labels!r} applies only to token shards; leave it out for files of messages"
            raise PlanError(msg)
        if init_from is None:
            msg = f"{given[0]} has messages, which are for a trained model: name it with init_from= (--init-from)"
            raise PlanError(msg)
        begin = init_from if isinstance(init_from, tuple) else open_model(init_from)
        start = starting_config(config, begin)
        chosen = (start if start is config else messages.config_for(start)).override(*settings)
        settled(chosen, lora, dpo)  # before the messages are encoded
        share = {} if val is None else {"val": val}
        encoded: Any = messages.encoded_sets if dpo is None else preferences.encoded_pairs
        is_new = not (resume and has_checkpoints(out))  # nobody needs the data of a run that never began
        sets = encoded(given, begin, str(out), template=template, replace=is_new, **share)
    else:
        name, value = ("template", template) if val is None else ("val", val)
        if value is not None:
            msg = f"{name}={value!r} applies only to files of messages; leave it out for shards"
            raise PlanError(msg)
        begin = init_from if isinstance(init_from, tuple) else beginning(init_from)
        sets = shards if isinstance(shards, (str, Path, Shards, Mapping)) else named(given)
        chosen = starting_config(config, begin).override(*settings)
        if isinstance(out, Untrained):
            raise PlannedTraining(chosen, sets)
        if labels is not None:
            chosen, sets = classifier_of(chosen, open_sets(sets), labels, docs)
    return train_on_shards(
        sets, out=out, config=chosen, init_from=begin, lora=lora, dpo=dpo, resume=resume, stop_at=stop_at,
        quiet=quiet, plot=plot, tensorboard=tensorboard,
    )  # fmt: skip


def _arguments(shards: Data | Mapping[str, Data] | Sequence[str]) -> list[str]:
    """Return the data as arguments of the command: FOLDER, FILE, NAME=FOLDER or NAME=FILE."""
    if isinstance(shards, Mapping):
        return [f"{name}={_path(one)}" for name, one in shards.items()]
    return [_path(shards)] if isinstance(shards, (str, Path, Shards)) else list(shards)


def _path(data: Data) -> str:
    return str(data.path if isinstance(data, Shards) else data)
