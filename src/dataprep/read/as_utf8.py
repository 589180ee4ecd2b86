"""Open a text file as UTF-8: its encoding is detected from its first bytes or, if these are not UTF-8, from all."""

from __future__ import annotations

import io
from typing import BinaryIO

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice

from .charsets.units import begins_as_utf8

HEAD = 1 << 18  # bytes that are UTF-8 if the file is


def open_as_utf8(piece: Slice, stats: Ledger) -> BinaryIO:
    """Return a buffered stream of the decompressed text of a file, in UTF-8.

    If the first bytes are UTF-8, or if no encoding is found, the text is not changed; else the encoding is logged, and
    counted in `stats`.
    """
    with piece.open() as stream:
        head = stream.read(HEAD)
    if b"\0" not in head and begins_as_utf8(head):
        return piece.open()
    from .chats.charsets import Utf8Stream, charset_of

    with piece.open() as stream:
        charset = charset_of(stream, piece.url)
    if charset is None:
        return piece.open()
    if not stats.quiet:
        charset.state(piece.url, stats)
    return io.BufferedReader(Utf8Stream(piece.open(), charset), 1 << 20)
