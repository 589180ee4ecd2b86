"""Base class of readers of files that are read whole and have one or more sections: a page, chapters, messages.

The position of a document is the index of its section in the file, from 0. `meta` has the path of the file, as for text
files, and the fields that the reader adds for the section. Sections without text are dropped as `no_text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import orjson

from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError

from .text import BLOCK, Record, documents
from .whole_file import Text


class Section(NamedTuple):
    """A part of a file: its text, in UTF-8, its fields in `meta`, and the reason to drop it, or ""."""

    text: bytes
    meta: Mapping[str, Any]
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Sections(Text):
    """Base class of readers that load a complete file.

    Attributes:
        max_doc_bytes: longer texts, and longer files, are dropped.
        MAX_FILE: the maximum bytes of a file, which may be larger than one document; 0: max_doc_bytes.
    """

    VERSION: ClassVar[int] = 1
    MAX_FILE: ClassVar[int] = 0

    def sections(self, data: bytes, piece: Slice, stats: Ledger) -> Iterator[Section]:
        """Yield the sections of a file. Raises ReadError if it is damaged."""
        raise NotImplementedError

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the sections of a file as documents."""
        most = max(self.MAX_FILE, self.max_doc_bytes)
        with piece.open() as stream:
            data = stream.read(most + 1)
            n_bytes = len(data)
            while n_bytes > most and (more := len(stream.read(BLOCK))):
                n_bytes += more
        if n_bytes > most or not data:
            stats.drop([doc_id(piece.file, 0)], ["too_long" if data else "empty"], n_bytes=[n_bytes])
            return
        yield from documents(self._records(data, piece, stats), piece, stats, None)

    def _records(self, data: bytes, piece: Slice, stats: Ledger) -> Iterator[Record]:
        path, found = self.named(piece), False
        for number, section in enumerate(self.sections(data, piece, stats)):
            found = True
            reason = section.reason or ("" if section.text.strip() else "no_text")
            if reason:
                stats.drop([doc_id(piece.file, number)], [reason], n_bytes=[len(section.text)])
                continue
            text = section.text if len(section.text) <= self.max_doc_bytes else None
            yield Record(number, text, len(section.text), orjson.dumps({"path": path, **section.meta}).decode())
        if not found:
            msg = "the file has no text; remove it"
            raise ReadError(msg, piece.url, reason="empty")
