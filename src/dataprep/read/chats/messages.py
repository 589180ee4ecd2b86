"""The columns of all chat readers, which are the same for all platforms; one document is one message.

`text` is the text of the message in the export. For a file, `text` is the placeholder; for a system message, the line.
`meta` holds the rest as JSON: {"edited": true}, {"file": NAME}, {"forwarded": NAME}, {"reactions": {...}}. {"file":
null} means that the export left the file out, and that the text is the file's caption.
"""

from __future__ import annotations

import io
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from textwrap import shorten
from typing import Any, ClassVar

import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.reader import Slice
from dataprep.lazy import compute as pc
from dataprep.read.trust import LimitedReader

KINDS = (
    "text", "image", "video", "audio", "gif", "sticker", "file", "contact", "location", "poll", "event", "call",
    "deleted", "system",
)  # fmt: skip
"""What a message is; `file` is also media whose type the export does not state (Android's "<Media omitted>")."""

COLUMNS: Mapping[str, pa.DataType] = {
    "chat": pa.string(),  # the name of the group or of the other person
    "author": pa.string(),  # null if the platform wrote the message
    "time": pa.timestamp("s"),  # as the exporting device's clock showed it, without a zone
    "kind": pa.string(),  # one of KINDS
    "reply_to": pa.uint64(),  # the id of the message it answers, null if none or not in this file
}


@dataclass(frozen=True, kw_only=True)
class ChatReader(LimitedReader):
    """Base class of the readers of chats; the limits of long and bad records apply to each message."""

    VERSION: ClassVar[int] = 5

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns that all chat readers add, as {name: type}: chat, author, time, kind and reply_to."""
        return COLUMNS


def names_of(document: Mapping[str, Any]) -> str:
    """Return the names of a JSON object's fields for an error message, in up to 200 characters."""
    return shorten(", ".join(document), 200, placeholder=" ...")


class LineFeeds(io.RawIOBase):
    """A stream of a file's bytes; if the file has carriage returns but no line feeds, they become line feeds."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner
        self.only_returns: bool | None = None  # decided from the first bytes

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into `buffer`; return their number."""
        one = getattr(self.inner, "readinto1", self.inner.readinto)  # an error of a second read would lose the first
        n = int(one(buffer))
        if self.only_returns is None and n:
            head = bytes(buffer[:n])
            self.only_returns = b"\n" not in head and b"\r" in head[:-1]
        if self.only_returns:
            buffer[:n] = bytes(buffer[:n]).replace(b"\r", b"\n")
        return n

    def close(self) -> None:
        """Close the stream and its file."""
        self.inner.close()
        super().close()


def message_batch(
    piece: Slice, ids: B.Ids, texts: Any, columns: Mapping[str, Any], meta: Sequence[str] | None = None
) -> Batch:
    """Return n messages as a batch with all columns of chat readers.

    Args:
        piece: the file.
        ids: the documents' ids, uint64[n].
        texts: n texts.
        columns: {name: list or Arrow array of n values}, for any of chat, author, time, kind and reply_to; a column
            that is left out is null.
        meta: n JSON texts; None: all "{}".
    """
    arrays = {n: pa.array(columns.get(n, [None] * len(ids)), kind) for n, kind in COLUMNS.items()}
    return B.make(ids, texts, piece.source, meta, columns=arrays)


SUFFIXES = {
    "image": "jpg jpeg png heic heif bmp tiff avif svg", "video": "mp4 mov 3gp webm mkv avi m4v",
    "audio": "opus ogg oga m4a mp3 aac wav flac amr", "gif": "gif", "sticker": "webp tgs", "contact": "vcf",
}  # fmt: skip
BY_SUFFIX = {f".{suffix}": kind for kind, names in SUFFIXES.items() for suffix in names.split()}
TYPES = {"image/gif": "gif", "image/webp": "sticker", "application/x-tgsticker": "sticker", "text/vcard": "contact"}
MAIN_TYPES = ("image", "video", "audio")
SECONDS = pa.timestamp("s")


def kind_of_file(name: Any, media_type: Any = None) -> str:
    """Return the kind of an attached file: image, video, audio, gif, sticker or contact; "file" if unknown.

    The media type decides, or else the suffix of the name.

    >>> kind_of_file("photos/a.JPG"), kind_of_file("a.bin", "video/mp4"), kind_of_file(None)
    ('image', 'video', 'file')
    """
    if isinstance(media_type, str) and media_type:
        main = media_type.partition("/")[0]
        kind = TYPES.get(media_type) or (main if main in MAIN_TYPES else None)
        if kind:
            return kind
    bare = str(name or "").partition("?")[0].lower()
    return BY_SUFFIX.get(posixpath.splitext(bare)[1], "file")


def files_of(names: Sequence[str]) -> dict[str, Any]:
    """Return attached files for meta: {"file": name} if there is one, {"files": names} if there are more, else {}."""
    return {"file": names[0]} if len(names) == 1 else {"files": list(names)} if names else {}


def wall_clock(times: Sequence[str | None]) -> pa.Array:
    """Return ISO 8601 texts as timestamp[s], without time zone and fractions of seconds; null for other texts."""
    heads = pc.utf8_slice_codeunits(pa.array(times, pa.string()), 0, 19)
    try:
        return heads.cast(SECONDS)
    except pa.ArrowInvalid:
        return pa.array([_clock(time) for time in heads.to_pylist()], SECONDS)


def _clock(time: str | None) -> datetime | None:
    try:
        return None if time is None else datetime.fromisoformat(time).replace(tzinfo=None)
    except ValueError:
        return None


def utc_text(seconds: Any) -> str | None:
    """Return seconds since 1970 (a number or its digits) as an ISO 8601 text in UTC; None if they are not a time."""
    try:
        return datetime.fromtimestamp(int(seconds), timezone.utc).isoformat()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
