"""Find phone numbers: groups of digits with separators between the groups; a number is always matched whole.

A match begins and ends with a whole group of digits, so that no digits of the number remain in the text. Two adjacent
numbers are both found. The text before and after the digits shows whether they are part of something else, such as a
date. The decisions based on digits and separators are compiled (`candidates.py`); labels, dates and books are searched
for only next to the remaining candidates.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np

from dataprep.unicode.text import I64, U32, classes

from . import bare
from . import candidates as C
from .context import OTHERS, is_amount, is_counted, is_drawn, topic
from .digit_groups import groups_of
from .glued import attached, parted, wide_gaps, with_extension
from .labels import is_joined, is_labelled, is_phone_label, label_ends
from .others import dates_and_books
from .signs import plain

_INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_INSIDE = r"[0-9\-. /()+]"  # of the text in which all scripts' digits and signs are those of ASCII
_HIDDEN = re.compile(rf"[{_INVISIBLE}](?<={_INSIDE}[{_INVISIBLE}])[{_INVISIBLE}]*(?={_INSIDE})")


_DIGITS = "0123456789"
_DRAW = 14  # characters of five pairs of digits
_LEADS = ("+", "@", "=", "/", "B", "b")  # before an international number, also in a link


def phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each phone number in a line of text, as offsets in characters."""
    text = plain(text)
    words = [at + n for n, at in enumerate(attached(text))]
    for at in words:
        text = f"{text[:at]} {text[at:]}"
    for start, end in _visible(text):
        yield start - bisect_left(words, start), end - bisect_left(words, end)


def _visible(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each phone number in a line in which blanks separate words from numbers."""
    hidden = [] if text.isascii() else [m.span() for m in _HIDDEN.finditer(text)]
    hidden = sorted([*hidden, *wide_gaps(text)])
    if not hidden:
        yield from _with_extensions(text)
        return
    skipped = [0, *itertools.accumulate(b - a for a, b in hidden)]
    cut = [a - n for (a, _), n in zip(hidden, skipped, strict=False)]
    kept = [b for _, b in hidden]
    shown = "".join(text[a:b] for a, b in zip([0, *kept], [*(a for a, _ in hidden), len(text)], strict=True))
    for start, end in _with_extensions(shown):
        yield start + skipped[bisect_right(cut, start)], end + skipped[bisect_right(cut, end - 1)]


def _with_extensions(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each phone number with its extension, in a line without invisible characters."""
    for start, end in _phones(parted(text)):
        yield start, with_extension(text, end)


def _phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each phone number in a line with Western digits only."""
    if len(text) < C.FEWEST:
        return
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    end, called = -1, False  # of the last phone: its end, and whether a label called it a phone
    for start, stop, label, begins, other, may in C.scan(points, classes(), label_ends()).tolist():
        if called:
            called = C.is_list(points, end, start) or is_joined(text, end, start)
        called = called or bool(label and is_phone_label(text, start))
        found: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        if called or begins:
            others = dates_and_books(text, start, stop) if other else []
            groups = groups_of(points, start, stop)
            found = list(_of_run(text, points, groups, 0 if called else -1, end, others))
        rest = not found or found[0][0] > start or found[-1][1] < stop
        if rest and (may or (0 <= end < start <= end + C.LABEL_GAP and _may_be_bare(points, start, stop))):
            found = bare.joined(text, start, stop, found, end)
        for first, last in found:
            if not is_counted(text, first, last):
                yield first, last
                end = last


def _may_be_bare(points: U32, start: int, stop: int) -> bool:
    return bool(C.may_be_bare(points, groups_of(points, start, stop)))


def _of_run(
    text: str, points: U32, groups: I64, called: int, end: int, others: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each phone number in a run of groups of digits.

    - groups: the start and end offsets of each group.
    - called: the group that a label identifies as a phone number; -1 if there is none.
    - end: the offset at which the last phone number before the run ends.
    - others: the dates and ISBNs in the run.
    """
    at = 0
    while True:
        some = C.resolve(points, classes(), groups, at, called, end).tolist()
        for start, last, first, after, of, row in some:
            labelled = is_labelled(text, start) or (row < start and is_labelled(text, row))
            if labelled or (of < 0 and text[start - 1 : start] != "+" and _is_other(text, start, last)):
                at, called = after, of
                break
            if _is_inside(others, start):
                at, called = first + 1, of
                break
            yield _first(text, start, last), last
            end, at, called = last, after, after if called >= 0 else -1
        else:
            if len(some) < C.AHEAD:
                return


def _is_other(text: str, start: int, end: int) -> bool:
    """Return whether an unlabelled number is ten digits in order or a code, or is a count without 0 or +."""
    letters = text[start - 3 : start]
    if letters[-1:].isupper() and letters.isalpha() and letters.isupper():  # GHN03236464726
        return True
    if text[start] == "0":
        return text[start:end] == _DIGITS or (end - start == _DRAW and is_drawn(text, start, end))
    if text[start - 1 : start] in _LEADS:
        return False
    return is_amount(text, end) or topic(text, start, end, bare.NEAREST) == OTHERS


def _is_inside(others: list[tuple[int, int]], start: int) -> bool:
    """Return whether one of several spans, in order, begins at or before `start` and ends after it."""
    before = bisect_right(others, start, key=lambda span: span[0]) - 1
    return before >= 0 and start < others[before][1]


def _first(text: str, start: int, end: int) -> int:
    """Return the offset of a phone number's first character, given its first digit: its + or bracket, if any."""
    start -= text[start - 1 : start] == "+"
    opened = text[start - 1 : start] == "(" and text.count(")", start, end) > text.count("(", start, end)
    return start - opened
