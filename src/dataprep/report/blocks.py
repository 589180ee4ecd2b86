"""HTML elements for the sections of a report; they escape and shorten everything that comes from the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dataprep.errors import counted
from dataprep.history.word_diff import CHANGED, LEFT_OUT, DiffSide
from dataprep.shown.notebook import html_table, text


def section(anchor: str, title: str, lead: str, *bodies: str) -> str:
    """Return a section of the report as HTML.

    Args:
        anchor: the section's id, for links.
        title: the heading.
        lead: the introduction, one or two sentences of HTML.
        bodies: the HTML below it.
    """
    inside = "".join(bodies)
    head = f'<section id="{anchor}" aria-labelledby="{anchor}-h"><h2 id="{anchor}-h">{title}</h2>'
    return f"{head}<p>{lead}</p>{inside}</section>"


def card(*bodies: str, title: str = "", style: str = "") -> str:
    """Return a box as HTML, which can be scrolled if its content is too wide.

    Args:
        bodies: HTML of the content.
        title: a heading, "" for none.
        style: CSS classes.
    """
    head = f"<h3>{title}</h3>" if title else ""
    return f'<div class="card {style}">{head}<div class="scroll">{"".join(bodies)}</div></div>'


def plots(*cards: str) -> str:
    """Return boxes as HTML, as many next to each other as fit into a line; empty boxes are left out."""
    found = [card for card in cards if card]
    return f'<div class="plots">{"".join(found)}</div>' if found else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table as HTML, with the first cell of each row as the row's heading.

    Args:
        heads: the column titles.
        rows: the HTML cells of each row.
        caption: a title for screen readers.
    """
    return html_table(heads, rows, f'<caption class="unseen">{caption}</caption>')


def format_number(n: float, share_of: float = 0) -> str:
    """Return a number as text with thousands separators.

    - share_of: a total; if it is not 0, `n` is also stated as a percentage of this total, in small type.
    """
    share = f" <small>{format_percent(n, share_of)}</small>" if share_of else ""
    return f"{n:,.0f}{share}"


def format_percent(n: float, of: float) -> str:
    """Return `n` as a percentage of `of`, such as 41%.

    If the share is neither 0 nor 1, the text has enough digits to show this, such as 0.3% or 99.97%.
    """
    share = n / of if of else 0.0
    if share in (0.0, 1.0) or 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{share:.1%}" if 0.001 <= share <= 0.999 else f"{share:.2%}"


def format_bytes(n: float) -> str:
    """Return a number of bytes as text, with three digits and a decimal unit.

    >>> format_bytes(1_234_000)
    '1.23 MB'
    """
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    unit = 0
    while n >= 999.5 and unit < len(units) - 1:
        n, unit = n / 1000, unit + 1
    return counted(round(n), "byte") if unit == 0 else f"{n:.3g} {units[unit]}"


def diff_html(side: DiffSide | None, tag: str) -> str:
    """Return one of the two texts of a word diff as HTML.

    Args:
        side: the text as DiffRuns, None if it cannot be read.
        tag: the element (del or ins) that encloses the words that only this text has.
    """
    if side is None:
        return '<p class="missing">The text cannot be shown: the step that had it was not saved, or was removed.</p>'
    runs = []
    for kind, words in side:
        shown = text(words, 4_000)
        marked = {CHANGED: f"<{tag}>{shown}</{tag}>", LEFT_OUT: f'<span class="gap">⋯ {shown} ⋯</span>'}
        runs.append(marked.get(kind, shown))
    return f'<div class="text" dir="auto">{"".join(runs) or "<i>an empty text</i>"}</div>'


def columns(left: str, right: str) -> str:
    """Return two blocks of HTML next to each other, or one below the other on a small screen."""
    return f'<div class="columns"><div>{left}</div><div>{right}</div></div>'
