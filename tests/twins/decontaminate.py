"""Twin of `filters/decontaminate`."""

from __future__ import annotations

from twins.canonical import canonical
from twins.words import words


def contamination(text: str, questions: list[str], ngram: int, min_words: int) -> tuple[int, list[int]]:
    """At how many places a run of the questions stands, and which questions they are of (the first that has it)."""
    owner: dict[tuple[str, ...], int] = {}
    for number, question in enumerate(questions, 1):
        said = said_in(question)
        if len(said) >= min(ngram, min_words):
            for j in range(max(1, len(said) - ngram + 1)):
                owner.setdefault(tuple(said[j : j + ngram]), number)
    said = said_in(text)
    spans = (tuple(said[j : j + n]) for j in range(len(said)) for n in range(1, min(ngram, len(said) - j) + 1))
    found = [owner[s] for s in spans if s in owner]
    return len(found), sorted(set(found))


def said_in(text: str) -> list[str]:
    """The words of a text as they are compared: with plain letters, and no dotless i."""
    return [word.replace("ı", "i") for word in words(canonical(text, "forms"))]
