"""Twin of `MinHash`: every pair compared (`dedup/near`)."""

from __future__ import annotations

from twins.text import shingle_set


def jaccard(a: set, b: set) -> float:
    """The Jaccard similarity of two sets, not both empty."""
    both = len(a & b)
    return both / (len(a) + len(b) - both)


def contained(a: set, b: set) -> float:
    """The share of the first set that the second has; the first is not empty."""
    return len(a & b) / len(a)


def near_duplicates(
    texts: list[str], order: list[int], threshold: float, unit: str, n: int, measure=jaccard
) -> dict[int, tuple]:
    """Who goes: {document: (first kept document, in keep order, that is similar enough, how similar)}."""
    sets = [shingle_set(t, unit, n) for t in texts]
    kept, gone = [], {}
    for d in order:
        measured = ((k, measure(sets[d], sets[k])) for k in kept if sets[d] and sets[k])
        hit = next(((k, j) for k, j in measured if j >= threshold), None)
        if hit is None:
            kept.append(d)
        else:
            gone[d] = hit
    return gone


def by_top_byte(keys: list[list[int]], has: list[int], first: int) -> list[list[list[tuple[int, int]]]]:
    """The keys of each band, with the rows of their documents, by the top byte of the key."""
    return [[[(band[j], first + j) for j in has if band[j] >> 56 == top] for top in range(256)] for band in keys]


def payloads(own: list[int], contents: list[list[int]], keys: list[list[int]]) -> list[list[int]]:
    """The keys of some documents, one per band, each followed by the document's contents."""
    return [[*(band[d] for band in keys), *contents[d]] for d in own]
