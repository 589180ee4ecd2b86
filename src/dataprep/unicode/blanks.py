"""Words of n-gram models: runs of characters other than NUL, tab, line feed, carriage return and space, as in `lmplz`.

`lmplz` is KenLM's program for training. Both training and scoring use these functions. Other white space, such as the
no-break space, is part of words.

Slow reference for the tests: tests/twins/perplexity.py
"""

from __future__ import annotations

from .kernel import kernel
from .text import Int


@kernel(inline="always")
def blank(c: Int) -> bool:
    """Return whether byte `c` separates words of a line: a space, a carriage return, a tab or NUL."""
    return c <= 0x20 and c in (0x20, 0x0D, 0x09, 0)


def words(text: str) -> list[str]:
    """Return the words of a text, separated by spaces, tabs, carriage returns, NULs and line feeds."""
    if not text.isprintable():  # it may have one of these
        for c in "\0\t\n\r":
            text = text.replace(c, " ")
    found = text.split(" ")
    return [word for word in found if word] if "" in found else found
