"""Patterns that find personal data, with a check for each kind of data; no match crosses a line break."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .addresses import addresses
from .cards import WORD_OR_END, cards
from .kinds import KINDS, PIIKind, mod97
from .numbers import phones
from .signs import APART, plain


class Match(NamedTuple):
    """Personal data found in a text: text[start:end], counted in characters, and its kind, such as "email"."""

    start: int
    end: int
    kind: str


QUAD = r"(?!127\.)(?:[0-9]{1,3}\.){3}[0-9]{1,3}"  # an address of a machine, after the @, but not of this one
# A label of a host name has at most 63 characters, the part before the @ at most 64 (RFC 5321); any script.
_MARKS = "\u0900-\u0963\u0966-\u0dff"  # the scripts of India, whose vowel signs are no \\w


OLD = r"(?=_[A-Za-z]{3,}(?![\w.]))"  # a word after an address: joe@x.org_old


def _email(marks: str) -> re.Pattern[str]:
    """Return the pattern of an e-mail address in which certain marks also count as letters."""
    letter = rf"(?:[^\W_]|[{marks}])" if marks else r"[^\W_]"
    label = rf"{letter}(?:[\w{marks}-]{{0,61}}{letter})?"
    other = rf"(?:[^\W\d_A-Za-z]|[{marks}])" if marks else r"[^\W\d_A-Za-z]"
    top = (  # one script: "a@b.com" before a Han letter; or Punycode
        rf"(?:xn--[0-9A-Za-z-]{{1,58}}[0-9A-Za-z](?:(?![0-9A-Za-z_-])|{OLD})|[A-Za-z]{{2,24}}(?:(?![0-9A-Za-z_])|{OLD})"
        rf"|{other}{{2,24}}(?!\w))"
    )
    irish = rf"(?:(?:[\w{marks}][\w.+%{marks}-]{{0,40}}[._-])?[OoDd]['’])?"  # joe.o'neil
    first = rf"(?<![\w+%@{marks}]){irish}[\w{marks}](?:[\w.+%{marks}-]{{0,62}}[\w+{marks}-])?"
    return re.compile(rf"{first}@(?:(?:{label}\.){{1,8}}{top}|\[{QUAD}\]|{QUAD}(?!\w)(?!\.\w))")


_EMAIL, _EMAIL_OF_INDIA = _email(""), _email(_MARKS)
_INDIAN = re.compile(f"@(?:[{_MARKS}]|(?<=[{_MARKS}]@))")
BEFORE_AT = 66  # characters of an address before its @, at most
# Letters of scripts without spaces between words: text before an address, unless its whole first part is in them.
_LETTERS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_UNSPACED = re.compile(rf".*[{_LETTERS}](?=[0-9A-Za-z])")

_TO = re.compile(
    rf"[{_LETTERS}]{{2,}}(?:[至到给給往为為是は]|まで|ไปที่|ที่)(?=[{_LETTERS}]+\Z)"
)  # "send to" before such a part

_FILE_SUFFIXES = """
png jpg jpeg gif svg webp ico bmp tiff js jsx mjs cjs ts tsx css scss html htm xml json yaml yml toml ini cfg conf txt
csv log lock pdf doc docx xls xlsx ppt pptx tar gz tgz exe dll jar whl patch diff java heic avif dmg ttf woff eot sql
sqlite bak tmp vue scss sass less rb kt cpp hpp service socket timer mount slice
"""
FILE_SUFFIXES = frozenset(_FILE_SUFFIXES.split())  # none is a top-level domain

# Characters of an IBAN by country (ISO 13616, the SWIFT registry; MA is in use without registration).
_IBAN_LENGTHS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24
FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32
LI21 LT20 LU20 LV21 LY25 MA28 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29
RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
IBAN_LENGTHS = {entry[:2]: int(entry[2:]) for entry in _IBAN_LENGTHS.split()}
_IBAN = re.compile(  # what precedes is tried after the first digit, which makes the search fast
    rf"[0-9](?:(?<=[A-Z]{{2}}[0-9])(?<!\w[A-Z]{{2}}[0-9])|(?<=[a-z]{{2}}[0-9])(?<!\w[a-z]{{2}}[0-9])"
    rf"|(?<=[Ii][Bb][Aa][Nn][A-Z]{{2}}[0-9]))[0-9](?=[{APART}]{{0,2}}[A-Za-z0-9])", re.ASCII,
)  # fmt: skip


def find(text: str, kinds: Sequence[str], more: Sequence[PIIKind] = ()) -> list[Match]:
    """Return the personal data of the given kinds ("email", "phone" ...) in a line, in order and without overlaps.

    - more: further kinds, which take precedence over `kinds`.
    """
    found: list[Match] = []
    for own in more:
        found = with_kind(found, own.find(text), own.name)
    for kind in KINDS:
        if kind in kinds:
            found = with_kind(found, FINDERS[kind](text), kind)
    return found


def with_kind(found: list[Match], spans: Iterable[tuple[int, int]], kind: str) -> list[Match]:
    """Return the matches `found`, plus the `spans` that overlap none of them as matches of `kind`, in order."""
    new: list[Match] = []
    for a, b in sorted(spans):
        before = bisect_left(found, (b,)) - 1  # the last match that begins before the end of this one
        if (before < 0 or found[before].end <= a) and (not new or new[-1].end <= a):
            new.append(Match(a, b, kind))
    return sorted(found + new) if found and new else found or new


# What ends before an address that is none: the user of a URL, and the label of an identifier of a message.
_NO_ADDRESS = re.compile(
    r"(?:(?<!mailto)(?<!xmpp)(?<!sip)://[^\s/@]*|(?:Message-ID|In-Reply-To|References|Content-ID):? ?<)\Z",
    re.IGNORECASE,
)
_PATH = re.compile(r":[\w~.-]*/[\w.-]|:[\w.-]+\.git\b|\(")  # after git@host, after an operator and a function


def _own_start(text: str, start: int) -> int:
    """Return the start of an address, without the words that scripts without spaces write directly before it."""
    sign = text.index("@", start)
    glued = _UNSPACED.match(text, start, sign) or _TO.match(text, start, sign)
    return glued.end() if glued else start


def _is_file(text: str, start: int, end: int) -> bool:
    """Return whether a match of the address pattern is a file, package, repository, code or part of a URL.

    Examples are image@2x.png, react@latest.js, git@host.com:a/b, a@b.mean(), https://user:word@host.com.
    """
    if text[text.rfind(".", start, end) + 1 : end].lower() in FILE_SUFFIXES:
        return True
    if text[end : end + 1] in (":", "(") and _PATH.match(text, end):
        return True
    return text[start - 1] in "/:<" and _NO_ADDRESS.search(text, max(0, start - 80), start) is not None


def _word_start(text: str, start: int, at: int) -> int:
    """Return the start of the word that ends before `at`, but not before `start`."""
    return max(start, text.rfind(" ", start, at) + 1, text.rfind("\n", start, at) + 1)


def emails(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each e-mail address in a line of text, as offsets in characters."""
    pattern = _EMAIL if text.isascii() or not _INDIAN.search(text) else _EMAIL_OF_INDIA
    at, end = text.find("@"), 0
    while at >= 0 and (m := pattern.search(text, _word_start(text, max(end, at - BEFORE_AT), at))):
        end = m.end()
        at = text.find("@", end)
        if not _is_file(text, *m.span()):
            yield (m.start() if m[0].isascii() else _own_start(text, m.start())), m.end()


def _ibans(text: str) -> Iterator[tuple[int, int]]:
    text = plain(text)
    for digits in _IBAN.finditer(text):
        start = digits.start() - 2
        country = text[start : start + 2]
        m = _iban_of(country).match(text, start) if country.upper() in IBAN_LENGTHS else None
        if m and mod97(re.sub(f"[{APART}]", "", m[0])):
            yield m.span()


@cache
def _iban_of(country: str) -> re.Pattern[str]:
    rest = IBAN_LENGTHS[country.upper()] - 4
    if country.isupper():
        return re.compile(rf"[A-Z]{{2}}[0-9]{{2}}(?:[{APART}]{{0,2}}[A-Z0-9]){{{rest}}}{WORD_OR_END}", re.ASCII)
    four = f"(?:[{APART}]?(?=[a-z]*[0-9])[a-z0-9]{{4}}){{{rest // 4}}}"  # in lower case: in groups of four, with digits
    end = f"[{APART}]?[a-z0-9]{{{rest % 4}}}" if rest % 4 else ""
    return re.compile(rf"[a-z]{{2}}[0-9]{{2}}{four}{end}(?!\w)", re.ASCII)


FINDERS: dict[str, Callable[[str], Iterator[tuple[int, int]]]] = {
    "email": emails, "ip": addresses, "iban": _ibans, "card": cards, "phone": phones,
}  # fmt: skip
