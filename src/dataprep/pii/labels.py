"""Words before a number that show what the number is: a phone, or an order, a company, a book or a version."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import numpy as np

from dataprep.unicode.text import U8

from .candidates import GAP_SIGN, LABEL_END, LABEL_GAP
from .label_words import AFTER_LABEL, AFTER_PHONE, AND, NOT_PERSONAL, PHONE

_UNBROKEN = r"\u0590-\u06ff\u0900-\u0fff\u1000-\u10ff\u1200-\u137f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af"
JOINED = 12  # characters between two numbers that a word joins, at most
LABEL = 40  # characters before a number in which a label is searched


def words(table: str) -> list[str]:
    """Return the labels of a table, the longest first."""
    return sorted({word for line in table.split("\n") for word in line.split("|") if word}, key=lambda w: (-len(w), w))


def _trie(some: Iterable[str]) -> str:
    """Return a pattern of some words, in which words with the same beginning share it."""
    rests = defaultdict(set)
    for word in some:
        rests[word[:1]].add(word[1:])
    longer = "|".join(re.escape(c) + (_trie(rests[c]) if rests[c] != {""} else "") for c in sorted(rests) if c)
    return f"(?:{longer}){'?' if '' in rests else ''}"


def _backwards(table: str, gap: str, more: str) -> re.Pattern[str]:
    """Return a pattern that matches at the start of a reversed text if the text ends with a label, `more`, and a gap.

    The text must be in lower case. Only one position is tried, and at most one letter of most labels.
    """
    some = words(table)
    # Arabic and Hebrew write "and", "the" and "for" without a space before a word, and others have no spaces at all.
    glued = _trie(w[::-1] for w in some if re.match(rf"[{_UNBROKEN}]", w))
    apart = _trie(w[::-1] for w in some if not re.match(rf"[{_UNBROKEN}]", w))
    ends = "".join(sorted({re.escape(w[-1]) for w in some}))
    return re.compile(rf"{gap}{more}(?=[{ends}])(?:{apart}(?![^\W_{_UNBROKEN}])|{glued})")


_GAP = " \t_.:：=#°№\"'"  # signs between another label and the number
_NOT_PERSONAL = _backwards(
    NOT_PERSONAL, f"[{_GAP}]{{0,{LABEL_GAP}}}", rf"(?:[03]1-)?(?:{_trie(w[::-1] for w in AFTER_LABEL.split('|'))}[ _])?"
)
_PHONE_GAP = " \t_.:：=፦(（+\"'"  # signs between the label of a phone and the number
_PHONE = _backwards(
    PHONE, f"[{_PHONE_GAP}]{{0,{LABEL_GAP}}}", rf"(?:{_trie(w[::-1] for w in AFTER_PHONE.split('|'))}[ _]?){{0,3}}"
)
PARAMETERS = "id|v|p|page|item|article|product|ref|order|t|q"  # of a URL: ?id=0612345678
# The beginning of an IBAN whose check digits are wrong: the rest of it is no phone.
_ACCOUNT = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ \u00a0][0-9A-Z]{4}){1,6}[ \u00a0]\Z")
_PARAMETER = re.compile(rf"[?&](?:{PARAMETERS})=\Z")
_AND = re.compile(rf"[ ,]*(?:{AND})[ ,]*(?:(?:{AFTER_PHONE}) )?[(+]?", re.IGNORECASE)


@cache
def label_ends() -> U8:
    """Return the bits GAP_SIGN and LABEL_END of each code point, uint8[0x110000].

    They mark the signs after the label of a phone and the last letters of such labels.
    """
    table = np.zeros(0x110000, np.uint8)
    last = "".join(sorted({re.escape(w[-1]) for w in (*words(PHONE), *AFTER_PHONE.split("|"))}))
    ends = re.compile(f"[{last}]", re.IGNORECASE)
    table[[ord(c) for c in ends.findall("".join(map(chr, range(0xD800))))]] = LABEL_END
    table[[ord(c) for c in _PHONE_GAP]] = GAP_SIGN
    return table


def is_labelled(text: str, start: int) -> bool:
    """Return whether a label before a number (ISBN, version, invoice) shows that the number is not personal.

    start: offset of the number in `text`, in characters.
    """
    before = text[max(0, start - LABEL) : start]
    if _NOT_PERSONAL.match(before.lower()[::-1]) or (before[-1:] == "=" and _PARAMETER.search(before)):
        return True
    return before[-1:] in " \u00a0" and _ACCOUNT.search(before) is not None


def is_phone_label(text: str, start: int) -> bool:
    """Return whether a label before a number (tel., phone, WhatsApp) shows that the number is a phone.

    start: offset of the number in `text`, in characters.
    """
    return _PHONE.match(text[max(0, start - LABEL) : start].lower()[::-1]) is not None


def is_joined(text: str, end: int, start: int) -> bool:
    """Return whether a word such as "or" joins a number that begins at `start` to the one that ends at `end`."""
    return 0 <= end < start <= end + JOINED and _AND.fullmatch(text, end, start) is not None
