"""The command `evaluate`: measure a trained model on token shards and on multiple choice."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from dataprep.errors import PlanError
from dataprep.shown.terminal import table_of

from .as_json import Json, print_json
from .chat import Device, ModelFolder
from .options import Screen, one_line, say

SHOWN = 30  # groups
LABEL_CHARS = 60


def evaluate(
    folder: ModelFolder,
    shards: Annotated[str | None, typer.Option(metavar="DIR", help="Token shards to measure the loss on.")] = None,
    split: Annotated[str | None, typer.Option(help="With --shards: train, val or test.", show_default="val")] = None,
    by: Annotated[
        str | None, typer.Option(help="With --shards: group documents by this column.", show_default="source")
    ] = None,
    docs: Annotated[
        str | None, typer.Option(metavar="DIR", help="The Dataset that was encoded; needed if --by is not source.")
    ] = None,
    choices: Annotated[
        str | None, typer.Option(metavar="JSONL", help="JSON Lines file of questions: prompt, choices, answer.")
    ] = None,
    chat: Annotated[bool, typer.Option("--chat", help="With --choices: use the model's chat template.")] = False,
    as_json: Json = False,
    device: Device = "auto",
) -> None:
    """Measure a model: loss and bits per byte per source or language, and multiple choice by likelihood."""
    if shards is None and choices is None:
        msg = "there is nothing to evaluate on: name token shards with --shards, questions with --choices, or both"
        raise PlanError(msg)
    needs: list[tuple[str, Any, str, str | None]] = [("--chat", chat or None, "--choices", choices)]
    needs += [(name, value, "--shards", shards) for name, value in (("--split", split), ("--by", by), ("--docs", docs))]
    for name, given, other, needed in needs:
        if given is not None and needed is None:
            msg = f"{name} has no effect without {other}; add {other}, or leave {name} out"
            raise PlanError(msg)
    made: dict[str, Any] = {}
    if choices is not None:
        from dataprep.inference.choices import answer_choices

        answers = answer_choices(folder, choices, chat=chat, device=device)
        made["choices"] = answers.to_dict()
    if shards is not None:
        from dataprep.inference.evaluate import evaluate as evaluate_model

        found = evaluate_model(folder, shards, split=split or "val", by=by or "source", docs=docs, device=device)
        made["shards"] = found.to_dict()
    if as_json:
        print_json(made)
        return
    if shards is not None:
        _print_groups(made["shards"])
    if choices is not None:
        say(answers)


def _print_groups(found: dict[str, Any]) -> None:
    """Print a row per group, those with the most tokens first, and a row for all of them."""
    table = table_of(found["by"], "documents", "tokens", "bytes", "loss", "perplexity", "bits per byte")
    groups = list(found["groups"].items())
    for name, row in [*groups[:SHOWN], ("all", found["total"])]:
        loss, perplexity, bits = (row[n] for n in ("loss", "perplexity", "bits_per_byte"))
        style = "bold" if row is found["total"] else ""
        table.add_row(
            Text(one_line(name, LABEL_CHARS), style, no_wrap=True, overflow="ellipsis"),
            f"{row['documents']:,}", f"{row['tokens']:,}", f"{row['bytes']:,}", "-" if loss is None else f"{loss:.3f}",
            "-" if perplexity is None else f"{perplexity:,.1f}", "-" if bits is None else f"{bits:.3f}",
        )  # fmt: skip
    Screen(highlight=False).print(table)
    if len(groups) > SHOWN:
        say(f"and {len(groups) - SHOWN:,} more, which --json prints")
