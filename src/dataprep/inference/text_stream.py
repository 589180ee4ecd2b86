"""Decode a stream of ids to printable text: only whole characters, no special tokens, no control characters."""

from __future__ import annotations

import codecs

from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.unicode.valid import printable


class TextStream:
    """Decodes ids one at a time. Bytes that are not UTF-8 become U+FFFD, and so do control characters (`printable`).

    >>> stream = TextStream(tok)
    >>> "".join([*map(stream.add, ids), stream.end()])
    """

    def __init__(self, tok: Tokenizer) -> None:
        self._bytes = tok.pieces
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        """Return the text that is complete with the id `token`; "" for a special token or the start of a character."""
        return printable(self._decoder.decode(self._bytes.get(token, b"")))

    def end(self) -> str:
        """Return U+FFFD if the last character is not complete, else ""."""
        return printable(self._decoder.decode(b"", final=True))
