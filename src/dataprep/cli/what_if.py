"""The command `what-if`: a run without one of its stages, or with another parameter, on a sample."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from dataprep.core.model.batch import show_id
from dataprep.history.what_if import SAMPLE, parameter_of, sentences
from dataprep.history.what_if import what_if as ask
from dataprep.shown.terminal import table_of

from .as_json import SCHEMA, Json, print_json
from .options import RunFolder, Screen, Workers, one_line, runner_of

MOST_SOURCES, MOST_EXAMPLES = 10, 5


def what_if(
    folder: RunFolder,
    stage: Annotated[str, typer.Argument(metavar="STAGE", help="The stage to change or to leave out.")],
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another value of a parameter; may be repeated."),
    ] = None,
    sample: Annotated[int, typer.Option(min=0, help="Number of documents to read; 0: all.")] = SAMPLE,
    workers: Workers = 1,
    as_json: Json = False,
) -> None:
    """Show how many documents a run would keep without a stage, or with other parameters; nothing is written.

    A random sample of the documents passes through the stage and the later stages of its pass twice.
    """
    given = dict(map(parameter_of, change)) if change else None
    found = ask(folder, stage, given, sample=sample or None, runner=runner_of(workers))
    if as_json:
        rows = [{"source": name, "sample": n, "back": back, "new": new}
                for name, (n, back, new) in found.by_source.items()]  # fmt: skip
        back, new = ([show_id(one) for one in some] for some in found.examples)
        more = {"by_source": rows, "examples": {"back": back, "new": new}, "later": list(found.later)}
        numbers = {name: None if one is None else one._asdict() for name, one in
                   (("back", found.back), ("new", found.new), ("text", found.text))}  # fmt: skip
        print_json({"schema": SCHEMA, "folder": folder, **asdict(found), **numbers, **more})
        return
    console = Screen()
    for line in sentences(found):
        console.print(escape(line), highlight=False, soft_wrap=True)
    changed = {name: row for name, row in found.by_source.items() if any(row[1:])}
    if changed:
        table = table_of("source", "read", "come back", "newly dropped")
        for name, row in list(changed.items())[:MOST_SOURCES]:
            table.add_row(escape(one_line(name)), *(f"{n:,}" for n in row))
        console.print(table)
    for title, ids in zip(("come back", "newly dropped"), found.examples, strict=True):
        if ids:
            shown = ", ".join(show_id(one) for one in ids[:MOST_EXAMPLES])
            console.print(f"{title}, for example: {shown}", highlight=False, soft_wrap=True)

