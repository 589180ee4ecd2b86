"""Two texts side by side in a terminal, the words that the other one lacks marked."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from dataprep.history.word_diff import CHANGED, LEFT_OUT, Side, word_diff
from dataprep.report.blocks import visible

SHOWN_CHARS = 1_500  # of each text: a screen
GONE = "(its text is gone: it was forgotten, the step that held it was not saved, or `dataprep clean` removed it)"


def beside(heads: tuple[str, str], texts: tuple[str | None, str | None]) -> Table:
    """A removed text at the left, the one that stands for it at the right; None is a text that is gone."""
    sides = word_diff(texts[0] or "", texts[1] or "", SHOWN_CHARS)
    table = Table(expand=True)
    for head in heads:
        table.add_column(Text(visible(head)), ratio=1)
    table.add_row(
        *(
            Text(GONE, "dim") if text is None else _marked(side, style)
            for text, side, style in zip(texts, sides, ("bold yellow", "bold cyan"), strict=True)
        )
    )
    return table


def _marked(side: Side, style: str) -> Text:
    shown = Text()
    for kind, words in side:
        words_shown = f"… {words} … " if kind == LEFT_OUT else visible(words)
        shown.append(words_shown, {CHANGED: style, LEFT_OUT: "dim"}.get(kind, ""))
    return shown
