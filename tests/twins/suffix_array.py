"""Twin of `SuffixArray` (`dedup/substrings`)."""

from __future__ import annotations

import itertools
import re

from twins.words import spans


def windows_of(text: str, width: int, by_word: bool, split: str = "unicode") -> list[tuple[int, int]]:
    """Where windows start and end, in bytes."""
    if not by_word:
        return [(i, i + width) for i in range(len(text.encode()) - width + 1)]
    at = places(text)
    starts = [at[a] for a, _ in spans(text, split)]
    ends = [at[b] for _, b in spans(text, split)]
    return list(zip(starts, ends[width - 1 :], strict=False))


def repeated_spans(
    texts: list[str], width: int, by_word: bool, cut: str, split: str = "unicode"
) -> list[tuple[int, ...]]:
    """What is cut: (document, start, end, document and bytes of the first occurrence), in UTF-8 bytes.

    Neighbouring windows of one displacement are a run; as few runs as cover what is cut are named, those that reach
    furthest.
    """
    first, rows = {}, []
    for d, text in enumerate(texts):
        data, gone, runs = text.encode(), bytearray(len(text.encode())), []
        for start, end in windows_of(text, width, by_word, split):
            place = first.setdefault(data[start:end], (d, start))
            if place != (d, start):
                gone[start:end] = b"x" * (end - start)
                if runs and start <= runs[-1][1] and runs[-1][2:] == (place[0], start - place[1]):
                    runs[-1] = (runs[-1][0], end, *runs[-1][2:])
                else:
                    runs.append((start, end, place[0], start - place[1]))
        points = set(allowed_cuts(text, "char"))
        for piece in re.finditer(rb"x+", bytes(gone)):
            inside = [i for i in allowed_cuts(text, cut, split) if piece.start() <= i <= piece.end()]
            if inside and inside[0] < inside[-1]:
                rows += [(d, *row) for row in covering(runs, inside[0], inside[-1], points)]
    return rows


def covering(runs: list[tuple], low: int, high: int, points: set[int]) -> list[tuple[int, ...]]:
    """As few runs as cover low..high, each clipped to it, and inside it to code points where none is left out."""
    chosen, reach = [], low
    while reach < high:
        chosen.append(max((run for run in runs if run[0] <= reach < run[1]), key=lambda run: run[0]))
        reach = chosen[-1][1]
    starts, ends = [low], []
    for one, two in itertools.pairwise(chosen):
        point = min(i for i in (*points, two[1]) if i >= two[0])
        starts.append(point if point <= one[1] else two[0])
        back = max(i for i in points if i <= one[1])
        ends.append(back if starts[-1] <= back else one[1])
    rows = zip(starts, [*ends, high], chosen, strict=True)
    return [(a, b, kept, a - shift, b - shift) for a, b, (_, _, kept, shift) in rows if a < b]


def allowed_cuts(text: str, cut: str, split: str = "unicode") -> list[int]:
    """The places in bytes where a text may be cut: between code points; not inside words; where lines begin."""
    inside = {"char": "(?!)", "word": "(?!)", "line": r"(?<=[^\n])(?!\Z)"}[cut]
    bad = {m.start() for m in re.finditer(inside, text)}
    bad |= {i for a, b in (spans(text, split) if cut == "word" else ()) for i in range(a + 1, b)}
    return [place for i, place in enumerate(places(text)) if i not in bad]


def places(text: str) -> list[int]:
    """Where each character begins, and the text ends, in bytes."""
    return list(itertools.accumulate((len(c.encode()) for c in text), initial=0))
