"""Read the records of a WARC archive (ISO 28500): plain ones in blocks, others singly, broken ones with a reason.

`blocks` reads the records of the plain form. All other records, and the first two and the last of an archive, are read
by `_careful`, which checks that an empty line and the next record follow each record.
"""

from __future__ import annotations

from collections.abc import Iterator

from dataprep.errors import ReadError

from .archive import Archive, Entry
from .blocks import ArchiveBlock, blocks
from .digests import agrees
from .members import BEGINS, find_line, find_member

MAX_FAILURES = 8  # then the rest of the file is read record by record, such as one with CRCRLF at the end of all lines
MAX_REWINDS = 20  # times that one gzip stream is read again from its start to find the record after a broken one


def read_records(url: str, wanted: frozenset[str], max_bytes: int, *, strict: bool) -> Iterator[Entry | ArchiveBlock]:
    """Yield every record of an archive, plain ones in blocks.

    The content of entries is loaded only for `wanted` types (in lower case) up to `max_bytes`. A broken record is
    yielded as an Entry with the reason in `lost`, and reading continues at the next record found.

    - strict: raise ReadError at a broken record instead.
    """
    archive = Archive(url, wanted, max_bytes, strict=strict)
    failures = 0  # times in a row that no record had the plain form
    try:
        while not archive.finished:
            yield from _careful(archive, fast=failures < MAX_FAILURES)
            if not archive.finished:
                failures += 1
                for block in blocks(archive):
                    failures = 0
                    yield block
    finally:
        archive.close()


def _careful(archive: Archive, *, fast: bool) -> Iterator[Entry]:
    """Yield records until the end, or until two good ones show that plain ones may follow.

    A record is yielded only after the data that follows it was checked, because its checksum follows it.
    """
    good, held = 0, None
    while True:
        try:
            while archive.next():
                if held is not None:
                    yield held
                held = None
                if fast and good > 1 and _may_be_plain(archive):
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


def _may_be_plain(archive: Archive) -> bool:
    """Return whether the records may have the plain form, and it is known whether each has a member of its own."""
    return not archive.is_arc and (archive.members is None or archive.apart is not None)


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
