"""Twin of the lower case of `unicode` that keeps the number of characters."""

from __future__ import annotations

from twins.unicode import lower


def fold_chars(text: str) -> str:
    """Lower case, one character for one."""
    return "".join("σ" if c == "ς" else "i" if c == "\u0130" else c for c in map(_lower_one, text))


def _lower_one(c: str) -> str:
    return lower(c) if len(lower(c)) == 1 else "i"
