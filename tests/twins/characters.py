"""Twin of character vocabularies (`tokens/vocabulary/characters.py`)."""

from __future__ import annotations


def character_ids(text: str, vocab: dict[bytes, int], unknown: int) -> list[int]:
    """Return the id of each character."""
    return [vocab.get(c.encode(), unknown) for c in text]
