"""Read and write compressed streams (gzip, zstd, xz, bzip2, by file suffix); errors state the offset of damage."""

from __future__ import annotations

import bz2
import contextlib
import contextvars
import functools
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeVar, cast

import pyarrow as pa
import zstandard

from dataprep.errors import ReadError, raise_if_short

T = TypeVar("T")
STEP = 1 << 17  # bytes: pyarrow loses those of a read in which damage is found
SUFFIXES = (".gz", ".zst", ".xz", ".bz2")
KINDS = {".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".bz2": "bzip2"}
MAGIC = {
    ".gz": re.compile(rb"\x1f\x8b\x08"),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
    ".xz": re.compile(rb"\xfd7zXZ\0"),
    ".bz2": re.compile(rb"BZh[1-9](1AY&S|\x17rE8P)"),
}
TEXT = re.compile(r"[^\x00-\x08\x0e-\x1f\x7f\udc80-\udcff]+[\udc80-\udcff]{0,3}")  # the head of a file of text
WINDOW = ("requires too much memory", "Memory usage limit exceeded")  # of zstd and xz, for a window over these bytes
WINDOW_BYTES = 1 << 27  # that pyarrow allows
MAX_WINDOW_BYTES = 1 << 31  # that zstd allows: --long=31
FED = 1 << 12  # compressed bytes at a time: at most 128 MiB of output
XZ_STATE = 16 << 20  # bytes that xz may use in addition to the window, which xz calls dictionary
_window: contextvars.ContextVar[int] = contextvars.ContextVar("window", default=WINDOW_BYTES)


@contextlib.contextmanager
def windows(n_bytes: int) -> Iterator[None]:
    """Allow zstd windows of up to `n_bytes` in streams opened within the `with` block; 0 leaves the limit unchanged."""
    token = _window.set(n_bytes or _window.get())
    try:
        yield
    finally:
        _window.reset(token)


def in_windows(n_bytes: int, items: Iterator[T]) -> Iterator[T]:
    """Yield the items, each of which is produced within `windows(n_bytes)`."""
    while True:
        with windows(n_bytes):
            item = next(items, None)
        if item is None:
            return
        yield item


def decompressed(raw: BinaryIO, url: str) -> BinaryIO:
    """Return a stream of the decompressed bytes of `raw`; if the suffix of `url` names no compression, return `raw`.

    Raises ReadError if the bytes are compressed and the suffix does not state a compression. Reading from the stream
    raises ReadError, with the offset in bytes, if the data ends early, is damaged, or has a different compression from
    the suffix.
    """
    lower = _lower(url)
    if lower.endswith(".gz"):
        return cast("BinaryIO", io.BufferedReader(_Checked(gzip.GzipFile(fileobj=raw), raw, url), 1 << 20))
    if lower.endswith(".zst"):
        if _window.get() > WINDOW_BYTES:
            frames: Any = _Frames(raw, zstandard.ZstdDecompressor(max_window_size=_window.get()).decompressobj)
        else:
            frames = pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
        return cast("BinaryIO", io.BufferedReader(_Checked(frames, raw, url), 1 << 20))
    if lower.endswith(".xz"):
        make_xz = functools.partial(lzma.LZMADecompressor, memlimit=_window.get() + XZ_STATE)
        return cast("BinaryIO", io.BufferedReader(_Checked(_Frames(raw, make_xz, b"\0"), raw, url), 1 << 20))
    if lower.endswith(".bz2"):
        return cast("BinaryIO", io.BufferedReader(_Checked(_Bzip2(raw), raw, url), 1 << 20))
    try:
        _check_name(raw, url)
    except ReadError:
        raw.close()
        raise
    return raw


def _check_name(raw: BinaryIO, url: str) -> None:
    """Raise ReadError if a file is compressed in a different way than its name states, or not at all."""
    raw.seek(0)
    head = raw.read(16)
    raw.seek(0)
    lower = _lower(url)
    named = next((suffix for suffix in SUFFIXES if lower.endswith(suffix)), "")
    found = next((suffix for suffix, magic in MAGIC.items() if magic.match(head)), "")
    if found == named or (not found and not TEXT.fullmatch(head.decode("utf-8", "surrogateescape"))):
        return
    is_now = KINDS[found] if found else "plain text"
    fix = f"rename it, so that its name ends with {found}" if found else f"rename it without {named}"
    msg = f"its content is {is_now}, but its name indicates {KINDS.get(named, 'no compression')}; {fix}"
    raise ReadError(msg, url, 0)


def _lower(url: str) -> str:
    return url.lower() if "://" not in url else url.lower().partition("?")[0]


class _Frames(io.RawIOBase):
    """Decompressor of consecutive frames or streams of a file, in bounded memory.

    Attributes:
        make: a function that returns a decompressor of one frame, such as `lzma.LZMADecompressor`.
        padding: the bytes between frames.
    """

    def __init__(self, raw: BinaryIO, make: Callable[[], Any], padding: bytes = b"") -> None:
        super().__init__()
        self.raw, self.make, self.padding = raw, make, padding
        self.frame: Any = None
        self.fed, self.made = b"", memoryview(b"")

    def readinto(self, buffer: Any) -> int:
        while not self.made:
            self.fed = self.fed or self.raw.read(FED)
            if not self.fed:
                if self.frame is None:
                    return 0
                msg = "the last frame is not complete"
                raise EOFError(msg)
            if self.frame is None:
                self.fed = self.fed.lstrip(self.padding)
                if not self.fed:
                    continue
                self.frame = self.make()
            self.made = memoryview(self.frame.decompress(self.fed))
            self.fed = self.frame.unused_data if self.frame.eof else b""
            self.frame = None if self.frame.eof else self.frame
        n = min(len(buffer), len(self.made))
        buffer[:n], self.made = self.made[:n], self.made[n:]
        return n


class _Bzip2(_Frames):
    """Decompressor of consecutive bzip2 streams; a block of 46 bytes can contain 46 MB of one character."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(raw, bz2.BZ2Decompressor)

    def readinto(self, buffer: Any) -> int:
        while not self.made:
            if self.frame is None or self.frame.needs_input:
                self.fed = self.fed or self.raw.read(FED)
                if not self.fed:
                    if self.frame is None:
                        return 0
                    msg = "the last stream is not complete"
                    raise EOFError(msg)
            self.frame = self.frame or self.make()
            self.made = memoryview(self.frame.decompress(self.fed, STEP))
            self.fed = self.frame.unused_data if self.frame.eof else b""
            self.frame = None if self.frame.eof else self.frame
        n = min(len(buffer), len(self.made))
        buffer[:n], self.made = self.made[:n], self.made[n:]
        return n


class _Checked(io.RawIOBase):
    """Decompressor that raises ReadError, stating the file and the offset."""

    def __init__(self, inner: Any, raw: BinaryIO, url: str) -> None:
        super().__init__()
        self.inner, self.raw, self.url, self.offset = inner, raw, url, 0
        self.window = _window.get()
        self.fill = getattr(inner, "readinto1", inner.readinto)  # bytes before damage are returned first

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            n = int(self.fill(memoryview(buffer)[:STEP]))
        except (ConnectionError, TimeoutError):  # the network's fault, not the file's: the Runner retries
            raise
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as e:
            raise_if_short(e)
            if any(words in str(e) for words in WINDOW):
                kind = "xz" if isinstance(e, lzma.LZMAError) else "zstd"
                msg = (
                    f"its {kind} window is over {self.window >> 20} MiB, the most that is held in memory; "
                    'set max_window="2GiB", or compress it again without --long or --ultra'
                )
                raise ReadError(msg, self.url, self.offset) from e
            if self.offset == 0:
                _check_name(self.raw, self.url)
            msg = f"the compressed data ends early or is damaged ({e}); fetch the file again"
            raise ReadError(msg, self.url, self.offset) from e
        self.offset += n
        return n

    def close(self) -> None:
        self.inner.close()
        self.raw.close()
        super().close()


@contextlib.contextmanager
def compressor(f: BinaryIO, name: str) -> Iterator[Any]:
    """Yield a stream that writes into `f`, compressed as the suffix of `name` states; `f` stays open."""
    if name.endswith(".gz"):
        with gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as out:  # no clock, no name: same bytes
            yield out
    elif name.endswith(".zst"):
        with zstandard.ZstdCompressor(level=3).stream_writer(f, closefd=False) as out:
            yield out
    elif name.endswith(".bz2"):
        with bz2.BZ2File(f, "wb") as out:
            yield out
    elif name.endswith(".xz"):
        with lzma.LZMAFile(f, "wb") as out:
            yield out
    else:
        yield f
