"""Commands about a whole run: inspect, report; they print the figures of `MessageStats` as bars and shades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from dataprep.core.model.batch import show_id
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.describe import READ
from dataprep.core.model.stats import Amount, StageStats, by_bytes
from dataprep.core.model.unread import by_kind, rows_of
from dataprep.core.output.layout import REPORT
from dataprep.core.output.run_folder import datasets
from dataprep.errors import PlanError, counted
from dataprep.history.judged import review_alarms
from dataprep.history.message_figures import LENGTHS, TITLES, WEEKDAYS, NameRow, length_rows, most_frequent
from dataprep.messages.counts import CONVERSATION_MESSAGES, STAGE, clock_of, months_of, of_family
from dataprep.shown.terminal import table_of, unit_of
from dataprep.store import files
from dataprep.unicode.valid import printable

from .as_json import SCHEMA, Json, of_dataset, of_duplicates, print_json
from .options import RunFolder, Screen, one_line, say

SHADES = " ░▒▓█"
BAR_CHARS = 40
LATEST_MONTHS = 36
LISTED = 10  # sources in an error
MOST_SOURCES, MOST_COUNTS = 6, 12  # of a stage, without --all
LEGEND = "- documents dropped for this reason   . a count of the stage"
ALIGNED = 100_000_000  # documents, below which the tables of all stages have equal first columns
FITS = {  # counts of Estimators, and their names
    "documents": "documents", "bands": "bands", "rows": "rows", "threshold": "threshold", "candidates": "candidates",
    "compared": "pairs compared", "largest_component": "largest component", "skipped": "candidates not compared",
    "spans": "spans", "unreadable": "unreadable values",
}  # fmt: skip


def inspect(
    folder: RunFolder,
    examples: Annotated[int, typer.Option(min=0, help="Number of dropped documents to show for each reason.")] = 1,
    source: Annotated[str | None, typer.Option(help="Show only this source.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all sources and counts, not only those with the largest numbers.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the documents that each stage kept and dropped, by source and reason, with examples.

    The sources that lost most documents come first. JSON has all sources.
    """
    opened = [open_dataset(found.url) for found in datasets(folder, saved=False)]
    stages = [stage for docs in opened for stage in docs.stats]
    known = {name for stage in stages for name in (*stage.into, *stage.out)}
    if source is not None and source not in known:
        some = ", ".join(sorted(known)[:LISTED]) + (", ..." if len(known) > LISTED else "")
        msg = f"--source {source}: {folder} has no such source; it has {some or 'none'}"
        raise PlanError(msg)
    if as_json:
        made = [of_dataset(docs, examples, source) for docs in opened]
        figures = {"datasets": made, "duplicates": of_duplicates(folder)[0], **_model_figures(folder)}
        print_json({"schema": SCHEMA, "folder": folder, **figures})
        return
    console = Screen()
    for docs in opened:
        manifest = docs.sealed
        console.rule(f"[bold]{escape(str(docs.url))}", align="left", style="dim")
        console.print(f"{counted(manifest.docs, 'document')}, {decimal(manifest.bytes)} of text", highlight=False)
        for stage in docs.stats:
            if stage.name.startswith(STAGE):
                print_messages(console, stage)
                continue
            console.print(_stage_table(stage, source, everything=everything))
            _print_examples(console, stage, examples, source)
            _print_cuts(console, stage, examples, source)
        _print_fits(console, manifest.fits)
        _print_unread(console, docs.unread(), examples)
        for alarm in docs.stats.alarms():
            console.print(f"[bold red]alarm:[/] {escape(alarm)}")
    console.print(LEGEND, style="dim", highlight=False)
    _, alarms, note = of_duplicates(folder)
    for alarm in [*alarms, *review_alarms(folder.rstrip("/"), stages)]:
        console.print(f"[bold red]alarm:[/] {escape(alarm)}", highlight=False, soft_wrap=True)
    if note:
        console.print(f"duplicates: {escape(printable(note))}", highlight=False, soft_wrap=True)
    _print_model(console, folder)


def _print_fits(console: Console, fits: list[dict[str, Any]]) -> None:
    """Print the counts of each Estimator."""
    for fit in fits:
        known = [(name, fit[key]) for key, name in FITS.items() if isinstance(fit.get(key), (int, float))]
        if known:
            counts = ", ".join(f"{name} {value:,}" for name, value in known)
            console.print(f"{escape(fit['stage'])} counted: {counts}", highlight=False, soft_wrap=True)


def _print_unread(console: Console, unread: pa.Table, n: int) -> None:
    """Print the numbers of unread files by reason and suffix, each with examples."""
    if n_files := len(unread):
        were = "was" if n_files == 1 else "were"
        console.print(f"{counted(n_files, 'file')} {were} not read, or not to the end:", highlight=False)
    for (reason, suffix), rows in by_kind(rows_of(unread)).items():
        console.print(f"  [cyan]{escape(printable(f'{reason} {suffix}'))}[/] {len(rows):,}", highlight=False)
        for row in rows[:n]:
            at = "" if row.offset is None else f", byte {row.offset:,}"
            line = one_line(f"{row.file}{at}{': ' if row.detail else ''}{row.detail or ''}")
            console.print(f"    [dim]{escape(line)}[/]", highlight=False, soft_wrap=True)


def _model_figures(folder: str) -> dict[str, Any]:
    """Return the totals of token shards and the validation losses of training; None for what the run does not have."""
    from dataprep.history.run_summary import token_shards, training_metrics

    found: dict[str, Any] = {"shards": None, "training": None}
    shards = token_shards(folder)
    if shards is not None:
        totals = {"tokens": shards.n_tokens, "documents": len(shards), "vocab_size": shards.vocab_size}
        found["shards"] = totals
    losses = [row for row in training_metrics(folder) if row.get("val_loss") is not None]
    if losses:
        ends = {"first": losses[0], "last": losses[-1]}
        found["training"] = {n: {"step": row["step"], "val_loss": row["val_loss"]} for n, row in ends.items()}
    return found


def _print_model(console: Console, folder: str) -> None:
    """Print totals of token shards and losses of training, if the run has them."""
    found = _model_figures(folder)
    if found["shards"]:
        n = found["shards"]
        of = f"{counted(n['tokens'], 'token')} of {counted(n['documents'], 'document')}"
        console.rule("[bold]tokens", align="left", style="dim")
        console.print(f"{of}, a vocabulary of {n['vocab_size']:,}", highlight=False)
    if found["training"]:
        console.rule("[bold]training", align="left", style="dim")
        losses = (f"{at['val_loss']:.3f} at step {at['step']:,}" for at in found["training"].values())
        console.print(f"validation loss {', '.join(losses)}", highlight=False)


def _stage_table(stage: StageStats, only: str | None, *, everything: bool = True) -> Table:
    """Return a table of a stage: totals, then a row per source, each followed by a row per drop reason.

    The sources that lost most documents come first, then those that lost most text.

    - only: the source to show, without totals; None: all.
    - everything: if False, only the first sources with a loss, and the largest counts, are shown.
    """
    unit = unit_of(max((amount.bytes for side in (stage.into, stage.out) for amount in side.values()), default=0))
    table = table_of("source", "in", "kept", "dropped", f"{unit.name} in", f"{unit.name} kept")
    table.title, table.title_justify = escape(stage.name), "left"
    table.columns[0].min_width = 28 if stage.docs_in < ALIGNED else None  # longer numbers need the space

    def add(name: str, read: Amount, kept: Amount, dropped: dict[str, int]) -> None:
        row = (f"{read.docs:,}", f"{kept.docs:,}", f"{read.docs - kept.docs:,}")
        table.add_row(name, *row, unit.show(read.bytes), unit.show(kept.bytes))
        for reason, n in sorted(dropped.items(), key=lambda item: (-item[1], item[0])):
            table.add_row(f"  - {escape(reason)}", "", "", f"{n:,}", style="dim")

    none = Amount()
    names = [name for name in stage.into if only in (None, name)]
    lost = {name: stage.into[name].docs - stage.out.get(name, none).docs for name in names}
    size = {name: stage.into[name].bytes - stage.out.get(name, none).bytes for name in names}
    names.sort(key=lambda name: (-lost[name], -size[name], -stage.into[name].bytes, name))
    if only is None and len(names) > 1:
        add("[bold]all sources[/]", stage.total(stage.into), stage.total(stage.out), stage.reasons)
    shown = names
    if not everything and len(names) > MOST_SOURCES + 1:
        shown = [name for name in names[:MOST_SOURCES] if lost[name] or size[name] > 0 or stage.name == READ]
    for name in shown:
        dropped = {why: sources[name].docs for why, sources in stage.dropped.items() if name in sources}
        add(escape(one_line(name)), stage.into[name], stage.out.get(name, none), dropped)
    if left := names[len(shown) :]:
        more = counted(len(left), "more source" if shown else "source")
        table.add_row(f"{more}, see --all", "", "", f"{sum(lost[n] for n in left):,}")
    if only is None:
        if stage.cut:
            table.add_row("  . bytes cut", "", "", f"{stage.cut:,}", style="dim")
        most = None if everything or len(stage.counts) <= MOST_COUNTS + 1 else MOST_COUNTS
        for name, n in sorted(stage.counts.most_common(most)):
            table.add_row(f"  . {escape(name)}", "", "", f"{n:,}", style="dim")
        if most is not None:
            smaller = counted(len(stage.counts) - most, "smaller count")
            table.add_row(f"  . {smaller}, see --all", "", "", "", style="dim")
    return table


def _print_examples(console: Console, stage: StageStats, n: int, only: str | None) -> None:
    for reason, found in sorted(stage.examples.items()):
        for example in [e for e in found if only in (None, e.source)][:n]:
            like = f" for {show_id(example.duplicate_of)}" if example.duplicate_of is not None else ""
            much = f" ({example.similarity:.3f})" if example.similarity is not None else ""
            text = printable(" ".join(example.text.split())[:160])
            console.print(
                f"  [cyan]{escape(reason)}[/] {show_id(example.id)}{like}{much} [dim]{escape(text)}[/]",
                highlight=False, overflow="ellipsis", no_wrap=True,
            )  # fmt: skip


def _print_cuts(console: Console, stage: StageStats, n: int, only: str | None) -> None:
    """Print the cuts of each rule in kept documents, most bytes first, each rule with `n` of the texts that it cut."""
    for rule, cuts in by_bytes(stage.cuts):
        if only is None:
            size = f"{counted(cuts.times, 'cut')}, {decimal(cuts.bytes)}" if cuts.times else decimal(cuts.bytes)
            console.print(f"  cut [cyan]{escape(rule)}[/] {size}", highlight=False)
        for example in [e for e in cuts.examples if e.text and only in (None, e.source)][:n]:
            text = printable(" ".join(example.text.split())[:160])
            line = f"    {show_id(example.id)} [dim]{escape(text)}[/]"
            console.print(line, highlight=False, overflow="ellipsis", no_wrap=True)


def report(
    folder: RunFolder,
    to: Annotated[str | None, typer.Option(help="The HTML file to write; DIR/report.html by default.")] = None,
) -> None:
    """Write one HTML page about a run, from the input to token shards and training; it needs no other files."""
    from dataprep.report import write

    say(write(folder, to or files.join(folder, REPORT)))


def print_messages(console: Console, stats: StageStats) -> None:
    """Print the figures of a `MessageStats` stage to the terminal: lists and histograms, one below the other."""
    conversations = sum(stats.histograms.get(CONVERSATION_MESSAGES, {}).values())
    people = sum(of_family(stats.counts, "author").values())
    amounts = f"{counted(people, 'message')} of people in {counted(conversations, 'conversation')}"
    console.print(f"[bold]{escape(stats.name)}[/]: {amounts}", highlight=False)
    for name, title in TITLES.items():
        _print_bars(console, title, most_frequent(of_family(stats.counts, name)))
    _print_bars(console, "Messages by month", _rows(months_of(stats.counts)[-LATEST_MONTHS:]))
    _print_week(console, stats)
    for lengths in LENGTHS:
        title = f"{lengths.title} ({lengths.axis.lower()})"
        _print_bars(console, title, _rows(length_rows(stats, lengths.histogram)))


def _rows(counts: Sequence[tuple[str, int]]) -> list[NameRow]:
    return [NameRow(name, n, is_one=True) for name, n in counts]


def _print_bars(console: Console, title: str, rows: Sequence[NameRow]) -> None:
    """Print a row per name, with a bar if the row is of one name."""
    if not rows:
        return
    most = max([1, *(row.n for row in rows if row.is_one)])
    table = Table(box=None, show_header=False, pad_edge=False, title=escape(title), title_justify="left")
    table.add_column(min_width=12, overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)  # a bar that is cut would be wrong
    for name, n, is_one in rows:
        bar = "█" * -(-n * BAR_CHARS // most) if is_one else ""
        table.add_row(escape(printable(name)), f"{n:,}", bar, style="dim")
    console.print(table)


def _print_week(console: Console, stats: StageStats) -> None:
    """Print a row per weekday with two characters per hour, darker for more messages."""
    counts = clock_of(stats.counts)
    if not counts.any():
        return
    hours = "     " + "".join(f"{hour:<6}" for hour in range(0, 24, 3))
    lines = ["Messages by weekday and hour", *_week(counts.tolist()), hours]
    console.print("\n".join(lines), highlight=False, style="dim")


def _week(table: Sequence[Sequence[int]]) -> Iterator[str]:
    most = max(n for row in table for n in row)
    for day, row in zip(WEEKDAYS, table, strict=True):
        yield f"{day}  " + "".join(SHADES[-(-n * (len(SHADES) - 1) // most)] * 2 for n in row)
