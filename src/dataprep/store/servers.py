"""Errors of remote files, converted to errors of dataprep.

A Runner retries a task after Transient. Other errors would end the run or, being kinds of OSError, be mistaken for
damage to a file; and the errors of `aiohttp` state the URL with its signature.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any

from dataprep.errors import ReadError, Transient

# Of the system and of fsspec, whose FSTimeoutError is a TimeoutError since Python 3.11.
LOST: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)
if sys.version_info < (3, 11):
    from fsspec.exceptions import FSTimeoutError

    LOST = (*LOST, FSTimeoutError)
NETWORK: tuple[type[Exception], ...] = (Transient, *LOST)  # after which a task is repeated
TRY_AGAIN = (408, 425, 429)  # status codes for requests that came too late, too early or too often


@contextlib.contextmanager
def answered(url: str) -> Iterator[None]:
    """Convert network errors of the `with` block to ReadError (the server refuses it) or Transient (try again)."""
    try:
        yield
    except Exception as e:
        if not isinstance(e, LOST) and not type(e).__module__.startswith("aiohttp"):
            raise
        status = getattr(e, "status", 0)
        if 400 <= status < 500 and status not in TRY_AGAIN:
            msg = f"the server rejects it with status {status}; check the URL, and whether its signature has expired"
            raise ReadError(msg, url) from None
        failed = f"cannot be reached, or closed the connection ({type(e).__name__})"
        state = f"answers with status {status}" if status else failed
        msg = f"{url}: the server {state}; check the URL and the network, and try again"
        raise Transient(msg) from None


class RemoteStream(io.RawIOBase):
    """A stream of a remote file; if reading fails, it raises the errors of `answered`."""

    def __init__(self, stream: Any, url: str) -> None:
        super().__init__()
        self.stream, self.url = stream, url

    def readable(self) -> bool:
        """Return True, since the stream can be read."""
        return True

    def seekable(self) -> bool:
        """Return whether the stream has `seek`."""
        return bool(self.stream.seekable())

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes; -1 means all remaining bytes."""
        with answered(self.url):
            return bytes(self.stream.read(size))

    def readinto(self, buffer: Any) -> int:
        """Read bytes into `buffer`; return the number of bytes read."""
        with answered(self.url):
            return int(self.stream.readinto(buffer))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to an offset, and return the new offset."""
        return int(self.stream.seek(offset, whence))

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return int(self.stream.tell())

    def close(self) -> None:
        """Close the stream."""
        self.stream.close()
        super().close()
