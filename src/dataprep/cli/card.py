"""The command `card`: prints the data card of a run."""

from __future__ import annotations

from dataprep.history.card import card as card_of

from .options import RunFolder, say


def card(folder: RunFolder) -> None:
    """Print a data card (Markdown) of a run: size, stages, sources, settings, and the judgements of a review."""
    for line in card_of(folder).rstrip("\n").split("\n"):
        say(line)
