"""Prints what `--dry-run` found: a table and examples for each step."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core.batch import show_id
from dataprep.history.rehearse import StageChanges, StepRehearsal
from dataprep.messages.counts import STAGE
from dataprep.unicode.printable import printable

from .message_bars import print_messages

CONTEXT_CHARS = 30  # shown before the first difference
VALUES_SHOWN = 6  # of a column that a stage adds


def print_rehearsal(console: Console, found: Sequence[StepRehearsal], sample_bytes: int) -> None:
    """Print a table and examples for each step that ran a stage."""
    for one in found:
        if not one.stages:
            continue
        console.rule(f"[bold]{escape(one.step)}", align="left", style="dim")
        console.print(_table(one.stages))
        for changes in one.stages:
            if changes.stats.name.startswith(STAGE):
                print_messages(console, changes.stats)
            _print_examples(console, changes)
    console.print(
        f"\n[dim]dry run on {sample_bytes / 1e6:,.1f} MB of text: nothing is written, "
        "and the temporary folder is removed[/]",
        highlight=False,
    )


def _table(stages: Sequence[StageChanges]) -> Table:
    """Return a table with a row per stage, then one per reason, changed column, count and added value."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("stage")
    for title in ("documents", "of input"):
        table.add_column(title, justify="right")
    for one in stages:
        n = max(1, one.stats.docs_in)
        table.add_row(one.stats.name, f"{one.stats.docs_out:,}", f"{one.stats.docs_out / n:.1%}", style="bold")
        rows = [(f"- {reason}", k) for reason, k in one.stats.reasons.items()]
        rows += [(f"~ {column} changed", k) for column, k in sorted(one.changed.items())]
        counts = {} if one.stats.name.startswith(STAGE) else one.stats.counts
        rows += [(f". {name}", k) for name, k in sorted(counts.items())]
        for what, k in rows:
            table.add_row(f"  {what}", f"{k:,}", "" if what[0] == "." else f"{k / n:.1%}", style="dim")
        for column, values in sorted(one.added.items()):
            table.add_row(f"  + {column}", "", "", style="dim")
            for value, k in values.most_common(VALUES_SHOWN):
                table.add_row(f"      {escape(printable(value))}", f"{k:,}", f"{k / n:.1%}", style="dim")
    return table


def _print_examples(console: Console, changes: StageChanges) -> None:
    def line(text: str) -> None:
        console.print(text, overflow="ellipsis", no_wrap=True, highlight=False)

    for reason, examples in sorted(changes.stats.examples.items()):
        if examples and changes.n_examples:
            console.print(f"[bold]{escape(changes.stats.name)}[/] drops by {escape(reason)}", highlight=False)
            for e in examples[: changes.n_examples]:
                line(f"  [cyan]{show_id(e.id)}[/] [red]{escape(_one_line(e.text))}[/]")
    for column, of_column in sorted(changes.examples.items()):
        if of_column:
            console.print(f"[bold]{escape(changes.stats.name)}[/] changes {escape(column)}", highlight=False)
        for change in of_column:
            before, after = excerpts(change.before, change.after)
            line(f"  [cyan]{show_id(change.id)}[/] [red]{escape(_one_line(before))}[/]")
            line(f"  {'':{len(show_id(change.id))}} [green]{escape(_one_line(after))}[/]")


def _one_line(text: str) -> str:
    return printable(text.replace("\n", " \u23ce "))


def excerpts(before: str, after: str) -> tuple[str, str]:
    """Return both texts from CONTEXT_CHARS before their first difference."""
    pairs = enumerate(zip(before, after, strict=False))
    start = max(0, next((i for i, (a, b) in pairs if a != b), min(len(before), len(after))) - CONTEXT_CHARS)
    mark = "\u2026" if start else ""
    return mark + before[start:], mark + after[start:]
