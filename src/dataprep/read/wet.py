"""WET: the plain text that Common Crawl took out of pages, as WARC conversion records (ISO 28500).

The position of a document is its record's offset in the file as stored, which a CDX index holds too: for `.gz` that of
the record's gzip member. Where one gzip stream holds the whole file, and for `.zst` and `.xz`, it is the offset in the
decompressed text. Address, date, record id and languages go to `meta`. Records of other types are counted. A length
that does not lead to the next record, or a file that ends early, is a ReadError: nothing is ever cut silently.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import orjson
import pyarrow as pa

from .. import batch as B
from .. import files
from ..batch import Batch
from ..errors import PlanError, ReadError
from ..meter import Meter
from ..part import Reader, Slice
from .columns import KINDS
from .text import Record, documents
from .trust import MAX_BAD, MAX_DOC_BYTES, Trust

KEPT = {
    "warc-target-uri": "url",
    "warc-date": "date",
    "warc-record-id": "record_id",
    "warc-identified-content-language": "languages",
}
MAX_HEADER = 1 << 16  # bytes of one header line
CHUNK = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Wet(Reader):
    """Reads WET files.

    columns: (name, "string") of url, date, record_id and languages that become columns instead of fields of meta.
    max_doc_bytes: of a record's text. max_bad: see `trust.py`.
    """

    columns: tuple[tuple[str, str], ...] = ()
    max_doc_bytes: int = MAX_DOC_BYTES
    max_bad: float = MAX_BAD

    def __post_init__(self) -> None:
        strange = [name for name, kind in self.columns if name not in KEPT.values() or kind != "string"]
        if strange:
            msg = f"wet has no field {strange[0]!r} that is a string; there are {', '.join(KEPT.values())}"
            raise PlanError(msg)

    @staticmethod
    def types_of(url: str, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:  # noqa: ARG004 - they are known
        """The types of fields: strings."""
        return tuple((name, "string") for name in names)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The lifted columns."""
        return {name: KINDS[kind] for name, kind in self.columns}

    def __call__(self, piece: Slice, stats: Meter) -> Iterator[Batch]:
        """The conversion records of a file."""
        trust = Trust(piece.url, self.max_bad)
        with _Records(piece.url) as records:
            batches = documents(self._conversions(records, stats), piece, stats, trust)
            yield from map(self._lifted, batches) if self.columns else batches

    def _lifted(self, batch: Batch) -> Batch:
        """The batch with the columns taken out of its meta."""
        metas = [orjson.loads(meta) for meta in batch.column("meta").to_pylist()]
        for name, kind in self.columns:
            batch = B.with_column(batch, name, pa.array([meta.pop(name, None) for meta in metas], KINDS[kind]))
        left = pa.array([orjson.dumps(meta).decode() for meta in metas], pa.large_string())
        return B.with_column(batch, "meta", left)

    def _conversions(self, records: _Records, stats: Meter) -> Iterator[Record]:
        seen: dict[str, int] = {}
        for position, headers, length in records:
            kind = headers.get("warc-type", "without a type")
            seen[kind] = seen.get(kind, 0) + 1
            if kind != "conversion":
                records.skip(length)
                continue
            meta = orjson.dumps({name: headers[header] for header, name in KEPT.items() if header in headers}).decode()
            data = None
            if length <= self.max_doc_bytes:
                data = records.body(length)
            else:
                records.skip(length)
            yield Record(position, data, length, meta)
        found = seen.pop("conversion", 0)
        for kind, n in seen.items():
            stats.count(f"records.{kind}", n)
        if seen and not found:
            msg = f"there is no conversion record, only {', '.join(seen)}: WET holds the text of pages"
            raise ReadError(msg, records.url, 0)


class _Records:
    """The records of a WARC file, one after another: (position, headers, bytes of the block), then `body` or `skip`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.members = _Members(files.open_raw(url), url) if url.lower().endswith(".gz") else None
        stream: Any = files.open_read(url) if self.members is None else io.BufferedReader(self.members, CHUNK)
        self.stream = stream
        self.at = 0  # bytes read of the decompressed text
        self.start = 0  # where the current record begins in it
        self.apart: bool | None = None  # whether each record has a gzip member of its own; the first two tell

    def __enter__(self) -> _Records:
        return self

    def __exit__(self, *error: object) -> None:
        self.stream.close()

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, str], int]]:
        while line := self._line():
            if line in {b"\r\n", b"\n"}:
                continue
            self.start = self.at - len(line)
            if not line.startswith(b"WARC/"):
                self._fail(f"a record should begin here with WARC/, not {line[:40]!r}; the length before it is wrong")
            position = self._position()
            headers = self._headers()
            length = headers.get("content-length", "")
            if not (length.isascii() and length.isdigit()):
                self._fail(f"the record's Content-Length is {length or 'missing'}")
            yield position, headers, int(length)
            if self._line() not in {b"\r\n", b"\n"} or self._line() not in {b"\r\n", b"\n"}:
                self._fail(f"no empty line follows the {length} bytes of the record's Content-Length; it is wrong")

    def body(self, length: int) -> bytes:
        """The block of the current record."""
        data: bytes = self.stream.read(length)
        self.at += len(data)
        if len(data) < length:
            self._fail(f"the file ends after {len(data):,} of the record's {length:,} bytes; fetch it again")
        return data

    def skip(self, length: int) -> None:
        """Pass over the block of the current record, in bounded memory."""
        while length:
            length -= len(self.body(min(length, CHUNK)))

    def _line(self) -> bytes:
        line: bytes = self.stream.readline(MAX_HEADER)
        self.at += len(line)
        return line

    def _headers(self) -> dict[str, str]:
        """Names in lower case; a line that begins with white space continues the one before."""
        found: dict[str, str] = {}
        name = ""
        while (line := self._line()) not in {b"\r\n", b"\n"}:
            if not line.endswith(b"\n"):
                self._fail("the record's headers have no end; fetch the file again")
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text[:1] in {" ", "\t"} and name:
                found[name] += " " + text.strip()
                continue
            name, colon, value = text.partition(":")
            if not colon:
                self._fail(f"a header should stand here, not {text[:40]!r}")
            name = name.strip().lower()
            found[name] = value.strip()
        return found

    def _position(self) -> int:
        if self.members is None:
            return self.start
        stored = self.members.starts.pop(self.start, None)
        if self.start and self.apart is None:
            self.apart = stored is not None
        if not self.start or not self.apart:
            return self.start  # the first record's offset is 0 either way
        if stored is None:
            self._fail("the record shares its gzip member with another, unlike those before; recompress the file")
        return cast("int", stored)

    def _fail(self, found: str) -> None:
        raise ReadError(found, self.url, self.start)


class _Members(io.RawIOBase):
    """A gzip file as a stream of bytes that knows where its members begin: `starts[decompressed] = stored`."""

    def __init__(self, raw: BinaryIO, url: str) -> None:
        super().__init__()
        self.raw, self.url = raw, url
        self.given = self.taken = 0  # bytes decompressed, bytes of the file used for them
        self.unread = b""
        self.member: Any = None
        self.starts: dict[int, int] = {}

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            self.unread = self.unread or self.raw.read(CHUNK)
            if self.member is None:
                if not self.unread:
                    return 0
                self.member = zlib.decompressobj(wbits=31)
                self.starts[self.given] = self.taken
            data = self._decompress(len(buffer))
            if data:
                buffer[: len(data)] = data
                self.given += len(data)
                return len(data)

    def _decompress(self, limit: int) -> bytes:
        if not self.unread:
            self._fail("the file ends in the middle of a gzip member")
        try:
            data = self.member.decompress(self.unread, limit)
        except zlib.error as e:
            self._fail(f"the gzip data is damaged ({e})")
        rest = self.member.unused_data if self.member.eof else self.member.unconsumed_tail
        self.taken += len(self.unread) - len(rest)
        self.unread = rest
        self.member = None if self.member.eof else self.member
        return cast("bytes", data)

    def _fail(self, found: str) -> None:
        msg = f"{found}; fetch it again"
        raise ReadError(msg, self.url, self.taken)

    def close(self) -> None:
        self.raw.close()
        super().close()
