"""A table of two texts next to each other, with the words that only one of them has marked."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from dataprep.history.word_diff import CHANGED, LEFT_OUT, DiffSide, word_diff
from dataprep.unicode.printable import printable

SHOWN_CHARS = 1_500  # of each text: a screen
NO_TEXT = "(no text: it was forgotten, the step that held it was not saved, or `dataprep clean` removed that step)"


def text_pair(heads: tuple[str, str], texts: tuple[str | None, str | None]) -> Table:
    """Return a table with a removed text at the left and the one that was kept at the right; None is a missing text."""
    sides = word_diff(texts[0] or "", texts[1] or "", SHOWN_CHARS)
    table = Table(expand=True)
    for head in heads:
        table.add_column(Text(printable(head)), ratio=1)
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
