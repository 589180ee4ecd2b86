"""Hosts and paths of a column of URLs, once for each different URL, for rules about addresses."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.batch import Batch
from dataprep.errors import PlanError

# The authority as browsers find it: after `//`, up to one of `/?#\`; a user name ends at the last `@`. An address
# without `//` counts if it looks like a host name: example.org/page.
PARTS = (
    r"(?s)^[\x00-\x20]*(?:(?:[A-Za-z][A-Za-z0-9+.\-]*:)?[/\\]{2}(?:[^/?#\\]*@)?(?P<host>\[[^\]/?#]*\]|[^/?#\\:\s]*)(?::[0-9]*)?"
    r"|(?P<bare>[^/?#\\:@\s]+\.[^/?#\\:@\s]+)(?::[0-9]+)?)(?P<path>[/?#\\].*)?[\x00-\x20]*$"
)
SPECIAL = re.compile(r"[\x00-\x20#/<>?@\\^|%:]")  # not in host names, once escapes are decoded


class Addresses(NamedTuple):
    """The URLs of a batch, each once."""

    urls: pa.StringArray  # of the different URLs
    rows: npt.NDArray[np.int32]  # index of each document's URL; -1 without one
    hosts: list[str]  # the different hosts, in one form; "" if there is none
    host_of: npt.NDArray[np.int32]  # of each URL
    paths: pa.StringArray  # of each URL: the rest after the host


def addresses(batch: Batch, column: str, who: str) -> Addresses:
    """Return the addresses in a column of strings."""
    coded = _coded(batch.column(column), f"{who}(column={column!r})")
    urls = coded.dictionary.cast(pa.string())
    names, paths = split(urls)
    hosts = names.dictionary_encode()
    rows = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    known = [host_name(host) for host in hosts.dictionary.to_pylist()]
    return Addresses(urls, rows, known, hosts.indices.to_numpy(zero_copy_only=False), paths)


def split(urls: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    """Return the host of each URL as it is written, and the rest after it; "" if there is none."""
    if not len(urls):
        return urls, urls
    parts = pc.extract_regex(urls, PARTS)
    host, bare, path = (pc.fill_null(parts.field(name), "") for name in ("host", "bare", "path"))
    return pc.if_else(pc.equal(host, ""), bare, host), path


def _coded(column: pa.Array, where: str) -> pa.DictionaryArray:
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        msg = f"{where} needs a column of strings, which holds {kind}"
        raise PlanError(msg)
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def host_name(host: str) -> str:
    """Return a host in one form: lower case, Punycode (IDNA 2003), no dot at the end; "" if it is not a host.

    >>> host_name("WWW.Exämple.ORG.")
    'www.xn--exmple-cua.org'
    """
    host = unquote(host) if "%" in host else host
    if host.startswith("["):
        return host.lower()
    if not host.isascii():
        host = _punycode(unicodedata.normalize("NFKC", host))
    host = host.lower().rstrip(".")
    return "" if SPECIAL.search(host) else host


def _punycode(host: str) -> str:
    try:
        return host.encode("idna").decode()
    except UnicodeError:  # a label that is empty, too long or has a forbidden character
        return host


def over_hosts(found: Addresses, values: Any) -> Any:
    """Return values per host as values per URL, both NumPy arrays."""
    return np.asarray(values)[found.host_of] if len(found.hosts) else np.zeros(0, np.asarray(values).dtype)


def over_rows(found: Addresses, values: Any, missing: Any) -> Any:
    """Return values per URL as values per document, both NumPy arrays; `missing` for documents without a URL."""
    return np.append(np.asarray(values), missing)[found.rows]
