"""Lines of texts that may contain personal data; conversion of offsets between characters and bytes.

The patterns of `rules.py` search one line at a time and return offsets in characters; the texts of a batch are stored
in one buffer of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from dataprep.unicode.text import I64, U8

from .kernel import byte_kinds, suspects


class Line(NamedTuple):
    """One line of the texts of a batch, which are stored one after another in a buffer.

    Attributes:
        row: the index of the text.
        start: the offset of the line's first byte in the buffer.
        stop: the offset after the line's last byte.
        text: the line as str.
        can: the kinds of personal data that the line may contain, as a sum of `kernel.EMAIL`, IP, NUMBER and IBAN.
    """

    row: int
    start: int
    stop: int
    text: str
    can: int

    def in_bytes(self, first: int, end: int) -> tuple[int, int]:
        """Return (start, end) in bytes of the buffer for the characters `first` to `end` - 1 of the line."""
        if not self.text.isascii():
            first, end = (len(self.text[:i].encode()) for i in (first, end))
        return self.start + first, self.start + end

    def in_characters(self, first: int, end: int) -> tuple[int, int]:
        """Return (start, end) in characters of the line for the bytes `first` to `end` - 1 of the buffer.

        Neither end may be inside a character.
        """
        first, end = first - self.start, end - self.start
        if self.text.isascii():
            return first, end
        data = self.text.encode()
        return len(data[:first].decode()), len(data[:end].decode())


def lines(offsets: I64, data: U8, wanted: int) -> Iterator[Line]:
    """Yield the lines that may contain wanted personal data, in order.

    - offsets: int64[n + 1], the offsets of n texts in `data`, UTF-8 bytes.
    - wanted: the kinds of personal data to find, as a sum of `kernel.EMAIL`, IP, NUMBER and IBAN.
    """
    view = memoryview(data)  # type: ignore[arg-type]
    for row, start, stop, can in suspects(offsets, data, byte_kinds(), wanted).tolist():
        yield Line(row, start, stop, str(view[start:stop], "utf-8"), can)


def find_joined(
    data: U8, starts: I64, stops: I64, find: Callable[[str], Iterable[tuple[int, int]]], between: bytes = b"\n"
) -> I64:
    """Return the spans that `find` yields in fragments of a buffer, int64[m, 2], in bytes of the buffer.

    - data: the buffer, UTF-8 bytes.
    - starts: int64[n], the offset at which each fragment begins.
    - stops: int64[n], the offset at which each fragment ends.
    - find: a function that receives all fragments in one text and yields (start, end) in characters, in order. No span
      may cross `between`, which separates two fragments.
    """
    view = memoryview(data)  # type: ignore[arg-type]
    joined = between.join([view[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)])
    text = str(joined, "utf-8")
    spans = np.array(list(find(text)), np.int64).reshape(-1, 2)
    if len(text) < len(joined):  # in bytes
        firsts = np.flatnonzero(np.frombuffer(joined, np.uint8) & 0xC0 != 0x80)
        spans = np.append(firsts, len(joined))[spans]
    before = np.cumsum(np.append(0, stops - starts + len(between)))[:-1]
    piece = np.searchsorted(before, spans[:, 0], side="right") - 1
    found: I64 = spans + (starts - before)[piece][:, None]
    return found


def every_line(offsets: I64, data: U8, wanted: int) -> Iterator[Line]:
    """Yield all non-empty lines, in order; `can` states which of the wanted kinds each line may contain.

    Args:
        offsets: as in `lines`.
        data: as in `lines`.
        wanted: as in `lines`.
    """
    can = {line.start: line.can for line in lines(offsets, data, wanted)} if wanted else {}
    for row, (start, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        at = start
        for line in data[start:end].tobytes().split(b"\n"):
            if line:
                yield Line(row, at, at + len(line), line.decode(), can.get(at, 0))
            at += len(line) + 1
