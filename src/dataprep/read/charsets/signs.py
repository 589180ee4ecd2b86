"""Find the charset of a text in Latin script with few characters beyond ASCII, from the positions of these.

In English with few signs no detector finds a language. However, if a word has the byte D5 before its final t, only Mac
OS Roman makes this byte an apostrophe.
"""

from __future__ import annotations

import contextlib
import re

from .labels import MULTIBYTE

MOST = 256  # bytes over 127 of a text that is judged here
SAMPLE = 1 << 16  # bytes that are judged
SHARE = 0.2  # of its bytes
FEW = 3  # characters beyond ASCII that may be valid UTF-8 by chance
FIRST_OF_THREE = 0xE0  # the lowest byte that begins three bytes in UTF-8
ASCII = bytes(range(128))
_HIGH = bytes(range(128, 256))
# In this order, if several suit: after the usual ones, those that East Asian programs write quotation marks in.
CHARSETS = ("cp1252", "mac-roman", "gb18030", "cp949", "cp932", "big5hkscs", "euc_jp", "iso8859-15", "iso8859-13",
            "iso8859-7", "iso8859-16", "cp1251", "mac-cyrillic", "koi8-r", "cp866", "iso8859-5")  # fmt: skip
BEFORE, AFTER = 4, 6  # bytes beside characters beyond ASCII that are looked at
_RUN = re.compile(rb"[\x80-\xff]+")
_PLACE = re.compile(rb"(?:[\x80-\xff]+[^\x80-\xff]{1,10})*[\x80-\xff]+")  # so that no two of these pieces overlap
_SMALL, _CAPITAL = "ß-öø-þāăąćčďđēĕęěğģīįıķļłńņňŋōőœŕřśşšţťūůűųźżžșț", "À-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪĮİĶĻŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŸŹŻŽȘȚ"
_LETTERS = (
    rf"(?<=[a-z])[{_SMALL}]+(?![A-Z])|(?<![A-Za-z])[{_SMALL}](?=[a-z])"
    rf"|(?<![A-Za-z])[{_CAPITAL}](?=[a-z])|(?<=[A-Z])[{_CAPITAL}](?![a-z])|[¿¡](?=[A-Za-z])|[\xa0\xad]"
)
_BESIDE = r"(?<=[0-9])\s?[€£¥¢°º²³½¼¾]|(?<=[A-Za-z])[®™]|(?<![A-Za-z])[§©®™](?=\s|\w|\Z)"
_LIKELY = re.compile(  # didn’t, the walkers’, “so”, 5–7, €5, 20 °
    r"(?<=[A-Za-z])’(?=(?:[stdm]|re|ve|ll)\b)|(?<=[sz])’(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9.,])[“‘«„‹](?=[A-Za-z0-9…])|(?<=[A-Za-z0-9.,!?…’])[”’»›](?![A-Za-z0-9])"
    rf"|(?<![A-Z])[–—](?![A-Z])|(?<=[A-Za-z])…(?![A-Za-z])|(?<!\S)[…•·](?=\s)|[€£¥¢￡￥￠](?=\s?[0-9])|{_BESIDE}|{_LETTERS}"
)
_POSSIBLE = re.compile(  # signs that are not within a word
    rf"[’–—…]|(?<![A-Za-z])[“”‘«»„‹›€£¥¢•·†‡‰±µ¶×÷™©®§°]|[“”‘«»„‹›€£¥¢•†‡™®°](?![A-Za-z])|{_BESIDE}|{_LETTERS}"
)


def charset_of_signs(data: bytes, first: str) -> str:
    """Return the charset in which every character beyond ASCII is at a position that is plausible for it.

    - first: the charset that seems likely otherwise. It is returned if the positions of its characters are plausible,
      if no other charset suits, or if the text has many characters beyond ASCII.

    The first 64 kB are judged.
    """
    high = len(data) - len(data.translate(None, _HIGH))
    if not first or high > min(MOST, SHARE * len(data)):
        return first
    places = _places(data)
    if not first.startswith("cp8") and _suits(places, first, _POSSIBLE):  # DOS is a guess from too little
        return first
    return next((name for name in CHARSETS if _suits(places, name, _LIKELY)), first)


def valid_by_chance(data: bytes, stated: str) -> bool:
    """Return whether bytes that are valid UTF-8 are more likely text in the charset that a document states.

    At most three different characters beyond ASCII are read so, if UTF-8 makes them letters or signs at places where
    these do not occur, and the stated charset does not: `najväčšia` in ISO-8859-16 is `najv乨ia` in UTF-8.
    """
    if not stated or stated == "utf-8":
        return False
    high = b"".join(set(_RUN.findall(data, 0, SAMPLE)))  # a word may be repeated
    is_long = len(data) > SAMPLE and len(data.translate(None, ASCII)) > 3 * FEW
    if not 0 < len(high) <= 3 * FEW or is_long:
        return False
    places = _places(data)
    if len(high.decode()) > FEW or _suits(places, "utf-8", _POSSIBLE):
        return False
    if stated not in MULTIBYTE:
        return _suits(places, stated, _LIKELY)
    with contextlib.suppress(UnicodeDecodeError):
        return max(high) < FIRST_OF_THREE and all(c >= "\u3000" and c.isalpha() for c in high.decode(stated))
    return False


def _places(data: bytes) -> list[bytes]:
    """Return the characters beyond ASCII in the first 64 kB with some bytes beside them."""
    return [data[max(0, m.start() - BEFORE) : m.end() + AFTER] for m in _PLACE.finditer(data, 0, SAMPLE)]


def _suits(places: list[bytes], charset: str, usual: re.Pattern[str]) -> bool:
    """Return whether a pattern accepts the positions of the characters beyond ASCII in some fragments of a text."""
    try:
        return all(usual.sub("", place.decode(charset)).isascii() for place in places)
    except UnicodeDecodeError:
        return False
