"""The page: its sections in the order a reader asks for them, its style, and nothing from elsewhere."""

from __future__ import annotations

import re
from importlib import resources

from dataprep import __version__

from . import chats, duplicates, outcome, overview
from .blocks import text
from .page_data import Facts

HEADING = re.compile(r'<section id="(\w+)"[^>]*><h2[^>]*>([^<]+)</h2>')


def render(facts: Facts) -> str:
    """The whole page as one HTML text; under 2 MB whatever the corpus."""
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    sections = [
        overview.funnel(facts),
        overview.sources(facts),
        chats.chats(facts),
        duplicates.duplicates(facts),
        duplicates.cuts(facts),
        duplicates.examples(facts),
        outcome.texts(facts),
        outcome.tokens(facts),
        outcome.training(facts),
        outcome.recipe(facts),
    ]
    name, body = text(facts.name), "".join(sections)
    ways = "".join(f'<a href="#{anchor}">{title}</a>' for anchor, title in HEADING.findall(body))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{name}: what became of the text</title><style>{style}</style></head><body>"
        f'<header><h1 dir="auto">{name}</h1><p>What went in, what was removed and why, and what was made of the rest.'
        f'</p>{overview.alarms(facts)}{overview.tiles(facts)}<nav aria-label="Sections">{ways}</nav></header>'
        f"<main>{body}</main><footer>dataprep {__version__} · <code>dataprep why DIR ID</code> tells more about any "
        "document, <code>dataprep clusters DIR</code> about what went for what</footer></body></html>\n"
    )
