"""Twin of `filters/mc4.py`."""

from __future__ import annotations


def paragraphs(text: str, min_chars: int) -> int:
    """The number of lines between line feeds with so many characters or more."""
    return sum(len(line) >= min_chars for line in text.split("\n"))
