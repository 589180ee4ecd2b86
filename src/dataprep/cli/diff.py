"""The command that compares two results of one input: diff."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core.batch import show_id
from dataprep.history.changes import Changes, Side, Sums, compare
from dataprep.unicode.printable import printable


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A sealed Dataset, or a run, whose last Dataset is meant.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another, of the same input.")],
    examples: Annotated[int, typer.Option("--examples", "-n", min=0, help="Documents to show for each reason.")] = 3,
) -> None:
    """What B has lost and gained against A: documents, bytes and tokens by source, and why, with examples."""
    console = Console(highlight=False)
    found = compare(a, b, examples)
    console.print(f"A: {found.a.count:,} documents in {escape(str(found.a.url))}", soft_wrap=True)
    console.print(f"B: {found.b.count:,} documents in {escape(str(found.b.url))}", soft_wrap=True)
    for warning in found.warnings:
        console.print(f"[bold red]careful:[/] {escape(warning)}", soft_wrap=True)
    console.print(_table(found))
    _print_why(console, "lost: in A, not in B, where they went by", found.lost)
    _print_why(console, "gained: in B, not in A, where they went by", found.gained)


def _table(found: Changes) -> Table:
    """A row a source, and one of all."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("source")
    counted = ("tokens lost", "gained") if found.has_tokens else ()
    for title in ("in both", "lost", "gained", "kB lost", "gained", *counted, "other text", "kB more"):
        table.add_column(title, justify="right")
    columns = (found.both, found.lost.sources, found.gained.sources, found.changed)
    names = sorted({name for column in columns for name in column})
    for name in names:
        table.add_row(printable(escape(name)), *_cells([c.get(name, Sums()) for c in columns], tokens=found.has_tokens))
    if len(names) != 1:
        totals = [_total(column) for column in columns]
        table.add_row("all", *_cells(totals, tokens=found.has_tokens), style="bold")
    return table


def _total(sources: dict[str, Sums]) -> Sums:
    found = sources.values()
    return Sums(sum(s.docs for s in found), sum(s.bytes for s in found), sum(s.tokens for s in found))


def _cells(sums: list[Sums], *, tokens: bool) -> list[str]:
    both, lost, gained, changed = sums
    told = [f"{both.docs:,}", f"{lost.docs:,}", f"{gained.docs:,}", f"{lost.bytes / 1e3:,.1f}"]
    told += [f"{gained.bytes / 1e3:,.1f}"]
    told += [f"{lost.tokens:,}", f"{gained.tokens:,}"] if tokens else []
    return [*told, f"{changed.docs:,}", f"{changed.bytes / 1e3:+,.1f}" if changed.docs else ""]


def _print_why(console: Console, title: str, side: Side) -> None:
    if not side.why:
        return
    console.rule(f"[bold]{title}", align="left", style="dim")
    for why, n in sorted(side.why.items(), key=lambda item: (-item[1], item[0])):
        console.print(f"{n:>9,} {escape(': '.join(filter(None, why)))}", soft_wrap=True)
        for _, id_, line in side.examples.get(why, []):
            said = f"{'':9} [cyan]{show_id(id_)}[/] [dim]{escape(printable(line))}[/]"
            console.print(said, overflow="ellipsis", no_wrap=True)


COMMANDS = (diff,)
