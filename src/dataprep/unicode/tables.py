"""Tables of one Unicode version: character classes, lower case, and the base letters of accented letters.

They are read from `tables.txt`, which scripts/make_unicode.py writes.
"""

from __future__ import annotations

from importlib import resources


def _sections() -> tuple[str, dict[str, str]]:
    """Return the Unicode version, and the text of each section of the file by name."""
    head, *sections = resources.files(__package__).joinpath("tables.txt").read_text(encoding="utf-8").split("\n[")
    parts = (section.partition("]") for section in sections)
    return head.split()[2].rstrip("."), {name: text.partition("\n")[2] for name, _, text in parts}


VERSION, CLASSES = _sections()
LOWER, BASES = CLASSES.pop("LOWER"), CLASSES.pop("BASES")
