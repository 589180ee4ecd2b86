"""Hosts of URLs in the normal form of the URL Standard (WHATWG): names in Punycode (UTS 46), and IP addresses."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import unquote

from .assigned import normalized, over_assigned

SPECIAL = re.compile(r"[\x00-\x20#/<>?@\[\]\\^|%:\x7f]")  # not in host names, once escapes are decoded
NO_NAME = re.compile("[\ufdd0-\ufdef\ufffd\uffff]")  # bytes that are not UTF-8, and code points without a character
PLAIN = re.compile(r"(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*")  # a host that is in its form
HIDDEN = re.compile(r"[\x00-\x1f\x7f]")
LABEL_ENDS = re.compile("[.\u3002\uff0e\uff61]")
UNSEEN = re.compile("[\xad\u034f\u200b\u2060\u2064\ufeff\u180b-\u180d\u180f\ufe00-\ufe0f]")  # that UTS 46 removes
NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")
FOUR_BYTES = 1 << 32


def host_name(host: str) -> str:
    """Return a host in the form of the URL Standard (WHATWG), without dots at the end; "" if it is not a host.

    Names are converted to lower case and Punycode (UTS 46, nontransitional processing). IPv4 addresses, including those
    written in decimal, octal or hex, become four decimal numbers; so do IPv6 addresses that contain an IPv4 address
    (::ffff:1.2.3.4). Other IPv6 addresses are written in the compressed form. Control characters are removed.

    >>> host_name("WWW.Exämple.ORG."), host_name("0x7f.1"), host_name("[0:0::1]")
    ('www.xn--exmple-cua.org', '127.0.0.1', '[::1]')
    """
    if PLAIN.fullmatch(host) and "xn--" not in host:
        return host
    if host.startswith("["):
        return _ipv6(HIDDEN.sub("", host))
    host = HIDDEN.sub("", unquote(host) if "%" in host else host)
    if NO_NAME.search(host):
        return ""
    if not host.isascii():
        host = _in_ascii(host)
    host = over_assigned(str.lower, host).rstrip(".")
    if SPECIAL.search(host) or ("xn--" in host and not all(map(_may_be_label, host.split(".")))):
        return ""
    return _ipv4(host) if NUMBER.fullmatch(host.rpartition(".")[2]) else host


def _in_ascii(host: str) -> str:
    """Return a host name as UTS 46 maps it, with labels of other characters in Punycode."""
    seen = UNSEEN.sub("", host)
    kept = [c.lower() if c in "ßẞς" else normalized("NFKC", over_assigned(str.casefold, c)) for c in seen]
    mapped = normalized("NFKC", "".join(kept))
    labels = (label.lower() for label in LABEL_ENDS.split(mapped))
    return ".".join(x if x.isascii() else "xn--" + x.encode("punycode", "replace").decode() for x in labels)


def in_unicode(host: str) -> str:
    """Return a host with the labels in Punycode decoded; a label that is not valid Punycode is kept."""
    return ".".join(_label(label) for label in host.split("."))


def _may_be_label(label: str) -> bool:
    """Return whether a label is not Punycode, or is the Punycode of a name that UTS 46 leaves unchanged."""
    name = _label(label)
    return not label.startswith("xn--") or (not name.isascii() and _in_ascii(name) == label)


def _label(label: str) -> str:
    try:
        return label[4:].encode("ascii").decode("punycode") if label.startswith("xn--") else label
    except ValueError:
        return label


def _ipv4(host: str) -> str:
    """Return an IPv4 address as four decimal numbers; "" if it is out of range. The last number fills the rest."""
    labels = host.split(".")
    if len(labels) > 4 or not all(NUMBER.fullmatch(label) for label in labels):
        return ""
    try:
        numbers = [_number(label) for label in labels]
    except ValueError:  # 08
        return ""
    value = numbers.pop()
    if any(number > 255 for number in numbers) or value >= FOUR_BYTES >> 8 * len(numbers):
        return ""
    value += sum(number << 8 * (3 - i) for i, number in enumerate(numbers))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def _number(label: str) -> int:
    if len(label) > 64:
        return FOUR_BYTES
    base = 16 if label[:2] in {"0x", "0X"} else 8 if label[0] == "0" else 10
    return int(label.removeprefix("0x").removeprefix("0X") or "0", base)


def _ipv6(host: str) -> str:
    """Return an IPv6 address in brackets, compressed, or the IPv4 address that it maps; "" if it is not an address."""
    try:
        address = ipaddress.IPv6Address(host[1:].removesuffix("]") if host.endswith("]") else "")
    except ValueError:
        return ""
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return "" if address.scope_id else f"[{address.compressed}]"
