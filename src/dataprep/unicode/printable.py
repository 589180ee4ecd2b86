"""Text without control characters, which HTML cannot represent and terminals execute."""

from __future__ import annotations

import re

UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def printable(text: str) -> str:
    r"""Return the text with control characters, surrogates and noncharacters replaced by U+FFFD.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
