"""Twin of `Exact` (`dedup/exact.py`, `dedup/spans`)."""

from __future__ import annotations

import re

from twins.text import normal
from twins.units import lines, sentences, unit_form


def same_texts(texts: list[str], order: list[int], form: str | None) -> dict[int, int]:
    """Who goes: {document: the first in keep order whose text is the same}; a text that empties is as it is."""
    first, gone = {}, {}
    for d in order:
        same = texts[d] if form is None else normal(texts[d], form) or (texts[d],) * bool(texts[d])
        if first.setdefault(same, d) != d:
            gone[d] = first[same]
    return gone


def unit_places(text: str, unit: str) -> list[tuple[int, int]]:
    """Where the units of a text lie, in characters."""
    places, at = [], 0
    for piece in sentences(text) if unit == "span3" else lines(text):
        at = text.index(piece, at) if unit == "span3" else at
        places.append((at, at + len(piece)))
        at += len(piece) + (unit != "span3")
    if unit != "span3":
        return places
    return [(a, b) for (a, _), (_, b) in zip(places, places[2:], strict=False)]


def repeats(texts: list[str], unit: str, form: str | None) -> list[list[tuple]]:
    """The units of each text that occurred before: (start, end, text and start of the first), in characters."""
    first, found = {}, []
    for d, text in enumerate(texts):
        found.append([])
        for a, b in unit_places(text, unit):
            pieces = sentences(text[a:b]) if unit == "span3" else [text[a:b]]
            same = tuple(unit_form(piece, form) for piece in pieces)
            if "".join(same).strip() and first.setdefault(same, (d, a)) != (d, a):
                found[d].append((a, b, *first[same]))
    return found


def without(text: str, cuts: list[tuple[int, int]]) -> str:
    """The text without some ranges: those with only white space between them go as one, and the gap closes up."""
    runs = []
    for a, b in cuts:
        if runs and not text[runs[-1][1] : a].strip():
            runs[-1][1] = max(runs[-1][1], b)
        else:
            runs.append([a, b])
    for a, b in reversed(runs):
        left, right = text[:a].rstrip(), text[b:].lstrip()
        inner = text[len(left) : len(text) - len(right)].split(text[a:b].strip())
        before, behind = inner[0], inner[-1]
        rest = behind[behind.rfind("\n") + 1 :] if "\n" in behind else ""
        blanks = re.match(r"[^\r\n]*", before)[0] if "\n" in before else ""
        if not left:
            gap = rest if right else ""
        elif not right or behind.count("\n") >= before.count("\n"):
            gap = blanks + behind
        else:
            gap = before[: before.rfind("\n") + 1] + rest if "\n" in behind else before
        text = left + gap + right
    return text
