"""Read the records of a WARC archive (ISO 28500): intact ones at the speed of FastWARC, broken ones with a reason.

Records are read by `_careful`, which checks that an empty line and the next record follow each record. If the package
`fastwarc` is installed, `_fast` reads them instead, and `_careful` reads unusual records again (after an error, a short
body, or an offset that does not grow), and always the last two. FastWARC alone ends silently at a truncated record, and
reports one offset for all records of a single gzip stream.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import lru_cache

from dataprep.errors import ReadError
from dataprep.store import files

from .archive import MAX_HEADER, Archive, Entry
from .digests import agrees
from .members import BEGINS, find_line, find_member

MAX_FAILURES = 8  # then FastWARC is not used for the rest of the file, such as one with LF at the end of all lines
MAX_REWINDS = 20  # times that one gzip stream is read again from its start to find the record after a broken one
FAST = importlib.util.find_spec("fastwarc") is not None


def read_records(
    url: str, wanted: frozenset[str], max_bytes: int, *, strict: bool, fast: bool = FAST
) -> Iterator[Entry]:
    """Yield every record of an archive; content is loaded only for `wanted` types (in lower case) up to `max_bytes`.

    A broken record is yielded as an Entry with the reason in `lost`, and reading continues at the next record found.
    strict: raise ReadError at a broken record instead. fast: use FastWARC for intact records.
    """
    archive = Archive(url, wanted, max_bytes, strict=strict)
    failures = 0  # times in a row that FastWARC read no record
    try:
        while not archive.finished:
            yield from _careful(archive, fast=fast and failures < MAX_FAILURES)
            if not archive.finished:
                before = archive.mark
                yield from _fast(archive)
                failures = failures + 1 if archive.mark == before else 0
    finally:
        archive.close()


def _careful(archive: Archive, *, fast: bool) -> Iterator[Entry]:
    """Yield records until the end, or until two good ones show that FastWARC may continue.

    A record is yielded after what follows it was checked: a checksum comes after the data.
    """
    good, held = 0, None
    while True:
        try:
            while archive.next():
                if held is not None:
                    yield held
                held = None
                if fast and good > 1 and _suits_fastwarc(archive):
                    return
                held = archive.record()
                good += 1
            break
        except ReadError as e:
            reason, position = getattr(e, "reason", "damaged"), archive.broken_at()
            if held is not None and reason == "no_record" and not _is_apart(archive, held):
                reason, position = "wrong_length", held.position
            elif held is not None and position != held.position:
                yield held
            if archive.strict:
                raise
            good, held = 0, None
            yield Entry(position, {}, max(0, archive.at - archive.start), None, reason, e.message)
            if not _resync(archive):
                break
    if held is not None:
        yield held
    archive.finished = True


def _is_apart(archive: Archive, held: Entry) -> bool:
    """Return whether a line at which no record begins cannot be the rest of `held`, the record before."""
    if archive.members is not None and archive.apart and archive.start in archive.members.starts:
        return True
    return held.body is not None and agrees(held.headers.get("warc-block-digest", ""), held.body) is True


def _suits_fastwarc(archive: Archive) -> bool:
    """Return whether FastWARC reports right offsets from here on and has not reached the end before."""
    if archive.ended or archive.is_arc or archive.url.lower().endswith(".xz"):
        return False
    return archive.members is None or (archive.apart is True and archive.members.dictionary is None)


@lru_cache(1_024)
def _lower(names: tuple[bytes, ...]) -> list[str]:
    """Return the names of a record's headers in lower case; most records of a file have the same ones."""
    return [name.decode("utf-8", "replace").lower() for name in names]


def _fast(archive: Archive) -> Iterator[Entry]:
    """Yield records as FastWARC reads them, until something is unusual; the last two are left to `_careful`.

    In a gzip member of several records, FastWARC's offset of the second is wrong, which only the third shows.
    """
    from fastwarc.warc import ArchiveIterator

    archive.close()
    held: list[Entry] = []
    begin = after = archive.mark  # after: start of the next record if nothing is in between
    raw = files.open_raw(archive.url)
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
            if kind in archive.wanted:
                body = record.reader.read() if n <= archive.max_bytes else None
            else:
                headers = {"warc-type": kind}
            if len(held) > 1:
                yield held.pop(0)
                begin = held[0].position
            if (record.reader.consume() if body is None else len(body)) != n or (body and b"\nWARC/1." in body):
                break
            if not archive.magic:
                if held and position != after:
                    break
                after = position + n + 16 + sum(len(k) + len(v) + 4 for k, v in pairs)
            held.append(Entry(position, headers, n, body))
        else:
            archive.ended = True
    except (ConnectionError, TimeoutError):
        raise
    except Exception:  # noqa: BLE001, S110 - `_careful` reads it again and reports the error
        pass
    finally:
        raw.close()
    archive.open(begin)


def _resync(archive: Archive) -> bool:
    """Move to the next record that can be found after a broken one; return False if there is none."""
    found = None
    if not archive.magic and not archive.url.lower().endswith(".xz"):
        found = find_line(archive.url, archive.mark, is_arc=archive.is_arc)
    else:
        if archive.magic and archive.apart is not False:
            found = find_member(archive.url, archive.magic, archive.mark + 1)
        if found is None:
            return archive.apart is not True and _rewind(archive)
    if found is None:
        return False
    archive.open(found)
    return True


def _rewind(archive: Archive) -> bool:
    """Read one gzip stream from its start again, up to the next first line of a record."""
    archive.rewinds += 1
    after = archive.start + 1
    if archive.rewinds > MAX_REWINDS:
        return False
    archive.open(0)
    try:
        archive.block(after, keep=False)
        while line := archive.read_line():
            if BEGINS[archive.is_arc].match(b"\n" + line):
                archive.line = line
                return True
    except ReadError:
        return False
    return False
