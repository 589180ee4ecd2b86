"""Twin of `unicode/canonical.py`: Python's own `unicodedata`."""

from __future__ import annotations

import unicodedata
from functools import cache

from dataprep.unicode.canonical import ACCENTS, TATWEEL
from twins.unicode import points


@cache
def dropped_marks(drop: str) -> frozenset[str]:
    """The marks that do not count."""
    spans = [span.partition("-") for span in ACCENTS.split()]
    accents = {chr(c) for a, _, b in spans for c in range(int(a, 16), int(b or a, 16) + 1)} | {chr(TATWEEL)}
    return frozenset({"": set(), "diacritics": accents, "marks": points("NONSPACING")}[drop])


def canonical(text: str, drop: str = "") -> str:
    """The NFC of a text without marks."""
    dropped = dropped_marks(drop)
    return unicodedata.normalize("NFC", "".join(c for c in unicodedata.normalize("NFD", text) if c not in dropped))
