"""Hosts and paths of the URLs in a column; each distinct URL is parsed once."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import Batch
from dataprep.errors import PlanError
from dataprep.unicode.assigned import normalized, over_assigned

# The authority as browsers find it (WHATWG, URL Standard): after `http:` with any slashes, or after two or more; up to
# one of `/?#\\`; a user name ends at the last `@`. Without them, what looks like a host name counts: example.org/page.
PARTS = (
    r"(?s)^(?:(?:(?i:https?|ftp|wss?):[/\\]*|[A-Za-z][A-Za-z0-9+.\-]*:[/\\]{2}|[/\\]{2,})(?:[^/?#\\]*@)?"
    r"(?P<host>\[[^\]/?#\\]*\]?|[^/?#\\:@]*)(?::[^/?#\\]*)?"
    r"|(?P<bare>[^/?#\\:@\s]+\.[^/?#\\:@\s]+)(?::[0-9]*)?)(?P<path>[/?#\\].*)?$"
)
IGNORED = r"^[\x00-\x20]+|[\x00-\x20]+$|[\t\n\r]"  # what the standard removes from a URL before it reads it
SPECIAL = re.compile(r"[\x00-\x20#/<>?@\[\]\\^|%:\x7f\ufffd]")  # not in host names, once escapes are decoded
PLAIN = re.compile(r"(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*")  # a host that is in its form
HIDDEN = re.compile(r"[\x00-\x1f\x7f]")
LABEL_ENDS = re.compile("[.\u3002\uff0e\uff61]")
UNSEEN = re.compile("[\xad\u034f\u200b\u2060\u2064\ufeff\u180b-\u180d\u180f\ufe00-\ufe0f]")  # that UTS 46 removes
NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")
FOUR_BYTES = 1 << 32


class Addresses(NamedTuple):
    """The distinct URLs of a batch of documents, with their hosts and paths.

    urls: the distinct URLs. rows: for each document, the index of its URL; -1 if it has no URL. hosts: the distinct
    hosts, as `host_name` writes them; a host that `host_name` rejects is in lower case, and "" represents a URL without
    a host. host_of: for each URL, the index of its host. paths: for each URL, the part after the host.
    """

    urls: pa.StringArray  # of the different URLs
    rows: npt.NDArray[np.int32]  # index of each document's URL; -1 without one
    hosts: list[str]  # the different hosts, in one form; "" if there is none
    host_of: npt.NDArray[np.int32]  # of each URL
    paths: pa.StringArray  # of each URL: the rest after the host


def addresses(batch: Batch, column: str, who: str) -> Addresses:
    """Return the distinct URLs in a column of a batch, with their hosts and paths.

    Raises PlanError, which names the stage `who`, if the column does not hold strings.
    """
    values = batch.column(column)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        msg = f"{who}(column={column!r}) must be a column of strings, not of {kind}"
        raise PlanError(msg)
    values = values.cast(pa.string()) if pa.types.is_null(kind) else values
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    urls = _cleaned(coded.dictionary.cast(pa.string()))
    names, paths = _divided(urls)
    hosts = names.dictionary_encode()
    rows = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    known = [host_name(host) or host.lower() for host in hosts.dictionary.to_pylist()]
    return Addresses(urls, rows, known, hosts.indices.to_numpy(zero_copy_only=False), paths)


def split(urls: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    """Return two arrays: the hosts of URLs as they are written ("" if there is none), and the parts after the hosts."""
    return _divided(_cleaned(urls))


def _divided(urls: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    if not len(urls):
        return urls, urls
    parts = pc.extract_regex(urls, PARTS)
    host, bare, path = (pc.fill_null(parts.field(name), "") for name in ("host", "bare", "path"))
    return pc.if_else(pc.equal(host, ""), bare, host), path


def _cleaned(urls: pa.StringArray) -> pa.StringArray:
    """Return URLs without tabs, line ends, and white space around them, which browsers ignore."""
    if not pc.any(pc.match_substring_regex(urls, IGNORED)).as_py():
        return urls
    return pc.replace_substring_regex(urls, IGNORED, "")


def host_name(host: str) -> str:
    """Return a host in the form of the URL Standard (WHATWG), without dots at the end; "" if it is not a host.

    Names are in lower case and Punycode (UTS 46, not transitional). IPv4 addresses, also those written in decimal,
    octal or hex, become four decimal numbers; so do IPv6 addresses that contain an IPv4 address (::ffff:1.2.3.4). Other
    IPv6 addresses are written in the compressed form. Control characters are removed.

    >>> host_name("WWW.Exämple.ORG."), host_name("0x7f.1"), host_name("[0:0::1]")
    ('www.xn--exmple-cua.org', '127.0.0.1', '[::1]')
    """
    if PLAIN.fullmatch(host):
        return host
    host = HIDDEN.sub("", unquote(host) if "%" in host else host)
    if host.startswith("["):
        return _ipv6(host)
    if not host.isascii():
        host = _in_ascii(host)
    host = over_assigned(str.lower, host).rstrip(".")
    if SPECIAL.search(host):
        return ""
    return _ipv4(host) if NUMBER.fullmatch(host.rpartition(".")[2]) else host


def _in_ascii(host: str) -> str:
    """Return a host name as UTS 46 maps it, with labels of other characters in Punycode."""
    kept = [c if c in "ßς" else normalized("NFKC", over_assigned(str.casefold, c)) for c in UNSEEN.sub("", host)]
    mapped = normalized("NFKC", "".join(kept))
    labels = (label.lower() for label in LABEL_ENDS.split(mapped))
    return ".".join(x if x.isascii() else "xn--" + x.encode("punycode", "replace").decode() for x in labels)


def in_unicode(host: str) -> str:
    """Return a host with the labels in Punycode decoded; a label that is no Punycode stays."""
    return ".".join(_label(label) for label in host.split("."))


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
    """Return an IPv6 address in brackets, compressed; the IPv4 address that it contains, if any; "" if it is none."""
    try:
        address = ipaddress.IPv6Address(host[1:].removesuffix("]") if host.endswith("]") else "")
    except ValueError:
        return ""
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return "" if address.scope_id else f"[{address.compressed}]"


def over_hosts(found: Addresses, values: Any) -> Any:
    """Return an array with one value per distinct URL: that of its host.

    values: one value per distinct host.
    """
    return np.asarray(values)[found.host_of] if len(found.hosts) else np.zeros(0, np.asarray(values).dtype)


def over_rows(found: Addresses, values: Any, missing: Any) -> Any:
    """Return an array with one value per document: that of its URL, or `missing` if it has no URL.

    values: one value per distinct URL.
    """
    return np.append(np.asarray(values), missing)[found.rows]
