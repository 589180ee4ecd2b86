"""Twin of the words, normal forms and shingles of `unicode/hashes.py`."""

from __future__ import annotations

import re

from twins.unicode import WORD, lower


def words(text: str) -> list[str]:
    """The words of a text."""
    return re.findall(f"{WORD}+", lower(text))


def normal(text: str, form: str) -> str:
    """A text's normal form."""
    if form == "words":
        return " ".join(words(text))
    return " ".join((lower(text) if form == "lower" else text).split())


def shingle_set(text: str, unit: str, n: int) -> set[tuple[str, ...]]:
    """The runs of n words, or n characters; one shorter run if there are fewer."""
    items = words(text) if unit == "word" else list(normal(text, "lower"))
    return {tuple(items[i : i + n]) for i in range(max(1, len(items) - n + 1))} if items else set()
