"""Twin of the normal forms of `unicode/hashes.py` and of `unicode/shingles.py`."""

from __future__ import annotations

import re

from twins.canonical import canonical
from twins.unicode import lower, pattern, points
from twins.words import HIDDEN, words

KEPT = f"[_{pattern('ALPHA', 'NUMERIC', 'MARK')}]+"


def normal(text: str, form: str) -> str:
    """A text's normal form."""
    if form == "words":
        shown = "".join(c for c in lower(text) if c not in HIDDEN and c not in points("FORMAT"))
        return " ".join(re.findall(KEPT, shown))
    return " ".join((lower(text) if form == "lower" else text).split())


def shingle_set(text: str, unit: str, n: int, split: str = "unicode") -> set[tuple[str, ...]]:
    """The runs of n words, or n characters; one shorter run if there are fewer."""
    text = text if unit == "word" and split == "regex" else canonical(text)
    items = words(text, split) if unit == "word" else list(normal(text, "lower"))
    return {tuple(items[i : i + n]) for i in range(max(1, len(items) - n + 1))} if items else set()
