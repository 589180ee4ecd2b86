"""Find phone numbers and other personal data in texts in which names were found, so that neither hides the other.

Patterns are tried on the raw line, in which an address may contain a name, and on the line with its names blanked out,
in which a number may follow a name directly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dataprep.pii import kernel as K
from dataprep.pii.lines import lines
from dataprep.pii.rules import KINDS, find
from dataprep.unicode.text import I64, U8

from .phones import Phones

ADDRESSES = ("email", "ip", "iban")  # may contain a name
BLANK = "\ue000"  # in place of each character of a name: neither a letter nor a digit nor white space
Span = tuple[int, int, int, int]  # text, first byte, end, index of the new word


def with_numbers(offsets: I64, data: U8, names: I64, phones: tuple[Phones, dict[str, int]], first_kind: int) -> I64:
    """Return the ranges to replace in texts, int64[n, 4]: those of names, known phone numbers, and personal data.

    A row is (text, first byte, end, index of the replacement). offsets, data: the texts in UTF-8. names: int64[m, 4],
    rows of names, in order. phones: the known numbers, and the index of the replacement for each. first_kind: index of
    the replacement for the first of KINDS, the kinds of personal data; -1: personal data is not searched. Overlapping
    ranges are joined, and the joined range gets the replacement of the longest of them.
    """
    wanted = K.NUMBER if first_kind < 0 else K.NUMBER | K.EMAIL | K.IP | K.IBAN
    found: list[Span] = []
    for line in lines(offsets, data, wanted):
        low, high = np.searchsorted(names[:, 1], [line.start, line.stop])
        inside = [line.in_characters(a, b) for a, b in names[low:high, 1:3].tolist()]
        for a, b, word in _found(line.text, inside, phones, first_kind):
            found.append((line.row, *line.in_bytes(a, b), word))
    return _united(names, found) if found else names


def _found(
    text: str, names: list[tuple[int, int]], phones: tuple[Phones, dict[str, int]], first_kind: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, word) of what is found in a line; names: the spans of its names. All count characters."""
    known, words = phones
    people = list(known.find(text))
    yield from ((a, b, words[number]) for a, b, number in people)
    if first_kind >= 0:
        hidden = [*names, *((a, b) for a, b, _ in people)]
        raw = find(text, ADDRESSES if hidden else KINDS)
        rest = find(_blanked(text, hidden), KINDS) if hidden else []
        yield from ((m.start, m.end, first_kind + KINDS.index(m.kind)) for m in (*raw, *rest))


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    chars = list(text)
    for a, b in spans:
        chars[a:b] = BLANK * (b - a)
    return "".join(chars)


def _united(names: I64, found: list[Span]) -> I64:
    """Return all spans in order, those that overlap as one."""
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
