"""Twin of `SuffixIndex` (`search`)."""

from __future__ import annotations


def occurrences(texts: list[str], query: str) -> list[tuple[int, int]]:
    """(document, byte) of every occurrence, also of those that overlap."""
    found = []
    for d, text in enumerate(texts):
        at = text.find(query)
        while at >= 0:
            found.append((d, len(text[:at].encode())))
            at = text.find(query, at + 1)
    return found


def longest_shared(text: str, texts: list[str]) -> str:
    """The piece of whole characters with the most bytes that stands in one of `texts`; the first of these."""
    pieces = (text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1))
    return max((p for p in pieces if any(p in t for t in texts)), key=lambda p: len(p.encode()), default="")
