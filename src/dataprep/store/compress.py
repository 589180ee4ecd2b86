"""Read and write compressed streams: gzip, zstd and xz, by file suffix; errors state the offset of the damage."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import pyarrow as pa
import zstandard

from dataprep.errors import ReadError

STEP = 1 << 17  # bytes: pyarrow loses those of a read in which damage is found
SUFFIXES = (".gz", ".zst", ".xz")
WINDOW = "requires too much memory"  # zstd's words for a frame with a window of more bytes than these
WINDOW_BYTES = 1 << 27


def decompressed(raw: BinaryIO, url: str) -> BinaryIO:
    """Return a stream of the decompressed bytes of `raw`; if the suffix of `url` names no compression, return `raw`.

    Reading from the stream raises ReadError, with the offset in bytes, if the data ends early or is damaged.
    """
    lower = url.lower() if "://" not in url else url.lower().partition("?")[0]
    if lower.endswith(".gz"):
        return cast("BinaryIO", io.BufferedReader(_Checked(gzip.GzipFile(fileobj=raw), raw, url), 1 << 20))
    if lower.endswith(".zst"):
        frames = pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")  # detects truncation, in bounded memory
        return cast("BinaryIO", io.BufferedReader(_Checked(frames, raw, url), 1 << 20))
    if lower.endswith(".xz"):
        return cast("BinaryIO", io.BufferedReader(_Checked(lzma.LZMAFile(raw), raw, url), 1 << 20))
    return raw


class _Checked(io.RawIOBase):
    """Decompressor that raises ReadError, with file and offset."""

    def __init__(self, inner: Any, raw: BinaryIO, url: str) -> None:
        super().__init__()
        self.inner, self.raw, self.url, self.offset = inner, raw, url, 0
        self.fill = getattr(inner, "readinto1", inner.readinto)  # bytes before damage are returned first

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            n = int(self.fill(memoryview(buffer)[:STEP]))
        except (ConnectionError, TimeoutError):  # the network's fault, not the file's: the Runner tries again
            raise
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as e:
            if WINDOW in str(e):
                msg = (
                    f"its zstd window is over {WINDOW_BYTES >> 20} MiB, the most that is held in memory; "
                    "compress it again without --long or --ultra"
                )
                raise ReadError(msg, self.url, self.offset) from e
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
    elif name.endswith(".xz"):
        with lzma.LZMAFile(f, "wb") as out:
            yield out
    else:
        yield f
