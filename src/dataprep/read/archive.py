"""Reader of tar and zip files. Members are read like the files of a folder: suffix or first bytes decide the format.

The position of a document is its position in its member plus the decompressed sizes of the members before it. `meta`
has the path in the archive, unless the record has a `path` field. Members in other formats are listed as not read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import orjson
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import POSITION_BITS, Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Reader, Slice
from dataprep.core.model.tables import EMPTY, UNREADABLE, Unread
from dataprep.core.model.unread import unread_of
from dataprep.errors import NotInstalled, ReadError
from dataprep.store import files

from . import formats
from .archive_members import Expanded, MemberSlice, PackedFile, members_of
from .chats.packs import names_in
from .json.columns import check_taken
from .source_field import field_path
from .trust import MAX_BAD, LimitedReader
from .whole_file import Text

# Formats of members, the first that fits.
INSIDE = ("jsonl", "json", "csv", "text", "html", "mail", "notebook", "docx", "epub", "pdf")
NOT_INSTALLED = "not_installed"  # reason of a member whose reader needs a package of an extra
HEAD = 1 << 16
SHOWN = 5


def has_texts(head: bytes, url: str) -> bool:
    """Return whether a zip has a readable member.

    - head: the first bytes of the zip.
    """
    return any(_claiming(name) for name in names_in(url, head) if not _is_hidden(name))


@dataclass(frozen=True, kw_only=True)
class TextArchive(LimitedReader):
    """Reads the texts in a tar or zip, optionally compressed; INSIDE lists the supported formats.

    Attributes:
        text, meta, source: the options of these formats.
        max_doc_bytes: longer documents are dropped.
        max_bad: the maximum share of bad records of a member.
    """

    text: str = "text"
    meta: bool = True
    source: str = ""
    max_bad: float = MAX_BAD
    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_taken(self.text, [])
        field_path(self.source, self.text)

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of all members; list unread members in `stats`."""
        expanded = Expanded(piece.url, piece.n_bytes or files.size(piece.url))
        names: list[str] = []
        found, lacking = False, ""
        for member in members_of(piece.url):
            names.append(member.name)
            expanded.here = 0
            url = f"{piece.url}/{member.name}"
            part = MemberSlice(url, piece.file, 0, None, piece.source, n_bytes=member.size, listed=piece.url,
                               opened=member.opened or bytes_of_none, expanded=expanded)  # fmt: skip
            reader = self._reader(member, part)
            if isinstance(reader, Unread):
                stats.unread.append(reader)
                lacking = lacking or (reader.detail or "")
            else:
                found = True
                yield from self._documents(reader, part, member.name, expanded.before, stats)
            expanded.before += max(expanded.here, member.size) + 1
            if expanded.before >> POSITION_BITS:
                msg = "its members have more than 1 TiB, the limit for document ids; unpack it and read the folder"
                raise ReadError(msg, piece.url)
        if not found:
            shown = ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "") or "nothing"
            msg = lacking or f"the archive has no file in a supported format, only {shown}"
            raise ReadError(msg, piece.url, reason=UNREADABLE if lacking else EMPTY)

    def _reader(self, member: PackedFile, part: MemberSlice) -> Reader | Unread:
        """Return the reader of a member, or the reason why it is not read."""
        if _is_hidden(member.name):
            return Unread(part.url, "hidden")
        claiming = _claiming(member.name)
        if not claiming or member.opened is None:
            return Unread(part.url, "unknown_type" if member.opened else "encrypted")
        if not member.size:
            return Unread(part.url, EMPTY)
        head = b""
        if any(f.sniff for f in claiming):
            with part.open() as stream:
                head = stream.read(HEAD)
        chosen = [f for f in claiming if f.sniff and f.accepts(head, part.url)] or [f for f in claiming if not f.sniff]
        kind = chosen[0].load()
        names = {f.name for f in dataclasses.fields(kind)}
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name in names}
        try:
            return cast("Reader", kind(**given))
        except NotInstalled as e:
            return Unread(part.url, NOT_INSTALLED, None, str(e))

    def _documents(self, reader: Reader, part: MemberSlice, name: str, base: int, stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of a member, with positions that begin at `base`."""
        shown = name.encode("utf-8", "backslashreplace").decode()
        first = '{"path":' + orjson.dumps(shown).decode()
        try:
            for batch in reader(part, cast("Ledger", _Shifted(stats, base))):
                moved = B.with_column(batch, "id", pa.array(B.ids(batch) + np.uint64(base)))
                if self.meta and not isinstance(reader, Text):
                    metas = [_with_path(meta, first) for meta in batch.column("meta").to_pylist()]
                    moved = B.with_column(moved, "meta", pa.array(metas, pa.large_string()))
                yield moved
        except ReadError as e:
            if e.reason != EMPTY:
                where = shown if e.offset is None else f"{shown}, byte {e.offset:,}"
                msg = f"{where}: {e.message}"
                raise ReadError(msg, part.listed, reason=e.reason) from e
            stats.unread.append(unread_of(e, part.url))


class _Shifted:
    """A ledger which shifts the ids of dropped records by the position of their member."""

    def __init__(self, stats: Ledger, base: int) -> None:
        self._stats, self._base = stats, base

    def drop(self, ids: Any, *given: Any, **named: Any) -> None:
        """Record that records are dropped."""
        self._stats.drop(np.asarray(ids, np.uint64) + np.uint64(self._base), *given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stats, name)


def _claiming(name: str) -> list[formats.Format]:
    """Return the formats that the name of a member permits."""
    return [formats.FORMATS[one] for one in INSIDE if formats.FORMATS[one].claims(name)]


def _is_hidden(name: str) -> bool:
    """Return whether a part of the path of a member begins with a full stop or an underscore, except .. and ."""
    return any(part[:1] in {".", "_"} for part in name.split("/") if part not in {".", ".."})


def _with_path(meta: str, first: str) -> str:
    """Return the JSON of `meta` with `path` as its first field, unless it has this field."""
    if '"path":' in meta and "path" in orjson.loads(meta):
        return meta
    return f"{first}}}" if meta == "{}" else f"{first},{meta[1:]}"


def bytes_of_none() -> Any:
    """Raise AssertionError, because a member that cannot be opened must not be read."""
    raise AssertionError
