"""The part of the command `threshold` on filters with scores: what another limit would keep and drop."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape

from dataprep.core.model.batch import show_id
from dataprep.core.model.tables import Drop
from dataprep.core.run.runner import Runner
from dataprep.errors import counted
from dataprep.history.scored import OtherValue, ScoredStep, at_values, measured_scores, stored_scores
from dataprep.history.texts import pairs_of
from dataprep.shown.terminal import table_of

from .as_json import SCHEMA, print_json
from .options import Screen, one_line

MOST_SOURCES, TEXT_CHARS = 10, 200
HOW = {
    "stored": "from stored scores",
    "measured": "all documents measured again",
    "sample": "estimated from a sample of",
}


def other_limits(
    step: ScoredStep, parameter: str | None, values: tuple[float, ...], runner: Runner, sample: int | None,
    examples: int,
) -> list[OtherValue]:  # fmt: skip
    """Return the results with other values of a limit: from stored scores, or if some are missing, measured again.

    - sample: the number of documents to measure; None: all.
    """
    limit = step.limit(parameter)
    stored = stored_scores(step)
    is_enough = stored is not None and not stored.unknown
    scores = stored if stored is not None and is_enough else measured_scores(step, runner, sample)
    return at_values(step, scores, limit.name, values, examples)


def as_json(folder: str, step: ScoredStep, found: list[OtherValue]) -> None:
    """Print the results as JSON."""
    limit = step.limit(found[0].parameter)
    rows: list[dict[str, Any]] = []
    for one in found:
        names = ("dropped", "back", "new")
        intervals = [None] * 3 if one.intervals is None else [list(row) for row in one.intervals]
        rows.append({
            "value": one.value, "how": one.how, "known": one.known, "dropped": one.dropped, "back": len(one.back),
            "new": len(one.new), "intervals": dict(zip(names, intervals, strict=True)),
            "sources": [{"source": name, "back": a, "new": b} for name, (a, b) in one.by_source.items()],
        })  # fmt: skip
    run = {"stage": step.at.name, "parameter": limit.name, "value": limit.value, "dropped": step.at.stats.docs_dropped}
    print_json({"schema": SCHEMA, "folder": folder, "run": run, "values": rows})


def as_tables(folder: str, step: ScoredStep, found: list[OtherValue]) -> None:
    """Print the results as tables, with the documents nearest to each limit."""
    console, limit = Screen(), step.limit(found[0].parameter)
    head = f"{step.at.name} dropped {counted(step.at.stats.docs_dropped, 'document')} with {limit.name}={limit.value:g}"
    how = HOW[found[0].how] + (f" {found[0].known:,}" if found[0].intervals else "")
    console.print(escape(f"{head}; {how}"), highlight=False, soft_wrap=True)
    table = table_of(limit.name, "dropped", "come back", "newly dropped")
    for one in found:
        exact = (one.dropped, len(one.back), len(one.new))
        if one.intervals is None:
            cells = [f"{n:,}" for n in exact]
        else:
            cells = [f"{n:,.0f} ({low:,.0f} to {high:,.0f})" for n, low, high in one.intervals]
        table.add_row(f"{one.value:g}", *cells)
    console.print(table)
    for one in found:
        if one.by_source:
            table = table_of(f"source at {one.value:g}", "come back", "newly dropped")
            for name, row in list(one.by_source.items())[:MOST_SOURCES]:
                table.add_row(escape(one_line(name)), *(f"{n:,}" for n in row))
            console.print(table)
        for title, drops in zip(("comes back", "newly dropped"), one.examples, strict=True):
            _print_examples(console, folder, f"{title} at {one.value:g}", drops)


def _print_examples(console: Console, folder: str, title: str, drops: list[Drop]) -> None:
    """Print texts, those nearest to the limit first."""
    texts = pairs_of(folder, drops)
    for drop in drops:
        row = texts.dropped(drop)
        shown = "(its text cannot be shown)" if row is None else one_line(str(row["text"]), TEXT_CHARS)
        value = "" if drop.value is None else f"{drop.value:g} "
        console.print(f"{title}: [cyan]{show_id(drop.id)}[/] {value}{escape(shown)}", highlight=False, soft_wrap=True)
