"""Files on other machines: exact ranges are read, a small file is one PUT, and errors are converted to ours.

Only this module uses the file systems of fsspec. They keep no listings, so that files of other processes are found.

A Runner retries a task after Transient. Other errors would end the run or, being kinds of OSError, be mistaken for
damage to a file; and the errors of `aiohttp` state the URL with its signature.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

import xxhash

from dataprep.errors import NotInstalled, PlanError, ReadError, Transient

SUMS = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss"}  # stores that state a checksum
# Of the system and of fsspec, whose FSTimeoutError is a TimeoutError since Python 3.11.
LOST: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)
if sys.version_info < (3, 11):
    from fsspec.exceptions import FSTimeoutError

    LOST = (*LOST, FSTimeoutError)
NETWORK: tuple[type[Exception], ...] = (Transient, *LOST)  # after which a task is repeated
TRY_AGAIN = (408, 425, 429)  # status codes for requests that came too late, too early or too often
CLIENTS = ("aiohttp", "aiobotocore", "azure", "botocore", "gcsfs", "google", "requests")  # packages that raise errors
BUSY = (errno.EBUSY, errno.EIO, getattr(errno, "EREMOTEIO", errno.EIO))  # s3fs's numbers for the states 500 and 503
EXTRAS = {
    "http": "http", "https": "http", "s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure", "abfs": "azure",
    "abfss": "azure",
}  # fmt: skip
FEW = 1 << 16  # bytes of the first request; the footers of most Parquet files
MOST = 1 << 23  # bytes that are read ahead
PUT = 1 << 24  # bytes of the largest file that is sent by one request, and of each part of a larger one
KEPT = 4_096  # hashes of written files
written: dict[str, tuple[int, str]] = {}  # {URL: size and hash} of files that this process wrote, until `take`


def fs_of(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a remote URL, and the path in it. Raises PlanError if no package can open it."""
    import fsspec  # with asyncio, it takes a twentieth of a second to load

    check_installed(url)
    try:
        return cast("tuple[Any, str]", fsspec.core.url_to_fs(url, use_listings_cache=False))
    except ImportError as e:
        raise _not_installed(url, e) from e
    except ValueError as e:  # an unknown protocol
        msg = f"{url} cannot be reached: {e}; check the URL"
        raise PlanError(msg) from e


def check_installed(url: str) -> None:
    """Raise NotInstalled if the package for a remote URL is not installed; the error names the URL and the extra.

    `files.join` and `ranges.located` call it with the URL of a folder as the user gave it, before they add a name.
    """
    with contextlib.suppress(ValueError):  # an unknown protocol
        try:
            _kind_of(protocol(url))
        except ImportError as e:
            raise _not_installed(url, e) from e


@cache
def _kind_of(name: str) -> Any:
    """Return the class of the file systems of a protocol."""
    import fsspec

    return fsspec.get_filesystem_class(name)


def _not_installed(url: str, error: ImportError) -> NotInstalled:
    extra = EXTRAS.get(protocol(url))
    install = f"pip install 'dataprep-lm[{extra}]'" if extra else "use pip for that"
    return NotInstalled(f"{url} cannot be reached: {error}; {install}")


def protocol(url: str) -> str:
    """Return the protocol of a remote URL in lower case, such as "s3"; of a chain of protocols, the last."""
    return url.partition("://")[0].rpartition("::")[2].lower()


@contextlib.contextmanager
def answered(url: str) -> Iterator[None]:
    """Convert network errors of the `with` block to ReadError (the server refuses it) or Transient (try again)."""
    try:
        yield
    except PermissionError as e:
        msg = f"access is denied ({e}); check the credentials, and read public files anonymously"
        raise ReadError(msg, url) from e
    except Exception as e:
        busy = isinstance(e, OSError) and e.errno in BUSY
        if not busy and not isinstance(e, LOST) and type(e).__module__.partition(".")[0] not in CLIENTS:
            raise
        if "Credential" in type(e).__name__:
            msg = f"the store needs credentials ({type(e).__name__}); set them, or read public files anonymously"
            raise ReadError(msg, url) from None
        codes = (getattr(e, name, None) for name in ("status", "status_code", "code"))
        status = next((code for code in codes if isinstance(code, int)), 0)
        if 400 <= status < 500 and status not in TRY_AGAIN:
            msg = f"the server rejects it with status {status}; check the URL, and whether its signature has expired"
            raise ReadError(msg, url) from None
        failed = f"cannot be reached, or closed the connection ({type(e).__name__})"
        state = f"answers with status {status}" if status else f"is overloaded ({e.args[-1]})" if busy else failed
        msg = f"{url}: the server {state}; check the URL and the network, and try again"
        raise Transient(msg) from None


def ask(url: str, question: str, *given: Any, **options: Any) -> Any:
    """Return the answer to `question`, a method of the file system of a remote URL."""
    fs, path = fs_of(url)
    with answered(url):
        return getattr(fs, question)(path, *given, **options)


def read(url: str) -> bytes:
    """Return the bytes of a remote file, by one request. Raises FileNotFoundError if it does not exist."""
    known = {"max_concurrency": 1} if protocol(url).startswith("s3") else {}  # else s3fs asks for the size first
    return bytes(ask(url, "cat_file", **known))


def checksum(url: str, info: Mapping[str, Any]) -> str:
    """Return the checksum that an object store states for a file; "" if none, and for other servers.

    An MD5, of which all stores compute the same, is returned in hex.

    - info: what the file system states of the file.
    """
    if protocol(url) not in SUMS:
        return ""
    settings = info.get("content_settings")
    md5 = info.get("md5Hash") or (settings.get("content_md5") if isinstance(settings, Mapping) else None)
    if md5:
        return (base64.b64decode(md5) if isinstance(md5, str) else bytes(md5)).hex()
    return str(info.get("ETag") or info.get("etag") or "").strip('"')


class RemoteStream(io.RawIOBase):
    """A stream of a remote file; if reading fails, it raises the errors of `answered`.

    Each request is for the bytes that are read, or FEW. If reading continues where the last request ended, the request
    is for as many bytes as the requests before it, up to MOST. No more than twice the bytes that are read and FEW bytes
    per jump are therefore fetched.
    """

    stream: Any = None  # until the file is open

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.stream = ask(url, "open", "rb", cache_type="none")
        self.size = getattr(self.stream, "size", None) if self.stream.seekable() else None
        if self.size == 0 and (getattr(self.stream, "details", None) or {}).get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), url)  # which s3fs opens as an empty file
        self.at = self.start = self.fetched = 0  # offsets of the next byte and of `held`; bytes fetched without a jump
        self.held = b""

    def readable(self) -> bool:
        """Return True, since the stream can be read."""
        return True

    def seekable(self) -> bool:
        """Return whether the stream has `seek`."""
        return bool(self.stream.seekable())

    def read(self, size: int | None = -1) -> bytes:
        """Return at most `size` bytes; -1 means all remaining bytes."""
        if self.size is None:
            with answered(self.url):
                return bytes(self.stream.read(-1 if size is None else size))
        left = max(0, self.size - self.at)
        size = left if size is None or size < 0 else min(size, left)
        first = self.at - self.start
        found = self.held[first : first + size] if 0 <= first < len(self.held) else b""
        self.at += len(found)
        if len(found) < size:
            rest = self._fetch(size - len(found))
            self.at += len(rest)
            found = found + rest if found else rest
        return found

    def _fetch(self, size: int) -> bytes:
        """Return `size` bytes from the current offset on; hold bytes that were fetched beyond them."""
        if self.at != self.start + len(self.held):
            self.fetched = 0
        n = min(max(size, FEW, min(self.fetched, MOST)), cast("int", self.size) - self.at)
        with answered(self.url):
            self.stream.seek(self.at)
            data = bytes(self.stream.read(n))
        if len(data) < n:
            msg = f"{self.url}: the server closed the connection after {len(data):,} of {n:,} bytes; try again"
            raise Transient(msg)
        self.fetched += n
        self.start, self.held = (self.at, data) if n > size else (self.at + n, b"")
        return data[:size]

    def readinto(self, buffer: Any) -> int:
        """Read bytes into `buffer`; return the number of bytes read."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to an offset, and return the new offset."""
        if self.size is None:
            return int(self.stream.seek(offset, whence))
        self.at = max(0, offset + (0, self.at, self.size)[whence])
        return self.at

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return int(self.stream.tell()) if self.size is None else self.at

    def close(self) -> None:
        """Close the stream."""
        self.held = b""
        if self.stream is not None:
            self.stream.close()
        super().close()


class Upload(io.RawIOBase):
    """A file to write; it appears at the end of `upload`: by one PUT if it is small, else by a multipart upload."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, (self.fs, self.path) = url, fs_of(url)
        self.size, self.digest = 0, xxhash.xxh3_128()
        self.held: io.BytesIO | None = io.BytesIO()
        self.stream: Any = None  # of a large file

    def writable(self) -> bool:
        """Return True, since the file can be written."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self.size

    def write(self, data: Any) -> int:
        """Write bytes; return their number."""
        view = memoryview(data).cast("B")
        if self.held is not None and self.size + len(view) > PUT:
            self._begin(self.held.getbuffer())
            self.held = None
        with answered(self.url):
            (self.stream if self.held is None else self.held).write(view)
        self.digest.update(view)
        self.size += len(view)
        return len(view)

    def _begin(self, data: Any) -> None:
        """Begin a multipart upload with `data`."""
        with answered(self.url):
            self.fs._intrans = True  # noqa: SLF001 - else MemoryFileSystem would show the file at once
            try:
                self.stream = self.fs.open(self.path, "wb", block_size=PUT)
                self.fs.transaction.files.remove(self.stream)
            finally:
                self.fs._intrans = False  # noqa: SLF001
            self.stream.write(data)

    def finish(self) -> None:
        """Let the file appear."""
        try:
            with answered(self.url):
                if self.stream is None:
                    self.fs.pipe_file(self.path, cast("io.BytesIO", self.held).getvalue())
                else:
                    self.stream.close()
                    self.stream.commit()
        except FileNotFoundError as e:  # it may have appeared, and the answer was lost
            msg = f"{self.url}: the server has no such upload ({e}); try again"
            raise Transient(msg) from e
        written[self.url] = self.size, self.digest.hexdigest()
        while len(written) > KEPT:
            written.pop(next(iter(written)), None)

    def discard(self) -> None:
        """End the upload; no file appears, and the store keeps no part of it."""
        if self.stream is not None:
            with contextlib.suppress(Exception):  # the error of the caller matters
                self.stream.discard()
            with contextlib.suppress(AttributeError):
                self.stream.closed = True  # else it would be completed when it is garbage-collected


@contextlib.contextmanager
def upload(url: str) -> Iterator[Upload]:
    """Yield a remote file to write; it appears only if the `with` block ends without an error."""
    f = Upload(url)
    try:
        yield f
        f.finish()
    except BaseException:
        f.discard()
        raise
