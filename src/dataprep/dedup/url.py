"""URL: keep one capture per page, the newest by default; pages are identified by their normalised URLs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.runner import Runner
from dataprep.core.verdict import DropIds
from dataprep.dedup.near.search import DuplicateSearch
from dataprep.dedup.near.sketch import pack
from dataprep.errors import PlanError, need
from dataprep.unicode.text import I64, U64, text_hashes

from .keep import Keep

IGNORE = ("scheme", "www", "slash")
# Parameters that identify a visitor or his origin, not the page; `*` means any ending.
TRACKING = (
    "utm_*", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "srsltid", "_ga", "_gl",  # Google
    "fbclid", "fb_action_ids", "fb_source", "igshid", "igsh", "twclid", "ttclid", "msclkid", "yclid", "ysclid",
    "mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "hsctatracking", "hsa_*", "pk_*", "mtm_*", "oly_anon_id",
    "oly_enc_id", "vero_id", "s_cid", "wickedid", "xtor", "at_campaign", "at_medium",
    "jsessionid", "phpsessid", "aspsessionid*",  # sessions
)  # fmt: skip
HOST = re.compile(r"([^\W.]|[-~:])+(\.([^\W.]|[-~:])+)*\.?", re.ASCII)  # labels of ASCII; [::1] too
LAST_DOT = re.compile(r"\.(:\d+)?$")  # the dot that ends a complete host name
WWW = re.compile(r"^(?:www\.)+(?=[^.]+\.)")  # not of www.com
SESSION = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
PORTS = {"http": ":80", "https": ":443"}


def normalize_url(url: str, ignore: Sequence[str] = IGNORE, tracking: Sequence[str] = TRACKING) -> str:
    """Return the URL of a page in one form, or "" if it is not an absolute http or https URL.

    Always (RFC 3986, section 6; w3lib's `canonicalize_url`): scheme and host in lower case, host names in Punycode,
    no default port, dot segments resolved, percent-encoding only if needed, in upper case, an empty path
    is `/`, parameters sorted. The fragment is removed unless it begins with `!`, which identifies a page.

    ignore: "scheme": http is https; "www": the host without it; "slash": no slash at the end of the path.
    tracking: names of parameters that are removed, in lower case; `*` at the end means any ending.

    >>> normalize_url("HTTP://WWW.Example.org:80/a/../b/?utm_source=feed&y=2&x=%7e#top")
    '//example.org/b?x=~&y=2'
    """
    return _Normal(ignore, tracking)(url)


class _Normal:
    """`normalize_url` with compiled choices."""

    def __init__(self, ignore: Sequence[str], tracking: Sequence[str]) -> None:
        self.canonical = need("w3lib.url", extra="dedup").canonicalize_url
        self.ignore = frozenset(ignore)
        names = [re.escape(name).replace(r"\*", "[^=]*") for name in tracking] or ["(?!)"]
        self.tracks = re.compile(f"(?:{'|'.join(names)})(?:=|$)", re.IGNORECASE).match

    def __call__(self, url: str) -> str:
        """Return the normal form."""
        try:
            parts = urlsplit(self.canonical(url, keep_fragments="#!" in url))
            host = parts.hostname
        except ValueError:  # a port out of range, a bracket that is not closed, a half of a surrogate pair
            return ""
        if parts.scheme not in PORTS or not HOST.fullmatch(host or ""):
            return ""
        address = LAST_DOT.sub(r"\1", parts.netloc.removesuffix(PORTS[parts.scheme]))
        address = WWW.sub("", address) if "www" in self.ignore else address
        path = SESSION.sub("", parts.path) if self.tracks("jsessionid") else parts.path
        path = (path.rstrip("/;") if "slash" in self.ignore else path) or "/"
        query = "&".join(p.removesuffix("=") for p in parts.query.split("&") if p and not self.tracks(p))
        fragment = f"#{parts.fragment}" if parts.fragment.startswith("!") else ""
        scheme = "" if "scheme" in self.ignore else parts.scheme + ":"
        return f"{scheme}//{address}{path}{'?' * bool(query)}{query}{fragment}"


@dataclass(frozen=True, kw_only=True)
class UrlSketch:
    """Documents as the normalised URLs of a column: the key is a hash of the URL, the contents are the URL itself."""

    column: str
    ignore: tuple[str, ...]
    tracking: tuple[str, ...]
    bands: int = 1
    threshold: float = 2.0  # only if the contents are equal

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (self.column,)

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the words of contents per document (0 without a valid URL), and the hash of its URL."""
        offsets, data = B.buffers(self._urls(batch))
        sizes = np.diff(offsets)
        return np.where(sizes > 0, 1 + (sizes + 7) // 8, 0), text_hashes(offsets, data)[:, 0].reshape(1, -1)

    def contents(self, batch: Batch) -> tuple[I64, U64, U64]:
        """Return each URL's length and bytes in eight-byte words, and its hash."""
        offsets, data = B.buffers(self._urls(batch))
        return *pack(offsets, data), text_hashes(offsets, data)[:, 0].reshape(1, -1)

    @cached_property
    def _normal(self) -> _Normal:
        return _Normal(self.ignore, self.tracking)

    def _urls(self, batch: Batch) -> pa.LargeStringArray:
        column = batch.column(self.column)
        if pa.types.is_null(column.type):
            return pa.repeat(pa.scalar("", pa.large_string()), batch.num_rows)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            msg = f"URL(column={self.column!r}): the column must hold strings; it holds {column.type}"
            raise PlanError(msg)
        urls = [self._normal(url) if url else "" for url in column.to_pylist()]
        return pa.array(urls, pa.large_string())


@dataclass(frozen=True, kw_only=True)
class URL(Estimator):
    """Drop the older captures of a page: documents with one normalised URL; an Estimator.

    column: the column of URLs; read(..., columns=["url"]) takes it out of meta.
    keep: "newest" (by the column `date`), "newest:COLUMN", "first", "longest", "best:COLUMN" or "source:A,B".
    ignore, tracking: which differences between URLs do not count; see `normalize_url`.

    Texts are not compared. Normalised URLs are compared in full, never by hash alone. A document is kept if it has no
    URL, or one that is not an absolute http or https URL. Verdicts name the kept capture; the reason is
    "older_capture" with "newest", else "same_url". Needs the extra `dedup`.
    """

    only_drops: ClassVar[bool] = True

    column: str = "url"
    keep: str = "newest"
    ignore: tuple[str, ...] = IGNORE
    tracking: tuple[str, ...] = field(default=TRACKING, repr=False)

    def __post_init__(self) -> None:
        strange = sorted(set(self.ignore) - set(IGNORE)) if isinstance(self.ignore, tuple) else [self.ignore]
        if strange:
            msg = f"ignore={self.ignore!r} must be a tuple of {', '.join(map(repr, IGNORE))}; it has {strange[0]!r}"
            raise PlanError(msg)
        if not isinstance(self.tracking, tuple) or any(not name.strip("*") for name in self.tracking):
            msg = f"tracking={self.tracking!r} must be a tuple of parameter names, such as ('utm_*', 'fbclid')"
            raise PlanError(msg)
        Keep.parse(self.keep)
        need("w3lib.url", extra="dedup")

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column of URLs, and those that decide which capture is kept."""
        return tuple(dict.fromkeys((self.column, *Keep.parse(self.keep).needs)))

    @property
    def sketch(self) -> UrlSketch:
        """Rule by which documents are compared."""
        return UrlSketch(column=self.column, ignore=self.ignore, tracking=self.tracking)

    def fit(self, docs: Dataset, run: Runner, out: str) -> DropIds:
        """Find the captures of each page, and return the stage that drops all but one."""
        keep, key = Keep.parse(self.keep), self.key_for(docs)
        reason = "older_capture" if keep.kind == "newest" else "same_url"
        search = DuplicateSearch(
            docs=docs, run=run, out=out, sketch=self.sketch, keep=keep, name=self.name, reason=reason, key=key
        )
        url, facts = search.find()
        return DropIds(verdicts=url, key=key, estimator=self.name, facts=facts)

    def warm(self) -> None:
        """Compile the kernels."""
        DuplicateSearch.warm(self.sketch)
