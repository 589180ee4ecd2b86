"""Robots: drop documents whose host's robots.txt forbids named agents to fetch them.

The robots.txt files of many hosts are read from a folder, or from the robots archives of a crawl, and packed into one
index.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, cast
from urllib.parse import urljoin

import numpy as np
import orjson
import pyarrow as pa
import xxhash
import zstandard

from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage, drop_rows
from dataprep.errors import PlanError, ReadError, need
from dataprep.store import files
from dataprep.unicode.hosts import host_name

from .url_parts import Addresses, addresses, over_hosts, over_rows, split

# Agents of crawls for language models.
AGENTS = ("CCBot", "GPTBot", "ClaudeBot", "Google-Extended", "Applebot-Extended", "Meta-ExternalAgent")
REASONS = (None, "robots", "robots_unreadable")
MAX_ROBOTS_BYTES = 512_000  # RFC 9309, 2.5: at least 500 kibibytes are parsed
MAX_BLOCK_BYTES = 8 << 20  # of a response as stored
MAX_REDIRECTS = 5  # RFC 9309, 2.3.1.2
GROUP_LINE = re.compile(r"\s*(?:user|allow|di)", re.IGNORECASE)  # no other line ends a group (RFC 9309, 2.2.4)
TOKEN = re.compile(  # CCBot/2.0, CCBot x, * x
    r"(\s*user[- ]?agent\s*:?\s*(?:[\w\-]+(?=[^\w\-])|\*(?=\s))).*", re.IGNORECASE
)
GROUP_NAME = re.compile(r"^\s*user[- ]?agent\s*:?\s*([\w\-]+)", re.IGNORECASE | re.MULTILINE)
AGENT = re.compile(r"[\w\-]+|\*")  # a name that TOKEN can leave
FORBIDS = re.compile(r"^\s*di\w+\s*:?\s*[^\s#:]", re.IGNORECASE | re.MULTILINE)
NEWEST = "~"  # sorts after every date
UNREADABLE = -1


@dataclass(frozen=True)
class Robots(Stage):
    """Drop documents whose URL is disallowed for one of the given agents by the robots.txt of its host (RFC 9309).

    >>> Robots("crawl/robotstxt/*.warc.gz", agents=("CCBot",))

    Args:
        source: a folder, a glob pattern, or a tuple of these. The files are HOST.txt or HOST/robots.txt, or WARC
            archives of robots.txt, as Common Crawl publishes them (extra `warc`).
        agents: the names of crawlers (product tokens). The group `*` applies to an agent without its own group.
        unreadable: "keep" or "drop": the treatment of documents from hosts whose robots.txt is not text, or whose
            response was a server error. By the standard, everything is disallowed on such a host.
        column: the name of the column of URLs; read(..., columns=["url"]) turns the metadata field `url` into this
            column.

    The latest response of a host is used; files in a folder take precedence over archives. Scheme and port are ignored.
    If a host has no robots.txt, or the response was 4xx, everything is allowed.

    Protego (Scrapy's parser, extra `robots`) applies the rules. The longest matching rule decides; if two matching
    rules are equally long, the rule that allows access decides. The wildcards `*` and `$` are supported. In addition, a
    group is recognised after a byte order mark, or if a version or further words follow its name (CCBot/2.0, CCBot
    crawler), and unknown lines do not end a group.

    The drop reasons are `robots` and `robots_unreadable`. Documents are counted as `forbidden.AGENT`, `unreadable`,
    `without_robots_txt` and `without_url`. The source is read when the stage is created. The key of the stage depends
    on the rules, not on paths.

    Raises PlanError if a source contains no robots.txt or an archive is damaged.
    """

    VERSION: ClassVar[int] = 5
    only_drops: ClassVar[bool] = True

    source: str | Sequence[str]
    agents: str | Sequence[str] = field(default=AGENTS, kw_only=True)
    unreadable: str = field(default="keep", kw_only=True)
    column: str = field(default="url", kw_only=True)
    packed: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("source", "agents"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if not self.agents or not all(isinstance(a, str) and AGENT.fullmatch(a) for a in self.agents):
            msg = (
                f"Robots: agents={self.agents!r} must be a tuple of names such as ('CCBot', 'GPTBot'), without "
                "versions or blanks, which no robots.txt group can name"
            )
            raise PlanError(msg)
        if self.unreadable not in {"keep", "drop"}:
            msg = f"Robots: unreadable={self.unreadable!r} must be 'keep' or 'drop'"
            raise PlanError(msg)
        need("protego", extra="robots")
        object.__setattr__(self, "packed", read(self.source))

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that this stage reads: the column of URLs, as a tuple."""
        return (self.column,)

    def recipe(self) -> Any:
        """Return the values that identify this stage: the rules of all hosts (not the files' paths), the parameters."""
        index = unpack(self.packed)
        rules = xxhash.xxh3_128_hexdigest(repr((index.texts, sorted(index.hosts.items()))).encode())
        return rules, self.agents, self.unreadable, self.column

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents that may be fetched; each distinct URL of a batch is checked once."""
        index = unpack(self.packed)
        for batch in batches:
            found = addresses(batch, self.column, self.name)
            known = np.array([index.hosts.get(h, -3 if h else -4) for h in found.hosts], np.int64)
            texts = over_hosts(found, known)
            forbidden = self._forbidden(found, texts, index.texts)
            for agent, some in zip(self.agents, forbidden, strict=True):
                stats.count(f"forbidden.{agent}", _rows(found, some))
            for name, code in (("unreadable", UNREADABLE), ("without_robots_txt", -3)):
                stats.count(name, _rows(found, texts == code))
            stats.count("without_url", batch.num_rows - _rows(found, texts > -4))
            codes = np.where(forbidden.any(axis=0), 1, 0)
            if self.unreadable == "drop":
                codes[texts == UNREADABLE] = 2
            yield drop_rows(batch, pa.array(REASONS, pa.string()).take(pa.array(over_rows(found, codes, 0))), stats)

    def _forbidden(self, found: Addresses, texts: Any, rules: list[str]) -> Any:
        """Return whether each URL is forbidden for each agent; bool[agents, URLs]."""
        out = np.zeros((len(self.agents), len(texts)), bool)
        for i in np.flatnonzero(texts >= 0).tolist():
            text = rules[texts[i]]
            if text:
                path = found.paths[i].as_py().replace("\\", "/")
                url = f"http://host{path if path[:1] == '/' else '/' + path}"
                named = _groups(text)
                groups = [agent if agent.lower() in named else "*" for agent in self.agents]
                out[:, i] = [not _parser(text).can_fetch(url, group) for group in groups]
        return out

    def warm(self) -> None:
        """Unpack the rules once, before workers start."""
        unpack(self.packed)


def _rows(found: Addresses, urls: Any) -> int:
    """Return the number of documents that have one of these URLs."""
    return int(np.count_nonzero(over_rows(found, urls, missing=False)))


@lru_cache(maxsize=4_096)
def _parser(text: str) -> Any:
    return need("protego", extra="robots").Protego.parse(text)


@lru_cache(maxsize=4_096)
def _groups(text: str) -> frozenset[str]:
    """Return the names of crawlers that have a group of their own, in lower case.

    Protego also applies the group `Applebot` to the agent Applebot-Extended; RFC 9309 does not.
    """
    return frozenset(name.lower() for name in GROUP_NAME.findall(text))


class HostRules(NamedTuple):
    """The last answer of a host to a request for robots.txt.

    Attributes:
        date: the time of the answer, as text.
        rules: the lines of robots.txt that name crawlers and allow or disallow paths; None if robots.txt is unreadable.
        redirect: the host whose robots.txt applies instead; "" if there is none.
    """

    date: str
    rules: str | None = None  # None: unreadable
    redirect: str = ""  # the host that has it


class Index(NamedTuple):
    """The robots.txt rules of many hosts; equal texts are stored once.

    Attributes:
        texts: the distinct robots.txt files, reduced to rules; "" forbids nothing.
        hosts: for each host, the index of its text in `texts`, or UNREADABLE.
    """

    texts: list[str]  # the lines that make groups and rules; "" forbids nothing
    hosts: dict[str, int]  # index of each host's text, or UNREADABLE


def read(sources: Iterable[str]) -> bytes:
    """Read the robots.txt of all hosts in `sources`; return them as compressed bytes, which `unpack` reads.

    Args:
        sources: the URLs of folders, globs or archives.

    The bytes do not depend on the paths or the order of the files.

    Raises PlanError if there is no robots.txt, or an archive is damaged.
    """
    hosts: dict[str, HostRules] = {}
    for source in sources:
        for url in files.expand(source) or [source]:
            for host, found in _found(url):
                if host and (host not in hosts or _rank(found) >= _rank(hosts[host])):
                    hosts[host] = found
    if not hosts:
        msg = f"Robots: {', '.join(sources)} must contain robots.txt files: HOST.txt, HOST/robots.txt or WARC"
        raise PlanError(msg)
    rules = {host: _final(host, hosts) for host in sorted(hosts)}
    texts = sorted({text for text in rules.values() if text is not None})
    number = {text: i for i, text in enumerate(texts)} | {None: UNREADABLE}
    data = orjson.dumps([texts, {host: number[text] for host, text in rules.items()}])
    return zstandard.ZstdCompressor().compress(data)


@lru_cache(maxsize=4)
def unpack(packed: bytes) -> Index:
    """Return the hosts and their rules from the bytes that `read` returned."""
    return Index(*orjson.loads(zstandard.ZstdDecompressor().decompress(packed)))


def rules_of(data: bytes) -> str | None:
    r"""Return those lines of a robots.txt file that name crawlers and allow or forbid paths; None if it is not text.

    Args:
        data: the file's bytes.

    Returns "" if no line forbids anything.

    >>> rules_of(b"\xef\xbb\xbfUser-agent: CCBot/2.0\r\nCrawl-delay: 2\r\nDisallow: /x")
    'User-agent: CCBot\nDisallow: /x'
    """
    if len(data) > MAX_ROBOTS_BYTES:
        data = data[:MAX_ROBOTS_BYTES].rpartition(b"\n")[0]
    if b"\0" in data:
        return None
    lines = data.decode("utf-8-sig", "replace").splitlines()
    text = "\n".join(TOKEN.sub(r"\1", line) for line in lines if GROUP_LINE.match(line))
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
    """Yield the hosts of one file: an archive, HOST.txt or HOST/robots.txt; nothing for other files."""
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
        msg = f"Robots cannot read all of {url}: {e}; fetch it again, or leave it out"
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
    """Return status, Location and content of a response, parsed separately: a broken payload would stop its archive."""
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
    """Return the host of a URL in normal form ("" if there is none), and the rest of the URL after the host."""
    hosts, paths = split(pa.array([url], pa.string()))
    return host_name(cast("str", hosts[0].as_py())), cast("str", paths[0].as_py())
