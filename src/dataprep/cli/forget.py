"""The command `forget`, which removes documents on request."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.core.batch import show_id

SHOWN = 20  # copies, ids and files


def forget(
    folder: Annotated[str, typer.Argument(help="The folder of a run, of a Dataset, or of token shards.")],
    ids: Annotated[
        str | None, typer.Option(help="A file with an id per line (3:1745 or an integer), or Parquet or CSV with `id`.")
    ] = None,
    of: Annotated[str | None, typer.Option(help="Folder of these ids, if folders number differently.")] = None,
    with_copies: Annotated[bool, typer.Option("--with-copies", help="Forget their duplicates too.")] = False,
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Continue if some ids are unknown.")] = False,
) -> None:
    """Remove documents from shards, statistics and filters, and from every rerun; without --ids, resume."""
    from dataprep.forget.forget import forget as remove

    console = Console(highlight=False, soft_wrap=True)
    done = remove(folder, ids, of=of, with_copies=with_copies, missing_ok=missing_ok)
    for url, n in done.removed.items():
        if n:
            console.print(f"removed {n:,} from {escape(url)}")
    console.print(f"[bold]{done}[/]")
    if len(done.unknown):
        shown = ", ".join(show_id(i) for i in done.unknown[:SHOWN].tolist())
        console.print(f"[yellow]{len(done.unknown):,} ids are unknown:[/] {shown}")
    _print_copies(console, done.copies, with_copies=with_copies)
    _print_files(console, "cleared", done.cleared)
    _print_files(console, "[yellow]may still hold the text, or what was learned from it[/]", done.elsewhere)


def _print_copies(console: Console, copies: Any, *, with_copies: bool) -> None:
    if not copies:
        return
    tail = "forgotten too" if with_copies else "not forgotten; use --with-copies to forget them"
    console.print(f"[yellow]{len(copies):,} documents may carry the same text ({tail}):[/]")
    for copy in copies[:SHOWN]:
        similarity = "" if copy.similarity is None else f", similarity {copy.similarity:.3f}"
        relation = "was kept for" if copy.is_kept else "was dropped for"
        console.print(f"  {show_id(copy.id)} {relation} {show_id(copy.of)} ({escape(copy.stage)}{similarity})")
    if len(copies) > SHOWN:
        console.print(f"  and {len(copies) - SHOWN:,} more")


def _print_files(console: Console, title: str, urls: Any) -> None:
    if urls:
        console.print(f"{title}:")
        for url in urls[:SHOWN]:
            console.print(f"  {escape(url)}")
        if len(urls) > SHOWN:
            console.print(f"  and {len(urls) - SHOWN:,} more")


COMMANDS = (forget,)
