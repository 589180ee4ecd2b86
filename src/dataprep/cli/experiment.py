"""The commands `experiment` and `scaling`: which version of a corpus, and which size, makes a better model."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.text import Text

from dataprep.errors import PlanError
from dataprep.shown.terminal import table_of

from .as_json import SCHEMA, Json, only_json, print_json
from .options import Screen, Workers, one_line, runner_of, say

Named = list[str] | None


def experiment(
    versions: Annotated[
        list[str], typer.Argument(metavar="DIR...", help="Datasets, as DIR or NAME=DIR; the first is the baseline.")
    ],
    out: Annotated[str, typer.Option(help="Folder for all steps and results; a stopped experiment resumes.")],
    preset: Annotated[str, typer.Option(help="Settings of the runs: probe, tiny, 11m ...")] = "probe",
    settings: Annotated[Named, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting.")] = None,
    seeds: Annotated[int, typer.Option(help="Runs per version, 2 or more.")] = 3,
    tokens: Annotated[
        int | None, typer.Option(help="Tokens that each run reads.", show_default="those of the preset")
    ] = None,
    held_out: Annotated[
        str, typer.Option("--held-out", metavar="SHARE|DIR", help="Share of the documents to hold out, or a Dataset.")
    ] = "0.1",
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Hold out documents with equal values together.")
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(metavar="FILE", help="Tokenizer; default: one trained on all versions together.")
    ] = None,
    vocab_size: Annotated[int, typer.Option(help="Ids of the tokenizer that is trained.")] = 512,
    by: Annotated[
        Named, typer.Option(metavar="COLUMN", help="Also measure by this column.", show_default="source")
    ] = None,
    choices: Annotated[
        Named, typer.Option(metavar="NAME=JSONL", help="Also measure the right answers of multiple choice.")
    ] = None,
    last_words: Annotated[
        Named, typer.Option("--last-words", metavar="NAME=JSONL", help="Also measure the last word of texts.")
    ] = None,
    shots: Annotated[int, typer.Option(help="Examples before each question.")] = 0,
    checkpoints: Annotated[int, typer.Option(help="Last checkpoints of a run whose losses are averaged.")] = 1,
    cooldown: Annotated[
        str | None, typer.Option(metavar="DIR", help="Start from this run before the decay of its learning rate.")
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="Version to compare with.", show_default="the first")] = None,
    mix: Annotated[
        int | None, typer.Option(metavar="N", help="Mix sources: try N mixtures, and propose and compare weights.")
    ] = None,
    parallel: Annotated[
        int, typer.Option(metavar="N", help="Trainings at once, each on one GPU or one thread of the CPU.")
    ] = 1,
    workers: Workers = 1,
    as_json: Json = False,
) -> None:
    """Train the same model on versions of a corpus, and compare their losses on held-out documents, with intervals."""
    from dataprep.experiment.run import experiment as run

    try:
        held: str | float = float(held_out)
    except ValueError:
        held = held_out
    with only_json(as_json):
        made = run(
            named(versions, "DIR"), out=out, train=preset, settings=settings or (), seeds=seeds, tokens=tokens,
            held_out=held, group=group, tokenizer=tokenizer, vocab_size=vocab_size, by=by or ("source",),
            choices=named(choices or [], "--choices"), last_words=named(last_words or [], "--last-words"), shots=shots,
            checkpoints=checkpoints, cooldown=cooldown, baseline=baseline, mix=mix, parallel=parallel,
            runner=runner_of(workers),
        )  # fmt: skip
    if as_json:
        print_json({"schema": SCHEMA, **made.to_dict()})
        return
    for rows in made.tables():
        _print(rows)
    for line in made.notes():
        say(line)
    say(os.path.join(made.folder, "experiment.md"))


def scaling(
    shards: Annotated[str, typer.Argument(metavar="DIR", help="Token shards with the splits train and val.")],
    out: Annotated[str, typer.Option(help="Folder for all runs and results; a stopped sweep resumes.")],
    budget: Annotated[
        list[str],
        typer.Option(metavar="FLOPS[=WIDTHS]", help="Operations per run, such as 1e12 or 1e12=32,48,64; repeatable."),
    ],
    width: Annotated[
        list[int] | None, typer.Option(help="Width of a model (model.d_model) for budgets without widths; repeatable.")
    ] = None,
    at: Annotated[
        list[float] | None, typer.Option(metavar="FLOPS", help="Predict the best model at this budget; repeatable.")
    ] = None,
    preset: Annotated[str, typer.Option(help="Settings from which models are scaled: probe, tiny, 11m ...")] = "probe",
    settings: Annotated[Named, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting.")] = None,
    seeds: Annotated[int, typer.Option(help="Runs per width and budget.")] = 1,
    as_json: Json = False,
) -> None:
    """Train models of several sizes with equal numbers of operations; fit and predict the best size."""
    from dataprep.experiment.sweep import scaling as run

    with only_json(as_json):
        budgets = _budgets(budget, width or [])
        made = run(shards, out=out, budgets=budgets, at=at or (), train=preset, settings=settings or (), seeds=seeds)
    if as_json:
        print_json({"schema": SCHEMA, **made.to_dict()})
        return
    from dataprep.experiment.scaling import COLUMNS, OF_RUNS

    _print([list(OF_RUNS), *made.run_rows()])
    _print([list(COLUMNS), *made.table()])
    for line in made.notes():
        say(line)
    say(os.path.join(made.folder, "scaling.md"))


def _budgets(given: list[str], widths: list[int]) -> dict[float, list[int]]:
    """Return {operations: widths} of the arguments FLOPS or FLOPS=WIDTHS; the default is `widths`."""
    found: dict[float, list[int]] = {}
    for one in given:
        flops, own = _budget(one, widths)
        if flops in found:
            msg = f"--budget {flops:g} is given twice; write all of its widths in one argument, such as 1e12=32,48,64"
            raise PlanError(msg)
        found[flops] = own
    return found


def _budget(given: str, widths: list[int]) -> tuple[float, list[int]]:
    """Return the operations and widths of an argument FLOPS or FLOPS=WIDTHS; the default is `widths`."""
    flops, equals, own = given.partition("=")
    try:
        return float(flops), [int(one) for one in own.split(",")] if equals else widths
    except ValueError as e:
        msg = f"--budget {given} must be FLOPS or FLOPS=WIDTHS, such as 1e12 or 1e12=32,48,64,96"
        raise PlanError(msg) from e


def named(given: list[str], option: str) -> dict[str, str]:
    """Return the values of arguments NAME=VALUE, or VALUE, whose name is the last part of the path, by name.

    - option: the argument, for the message. Raises PlanError if two arguments have the same name.
    """
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            name, value = os.path.basename(one.rstrip("/")).split(".")[0], one
        if name in found:
            msg = f"{option} has the name {name!r} twice; write NAME={value}"
            raise PlanError(msg)
        found[name] = value
    return found


def _print(rows: list[list[str]]) -> None:
    table = table_of(*rows[0])
    for row in rows[1:]:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    Screen(highlight=False).print(table)
