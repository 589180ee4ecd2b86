"""Phone numbers in a list below a label: lines that consist of a list mark, a number and at most a short name.

The label applies to each line up to the first that is not such an item. One blank line may precede an item.

Slow reference for the tests: tests/twins/broken.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from dataprep.unicode.text import I64, U8

from .broken import REACH, is_below_label
from .context import speaks_of_other
from .kernel import NUMBER
from .labels import is_labelled
from .numbers import phones

_MARK = r"[ \t]*(?:(?:[-*+\u2022\u2023\u25e6\u25aa\u25cf\u00b7\u2013\u2014>]|[0-9]{1,2}[.)]|\(?[^\W\d_][.)])[ \t]+)?"
_NAME = r"[^\W\d_][^\d\n:=<>@/()\[\]]{0,23}"
_BETWEEN = r"[^\w\n|;,<>=@]*"
_ITEM = re.compile(
    rf"{_MARK}(?P<before>{_NAME}?[ \t]*[:\uff1a=\u2013\u2014-]?[ \t]*)??"
    rf"(?P<number>[(+]*(?:\d{_BETWEEN})+)(?P<after>(?:[(\[]?{_NAME}[)\]]?)?[ \t\r]*)"
)
_CELL = re.compile(r"[^|;,]*\d[^|;,]*")


def listed(lines: I64, offsets: I64, data: U8) -> list[tuple[int, int]]:
    """Return (start, end) in bytes of `data` of each phone number in the lists below phone labels, in order.

    - lines: the lines that `kernel.suspects` found.
    - offsets: int64[n + 1], the offsets of n texts in `data`, UTF-8 bytes.
    """
    rows = lines[(lines[:, 3] & NUMBER != 0) & (lines[:, 2] - lines[:, 1] <= REACH)]
    heads = np.flatnonzero(np.append(True, rows[1:, 1] - rows[:-1, 2] != 1)) if len(rows) else rows[:, 0]
    found, label, text, end = list[tuple[int, int]](), "", -1, 0
    for first, stop in pairwise([*heads.tolist(), len(rows)]):
        row, start = rows[first, :2].tolist()
        if not (label and row == text and _is_blank(data[end:start].tobytes())):
            text, label = row, _label(data[max(int(offsets[row]), start - 2 * REACH) : start].tobytes())
        if not label:
            continue
        for start, end in rows[first:stop, 1:3].tolist():
            line = data[start:end].tobytes().decode()
            spans = list(items(label, line))
            found += [(start + len(line[:a].encode()), start + len(line[:b].encode())) for a, b in spans]
            if not spans:
                label = ""
                break
    return found


def items(label: str, line: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the phone numbers in a line below the phone label `label`, divided by | ; or , if several.

    Nothing is yielded if the line has a number that is not a phone number, or other words than a short name.
    """
    found = []
    for cell in _CELL.finditer(line):
        item = _ITEM.fullmatch(cell[0])
        if item is None:
            return
        at, before = item.start("number"), item["before"] or ""
        if before and (is_labelled(cell[0], at) or speaks_of_other(before, item["after"])):
            return
        size = len(label) + 1
        span = next(((a, b) for a, b in phones(f"{label} {cell[0][at:]}") if a in (size, size + 1)), None)
        if span is None:
            return
        found.append((cell.start() + at + span[0] - size, cell.start() + at + span[1] - size))
    yield from found


def _label(above: bytes) -> str:
    """Return the line that ends a text, or the one before a blank line, if it ends in a phone label; else ""."""
    rest = above.decode("utf-8", "ignore")[:-1]
    before, _, line = rest.rpartition("\n")
    line = (line if line.strip() else before.rpartition("\n")[2]).rstrip()
    return line if line and is_below_label(line, "") else ""


def _is_blank(between: bytes) -> bool:
    """Return whether there is at most one blank line between two lines."""
    return not between.strip() and between.count(b"\n") <= 2
