"""Hosts and paths of the URLs in a column; each distinct URL is parsed once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model.batch import Batch
from dataprep.errors import PlanError
from dataprep.lazy import compute as pc
from dataprep.unicode.hosts import host_name

# The authority as browsers find it (WHATWG, URL Standard): after `http:` with any slashes, or after two or more; up to
# one of `/?#\\`; a user name ends at the last `@`. Without them, what looks like a host name counts: example.org/page.
PARTS = (
    r"(?s)^(?:(?:(?i:https?|ftp|wss?):[/\\]*|[A-Za-z][A-Za-z0-9+.\-]*:[/\\]{2}|[/\\]{2,})(?:[^/?#\\]*@)?"
    r"(?P<host>\[[^\]/?#\\]*\]?|[^/?#\\:@]*)(?::[^/?#\\]*)?"
    r"|(?P<bare>[^/?#\\:@\s]+\.[^/?#\\:@\s]+)(?::[0-9]*)?)(?P<path>[/?#\\].*)?$"
)
IGNORED = r"^[\x00-\x20]+|[\x00-\x20]+$|[\t\n\r]"  # what the standard removes from a URL before it reads it


class Addresses(NamedTuple):
    """The distinct URLs of a batch of documents, with their hosts and paths.

    Attributes:
        urls: the distinct URLs.
        rows: for each document, the index of its URL; -1 if it has no URL.
        hosts: the distinct hosts, as `host_name` writes them; a host that `host_name` rejects is in lower case, and ""
            represents a URL without a host.
        host_of: for each URL, the index of its host.
        paths: for each URL, the part after the host.
    """

    urls: pa.StringArray  # of the different URLs
    rows: npt.NDArray[np.int32]  # index of each document's URL; -1 without one
    hosts: list[str]  # the different hosts, in one form; "" if there is none
    host_of: npt.NDArray[np.int32]  # of each URL
    paths: pa.StringArray  # of each URL: the rest after the host


def addresses(batch: Batch, column: str, who: str) -> Addresses:
    """Return the distinct URLs in a column of a batch, with their hosts and paths.

    Raises PlanError, which names the stage `who`, if the column does not contain strings.
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
    """Return URLs without tabs, line breaks and surrounding white space, which browsers ignore."""
    if not pc.any(pc.match_substring_regex(urls, IGNORED)).as_py():
        return urls
    return pc.replace_substring_regex(urls, IGNORED, "")


def over_hosts(found: Addresses, values: Any) -> Any:
    """Return an array with one value per distinct URL: the value of its host.

    - values: one value per distinct host.
    """
    return np.asarray(values)[found.host_of] if len(found.hosts) else np.zeros(0, np.asarray(values).dtype)


def over_rows(found: Addresses, values: Any, missing: Any) -> Any:
    """Return an array with one value per document: the value of its URL, or `missing` if it has no URL.

    - values: one value per distinct URL.
    """
    return np.append(np.asarray(values), missing)[found.rows]
