"""Tables of one Unicode version: character classes, lower case, and the base letters of accented letters.

They are read from `tables.txt`, which scripts/make_unicode.py writes.
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


VERSION, CLASSES = _sections()
LOWER, BASES = CLASSES.pop("LOWER"), CLASSES.pop("BASES")


def bases() -> Iterator[tuple[list[int], list[int]]]:
    """Yield (code points, their canonical decomposition without non-spacing marks), if the two differ."""
    for token in BASES.split():
        base, _, spans = token.partition("=")
        points: list[int] = []
        for span in spans.split(","):
            first, _, last = span.partition("-")
            points += range(int(first, 16), int(last or first, 16) + 1)
        yield points, [int(b, 16) for b in base.split("+") if b]
    for number, (lead, vowel, tail) in enumerate(product(range(19), range(21), range(28))):  # Hangul: Unicode, 3.12
        yield [0xAC00 + number], [0x1100 + lead, 0x1161 + vowel, *([0x11A7 + tail] if tail else [])]
