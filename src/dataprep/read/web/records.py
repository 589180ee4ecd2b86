"""Read the records of a WARC archive (ISO 28500): intact ones at the speed of FastWARC, broken ones with a reason.

Records are read by `careful`, which checks that an empty line and the next record follow each record. If the package
`fastwarc` is installed, `fast` reads them instead, and `careful` reads unusual records again (after an error, a short
body, or an offset that does not grow), and always the last two. FastWARC alone ends silently at a truncated record, and
reports one offset for all records of a single gzip stream.

A position is the stored offset of the record's gzip member or zstd frame, which a CDX index holds too. In a stream of
many records, and in `.xz`, it is the offset in the decompressed bytes.
"""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from dataprep.errors import ReadError
from dataprep.store import files

from .digests import agrees
from .members import ARC_LINE, BEGINS, CHUNK, ArchiveMembers, Broken, find_line, find_member, magic_of

MAX_HEADER = 1 << 16  # bytes of one header line
MAX_HEADERS = 1_000  # lines
MAX_FAILURES = 8  # then FastWARC is not used for the rest of the file, such as one with LF at the end of all lines
MAX_REWINDS = 20  # times that one gzip stream is read again from its start to find the record after a broken one
EMPTY = (b"\r\n", b"\n", b"\r\r\n")
NAMED = re.compile(rb"(WARC-[\w-]+|Content-[\w-]+)[ \t]*:", re.IGNORECASE)
UNNAMED = re.compile(r"(WARC-|Content-)", re.IGNORECASE)
FAST = importlib.util.find_spec("fastwarc") is not None


@lru_cache(1_024)
def _lower(names: tuple[bytes, ...]) -> list[str]:
    """Return the names of a record's headers in lower case; most records of a file have the same ones."""
    return [name.decode("utf-8", "replace").lower() for name in names]


class Entry(NamedTuple):
    """A record of a web crawl archive.

    position: its offset in the file as stored. n_bytes: size of its content. body: the content; None if its type was
    not wanted, or if it is too long. lost: the reason why the record could not be read, "" if it was read; message:
    describes it.
    """

    position: int
    headers: Mapping[str, str]  # names in lower case; of a type that is not wanted, only warc-type
    n_bytes: int
    body: bytes | None
    lost: str = ""
    message: str = ""


def read_records(
    url: str, wanted: frozenset[str], max_bytes: int, *, strict: bool, fast: bool = FAST
) -> Iterator[Entry]:
    """Yield every record of an archive; content is loaded only for `wanted` types (in lower case) up to `max_bytes`.

    A broken record is yielded as an Entry with the reason in `lost`, and reading continues at the next record found.
    strict: raise ReadError at a broken record instead. fast: use FastWARC for intact records.
    """
    archive = _Archive(url, wanted, max_bytes, strict=strict)
    failures = 0  # times in a row that FastWARC read no record
    try:
        while not archive.finished:
            yield from archive.careful(fast=fast and failures < MAX_FAILURES)
            if not archive.finished:
                before = archive.mark
                yield from archive.fast()
                failures = failures + 1 if archive.mark == before else 0
    finally:
        archive.close()


class _Archive:
    """An archive and the reading position in it."""

    def __init__(self, url: str, wanted: frozenset[str], max_bytes: int, *, strict: bool) -> None:
        self.url, self.wanted, self.max_bytes, self.strict = url, wanted, max_bytes, strict
        self.magic = magic_of(url)
        self.apart: bool | None = None  # whether each record has a member of its own, by the first two
        self.finished = self.ended = self.is_arc = False
        self.inside = False  # whether a record has begun and not ended
        self.rewinds = 0
        self.stream: Any = None
        self.open(0)

    def close(self) -> None:
        if self.stream is not None:
            self.stream.close()

    def open(self, at: int) -> None:
        """Continue reading at a stored offset."""
        self.close()
        self.members: ArchiveMembers | None = None
        self.at = 0 if self.magic else at
        self.mark = self.start = at  # start of the current record: stored offset, offset in decompressed bytes
        self.line = b""  # a line read ahead
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

    def careful(self, *, fast: bool) -> Iterator[Entry]:
        """Yield records until the end, or until two good ones show that FastWARC may continue.

        A record is yielded after what follows it was checked: a checksum comes after the data.
        """
        good, held = 0, None
        while True:
            try:
                while self._next():
                    if held is not None:
                        yield held
                    held = None
                    if fast and good > 1 and self._suits_fastwarc():
                        return
                    held = self._record()
                    good += 1
                break
            except ReadError as e:
                reason, position = getattr(e, "reason", "damaged"), self._broken_at()
                if held is not None and reason == "no_record" and not self._is_apart(held):
                    reason, position = "wrong_length", held.position
                elif held is not None and position != held.position:
                    yield held
                if self.strict:
                    raise
                good, held = 0, None
                yield Entry(position, {}, max(0, self.at - self.start), None, reason, e.message)
                if not self._resync():
                    break
        if held is not None:
            yield held
        self.finished = True

    def _is_apart(self, held: Entry) -> bool:
        """Return whether a line at which no record begins cannot be the rest of `held`, the record before."""
        if self.members is not None and self.apart and self.start in self.members.starts:
            return True
        return held.body is not None and agrees(held.headers.get("warc-block-digest", ""), held.body) is True

    def _suits_fastwarc(self) -> bool:
        """Return whether FastWARC reports right offsets from here on and has not reached the end before."""
        if self.ended or self.is_arc or self.url.lower().endswith(".xz"):
            return False
        return self.members is None or (self.apart is True and self.members.dictionary is None)

    def fast(self) -> Iterator[Entry]:
        """Yield records as FastWARC reads them, until something is unusual; the last two are left to `careful`.

        In a gzip member of several records, FastWARC's offset of the second is wrong, which only the third shows.
        """
        from fastwarc.warc import ArchiveIterator

        self.close()
        held: list[Entry] = []
        begin = after = self.mark  # after: start of the next record if nothing is in between
        raw = files.open_raw(self.url)
        raw.seek(begin)
        try:
            for record in ArchiveIterator(raw, parse_http=False, max_header_len=MAX_HEADER):
                position, n = record.stream_pos, record.content_length
                pairs = record.headers.items_bytes()
                names, values = zip(*pairs, strict=True)
                told = b"\0".join(values)
                headers = dict(zip(_lower(names), told.decode("utf-8", "replace").split("\0"), strict=False))
                if (held and position <= held[-1].position) or (n == 0 and "content-length" not in headers):
                    break
                if b"\n" in told or told.count(b"\0") >= len(values):  # a line that it takes for two, or the reverse
                    break
                kind, body = headers.get("warc-type", "").lower(), None
                if kind in self.wanted:
                    body = record.reader.read() if n <= self.max_bytes else None
                else:
                    headers = {"warc-type": kind}
                if len(held) > 1:
                    yield held.pop(0)
                    begin = held[0].position
                if (record.reader.consume() if body is None else len(body)) != n or (body and b"\nWARC/1." in body):
                    break
                if not self.magic:
                    if held and position != after:
                        break
                    after = position + n + 16 + sum(len(k) + len(v) + 4 for k, v in pairs)
                held.append(Entry(position, headers, n, body))
            else:
                self.ended = True
        except (ConnectionError, TimeoutError):
            raise
        except Exception:  # noqa: BLE001, S110 - `careful` reads it again and reports the error
            pass
        finally:
            raw.close()
        self.open(begin)

    def _next(self) -> bool:
        """Move to the first line of a record."""
        self.inside, self.lead = False, -1
        if self.members is None or self.apart is False:
            self.mark = self.start = self.at - len(self.line)
        while line := self.line or self._line():
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
                self._fail(reason, f"a record should begin here with WARC/, not {line[:40]!r}")
            self.mark = self._position()
            return True
        return False

    def _record(self) -> Entry:
        line, self.line, self.inside = self.line, b"", True
        self.is_arc = self.is_arc or line.startswith(b"filedesc:")
        headers = self._arc_headers(line) if self.is_arc else self._headers()
        kind = headers.get("warc-type", "").lower()
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 19):
            self._fail("wrong_length", f"the record's Content-Length is {length[:40] or 'missing'}")
        n = int(length)
        is_wanted = kind in self.wanted and n <= self.max_bytes
        body = self._block(n, keep=is_wanted)
        if not self._ends():
            if not self.line and not self.stream.peek(1):
                self._fail("cut_archive", "the file ends where empty lines should follow a record; fetch it again")
            self._fail("wrong_length", f"no empty line follows the record's {n} bytes; its Content-Length is wrong")
        if self.apart and self.members is not None:
            inside = [s for s in self.members.starts if self.start < s < self.at - len(self.line)]
            if inside:
                self._fail("wrong_length", f"the {n} bytes of the record's Content-Length lead into another record")
        return Entry(self.mark, headers if kind in self.wanted else {"warc-type": kind}, n, body if is_wanted else None)

    def _ends(self) -> bool:
        """Return whether a record ends here.

        It ends with two empty lines; with fewer, if its member ends, or the next record or the end of the file follows.
        In an ARC, one or none are enough.
        """
        if not self.is_arc:
            for _ in range(2):
                if self._at_member_end():
                    return True
                line = self._line()
                if line in EMPTY:
                    continue
                if not line.startswith(b"WARC/"):
                    return line in (b"", b"\r")  # the file ends, perhaps inside a line end
                self.line = line
                return True
            return True
        line = self._line()
        self.line = b"" if line in EMPTY else line
        return not self.line or ARC_LINE.match(line) is not None

    def _at_member_end(self) -> bool:
        """Return whether a compressed member ends here; False if its end is not known before more bytes are read."""
        found = self.members
        return found is not None and found.member is None and not found.ready and found.given == self.at

    def _block(self, n: int, *, keep: bool) -> bytes:
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

    def _line(self) -> bytes:
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
            line = self._line()
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

    def _broken_at(self) -> int:
        """Return the offset at which the broken record begins."""
        if self.members is not None and self.apart is not False and not self.inside:
            self.mark = max(self.mark, *self.members.starts.values(), 0)
        return self.mark

    def _fail(self, reason: str, found: str) -> NoReturn:
        raise Broken(reason, found, self.url, self._broken_at())

    def _resync(self) -> bool:
        """Move to the next record that can be found after a broken one; return False if there is none."""
        if not self.magic and not self.url.lower().endswith(".xz"):
            found = find_line(self.url, self.mark, is_arc=self.is_arc)
        else:
            found = find_member(self.url, self.magic, self.mark + 1) if self.magic and self.apart is not False else None
            if found is None:
                return self.apart is not True and self._rewind()
        if found is None:
            return False
        self.open(found)
        return True

    def _rewind(self) -> bool:
        """Read one gzip stream from its start again, up to the next first line of a record."""
        self.rewinds += 1
        after = self.start + 1
        if self.rewinds > MAX_REWINDS:
            return False
        self.open(0)
        try:
            self._block(after, keep=False)
            while line := self._line():
                if BEGINS[self.is_arc].match(b"\n" + line):
                    self.line = line
                    return True
        except ReadError:
            return False
        return False
