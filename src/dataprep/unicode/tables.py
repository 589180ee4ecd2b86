"""Tables of one Unicode version: character classes, lower case, decompositions, and word breaks.

The tables are read from `tables.txt`, which scripts/make_unicode.py writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from itertools import product


def _sections() -> tuple[str, dict[str, str]]:
    """Return the Unicode version, and the text of each section of the file by name."""
    head, *sections = resources.files(__package__).joinpath("tables.txt").read_text(encoding="utf-8").split("\n[")
    parts = (section.partition("]") for section in sections)
    return head.split()[2].rstrip("."), {name: text.partition("\n")[2] for name, _, text in parts}


def points(section: str) -> list[int]:
    """Return the code points of ranges `first-last` (hexadecimal), which are separated by spaces."""
    found: list[int] = []
    for span in section.split():
        first, _, last = span.partition("-")
        found += range(int(first, 16), int(last or first, 16) + 1)
    return found


def tokens(section: str) -> Iterator[tuple[str, list[int]]]:
    """Yield (key, code points) for each token `key=first-last,...` of a section; a key may occur in several tokens."""
    for token in section.split():
        key, _, spans = token.partition("=")
        yield key, points(spans.replace(",", " "))


def decomposed() -> Iterator[tuple[list[int], list[int]]]:
    """Yield (code points with one full canonical decomposition, this decomposition); Hangul syllables are left out."""
    for key, found in tokens(DECOMPOSED):
        yield found, [int(point, 16) for point in key.split("+")]


VERSION, CLASSES = _sections()
LOWER, DECOMPOSED, WORD_BREAK, ORDER = (CLASSES.pop(name) for name in ("LOWER", "DECOMPOSED", "WORD_BREAK", "ORDER"))


def bases() -> Iterator[tuple[list[int], list[int]]]:
    """Yield (code points, their canonical decomposition without non-spacing marks) if the two differ."""
    marks = points(CLASSES["NONSPACING"])
    yield marks, []
    dropped = set(marks)
    for found, whole in decomposed():
        yield found, [c for c in whole if c not in dropped]
    for number, (lead, vowel, tail) in enumerate(product(range(19), range(21), range(28))):  # Hangul: Unicode, 3.12
        yield [0xAC00 + number], [0x1100 + lead, 0x1161 + vowel, *([0x11A7 + tail] if tail else [])]
