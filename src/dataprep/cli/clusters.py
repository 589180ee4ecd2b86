"""The command that shows what went for what: clusters, the least similar removals, and repeated cuts."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core.batch import show_id
from dataprep.core.tables import Drop
from dataprep.errors import PlanError
from dataprep.history import clusters as found_in
from dataprep.history import why
from dataprep.history.cuts import Repeat, most_repeated
from dataprep.report.blocks import visible

from .side_by_side import beside

Folder = Annotated[str, typer.Argument(help="A folder that a run wrote.")]
DEFAULT = 5


def clusters(
    folder: Folder,
    largest: Annotated[int | None, typer.Option(min=1, help="Show the N largest clusters (5 by default).")] = None,
    least_similar: Annotated[int | None, typer.Option(min=1, help="Show the N least similar removals.")] = None,
    cuts: Annotated[int | None, typer.Option(min=1, help="Show the N texts that were cut out most often.")] = None,
    source: Annotated[str | None, typer.Option(help="Only what was removed from this source.")] = None,
) -> None:
    """What went for what: each document that stays with all that went for it, both texts and what differs in them."""
    console = Console()
    if largest is None and least_similar is None and cuts is None:
        largest = DEFAULT
    if largest is not None:
        _print_largest(console, folder, largest, source)
    if least_similar is not None:
        _print_least(console, folder, least_similar, source)
    if cuts is not None:
        if source is not None:
            msg = "--cuts counts texts over all sources; leave --source out"
            raise PlanError(msg)
        _print_cuts(console, folder, cuts)


def _print_largest(console: Console, folder: str, n: int, source: str | None) -> None:
    everything = found_in.find(folder)
    shown = everything.largest(n, source)
    if source is None:
        _print_sizes(console, everything)
    if not shown:
        of = "" if source is None else f" of the source {source!r}"
        console.print(f"no document{of} went for another", highlight=False)
    for cluster in shown:
        home = f" of {cluster.kept_in}" if cluster.kept_in else ""
        gone = f"{cluster.removed:,} document{'s' * (cluster.removed > 1)}"
        counted = "" if source is None else f" of {source}"
        head = f"[bold]{gone}[/]{escape(counted)} went for [bold]{show_id(cluster.kept)}[/]{escape(home)}"
        console.rule(head, align="left", style="dim")
        for (stage, reason), count in cluster.why.most_common():
            console.print(f"  {count:,} {escape(stage)}: {escape(reason)}", highlight=False)
        _print_fate(console, folder, cluster)
        console.print(_side_by_side(folder, cluster.examples[0]))
        others = ", ".join(map(_named, cluster.examples[1:]))
        if others:
            console.print(f"[dim]the next least similar: {others}[/]", highlight=False)


def _print_sizes(console: Console, everything: found_in.Clusters) -> None:
    """How many clusters there are of each size, in powers of two."""
    if not everything.removed:
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("documents in a cluster", "clusters", "removed"):
        table.add_column(title, justify="right")
    sizes, counts = (values.tolist() for values in everything.sizes())
    for bits in sorted({size.bit_length() for size in sizes}):
        mine = [(size, n) for size, n in zip(sizes, counts, strict=True) if size.bit_length() == bits]
        low, high = mine[0][0], mine[-1][0]
        span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        table.add_row(span, f"{sum(n for _, n in mine):,}", f"{sum((size - 1) * n for size, n in mine):,}")
    console.print(table)


def _print_fate(console: Console, folder: str, cluster: found_in.Cluster) -> None:
    """Whether the one that stands for all is still there: a later filter may have dropped it."""
    if cluster.kept_in is None:
        drops = why.follow(folder, cluster.kept).drops
        if drops:
            said = f"{drops[0].stage}: {drops[0].reason}"
            console.print(f"  [bold red]it was dropped later by {escape(said)}[/]", highlight=False)


def _print_least(console: Console, folder: str, n: int, source: str | None) -> None:
    drops = found_in.least_similar(folder, n, source)
    if not drops:
        console.print("no removed document has a similarity with the one that it went for", highlight=False)
    for drop in drops:
        console.rule(
            f"[bold]{drop.similarity:.3f}[/] {escape(drop.stage)}: {escape(drop.reason)}", align="left", style="dim"
        )
        console.print(_side_by_side(folder, drop))


def _side_by_side(folder: str, drop: Drop) -> Table:
    """A removed document beside the one that it was dropped for."""
    rows = (why.removed(folder, drop), why.survivor(folder, drop))
    home = f" of {drop.kept_in}" if drop.kept_in else ""
    heads = (
        f"{_named(drop)} {rows[0]['source'] if rows[0] else ''}",
        f"{'' if drop.kept is None else show_id(drop.kept)}{home} {rows[1]['source'] if rows[1] else ''}",
    )
    texts = [None if row is None else str(row["text"]) for row in rows]
    return beside(heads, (texts[0], texts[1]))


def _named(drop: Drop) -> str:
    return show_id(drop.id) + ("" if drop.similarity is None else f" ({drop.similarity:.3f})")


def _print_cuts(console: Console, folder: str, n: int) -> None:
    repeats = most_repeated(folder, n)
    if not repeats:
        console.print("nothing was cut out of texts more than once", highlight=False)
    for repeat in repeats:
        home = f" of {repeat.kept_in}" if repeat.kept_in else ""
        console.rule(
            f"[bold]{repeat.times:,} times[/] {_span(repeat)} bytes, first in [bold]{show_id(repeat.kept)}[/]"
            f"{escape(home)} at byte {repeat.kept_start:,} [dim]{escape(repeat.stage)}[/]",
            align="left", style="dim",
        )  # fmt: skip
        console.print(visible(repeat.text or "(the text is gone)"), markup=False, highlight=False)


def _span(repeat: Repeat) -> str:
    return f"{repeat.n_bytes:,}" + (f" to {repeat.most_bytes:,}" if repeat.most_bytes > repeat.n_bytes else "")


COMMANDS = (clusters,)
