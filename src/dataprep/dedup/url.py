"""URL: keep one version of each web page, the newest by default; pages are identified by their normalised URLs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.dedup.near.sketch import EqualTexts
from dataprep.errors import PlanError, need, require
from dataprep.store.key import key
from dataprep.unicode.hosts import PLAIN, host_name
from dataprep.unicode.text import I64, U8, U64

from .keep import Keep
from .older import Deduplication

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.model.verdict import Verdict
    from dataprep.core.run.runner import Runner

IGNORE = ("scheme", "www", "slash")
# Parameters that identify a visitor or the referrer, not the page; `*` means any suffix.
TRACKING = (
    "utm_*", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "srsltid", "_ga", "_gl",  # Google
    "fbclid", "fb_action_ids", "fb_source", "igshid", "igsh", "twclid", "ttclid", "msclkid", "yclid", "ysclid",
    "mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "hsctatracking", "hsa_*", "pk_*", "mtm_*", "oly_anon_id",
    "oly_enc_id", "vero_id", "s_cid", "wickedid", "xtor", "at_campaign", "at_medium",
    "jsessionid", "phpsessid", "aspsessionid*",  # sessions
)  # fmt: skip
AUTHORITY = re.compile(r"(\s*https?://(?:[^/?#\\]*@)?)(\[[^\]/?#\\]*\]|[^/?#\\:@]*)", re.IGNORECASE)
HOST = re.compile(r"([^\W.]|[-~:])+(\.([^\W.]|[-~:])+)*\.?", re.ASCII)  # labels of ASCII; [::1] too
LAST_DOT = re.compile(r"\.(:\d+)?$")  # the dot that ends a complete host name
WWW = re.compile(r"^(?:www\.)+(?=[^.]+\.)")  # not of www.com
SESSION = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
PORTS = {"http": ":80", "https": ":443"}


def normalize_url(url: str, ignore: Sequence[str] = IGNORE, tracking: Sequence[str] = TRACKING) -> str:
    """Return the normalised form of a page's URL, or "" if it is not an absolute http or https URL.

    These rules always apply (RFC 3986, section 6; w3lib's `canonicalize_url`):

    - The scheme is lower-cased. The host is written as in the URL Standard, in lower case and Punycode (UTS 46:
      `straße.de` differs from `strasse.de`), and the default port is removed.
    - Dot segments are resolved, and an empty path becomes `/`.
    - Percent-encoding is used only where it is needed, with digits in upper case.
    - URL parameters are sorted. The fragment is removed unless it begins with `!`, since such a fragment identifies a
      page.

    Args:
        url: the URL.
        ignore: the differences to remove. "scheme": `http:` and `https:` are removed. "www": a leading `www.` is
            removed. "slash": slashes at the end of the path are removed.
        tracking: the names of URL parameters to remove, in lower case; `*` at the end of a name matches any suffix.

    >>> normalize_url("HTTP://WWW.Example.org:80/a/../b/?utm_source=feed&y=2&x=%7e#top")
    '//example.org/b?x=~&y=2'
    """
    return _Normal(ignore, tracking)(url)


class _Normal:
    """`normalize_url` with precompiled options."""

    def __init__(self, ignore: Sequence[str], tracking: Sequence[str]) -> None:
        self.canonical = need("w3lib.url", extra="dedup").canonicalize_url
        self.ignore = frozenset(ignore)
        names = [re.escape(name).replace(r"\*", "[^=]*") for name in tracking] or ["(?!)"]
        self.tracks = re.compile(f"(?:{'|'.join(names)})(?:=|$)", re.IGNORECASE).match

    def __call__(self, url: str) -> str:
        """Return the normalised URL."""
        authority = AUTHORITY.match(url)
        try:
            if authority and not PLAIN.fullmatch(authority[2]):  # before w3lib, which maps names by IDNA 2003
                authority[2].encode()  # not a half of a surrogate pair
                url = authority[1] + host_name(authority[2]) + url[authority.end() :]
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
class UrlSketch(EqualTexts):
    """Compares documents by the normalised URL in one of their columns.

    Attributes:
        column: the name of the column of URLs.
        ignore: as in `normalize_url`.
        tracking: as in `normalize_url`.
    """

    column: str
    ignore: tuple[str, ...]
    tracking: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The name of the column of URLs, as a tuple; `keys` and `contents` read only this column."""
        return (self.column,)

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the size of each document's URL in eight-byte words, int64[n], and a hash of the URL, uint64[1, n].

        The URL is normalised. A document without a valid URL has the size 0, and is never compared.
        """
        words, keys = super().keys(batch)
        return np.where(words > 1, words, 0), keys

    @cached_property
    def _normal(self) -> _Normal:
        return _Normal(self.ignore, self.tracking)

    def texts(self, batch: Batch) -> tuple[I64, U8]:
        """Return the normalised URL of each document, as offsets int64[n + 1] and UTF-8 bytes uint8.

        A missing or invalid URL becomes "". Raises PlanError if the column does not contain strings.
        """
        column = batch.column(self.column)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kinds = (pa.types.is_null, pa.types.is_string, pa.types.is_large_string)
        wanted = f"URLDedup(column={self.column!r}): the column must hold strings; it holds {column.type}"
        require(any(is_kind(column.type) for is_kind in kinds), wanted)
        urls = [self._normal(url) if url else "" for url in column.to_pylist()]
        return B.buffers(pa.array(urls, pa.large_string()))


@dataclass(frozen=True, kw_only=True)
class URLDedup(Deduplication):
    """Drop all but one capture (downloaded version) of each page: documents with equal normalised URLs (an Estimator).

    Args:
        column: the name of the column of URLs; read(..., columns=["url"]) turns the metadata field `url` into this
            column.
        keep: the capture that is kept: "newest" (by the column `date`), "newest:COLUMN", "first", "longest",
            "best:COLUMN", "source:A,B" or "none", as in `Exact`.
        ignore: the differences between URLs that are ignored: "scheme", "www" and "slash"; see `normalize_url`.
        tracking: the names of URL parameters that are removed before the comparison; see `normalize_url`.
        against: the folders of sealed Datasets (finished outputs) whose captures come before all new captures and are
            kept, even if a new capture is more recent.
        annotate: True removes nothing, and adds the columns of docs/dedup-annotate.md. A string such as "near_" also
            removes nothing, and is the prefix of the column names.

    Texts are not compared. Normalised URLs are compared in full, never by hash alone. A document is kept if it has no
    URL, or if its URL is not an absolute http or https URL. The table of dropped documents names the kept capture; the
    reason is "older_capture" with keep="newest", else "same_url". Needs the extra `dedup`.
    """

    only_drops: ClassVar[bool] = True

    VERSION: ClassVar[int] = 2

    column: str = "url"
    keep: str = "newest"
    ignore: tuple[str, ...] = IGNORE
    tracking: tuple[str, ...] = field(default=TRACKING, repr=False)
    against: str | Sequence[str] | None = None
    annotate: bool | str = False

    def __post_init__(self) -> None:
        strange = sorted(set(self.ignore) - set(IGNORE)) if isinstance(self.ignore, tuple) else [self.ignore]
        for name in strange:
            msg = f"ignore={self.ignore!r} must be a tuple of {', '.join(map(repr, IGNORE))}, not {name!r}"
            raise PlanError(msg)
        texts = isinstance(self.tracking, tuple) and all(isinstance(name, str) for name in self.tracking)
        named = texts and all(name.strip("*") for name in self.tracking)
        require(isinstance(self.column, str), f"column={self.column!r} must be the name of a column of URLs")
        names = "a tuple of parameter names, such as ('utm_*', 'fbclid')"
        require(named, f"tracking={self.tracking!r} must be {names}")
        Keep.parse(self.keep)
        need("w3lib.url", extra="dedup")
        self._check_memory()

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that this stage reads: the column of URLs, and the one by which `keep` chooses the capture."""
        return tuple(dict.fromkeys((self.column, *Keep.parse(self.keep).needs)))

    @property
    def read_of_older(self) -> tuple[str, ...]:
        """The column of URLs, as a tuple; `keep` does not read the older Datasets, whose captures are all kept."""
        return (self.column,)

    @property
    def sketch(self) -> UrlSketch:
        """The settings that define when two documents are equal: their normalised URLs in `column` must be equal."""
        return UrlSketch(column=self.column, ignore=self.ignore, tracking=self.tracking)

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Verdict:
        """Find the captures of each page in `docs`; return the stage that drops all but one capture of each.

        Writes the table of documents to drop into the folder `out`. A table from an earlier call is reused if it is
        still valid.
        """
        from dataprep.core.model.annotate import annotated

        from .near.search import DuplicateSearch

        keep = Keep.parse(self.keep)
        reason = "older_capture" if keep.kind == "newest" else "same_url"
        found = DuplicateSearch(
            docs=docs, runner=runner, out=out, sketch=self.sketch, keep=keep, name=self.name, reason=reason,
            reason_in_older="same_url", key=self.key_for(docs), older=self.sampled_older(runner),
            sketch_key=key(("URLDedup", self.VERSION, self.sketch)),
        )  # fmt: skip
        return annotated(found.find_again(), self.prefix)

    def warm(self) -> None:
        """Compile the kernels that `fit` calls, by fitting two short documents, before workers start."""
        from .warm import warm

        warm(replace(self, keep="first", against=None).fit, [self.column])
