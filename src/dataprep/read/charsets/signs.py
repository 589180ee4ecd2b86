"""Find the charset of a text in Latin script with few characters beyond ASCII, from the positions of these.

In English with few signs no detector finds a language. However, if a word has the byte D5 before its final t, only Mac
OS Roman makes this byte an apostrophe.
"""

from __future__ import annotations

import re

MOST = 256  # bytes over 127 of a text that is judged here
SAMPLE = 1 << 16  # bytes that are judged
SHARE = 0.2  # of its bytes
_HIGH = bytes(range(128, 256))
# In this order, if several suit: after the usual ones, those that East Asian programs write quotation marks in.
CHARSETS = ("cp1252", "mac-roman", "gb18030", "cp949", "cp932", "big5hkscs", "euc_jp", "iso8859-15", "iso8859-13",
            "iso8859-7", "iso8859-16", "cp1251", "mac-cyrillic", "koi8-r", "cp866", "iso8859-5")  # fmt: skip
BEFORE, AFTER = 4, 6  # bytes beside characters beyond ASCII that are looked at
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
    places = [data[max(0, m.start() - BEFORE) : m.end() + AFTER] for m in _PLACE.finditer(data, 0, SAMPLE)]
    if not first.startswith("cp8") and _suits(places, first, _POSSIBLE):  # DOS is a guess from too little
        return first
    return next((name for name in CHARSETS if _suits(places, name, _LIKELY)), first)


def _suits(places: list[bytes], charset: str, usual: re.Pattern[str]) -> bool:
    """Return whether a pattern accepts the positions of the characters beyond ASCII in some fragments of a text."""
    try:
        return all(usual.sub("", place.decode(charset)).isascii() for place in places)
    except UnicodeDecodeError:
        return False
