"""Hosts: drop documents by the host, path and words of their URL, with block lists and allow lists."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import xxhash

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage, drop_rows
from dataprep.errors import PlanError
from dataprep.lazy import compute as pc
from dataprep.store import files
from dataprep.unicode.hosts import host_name, in_unicode
from dataprep.unicode.text import lowered

from . import word_automaton as K
from .thresholds import read_list
from .url_parts import Addresses, addresses, over_hosts, over_rows

HOSTS_FILE = re.compile(r"(?:0\.0\.0\.0|127\.0\.0\.1|::1?)\s+(\S.*)")  # a line of /etc/hosts: an address and names
SCHEME = re.compile(r"^(?:(?:https?|ftp|wss?):[/\\]*|(?:[a-z][a-z0-9+.\-]*:)?[/\\]{2,})", re.IGNORECASE)
NETWORK = re.compile(r"\[?([0-9A-Fa-f:.]+)\]?/([0-9]{1,3})")
Networks: TypeAlias = dict[tuple[int, int], set[int]]  # the prefixes, by (IP version, number of bits after the prefix)
MAX_PATH = 8_192  # characters of a path that are compared; servers reject longer ones
UT1 = {"domains", "urls"}  # the files of a category, in the lists of the University of Toulouse
REASONS = (None, "blocked_host", "blocked_url", "host_not_allowed")


@dataclass(frozen=True)
class Hosts(Stage):
    """Drop documents by the host and path of their URL.

    >>> Hosts("lists/adult/domains", banned_words=("casino",))
    >>> Hosts(allow=("example.org", ".gov"))

    Args:
        block: the path or URL of a list, a glob pattern, a folder (its files named `domains` and `urls` are read, as in
            the UT1 lists of the University of Toulouse), or the entries themselves as a tuple.
        allow: the hosts and paths to keep, in the same forms as `block`; documents of all other hosts and paths are
            dropped. A document that is both blocked and allowed is dropped.
        banned_words: substrings of URLs, in the same forms as `block`; a document whose URL contains one of them is
            dropped. Case is ignored, and percent-encoding is decoded.
        column: the name of the column of URLs; read(..., columns=["url"]) turns the metadata field `url` into this
            column.

    An entry is one of the following:

    - a domain: `example.org`, `.example.org` and `*.example.org` all mean the domain and all its subdomains
    - an IP address
    - a network: `10.0.0.0/8`, `2001:db8::/32`
    - a domain and a path, with or without `www.`: `example.org/ads` means that path and everything below it, whereas
      `example.org/ads/` means only what is below it

    Files are UTF-8 with one entry per line, and `#` starts a comment. In lines in the format of /etc/hosts (`0.0.0.0
    example.org`), the host names are the entries. Scheme, port and user name are ignored, and hosts and paths are
    normalised; see `host_name`. The drop reason is the first of the following that applies: `blocked_host`,
    `blocked_url` (path or word), `host_not_allowed`. Documents without a URL, or with a URL that has no host, are kept,
    even with an allow list, and counted as `without_url`. The key of the stage depends on the entries, not on the paths
    of their files.

    Raises PlanError if a list is missing, not UTF-8 or empty, or if an entry is not a domain.
    """

    VERSION: ClassVar[int] = 4
    only_drops: ClassVar[bool] = True
    compiled: ClassVar[bool] = True

    block: str | Sequence[str] = ()
    allow: str | Sequence[str] = field(default=(), kw_only=True)
    banned_words: str | Sequence[str] = field(default=(), kw_only=True)
    column: str = field(default="url", kw_only=True)
    blocked: str = field(init=False, repr=False, compare=False)  # one entry per line: one string is sent quickly
    allowed: str = field(init=False, repr=False, compare=False)
    substrings: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("block", "allow", "banned_words"):
            value = getattr(self, name)
            object.__setattr__(self, name, value if isinstance(value, str) else tuple(value))
        object.__setattr__(self, "blocked", _packed(self.block, "block"))
        object.__setattr__(self, "allowed", _packed(self.allow, "allow"))
        words = {unquote(text).strip() for _, text in _entries(self.banned_words)} - {""}
        object.__setattr__(self, "substrings", tuple(sorted(words)))
        if not (self.blocked or self.allowed or self.substrings):
            msg = "Hosts must have a rule; set block=, allow= or banned_words=: entries, or the URL of a list"
            raise PlanError(msg)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that this stage reads: the column of URLs, as a tuple."""
        return (self.column,)

    def recipe(self) -> Any:
        """Return the values that identify this stage: the entries of the lists (not their paths), words, and column."""
        lists = [xxhash.xxh3_128_hexdigest(text.encode()) for text in (self.blocked, self.allowed)]
        return lists, self.substrings, self.column

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents that the lists do not drop; each distinct URL of a batch is checked once."""
        for batch in batches:
            found = addresses(batch, self.column, self.name)
            known = over_rows(found, over_hosts(found, np.array([bool(h) for h in found.hosts], bool)), missing=False)
            stats.count("without_url", int(np.count_nonzero(~known)))
            codes = np.where(known, over_rows(found, self._verdicts(found), 0), 0)
            yield drop_rows(batch, pa.array(REASONS, pa.string()).take(pa.array(codes)), stats)

    def _verdicts(self, found: Addresses) -> Any:
        """Return the index in REASONS for each URL, int8[URLs]."""
        verdicts = np.zeros(len(found.urls), np.int8)
        if self.allowed:
            by_host, by_path = _matches(found, self.allowed)
            verdicts[~(by_host | by_path)] = 3
        if self.substrings:
            words = K.build(self.substrings, edges=False)
            part = K.parts(edges=False, signs=False)
            verdicts[K.matches(*B.buffers(_searched(found)), words, part, lowered()) > 0] = 2
        if self.blocked:
            by_host, by_path = _matches(found, self.blocked)
            verdicts[by_path] = 2
            verdicts[by_host] = 1
        return verdicts


def _matches(found: Addresses, packed: str) -> tuple[Any, Any]:
    """Return for each URL whether its host is in a list, and whether its path is; bool[n] each."""
    domains, paths, networks = _rules(packed)
    whole = np.array([_listed(host, domains) or _within(host, networks) for host in found.hosts], bool)
    in_part = np.array([_site(host) in paths for host in found.hosts], bool)
    by_path = over_hosts(found, in_part)
    for i in np.flatnonzero(by_path).tolist():
        path = _plain_path(found.paths[i].as_py()[:MAX_PATH])
        by_path[i] = _below(path, paths[_site(found.hosts[found.host_of[i]])])
    return over_hosts(found, whole), by_path


def _listed(host: str, domains: frozenset[str]) -> bool:
    """Return whether a host, or a parent domain unless it is an IP address, is in a list."""
    if host in domains or _is_ip(host):
        return host in domains
    dot = host.find(".")
    while dot >= 0 and host[dot + 1 :] not in domains:
        dot = host.find(".", dot + 1)
    return dot >= 0


def _within(host: str, networks: Networks) -> bool:
    """Return whether a host is an address in one of the networks."""
    if not networks or not _is_ip(host):
        return False
    address = ipaddress.ip_address(host.strip("[]"))
    same = ((shift, prefixes) for (version, shift), prefixes in networks.items() if version == address.version)
    return any(int(address) >> shift in prefixes for shift, prefixes in same)


def _site(host: str) -> str:
    return host.removeprefix("www.")


def _plain_path(path: str) -> str:
    """Return a path as servers read it: without escapes, `/./`, `/x/../` and repeated slashes, and up to `?` or `#`."""
    end = min((i for i in (path.find("?"), path.find("#")) if i >= 0), default=len(path))
    names: list[str] = []
    given = re.split(r"[/\\]+", unquote(path[:end]).replace("\t", "").replace("\n", "").replace("\r", ""))
    for name in given[1:]:
        if name == "..":
            names[-1:] = []
        elif name != ".":
            names.append(name)
    names += [""] if given[-1] in {".", ".."} else []
    return ("/" + "/".join(names) if end else "") + unquote(path[end:])


def _below(path: str, listed: frozenset[str]) -> bool:
    """Return whether a path, or a path above it, is in a list."""
    if path in listed:
        return True
    ends = (i for i, c in enumerate(path) if c in "/?#;")
    return any(path[:i] in listed or path[: i + 1] in listed for i in ends)


@lru_cache(maxsize=4)
def _rules(packed: str) -> tuple[frozenset[str], dict[str, frozenset[str]], Networks]:
    """Return the domains of a list, the paths of each site, and the networks of addresses."""
    domains, paths, networks = [], {}, {}  # type: list[str], dict[str, list[str]], Networks
    for entry in packed.split("\n"):
        host, slash, path = entry.partition("/")
        if slash:
            paths.setdefault(_site(host), []).append(slash + path)
        elif "%" in host:
            net = ipaddress.ip_network(host.replace("%", "/"))
            shift = net.max_prefixlen - net.prefixlen
            networks.setdefault((net.version, shift), set()).add(int(net.network_address) >> shift)
        else:
            domains.append(host)
    return frozenset(domains), {host: frozenset(some) for host, some in paths.items()}, networks


def _searched(found: Addresses) -> pa.StringArray:
    """Return the URLs to search for words: decoded, followed by the readable host if it is spelled differently.

    The host is that of `host_name`, with its Punycode decoded.
    """
    urls = found.urls
    if pc.any(pc.match_substring(urls, "%")).as_py():
        urls = pa.array([unquote(url) if "%" in url else url for url in urls.to_pylist()], pa.large_string())
    punycode = np.array(["xn--" in host for host in found.hosts], bool)
    odd = over_hosts(found, punycode) | ~pc.string_is_ascii(urls).to_numpy(zero_copy_only=False)
    if not odd.any():
        return urls
    spelt = urls.to_pylist()
    for i in np.flatnonzero(odd).tolist():
        spelt[i] += "\n//" + in_unicode(found.hosts[found.host_of[i]]) + unquote(found.paths[i].as_py())
    return pa.array(spelt, pa.large_string())


def _packed(given: str | Sequence[str], name: str) -> str:
    """Return the entries of a list in canonical form, sorted, without those that a shorter entry covers."""
    entries = {_entry(text, where, name) for where, text in _entries(given)}
    if given and not entries:
        msg = f"Hosts: {name}={given!r} must have at least one entry; write one domain per line"
        raise PlanError(msg)
    domains = frozenset(e for e in entries if "/" not in e)
    covered = {e for e in domains if not _is_ip(e) and _listed(e.partition(".")[2], domains)}
    return "\n".join(sorted(entries - covered))


def _is_ip(host: str) -> bool:
    """Return whether a host is an address; no top-level domain ends with a digit."""
    return host[-1:].isdigit() or host[:1] == "["


def _entries(given: str | Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the entries of a tuple, or of the files at a URL without comments, each after its location for messages."""
    if not isinstance(given, str):
        yield from (("", text) for text in given)
    elif given:
        found = files.expand(given)
        if files.is_dir(given):
            found = [url for url in found if files.name_of(url) in UT1]
        for url in found or [given]:
            for n, line in enumerate(read_list("Hosts", url).splitlines(), 1):
                entry = re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()
                names = HOSTS_FILE.fullmatch(entry)
                for name in names[1].split() if names else [entry] if entry else []:
                    yield f" of {url}, line {n}", name


def _entry(text: str, where: str, name: str) -> str:
    """Return an entry in canonical form: a host, or a host and a path."""
    network = _network(text.strip())
    if network:
        return network
    host, slash, path = SCHEME.sub("", text.strip()).replace("\\", "/").partition("/")
    host = re.sub(r"^\*?\.+", "", host.rpartition("@")[2])
    bare = host.count(":") > 1 and host[:1] != "["  # an IPv6 address
    clean = host_name(f"[{host}]" if bare else re.sub(r":\d*$", "", host))
    if not clean or "*" in clean:  # "*" stands only in front, in *.example.org
        msg = f"Hosts: {name} has {text!r}{where}, which is not a domain; write example.org, example.org/path or "
        msg += "10.0.0.0/8"
        raise PlanError(msg)
    return clean + (_plain_path(slash + path) if path else "")


def _network(text: str) -> str:
    """Return a network as FIRST%LENGTH, a form that no host has; "" for `10.0.0.1/8`, which is a host and a path."""
    found = NETWORK.fullmatch(text)
    if not found:
        return ""
    try:
        net = ipaddress.ip_network(f"{found[1]}/{found[2]}")
    except ValueError:
        return ""
    return str(net).replace("/", "%")
