"""Chats in a terminal: what `MessageStats` counted, as bars and a week of shades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataprep.core.stats import StageStats
from dataprep.messages.counts import CONVERSATION_MESSAGES, clock_of, months_of, of_family
from dataprep.report.blocks import visible
from dataprep.report.charts import DAYS
from dataprep.report.chats import LENGTHS, TITLES, length_rows, shown

SHADES = " ░▒▓█"
BAR_CHARS = 40
LATEST_MONTHS = 36


def print_messages(console: Console, book: StageStats) -> None:
    """Lists and histograms, one below the other."""
    n_conversations = sum(book.histograms.get(CONVERSATION_MESSAGES, {}).values())
    people = sum(of_family(book.counts, "author").values())
    console.print(
        f"[bold]{escape(book.name)}[/]: {people:,} messages of people in {n_conversations:,} conversations",
        highlight=False,
    )
    for name, title in TITLES.items():
        _print_bars(console, title, shown(of_family(book.counts, name)))
    _print_bars(console, "Messages by month", _each(months_of(book.counts)[-LATEST_MONTHS:]))
    _print_week(console, book)
    for histogram, title, _, axis in LENGTHS:
        _print_bars(console, f"{title} ({axis.lower()})", _each(length_rows(book, histogram)))


def _each(rows: Sequence[tuple[str, int]]) -> list[tuple[str, int, bool]]:
    return [(name, n, True) for name, n in rows]


def _print_bars(console: Console, title: str, rows: Sequence[tuple[str, int, bool]]) -> None:
    """A row a name, and a bar for each that is of one name."""
    if not rows:
        return
    most = max([1, *(n for _, n, is_one in rows if is_one)])
    table = Table(box=None, show_header=False, pad_edge=False, title=escape(title), title_justify="left")
    table.add_column(min_width=12)
    table.add_column(justify="right")
    table.add_column()
    for name, n, is_one in rows:
        bar = "█" * -(-n * BAR_CHARS // most) if is_one else ""
        table.add_row(escape(visible(name)), f"{n:,}", bar, style="dim")
    console.print(table)


def _print_week(console: Console, book: StageStats) -> None:
    """A row a weekday, two characters an hour, the darker the more."""
    counts = clock_of(book.counts)
    if not counts.any():
        return
    lines = ["When people write", *_week(counts.tolist()), "     " + "".join(f"{hour:<6}" for hour in range(0, 24, 3))]
    console.print("\n".join(lines), highlight=False, style="dim")


def _week(table: Sequence[Sequence[int]]) -> Iterator[str]:
    most = max(n for row in table for n in row)
    for day, row in zip(DAYS, table, strict=True):
        yield f"{day}  " + "".join(SHADES[-(-n * (len(SHADES) - 1) // most)] * 2 for n in row)
