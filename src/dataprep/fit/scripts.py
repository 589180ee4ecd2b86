"""Determine the script in which a document is written, from its letters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache

HEAD = 400  # characters of a document that are counted
ONE = ("CJK", "HIRAGANA", "KATAKANA")  # written together


def script_of(text: str) -> str | None:
    """Return the most frequent script of the letters at the start of a text, such as "LATIN"; None without letters.

    Scripts are named by the first word of the Unicode names of their letters; Han and Japanese letters count as one
    script.
    """
    found = Counter(filter(None, map(_script, text[:HEAD])))
    return found.most_common(1)[0][0] if found else None


@cache
def _script(character: str) -> str | None:
    if not character.isalpha():
        return None
    first = unicodedata.name(character, "").partition(" ")[0].partition("-")[0]
    return ONE[0] if first in ONE else first or None
