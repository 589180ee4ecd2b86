"""Compression of an archive, and the search for its next record after a broken one."""

from __future__ import annotations

import io
import re
from typing import BinaryIO

from dataprep.store import files

from .members import CHUNK, GZIP, SKIPPABLE, ZSTD, ArchiveMembers, Broken

MAX_LINE = 1 << 12  # bytes of the line with which a record begins; in an ARC it holds the address
ARC_LINE = re.compile(rb"([a-zA-Z][a-zA-Z0-9+.-]*:\S*) \S+ (\d{14}) [^\r\n]*?(\d+)\r?\n")
BEGINS = {False: re.compile(rb"\n(?=WARC/\d\.\d\r?\n)"), True: re.compile(rb"\n(?=%s)" % ARC_LINE.pattern)}


def magic_of(url: str) -> bytes:
    """Return the first bytes of each member, from the file's first bytes, or from its name if these are unknown."""
    with files.open_raw(url) as raw:
        head = raw.read(8)
    if head.startswith(GZIP):
        return GZIP
    if head.startswith(ZSTD) or int.from_bytes(head[:4], "little") in SKIPPABLE:
        return ZSTD
    named = GZIP if url.lower().endswith(".gz") else ZSTD if url.lower().endswith(".zst") else b""
    return b"" if head.startswith((b"WARC/", b"filedesc")) else named


def find_line(url: str, after: int, *, is_arc: bool) -> int | None:
    """Return the offset of the next line after `after` that begins a record of an uncompressed archive."""
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
    """Return the offset of the next member after `after` in which a record begins."""
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
