"""The authors of WhatsApp's messages, as the lines that begin messages name them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.unicode.valid import is_utf8

from . import scan as S
from .calendars import Ints
from .close_names import CLOSE, SPACED, close, close_names
from .kinds import is_system

STRIPPED = " \t\u00a0\u202f\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
MAX_NAMES = 1 << 16  # distinct authors that are remembered: groups have at most some thousand


class Authors:
    """Remembers the texts before the colon of the lines that begin messages, and which of them are names."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}
        self._spaced = self._close = 0  # lines in brackets with `NAME: TEXT`, and with `NAME:TEXT`

    def learn(self, data: npt.NDArray[np.uint8], found: Ints) -> tuple[list[str | None], Ints]:
        """Store the authors of a block; return its distinct authors (None: no name), and each row's index into them.

        Args:
            data: the bytes of the block.
            found: int64[n, FIELDS], the rows of `scan` of its headers.
        """
        forms = np.zeros(len(found), np.int64)
        close_names(data, found, forms)
        self._spaced += int((forms == SPACED).sum())
        self._close += int((forms == CLOSE).sum())
        stop = np.where(found[:, S.SAID] >= 0, found[:, S.NAME_STOP], found[:, S.NAME])
        coded = strings(*S.gather(data, found[:, S.NAME], stop)).dictionary_encode()
        written = coded.dictionary.to_pylist()
        for name in written[: MAX_NAMES - len(self._known)]:
            self._known.setdefault(name, author_of(name) if name else None)
        return [self._known.get(name) for name in written], coded.indices.to_numpy()

    def ended(self, data: npt.NDArray[np.uint8], rows: Ints) -> Ints:
        """Return the rows, with the first colon as the name's end if most lines in brackets are `NAME:TEXT`."""
        return close(data, rows) if self._close > self._spaced else rows

    def of(self, data: npt.NDArray[np.uint8], rows: Ints) -> tuple[pa.StringArray, npt.NDArray[np.bool_]]:
        """Return the authors of messages (null if WhatsApp wrote the message), and whether each message has an author.

        - rows: as `found` of `learn`.
        """
        spaced = rows[:, S.SAID] >= 0
        stop = np.where(rows[:, S.SAID] == -1, rows[:, S.NAME], rows[:, S.NAME_STOP])
        coded = strings(*S.gather(data, rows[:, S.NAME], stop)).dictionary_encode()
        codes, written = coded.indices.to_numpy(), coded.dictionary.to_pylist()
        names = [self._known[w] if w in self._known else author_of(w) for w in written]
        known = np.array([w in self._known for w in written], np.bool_)  # "NAME:text" if there is "NAME: text" too
        named = np.array([n is not None for n in names], np.bool_)[codes] & (spaced | known[codes])
        found = pa.array(names, pa.string()).take(pa.array(codes))
        return pc.if_else(pa.array(named), found, pa.scalar(None, pa.string())), named


def author_of(written: str) -> str | None:
    """Return the author's name in `written`, the text before a colon; None if WhatsApp wrote it and it is not a name.

    Direction marks and the `~` of unknown contacts are removed.
    """
    if is_system(written):
        return None
    return written.strip(STRIPPED).removeprefix("~").lstrip(STRIPPED) or None


def strings(offsets: Ints, data: npt.NDArray[np.uint8]) -> pa.LargeStringArray:
    """Return text from bytes; invalid bytes become U+FFFD (such messages are dropped)."""
    texts = B.strings(offsets, data)
    if is_utf8(data):
        return texts
    values = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(texts), texts.buffers()).to_pylist()
    return pa.array([v.decode("utf-8", "replace") for v in values], pa.large_string())
