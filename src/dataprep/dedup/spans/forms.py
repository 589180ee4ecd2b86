"""Normal forms of text as tables: the replacement of each code point before units of text are compared.

    None      the bytes as they are
    "space"   runs of white space are one space, none at the ends
    "lower"   "space", and lower case
    "words"   the letters, digits, underscores and combining marks of the lower-cased text, one space in place of
              anything else between them; format characters are removed
    "c4"      stripped and lower-cased, white space inside unchanged, as in C4's published code for lines
    "ccnet"   lower case, every digit a 0, punctuation (category P), accents (non-spacing marks of the canonical
              decomposition) and control characters removed (Wenzek et al. 2020, 3.1); and "space", which the paper
              does not mention
    "ccnet_digits"  as "ccnet", but digits are unchanged, so "39 cts" and "50 cts" differ

Each form gives the same result as Python's `str.lower`, `str.split`, `re` and `unicodedata` in the pinned Unicode
version.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from dataprep.unicode import tables
from dataprep.unicode.text import (
    DECIMAL,
    DOTTED,
    FORMAT,
    MARK,
    POINT,
    PUNCT,
    SIGMA,
    SPACE,
    U16,
    U32,
    WORD,
    classes,
    lowered,
)

FORMS = ("space", "lower", "words", "c4", "ccnet", "ccnet_digits")
CASED_FORMS = ("lower", "words", "c4", "ccnet", "ccnet_digits")  # those that lower-case

# Read by kernels (hashes.py). An entry is the new code point with KEPT, or GAP, or 0 if the code point is removed.
KEPT = 1 << 21
GAP = 1 << 31
FINAL = 1 << 30  # U+03A3: the final sigma at the end of a word, which its neighbours decide
SEVERAL = 1 << 29  # the low bits are a row of `several`: the two or three entries of one code point
BEYOND = 1 << 10  # in `bytes`: a byte of a character beyond ASCII
VALUE = (1 << 22) - 1  # the code point and KEPT: 0 if it is not compared


class Form(NamedTuple):
    """The tables and flags of a normal form of text, for kernels.

    Attributes:
        entries: uint32, the replacement of each code point.
        bytes: uint16, the replacement of each byte: the new one; bit 8: it is kept, or a gap; bit 9: it is a gap;
            BEYOND.
        several: the replacements that consist of more than one code point.
        classes: class bits of each code point.
        strips: whether white space at the ends is removed.
        lowers: whether the text is lower-cased.
        gaps: whether runs of white space are one blank.
        changes: whether characters other than white space change in more than their case.
    """

    entries: U32  # [0x110000]
    bytes: U16  # [256]
    several: U32  # [rows, 3]
    classes: U16
    strips: bool
    lowers: bool
    gaps: bool
    changes: bool


@cache
def form(name: str | None) -> Form:
    """Return the tables of the normal form named `name`, such as "lower"; for None, tables that change nothing."""
    entries, several = _ccnet(zeros=name == "ccnet") if name in ("ccnet", "ccnet_digits") else _plain(name)
    for table in (entries, several):
        table.flags.writeable = False
    own, of_bytes = entries[:128], np.full(256, BEYOND, np.uint16)
    of_bytes[:128] = np.where(own & KEPT, 1 << 8 | own & 0x7F, np.where(own & GAP, 3 << 8 | 0x20, 0))
    of_bytes.flags.writeable = False
    strips, lowers, changes = name is not None, name in CASED_FORMS, name in ("words", "ccnet", "ccnet_digits")
    return Form(entries, of_bytes, several, classes(), strips, lowers, name not in (None, "c4"), changes)


def _plain(name: str | None) -> tuple[U32, U32]:
    entries = np.arange(0x110000, dtype=np.uint32)
    if name in CASED_FORMS:
        entries = lowered() & np.uint32(POINT)
    entries |= np.uint32(KEPT)
    if name in ("space", "lower"):
        entries[classes() & SPACE != 0] = GAP
    if name == "words":
        entries[classes()[entries & np.uint32(POINT)] & (WORD | MARK) == 0] = GAP
        entries[classes() & FORMAT != 0] = 0
    rows = np.array([[KEPT | 0x69, KEPT | 0x307, 0]], np.uint32)  # U+0130 becomes i and a combining mark
    if name in CASED_FORMS:
        entries[lowered() & np.uint32(DOTTED) != 0] = SEVERAL
        entries[lowered() & np.uint32(SIGMA) != 0] |= np.uint32(FINAL)
    return entries, rows


def _ccnet(*, zeros: bool) -> tuple[U32, U32]:
    """Return the tables of "ccnet": lower case, base letters of accented letters, digits, punctuation and controls."""
    entries, rows = _compared(zeros=zeros), list[list[int]]()
    one = entries.copy()
    for points, base in tables.bases():
        if len(base) == 1:
            entries[points] = one[base[0]]
        elif base:
            entries[points] = SEVERAL | len(rows)
            rows.append([*(int(one[b]) for b in base), 0][:3])
        else:
            entries[points] = 0
    entries = entries[lowered() & np.uint32(POINT)]
    entries[lowered() & np.uint32(SIGMA) != 0] |= np.uint32(FINAL)
    return entries, np.array(rows, np.uint32)


def _compared(*, zeros: bool) -> U32:
    """Return the entries of "ccnet" for code points in lower case without accents.

    Args:
        zeros: whether each digit becomes 0.
    """
    kinds = classes()
    points = np.arange(0x110000, dtype=np.uint32)
    entries = points | np.uint32(KEPT)
    if zeros:
        entries[kinds & DECIMAL != 0] = KEPT | ord("0")
    entries[(kinds & PUNCT != 0) | (points < 0x20) | ((points >= 0x7F) & (points < 0xA0))] = 0
    entries[kinds & SPACE != 0] = GAP
    return entries
