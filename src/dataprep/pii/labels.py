"""Words before a number that indicate its meaning: a phone number, an order, a company, a book or a version."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import numpy as np

from dataprep.unicode.text import U8

from .candidates import GAP_SIGN, LABEL_END, LABEL_GAP
from .label_words import AFTER_LABEL, AFTER_PHONE, AND, NOT_PERSONAL, PHONE

UNBROKEN = r"\u0590-\u06ff\u0900-\u0fff\u1000-\u10ff\u1200-\u137f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af"
JOINED = 12  # characters between two numbers that a word joins, at most
LABEL = 40  # characters before a number in which a label is searched for


def words(table: str) -> list[str]:
    """Return the labels in a table, the longest first."""
    return sorted({word for line in table.split("\n") for word in line.split("|") if word}, key=lambda w: (-len(w), w))


def trie(some: Iterable[str]) -> str:
    """Return a pattern that matches any of some words and shares their common prefixes."""
    rests = defaultdict(set)
    for word in some:
        rests[word[:1]].add(word[1:])
    longer = "|".join(re.escape(c) + (trie(rests[c]) if rests[c] != {""} else "") for c in sorted(rests) if c)
    return f"(?:{longer}){'?' if '' in rests else ''}"


def _backwards(table: str, gap: str, more: str, *, glued_to: str = "") -> re.Pattern[str]:
    """Return a pattern that matches at the start of a reversed text if the text ends with a label, `more`, and a gap.

    The text must be in lower case. Only one position is tried, and at most one letter of most labels.

    - glued_to: the characters, as the inside of a regular-expression set, that may also directly precede a label.
    """
    some = words(table)
    # Arabic and Hebrew write "and", "the" and "for" without a space before a word, and others have no spaces at all.
    glued = trie(w[::-1] for w in some if re.match(rf"[{UNBROKEN}]", w))
    apart = trie(w[::-1] for w in some if not re.match(rf"[{UNBROKEN}]", w))
    ends = "".join(sorted({re.escape(w[-1]) for w in some}))
    return re.compile(rf"{gap}{more}(?=[{ends}])(?:{apart}(?![^\W_{glued_to}{UNBROKEN}])|{glued})")


_GAP = " \t_.:：=#°№\"'"  # signs between another label and the number
_NOT_PERSONAL = _backwards(
    NOT_PERSONAL,
    f"[{_GAP}]{{0,{LABEL_GAP}}}",
    rf"(?:[03]1-)?(?:{trie(w[::-1] for w in AFTER_LABEL.split('|'))}[ _]){{0,3}}"
)
_PHONE_GAP = " \t_.:：=፦(（+\"'\ufe0f"  # signs between the label of a phone and the number
_PHONE = _backwards(
    PHONE, f"[{_PHONE_GAP}]{{0,{LABEL_GAP}}}", rf"(?:{trie(w[::-1] for w in AFTER_PHONE.split('|'))}[ _]?){{0,3}}",
    glued_to=r"\d",  # 0123456789Fax: 0123456788
)
PARAMETERS = "id|v|p|page|item|article|product|ref|order|t|q"  # of a URL: ?id=0612345678
# The beginning of an IBAN whose check digits are wrong: the rest of it is not a phone.
_ACCOUNT = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ \u00a0][0-9A-Z]{4}){1,6}[ \u00a0]\Z")
_PARAMETER = re.compile(rf"[?&](?:{PARAMETERS})=\Z")
_BUILD = re.compile(r"[0-9]\.[0-9]+(?:-[\w.]+)?\+\Z")  # 1.2.3+20240506
# "For orders" says what a phone is for, whereas "order no" labels a number.
_PURPOSE = re.compile(
    r"\b(?:pour|for|para|per|für|voor|для)[ \t]+(?:(?:toute|all|your|vos|votre|the|la)s?[ \t]+)?"
    r"[^\W\d_]+[ \t]{0,2}[:.]?[ \t]{0,2}\Z", re.IGNORECASE)  # fmt: skip
_KEY = re.compile(  # order_id= "orderId": "
    r"(?:\b\w*(?:_(?:id|no|nr|num|number|code|ref|key|sku|ts|time|count|size|seq|pid|uid|hash)|[a-z](?:Id|ID|No|Num|Number|Code|Ref|Key))"
    r"|\b(?:key|code|value|val|hash|seed|ts|timestamp|num|sku|size|bytes|offset|count|total|sum|n|x|y|id|no))"
    r"[\"']?[ \t]?[:=][ \t]?[\"']?\Z"
)
_NUM = re.compile(r"(?<!\w)num[ \t]?:[ \t]?\Z")  # num : 06 12 34 56 78, which is French
_PHONE_KEY = re.compile("phone|mobile|tel|gsm|cell|fax|contact|whatsapp|msisdn|call|sms", re.IGNORECASE)
_PHONE_KEYS = re.compile(
    r"(?:phone|mobile|tel|gsm|cell|fax|contact|whatsapp|msisdn|call|sms|\b(?:to|from|caller|callee|sender|recipient|number|dest|dst|src"
    r"|wa|receiver))\w*[\"']?[ ]?[:=][ ]?[\"']?\Z", re.IGNORECASE
)
# The number of a company in the European Union: TVA FR71 020428803.
_TAX = re.compile(
    r"\b(?i:tva|vat|ust|mwst|nif|iva|intracom\w*|dph|pvm|btw)\b[^0-9\n]{0,16}\b[A-Z]{2}[0-9A-Z]{0,2}[ \u00a0]?\Z"
)
_AND = re.compile(  # emoji also join two numbers
    rf" ?[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]{{1,4}} ?[(+]?|[ ,]*(?:{AND})[ ,]*(?:(?:{AFTER_PHONE}) )?[(+]?",
    re.IGNORECASE,
)


@cache
def label_ends() -> U8:
    """Return the bits GAP_SIGN and LABEL_END of each code point, uint8[0x110000].

    They mark the signs after a phone label, and the last letters of such labels.
    """
    table = np.zeros(0x110000, np.uint8)
    last = "".join(sorted({re.escape(w[-1]) for w in (*words(PHONE), *AFTER_PHONE.split("|"))}))
    ends = re.compile(f"[{last}]", re.IGNORECASE)
    table[[ord(c) for c in ends.findall("".join(map(chr, (*range(0xD800), *range(0x1F300, 0x1FB00)))))]] = LABEL_END
    table[[ord(c) for c in _PHONE_GAP]] = GAP_SIGN
    return table


def is_labelled(text: str, start: int) -> bool:
    """Return whether a label before a number (ISBN, version, invoice) shows that the number is not personal.

    - start: the offset of the number in `text`, in characters.
    """
    if start > 0 and text[start - 1] == "+" and not text[start - 2 : start - 1].isalnum():
        return False
    before = text[max(0, start - LABEL) : start]
    last = before[-1:]
    if last == "+":
        return _BUILD.search(before) is not None
    if _NOT_PERSONAL.match(before.lower()[::-1]):
        return not _PURPOSE.search(before)
    if last in ("=", '"', "'", ":", " ") and ("=" in before[-4:] or ":" in before[-4:]) and _is_key(before):
        return not (text[start : start + 1] == "0" and _NUM.search(before))
    if last in (" ", "\u00a0") and _ACCOUNT.search(before):
        return True
    return before[-2:].strip()[-1:].isalnum() and _TAX.search(before) is not None


def _is_key(before: str) -> bool:
    """Return whether a text ends with a URL parameter or a name in code that does not denote a phone: order_id=."""
    m = _KEY.search(before)
    return (m is not None and not _PHONE_KEY.search(m[0])) or _PARAMETER.search(before) is not None


def is_phone_key(text: str, start: int) -> bool:
    """Return whether a name in code that may denote a phone number precedes a number: to=, phone=, msisdn=."""
    return _PHONE_KEYS.search(text, max(0, start - LABEL), start) is not None


def is_phone_label(text: str, start: int) -> bool:
    """Return whether a label before a number (tel., phone, WhatsApp) shows that it is a phone number.

    - start: the offset of the number in `text`, in characters.
    """
    return _PHONE.match(text[max(0, start - LABEL) : start].lower()[::-1]) is not None


def is_joined(text: str, end: int, start: int) -> bool:
    """Return whether a word such as "or" joins a number that begins at `start` to the number that ends at `end`."""
    return 0 <= end < start <= end + JOINED and _AND.fullmatch(text, end, start) is not None
