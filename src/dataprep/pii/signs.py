"""Signs between the digits of a number: the dashes and spaces of all scripts, and the full-width signs."""

from __future__ import annotations

import re
from functools import lru_cache

from dataprep.unicode.digits import western

DASHES = (
    "\u058a\u05be\u1400\u1806\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d"
    "\u301c\u3030\u30a0\ufe31\ufe32\ufe58\ufe63\uff0d\U00010ead"
)  # fmt: skip
SPACES = "\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"
_WIDE = ("（）＋．／", "()+./")  # full-width signs, and the ASCII signs that replace them
_SIGNS = (DASHES + SPACES + _WIDE[0], "-" * len(DASHES) + " " * len(SPACES) + _WIDE[1])
BETWEEN = _SIGNS[0]  # all characters that are read as an ASCII sign
APART = re.escape(" -" + DASHES + SPACES)  # for a set of a pattern: what may be between two groups of digits


@lru_cache(maxsize=1)  # cards, accounts and phones are searched in the same lines
def plain(text: str) -> str:
    """Return a text of the same length with digits, dashes, spaces and full-width signs replaced by those of ASCII."""
    return western(text, *_SIGNS)
