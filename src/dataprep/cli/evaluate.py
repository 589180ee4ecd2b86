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
    text: Annotated[list[str] | None, typer.Option(help="A text for a classifier to label; may be repeated.")] = None,
    chat: Annotated[bool, typer.Option("--chat", help="With --choices: use the model's chat template.")] = False,
    as_json: Json = False,
    device: Device = "auto",
) -> None:
    """Measure a model: loss per source or language, multiple choice by likelihood, and classification."""
    if shards is None and choices is None and not text:
        msg = "there is nothing to evaluate on: name token shards with --shards, questions with --choices, or a --text"
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
    if text:
        from dataprep.inference.classify import classify

        made["texts"] = classify(folder, text, device=device)
    if as_json:
        print_json(made)
        return
    if shards is not None:
        (_print_groups if "confusion" not in made["shards"] else _print_labels)(made["shards"])
    if choices is not None:
        say(answers)
    for words, found_labels in zip(text or (), made.get("texts", ()), strict=True):
        most = ", ".join(f"{label} {share:.1%}" for label, share in list(found_labels.items())[:SHOWN])
        say(f"{one_line(words, LABEL_CHARS)}: {most}")


def _print_labels(found: dict[str, Any]) -> None:
    """Print a classifier's scores: a row per label, and its accuracy and macro F1."""
    table, total = table_of(found["by"], "documents", "loss", "precision", "recall", "F1"), found["total"]
    for name, row in list(found["groups"].items())[:SHOWN]:
        cells = [(row["loss"], ".3f"), *((row[score], ".1%") for score in ("precision", "recall", "f1"))]
        shown = ["-" if value is None else format(value, form) for value, form in cells]
        label = Text(one_line(name, LABEL_CHARS), no_wrap=True, overflow="ellipsis")
        table.add_row(label, f"{row['documents']:,}", *shown)
    Screen(highlight=False).print(table)
    if len(found["groups"]) > SHOWN:
        say(f"and {len(found['groups']) - SHOWN:,} more, which --json prints")
    say(f"accuracy {total['accuracy']:.1%}, macro F1 {total['macro_f1']:.1%}, of {total['documents']:,} documents")


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
