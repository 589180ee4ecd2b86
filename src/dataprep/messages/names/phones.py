"""Compare phone numbers of people by their digits, and find them in texts in any form.

A known number is found by its national digits: with or without the country's code, with any prefix that is dialled
inside the country, in digits of any script, and with any few signs or line breaks between the digits.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from operator import itemgetter

import numpy as np

from dataprep.unicode.digits import western
from dataprep.unicode.text import DECIMAL, I64, U8, classes

from .prefilter import NO_DIGIT, with_ends

MIN_DIGITS = 7  # of a number that identifies a person
_CODES = re.compile(r"[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3}")  # of countries (E.164)
_BETWEEN = (
    "[ \t\u00a0\u2007\u2009\u202f./()\u00ad\u2010-\u2015\u2212\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff-]"
)
_PHONE = re.compile(rf"(?:{_BETWEEN}|tel:)*[+\uff0b]?(?:{_BETWEEN}|\d)+", re.IGNORECASE)
_ABROAD = re.compile(r"[^\d]*(?:[+\uff0b]|00)")
_TRUNK = re.compile(r"\(0\)")  # "+212 (0) 6": dialled inside the country only
_GAP = r"(?:[^\w\x1e]|_){0,6}"  # between two digits; U+001E separates the texts of an audit
_RUN = re.compile(rf"[0-9](?:{_GAP}[0-9]){{{MIN_DIGITS - 1},}}")
_CODE = re.compile(rf"(?:[+\uff0b]|%2[Bb]|(?<![0-9])(?:0011|011|010|8[ ~-]?10|00)){_GAP}((?:[0-9]{_GAP}){{0,5}})\Z")
_USUAL = re.compile(rf"(?:[0-9+\uff0b]|{_BETWEEN})*")
_LOOSE_DIGITS = 8  # with unusual signs between them
_KEYCAP = re.compile("[\ufe0f\u20e3]*")
_DIGIT_SIGNS = "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉⓪①②③④⑤⑥⑦⑧⑨⓿❶❷❸❹❺❻❼❽❾"
_CARRIER = re.compile(r"0[1-9][0-9]")  # Brazil: the company that carries a call, after the 0
_ANY_CARRIER = re.compile(rf"(?<![0-9])0{_BETWEEN}{{0,2}}(?:xx|XX){_BETWEEN}{{0,2}}\Z")  # "0xx11"
_NO_DIGIT = re.compile(r"\D+")
_BEFORE = 24  # characters in which a country's code is searched

# What is dialled inside a country before a number; 0 elsewhere.
_TRUNKS = {
    "1": ("1",), "7": ("8", "0"), "36": ("06", "0"), "52": ("01", "045", "044"), "370": ("8", "0"), "375": ("80", "8"),
    "976": ("01", "02", "0"), "992": ("8", "0"), "993": ("8", "0"),
}  # fmt: skip
# Two international forms of one number: with and without the digits that mark a mobile phone (Argentina, Mexico,
# Brazil), and what is left of a national form without its zeros (Russia, Hungary, Belarus).
_ALIASES = tuple((re.compile(pattern), forms) for pattern, forms in (
    (r"549?(11|[23]\d\d|[23]\d{3})(\d{6,8})", (r"54\1\2", r"549\1\2", r"54\g<1>15\2")),
    (r"521?(\d{10})", (r"52\1", r"521\1")),
    (r"55(\d\d)9?([6-9]\d{7})", (r"55\1\2", r"55\g<1>9\2")),
    (r"8([3-9]\d{9})", (r"7\1",)), (r"6([2357]0\d{7})", (r"36\1",)), (r"80(\d{9})", (r"375\1",)),
))  # fmt: skip


def phone(text: str) -> str:
    """Return the digits of a phone number without +, 00 and a leading 0; "" if `text` is not a phone number.

    >>> phone("+212 (0) 6-12 34 56 78"), phone("06 12 34 56 78"), phone("Ilse 0612345678")
    ('212612345678', '612345678', '')
    """
    if not _PHONE.fullmatch(text):
        return ""
    digits = _NO_DIGIT.sub("", western(_TRUNK.sub("", text))).lstrip("0")
    return digits if MIN_DIGITS <= len(digits) <= 15 else ""


def same_number(a: str, b: str) -> bool:
    """Return True if two written phone numbers are the same; only one in national form may lack the country's code.

    >>> same_number("06 12 34 56 78", "+33 6 12 34 56 78"), same_number("+7 912 345 67 89", "+91 2345 6789")
    (True, False)
    """
    one, other = phone(a), phone(b)
    if is_abroad(a) and is_abroad(b):
        return bool(one and _forms(one) & _forms(other))
    return same_phone(one, other)


def is_abroad(number: str) -> bool:
    """Return whether a phone number is in international form, that is, begins with + or 00."""
    return _ABROAD.match(number) is not None


def same_phone(a: str, b: str) -> bool:
    """Return True if two results of `phone` are the same number; one of them may lack the country code.

    The number without a code must be the whole national number: "12345678" is not +33 6 12 34 56 78.
    """
    if not a or a[-MIN_DIGITS:] != b[-MIN_DIGITS:]:
        return False
    pairs = (sorted(pair, key=len) for pair in product(_forms(a), _forms(b)))
    return any(short in (long, _CODES.sub("", long, count=1).lstrip("0")) for short, long in pairs)


def _country(digits: str) -> str:
    """Return the country's code with which an international number begins."""
    code = _CODES.match(digits)
    return code[0] if code else ""


def _forms(number: str) -> set[str]:
    """Return the result of `phone` and the other forms of that number, without prefixes."""
    found = {number}
    for pattern, forms in _ALIASES:
        if m := pattern.fullmatch(number):
            found |= {m.expand(form) for form in forms}
    for one in tuple(found):
        code = _country(one)
        if code != "39" and len(one) > 10 and one[len(code) :].startswith("0"):  # "+33 06": the 0 is too much
            found.add(code + one[len(code) + 1 :])
    return found


def _trunks(code: str) -> tuple[str, ...]:
    return _TRUNKS.get(code, ("0",))


def _is_code(digits: str) -> bool:
    """Return whether digits are a country's code, which a prefix dialled inside the country may follow."""
    code = _country(digits)
    return bool(code) and code[0] != "0" and digits[len(code) :] in ("", *_trunks(code))


@functools.cache
def digit_values() -> U8:
    """Return the digit that each code point represents, or NO_DIGIT; circled and superscript digits count, too."""
    points = np.append(np.flatnonzero(classes() & DECIMAL), list(map(ord, _DIGIT_SIGNS)))
    table = np.full(0x110000, NO_DIGIT, np.uint8)
    table[points] = [int(c) for c in western("".join(map(chr, points.tolist())), _DIGIT_SIGNS, 4 * "0123456789")]
    table.flags.writeable = False
    return table


class Phones:
    """A search for known phone numbers in texts, in national or international form.

    Attributes:
        known: the numbers, as `phone` returns them.
    """

    def __init__(self, known: Iterable[str]) -> None:
        """Take results of `phone`."""
        self._by_end: dict[str, list[tuple[str, str]]] = defaultdict(list)
        known = set(known)
        forms = {form: one for one in sorted(known) for form in _forms(one)} | {one: one for one in known}
        for form in sorted(forms, key=lambda form: (-len(form), form)):
            if len(form) >= MIN_DIGITS:
                self._by_end[form[-MIN_DIGITS:]].append((form, forms[form]))
        self._ends = np.zeros(10**MIN_DIGITS, np.bool_)
        self._ends[[int(end) for end in self._by_end]] = True

    def rows(self, offsets: I64, data: U8) -> I64:
        """Return the numbers of the texts (offsets, UTF-8 data) that have the last digits of a known number."""
        return np.flatnonzero(with_ends(offsets, data, digit_values(), self._ends))

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, known number) for each known number in a text; start and end count characters.

        The ranges do not overlap.
        """
        text = western(text, _DIGIT_SIGNS, 4 * "0123456789") if self._by_end else ""
        low = 0
        for run in _RUN.finditer(text):
            digits = _NO_DIGIT.sub("", run[0])
            at: list[int] = []  # where they are
            hit: tuple[int, int, str] | None = None
            for stop in range(MIN_DIGITS, len(digits) + 1):
                if digits[stop - MIN_DIGITS : stop] not in self._by_end:
                    continue
                at = at or [i for i in range(*run.span()) if "0" <= text[i] <= "9"]
                one = self._ending(text, digits[:stop], at, low)
                if hit is not None and one is not None and one[0] > hit[0]:  # not a longer number around it
                    yield hit
                    low, hit = hit[1], None
                    one = self._ending(text, digits[:stop], at, low)
                hit = one or hit
            if hit is not None:
                yield hit
                low = hit[1]

    def _ending(self, text: str, digits: str, at: list[int], low: int) -> tuple[int, int, str] | None:
        """Return (start, end, known number) of the number at or after `low` whose last digit is the last of `digits`.

        - at: the offsets of digits in the text.
        """
        stop = len(digits)
        if stop < len(at) and at[stop] == at[stop - 1] + 1:
            return None  # the number is longer
        possible = self._by_end[digits[-MIN_DIGITS:]]
        starts = ((_start(text, digits, at, low, form), known) for form, known in possible)
        first = min(((a, known) for a, known in starts if a is not None), key=itemgetter(0), default=None)
        end = _KEYCAP.match(text, at[stop - 1] + 1).end()  # type: ignore[union-attr]
        return None if first is None else (first[0], end, first[1])


def _start(text: str, digits: str, at: list[int], low: int, form: str) -> int | None:
    """Return the offset, `low` or later, of the number that ends with `digits`; None if it is not `form`."""
    code = _country(form)
    for national, own in ((form, ""), (form[len(code) :], code)):
        k = len(digits) - len(national)  # the first of the national digits
        if len(national) < MIN_DIGITS or not digits.endswith(national) or at[k] < low:
            continue
        last = at[len(digits) - 1] + 1
        if len(national) < _LOOSE_DIGITS and not _USUAL.fullmatch(text, at[k], last):
            continue
        start = _prefixed(text, digits[:k], at, low, (national, own))
        if start is not None:
            if carrier := _ANY_CARRIER.search(text, max(low, start - _BEFORE), start):
                start = carrier.start()
            opened = text.count(")", start, last) - text.count("(", start, last)
            return start - (opened > 0 and start > low and text[start - 1] == "(")
    return None


def _prefixed(text: str, before: str, at: list[int], low: int, number: tuple[str, str]) -> int | None:
    """Return the offset of a number with the national digits at[len(before):]; None if they are part of another number.

    - before: the digits in front.
    - number: the digits, and the country's code if they lack it.
    """
    national, own = number
    k = len(before)
    from_ = max(low, at[k] - _BEFORE)
    if code := _CODE.search(text, from_, at[k]):
        abroad = _NO_DIGIT.sub("", code[1])
        if _is_code(abroad) and own in ("", _country(abroad)):
            return code.start()
        if not abroad and not own:
            return code.start()
        if own and _is_code(abroad):
            return None  # of another country
    for head in _heads(national, own, before[-3:]):
        h = k - len(head)
        if h >= 0 and before.endswith(head) and at[h] >= low and not (h and at[h - 1] + 1 == at[h]):
            return at[h]
    if not own:  # "wa.me/33612345678" for a number that is known without its country
        for n in range(1, min(k, 4) + 1):
            is_glued = at[k] - at[k - n] == n and not (k > n and at[k - n - 1] + 1 == at[k - n])
            if is_glued and at[k - n] >= low and _is_code(before[k - n :]):
                return at[k - n]
    return None if k and at[k - 1] + 1 == at[k] else at[k]


def _heads(national: str, own: str, before: str) -> Iterator[str]:
    """Yield the prefixes that may precede national digits, without a +, longest first.

    - before: the three digits before the national digits.
    """
    if own in ("", "55") and len(national) in (10, 11) and _CARRIER.fullmatch(before):
        yield before
    if own:
        yield from sorted({a + b for a, b in product((own, ""), ("0", *_trunks(own)))}, key=len, reverse=True)
        return
    yield from {9: ("80", "06"), 10: ("8", "1")}.get(len(national), ())
    yield "0"
