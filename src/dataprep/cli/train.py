"""The command `train`: train a model on token shards, or on messages and an earlier model."""

from __future__ import annotations

from typing import Annotated

import typer

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
            "--init-from", metavar="DIR", help=("Start from the weights of this run, checkpoint or Hugging Face model.")
        ),
    ] = None,
    lora: Annotated[
        int | None, typer.Option(metavar="RANK", help="Train only low-rank updates (LoRA) of the --init-from model.")
    ] = None,
    dpo: Annotated[
        float | None,
        typer.Option(metavar="BETA", help="Train on preferences (DPO) with this beta, such as 0.1."),
    ] = None,
    template: Annotated[
        str | None, typer.Option(help="Chat template for messages: course, chatml or a file; default: the model's.")
    ] = None,
    val: Annotated[
        float | None, typer.Option(help="Fraction of conversations held out for validation.", show_default="0.05")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Train a classifier: the column of each document's label.")
    ] = None,
    docs: Annotated[
        str | None, typer.Option(metavar="DIR", help="With --labels: the Dataset that was encoded.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw the loss curve in the terminal.")] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write the metrics for TensorBoard, to OUT/tensorboard.")
    ] = False,
    start_over: Annotated[
        bool, typer.Option("--start-over", help="Start a new run that replaces the run in --out.")
    ] = False,
) -> None:
    """Train a GPT on token shards, or fine-tune one on messages.

    On shards, `python -m dataprep.train` does the same with only torch and numpy installed.
    """
    from dataprep.inference.train import train as train_model

    made = train_model(
        shards, out=out, config=preset, settings=settings or (), init_from=init_from, lora=lora, dpo=dpo,
        template=template, val=val, labels=labels, docs=docs, resume=not start_over, plot=plot, tensorboard=tensorboard,
    )  # fmt: skip
    if is_first():
        print(made)
