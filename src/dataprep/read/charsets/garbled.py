"""Decide from the characters of a text whether it was decoded with a wrong charset; no dictionary is needed.

A correctly decoded text has almost no lower-case letters before capitals beyond ASCII, no adjacent Latin and Arabic
letters, and no sign such as ` ` or a line of a table in a word. Most texts that are decoded with a wrong charset have
some of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .bare import shortened, without_tags

SAMPLE = 1 << 14  # bytes without tags that are judged, of the first 64 kB
FEWEST = 3  # such places in a garbled text
PER_PLACE = 120  # characters beyond ASCII, at most
RELATED = {"cp1250": "iso8859-2", "iso8859-2": "cp1250"}  # detectors confuse them; they differ in ś, ą, ź, š, ž and ť

# Charsets in which each byte is a character, and those under 128 are ASCII.
SINGLE = ("cp125", "iso8859-", "koi8-", "mac-", "cp874", "cp4", "cp8")
_LATIN, _CYRILLIC, _GREEK = r"\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f", r"\u0400-\u052f", r"\u0370-\u03ff"
_RIGHT = r"\u05d0-\u05ea\u0620-\u064a\u0671-\u06d3"  # Hebrew and Arabic
_SMALL = r"\u00e0-\u00f6\u00f8-\u00ff\u0430-\u045f\u03ac-\u03ce"
_CAPITAL = r"\u00c0-\u00d6\u00d8-\u00de\u0401-\u042f\u0386-\u038f\u0391-\u03ab"
_SIGN = r"\x80-\x9f\u00a1-\u00a9\u00ac\u00ae-\u00b6\u00b8\u00b9\u00bc-\u00bf\u00d7\u00f7\u2219-\u25ff\ufffd"
_LETTER = rf"A-Za-z{_LATIN}{_CYRILLIC}{_GREEK}{_RIGHT}"
_GARBLED = re.compile(
    rf"[{_SMALL}][A-Z{_CAPITAL}]|[a-z][{_CAPITAL}]"
    rf"|[{_LETTER}][{_SIGN}][{_LETTER}]|[{_LETTER}][\x80-\x9f¡¤¦¬±¶¼-¿]|[\u2500-\u25ff][{_LETTER}]"
    rf"|[A-Za-z{_LATIN}][{_RIGHT}]|[{_RIGHT}][A-Za-z{_LATIN}]"
    rf"|[{_LATIN}{_GREEK}{_RIGHT}][{_CYRILLIC}]|[{_CYRILLIC}][{_LATIN}{_GREEK}{_RIGHT}]"
    rf"|[{_LATIN}][{_GREEK}]|[{_GREEK}][{_LATIN}]"
)


_ASCII = re.compile(r"(?<=[\x00-\x7f])[\x00-\x7f]{2,}(?=[\x00-\x7f])")  # between two characters of ASCII


def garbled(data: bytes, charsets: Iterable[str]) -> set[str]:
    """Return those of the given charsets (Python codecs) in which the text of a page looks garbled.

    16 kB of the first 64 kB of the page are judged, without tags.
    """
    sample = without_tags(data[: 4 * SAMPLE], SAMPLE, scripts=True)
    short = shortened(sample)
    return {name for name in charsets if _is_garbled(short if name.startswith(SINGLE) else sample, name)}


def _is_garbled(sample: bytes, charset: str) -> bool:
    text = sample.decode(charset, "replace")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    if beyond < FEWEST:  # each place has one of these characters
        return False
    places = places_of(text)
    return places >= FEWEST and places * PER_PLACE > beyond


def places_of(text: str) -> int:
    """Return the number of garbled places: only characters beyond ASCII and their neighbours are examined."""
    return len(_GARBLED.findall(_ASCII.sub(" ", text)))
