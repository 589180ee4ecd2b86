"""Kernel that finds authors without a blank after the colon, after bracketed headers: `[2026/7/9 02:28:09] Bee:Hi`.

An export writes either `NAME: TEXT` or `NAME:TEXT`; `authors.py` decides by the more frequent form.

Slow reference for the tests: tests/twins/whatsapp_names.py
"""

from __future__ import annotations

from dataprep.unicode.kernel import kernel

from .fields import Bytes, Ints
from .scan import BODY, BRACKET, FORM, LINE_STOP, MAX_NAME, NAME_STOP, SAID

SPACED, CLOSE = 1, 2  # what follows the first colon: a blank or the end of the line; something else


@kernel
def close_names(data: Bytes, rows: Ints, wanted: Ints) -> None:
    """Write for each row of `scan` to wanted[row]: SPACED, CLOSE, or 0 if there is no header in brackets or no name.

    The first colon of the line ends the name. There is no name if a number precedes the colon (a time), or if two
    slashes follow it (a URL).
    """
    for row in range(len(rows)):
        wanted[row] = 0
        if not rows[row, FORM] & BRACKET:
            continue
        i = _first_colon(data, rows[row, BODY], rows[row, LINE_STOP])
        if i >= 0:
            after = data[i + 1]
            spaced = after in (10, 13, 32) or (after == 0xC2 and data[i + 2] == 0xA0)
            slashes = after == 47 and data[i + 2] == 47
            wanted[row] = SPACED if spaced else 0 if slashes else CLOSE


@kernel
def close(data: Bytes, rows: Ints) -> Ints:
    """Return rows of `scan` in which the first colon ends the name if the header is in brackets; see `close_names`."""
    found = rows.copy()
    wanted = rows[:, SAID].copy()
    close_names(data, rows, wanted)
    for row in range(len(rows)):
        if wanted[row] == CLOSE:
            i = _first_colon(data, rows[row, BODY], rows[row, LINE_STOP])
            found[row, NAME_STOP], found[row, SAID] = i, i + 1
    return found


@kernel
def _first_colon(data: Bytes, start: int, stop: int) -> int:
    """Return the position of the first colon of a line, -1 if there is none, or no name can precede it.

    A name has a letter, and none of the signs of code and markup, which lines of a log have.
    """
    letters = False
    for i in range(start, min(stop, start + MAX_NAME)):
        c = data[i]
        if c == 58:
            return i if letters else -1
        if c in (34, 60, 61, 62, 92, 123, 125):  # " < = > \ { }
            return -1
        letters = letters or c >= 0x80 or 65 <= c <= 90 or 97 <= c <= 122
    return -1
