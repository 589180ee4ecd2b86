"""Patterns that find personal data, with a check for each kind of data; no match crosses a line break."""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .cards import cards
from .kinds import KINDS, PIIKind, mod97
from .labels import is_labelled
from .numbers import phones
from .signs import APART, plain


class Match(NamedTuple):
    """Personal data found in a text: text[start:end], counted in characters, and its kind, such as "email"."""

    start: int
    end: int
    kind: str


# A label of a host name has at most 63 characters, the part before the @ at most 64 (RFC 5321); any script.
_MARKS = "\u0900-\u0963\u0966-\u0dff"  # the scripts of India, whose vowel signs are no \\w
_LABEL = rf"(?:[^\W_]|[{_MARKS}])(?:[\w{_MARKS}-]{{0,61}}(?:[^\W_]|[{_MARKS}]))?"
_TOP = rf"(?:[A-Za-z]{{2,24}}(?![0-9A-Za-z_])|(?:[^\W\d_A-Za-z]|[{_MARKS}]){{2,24}}(?!\w))"  # one script: "a@b.com" before a Han letter
_EMAIL = re.compile(rf"(?<![\w+%@{_MARKS}])(?:[OoDd]['’])?[\w{_MARKS}](?:[\w.+%{_MARKS}-]{{0,62}}[\w+{_MARKS}-])?@(?:{_LABEL}\.){{1,8}}{_TOP}")
BEFORE_AT = 66  # characters of an address before its @, at most
# Letters of scripts without spaces between words: text before an address, unless all of its first part is in them.
_LETTERS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_UNSPACED = re.compile(rf".*[{_LETTERS}](?=[0-9A-Za-z])")

_TO = re.compile(rf"[{_LETTERS}]{{2,}}(?:[至到给給往为為是は]|まで|ไปที่|ที่)(?=[{_LETTERS}]+\Z)")  # "send to" before such a part

_FILE_SUFFIXES = """
png jpg jpeg gif svg webp ico bmp tiff js jsx mjs cjs ts tsx css scss html htm xml json yaml yml toml ini cfg conf txt
csv log lock pdf doc docx xls xlsx ppt pptx tar gz tgz exe dll jar whl patch diff java heic avif dmg ttf woff eot sql
sqlite bak tmp vue scss sass less rb kt cpp hpp service socket timer mount slice
"""
FILE_SUFFIXES = frozenset(_FILE_SUFFIXES.split())  # none is a top-level domain

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_QUAD = rf"(?:{_OCTET}\.){{3}}{_OCTET}(?!\w)(?!\.\d)"
_IPV4 = re.compile(rf"(?<![\w.]){_QUAD}", re.ASCII)
_IPV6 = re.compile(rf"(?<![\w:.])(?:[0-9A-Fa-f]{{0,4}}:){{2,8}}(?:{_QUAD}|[0-9A-Fa-f]{{0,4}})(?![\w:])", re.ASCII)
_NOBODYS = tuple(  # networks whose addresses identify no machine (RFC 6890): local, private, multicast, of examples
    ipaddress.ip_network(n)
    for n in ("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
              "192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
              "224.0.0.0/3")
)  # fmt: skip
# Four small numbers are a section (6.3.1.4) or a version: five of six matches in Debian's manuals and tldr's pages
# were small (1,999 of 2,395). One address in 4,096 has no number from 32.
MIN_LARGEST = 32
MIN_FIRST = 6  # so are most that begin with a number below it; 2 % of all addresses do
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # all assigned addresses; excludes C++, in which `a::b` matches
_EXAMPLES_V6 = (ipaddress.ip_network("2001:db8::/32"), ipaddress.ip_network("3fff::/20"))

# Characters of an IBAN by country (ISO 13616, the SWIFT registry; MA is in use without registration).
_IBAN_LENGTHS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24
FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32
LI21 LT20 LU20 LV21 LY25 MA28 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29
RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
IBAN_LENGTHS = {entry[:2]: int(entry[2:]) for entry in _IBAN_LENGTHS.split()}
_IBAN = re.compile(rf"[A-Za-z](?<!\w[A-Za-z])(?:(?<=[A-Z])[A-Z]|(?<=[a-z])[a-z])[0-9]{{2}}(?=[{APART}]?[A-Za-z0-9])", re.ASCII)


def find(text: str, kinds: Sequence[str], more: Sequence[PIIKind] = ()) -> list[Match]:
    """Return the personal data of the given kinds ("email", "phone" ...) in a line, in order and without overlaps.

    more: further kinds; they have precedence over `kinds`.
    """
    found: list[Match] = []
    for own in more:
        found = with_kind(found, own.find(text), own.name)
    for kind in KINDS:
        if kind in kinds:
            found = with_kind(found, FINDERS[kind](text), kind)
    return found


def with_kind(found: list[Match], spans: Iterable[tuple[int, int]], kind: str) -> list[Match]:
    """Return the matches with those spans of a kind that overlap none of them, in order."""
    new: list[Match] = []
    for a, b in sorted(spans):
        before = bisect_left(found, (b,)) - 1  # the last match that begins before the end of this one
        if (before < 0 or found[before].end <= a) and (not new or new[-1].end <= a):
            new.append(Match(a, b, kind))
    return sorted(found + new) if found and new else found or new


# What ends before an address that is none: the user of a URL, and the label of an identifier of a message.
_NO_ADDRESS = re.compile(
    r"(?:(?<!mailto)(?<!xmpp)(?<!sip)://[^\s/@]*|(?:Message-ID|In-Reply-To|References|Content-ID):? ?<)\Z", re.IGNORECASE
)
_PATH = re.compile(r":[\w~.-]*/[\w.-]|:[\w.-]+\.git\b|\(")  # after git@host, after an operator and a function


def _is_file(text: str, start: int, end: int) -> bool:
    """Return whether what looks like an address is a file, a package, a repository, code or a part of a URL.

    Such as image@2x.png, react@latest.js, git@host.com:a/b, a@b.mean(), https://user:word@host.com.
    """
    if text[text.rfind(".", start, end) + 1 : end].lower() in FILE_SUFFIXES or _PATH.match(text, end):
        return True
    return text[start - 1 : start] in ("/", ":", "<") and _NO_ADDRESS.search(text, max(0, start - 80), start) is not None


def emails(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each e-mail address in a line of text, as offsets in characters."""
    at, end = text.find("@"), 0
    while at >= 0 and (m := _EMAIL.search(text, max(end, at - BEFORE_AT))):
        end = m.end()
        at = text.find("@", end)
        if not _is_file(text, *m.span()):
            sign = text.index("@", m.start())
            glued = _UNSPACED.match(text, m.start(), sign) or _TO.match(text, m.start(), sign)
            yield (glued.end() if glued else m.start()), m.end()


def _ips(text: str) -> Iterator[tuple[int, int]]:
    if text.count(":") > 1:
        yield from (m.span() for m in _IPV6.finditer(text) if _is_global_v6(m[0]))
    for m in _IPV4.finditer(text) if text.count(".") > 2 else ():
        address = ipaddress.IPv4Address(m[0])
        nobodys = any(address in network for network in _NOBODYS) or _is_version(text, *m.span())
        small = max(address.packed) < MIN_LARGEST
        doubtful = small or address.packed[0] < MIN_FIRST
        if not nobodys and not (doubtful and not _is_host(text, *m.span(), small)) and not is_labelled(text, m.start()):
            yield m.span()


# Words, up to three before four small numbers, that show that they are an address all the same; the second ones, and
# the beginning of a line, only if one of the numbers is not small.
_OF_HOST = frozenset(
    "ip ips ipv4 addr address host hosts dns server servers ping gateway resolver nameserver adresse dirección direccion endereço "
    "indirizzo адрес айпи آيبي serveur servidor عنوان الخادم سيرفر whois traceroute сервер sunucu".split()
)
_OF_TRAFFIC = frozenset(
    "remote src dst client from ssh via depuis desde von с от login connection connected accepted rejected blocked banned ban router "
    "peer proxy traffic request requests for forwarded rhost logged visitor visitors من a to".split()
)
_OF_VERSION = frozenset(
    "version versión versão versione versie verze verzió verzia versiune wersja wersji wersję versi sürüm sürümü версия версии версию "
    "версія версії إصدار الإصدار نسخة النسخة نسخه έκδοση גרסה phiên bản संस्करण সংস্করণ firmware micrologiciel logiciel software "
    "release releases build builds update updated upgrade upgraded patch patched hotfix aktualisiert app application applicatif "
    "chrome chromium firefox safari edge opera windows macos ios android linux kernel driver drivers bios java jdk office nginx apache "
    "openssl python mysql oracle oid asn schema dll sdk api ec section sections chapter clause article §  v ver rev прошивка обновление "
    "обновления прошивки aggiornamento actualización atualização güncelleme تحديث التحديث pilote plugin package library lib".split()
)
_VERSION_AFTER = re.compile(r"[-+~][0-9]*[a-z]|[ (-]{1,2}(?:beta|alpha|rc|release|build|version|update|lts|stable)\b", re.IGNORECASE)
_UNSPACED_VERSION = re.compile(r"(?:版本|バージョン|버전|เวอร์ชัน|固件|ファームウェア)[^0-9]{0,4}\Z")
_WORD = re.compile(r"[^\W\d_]+|§")
_LAST = re.compile(r"[^0-9\n]+\Z")


def _words_before(text: str, start: int, n: int) -> list[str]:
    """Return up to `n` words before an address and behind any digit, in lower case."""
    before = _LAST.search(text, max(0, start - 40), start)
    return _WORD.findall(before[0].lower())[-n:] if before else []


def _is_host(text: str, start: int, end: int, small: bool) -> bool:
    """Return whether four small numbers are an address: in a log, before a port, or after a word such as "server"."""
    some = _words_before(text, start, 3)
    if not _OF_HOST.isdisjoint(some):
        return True
    before = text[max(0, start - 2) : start]
    logged = before[-1:] in ("", "\n", "@", "[", "=") or before == "//" or _LOGGED.match(text, end)
    return not small and bool(logged or not _OF_TRAFFIC.isdisjoint(some))


_LOGGED = re.compile(r":[0-9]{2,5}\b|/(?:8|16|24|32)\b| - ")


def _is_version(text: str, start: int, end: int) -> bool:
    """Return whether four numbers are the version of a program: Chrome/120.0.0.0, lib-1.2.3.44, 5.15.0.91-generic."""
    before = text[max(0, start - 24) : start]
    if _VERSION_AFTER.match(text, end) or _UNSPACED_VERSION.search(before):
        return True
    if re.search(r"[0-9]/\Z", before) and not re.search(r"(?:\.[0-9]{1,3}){3}/\Z", before):
        return True  # 089/66.31.86.20
    m = _PRODUCT.search(before)
    if m is not None and m[1].lower() not in _OF_HOST:
        return True
    some = _words_before(text, start, 4)
    return not _OF_VERSION.isdisjoint(some) and _OF_HOST.isdisjoint(some)


_PRODUCT = re.compile(r"(?<![/.\w])([A-Za-z][\w.]*)[/-]\Z")  # Chrome/120.0.0.0, lib-1.2.3.44


def _is_global_v6(text: str) -> bool:
    try:
        address = ipaddress.IPv6Address(text)
        return address in _GLOBAL_V6 and not any(address in network for network in _EXAMPLES_V6)
    except ValueError:
        return False


def _ibans(text: str) -> Iterator[tuple[int, int]]:
    text = plain(text)
    for start in _IBAN.finditer(text):
        country = start[0][:2]
        m = _iban_of(country).match(text, start.start()) if country.upper() in IBAN_LENGTHS else None
        if m and mod97(re.sub(f"[{APART}]", "", m[0])):
            yield m.span()


@cache
def _iban_of(country: str) -> re.Pattern[str]:
    rest = IBAN_LENGTHS[country.upper()] - 4
    if country.isupper():
        return re.compile(rf"[A-Z]{{2}}[0-9]{{2}}(?:[{APART}]?[A-Z0-9]){{{rest}}}(?!\w)", re.ASCII)
    four = f"(?:[{APART}]?(?=[a-z]*[0-9])[a-z0-9]{{4}}){{{rest // 4}}}"  # in lower case: in groups of four, with digits
    end = f"[{APART}]?[a-z0-9]{{{rest % 4}}}" if rest % 4 else ""
    return re.compile(rf"[a-z]{{2}}[0-9]{{2}}{four}{end}(?!\w)", re.ASCII)


FINDERS: dict[str, Callable[[str], Iterator[tuple[int, int]]]] = {
    "email": emails, "ip": _ips, "iban": _ibans, "card": cards, "phone": phones,
}  # fmt: skip
