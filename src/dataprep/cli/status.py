"""The command `status`: finished and remaining work of a folder, the process that writes into it, and failures."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape

from dataprep.errors import counted
from dataprep.history.status import DONE, MODEL, NOT_BEGUN, FolderStatus
from dataprep.history.status import status as state_of
from dataprep.shown.terminal import table_of
from dataprep.unicode.valid import printable

from .as_json import SCHEMA, Json, print_json
from .options import Screen

COLOURS = {DONE: "green", NOT_BEGUN: "dim"}


def status(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A folder of a run, a Dataset, token shards, a model or a persona.")
    ],
    as_json: Json = False,
) -> None:
    """Show the finished and remaining work of a folder, the process that writes into it, and the last failure."""
    whole, inside = state_of(folder)
    if as_json:
        left = [one.name for one in inside if one.state != DONE]
        print_json({"schema": SCHEMA, **_figures(whole), "left": left, "folders": [_figures(one) for one in inside]})
        return
    console = Screen(highlight=False, soft_wrap=True)
    colour = COLOURS.get(whole.state, "yellow")
    console.print(f"[bold]{escape(whole.url)}[/] ({whole.kind}): [{colour}]{whole.state}[/]{_amounts(whole)}")
    if inside:
        table = table_of("folder", "kind", "state", "content", left=4)
        for one in inside:
            content = _amounts(one).removeprefix(", ")
            table.add_row(escape(one.name), one.kind or "", one.state, content, style=COLOURS.get(one.state, "yellow"))
        console.print(table, soft_wrap=False)
    for one in (whole, *inside):
        _print_work(console, one)


def _figures(one: FolderStatus) -> dict[str, Any]:
    figures = asdict(one)
    return {"folder": figures.pop("url"), **figures}


def _amounts(one: FolderStatus) -> str:
    tokens = "" if one.tokens is None else f", {counted(one.tokens, 'token')}"
    totals = f"{counted(one.documents or 0, 'document')}{tokens}, {decimal(one.bytes or 0)}"
    if one.done is None:
        return "" if one.documents is None else f", {totals}"
    of = "" if one.of is None else f" of {one.of:,}"
    unit = "step" if one.kind == MODEL else "folder" if one.kind in ("run", "persona", "folder") else "part"
    older = "" if one.documents is None else f"; the previous result is complete ({totals})"
    return f", {one.done:,}{of} {unit}{'' if (one.of or one.done) == 1 else 's'}{older}"


def _print_work(console: Console, one: FolderStatus) -> None:
    """Print who writes into a folder, and its last failure."""
    if one.holder is not None:
        at = f"pid {one.holder['pid']} on host {one.holder['host']}"
        console.print(f"[yellow]in use:[/] {escape(printable(f'{one.url} by {at}'))}")
    if (now := one.progress) is not None:
        of = "" if now.of is None else f" of {now.of:,}"
        rate = "" if now.per_second is None else f", {now.per_second:,.3g} a second"
        left = "" if not now.seconds_left else f", about {timedelta(seconds=round(now.seconds_left))} left in this pass"
        work = f"{now.step} {now.work}".strip()
        console.print(f"[cyan]{'working' if one.holder else 'stopped'}:[/] {work}, {now.done:,}{of} tasks{rate}{left}")
    if one.failure is not None:
        step = f", step {one.failure['step']}" if "step" in one.failure else ""
        said = f"{one.url}{step}, {one.failure['at']}: {one.failure['error']}"
        console.print(f"[red]failed:[/] {escape(printable(said))}")
