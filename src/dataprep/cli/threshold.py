"""The command `threshold`: what another threshold of a MinHash, or limit of a filter, would keep and drop."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.core.model.batch import show_id
from dataprep.core.model.tables import Drop
from dataprep.errors import counted
from dataprep.history.scored import scored_of, scored_steps
from dataprep.history.texts import pairs_of
from dataprep.history.thresholds import OtherThreshold, at_thresholds, minhash_of, minhash_steps
from dataprep.shown.terminal import table_of

from . import limits
from .as_json import SCHEMA, Json, print_json
from .options import RunFolder, Screen, Workers, numbers, one_line, runner_of
from .why import text_pair

MOST_SOURCES = 10


def threshold(
    folder: RunFolder,
    at: Annotated[str, typer.Argument(metavar="T,T,...", help="The thresholds to try, such as 0.75,0.8,0.85.")],
    stage: Annotated[str | None, typer.Option(help="The MinHash or the filter to try, if the run has several.")] = None,
    parameter: Annotated[
        str | None, typer.Option(help="The limit of a filter to change, such as min_words or score_range.low.")
    ] = None,
    sample: Annotated[
        int, typer.Option(min=0, help="Number of documents that a filter measures again; 0: all, so it is exact.")
    ] = 0,
    examples: Annotated[int, typer.Option(min=0, help="Number of pairs to show of each kind.")] = 0,
    workers: Workers = 1,
    as_json: Json = False,
) -> None:
    """Show which documents a MinHash or a filter would keep and drop at other thresholds; nothing is written.

    The stored candidates of a MinHash are compared again, so the numbers are those of a full run with the same bands. A
    filter decides again from stored scores, or measures the documents again. Later stages are not run again.
    """
    values = numbers("T,T,...", at, "numbers such as 0.75,0.8")
    near = [one.name for one in minhash_steps(folder)]
    if parameter is not None or stage not in (None, *near) or (not near and scored_steps(folder)):
        filter_ = scored_of(folder, stage)
        others = limits.other_limits(filter_, parameter, values, runner_of(workers), sample or None, examples)
        (limits.as_json if as_json else limits.as_tables)(folder, filter_, others)
        return
    step = minhash_of(folder, stage)
    found = at_thresholds(step, values, runner_of(workers), examples)
    if as_json:
        rows = [
            {"threshold": one.threshold, "recall": one.recall, "dropped": one.dropped, "back": len(one.back),
             "new": len(one.new), "sources": [
                 {"source": name, "back": back, "new": new} for name, (back, new) in one.by_source.items()]}
            for one in found
        ]  # fmt: skip
        run = {"stage": step.name, "threshold": step.threshold, "dropped": step.fit["dropped"]}
        print_json({"schema": SCHEMA, "folder": folder, "run": run, "thresholds": rows})
        return
    console = Screen()
    head = f"{step.name} dropped {counted(step.fit['dropped'], 'document')} at the threshold {step.threshold:g}"
    console.print(escape(head), highlight=False, soft_wrap=True)
    table = table_of("threshold", "dropped", "came back", "newly dropped", "recall")
    for one in found:
        row = f"{one.dropped:,}", f"{len(one.back):,}", f"{len(one.new):,}", f"{one.recall:.1%}"
        table.add_row(f"{one.threshold:g}", *row)
    console.print(table)
    for one in found:
        _print_sources(console, one)
        for title, drops in zip(("came back", "newly dropped"), one.examples, strict=True):
            _print_examples(console, folder, f"{title} at {one.threshold:g}", drops)


def _print_sources(console: Console, one: OtherThreshold) -> None:
    """Print the sources whose documents change, most first."""
    if one.by_source:
        table = table_of(f"source at {one.threshold:g}", "came back", "newly dropped")
        for name, (back, new) in list(one.by_source.items())[:MOST_SOURCES]:
            table.add_row(escape(one_line(name)), f"{back:,}", f"{new:,}")
        console.print(table)


def _print_examples(console: Console, folder: str, title: str, drops: list[Drop]) -> None:
    """Print pairs of texts, those nearest to the border first."""
    texts = pairs_of(folder, drops)
    for drop in drops:
        console.rule(f"[bold]{title}[/] {drop.similarity or 0:.3f}", align="left", style="dim")
        left, right = (None if row is None else str(row["text"]) for row in (texts.dropped(drop), texts.survivor(drop)))
        heads = show_id(drop.id), "" if drop.duplicate_of is None else show_id(drop.duplicate_of)
        console.print(text_pair(heads, (left, right)))
