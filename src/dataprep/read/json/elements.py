"""Reader of JSON arrays and pretty-printed JSON: a record is an element of an array, or an object outside arrays.

The file is streamed: memory usage is one block plus the longest record. The position of a document is the byte offset
of its object in the decompressed text. Bad records are dropped in the same way as in JSON Lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError, require
from dataprep.read.text import BOM, blocks

from .records import JsonRecords, RawRecord
from .stream import STRING, JsonStream

PRETTY = re.compile(rb"\s*\{\s*\n|\s*\{[^\n]*[,{\[]\s*\n\s*[\"\]}{\[]")  # the first line ends inside an object
SPACE = b" \t\r\n"


def is_json(head: bytes, url: str) -> bool:  # noqa: ARG001 - a sniffer
    """Return whether `head`, a file's first bytes, is the beginning of an array, or of an object of several lines."""
    return head.lstrip(SPACE)[:1] == b"[" or bool(PRETTY.match(head))


@dataclass(frozen=True, kw_only=True)
class Json(JsonRecords):
    """Reads JSON arrays, and JSON objects of several lines: one document per element, or per object.

    Attributes:
        records_in: the name of the field that contains the array of records, if it is inside an object, such as "data".
    """

    records_in: str = ""
    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require(type(self.records_in) is str, f"records_in={self.records_in!r} must be the name of a field, as a str")

    def remedy(self) -> str:
        """Return the advice for a file in which too many records are bad."""
        return f'name the text field with text= (now {self.text!r}), or records_in="data" for a list inside an object'

    def records(self, piece: Slice, stats: Ledger) -> Iterator[RawRecord]:  # noqa: ARG002
        """Yield the records of a file. Raises ReadError with the offset if it ends early."""
        with piece.open() as stream:
            first = stream.read(1 << 16).removeprefix(BOM).lstrip(SPACE)[:1]
        with piece.open() as stream:
            if self.records_in or first == b"[":
                yield from self._elements(stream, piece.url)
            else:
                yield from self._objects(stream, piece.url)

    def _elements(self, stream: BinaryIO, url: str) -> Iterator[RawRecord]:
        walk = ArrayStream(stream, url, self.max_doc_bytes, self.records_in)
        for group in walk.groups():
            if group.too_long is not None:
                yield RawRecord(group.too_long[0], None, group.too_long[1], "too_long")
            for k in range(len(group.starts)):
                data = group.raw(k)
                yield RawRecord(group.base + int(group.starts[k]), data, len(data))
        walk.close()

    def _objects(self, stream: BinaryIO, url: str) -> Iterator[RawRecord]:
        """Yield objects, one after the other, each of one or more lines."""
        held: list[bytes] = []
        position = size = depth = 0
        for at, line in _lines(stream, self.max_doc_bytes):
            if line is None:
                msg = "a line is longer than max_doc_bytes; increase it, or write one object per line (jq -c .)"
                raise ReadError(msg, url, at)
            bare = line.strip(SPACE)
            if not depth:
                bare = bare.lstrip(b",").lstrip(SPACE)
                held, size, position = [], 0, at + line.find(bare)
            if not bare:
                continue
            size += len(line)
            held += [line if held else bare] if size <= self.max_doc_bytes else []
            marks = STRING.sub(b"", bare)
            depth += marks.count(b"{") + marks.count(b"[") - marks.count(b"}") - marks.count(b"]")
            if depth <= 0:
                if size <= self.max_doc_bytes:
                    yield RawRecord(position, b"".join(held).rstrip(b"," + SPACE), size)
                else:
                    yield RawRecord(position, None, size, "too_long")
                held, depth, size = [], 0, 0
        if depth:
            msg = "the file ends inside an object; fetch it again"
            raise ReadError(msg, url, position)


class ArrayStream(JsonStream):
    """Reads the elements of an array: the whole file or, if `name` is not "", that field of an object."""

    ENDS = "the file ends inside an array; fetch it again"

    def __init__(self, stream: BinaryIO, url: str, max_bytes: int, name: str) -> None:
        super().__init__(stream, url, max_bytes, name.encode() or b"-")
        self.is_bare = not name

    def _to_array(self) -> bool:
        if not self.is_bare:
            found = super()._to_array()
            self.frame.clear()
            return found
        self.i += self.arrays > 0  # the bracket that closed the last one
        while self.raw[self.i : self.n].lstrip(SPACE)[:1] == b"":
            if not self._fill(self.n):
                return False
        self.i = self.n - len(self.raw[self.i : self.n].lstrip(SPACE))
        if self.raw[self.i] != ord("["):
            msg = f"after an array, the file contains {bytes(self.raw[self.i : self.n][:40])!r}; only arrays may follow"
            raise ReadError(msg, self.url, self.base + self.i)
        self.i += 1
        return True

    def close(self) -> None:
        """Raise ReadError if no array was found."""
        if not self.arrays:
            msg = "no array has the name given as records_in=; check the name"
            raise ReadError(msg, self.url)


def _lines(stream: BinaryIO, max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield (offset, line with its line feed); None in place of a line that is too long."""
    for block in blocks(stream, 0, None, max_bytes):
        if block.too_long is not None:
            yield block.start, None
            continue
        at = block.start
        for line in block.data[: block.stop].tobytes().split(b"\n")[:-1]:
            yield at, (line.removeprefix(BOM) if at == 0 else line) + b"\n"
            at += len(line) + 1
