"""The command `diff`, which compares two results of one input."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core.model.batch import show_id
from dataprep.errors import counted
from dataprep.history.comparison import Comparison, OneSided, TokenAmount, compare
from dataprep.shown.terminal import table_of
from dataprep.unicode.valid import printable

from .options import Screen, one_line
from .why import text_pair

MOST_NAME = 30  # letters of a source's name that are shown in one line


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A sealed Dataset, or a run (its last Dataset is compared).")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another Dataset or run, made from the same input.")],
    examples: Annotated[
        int, typer.Option("--examples", "-n", min=0, help="Number of documents to show for each reason.")
    ] = 3,
) -> None:
    """Compare B with A: documents, bytes and tokens lost and gained by source, with drop reasons and examples."""
    console = Screen(highlight=False)
    found = compare(a, b, examples)
    console.print(f"A: {counted(found.a.count, 'document')} in {escape(str(found.a.url))}", soft_wrap=True)
    console.print(f"B: {counted(found.b.count, 'document')} in {escape(str(found.b.url))}", soft_wrap=True)
    for warning in found.warnings:
        console.print(f"[bold red]warning:[/] {escape(warning)}", soft_wrap=True)
    console.print(_table(found))
    _print_reasons(console, "lost: in A, not in B, by the drop reason", found.lost)
    _print_reasons(console, "gained: in B, not in A, by the drop reason", found.gained)
    for one in found.changed_texts:
        console.rule(f"[bold]another text[/] {show_id(one.id)}", align="left", style="dim")
        console.print(text_pair(("in A", "in B"), (one.before, one.after)))


def _table(found: Comparison) -> Table:
    """Return a row per source, and a row of totals."""
    counted = ("tokens lost", "gained") if found.has_tokens else ()
    titles = ("source", "in both", "lost", "gained", "kB lost", "gained", *counted, "changed text", "kB more")
    table = table_of(*titles)
    columns = (found.both, found.lost.sources, found.gained.sources, found.changed)
    names = sorted({name for column in columns for name in column})
    table.columns[0].min_width = min(MOST_NAME, max(map(len, ("source", *names))))
    for name in names:
        amounts = [column.get(name, TokenAmount()) for column in columns]
        table.add_row(escape(one_line(name)), *_cells(amounts, tokens=found.has_tokens))
    if len(names) != 1:
        totals = [_total(column) for column in columns]
        table.add_row("all", *_cells(totals, tokens=found.has_tokens), style="bold")
    return table


def _total(sources: dict[str, TokenAmount]) -> TokenAmount:
    found = sources.values()
    return TokenAmount(sum(s.docs for s in found), sum(s.bytes for s in found), sum(s.tokens for s in found))


def _cells(sums: list[TokenAmount], *, tokens: bool) -> list[str]:
    both, lost, gained, changed = sums
    cells = [f"{both.docs:,}", f"{lost.docs:,}", f"{gained.docs:,}", f"{lost.bytes / 1e3:,.1f}"]
    cells += [f"{gained.bytes / 1e3:,.1f}"]
    cells += [f"{lost.tokens:,}", f"{gained.tokens:,}"] if tokens else []
    return [*cells, f"{changed.docs:,}", f"{changed.bytes / 1e3:+,.1f}" if changed.docs else ""]


def _print_reasons(console: Console, title: str, side: OneSided) -> None:
    if not side.reasons:
        return
    console.rule(f"[bold]{title}", align="left", style="dim")
    for reason, n in sorted(side.reasons.items(), key=lambda item: (-item[1], item[0])):
        console.print(f"{n:>9,} {escape(': '.join(filter(None, reason)))}", soft_wrap=True)
        for _, id_, line in side.examples.get(reason, []):
            shown = f"{'':9} [cyan]{show_id(id_)}[/] [dim]{escape(printable(line))}[/]"
            console.print(shown, overflow="ellipsis", no_wrap=True)
