"""The table of a run's statistics: for a terminal, as plain text, and for a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any

from .notebook import html_table, text
from .terminal import Unit, table_of, unit_of

if TYPE_CHECKING:  # rich takes a tenth of a second to load, and most programs show no table
    from rich.console import Group

COUNTS_SHOWN = 40  # per stage, the largest; manifests have all


def for_terminal(stats: Any) -> Group:
    """Return the table of the `Stats` of a run for `rich`, followed by the alarms."""
    from rich.console import Group
    from rich.markup import escape

    unit = _unit(stats)
    table = table_of(*_titles(unit))
    for row in _rows(stats, unit):
        table.add_row(*map(escape, row), style="dim" if row[0].startswith("  ") else None)
    return Group(table, *(f"[bold red]alarm:[/] {escape(alarm)}" for alarm in stats.alarms()))


def as_text(stats: Any) -> str:
    """Return the table of the `Stats` of a run as plain text, followed by the alarms."""
    from rich.console import Console

    out = StringIO()
    Console(file=out, width=110, no_color=True).print(for_terminal(stats))
    return out.getvalue().rstrip()


def as_html(stats: Any) -> str:
    """Return the table of the `Stats` of a run as HTML, followed by the alarms."""
    unit = unit_of(1e6)  # MB: the notebooks of docs/ have these tables
    cells = ([text(cell).replace("  ", "&emsp;", 1) for cell in row] for row in _rows(stats, unit))
    alarms = (f"<p><b>alarm:</b> {text(alarm, 1_000)}</p>" for alarm in stats.alarms())
    return html_table(_titles(unit), cells) + "".join(alarms)


def _unit(stats: Any) -> Unit:
    """Return the unit of all sizes of the table, chosen by the largest amount that a stage received or returned."""
    return unit_of(max((stage.total(side).bytes for stage in stats for side in (stage.into, stage.out)), default=0))


def _titles(unit: Unit) -> tuple[str, ...]:
    return "stage", "documents", "of input", unit.name, "bytes cut"


def _rows(stats: Any, unit: Unit) -> Iterator[tuple[str, ...]]:
    """Yield a row per stage, each followed by a row per reason and per count, indented by two spaces."""
    for stage in stats:
        kept = stage.total(stage.out)
        share = f"{kept.docs / stage.docs_in:.1%}" if stage.docs_in else ""
        yield stage.name, f"{kept.docs:,}", share, unit.show(kept.bytes), f"{stage.cut:,}"
        for reason, n in stage.reasons.items():
            size = unit.show(stage.total(stage.dropped[reason]).bytes)
            yield f"  - {reason}", f"-{n:,}", f"{n / max(1, stage.docs_in):.1%}", f"-{size}", ""
        for name, n in sorted(stage.counts.most_common(COUNTS_SHOWN)):
            yield f"  . {name}", f"{n:,}", "", "", ""
        if len(stage.counts) > COUNTS_SHOWN:
            yield f"  . and {len(stage.counts) - COUNTS_SHOWN:,} smaller counts", "", "", "", ""
