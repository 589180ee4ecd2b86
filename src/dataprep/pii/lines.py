"""Lines of texts that may contain personal data, and offsets in characters of a line as offsets in bytes.

The patterns search characters of one line; the texts of a batch are bytes of one buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dataprep.unicode.text import I64, U8

from .kernel import byte_kinds, suspects


@dataclass(frozen=True)
class Line:
    """One line of a batch's texts.

    row: the index of the text. start, stop: the range of the line in the buffer, in bytes. text: its characters.
    can: bits of the kinds of personal data that it may contain (`kernel.py`).
    """

    row: int
    start: int
    stop: int
    text: str
    can: int

    def in_bytes(self, first: int, end: int) -> tuple[int, int]:
        """Return a range of characters of the line as a range of bytes of the buffer."""
        if not self.text.isascii():
            first, end = (len(self.text[:i].encode()) for i in (first, end))
        return self.start + first, self.start + end

    def in_characters(self, first: int, end: int) -> tuple[int, int]:
        """Return a range of bytes of the buffer, between whole characters, as a range of characters of the line."""
        first, end = first - self.start, end - self.start
        if self.text.isascii():
            return first, end
        data = self.text.encode()
        return len(data[:first].decode()), len(data[:end].decode())


def lines(offsets: I64, data: U8, wanted: int) -> Iterator[Line]:
    """Yield the lines that may contain personal data of the wanted kinds, in order.

    offsets: int64[n + 1], offsets of n texts in `data`, UTF-8. wanted: bits of the kinds (`kernel.py`).
    """
    for row, start, stop, can in suspects(offsets, data, byte_kinds(), wanted).tolist():
        yield Line(row, start, stop, data[start:stop].tobytes().decode(), can)
