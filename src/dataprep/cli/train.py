"""The command train: a model from token shards, or from messages and a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dataprep.errors import PlanError
from dataprep.train.ranks import is_first


def train(
    shards: Annotated[
        list[str],
        typer.Argument(help="A folder of token shards, or JSON Lines of messages; several as NAME=FOLDER, NAME=FILE."),
    ],
    out: Annotated[str, typer.Option(help="Folder for checkpoints and metrics; a stopped run resumes.")],
    preset: Annotated[
        str | None,
        typer.Option(help=("Settings: tiny, 11m, 42m, gpt2-124m ...; default: tiny, or those of --init-from.")),
    ] = None,
    init_from: Annotated[
        str | None,
        typer.Option(
            "--init-from", metavar="DIR", help=("Begin with this run, checkpoint or Hugging Face model, at step 0.")
        ),
    ] = None,
    lora: Annotated[
        int | None, typer.Option(metavar="RANK", help="Train only low-rank changes of the model of --init-from.")
    ] = None,
    dpo: Annotated[
        float | None,
        typer.Option(metavar="BETA", help="Prefer chosen answers over rejected ones (DPO), by such as 0.1."),
    ] = None,
    template: Annotated[
        str | None, typer.Option(help="Of messages: course, chatml or a file; default: that of the model.")
    ] = None,
    val: Annotated[
        float | None, typer.Option(help="Of messages: share of conversations for validation.", show_default="0.05")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw the loss curve on the terminal.")] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write the metrics for TensorBoard, to OUT/tensorboard.")
    ] = False,
    start_over: Annotated[bool, typer.Option("--start-over", help="Replace the run in --out by a new one.")] = False,
) -> None:
    """Train a GPT on token shards, or fine-tune one on messages.

    On shards, `python -m dataprep.train` does the same with only torch and numpy installed.
    """
    from dataprep import train as trainer

    make = trainer.train  # names the extra if torch is not installed
    from dataprep.inference import messages, preferences
    from dataprep.inference.open_model import beginning, open_model

    begin: Any = None
    sets: Any
    if messages.has_messages(shards):
        if init_from is None:
            msg = f"{shards[0]} has messages, which are encoded for a model: name it with --init-from"
            raise PlanError(msg)
        begin = open_model(init_from)
        config = messages.config_for(trainer.starting_config(preset, begin)).override(*(settings or []))
        given = {} if val is None else {"val": val}
        encoded: Any = messages.encoded_sets if dpo is None else preferences.encoded_pairs
        sets = encoded(shards, begin, out, template=template, replace=start_over, **given)
    else:
        if template is not None or val is not None:
            msg = f"--{'val' if template is None else 'template'} is about files of messages; leave it out for shards"
            raise PlanError(msg)
        begin = beginning(init_from)
        sets = trainer.named(shards)
        config = trainer.starting_config(preset, begin).override(*(settings or []))
    made = make(
        sets, out=out, config=config, init_from=begin, lora=lora, dpo=dpo, resume=not start_over, plot=plot,
        tensorboard=tensorboard,
    )  # fmt: skip
    if is_first():
        print(made)
