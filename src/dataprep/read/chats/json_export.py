"""Base of readers of JSON exports, streamed in two passes: the first collects the chats' names, the second messages.

The position of a message is the byte offset of its object in the decompressed text. Memory: a block of 4 MB, the
longest message, and 16 bytes per message to find the message that a reply answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch, doc_id
from dataprep.core.ledger import Ledger
from dataprep.core.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.json.stream import Group, JsonStream, warm
from dataprep.read.trust import Trust
from dataprep.store import files

from .media import wall_clock
from .messages import ChatReader, message_batch


class MessageRow(NamedTuple):
    """Message as its platform's reader interprets it."""

    text: str
    author: str | None
    time: str | None  # ISO 8601; anything after the seconds is ignored
    kind: str = "text"
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class JsonExport(ChatReader):
    """Base of readers that stream; a subclass names the chats and interprets messages."""

    PLATFORM: ClassVar[str]

    def names(self, document: Mapping[str, Any], url: str) -> Mapping[int, str]:
        """Return the name of each chat by the number of its array of messages, from the document around them.

        Raises ReadError if it is not of this platform.
        """
        raise NotImplementedError

    def row(self, message: Mapping[str, Any]) -> MessageRow:
        """Return one message as a row."""
        raise NotImplementedError

    def answers(self, message: Mapping[str, Any]) -> int | None:
        """Return the platform's number of the message that this one answers."""
        raise NotImplementedError

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of all chats in a file."""
        return B.recut(self._batches(piece, stats))

    def _batches(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        names = self.names(self._document(piece.url), piece.url)
        trust = Trust(piece.url, self.max_bad, remedy="name another reader with format=")
        known, chat = Known(), -1
        with files.open_read(piece.url) as stream:
            for group in JsonStream(stream, piece.url, self.max_doc_bytes).groups():
                if group.array != chat:
                    known, chat = Known(), group.array
                yield from self._batch(group, names.get(chat, ""), known, piece, stats, trust)
        trust.close()

    def warm(self) -> None:
        """Compile the kernels; called once, before workers start."""
        warm()

    def _document(self, url: str) -> Mapping[str, Any]:
        """Return the document around the messages; each array of messages holds its number.

        Raises ReadError if the file is truncated or is not an export.
        """
        n_messages = 0
        with files.open_read(url) as stream:
            walk = JsonStream(stream, url, self.max_doc_bytes)
            for group in walk.groups():
                n_messages += len(group.starts) + (group.too_long is not None)
            document = walk.document()
        if not isinstance(document, dict):
            msg = f"the file is a JSON list, not a {self.PLATFORM} chat; name another reader with format="
            raise ReadError(msg, url, 0)
        if not n_messages and walk.arrays:
            msg = "the chat has no messages; remove the file"
            raise ReadError(msg, url, 0)
        return document

    def _batch(
        self, group: Group, chat: str, known: Known, piece: Slice, stats: Ledger, trust: Trust
    ) -> Iterator[Batch]:
        good, messages, bad = sort_out(group, self.max_doc_bytes)
        refuse(bad, piece, stats, trust, good)
        if not messages:
            return
        rows = [self.row(message) for message in messages]
        known.add([number(m.get("id")) for m in messages], good)
        answered = known.find([self.answers(m) for m in messages], piece.file)
        yield batch_of(rows, chat, good, piece, answered)


class Bad(NamedTuple):
    """Dropped message: its position, size in bytes, reason, and first bytes."""

    position: int
    n_bytes: int
    reason: str
    looks: str


def sort_out(group: Group, max_bytes: int) -> tuple[npt.NDArray[np.int64], list[Any], list[Bad]]:
    """Return the positions int64[n] of messages that are JSON objects, these objects, and the bad messages."""
    bad = [Bad(*group.too_long, "too_long", "")] if group.too_long else []
    if not len(group.starts):
        return group.starts, [], bad
    sizes = group.ends - group.starts
    messages = group.parsed() if sizes.max() <= max_bytes else None
    positions = group.starts + group.base
    if messages is not None and all(type(m) is dict for m in messages):
        return positions, messages, bad
    found = [_message(group.raw(k), max_bytes) for k in range(len(sizes))]
    for k, one in enumerate(found):
        if isinstance(one, str):
            bad.append(Bad(int(positions[k]), int(sizes[k]), one, repr(group.raw(k)[:60])))
    good = [k for k, one in enumerate(found) if not isinstance(one, str)]
    return positions[good], [found[k] for k in good], bad


def _message(data: bytes, max_bytes: int) -> dict[str, Any] | str:
    """Return the message, or the reason to drop it."""
    if len(data) > max_bytes:
        return "too_long"
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as e:
        return "invalid_utf8" if "utf-8" in str(e).lower() or "surrogate" in str(e) else "not_json"
    return found if isinstance(found, dict) else "not_an_object"


def refuse(bad: list[Bad], piece: Slice, stats: Ledger, trust: Trust, good: Sequence[int] | Any = ()) -> None:
    """Drop the bad messages; count good and bad ones."""
    trust.count(good, [one.position for one in bad], lambda: f"{bad[0].reason} {bad[0].looks}")
    ids = np.array([doc_id(piece.file, one.position) for one in bad], np.uint64)
    stats.drop(ids, [one.reason for one in bad], n_bytes=[one.n_bytes for one in bad])


def batch_of(rows: list[MessageRow], chat: str, positions: Any, piece: Slice, reply_to: Any = None) -> Batch:
    """Return rows as a batch; positions: int64[n]. reply_to: uint64[n] with nulls."""
    texts, authors, times, kinds, metas = zip(*rows, strict=True)
    columns = {
        "chat": pa.repeat(chat, len(rows)),
        "author": authors,
        "time": wall_clock(times),
        "kind": kinds,
    }
    if reply_to is not None:
        columns["reply_to"] = reply_to
    ids = np.asarray(positions, np.int64).astype(np.uint64) + np.uint64(doc_id(piece.file, 0))
    said = [orjson.dumps(meta).decode() if meta else "{}" for meta in metas]
    return message_batch(piece, ids, list(texts), columns, said)


def number(value: Any) -> int | None:
    """Return a platform's number of a message, an integer or its digits; None if it is neither."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and abs(value) < 1 << 63 else None


class Known:
    """Positions of messages by number: sorted runs of (number, position), 16 bytes per message (in a dict: 150).

    Each run is at least twice as long as the next, so that numbers that do not ascend cost no more than sorting them.
    """

    def __init__(self) -> None:
        self.runs: list[npt.NDArray[np.int64]] = []

    def add(self, numbers: list[int | None], positions: npt.NDArray[np.int64]) -> None:
        """Add messages in the order of the file; messages without a number cannot be answered."""
        rows = [k for k, one in enumerate(numbers) if one is not None]
        if rows:
            wanted = np.array([numbers[k] for k in rows], np.int64)
            self.runs.append(_sorted(np.stack([wanted, positions[rows]])))
        while len(self.runs) > 1 and self.runs[-2].shape[1] < 2 * self.runs[-1].shape[1]:
            last = self.runs.pop()
            self.runs[-1] = _sorted(np.concatenate([self.runs[-1], last], 1))

    def find(self, answered: list[int | None], file: int) -> pa.Array | None:
        """Return the ids uint64[n] of answered messages, null if unknown; None if all are null."""
        rows = np.array([k for k, one in enumerate(answered) if one is not None], np.int64)
        if not len(rows) or not self.runs:
            return None
        wanted = np.array([answered[k] for k in rows.tolist()], np.int64)
        ids, missing = np.zeros(len(answered), np.uint64), np.ones(len(answered), bool)
        for numbers, positions in self.runs:  # of two messages with one number, the later is meant
            at = np.searchsorted(numbers, wanted, "right") - 1
            found = (at >= 0) & (numbers[at] == wanted)
            ids[rows[found]] = positions[at[found]].astype(np.uint64) + np.uint64(doc_id(file, 0))
            missing[rows[found]] = False
        return pa.array(ids, mask=missing)


def _sorted(run: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return a run sorted by number; equal numbers keep the order of the file."""
    ascending = bool((run[0, 1:] >= run[0, :-1]).all())
    return run if ascending else run[:, np.argsort(run[0], kind="stable")]
