"""Errors of HTTP servers, as those of dataprep; those of `aiohttp` state the URL with its signature."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dataprep.errors import ReadError, Transient

TRY_AGAIN = (408, 425, 429)  # answers of servers to requests that came too late, too early or too often


@contextlib.contextmanager
def answered(url: str) -> Iterator[None]:
    """Turn an error of HTTP in the `with` block into ReadError (the server refuses it) or Transient (try again)."""
    try:
        yield
    except Exception as e:
        if not type(e).__module__.startswith("aiohttp"):
            raise
        status = getattr(e, "status", 0)
        if 400 <= status < 500 and status not in TRY_AGAIN:
            msg = f"the server refuses it with status {status}; check the URL, and whether its signature has expired"
            raise ReadError(msg, url) from None
        state = f"answers with status {status}" if status else f"cannot be reached, or broke off ({type(e).__name__})"
        msg = f"{url}: the server {state}; check the URL and the network, and try again"
        raise Transient(msg) from None
