"""Prints the figures of `MessageStats` as bars, and the week as shades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core.stats import StageStats
from dataprep.history.message_figures import LENGTHS, TITLES, WEEKDAYS, NameRow, length_rows, most_frequent
from dataprep.messages.counts import CONVERSATION_MESSAGES, clock_of, months_of, of_family
from dataprep.unicode.printable import printable

SHADES = " ░▒▓█"
BAR_CHARS = 40
LATEST_MONTHS = 36


def print_messages(console: Console, stats: StageStats) -> None:
    """Print lists and histograms, one below the other."""
    conversations = sum(stats.histograms.get(CONVERSATION_MESSAGES, {}).values())
    people = sum(of_family(stats.counts, "author").values())
    head = f"[bold]{escape(stats.name)}[/]: {people:,} messages of people in {conversations:,} conversations"
    console.print(head, highlight=False)
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
    table.add_column(min_width=12)
    table.add_column(justify="right")
    table.add_column()
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
