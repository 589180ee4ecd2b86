"""Card and account numbers that a line break divides.

Both have check digits, and their groups show where they begin and end. A card number must have letters before it or
after it, or be the whole text, because the rows of a table may end and begin with groups of digits.

Slow reference for the tests: tests/twins/broken.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from dataprep.unicode.text import I64, U8

from .broken import DIVIDED, Pair
from .kernel import BREAK, IBAN, NUMBER
from .signs import plain

_CARD_ABOVE, _CARD_BELOW = re.compile(r"[0-9](?:[ -]?[0-9])*-?\Z"), re.compile(r"-?[0-9](?:[ -]?[0-9])*")
_IBAN_ABOVE = re.compile(r"(?:[A-Z]{2}|[a-z]{2})[0-9]{2}[0-9A-Za-z -]{0,36}\Z")
FEWEST, MOST = 12, 19  # digits of a card number
_BLANKS = (9, 13, 32)


def accounts_across(
    lines: I64, offsets: I64, data: U8, kind: str, find: Callable[[str], Iterable[tuple[int, int]]]
) -> list[tuple[int, int]]:
    """Return (start, end) in bytes of `data` of each card number or IBAN that a line break divides.

    Args:
        lines: the lines that `kernel.suspects` found: index of the text, start, end, and kinds of data.
        offsets: int64[n + 1], the offsets of n texts in `data`, UTF-8 bytes.
        data: the texts.
        kind: "card" or "iban".
        find: the function that yields (start, end) of such numbers in one line, in characters.
    """
    found = list[tuple[int, int]]()
    can = IBAN if kind == "iban" else NUMBER | BREAK
    for row, start, at, _ in _ended(lines[lines[:, 3] & can != 0], offsets, data).tolist():
        stop = int(offsets[row + 1])
        pair = Pair.read(start, at, stop, DIVIDED, data)
        if b"\n" in data[at + 1 : pair.second].tobytes():
            continue  # a blank line
        above, below = plain(pair.above), plain(pair.below)
        if kind == "iban":
            between = " " if _IBAN_ABOVE.search(above) else None
        else:
            is_whole = start == offsets[row] and stop == pair.second + len(pair.below.encode())
            between = _between(above, below, is_whole=is_whole)
        if between is None:
            continue
        size = len(pair.above) + len(between)
        for a, b in find(f"{pair.above}{between}{pair.below}"):
            if a < len(pair.above) and b > size:
                span = pair.first + len(pair.above[:a].encode()), pair.second + len(pair.below[: b - size].encode())
                found += [span] if not found or found[-1][1] <= span[0] else []
    return found


def _ended(lines: I64, offsets: I64, data: U8) -> I64:
    """Return the lines of which the last character is a letter or digit, or not ASCII, and which are not the last."""
    lines = lines[lines[:, 2] < offsets[lines[:, 0] + 1]]
    last = lines[:, 2] - 1
    for _ in range(2):
        last = last - np.isin(data[last], _BLANKS)
    c = data[np.maximum(last, 0)]
    ends = (c >= 0x80) | ((c >= 48) & (c <= 57)) | ((c >= 65) & (c <= 90)) | ((c >= 97) & (c <= 122)) | (c == 45)
    kept: I64 = lines[ends & (last >= lines[:, 1])]
    return kept


def _between(above: str, below: str, *, is_whole: bool) -> str | None:
    """Return the sign that joins two lines if the digits on both sides of the line break may be one card number.

    - is_whole: whether the text consists of these two lines.
    """
    one, two = _CARD_ABOVE.search(above), _CARD_BELOW.match(below)
    if one is None or two is None or not FEWEST <= sum(map(str.isdigit, one[0] + two[0])) <= MOST:
        return None
    rest = above[: one.start()] + below[two.end() :]
    if not any(map(str.isalpha, rest)) and not (is_whole and not rest.strip()):
        return None
    sign = re.search("[ -]", one[0] + two[0])
    return sign[0] if sign and not (one[0].endswith("-") or two[0].startswith("-")) else ""
