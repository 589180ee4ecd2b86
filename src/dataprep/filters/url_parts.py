"""Hosts and paths of the URLs in a column; each distinct URL is parsed once."""

from __future__ import annotations

import contextlib
import re
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.batch import Batch
from dataprep.errors import PlanError
from dataprep.unicode.assigned import normalized, over_assigned

# The authority as browsers find it: after `//`, up to one of `/?#\`; a user name ends at the last `@`. An address
# without `//` counts if it looks like a host name: example.org/page.
PARTS = (
    r"(?s)^[\x00-\x20]*(?:(?:[A-Za-z][A-Za-z0-9+.\-]*:)?[/\\]{2}(?:[^/?#\\]*@)?(?P<host>\[[^\]/?#]*\]|[^/?#\\:\s]*)(?::[0-9]*)?"
    r"|(?P<bare>[^/?#\\:@\s]+\.[^/?#\\:@\s]+)(?::[0-9]+)?)(?P<path>[/?#\\].*)?[\x00-\x20]*$"
)
SPECIAL = re.compile(r"[\x00-\x20#/<>?@\\^|%:]")  # not in host names, once escapes are decoded


class Addresses(NamedTuple):
    """The distinct URLs of a batch of documents, with their hosts and paths.

    urls: the distinct URLs. rows: for each document, the index of its URL; -1 without one. hosts: the distinct hosts,
    as `host_name` writes them; "" if there is none. host_of: for each URL, the index of its host. paths: for each URL,
    the part after the host.
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
    urls = coded.dictionary.cast(pa.string())
    names, paths = split(urls)
    hosts = names.dictionary_encode()
    rows = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    known = [host_name(host) for host in hosts.dictionary.to_pylist()]
    return Addresses(urls, rows, known, hosts.indices.to_numpy(zero_copy_only=False), paths)


def split(urls: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    """Return two arrays: the hosts of URLs as they are written ("" if there is none), and the parts after the hosts."""
    if not len(urls):
        return urls, urls
    parts = pc.extract_regex(urls, PARTS)
    host, bare, path = (pc.fill_null(parts.field(name), "") for name in ("host", "bare", "path"))
    return pc.if_else(pc.equal(host, ""), bare, host), path


def host_name(host: str) -> str:
    """Return a host in one form: lower case, Punycode (IDNA 2003), no dot at the end; "" if it is not a host.

    >>> host_name("WWW.Exämple.ORG.")
    'www.xn--exmple-cua.org'
    """
    host = unquote(host) if "%" in host else host
    if host.startswith("["):
        return host.lower()
    if not host.isascii():
        host = normalized("NFKC", host)
        with contextlib.suppress(UnicodeError):  # a label that is empty, too long or has a forbidden character
            host = host.encode("idna").decode()
    host = over_assigned(str.lower, host).rstrip(".")
    return "" if SPECIAL.search(host) else host


def over_hosts(found: Addresses, values: Any) -> Any:
    """Return an array with one value per URL: that of its host; `values` has one value per distinct host."""
    return np.asarray(values)[found.host_of] if len(found.hosts) else np.zeros(0, np.asarray(values).dtype)


def over_rows(found: Addresses, values: Any, missing: Any) -> Any:
    """Return an array with one value per document: that of its URL, or `missing` if it has no URL.

    values: one value per distinct URL.
    """
    return np.append(np.asarray(values), missing)[found.rows]
