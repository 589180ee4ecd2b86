"""Commands that look at what a run left as a whole: inspect, report."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core.batch import show_id
from dataprep.core.dataset import open_dataset
from dataprep.core.stats import Amount, StageStats
from dataprep.history import why
from dataprep.messages.counts import STAGE
from dataprep.report.blocks import visible
from dataprep.store import files

from .chats import print_messages

Folder = Annotated[str, typer.Argument(help="A folder that a run wrote.")]

FITS = {  # what Estimators count, as people say it
    "documents": "documents", "bands": "bands", "rows": "rows", "threshold": "threshold", "candidates": "candidates",
    "compared": "pairs compared", "largest_component": "largest component", "spans": "spans",
}  # fmt: skip


def inspect(
    folder: Folder,
    examples: Annotated[int, typer.Option(help="Dropped documents to show for each reason.")] = 1,
    source: Annotated[str | None, typer.Option(help="Only this source.")] = None,
) -> None:
    """What each stage kept, dropped and why, by source, with examples."""
    console = Console()
    for place in why.final_folders(folder):
        docs = open_dataset(place)
        manifest = docs.manifest
        console.rule(f"[bold]{escape(place)}", align="left", style="dim")
        console.print(f"{manifest['docs']:,} documents, {manifest['bytes'] / 1e6:,.2f} MB of text", highlight=False)
        for book in docs.stats:
            if book.name.startswith(STAGE):
                print_messages(console, book)
                continue
            console.print(_book_table(book, source))
            _print_examples(console, book, examples, source)
        _print_fits(console, manifest.get("fits", []))
        for alarm in docs.stats.alarms():
            console.print(f"[bold red]alarm:[/] {escape(alarm)}")
    _print_model(console, folder)


def _print_fits(console: Console, fits: list[dict[str, Any]]) -> None:
    """What each deduplication looked at before it decided."""
    for fit in fits:
        known = [(name, fit[key]) for key, name in FITS.items() if isinstance(fit.get(key), (int, float))]
        if known:
            said = ", ".join(f"{name} {value:,}" for name, value in known)
            console.print(f"{escape(fit['stage'])} looked at: {said}", highlight=False, soft_wrap=True)


def _print_model(console: Console, folder: str) -> None:
    """What was made of the text, if the run has come so far."""
    from dataprep.report.page_data import metrics_of, tokens_of

    tokens = tokens_of(folder)
    if tokens:
        said = f"{tokens.tokens:,} tokens of {tokens.documents:,} documents, a vocabulary of {tokens.vocab_size:,}"
        console.rule("[bold]tokens", align="left", style="dim")
        console.print(said, highlight=False)
    val = [row for row in metrics_of(folder) if row.get("val_loss") is not None]
    if val:
        console.rule("[bold]training", align="left", style="dim")
        said = f"validation loss {val[0]['val_loss']:.3f} at step {val[0]['step']:,}"
        console.print(f"{said}, {val[-1]['val_loss']:.3f} at step {val[-1]['step']:,}", highlight=False)


def _book_table(book: StageStats, only: str | None) -> Table:
    """One stage: a row a source, then a row for each reason in it."""
    table = Table(box=None, header_style="bold", pad_edge=False, title=escape(book.name), title_justify="left")
    table.add_column("source", min_width=28)
    for title in ("in", "kept", "dropped", "MB in", "MB kept"):
        table.add_column(title, justify="right")
    none = Amount()
    for name in sorted(book.into):
        if only in (None, name):
            came, left = book.into[name], book.out.get(name, none)
            row = (f"{came.docs:,}", f"{left.docs:,}", f"{came.docs - left.docs:,}")
            table.add_row(escape(name), *row, f"{came.bytes / 1e6:.2f}", f"{left.bytes / 1e6:.2f}")
            for reason, sources in sorted(book.dropped.items()):
                if name in sources:
                    table.add_row(f"  {escape(reason)}", "", "", f"{sources[name].docs:,}", style="dim")
    if only is None:
        if book.cut:
            table.add_row("  . bytes cut", "", "", f"{book.cut:,}", style="dim")
        for name, n in sorted(book.counts.items()):
            table.add_row(f"  . {escape(name)}", "", "", f"{n:,}", style="dim")
    return table


def _print_examples(console: Console, book: StageStats, n: int, only: str | None) -> None:
    for reason, found in sorted(book.examples.items()):
        for example in [e for e in found if only in (None, e.source)][:n]:
            like = f" for {show_id(example.kept)}" if example.kept is not None else ""
            much = f" ({example.similarity:.3f})" if example.similarity is not None else ""
            text = visible(" ".join(example.text.split())[:160])
            console.print(
                f"  [cyan]{escape(reason)}[/] {show_id(example.id)}{like}{much} [dim]{escape(text)}[/]",
                highlight=False, overflow="ellipsis", no_wrap=True,
            )  # fmt: skip


def report(folder: Folder, to: Annotated[str | None, typer.Option(help="The HTML file.")] = None) -> None:
    """One HTML page about a run, from input to shards and loss; nothing in it is loaded from elsewhere."""
    from dataprep.report import write

    place = to or files.join(folder, "report.html")
    write(folder, place)
    print(place)


COMMANDS = (inspect, report)
