"""Find payment card numbers by the prefixes, lengths and groups that networks issue, and by their check digit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from .signs import APART, plain


def cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each payment card number in a line of text, as offsets in characters.

    A card number has a prefix and a length that networks issue, and a correct check digit (Luhn). Groups that increase
    evenly (5180 5200 5220 5240) are treated as table values.
    """
    yield from sorted([*_long_cards(text), *_short_cards(text)])


def _long_cards(text: str) -> Iterator[tuple[int, int]]:
    for m in _CARD.finditer(plain(text)):
        digits = re.sub(r"\D", "", m[0])
        if issued(digits) and luhn(digits) and not _counts_up(m[0]):
            yield m.span()


def _short_cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each card number of 12, 13 or (JCB) 15 digits that follows a word for cards.

    Without such a word, one in ten barcodes with such a prefix would be taken for a card.
    """
    for m in _SHORT.finditer(plain(text)):
        digits = re.sub(r"\D", "", m[0])
        before = text[max(0, m.start() - BEFORE) : m.start()].rpartition("\n")[2]
        if _WORD.search(before) and issued(digits) and luhn(digits):
            yield m.span()


def _counts_up(text: str) -> bool:
    """Return whether the groups of digits in a text increase or decrease by the same step, which is not 0."""
    groups = re.findall("[0-9]+", text)
    steps = {int(b) - int(a) for a, b in itertools.pairwise(groups)}
    return len(steps) == 1 and steps != {0}


_MAESTRO = {5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763}
# The first four digits of national networks: Maestro, Dankort, RuPay, Mir, Elo, Verve, Troy, Uzcard, Humo.
_LOCAL = {
    5018, 5019, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763, *range(5080, 5090), 6069, 6070, 6521, 6522, 8171, 8172,
    8173, *range(2200, 2205), 5041, 5066, 5067, *range(5090, 5100), 6277, 6362, 6363, 5061, 5078, 9792, 8600, 9860,
}  # fmt: skip

# The end of a number, or a word of three letters that is glued to it (4111111111111111merci), no hexadecimal digits.
WORD_OR_END = (
    r"(?:(?![0-9A-Za-z_])|(?![A-Fa-f]+(?![A-Za-z]))(?=(?:[A-Za-z][a-z]{2,}|[A-Z]{3,})(?![0-9A-Za-z_])))"
)

# Digits in groups of four, or as the issuer prints them (Amex 4-6-5, Diners 4-6-4), one sign between groups; not a
# part of a table of such groups. A word of three letters may be glued before them.
_CARD = re.compile(  # what precedes is tried after the first digit, which makes the search fast
    r"[2-689](?<![0-9_][2-689])(?<!(?<![A-Za-z]{2})[A-Za-z][2-689])"
    r"(?<![0-9][.-][2-689])(?<!\b[0-9]{4} [0-9]{4} [2-689])"
    rf"(?:[0-9]{{3}}([{APART}.]?)[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}(?:\1[0-9]{{3}})?"
    rf"|(?<=3)[0-9]{{3}}([{APART}.]?)[0-9]{{6}}\2[0-9]{{4,5}})"
    rf"{WORD_OR_END}(?![.-][0-9])(?! [0-9]{{4}} [0-9]{{4}}\b)"
)


BEFORE = 40  # characters before a short card number in which a word for cards is searched for
_WORD = re.compile(
    r"(?i:\b(?:cards?|visa|maestro|jcb|credit|debit|carte|tarjeta|cart[aã]o|karte|kreditkarte|kart[ay]?|carta)\b"
    r"|карт[аыуе]|بطاقة|卡|カード|카드)"
)
_SHORT = re.compile(
    rf"(?<![0-9A-Za-z_])(?<![0-9][.-])(?:(?:1800|2131)[{APART}]?[0-9]{{5,6}}[{APART}]?[0-9]{{5,6}}"
    rf"|[4-6][0-9]{{3}}([{APART}]?)[0-9]{{4}}\1[0-9]{{4}}[0-9]?|4[0-9]{{3}}([{APART}])[0-9]{{3}}\2[0-9]{{3}}\2[0-9]{{3}})"
    r"(?![0-9A-Za-z_])(?![.-][0-9])(?! [0-9]{4}\b)"
)


def luhn(digits: str) -> bool:
    """Return whether the check digit of a card number is correct (ISO/IEC 7812, Luhn)."""
    twice = (sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(twice)) % 10 == 0


def issued(digits: str) -> bool:
    """Return whether payment card networks issue numbers with the first digits and the length of `digits`."""
    n, two, four = len(digits), int(digits[:2]), int(digits[:4])
    if n == 14:  # Diners
        return 3000 <= four <= 3059 or two in (36, 38, 39)
    if n == 15:  # American Express, JCB
        return two in (34, 37) or four in (1800, 2131)
    if n < 14:  # Maestro, Visa
        return four in _MAESTRO or (n == 13 and two // 10 == 4)
    if n == 16 and four in _LOCAL:
        return True
    world = two // 10 == 4 or four == 6011 or two in (62, 65) or 6440 <= four <= 6499  # Visa, Discover, UnionPay
    return world or (n == 16 and (51 <= two <= 55 or 2221 <= four <= 2720 or 3528 <= four <= 3589))
