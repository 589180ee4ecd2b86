"""Reader of text files, one document per file.

`meta` has the path of the file, below the folder that `dp.read` was given, the encoding if it is not UTF-8, and the
number of characters that no encoding can read (`unreadable`), which are U+FFFD.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Reader, Slice
from dataprep.errors import PlanError, ReadError
from dataprep.store import files
from dataprep.unicode.valid import is_utf8

from .text import BLOCK, BOM, Record, documents
from .trust import MAX_DOC_BYTES

HEAD = 4_096  # bytes in which UTF-16 shows itself by zeros


@dataclass(frozen=True, kw_only=True)
class Text(Reader):
    """Reads one document per file; files larger than `max_doc_bytes`, empty files and binary files are dropped."""

    VERSION: ClassVar[int] = 5
    max_doc_bytes: int = MAX_DOC_BYTES

    def named(self, piece: Slice) -> str:
        """Return the path of the file in `meta`: below the folder by which it was found, else its name."""
        listed, url = (os.path.abspath(u) if u and "://" not in u else u for u in (piece.listed, piece.url))
        root = re.split(r"[*?[]", listed)[0] if files.is_glob(listed) else f"{listed.rstrip('/')}/"
        root = root[: root.rfind("/") + 1]
        below = url.removeprefix(root) if listed and url.startswith(root) else files.name_of(url)
        return below.encode("utf-8", "backslashreplace").decode()  # names of files need not be UTF-8

    def about(self, url: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the fields of `meta` for a file, in addition to its path, by its name."""
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
        meta: dict[str, Any] = {"path": self.named(piece), **self.about(piece.url)}
        if n_bytes <= self.max_doc_bytes and _may_be_other(data):
            data, encoding, n_lost = _as_utf8(data, piece.url)
            if encoding:
                meta["encoding"] = encoding
                stats.count(f"encoding.{encoding}", 1)
            if n_lost:
                meta["unreadable"] = n_lost
                stats.count("unreadable_characters", n_lost)
        whole = data if n_bytes <= self.max_doc_bytes else None
        yield from documents(iter([Record(0, whole, n_bytes, orjson.dumps(meta).decode())]), piece, stats, None)


def _may_be_other(data: bytes) -> bool:
    """Return whether a file may have an encoding other than UTF-8: it is not UTF-8, or has zeros or escapes."""
    if b"\0" in data[:HEAD] or not is_utf8(data):
        return True
    return (b"\x1b$" in data or b"~{" in data) and data.isascii()


def _as_utf8(data: bytes, url: str) -> tuple[bytes, str, int]:
    """Return a file as UTF-8, its original encoding ("" if none is found), and the number of lost characters.

    If lines have two encodings, each line is read in its own. Raises ReadError if the package that finds the encoding
    is needed and not installed.
    """
    from .charsets.decide import characters
    from .charsets.stated import in_xml, marked
    from .charsets.units import is_binary, wide_of
    from .chats.charsets import Utf8Stream, charset_of

    if is_binary(data) or (b"\0" in data and not (marked(data)[1] or wide_of(data[:HEAD]))):
        return data, "", 0
    mixed = None if in_xml(data) else charset_of(io.BytesIO(data), url)
    name = ""
    if mixed is not None and not mixed.whole:
        data, name = Utf8Stream(io.BytesIO(data), mixed).read(), mixed.name
    try:
        found = characters(data, is_html=False)
    except PlanError as e:
        msg = f"the text is not UTF-8; to detect its encoding, {e}; or convert the file to UTF-8"
        raise ReadError(msg, url) from e
    if found is None:
        return data, "", 0
    encoding = name or (found.charset if found.charset != "utf-8" else "")
    return found.text.encode("utf-8", "replace"), encoding, found.n_lost
