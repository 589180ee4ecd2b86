"""Reader of text files, one document per file.

`meta` has the path of the file, below the folder that `dp.read` was given, and the encoding if it is not UTF-8.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
import pyarrow as pa

from dataprep.core.model.batch import Batch, doc_id, with_column
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Reader, Slice
from dataprep.store import files
from dataprep.unicode.valid import is_utf8

from .chats.messages import COLUMNS
from .text import BLOCK, BOM, Record, documents
from .trust import MAX_DOC_BYTES

HEAD = 4_096  # bytes in which UTF-16 shows itself by zeros


@dataclass(frozen=True, kw_only=True)
class Text(Reader):
    """Reads one document per file. A file over `max_doc_bytes`, an empty one, and one whose encoding cannot be found
    are dropped without an error.
    """  # noqa: D205

    VERSION: ClassVar[int] = 3
    max_doc_bytes: int = MAX_DOC_BYTES

    def named(self, piece: Slice) -> str:
        """Return the path of the file in `meta`: below the folder by which it was found, else its name."""
        listed, url = (os.path.abspath(u) if u and "://" not in u else u for u in (piece.listed, piece.url))
        root = re.split(r"[*?[]", listed)[0] if files.is_glob(listed) else f"{listed.rstrip('/')}/"
        root = root[: root.rfind("/") + 1]
        below = url.removeprefix(root) if listed and url.startswith(root) else files.name_of(url)
        return below.encode("utf-8", "backslashreplace").decode()  # names of files need not be UTF-8

    def about(self, url: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what `meta` states of a file beside its path, by its name."""
        return {}

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the whole file as a batch of one document."""
        with piece.open() as stream:
            data = stream.read(self.max_doc_bytes + len(BOM) + 1).removeprefix(BOM)
            n_bytes = len(data)
            while len(data) > self.max_doc_bytes and (more := len(stream.read(BLOCK))):
                n_bytes += more
        if not n_bytes:
            stats.drop([doc_id(piece.file, 0)], ["empty"], n_bytes=[0])
            return
        meta = {"path": self.named(piece), **self.about(piece.url)}
        if n_bytes <= self.max_doc_bytes and (b"\0" in data[:HEAD] or not is_utf8(data)):
            data, encoding = _as_utf8(data, piece.url)
            if encoding:
                meta["encoding"] = encoding
                stats.count(f"encoding.{encoding}", 1)
        whole = data if n_bytes <= self.max_doc_bytes else None
        yield from documents(iter([Record(0, whole, n_bytes, orjson.dumps(meta).decode())]), piece, stats, None)


@dataclass(frozen=True, kw_only=True)
class TextBesideChats(Text):
    """Reads one document per file, from a folder that has chats too; the columns of messages are null."""

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns of messages."""
        return COLUMNS

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the whole file as a batch of one document."""
        for batch in super().__call__(piece, stats):
            for name, kind in COLUMNS.items():
                batch = with_column(batch, name, pa.nulls(batch.num_rows, kind))  # noqa: PLW2901 - one more column
            yield batch


def _as_utf8(data: bytes, url: str) -> tuple[bytes, str]:
    """Return a file as UTF-8, and the encoding in which it was; the data as it is and "" if none can be found.

    Raises ReadError if the package that finds the encoding is needed and not installed.
    """
    from .chats.charsets import Utf8Stream, charset_of

    found = charset_of(io.BytesIO(data), url)
    if found is None or (b"\0" in data and not found.name.startswith("utf-16")):
        return data, ""
    made = Utf8Stream(io.BytesIO(data), found).read().removeprefix(BOM)
    return (made, found.name) if is_utf8(made) else (data, "")
