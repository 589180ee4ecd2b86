"""The records of an archive, read one by one; and those that are read many at once, as the same entries."""

from __future__ import annotations

from dataprep.read.web.archive import Archive, Entry
from dataprep.read.web.blocks import ArchiveBlock
from dataprep.read.web.records import _careful, read_records


def one_by_one(url: str, wanted: frozenset[str], max_bytes: int, *, strict: bool) -> list[Entry]:
    """Every record, read by the plain lines of `archive.py` alone."""
    archive = Archive(url, wanted, max_bytes, strict=strict)
    try:
        return list(_careful(archive, fast=False))
    finally:
        archive.close()


def at_once(url: str, wanted: frozenset[str], max_bytes: int, *, strict: bool) -> list[Entry]:
    """Every record, as `read_records` finds it."""
    found = read_records(url, wanted, max_bytes, strict=strict)
    return [e for one in found for e in (one.entries(wanted, max_bytes) if isinstance(one, ArchiveBlock) else (one,))]
