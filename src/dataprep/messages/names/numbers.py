"""Find phone numbers and other personal data in texts whose names were found, so that neither search hides the other.

Known numbers are searched in whole texts, because a number may be broken over two lines. The search is the one that the
audit uses (`phones.py`). Patterns of personal data are tried on the raw line, in which an address may contain a name,
and on the line with its names blanked out, in which a number may follow a name directly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dataprep.pii import kernel as K
from dataprep.pii.kinds import KINDS
from dataprep.pii.lines import Line, lines
from dataprep.pii.rules import find
from dataprep.unicode.text import I64, U8

from .phones import Phones

ADDRESSES = ("email", "ip", "iban")  # may contain a name
BLANK = "\ue000"  # in place of each character of a name: neither a letter nor a digit nor white space
Span = tuple[int, int, int, int]  # text, first byte, end, index of the new word


def with_numbers(offsets: I64, data: U8, names: I64, phones: tuple[Phones, dict[str, int]], first_kind: int) -> I64:
    """Return the ranges to replace in texts, int64[n, 4]: those of names, known phone numbers, and personal data.

    A row is (text, first byte, end, index of the replacement).

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        names: int64[m, 4], rows of names, in order.
        phones: the known numbers, and the index of the replacement for each.
        first_kind: the index of the replacement for the first of KINDS, the kinds of personal data; -1: personal data
            is not searched. Overlapping ranges are joined, and the joined range gets the replacement of the longest
            range.
    """
    known, words = phones
    people = list(_people(offsets, data, known, words)) if words else []
    found: list[Span] = list(people)
    if first_kind >= 0:
        known_spans = np.array([span[:3] for span in people], np.int64).reshape(-1, 3)
        for line in lines(offsets, data, K.NUMBER | K.EMAIL | K.IP | K.IBAN):
            hidden = [*_inside(line, names), *_inside(line, known_spans)]
            for a, b, kind in _personal(line.text, hidden):
                found.append((line.row, *line.in_bytes(a, b), first_kind + KINDS.index(kind)))
    return united(names, found) if found else names


def _people(offsets: I64, data: U8, known: Phones, words: dict[str, int]) -> Iterator[Span]:
    """Yield the known numbers in texts."""
    for row in known.rows(offsets, data).tolist():
        start, stop = offsets[row : row + 2].tolist()
        text = Line(row, start, stop, data[start:stop].tobytes().decode(), K.NUMBER)
        yield from ((row, *text.in_bytes(a, b), words[number]) for a, b, number in known.find(text.text))


def _inside(line: Line, spans: I64) -> Iterator[tuple[int, int]]:
    """Yield the parts of spans (text, first byte, end) that are in a line, counted in its characters."""
    low = np.searchsorted(spans[:, 2], line.start, "right")
    high = np.searchsorted(spans[:, 1], line.stop)
    for start, end in spans[low:high, 1:3].tolist():
        yield line.in_characters(max(start, line.start), min(end, line.stop))


def _personal(text: str, hidden: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, kind) of the personal data in a line.

    - hidden: the names and known numbers in the line, as (start, end) in characters.
    """
    raw = find(text, ADDRESSES if hidden else KINDS)
    rest = find(_blanked(text, hidden), KINDS) if hidden else []
    yield from ((m.start, m.end, m.kind) for m in (*raw, *rest))


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    chars = list(text)
    for a, b in spans:
        chars[a:b] = BLANK * (b - a)
    return "".join(chars)


def united(names: I64, found: list[Span]) -> I64:
    """Return all spans in order, with overlapping spans united."""
    spans: list[list[int]] = []
    for row, start, end, word in sorted([*map(tuple, names.tolist()), *found], key=lambda s: (s[1], -s[2])):
        if spans and start < spans[-1][2]:
            last = spans[-1]
            if end - start > last[4]:
                last[3:] = [word, end - start]
            last[2] = max(last[2], end)
        else:
            spans.append([row, start, end, word, end - start])
    return np.array([span[:4] for span in spans], np.int64)
