"""The command `people`: propose who has several names in chat exports."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from .options import Screen, Workers, runner_of


def people(
    exports: Annotated[
        list[str], typer.Argument(metavar="EXPORTS...", help="Chat exports, or folders of them; files of contacts.")
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The people file to write.")] = "people.toml",
    replace: Annotated[bool, typer.Option("--replace", help="Update an existing file; your edits are kept.")] = False,
    platform: Annotated[str | None, typer.Option(help="whatsapp, telegram ...; detected by default.")] = None,
    date_order: Annotated[str | None, typer.Option(help="dmy, mdy or ymd, for ambiguous dates.")] = None,
    workers: Workers = 1,
) -> None:
    """Write a file of people with several names in chats, for you to check; `persona --people` reads it."""
    from dataprep.messages.people.propose import propose_people

    given = {"format": platform, "date_order": date_order}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    made = propose_people(exports, out, replace=replace, runner=runner_of(workers), **options)
    console = Screen(highlight=False)
    for names in made.people:
        console.print(escape(" = ".join(names)), soft_wrap=True)
    console.print(escape(f"{made}: {out}"), soft_wrap=True)
