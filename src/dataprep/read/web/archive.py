"""A WARC or ARC archive that is open at a record (ISO 28500): its lines, headers, blocks and stored positions.

A position is the stored offset of the record's gzip member or zstd frame, as in a CDX index. If one compressed stream
contains many records, and in `.xz` files, the position is the offset in the decompressed bytes.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from dataprep.errors import ReadError
from dataprep.store import files

from .members import ARC_LINE, CHUNK, Again, ArchiveMembers, Broken, magic_of, mixed

MAX_HEADER = 1 << 16  # bytes of one header line
MAX_HEADERS = 1_000  # lines
HEADERS = (  # all others are ignored
    "warc-type", "content-length", "warc-target-uri", "warc-date", "warc-record-id",
    "warc-identified-content-language", "content-type", "warc-truncated", "warc-refers-to",
    "warc-identified-payload-type", "warc-block-digest", "warc-payload-digest", "warc-segment-number",
    "warc-segment-origin-id", "warc-segment-total-length",
)  # fmt: skip
EMPTY = (b"\r\n", b"\n", b"\r\r\n")
NAMED = re.compile(rb"(WARC-[\w-]+|Content-[\w-]+)[ \t]*:", re.IGNORECASE)
UNNAMED = re.compile(r"(WARC-|Content-)", re.IGNORECASE)


class Entry(NamedTuple):
    """A record of a web crawl archive.

    Attributes:
        position: its offset in the file as stored.
        n_bytes: the size of its content.
        body: the content; None if its type was not wanted, or if it is too long.
        lost: the reason why the record could not be read, "" if it was read.
        message: describes it.
    """

    position: int
    headers: Mapping[str, str]  # those of HEADERS; of a type that is not wanted, only warc-type
    n_bytes: int
    body: bytes | None
    lost: str = ""
    message: str = ""


class Archive:
    """An archive and the reading position in it.

    Attributes:
        mark: the offset of the current record in the file.
        start: the offset of the current record in the decompressed bytes.
        at: the decompressed offset that is read next.
        line: a line that was read ahead.
        apart: whether each record has a compressed member of its own; None if the first two records have not shown it
            yet.
        damaged: whether FastWARC found damaged data ahead.
        finished: whether all records were read.
        rewinds: the number of times that the file was read from its start again.
    """

    def __init__(self, url: str, wanted: frozenset[str], max_bytes: int, *, strict: bool) -> None:
        self.url, self.wanted, self.max_bytes, self.strict = url, wanted, max_bytes, strict
        self.magic = magic_of(url)
        self.apart: bool | None = None
        self.finished = self.damaged = self.is_arc = False
        self.inside = False  # whether a record has begun and not ended
        self.rewinds = 0
        self.stream: Any = None
        self.open(0)

    def close(self) -> None:
        """Close the file, if one is open."""
        if self.stream is not None:
            self.stream.close()

    def open(self, at: int) -> None:
        """Continue reading at a stored offset."""
        self.close()
        self.members: ArchiveMembers | None = None
        self.at = 0 if self.magic else at
        self.mark = self.start = at
        self.line = b""
        self.lead = -1  # the decompressed offset of a member that begins with empty lines before this record
        raw = files.open_raw(self.url)
        if self.magic:
            self.members = ArchiveMembers(raw, self.url, self.magic, at)
            self.stream = io.BufferedReader(self.members, CHUNK)
            self.start = 0
        elif self.url.lower().endswith(".xz"):
            raw.close()
            self.stream = files.open_read(self.url)
        else:
            raw.seek(at)
            self.stream = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw, CHUNK)

    @property
    def is_seekable(self) -> bool:
        """Whether reading can begin at any record: the file is not compressed, or each record by itself."""
        return self.apart is True if self.magic else not self.url.lower().endswith(".xz")

    def take(self) -> tuple[bytes, ReadError | None]:
        """Return the bytes read ahead from the current record on, and the error that was raised after them, if any."""
        data, self.line, again = self.line, b"", getattr(self.stream, "raw", None)
        begun = len(data)
        if not isinstance(again, Again):
            return data, None
        with contextlib.suppress(ReadError):  # if nothing is left before it
            data += self.stream.peek()
        data += again.data
        self.at += len(data) - begun
        self.stream.detach()
        self.stream, again.stream = again.stream, io.BytesIO()
        return data, again.error

    def give_back(self, data: bytes, error: ReadError | None) -> None:
        """Make `data` the next bytes to read, then the rest of `stream` or the error raised after these bytes."""
        self.at -= len(data)
        self.stream = io.BufferedReader(Again(data, self.stream, error), CHUNK)

    def next(self) -> bool:
        """Move to the first line of the next record; return False if there is none."""
        self.inside, self.lead = False, -1
        if self.members is None or self.apart is False:
            self.mark = self.start = self.at - len(self.line)
        while line := self.line or self.read_line():
            self.line = b""
            if line in EMPTY:
                if self.members is not None and self.at - len(line) in self.members.starts:
                    self.lead = self.at - len(line)
                continue
            self.start = self.at - len(line)
            self.line = line
            if self.members is None:
                self.mark = self.start
            if not line.startswith((b"WARC/", b"filedesc:") if not self.is_arc else b""):
                reason = "no_record" if line.endswith(b"\n") else "cut_archive"
                if other := mixed(line):
                    self._fail("damaged", other)
                self._fail(reason, f"a record should begin here with WARC/, not {line[:40]!r}")
            self.mark = self._position()
            return True
        return False

    def record(self) -> Entry:
        """Read the record whose first line is read ahead, and its end. Raises ReadError if the record is broken."""
        line, self.line, self.inside = self.line, b"", True
        self.is_arc = self.is_arc or line.startswith(b"filedesc:")
        headers = self._arc_headers(line) if self.is_arc else self._headers()
        kind = headers.get("warc-type", "").lower()
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 19):
            self._fail("wrong_length", f"the record's Content-Length is {length[:40] or 'missing'}")
        n = int(length)
        is_wanted = kind in self.wanted and n <= self.max_bytes
        body = self.block(n, keep=is_wanted)
        if not self._ends():
            if not self.line and not self.stream.peek(1):
                self._fail("cut_archive", "the file ends where empty lines should follow a record; fetch it again")
            self._fail("wrong_length", f"no empty line follows the record's {n} bytes; its Content-Length is wrong")
        if self.apart and self.members is not None:
            inside = [s for s in self.members.starts if self.start < s < self.at - len(self.line)]
            if inside:
                self._fail("wrong_length", f"the {n} bytes of the record's Content-Length lead into another record")
        known = {name: value for name, value in headers.items() if name in HEADERS}
        return Entry(self.mark, known if kind in self.wanted else {"warc-type": kind}, n, body if is_wanted else None)

    def _ends(self) -> bool:
        """Return whether a record ends here.

        A record ends with two empty lines. Fewer are accepted if its member ends, or if the next record or the end of
        the file follows. In an ARC, one empty line or none is enough.
        """
        if not self.is_arc:
            for _ in range(2):
                if self._at_member_end():
                    return True
                line = self.read_line()
                if line in EMPTY:
                    continue
                if not line.startswith(b"WARC/"):
                    return line in (b"", b"\r")  # the file ends, perhaps inside a line end
                self.line = line
                return True
            return True
        line = self.read_line()
        self.line = b"" if line in EMPTY else line
        return not self.line or ARC_LINE.match(line) is not None

    def _at_member_end(self) -> bool:
        """Return whether a compressed member ends here; False if its end is not known before more bytes are read."""
        found = self.members
        if found is None:
            return False
        return self.at in found.starts or (found.member is None and not found.ready and found.given == self.at)

    def block(self, n: int, *, keep: bool) -> bytes:
        """Return the block of a record, or b"" if it is not wanted, in bounded memory."""
        held: list[bytes] = []
        left = n
        while left and (data := self.stream.read(min(left, CHUNK))):
            left -= len(data)
            self.at += len(data)
            if keep:
                held.append(data)
        if left:
            self._fail("cut_archive", f"the file ends after {n - left:,} of the record's {n:,} bytes; fetch it again")
        return b"".join(held)

    def read_line(self) -> bytes:
        """Return the next line, with its line end; at most MAX_HEADER bytes of it, and b"" at the end of the file."""
        line: bytes = self.stream.readline(MAX_HEADER)
        self.at += len(line)
        return line

    def _headers(self) -> dict[str, str]:
        """Return the headers, names in lower case.

        A line that begins with white space continues the one before; a line without a name is ignored, as is an empty
        line before Content-Length, if another WARC header follows (both occur in ClueWeb09).
        """
        found: dict[str, str] = {}
        name = ""
        for _ in range(MAX_HEADERS):
            line = self.read_line()
            if line in EMPTY:
                if "content-length" in found or not NAMED.match(self.stream.peek(64)):
                    return found
                continue
            if not line.endswith(b"\n"):
                self._fail("cut_archive", "the record's headers have no end; fetch the file again")
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text[:1] in {" ", "\t"} and name:
                if name in found:  # else it continues a line without a name
                    found[name] += " " + text.strip()
                continue
            name, colon, value = text.partition(":")
            if not colon and found and not UNNAMED.match(text):
                continue
            if not colon:
                self._fail("bad_header", f"a header should be here, not {text[:40]!r}")
            name = name.strip().lower()
            found[name] = value.strip()
        return self._fail("bad_header", f"the record has over {MAX_HEADERS:,} header lines")

    def _arc_headers(self, line: bytes) -> dict[str, str]:
        """Return the first line of an ARC record (URL, IP address, date, type ... length) as WARC headers."""
        found = ARC_LINE.match(line)
        if found is None:
            self._fail("no_record", f"an ARC record should begin here, not {line[:40]!r}")
        url, d, n = (g.decode("utf-8", "replace") for g in found.groups())
        date = f"{d[:4]}-{d[4:6]}-{d[6:8]}T{d[8:10]}:{d[10:12]}:{d[12:]}Z"
        kind = "filedesc" if url.startswith("filedesc:") else "response"
        return {"warc-type": kind, "warc-target-uri": url, "warc-date": date, "content-length": n}

    def _position(self) -> int:
        """Return the stored offset of the record at `start` if each record has a member of its own."""
        if self.members is None:
            return self.start
        stored = self.members.starts.get(self.start, self.members.starts.get(self.lead))
        self.members.starts = {given: at for given, at in self.members.starts.items() if given >= self.start}
        if self.start and self.lead and self.apart is None:
            self.apart = stored is not None
        if not self.apart:
            return self.start if stored is None or self.apart is False else stored
        if stored is None:
            self._fail("shared_member", "the record shares its gzip member with another, unlike those before")
        return stored

    def broken_at(self) -> int:
        """Return the offset at which the broken record begins."""
        if self.members is not None and self.apart is not False and not self.inside:
            self.mark = max(self.mark, *self.members.starts.values(), 0)
        return self.mark

    def _fail(self, reason: str, found: str) -> NoReturn:
        raise Broken(reason, found, self.url, self.broken_at())
