"""The command that removes documents on request: forget."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.core.batch import show_id

SHOWN = 20  # copies and places


def forget(
    folder: Annotated[str, typer.Argument(help="The folder of a run, of a Dataset, or of token shards.")],
    ids: Annotated[
        str | None, typer.Option(help="A file: an id a line (3:1745 or an integer), or Parquet or CSV with `id`.")
    ] = None,
    of: Annotated[str | None, typer.Option(help="Whose ids these are, where folders count differently.")] = None,
    with_copies: Annotated[bool, typer.Option("--with-copies", help="Forget the duplicates of these, too.")] = False,
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Go on where some ids are not there.")] = False,
) -> None:
    """Remove documents from shards, token shards, books and filters, and from every rerun; without --ids, go on."""
    from dataprep.forget.forget import forget as remove

    console = Console(highlight=False, soft_wrap=True)
    done = remove(folder, ids, of=of, with_copies=with_copies, missing_ok=missing_ok)
    for place, n in done.removed.items():
        if n:
            console.print(f"removed {n:,} from {escape(place)}")
    console.print(f"[bold]{done}[/]")
    if len(done.unknown):
        named = ", ".join(show_id(i) for i in done.unknown[:SHOWN].tolist())
        console.print(f"[yellow]{len(done.unknown):,} ids are not there:[/] {named}")
    _print_copies(console, done.copies, with_copies=with_copies)
    _print_places(console, "cleared", done.cleared)
    _print_places(console, "[yellow]may still hold the text, or what was learned from it[/]", done.elsewhere)


def _print_copies(console: Console, copies: Any, *, with_copies: bool) -> None:
    if not copies:
        return
    tail = "forgotten too" if with_copies else "not forgotten; --with-copies does"
    console.print(f"[yellow]{len(copies):,} documents may carry the same text ({tail}):[/]")
    for copy in copies[:SHOWN]:
        much = "" if copy.similarity is None else f", similarity {copy.similarity:.3f}"
        what = "stands for" if copy.is_kept else "was dropped for"
        console.print(f"  {show_id(copy.id)} {what} {show_id(copy.of)} ({escape(copy.stage)}{much})")
    if len(copies) > SHOWN:
        console.print(f"  and {len(copies) - SHOWN:,} more")


def _print_places(console: Console, title: str, places: Any) -> None:
    if places:
        console.print(f"{title}:")
        for place in places[:SHOWN]:
            console.print(f"  {escape(place)}")
        if len(places) > SHOWN:
            console.print(f"  and {len(places) - SHOWN:,} more")


COMMANDS = (forget,)
