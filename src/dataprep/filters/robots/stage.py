"""Robots: drop documents that their host's robots.txt forbids named agents to fetch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import xxhash

from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.stage import Stage, drop_rows
from dataprep.errors import PlanError, need
from dataprep.filters.url_parts import Addresses, addresses, over_hosts, over_rows

from .index import UNREADABLE, read, unpack

# Agents of crawls for language models.
AGENTS = ("CCBot", "GPTBot", "ClaudeBot", "Google-Extended", "Applebot-Extended", "Meta-ExternalAgent")
REASONS = (None, "robots", "robots_unreadable")


@dataclass(frozen=True)
class Robots(Stage):
    """Drop documents whose URL robots.txt forbids to any of the named agents (RFC 9309).

    >>> Robots("crawl/robotstxt/*.warc.gz", agents=("CCBot",))

    source: a folder of files HOST.txt or HOST/robots.txt; WARC archives of robots.txt, as Common Crawl publishes them
        (extra `warc`): a folder, a glob, or several as a tuple. The latest answer of a host counts, and a file in a
        folder before archives. Scheme and port are ignored.
    agents: product tokens; the group `*` applies to one without a group of its own.
    unreadable: "keep" or "drop" documents of hosts whose robots.txt is not text or came with a server's error; by the
        standard these forbid everything.
    column: the column of URLs; read(..., columns=["url"]) makes a column of a field of meta.

    Protego (Scrapy's parser, extra `robots`) applies the rules: the longest wins, of two equal ones the allowance; `*`
    and `$`. In addition, a byte order mark and a version (CCBot/2.0) do not hide a group, and other lines do not end
    one. Hosts without robots.txt, or that answered 4xx, allow all. Reasons: `robots`, `robots_unreadable`. Documents
    are counted as `forbidden.AGENT`, `unreadable`, `without robots.txt` and `without url`. The source is read when the
    stage is made; the key depends on the rules, not on the paths of the files.

    Raises PlanError if a source has no robots.txt or an archive is damaged.
    """

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
        if not self.agents or not all(isinstance(a, str) and a.strip() for a in self.agents):
            msg = f"Robots: agents={self.agents!r} must be a tuple of names such as ('CCBot', 'GPTBot')"
            raise PlanError(msg)
        if self.unreadable not in {"keep", "drop"}:
            msg = f"Robots: unreadable={self.unreadable!r} must be 'keep' or 'drop'"
            raise PlanError(msg)
        need("protego", extra="robots")
        object.__setattr__(self, "packed", read(self.source))

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Column of the URLs."""
        return (self.column,)

    def recipe(self) -> Any:
        """Return the rules of the files, not their paths."""
        index = unpack(self.packed)
        rules = xxhash.xxh3_128_hexdigest(repr((index.texts, sorted(index.hosts.items()))).encode())
        return self.VERSION, rules, self.agents, self.unreadable, self.column

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Check each different URL of a batch once."""
        index = unpack(self.packed)
        for batch in batches:
            found = addresses(batch, self.column, self.name)
            known = np.array([index.hosts.get(h, -3 if h else -4) for h in found.hosts], np.int64)
            texts = over_hosts(found, known)
            forbidden = self._forbidden(found, texts, index.texts)
            for agent, some in zip(self.agents, forbidden, strict=True):
                stats.count(f"forbidden.{agent}", _rows(found, some))
            for name, code in (("unreadable", UNREADABLE), ("without robots.txt", -3)):
                stats.count(name, _rows(found, texts == code))
            stats.count("without url", batch.num_rows - _rows(found, texts > -4))
            codes = np.where(forbidden.any(axis=0), 1, 0)
            if self.unreadable == "drop":
                codes[texts == UNREADABLE] = 2
            yield drop_rows(batch, pa.array(REASONS, pa.string()).take(pa.array(over_rows(found, codes, 0))), stats)

    def _forbidden(self, found: Addresses, texts: Any, rules: list[str]) -> Any:
        """Return whether each URL is forbidden to each agent; bool[agents, URLs]."""
        out = np.zeros((len(self.agents), len(texts)), bool)
        for i in np.flatnonzero(texts >= 0).tolist():
            text = rules[texts[i]]
            if text:
                path = found.paths[i].as_py().replace("\\", "/")
                url = f"http://host{path if path[:1] == '/' else '/' + path}"
                out[:, i] = [not _parser(text).can_fetch(url, agent) for agent in self.agents]
        return out

    def warm(self) -> None:
        """Unpack the rules."""
        unpack(self.packed)


def _rows(found: Addresses, urls: Any) -> int:
    """Return the number of documents that have one of these URLs."""
    return int(np.count_nonzero(over_rows(found, urls, missing=False)))


@lru_cache(maxsize=4_096)
def _parser(text: str) -> Any:
    return need("protego", extra="robots").Protego.parse(text)
