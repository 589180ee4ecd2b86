"""Divide CSV into records, in bounded memory: a field in quotes may contain line ends, and its quotes are doubled.

A quote inside an unquoted field is an ordinary character. A quote that opens a field and is never closed, or is closed
only by a quote of a later record, would swallow records. Therefore, if a record of several lines has a different number
of fields than the header, or text after a closing quote, its first line is dropped, and the lines after it are read
again.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from dataprep.read.text import BOM, blocks

QUOTE = b'"'
DELIMITERS = (b",", b"\t", b";", b"|")
QUOTED = re.compile(rb'"(?:[^"]|"")*"')
SHOWN = 60  # bytes of a bad record in an error
COMPARED = 50  # records by which the delimiter is chosen


class CsvRecord(NamedTuple):
    """A record: the offset of its first byte, its fields without quotes (None if it is bad), its size, and a reason."""

    position: int
    fields: list[bytes] | None
    n_bytes: int
    reason: str = ""
    shown: bytes = b""


@dataclass
class _Open:
    """A record of which some lines are read.

    Attributes:
        pieces: the pieces of a field whose quotes are open; None if there is no such field.
        odd: whether a closing quote was followed by another character than a delimiter.
    """

    delimiter: bytes
    fields: list[bytes] = field(default_factory=list)
    pieces: list[bytes] | None = None
    odd: bool = False

    def add(self, line: bytes) -> bool:
        """Add a line, which ends with a line feed if its file has one there; return whether the record is complete."""
        at = 0
        while True:
            if self.pieces is None:
                if line[at : at + 1] != QUOTE:
                    stop = line.find(self.delimiter, at)
                    self.fields.append(_bare(line[at:]) if stop < 0 else line[at:stop])
                    if stop < 0:
                        return True
                    at = stop + 1
                    continue
                self.pieces, at = [], at + 1
            end = line.find(QUOTE, at)
            if end < 0:
                self.pieces.append(line[at:])
                return False
            self.pieces.append(line[at:end])
            at = end + 1
            if line[at : at + 1] == QUOTE:
                self.pieces.append(QUOTE)
                at += 1
                continue
            stop = line.find(self.delimiter, at)
            rest = _bare(line[at:]) if stop < 0 else line[at:stop]
            self.fields.append(b"".join([*self.pieces, rest]))
            self.pieces, self.odd = None, self.odd or bool(rest.strip())
            if stop < 0:
                return True
            at = stop + 1


def _bare(line: bytes) -> bytes:
    """Return a line without its line end."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def csv_records(stream: BinaryIO, delimiter: bytes, max_bytes: int, n_fields: int = 0) -> Iterator[CsvRecord]:
    """Yield the records of CSV; blank lines are skipped.

    - delimiter: one byte.
    - max_bytes: a longer record is bad (`too_long`).
    - n_fields: the number of fields of each record; 0: as many as the first record has. Records with more fields
      (`too_many_fields`), and records with an unclosed opening quote (`open_quote`), are bad.
    """
    waiting: deque[tuple[int, bytes | None, int]] = deque()  # lines that are read again
    lines = _lines(stream, max_bytes)
    held: list[tuple[int, bytes]] = []
    record, size = _Open(delimiter), 0
    while True:
        position, line, n_bytes = waiting.popleft() if waiting else next(lines, (-1, b"", 0))
        ended = position < 0
        if not held and not ended and line is not None and not line.strip(b" \r\n"):
            continue
        if not ended and line is not None and size + n_bytes <= max_bytes:
            held.append((position, line))
            size += n_bytes
            if not record.add(line):
                continue
        elif ended and not held:
            return
        elif not held:
            yield CsvRecord(position, None, n_bytes, "too_long")
            continue
        else:  # the quotes are open at the end of the file, or of what is held in memory
            waiting.extendleft([(position, line, n_bytes)] if not ended else [])
        n_fields = n_fields or (len(record.fields) if record.pieces is None else 0)
        is_one = len(held) == 1 or (len(record.fields) == n_fields and not record.odd)
        is_whole = record.pieces is None and is_one
        if not is_whole:
            waiting.extendleft((at, some, len(some)) for at, some in reversed(held[1:]))
            first = held[0]
            yield CsvRecord(first[0], None, len(first[1]), "open_quote", first[1][:SHOWN])
        elif len(record.fields) > n_fields:
            yield CsvRecord(held[0][0], None, size, "too_many_fields", held[0][1][:SHOWN])
        else:
            yield CsvRecord(held[0][0], record.fields, size)
        held, record, size = [], _Open(delimiter), 0


def _lines(stream: BinaryIO, max_bytes: int) -> Iterator[tuple[int, bytes | None, int]]:
    """Yield (offset, line with its line end, size); None in place of a line that is too long."""
    for block in blocks(stream, 0, None, max_bytes):
        if block.too_long is not None:
            yield block.start, None, block.too_long
            continue
        at = block.start
        for line in block.data[: block.stop].tobytes().split(b"\n")[:-1]:
            kept = line.removeprefix(BOM) if at == 0 else line
            yield at, kept + b"\n" if len(line) <= max_bytes else None, len(line) + 1
            at += len(line) + 1


def delimiter_of(head: bytes) -> bytes:
    """Return the delimiter of a file that begins with `head`: a comma, tab, semicolon or bar; b"," if none is found.

    It divides each of the first records into the same number of fields, two or more. If several delimiters do, the one
    that yields the most fields is returned; a comma wins ties.
    """
    lines = QUOTED.sub(b"", head.removeprefix(BOM)).split(b"\n")
    lines = [line for line in lines[: max(1, len(lines) - 1)] if line.strip()][:COMPARED]
    counts = {mark: {line.count(mark) for line in lines} for mark in DELIMITERS}
    even = {mark: min(found) for mark, found in counts.items() if len(found) == 1 and min(found)}
    if even:
        return max(even, key=lambda mark: even[mark])
    first = {mark: lines[0].count(mark) for mark in DELIMITERS} if lines else {}
    return next((mark for mark in DELIMITERS if first.get(mark)), b",")
