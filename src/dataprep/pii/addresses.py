"""Find IP addresses of machines, but not private addresses, addresses in examples, versions or section numbers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from .context_words import HOST, TRAFFIC, VERSION
from .labels import is_labelled, words

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


def addresses(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each publicly routed IP address in a line of text, as offsets in characters."""
    if text.count(":") > 1:
        yield from (m.span() for m in _IPV6.finditer(text) if _is_global_v6(m[0]))
    for m in _IPV4.finditer(text) if text.count(".") > 2 else ():
        address = ipaddress.IPv4Address(m[0])
        nobodys = any(address in network for network in _NOBODYS) or is_version(text, *m.span())
        small = max(address.packed) < MIN_LARGEST
        doubtful = small or address.packed[0] < MIN_FIRST
        doubtful = doubtful and not is_host(text, *m.span(), small=small)
        if not (nobodys or doubtful or is_labelled(text, m.start())):
            yield m.span()


# Words, up to three before four small numbers, that show that they are an address all the same; the second ones, and
# the beginning of a line, only if one of the numbers is not small.
_OF_HOST = frozenset(words(HOST))
_OF_TRAFFIC = frozenset(words(TRAFFIC))
_OF_VERSION = frozenset(words(VERSION))
_VERSION_AFTER = re.compile(
    r"[-+~][0-9]*(?:generic|ubuntu|deb|el[0-9]|fc[0-9]|dev|snapshot)"
    r"|[ (-]{1,2}(?:beta|alpha|rc|release|build|version|update|lts|stable)\b", re.IGNORECASE,
)
_UNSPACED_VERSION = re.compile(r"(?:版本|バージョン|버전|เวอร์ชัน|固件|ファームウェア)[^0-9]{0,4}\Z")
_WORD = re.compile(r"[^\W\d_]+|§")
_LAST = re.compile(r"[^0-9\n]+\Z")


def _words_before(text: str, start: int, n: int) -> list[str]:
    """Return up to `n` lower-cased words between the last digit before an address and the address."""
    before = _LAST.search(text, max(0, start - 40), start)
    return _WORD.findall(before[0].lower())[-n:] if before else []


def is_host(text: str, start: int, end: int, *, small: bool) -> bool:
    """Return whether four small numbers are an address: in a log, before a port, or after a word such as "server"."""
    some = _words_before(text, start, 3)
    if not _OF_HOST.isdisjoint(some):
        return True
    before = text[max(0, start - 2) : start]
    logged = before[-1:] in ("", "\n", "@", "[", "=") or before == "//" or _LOGGED.match(text, end)
    return not small and bool(logged or not _OF_TRAFFIC.isdisjoint(some))


_LOGGED = re.compile(r":[0-9]{2,5}\b|/(?:8|16|24|32)\b| - ")


def is_version(text: str, start: int, end: int) -> bool:
    """Return whether four numbers are a program version or part of a phone number: lib-1.2.3.44, 07 76.91.52.46."""
    before = text[max(0, start - 24) : start]
    if _VERSION_AFTER.match(text, end) or _UNSPACED_VERSION.search(before):
        return True
    if _PAIRS.fullmatch(text, start, end) and _LEADS.search(before):
        return True  # 07  76.91.52.46
    if re.search(r"[0-9]/\Z", before) and not re.search(r"(?:\.[0-9]{1,3}){3}/\Z", before):
        return True  # 089/66.31.86.20
    m = _PRODUCT.search(before)
    if m is not None and (m[1].lower() in _OF_VERSION or ".0." in text[start:end]):
        return True
    some = _words_before(text, start, 4)
    named = not _OF_VERSION.isdisjoint(some) or any(word.endswith("version") for word in some)  # AssemblyVersion
    return named and _OF_HOST.isdisjoint(some)


_PAIRS = re.compile(r"[0-9]{2}(?:\.[0-9]{2}){3}")
_LEADS = re.compile(  # the beginning of a phone number
    r"(?<![0-9.,:])(?:\+[0-9]{1,3}[ .]?(?:\(0\))?[0-9]{1,2}|\(?0[1-9][0-9]{0,2}\)?)[ .]{1,2}\Z"
)
_PRODUCT = re.compile(r"(?<![/.\w])([A-Za-z][\w.]*)[/-]\Z")  # Chrome/120.0.0.0, lib-1.2.3.44


def _is_global_v6(text: str) -> bool:
    try:
        address = ipaddress.IPv6Address(text)
        return address in _GLOBAL_V6 and not any(address in network for network in _EXAMPLES_V6)
    except ValueError:
        return False
