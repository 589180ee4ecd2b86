"""Patterns of personal data, and a check for each kind; no match crosses a line break."""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

KINDS = ("email", "ip", "iban", "card", "phone")  # an earlier kind has precedence over a later one


class Match(NamedTuple):
    """A match, in characters of a text."""

    start: int
    end: int
    kind: str


# A label of a host name has at most 63 characters, the part before the @ at most 64 (RFC 5321); any script.
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_EMAIL = re.compile(rf"(?<![\w+%@])\w(?:[\w.+%-]{{0,62}}[\w+-])?@(?:{_LABEL}\.){{1,8}}[^\W\d_]{{2,24}}(?!\w)")

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(rf"(?<![\w.])(?:{_OCTET}\.){{3}}{_OCTET}(?!\w)(?!\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_NOBODYS = tuple(  # networks whose addresses identify no machine (RFC 6890): local, private, multicast
    ipaddress.ip_network(n)
    for n in ("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
              "224.0.0.0/3")
)  # fmt: skip
# Four small numbers are a section (6.3.1.4) or a version: five of six matches in Debian's manuals and tldr's pages
# were small (1,999 of 2,395). One address in 4,096 has no number from 32.
MIN_LARGEST = 32
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # all assigned addresses; excludes C++, in which `a::b` matches

# Digits in groups of four, or as the issuer prints them (Amex 4-6-5, Diners 4-6-4), one sign between groups.
_CARD = re.compile(
    r"(?<!\w)(?<![0-9][ .-])(?:[2-6][0-9]{3}([ -]?)[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    r"|3[0-9]{3}([ -]?)[0-9]{6}\2[0-9]{4,5})(?!\w)(?![ .-][0-9])"
)

_D, _GAP = "[0-9٠-٩۰-۹]", "[ \u00a0\u202f.\u2010\u2011/()-]{0,3}"
_ONE, _ZERO, _SIGN = "[1-9١-٩۱-۹]", "[0٠۰]", "[.\u2010\u2011-]"
_NUMBER = (
    rf"((?:\+|{_ZERO}{{2}}(?={_ONE})){_ONE}(?:{_GAP}{_D}){{7,14}}"  # +212 6 12 34 56 78, E.164: at most 15 digits
    rf"|{_ZERO}{_ONE}(?:[ \u00a0\u202f./\u2010\u2011-]?{_D}){{7,9}}"  # 06 12 34 56 78
    r"|(?:(?<=@)(?<!\w@)|(?<=wa\.me/))[1-9][0-9]{9,14}"  # @212612345678: a mention of a number without a contact
    rf"|(?:\([2-9][0-9]{{2}}\) ?|[2-9][0-9]{{2}}{_SIGN})[2-9][0-9]{{2}}{_SIGN}[0-9]{{4}}"  # (212) 555-0123
    rf")(?!\w)(?![.:-]?{_D})"
)
_PHONE = re.compile(rf"(?<!\w)(?<!{_D}[ .,:/+-]){_NUMBER}")
_NEXT_PHONE = re.compile(rf"[ ,;/]{{1,3}}{_NUMBER}")  # may follow digits if these are a phone
_NOT_AFTER = re.compile(  # words before a number that is not personal
    r"\b(?:isbn|issn|ean|doi|arxiv|version|ver|v|release|build|rfc|section)(?:-1[03])?[ \t:.=#]{0,3}\Z", re.IGNORECASE
)

_NO_PHONE = re.compile(  # 05.06.2024, 05/06/24; an American post code, 02110-1301
    rf"{_D}{{2}}([./-]){_D}{{2}}\1(?:{_D}{{2}}){{1,2}}(?!{_D}|\1)|[0-9]{{5}}-[0-9]{{4}}\Z"
)

# Characters of an IBAN by country (ISO 13616, the SWIFT registry; MA is in use without registration).
_IBAN_LENGTHS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24
FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32
LI21 LT20 LU20 LV21 LY25 MA28 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29
RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
IBAN_LENGTHS = {entry[:2]: int(entry[2:]) for entry in _IBAN_LENGTHS.split()}
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}[0-9]{2}(?=[ \u00a0-]?[A-Z0-9])")


def find(text: str, kinds: tuple[str, ...]) -> list[Match]:
    """Return all matches of these kinds in a text, in order; none overlaps another."""
    found: list[Match] = []
    for kind in KINDS:
        if kind in kinds:
            new = [Match(a, b, kind) for a, b in _FINDERS[kind](text) if _is_free(found, a, b)]
            found = sorted(found + new)
    return found


def luhn(digits: str) -> bool:
    """Return whether a card number's check digit is right (ISO/IEC 7812, Luhn)."""
    twice = (sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(twice)) % 10 == 0


def mod97(iban: str) -> bool:
    """Return whether the check digits of an IBAN are right (ISO 7064, MOD 97-10)."""
    return int("".join(str(int(c, 36)) for c in iban[4:] + iban[:4])) % 97 == 1


def issued(digits: str) -> bool:
    """Return whether card networks issue numbers with this prefix and length."""
    n, two, four = len(digits), int(digits[:2]), int(digits[:4])
    if n == 14:  # Diners
        return 3000 <= four <= 3059 or two in (36, 38, 39)
    if n == 15:  # American Express
        return two in (34, 37)
    world = two // 10 == 4 or four == 6011 or two in (62, 65) or 6440 <= four <= 6499  # Visa, Discover, UnionPay
    return world or (n == 16 and (51 <= two <= 55 or 2221 <= four <= 2720 or 3528 <= four <= 3589))


def _is_free(found: list[Match], start: int, end: int) -> bool:
    before = bisect_left(found, (end,)) - 1  # the last that begins before the end
    return before < 0 or found[before].end <= start


def _emails(text: str) -> Iterator[tuple[int, int]]:
    return (m.span() for m in _EMAIL.finditer(text))


def _ips(text: str) -> Iterator[tuple[int, int]]:
    yield from (m.span() for m in _IPV6.finditer(text) if _is_global_v6(m[0]))
    for m in _IPV4.finditer(text):
        address = ipaddress.IPv4Address(m[0])
        nobodys = max(address.packed) < MIN_LARGEST or any(address in network for network in _NOBODYS)
        if not nobodys and not _is_named(text, m.start()):
            yield m.span()


def _is_global_v6(text: str) -> bool:
    try:
        return ipaddress.IPv6Address(text) in _GLOBAL_V6
    except ValueError:
        return False


def _cards(text: str) -> Iterator[tuple[int, int]]:
    for m in _CARD.finditer(text):
        digits = re.sub(r"\D", "", m[0])
        if issued(digits) and luhn(digits):
            yield m.span()


def _ibans(text: str) -> Iterator[tuple[int, int]]:
    for start in _IBAN.finditer(text):
        m = _iban_of(start[0][:2]).match(text, start.start()) if start[0][:2] in IBAN_LENGTHS else None
        if m and mod97(re.sub(r"[ \u00a0-]", "", m[0])):
            yield m.span()


@cache
def _iban_of(country: str) -> re.Pattern[str]:
    return re.compile(rf"[A-Z]{{2}}[0-9]{{2}}(?:[ \u00a0-]?[A-Z0-9]){{{IBAN_LENGTHS[country] - 4}}}(?!\w)")


def _phones(text: str) -> Iterator[tuple[int, int]]:
    m = _PHONE.search(text)
    while m:
        start, end = m.span(1)
        good = not (_NO_PHONE.match(m[1]) or _is_named(text, start) or _is_isbn(text, start, end))
        if good:
            yield start, end
        m = (_NEXT_PHONE.match(text, end) if good else None) or _PHONE.search(text, end)


def _is_isbn(text: str, start: int, end: int) -> bool:
    """Return whether this is an ISBN-10 in a URL: its digits, weighted 10 to 1, sum to a multiple of 11."""
    number = text[start:end]
    if text[start - 1 : start] != "/" or not re.fullmatch("[0-9]{10}", number):
        return False
    return sum(weight * int(d) for weight, d in zip(range(10, 0, -1), number, strict=True)) % 11 == 0


def _is_named(text: str, start: int) -> bool:
    return _NOT_AFTER.search(text[max(0, start - 20) : start]) is not None


_FINDERS: dict[str, Callable[[str], Iterator[tuple[int, int]]]] = {
    "email": _emails, "ip": _ips, "iban": _ibans, "card": _cards, "phone": _phones,
}  # fmt: skip
