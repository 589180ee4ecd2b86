"""Twin of `Bloom` (`dedup/membership`): a set instead of the filter."""

from __future__ import annotations

import itertools

from twins.units import lines, unit_form
from twins.words import words


def seen_documents(texts: list[str], form: str | None) -> list[int]:
    """The documents whose text was seen before."""
    seen, gone = set(), []
    for d, text in enumerate(texts):
        key = unit_form(text, form)
        key = key if key.strip() else text
        gone += [d] if key in seen else []
        seen.add(key)
    return gone


def seen_paragraphs(texts: list[str], form: str | None) -> list[tuple[int, int, int]]:
    """(document, start, end) in bytes of what goes with the lines that were seen before."""
    seen, gone = set(), []
    for d, text in enumerate(texts):
        found, again = _lines_with_text(text), []
        for line, _, _ in found:
            key = unit_form(line, form)
            again.append(key in seen)
            seen |= {key} if key.strip() else set()
        gone += [(d, *span) for span in _runs_that_go(text, found, again)]
    return gone


def seen_ngrams(texts: list[str], n: int, threshold: float) -> list[tuple[int, int, int]]:
    """(document, start, end) of what goes with the lines, or documents, whose runs of n words earlier documents had."""
    seen, gone = set(), []
    for d, text in enumerate(texts):
        found = _lines_with_text(text)
        runs = [runs_of(line, n) for line, _, _ in found]
        again = [bool(of) and sum(r in seen for r in of) >= threshold * len(of) for of in runs]
        of_all = [r in seen for of in runs for r in of]
        if of_all and sum(of_all) >= threshold * len(of_all):
            again = [True] * len(found)
        seen |= {r for of, goes in zip(runs, again, strict=True) if not goes for r in of}
        gone += [(d, *span) for span in _runs_that_go(text, found, again)]
    return gone


def runs_of(line: str, n: int) -> list[tuple[str, ...]]:
    """The runs of n words."""
    items = words(line)
    return [tuple(items[i : i + n]) for i in range(len(items) - n + 1)]


def _lines_with_text(text: str) -> list[tuple[str, int, int]]:
    """The lines that are not blank, with their start and end in bytes."""
    found, at = [], 0
    for line in lines(text):
        found.append((line, at, at + len(line.encode())))
        at = found[-1][2] + 1
    return [(line, a, b) for line, a, b in found if line.strip()]


def _runs_that_go(text: str, found: list, goes: list[bool]) -> list[tuple[int, int]]:
    """Lines in a row that go are one span, with the shorter gap beside them, or all there is to a text's end."""
    spans = []
    for is_gone, run in itertools.groupby(range(len(found)), goes.__getitem__):
        first, *_, last = [*run] * 2
        if is_gone:
            before = found[first - 1][2] if first > 0 else None
            behind = found[last + 1][1] if last + 1 < len(found) else None
            start, end = found[first][1], found[last][2]
            if before is None or behind is None:
                spans.append((before or 0, len(text.encode()) if behind is None else behind))
            else:
                spans.append((before, end) if behind - end >= start - before else (start, behind))
    return spans
