"""Read compressed archives as streams that record the offset of each member (gzip member or zstd frame).

A crawl consists of many small compressed members, one per record, so that a record can be fetched alone; a CDX index
holds their offsets. The first bytes decide the format, not the file name: servers decompress `.gz` on the way. After a
broken record, `find_line` and `find_member` search for the next one.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

import zstandard

from dataprep.errors import ReadError
from dataprep.store import files

CHUNK = 1 << 18
GZIP, ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
# Bytes decompressed at once, since what follows a member is copied: 4 bytes of zstd may become 128 kB, 1 kB so 32 MB.
PIECES = {GZIP: 1 << 12, ZSTD: 1 << 10}
SKIPPABLE = range(0x184D2A50, 0x184D2A60)  # RFC 8878; a .warc.zst may begin with its dictionary in such a frame
DICTIONARY = 0x184D2A5D
EMPTY = ZSTD + b"\x20\x00\x01\x00\x00"  # a frame of no bytes
MAX_DICTIONARY = 16 << 20


class Broken(ReadError):
    """Raised for a broken record of an archive; `reason` is the name under which the record is counted as dropped."""

    def __init__(self, reason: str, message: str, path: str, offset: int) -> None:
        super().__init__(message, path, offset)
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.message, self.path, self.offset)


def mixed(head: bytes, magic: bytes = b"WARC/") -> str:
    """Return a sentence if `head` begins a record whose compression is not `magic`, the archive's own; else ""."""
    kinds = {b"WARC/": "an uncompressed record", GZIP: "a gzip member", ZSTD: "a zstd frame"}
    found = next((kind for begin, kind in kinds.items() if begin != magic and head.startswith(begin)), "")
    cure = "in an archive with a different compression; recompress the archive in one format"
    return f"{found} was found here, {cure}" if found else ""


class ArchiveMembers(io.RawIOBase):
    """A stream of the decompressed bytes of a gzip or zstd file, from the offset `at` of the file on.

    Attributes:
        starts: for each compressed member, {its offset in the decompressed bytes: its offset in the file}.
    """

    def __init__(self, raw: BinaryIO, url: str, magic: bytes, at: int = 0) -> None:
        super().__init__()
        self.raw, self.url, self.magic = raw, url, magic
        self.dictionary = dictionary(raw, url) if magic == ZSTD else None
        raw.seek(at)
        self.given, self.taken = 0, at  # bytes decompressed since `at`, and the offset of the next stored byte
        self.held = self.ready = b""
        self.at = 0  # offset in `held` of the next stored byte
        self.member: Any = None
        self.starts: dict[int, int] = {}

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read decompressed bytes of one compressed member into `buffer`; return their number."""
        while not self.ready:
            if self.member is None and not self._begin():
                return 0
            self.ready = self._decompress(len(buffer))
            self.given += len(self.ready)
        data, self.ready = self.ready[: len(buffer)], self.ready[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def _fill(self, n: int) -> bool:
        while len(self.held) - self.at < n and (more := self.raw.read(CHUNK if self.magic == GZIP else CHUNK >> 4)):
            self.held, self.at = self.held[self.at :] + more, 0
        return len(self.held) - self.at >= n

    def _take(self, n: int) -> None:
        self.taken += n
        self.at += n

    def _begin(self) -> bool:
        """Enter the next member, after any padding of zeros; return False at the end of the file."""
        while self._fill(1):
            if self.held[self.at] == 0:
                self._take(len(self.held) - self.at - len(self.held[self.at :].lstrip(b"\0")))
                continue
            head = self.held[self.at : self.at + 8] if self.magic == ZSTD and self._fill(8) else b""
            if head and int.from_bytes(head[:4], "little") in SKIPPABLE:
                self._skip(8 + int.from_bytes(head[4:], "little"))
                continue
            self.starts[self.given] = self.taken
            self.member = self._decompressor()
            return True
        return False

    def _skip(self, n: int) -> None:
        while n:
            if not self._fill(1):
                self._fail("cut_archive", "the file ends in the middle of a zstd frame")
            step = min(n, len(self.held) - self.at)
            self._take(step)
            n -= step

    def _decompressor(self) -> Any:
        if self.magic == GZIP:
            return zlib.decompressobj(wbits=31)
        return zstandard.ZstdDecompressor(dict_data=self.dictionary).decompressobj()

    def _decompress(self, limit: int) -> bytes:
        if not self._fill(1):
            self._fail("cut_archive", "the file ends in the middle of a compressed record")
        parts: list[bytes] = []
        try:
            while limit > 0 and self.member is not None and self.at < len(self.held):
                piece = self.held[self.at : self.at + PIECES[self.magic]]
                if self.magic == GZIP:
                    parts.append(self.member.decompress(piece, limit))
                    rest = self.member.unused_data if self.member.eof else self.member.unconsumed_tail
                    limit -= len(parts[-1])
                else:
                    parts.append(self.member.decompress(piece))
                    rest, limit = self.member.unused_data, 0
                self._take(len(piece) - len(rest))
                self.member = None if self.member.eof else self.member
        except (zlib.error, zstandard.ZstdError) as e:
            is_begin = self.starts.get(self.given) == self.taken
            if is_begin and (other := mixed(bytes(self.held[self.at : self.at + 8]), self.magic)):
                self._fail("damaged", other, "")
            self._fail("damaged", f"the compressed data is damaged ({e})")
        return b"".join(parts)

    def _fail(self, reason: str, found: str, fix: str = "; fetch it again") -> None:
        raise Broken(reason, found + fix, self.url, self.taken)

    def close(self) -> None:
        """Close the stream and its file."""
        self.raw.close()
        super().close()


class Again(io.RawIOBase):
    """A stream of bytes that were read before, and then of the rest of their stream or the error that it raised."""

    def __init__(self, data: bytes, stream: Any, error: ReadError | None) -> None:
        super().__init__()
        self.data, self.stream, self.error = memoryview(data), stream, error

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into `buffer`; return their number."""
        if not self.data and self.error is not None:
            raise self.error
        if not self.data:
            return filler(self.stream)(buffer)
        n = min(len(buffer), len(self.data))
        buffer[:n], self.data = self.data[:n], self.data[n:]
        return n

    def close(self) -> None:
        """Close the stream and its file."""
        self.stream.close()
        super().close()


def filler(stream: Any) -> Callable[[Any], int]:
    """Return the method of a stream that reads bytes into a buffer by one read at most, and returns their number."""
    found: Callable[[Any], int] = getattr(stream, "readinto1", None) or stream.readinto
    return found


def has_no_checksum(url: str) -> bool:
    """Return whether the compression of the file `url` cannot reveal a changed byte; False for gzip and xz only."""
    return magic_of(url) != GZIP and not url.lower().endswith(".xz")


def dictionary(raw: BinaryIO, url: str) -> zstandard.ZstdCompressionDict | None:
    """Return the zstd dictionary at the start of the .warc.zst file `raw`, or None if there is none.

    The dictionary may itself be compressed (IIPC, "Zstandard compression for WARC").

    - url: the name of the file.

    Raises ReadError if the dictionary is damaged.
    """
    raw.seek(0)
    head = raw.read(8)
    n = int.from_bytes(head[4:8], "little")
    if int.from_bytes(head[:4], "little") != DICTIONARY or n > MAX_DICTIONARY:
        return None
    data = raw.read(n)
    try:
        if data.startswith(ZSTD):
            data = zstandard.ZstdDecompressor().decompress(data, max_output_size=MAX_DICTIONARY)
        found = zstandard.ZstdCompressionDict(data)
        zstandard.ZstdDecompressor(dict_data=found).decompress(EMPTY)
    except (zstandard.ZstdError, MemoryError) as e:
        msg = f"the zstd dictionary at the start of the file is damaged ({e}); fetch it again"
        raise ReadError(msg, url, 0) from e
    return found


MAX_LINE = 1 << 12  # bytes of the line with which a record begins; in an ARC it holds the address
ARC_LINE = re.compile(rb"([a-zA-Z][a-zA-Z0-9+.-]*:\S*) \S+ (\d{14}) [^\r\n]*?(\d+)\r?\n")
BEGINS = {False: re.compile(rb"\n(?=WARC/\d\.\d\r?\n)"), True: re.compile(rb"\n(?=%s)" % ARC_LINE.pattern)}


def magic_of(url: str) -> bytes:
    """Return the bytes with which each compressed member of a file begins: GZIP, ZSTD, or b"" if not compressed.

    The first bytes of the file decide; if they are neither, the suffix of the file's name decides.
    """
    with files.open_raw(url) as raw:
        head = raw.read(8)
    if head.startswith(GZIP):
        return GZIP
    if head.startswith(ZSTD) or int.from_bytes(head[:4], "little") in SKIPPABLE:
        return ZSTD
    named = GZIP if url.lower().endswith(".gz") else ZSTD if url.lower().endswith(".zst") else b""
    return b"" if head.startswith((b"WARC/", b"filedesc")) else named


def find_line(url: str, after: int, *, is_arc: bool) -> int | None:
    """Return the offset of the next record at or after the offset `after` of an uncompressed archive, or None.

    A record is recognised by its first line.

    - is_arc: whether the archive is an ARC; otherwise it is a WARC.
    """
    with files.open_raw(url) as raw:
        raw.seek(after)
        held = b""
        while data := raw.read(CHUNK):
            held += data
            if found := BEGINS[is_arc].search(held):
                return after + found.start() + 1
            after, held = after + max(0, len(held) - MAX_LINE), held[-MAX_LINE:]
    return None


def find_member(url: str, magic: bytes, after: int) -> int | None:
    """Return the offset of the next member, at or after `after`, that begins with a record; None if there is none.

    - magic: the bytes with which each member begins (`magic_of`).
    """
    with files.open_raw(url) as raw, files.open_raw(url) as probe:
        raw.seek(after)
        held = b""
        while data := raw.read(CHUNK):
            held += data
            at = held.find(magic)
            while at >= 0:
                if _begins_record(probe, url, magic, after + at):
                    return after + at
                at = held.find(magic, at + 1)
            after, held = after + max(0, len(held) - 3), held[-3:]
    return None


def _begins_record(probe: BinaryIO, url: str, magic: bytes, at: int) -> bool:
    member = ArchiveMembers(probe, url, magic, at)
    head = bytearray(MAX_LINE)
    try:
        n = member.readinto(head)
    except Broken:
        return False
    finally:
        member.raw = io.BytesIO()  # the probe is used again
    return head.startswith(b"WARC/") or ARC_LINE.match(head[:n]) is not None
