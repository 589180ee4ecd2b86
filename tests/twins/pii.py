"""Twin of `pii`."""

from __future__ import annotations

from collections import Counter

from dataprep.pii import rules as pii_rules


def pii(text: str, stage) -> tuple[str, Counter]:
    """The text with everything personal replaced, and how often each kind was found: patterns over the whole text."""
    found, out, at = pii_rules.find(text, stage.kinds), "", 0
    for start, end, kind in found:
        out, at = out + text[at:start] + stage.replace.replace("{kind}", kind), end
    return out + text[at:], Counter(kind for _, _, kind in found)


def luhn(digits: str) -> bool:
    """Every second digit from the right doubled, its digits summed; all together a multiple of ten."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total += int(digit) if place % 2 == 0 else sum(int(d) for d in str(2 * int(digit)))
    return total % 10 == 0


def iban_check(iban: str) -> str:
    """The two check digits that an IBAN's country and account need: 98 less the remainder."""
    moved = iban[4:] + iban[:2] + "00"
    rest = 0
    for c in moved:
        for digit in str("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(c)):
            rest = (rest * 10 + int(digit)) % 97
    return f"{98 - rest:02}"
