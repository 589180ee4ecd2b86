"""The command `clusters`: clusters of duplicates, the least similar removals, and repeated cuts."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core.model.batch import show_id
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.tables import Drop
from dataprep.errors import counted, require
from dataprep.history.centroids import semantic_clusters
from dataprep.history.clusters import Cluster, Clusters, find_clusters, least_similar
from dataprep.history.cuts import RepeatedCut, most_repeated_cuts
from dataprep.history.texts import DocumentsAsRead, pairs_of
from dataprep.shown.terminal import table_of
from dataprep.unicode.valid import printable

from .options import RunFolder, Screen
from .why import text_pair

DEFAULT = 5
MOST_CENTROIDS, TEXT_CHARS = 20, 200


def clusters(
    folder: RunFolder,
    largest: Annotated[int | None, typer.Option(min=1, help="Show the N largest clusters (5 by default).")] = None,
    lost: Annotated[
        int | None, typer.Option(min=1, help="Show the N largest clusters of which no copy remains.")
    ] = None,
    least_similar: Annotated[
        int | None, typer.Option(min=1, help="Show the N dropped documents least similar to their kept copies.")
    ] = None,
    cuts: Annotated[int | None, typer.Option(min=1, help="Show the N texts that were cut most often.")] = None,
    centroids: Annotated[
        int | None, typer.Option(min=1, help="Show the N documents nearest to and farthest from each centroid.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Show only documents of this source.")] = None,
) -> None:
    """Show clusters of duplicates: each kept document, those dropped as its duplicates, and the words that differ.

    --centroids shows representatives and outliers of the clusters of SemDeDup(annotate=True).
    """
    console = Screen()
    if largest is None and lost is None and least_similar is None and cuts is None and centroids is None:
        largest = DEFAULT
    if largest is not None or lost is not None:
        _print_largest(console, folder, largest, lost, source)
    if least_similar is not None:
        _print_least(console, folder, least_similar, source)
    for name, given, show in (("cuts", cuts, _print_cuts), ("centroids", centroids, _print_centroids)):
        if given is not None:
            require(source is None, f"--{name} always counts all sources; leave --source out")
            show(console, folder, given)


def _print_largest(console: Console, folder: str, n: int | None, n_lost: int | None, source: str | None) -> None:
    """Print the `n` largest clusters, and the `n_lost` largest of those without a survivor."""
    found = find_clusters(folder)
    lost = found.no_survivor()
    if source is None:
        _print_sizes(console, found)
    if lost.n:
        console.print(f"[bold red]{escape(str(lost))}[/]", highlight=False, soft_wrap=True)
    of = "" if source is None else f" of the source {source!r}"
    for number, among, none in (
        (n, None, f"no document{of} was dropped as a duplicate"),
        (n_lost, lost.roots, f"every duplicate{of} has a survivor"),
    ):
        if number is not None:
            _print_clusters(console, folder, found.largest(number, source, among), source, none)


def _print_clusters(console: Console, folder: str, shown: list[Cluster], source: str | None, none: str) -> None:
    """Print clusters, each with a pair of texts.

    - none: the text to print if there are no clusters.
    """
    if not shown:
        console.print(none, highlight=False)
    documents = pairs_of(folder, [cluster.examples[0] for cluster in shown])
    for cluster in shown:
        home = f" of {cluster.duplicate_of_dataset}" if cluster.duplicate_of_dataset else ""
        dropped = counted(cluster.removed, "document")
        whose = "" if source is None else f" of {source}"
        kept = f"[bold]{show_id(cluster.duplicate_of)}[/]{escape(home)}"
        head = f"[bold]{dropped}[/]{escape(whose)} dropped as duplicates of {kept}"
        console.rule(head, align="left", style="dim")
        for (stage, reason), count in cluster.reasons.most_common():
            console.print(f"  {count:,} {escape(stage)}: {escape(reason)}", highlight=False)
        if cluster.end is not None:
            by = f"{cluster.end.stage}: {cluster.end.reason}"
            console.print(f"  [bold red]the kept document was dropped later by {escape(by)}[/]", highlight=False)
        console.print(_side_by_side(documents, cluster.examples[0]))
        others = ", ".join(map(_named, cluster.examples[1:]))
        if others:
            console.print(f"[dim]the next least similar: {others}[/]", highlight=False)


def _print_sizes(console: Console, found: Clusters) -> None:
    """Print the number of clusters by size, in powers of two."""
    if not found.removed:
        return
    table = table_of("documents in a cluster", "clusters", "removed", left=0)
    sizes, counts = (values.tolist() for values in found.sizes())
    for bits in sorted({size.bit_length() for size in sizes}):
        mine = [(size, n) for size, n in zip(sizes, counts, strict=True) if size.bit_length() == bits]
        low, high = mine[0][0], mine[-1][0]
        span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        table.add_row(span, f"{sum(n for _, n in mine):,}", f"{sum((size - 1) * n for size, n in mine):,}")
    console.print(table)


def _print_least(console: Console, folder: str, n: int, source: str | None) -> None:
    drops = least_similar(folder, n, source)
    if not drops:
        console.print("no similarity is recorded for any dropped document", highlight=False)
    documents = pairs_of(folder, drops)
    for drop in drops:
        console.rule(
            f"[bold]{drop.similarity:.3f}[/] {escape(drop.stage)}: {escape(drop.reason)}", align="left", style="dim"
        )
        console.print(_side_by_side(documents, drop))


def _side_by_side(documents: DocumentsAsRead, drop: Drop) -> Table:
    """Return a dropped document next to the document that was kept instead."""
    rows = (documents.dropped(drop), documents.survivor(drop))
    home = f" of {drop.duplicate_of_dataset}" if drop.duplicate_of_dataset else ""
    heads = (
        f"{_named(drop)} {rows[0]['source'] if rows[0] else ''}",
        (
            f"{'' if drop.duplicate_of is None else show_id(drop.duplicate_of)}{home} "
            f"{rows[1]['source'] if rows[1] else ''}"
        ),
    )
    texts = [None if row is None else str(row["text"]) for row in rows]
    return text_pair(heads, (texts[0], texts[1]))


def _named(drop: Drop) -> str:
    return show_id(drop.id) + ("" if drop.similarity is None else f" ({drop.similarity:.3f})")


def _print_cuts(console: Console, folder: str, n: int) -> None:
    repeats = most_repeated_cuts(folder, n)
    if not repeats:
        console.print("no text was cut out more than once", highlight=False)
    for repeat in repeats:
        home = f" of {repeat.duplicate_of_dataset}" if repeat.duplicate_of_dataset else ""
        console.rule(
            f"[bold]{counted(repeat.times, 'time')}[/] {_span(repeat)}, first occurs in "
            f"[bold]{show_id(repeat.duplicate_of)}[/]"
            f"{escape(home)} at byte {repeat.duplicate_of_start:,} [dim]{escape(repeat.stage)}[/]",
            align="left", style="dim",
        )  # fmt: skip
        console.print(printable(repeat.text or "(the text cannot be read)"), markup=False, highlight=False)


def _print_centroids(console: Console, folder: str, n: int) -> None:
    docs, found = open_dataset(folder), semantic_clusters(folder, n)
    if not found:
        console.print("no document has a vector", highlight=False)
    for cluster in found[:MOST_CENTROIDS]:
        size = counted(cluster.size, "document")
        console.rule(f"centroid {cluster.number}: [bold]{size}[/]", align="left", style="dim")
        for name, members in (("nearest", cluster.representatives), ("farthest", cluster.outliers)):
            for cosine, id_ in members:
                text = " ".join(docs.text_of(id_)[:TEXT_CHARS].split())
                console.print(f"[dim]{name}[/] {show_id(id_)} ({cosine:.3f})", end=" ", highlight=False)
                console.print(printable(text), markup=False, highlight=False)
    if len(found) > MOST_CENTROIDS:
        console.print(f"and {len(found) - MOST_CENTROIDS:,} smaller clusters", highlight=False)


def _span(repeat: RepeatedCut) -> str:
    if repeat.most_bytes == repeat.n_bytes:
        return counted(repeat.n_bytes, "byte")
    return f"{repeat.n_bytes:,} to {counted(repeat.most_bytes, 'byte')}"
