"""Twin of `unicode/canonical.py`: Python's own `unicodedata`."""

from __future__ import annotations

import unicodedata
from functools import cache

from twins.unicode import points

TATWEEL = "\u0640"
# The blocks whose marks are accents and vowel signs: combining marks and their extensions, supplement, those for
# symbols, and halves; Cyrillic, Hebrew, Arabic, Syriac, and the extensions of Arabic.
BLOCKS = [
    (0x300, 0x36F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F),
    (0x400, 0x4FF), (0x590, 0x5FF), (0x600, 0x6FF), (0x700, 0x74F), (0x870, 0x89F), (0x8A0, 0x8FF),
]  # fmt: skip


@cache
def dropped_marks(drop: str) -> frozenset[str]:
    """The marks that do not count."""
    accents = {chr(c) for a, b in BLOCKS for c in range(a, b + 1)} & points("MARK")
    return frozenset({"diacritics": accents | {TATWEEL}, "marks": points("NONSPACING")}.get(drop, set()))


def canonical(text: str, drop: str = "") -> str:
    """The NFC of a text without marks, or with plain letters."""
    if drop == "forms":
        text = "".join(unicodedata.normalize("NFKC", c) if is_shape(c) else c for c in text)
    dropped = dropped_marks(drop)
    return unicodedata.normalize("NFC", "".join(c for c in unicodedata.normalize("NFD", text) if c not in dropped))


def is_shape(c: str) -> bool:
    """Whether a character is a form of letters or digits: by its kind of decomposition, in the blocks of such forms."""
    in_block = 0xFB00 <= ord(c) < 0xFF5B or 0x1D400 <= ord(c) < 0x1D800
    kind = unicodedata.decomposition(c).partition(" ")[0]
    known = kind in ("<isolated>", "<initial>", "<medial>", "<final>", "<wide>", "<font>", "<compat>")
    is_letter = unicodedata.category(c)[0] == "L" or unicodedata.category(c) == "Nd" or ord(c) >= 0x1D400
    return in_block and known and is_letter and unicodedata.normalize("NFKC", c)[0] != " "
