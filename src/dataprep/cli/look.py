"""Commands about a whole run: inspect, report."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core.batch import show_id
from dataprep.core.dataset import open_dataset
from dataprep.core.folder import REPORT, datasets
from dataprep.core.stats import Amount, StageStats
from dataprep.messages.counts import STAGE
from dataprep.store import files
from dataprep.unicode.printable import printable

from .message_bars import print_messages
from .options import RunFolder

FITS = {  # counts of Estimators, and their names
    "documents": "documents", "bands": "bands", "rows": "rows", "threshold": "threshold", "candidates": "candidates",
    "compared": "pairs compared", "largest_component": "largest component", "spans": "spans",
}  # fmt: skip


def inspect(
    folder: RunFolder,
    examples: Annotated[int, typer.Option(help="Dropped documents to show for each reason.")] = 1,
    source: Annotated[str | None, typer.Option(help="Only this source.")] = None,
) -> None:
    """Show the documents that each stage kept and dropped, by source and reason, with examples."""
    console = Console()
    for found in datasets(folder, saved=False):
        docs = open_dataset(found.url)
        manifest = docs.manifest
        console.rule(f"[bold]{escape(found.url)}", align="left", style="dim")
        console.print(f"{manifest['docs']:,} documents, {manifest['bytes'] / 1e6:,.2f} MB of text", highlight=False)
        for stage in docs.stats:
            if stage.name.startswith(STAGE):
                print_messages(console, stage)
                continue
            console.print(_stage_table(stage, source))
            _print_examples(console, stage, examples, source)
        _print_fits(console, manifest.get("fits", []))
        for alarm in docs.stats.alarms():
            console.print(f"[bold red]alarm:[/] {escape(alarm)}")
    _print_model(console, folder)


def _print_fits(console: Console, fits: list[dict[str, Any]]) -> None:
    """Print the counts of each Estimator."""
    for fit in fits:
        known = [(name, fit[key]) for key, name in FITS.items() if isinstance(fit.get(key), (int, float))]
        if known:
            counts = ", ".join(f"{name} {value:,}" for name, value in known)
            console.print(f"{escape(fit['stage'])} counted: {counts}", highlight=False, soft_wrap=True)


def _print_model(console: Console, folder: str) -> None:
    """Print totals of token shards and losses of training, if the run has them."""
    from dataprep.history.run_summary import token_folder, training_metrics

    tokens = token_folder(folder)
    if tokens:
        said = f"{tokens.tokens:,} tokens of {tokens.documents:,} documents, a vocabulary of {tokens.vocab_size:,}"
        console.rule("[bold]tokens", align="left", style="dim")
        console.print(said, highlight=False)
    val = [row for row in training_metrics(folder) if row.get("val_loss") is not None]
    if val:
        console.rule("[bold]training", align="left", style="dim")
        said = f"validation loss {val[0]['val_loss']:.3f} at step {val[0]['step']:,}"
        console.print(f"{said}, {val[-1]['val_loss']:.3f} at step {val[-1]['step']:,}", highlight=False)


def _stage_table(stage: StageStats, only: str | None) -> Table:
    """Return a row per source, each followed by a row per drop reason."""
    table = Table(box=None, header_style="bold", pad_edge=False, title=escape(stage.name), title_justify="left")
    table.add_column("source", min_width=28)
    for title in ("in", "kept", "dropped", "MB in", "MB kept"):
        table.add_column(title, justify="right")
    none = Amount()
    for name in sorted(stage.into):
        if only in (None, name):
            read, kept = stage.into[name], stage.out.get(name, none)
            row = (f"{read.docs:,}", f"{kept.docs:,}", f"{read.docs - kept.docs:,}")
            table.add_row(escape(name), *row, f"{read.bytes / 1e6:.2f}", f"{kept.bytes / 1e6:.2f}")
            for reason, sources in sorted(stage.dropped.items()):
                if name in sources:
                    table.add_row(f"  {escape(reason)}", "", "", f"{sources[name].docs:,}", style="dim")
    if only is None:
        if stage.cut:
            table.add_row("  . bytes cut", "", "", f"{stage.cut:,}", style="dim")
        for name, n in sorted(stage.counts.items()):
            table.add_row(f"  . {escape(name)}", "", "", f"{n:,}", style="dim")
    return table


def _print_examples(console: Console, stage: StageStats, n: int, only: str | None) -> None:
    for reason, found in sorted(stage.examples.items()):
        for example in [e for e in found if only in (None, e.source)][:n]:
            like = f" for {show_id(example.kept)}" if example.kept is not None else ""
            much = f" ({example.similarity:.3f})" if example.similarity is not None else ""
            text = printable(" ".join(example.text.split())[:160])
            console.print(
                f"  [cyan]{escape(reason)}[/] {show_id(example.id)}{like}{much} [dim]{escape(text)}[/]",
                highlight=False, overflow="ellipsis", no_wrap=True,
            )  # fmt: skip


def report(
    folder: RunFolder,
    to: Annotated[str | None, typer.Option(help="The HTML file to write; DIR/report.html by default.")] = None,
) -> None:
    """Write one HTML page about a run, from input to token shards and loss; it loads nothing from elsewhere."""
    from dataprep.report import write

    print(write(folder, to or files.join(folder, REPORT)))


COMMANDS = (inspect, report)
