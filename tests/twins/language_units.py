"""Twin of `units_of` in `filters/classifiers/language.py`."""

from __future__ import annotations

import re

from dataprep.unicode.text import ALPHA, classes


def language_units(text: str, unit: str, max_bytes: int, min_letters: int) -> list[tuple[str, int]]:
    """What a model is shown of a text: the start of each unit with enough letters, and the bytes of the whole unit."""
    breaks = {"document": r"\Z", "line": r"\n", "paragraph": r"\n[ \t\r]*(?=\n|\Z)"}
    found = []
    for piece in re.split(breaks[unit], text):
        start = piece.encode()[:max_bytes].decode("utf-8", "ignore")
        letters = sum(bool(classes()[ord(c)] & ALPHA) for c in start)
        if letters >= min_letters and start:
            found.append((start, len(piece.encode())))
    return found
