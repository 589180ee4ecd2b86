"""Index of the robots.txt of many hosts, read from a folder or from the robots archives of a crawl."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, cast
from urllib.parse import urljoin

import orjson
import pyarrow as pa
import zstandard

from dataprep.errors import PlanError, ReadError, need
from dataprep.filters.url_parts import host_name, split
from dataprep.store import files

MAX_ROBOTS_BYTES = 512_000  # RFC 9309, 2.5: at least 500 kibibytes are parsed
MAX_BLOCK_BYTES = 8 << 20  # of a response as stored
MAX_REDIRECTS = 5  # RFC 9309, 2.3.1.2
GROUP_LINE = re.compile(r"\s*(?:user|allow|di)", re.IGNORECASE)  # no other line ends a group (RFC 9309, 2.2.4)
VERSION = re.compile(r"(\s*user[- ]?agent\s*:?\s*[\w\-]+)/.*", re.IGNORECASE)  # CCBot/2.0 means CCBot
FORBIDS = re.compile(r"^\s*di\w+\s*:?\s*[^\s#:]", re.IGNORECASE | re.MULTILINE)
NEWEST = "~"  # sorts after every date
UNREADABLE = -1


class HostRules(NamedTuple):
    """The last answer of a host to a request for robots.txt."""

    date: str
    rules: str | None = None  # None: unreadable
    redirect: str = ""  # the host that has it


class Index(NamedTuple):
    """Rules of many hosts; equal texts are stored once."""

    texts: list[str]  # the lines that make groups and rules; "" forbids nothing
    hosts: dict[str, int]  # index of each host's text, or UNREADABLE


def read(sources: Iterable[str]) -> bytes:
    """Return the robots.txt of all hosts, packed; the bytes do not depend on paths or order of the files.

    Raises PlanError if there is none, or an archive is damaged.
    """
    hosts: dict[str, HostRules] = {}
    for source in sources:
        for url in files.expand(source) or [source]:
            for host, found in _found(url):
                if host and (host not in hosts or _rank(found) >= _rank(hosts[host])):
                    hosts[host] = found
    if not hosts:
        msg = f"Robots: {', '.join(sources)} must hold robots.txt files: HOST.txt, HOST/robots.txt or WARC"
        raise PlanError(msg)
    rules = {host: _final(host, hosts) for host in sorted(hosts)}
    texts = sorted({text for text in rules.values() if text is not None})
    number = {text: i for i, text in enumerate(texts)} | {None: UNREADABLE}
    data = orjson.dumps([texts, {host: number[text] for host, text in rules.items()}])
    return zstandard.ZstdCompressor().compress(data)


@lru_cache(maxsize=4)
def unpack(packed: bytes) -> Index:
    """Return the index that `read` packed."""
    return Index(*orjson.loads(zstandard.ZstdDecompressor().decompress(packed)))


def rules_of(data: bytes) -> str | None:
    r"""Return the lines of a robots.txt that make groups and rules; None if it is not text.

    >>> rules_of(b"\xef\xbb\xbfUser-agent: CCBot/2.0\r\nCrawl-delay: 2\r\nDisallow: /x")
    'User-agent: CCBot\nDisallow: /x'
    """
    if len(data) > MAX_ROBOTS_BYTES:
        data = data[:MAX_ROBOTS_BYTES].rpartition(b"\n")[0]
    if b"\0" in data:
        return None
    lines = data.decode("utf-8-sig", "replace").splitlines()
    text = "\n".join(VERSION.sub(r"\1", line) for line in lines if GROUP_LINE.match(line))
    return text if FORBIDS.search(text) else ""


def _rank(found: HostRules) -> tuple[str, bool, str]:
    """Return the sort key of an answer: time, then content, so that the order of files does not matter."""
    return found.date, not found.redirect, found.rules or found.redirect


def _final(host: str, hosts: dict[str, HostRules]) -> str | None:
    """Return the rules after redirects; "" if these end without an answer (RFC 9309, 2.3.1.2, 2.3.1.3: unavailable)."""
    for _ in range(MAX_REDIRECTS + 1):
        found = hosts.get(host)
        if found is None or not found.redirect:
            return found.rules if found else ""
        host = found.redirect
    return ""


def _found(url: str) -> Iterator[tuple[str, HostRules]]:
    """Yield the hosts of one file: an archive, HOST.txt or HOST/robots.txt; nothing of other files."""
    *_, folder, name = ["", *url.split("/")]
    if files.suffix(url) == ".warc":
        yield from _archive(url)
    elif name.lower().endswith(".txt"):
        host = folder if name.lower() == "robots.txt" else name[: -len(".txt")]
        with files.open_raw(url) as f:
            yield host_name(host), HostRules(NEWEST, rules_of(f.read(MAX_ROBOTS_BYTES + 1)))


def _archive(url: str) -> Iterator[tuple[str, HostRules]]:
    warc = need("fastwarc.warc", extra="warc")
    try:
        with files.open_read(url) as f:  # FastWARC ends silently at a cut
            while f.read(1 << 20):
                pass
        with files.open_raw(url) as f:
            for record in warc.ArchiveIterator(f, record_types=warc.WarcRecordType.response, parse_http=False):
                place = (record.headers.get("WARC-Target-URI") or "").strip("<>")
                host, path = host_and_path(place)
                if path.partition("?")[0] == "/robots.txt":
                    found = _answer(record, place)
                    if found.redirect != host:  # http to https: the rules are in another record
                        yield host, found
    except (OSError, ReadError) as e:
        msg = f"Robots cannot read {url} to its end: {e}; fetch it again, or leave it out"
        raise PlanError(msg) from e


def _answer(record: Any, url: str) -> HostRules:
    """Return the answer in a response, by its status (RFC 9309, 2.3.1)."""
    date = record.headers.get("WARC-Date") or ""
    status, redirect, body = _http(record.reader.read(MAX_BLOCK_BYTES))
    if 200 <= status < 300:
        return HostRules(date, None if body is None else rules_of(body))
    if 300 <= status < 400:
        try:
            return HostRules(date, "", host_and_path(urljoin(url, redirect))[0])
        except ValueError:  # a bracket that is not closed
            return HostRules(date, "")
    return HostRules(date, "" if 400 <= status < 500 else None)


def _http(block: bytes) -> tuple[int, str, bytes | None]:
    """Return status, Location and content of a response, parsed alone: a broken payload would stop its archive."""
    for encodings in ("all", "none"):  # many archives hold payloads that their headers no longer describe
        record = need("fastwarc.warc", extra="warc").WarcRecord()
        record.set_bytes_content(block)
        record.is_http = True
        with contextlib.suppress(OSError):
            record.parse_http(auto_decode=encodings)
            status = int(record.http_headers.status_code or 0)
            return status, record.http_headers.get("Location") or "", record.reader.read(MAX_ROBOTS_BYTES + 1)
    return 0, "", None


def host_and_path(url: str) -> tuple[str, str]:
    """Return the host of one URL in one form, and what follows it."""
    hosts, paths = split(pa.array([url], pa.string()))
    return host_name(cast("str", hosts[0].as_py())), cast("str", paths[0].as_py())
