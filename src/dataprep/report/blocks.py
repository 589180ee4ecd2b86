"""The pieces of HTML that every section is made of; here everything that comes from the corpus is escaped and cut."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from dataprep.history.word_diff import CHANGED, LEFT_OUT, Side

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
MOST_CHARS = 80  # of a name


def text(value: object, most: int = MOST_CHARS) -> str:
    """Anything as HTML text: cut, escaped, control characters made visible."""
    said = str(value)
    said = said if len(said) <= most else said[: most - 1] + "…"
    return escape(visible(said))


def visible(said: str) -> str:
    """A text without what HTML cannot hold and a terminal would obey."""
    return UNSEEN.sub("\N{REPLACEMENT CHARACTER}", said)


def section(anchor: str, title: str, lead: str, *bodies: str) -> str:
    """A section with its heading; the lead is HTML, one or two sentences."""
    inside = "".join(bodies)
    head = f'<section id="{anchor}" aria-labelledby="{anchor}-h"><h2 id="{anchor}-h">{title}</h2>'
    return f"{head}<p>{lead}</p>{inside}</section>"


def card(*bodies: str, title: str = "", style: str = "") -> str:
    """A box; what is too wide scrolls inside it."""
    head = f"<h3>{title}</h3>" if title else ""
    return f'<div class="card {style}">{head}<div class="scroll">{"".join(bodies)}</div></div>'


def plots(*cards: str) -> str:
    """Boxes side by side, as many as fit."""
    found = [card for card in cards if card]
    return f'<div class="plots">{"".join(found)}</div>' if found else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], said: str) -> str:
    """A table of HTML cells, the first of each row its heading; `said` is for those who cannot see it."""
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row" dir="auto">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return f'<table><caption class="unseen">{said}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def number(n: float, share_of: float = 0) -> str:
    """A number, and in small its share."""
    share = f" <small>{percent(n, share_of)}</small>" if share_of else ""
    return f"{n:,.0f}{share}"


def percent(n: float, of: float) -> str:
    """A share in as many digits as it deserves: 41%, 0.3%, 99.97%."""
    share = n / of if of else 0.0
    if share in (0.0, 1.0) or 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{share:.1%}" if 0.001 <= share <= 0.999 else f"{share:.2%}"


def size(n: float) -> str:
    """Bytes as people say them.

    >>> size(1_234_000)
    '1.23 MB'
    """
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    unit = 0
    while n >= 999.5 and unit < len(units) - 1:
        n, unit = n / 1000, unit + 1
    return f"{n:,.0f} bytes" if unit == 0 else f"{n:.3g} {units[unit]}"


def side_html(side: Side | None, tag: str) -> str:
    """One side of a comparison; `tag` marks what the other lacks: del or ins."""
    if side is None:
        return '<p class="gone">This text is gone: the step that held it was not saved, or was removed.</p>'
    pieces = []
    for kind, words in side:
        shown = text(words, 4_000)
        marked = {CHANGED: f"<{tag}>{shown}</{tag}>", LEFT_OUT: f'<span class="gap">⋯ {shown} ⋯</span>'}
        pieces.append(marked.get(kind, shown))
    return f'<div class="text" dir="auto">{"".join(pieces) or "<i>an empty text</i>"}</div>'


def beside(left: str, right: str) -> str:
    """Two things side by side, below each other on a small screen."""
    return f'<div class="beside"><div>{left}</div><div>{right}</div></div>'
