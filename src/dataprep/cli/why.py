"""The command `why`: shows the stages that dropped or cut one document, and the document kept in its place."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dataprep.core.model.batch import parse_id, show_id
from dataprep.core.model.tables import Cut, Drop, united
from dataprep.core.output.forget_list import REASON
from dataprep.errors import counted
from dataprep.history import why as fates
from dataprep.history.cuts import context
from dataprep.history.replay import rule_cuts
from dataprep.history.word_diff import CHANGED, LEFT_OUT, DiffSide, word_diff
from dataprep.unicode.valid import printable

from .options import RunFolder, Screen

SHOWN_CHARS = 1_500  # of each text: a screen
NO_TEXT = "(no text: it was forgotten, the step that held it was not saved, or `dataprep prune` removed its texts)"
MOST_SPANS = 5  # of one stage in one document
MOST_RULE_CUTS, SHOWN_OF_CUT = 50, 160


def why(
    folder: RunFolder,
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id of a document, as file:position or as an integer.")],
) -> None:
    """Show why a document was dropped or cut: stages, reasons, spans, texts, and the document kept for it."""
    console = Screen()
    fate = fates.follow(folder, parse_id(id_))
    _print_cuts(console, folder, fate)
    if all(drop.reason != REASON for drop in fate.drops):
        _print_rule_cuts(console, folder, fate)
    for drop in fate.drops:
        similarity = "" if drop.similarity is None else f", similarity {drop.similarity:.3f}"
        kept = "" if drop.duplicate_of is None else f" for {show_id(drop.duplicate_of)}"
        kept += f" of {drop.duplicate_of_dataset}" if drop.duplicate_of_dataset else ""
        head = f"[bold]{show_id(drop.id)}[/] was dropped by {escape(f'{drop.stage}: ')}[cyan]{escape(drop.reason)}[/]"
        tail = f"{escape(kept + compared(drop))}{similarity} [dim]({escape(drop.folder)})[/]"
        console.print(head + tail, highlight=False, soft_wrap=True)
    survivor_in = fate.home or fate.survivor_in
    if survivor_in is not None:
        console.print(f"[bold]{show_id(fate.survivor)}[/] is kept in {escape(survivor_in)}", highlight=False)
    elif fate.copies:
        console.print(f"kept in another way: [bold]{', '.join(map(show_id, fate.copies))}[/]", highlight=False)
    elif fate.survivor != fate.id:
        console.print("[bold red]no survivor: the document kept for it was dropped later[/]", highlight=False)
    _print_texts(console, folder, fate)


def compared(drop: Drop) -> str:
    """Return " (LABEL NUMBER)" with the value on which the drop of a document was based; "" if it is unknown."""
    value = "" if drop.value is None else f"{drop.value:.6g}"
    shown = " ".join(part for part in (drop.label or "", value) if part)
    return f" ({shown})" if shown else ""


def _print_texts(console: Console, folder: str, fate: fates.Fate) -> None:
    """Print the document's text, next to the text of the document that was kept instead, if there is one."""
    row = fates.dropped_document(folder, fate.drops[0]) if fate.drops else fates.find_document(folder, fate.id)
    text = None if row is None else str(row["text"])
    head = printable(f"{show_id(fate.id)}  {row['source'] if row else ''}")
    if fate.survivor == fate.id and fate.home is None:
        console.rule(Text(head, "bold"), align="left", style="dim")
        console.print(NO_TEXT if text is None else printable(text[:SHOWN_CHARS]), markup=False, highlight=False)
        return
    last = next(drop for drop in reversed(fate.drops) if drop.duplicate_of is not None)
    other = fates.survivor(folder, last)
    other_head = f"{show_id(fate.survivor)}  {other['source'] if other else ''}"
    console.print(text_pair((head, other_head), (text, None if other is None else str(other["text"]))))


def _print_cuts(console: Console, folder: str, fate: fates.Fate) -> None:
    """Print the spans that each stage cut out, with their first occurrences."""
    for (url, stage), group in groupby(fate.cuts, lambda cut: (cut.folder, cut.stage)):
        cuts = list(group)
        _, start, end = united(*(np.array([getattr(cut, name) for cut in cuts]) for name in ("id", "start", "end")))
        n_bytes = int((end - start).sum())
        spans = "one span" if len(start) == 1 else f"{len(start):,} spans"
        head = f"{escape(stage)} cut {spans} out of [bold]{show_id(fate.id)}[/], {counted(n_bytes, 'byte')}"
        console.print(f"{head} [dim]({escape(url)})[/]", highlight=False, soft_wrap=True)
        named = [cut for cut in cuts if cut.duplicate_of is not None] or cuts  # the others are white space next to them
        for cut in named[:MOST_SPANS]:
            _print_cut(console, folder, cut)
        if len(named) > MOST_SPANS:
            console.print(f"  [dim]and {len(named) - MOST_SPANS:,} more[/]", highlight=False)


def _print_rule_cuts(console: Console, folder: str, fate: fates.Fate) -> None:
    """Print the cuts of rules that record no spans; to find them, the stages are run on the document again."""
    for (url, stage), group in groupby(rule_cuts(folder, fate.id), lambda cut: (cut.folder, cut.stage)):
        cuts = list(group)
        size = f"{counted(sum(cut.end - cut.start for cut in cuts), 'byte')}"
        head = f"{escape(stage)} cut {counted(len(cuts), 'span')} out of [bold]{show_id(fate.id)}[/], {size}"
        console.print(f"{head} [dim]({escape(url)})[/]", highlight=False, soft_wrap=True)
        for cut in cuts[:MOST_RULE_CUTS]:
            text = "(private)" if cut.text is None else printable(" ".join(cut.text.split())[:SHOWN_OF_CUT])
            line = f"  [cyan]{escape(cut.rule)}[/] bytes {cut.start:,} to {cut.end:,}: [dim]{escape(text)}[/]"
            console.print(line, highlight=False, soft_wrap=True)
        if len(cuts) > MOST_RULE_CUTS:
            console.print(f"  [dim]and {len(cuts) - MOST_RULE_CUTS:,} more[/]", highlight=False)


def _print_cut(console: Console, folder: str, cut: Cut) -> None:
    console.print(f"  bytes {cut.start:,} to {cut.end:,}", highlight=False)
    data = fates.text_as_read(folder, cut.id, cut.folder, cut.stage)
    console.print(_in_context(data, cut.start, cut.end, "bold yellow"))
    if cut.duplicate_of is None or cut.duplicate_of_start is None or cut.duplicate_of_end is None:
        return
    home = f" of {cut.duplicate_of_dataset}" if cut.duplicate_of_dataset else ""
    first = f"{show_id(cut.duplicate_of)}{home}, byte {cut.duplicate_of_start:,}"
    console.print(f"  first occurs in [bold]{escape(first)}[/]", highlight=False)
    if cut.duplicate_of_dataset is None:
        data = fates.text_as_read(folder, cut.duplicate_of, cut.folder, cut.stage)
        console.print(_in_context(data, cut.duplicate_of_start, cut.duplicate_of_end, "bold cyan"))


def _in_context(data: bytes | None, start: int, end: int, style: str) -> Text:
    """Return a span with the text around it, on one line."""
    if data is None or end > len(data):
        return Text(f"    {NO_TEXT}", "dim")
    before, inside, after = (printable(" ".join(text.split())) for text in context(data, start, end))
    return Text.assemble(("    … ", "dim"), (before, "dim"), " ", (inside, style), " ", (after, "dim"), (" …", "dim"))


def text_pair(heads: tuple[str, str], texts: tuple[str | None, str | None]) -> Table:
    """Return a table of two columns: the removed text at the left, the kept text at the right, differences marked.

    Args:
        heads: the column titles.
        texts: the removed and the kept text; None if a text cannot be read.
    """
    sides = word_diff(texts[0] or "", texts[1] or "", SHOWN_CHARS)
    table = Table(expand=True)
    for head in heads:
        table.add_column(Text(printable(head)), ratio=1, overflow="fold")
    table.add_row(
        *(
            Text(NO_TEXT, "dim") if text is None else _marked(side, style)
            for text, side, style in zip(texts, sides, ("bold yellow", "bold cyan"), strict=True)
        )
    )
    return table


def _marked(side: DiffSide, style: str) -> Text:
    shown = Text()
    for kind, words in side:
        words_shown = f"… {words} … " if kind == LEFT_OUT else printable(words)
        shown.append(words_shown, {CHANGED: style, LEFT_OUT: "dim"}.get(kind, ""))
    return shown
