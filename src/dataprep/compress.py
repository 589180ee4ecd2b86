"""Compressed streams: gzip, zstd and xz, told by suffix; what ends early or is damaged says where."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import zstandard

from .errors import ReadError

SUFFIXES = (".gz", ".zst", ".xz")


def decompressed(raw: BinaryIO, url: str) -> BinaryIO:
    """The bytes behind a stored file, decompressed as its suffix says."""
    lower = url.lower()
    if lower.endswith(".gz"):
        return cast("BinaryIO", io.BufferedReader(_Checked(gzip.GzipFile(fileobj=raw), raw, url), 1 << 20))
    if lower.endswith(".zst"):
        return cast("BinaryIO", io.BufferedReader(_Zstd(raw, url), 1 << 20))
    if lower.endswith(".xz"):
        return cast("BinaryIO", io.BufferedReader(_Checked(lzma.LZMAFile(raw), raw, url), 1 << 20))
    return raw


class _Checked(io.RawIOBase):
    """A decompressor whose errors are one sentence with file and offset."""

    def __init__(self, inner: Any, raw: BinaryIO, url: str) -> None:
        super().__init__()
        self.inner, self.raw, self.url, self.offset = inner, raw, url, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.inner.read(len(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as e:
            msg = f"the compressed data ends early or is damaged ({e}); fetch the file again"
            raise ReadError(msg, self.url, self.offset) from e
        buffer[: len(data)] = data
        self.offset += len(data)
        return len(data)

    def close(self) -> None:
        self.inner.close()
        self.raw.close()
        super().close()


class _Zstd(io.RawIOBase):
    """zstd frames one after another; unlike `stream_reader` it tells a truncated frame from a finished one."""

    def __init__(self, raw: BinaryIO, url: str) -> None:
        super().__init__()
        self.raw, self.url, self.offset = raw, url, 0
        self.frame: Any = None
        self.ready = memoryview(b"")
        self.unread = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ready:
            data = self.unread or self.raw.read(1 << 18)
            self.unread = b""
            if not data:
                if self.frame is not None:
                    msg = "the zstd data ends in the middle of a frame; fetch the file again"
                    raise ReadError(msg, self.url, self.offset)
                return 0
            self.ready = memoryview(self._decompress(data))
        n = min(len(buffer), len(self.ready))
        buffer[:n] = self.ready[:n]
        self.ready = self.ready[n:]
        self.offset += n
        return n

    def _decompress(self, data: bytes) -> bytes:
        if self.frame is None:
            self.frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        try:
            out = cast("bytes", self.frame.decompress(data))
        except zstandard.ZstdError as e:
            msg = f"the zstd data is damaged ({e}); fetch the file again"
            raise ReadError(msg, self.url, self.offset) from e
        if self.frame.eof:
            self.unread, self.frame = self.frame.unused_data, None
        return out

    def close(self) -> None:
        self.raw.close()
        super().close()


@contextlib.contextmanager
def compressor(f: BinaryIO, name: str) -> Iterator[Any]:
    """A stream that writes into `f`, compressed as the name's suffix says."""
    if name.endswith(".gz"):
        with gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as out:  # no clock, no name: same bytes
            yield out
    elif name.endswith(".zst"):
        with zstandard.ZstdCompressor(level=3).stream_writer(f, closefd=False) as out:
            yield out
    elif name.endswith(".xz"):
        with lzma.LZMAFile(f, "wb") as out:
            yield out
    else:
        yield f
