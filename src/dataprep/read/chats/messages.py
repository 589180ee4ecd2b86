"""Columns of all chat readers: one document per message, whatever the platform.

`text` is the export's text of the message, including the placeholder of a file or the line of a system message; `meta`
holds the rest as JSON: {"edited": true}, {"file": NAME} (null: the export left the file out, and the text is its
caption), {"forwarded": NAME}, {"reactions": {...}}.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.reader import Reader, Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.trust import MAX_BAD, MAX_DOC_BYTES

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
class ChatReader(Reader):
    """Base of the chat readers.

    max_doc_bytes: longer messages are dropped. max_bad: the share of bad messages that a file may have (`trust.py`).
    """

    max_doc_bytes: int = MAX_DOC_BYTES
    max_bad: float = MAX_BAD

    def __post_init__(self) -> None:
        if self.max_doc_bytes < 1:
            msg = f"max_doc_bytes={self.max_doc_bytes} must be at least 1: the bytes of the longest one to keep"
            raise PlanError(msg)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns chat, author, time, kind and reply_to."""
        return COLUMNS


def reject_utf16(head: bytes, url: str) -> None:
    """Raise ReadError if a file begins like UTF-16, as editors may save it."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        msg = "the file is UTF-16, and chats are exported in UTF-8; convert it (iconv -f UTF-16 -t UTF-8)"
        raise ReadError(msg, url, 0)


def message_batch(
    piece: Slice, ids: B.Ids, texts: Any, columns: Mapping[str, Any], meta: Sequence[str] | None = None
) -> Batch:
    """Return messages as a batch; `columns` holds lists or Arrow arrays by name, and a missing column is null."""
    arrays = {n: pa.array(columns.get(n, [None] * len(ids)), kind) for n, kind in COLUMNS.items()}
    return B.make(ids, texts, piece.source, meta, columns=arrays)
