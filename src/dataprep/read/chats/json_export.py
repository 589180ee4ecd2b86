"""Base of readers of JSON exports, streamed in two passes: the first finds the chats' names, the second reads messages.

The position of a message is the byte offset of its object in the decompressed text. Memory: a block of 4 MB, the
longest message, and 16 bytes per message to find the message that a reply answers.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.json.stream import Group, JsonStream, warm
from dataprep.read.trust import Trust
from dataprep.store import files

from .messages import ChatReader, message_batch, wall_clock

HEX_ESCAPE = re.compile(rb"(?<!\\)((?:\\\\)*)\\x([0-9A-Fa-f]{2})")  # \x08, which is not JSON, of Telegram Desktop
# An escape in a JSON string; group 1 is half of a pair of surrogates.
ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|[^u]|u)"
)
NOT_WRITTEN = {"system", "event", "call", "deleted"}  # kinds of messages whose text is the platform's
TECHNICAL = re.compile(r"[\x21-\x7e]*[0-9/\\_.:=-][\x21-\x7e]*")  # `image/jpeg`, not words


class MessageRow(NamedTuple):
    """The columns of a message, as the method `row` of a platform's reader returns them.

    Attributes:
        time: the time of the message in ISO 8601.
        kind: the kind of the message, such as "text", "image" or "system".
        meta: further fields, stored as JSON.
    """

    text: str
    author: str | None
    time: str | None  # ISO 8601; anything after the seconds is ignored
    kind: str = "text"
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class JsonExport(ChatReader):
    """Base class of readers that stream a JSON export; a subclass has `names`, `row` and `answers` for its platform."""

    PLATFORM: ClassVar[str]
    FIELDS: ClassVar[frozenset[str]] = frozenset()  # of a message: those that are read, and those that have no text
    INNER: ClassVar[Mapping[str, frozenset[str]]] = {}  # the same, of the objects in such a field

    def names(self, document: Mapping[str, Any], url: str) -> Mapping[int, str]:
        """Return the names of the chats in a file, as {k: name of the chat whose messages are the k-th array, from 0}.

        - document: the parsed export, in which each array of messages holds only its number k.

        Raises ReadError if the document is not an export of this platform.
        """
        raise NotImplementedError

    def row(self, message: Mapping[str, Any]) -> MessageRow:
        """Return the columns of one message.

        Args:
            message: the message's object in the JSON of the export.
        """
        raise NotImplementedError

    def answers(self, message: Mapping[str, Any]) -> int | None:
        """Return the platform's number of the message to which `message` replies; None if `message` is not a reply."""
        raise NotImplementedError

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of all chats in a file as batches, one row per message."""
        damage: list[ReadError] = []
        yield from B.recut(_until_damage(self._batches(piece, stats), damage))
        if damage:
            raise damage[0]

    def _batches(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        names = self._names(piece.url)
        trust = Trust(piece.url, self.max_bad, remedy="name another reader with format=")
        known, chat = Known(), -1
        with files.open_read(piece.url) as stream:
            walk = JsonStream(stream, piece.url, self.max_doc_bytes)
            for group in walk.groups():
                if group.array != chat:
                    known, chat = Known(), group.array
                yield from self._batch(group, names.get(chat, ""), known, piece, stats, trust)
            walk.document()  # raises ReadError if the file ends after the messages
        trust.close()

    def warm(self) -> None:
        """Compile the kernels (compiled functions); called once, before workers start."""
        warm()

    def _names(self, url: str) -> Mapping[int, str]:
        """Return the chats' names, as `names` does; of a truncated file, from the part before its end.

        Raises ReadError if the file is not an export, or truncated so early that it has no message or no name.
        """
        n_messages = 0
        error: ReadError | None = None
        with files.open_read(url) as stream:
            walk = JsonStream(stream, url, self.max_doc_bytes)
            try:
                for group in walk.groups():
                    n_messages += len(group.starts) + (group.too_long is not None)
                document = walk.document()
            except ReadError as e:
                document, error = walk.begun(), e
        if error is not None:
            with contextlib.suppress(ReadError):
                if n_messages and isinstance(document, dict):
                    return self.names(document, url)
            raise error
        if not isinstance(document, dict):
            msg = f"the file is a JSON list, not a {self.PLATFORM} chat; pass the right reader as format="
            raise ReadError(msg, url, 0)
        if not n_messages and walk.arrays:
            msg = "the chat has no messages; remove the file"
            raise ReadError(msg, url, 0, reason="empty")
        return self.names(document, url)

    def _batch(
        self, group: Group, chat: str, known: Known, piece: Slice, stats: Ledger, trust: Trust
    ) -> Iterator[Batch]:
        good, messages, bad = sort_out(group, self.max_doc_bytes)
        refuse(bad, piece, stats, trust, good)
        if not messages:
            return
        rows = with_unknown([self.row(message) for message in messages], messages, self.FIELDS, stats, inner=self.INNER)
        known.add([number(m.get("id")) for m in messages], good)
        answered = known.find([self.answers(m) for m in messages], piece.file)
        yield batch_of(rows, chat, good, piece, answered)


def with_unknown(
    rows: list[MessageRow],
    messages: list[Any],
    known: frozenset[str],
    stats: Ledger,
    repair: Callable[[str], str] = str,
    inner: Mapping[str, frozenset[str]] = {},
) -> list[MessageRow]:
    """Return the rows of messages; an empty row of a person's message gets the text of its message's unknown fields.

    A message with text in an unknown field is counted in `stats` as `unknown_field.NAME`. Of a message with a file,
    strings that look like names of files or types are not its text. The text of an unknown field inside a known one is
    added to the text of the message, and counted as `unknown_field.NAME.INNER`. A message of kind `text` for which no
    text is found is counted as `empty_text`, and characters that cannot be read as `unreadable_characters`.

    - known: the fields that the reader reads, and those that have no text.
    - repair: what is done to each text of an unknown field.
    - inner: the same as `known`, for the objects at any depth in some of these fields.
    """
    out = []
    for row, message in zip(rows, messages, strict=True):
        said, more = row.text, dict[str, str]()
        if not message.keys() <= known:
            more = {
                name: text for name, value in message.items() if name not in known and (text := text_in(value, repair))
            }
        within = {
            f"{name}.{field}": text
            for name in inner.keys() & message.keys()
            for field, text in _unknown_within(message[name], inner[name], repair)
        }
        for name in (*more, *within):
            stats.count(f"unknown_field.{name[:40]}")
        if row.kind not in NOT_WRITTEN:
            lines = (line for text in more.values() for line in text.split("\n"))
            said = said or "\n".join(line for line in lines if row.kind == "text" or not TECHNICAL.fullmatch(line))
            said = "\n".join(filter(None, [said, *(text for text in within.values() if text not in said)]))
        if not said and row.kind == "text":
            stats.count("empty_text")
        if "\ufffd" in said:
            stats.count("unreadable_characters", said.count("\ufffd"))
        out.append(row if said == row.text else row._replace(text=said))
    return out


def _unknown_within(value: Any, known: frozenset[str], repair: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield (field, text) of the unknown fields with text of the objects in a JSON value, at any depth."""
    if isinstance(value, list):
        for one in value:
            yield from _unknown_within(one, known, repair)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name in known:
                yield from _unknown_within(one, known, repair)
            elif text := text_in(one, repair):
                yield name, text


def text_in(value: Any, repair: Callable[[str], str] = str) -> str:
    """Return the strings with a letter in a JSON value, in their order, joined by line feeds.

    - repair: what is done to each string.
    """
    if isinstance(value, str):
        return repair(value) if any(map(str.isalpha, value)) else ""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "\n".join(filter(None, (text_in(one, repair) for one in inner)))


def _until_damage(batches: Iterator[Batch], damage: list[ReadError]) -> Iterator[Batch]:
    """Yield batches; append the error that ends them to `damage`, so that the batches before it are not lost."""
    try:
        yield from batches
    except ReadError as e:
        damage.append(e)


class Bad(NamedTuple):
    """A message to drop: byte offset, size in bytes, reason, and its first bytes as text, for the error (`looks`)."""

    position: int
    n_bytes: int
    reason: str
    looks: str


def sort_out(group: Group, max_bytes: int) -> tuple[npt.NDArray[np.int64], list[Any], list[Bad]]:
    """Separate the messages of a group that can be read from the bad ones; return (positions, messages, bad messages).

    The positions, int64[n], are the byte offsets of the n good messages, which are parsed JSON objects. Bad messages
    are larger than `max_bytes`, or are not JSON objects.
    """
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
    data = HEX_ESCAPE.sub(rb"\1\\u00\2", data) if b"\\x" in data else data
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            found = orjson.loads(without_lone_surrogates(data))
        except orjson.JSONDecodeError as e:
            return "invalid_utf8" if "utf-8" in str(e).lower() else "not_json"
    return found if isinstance(found, dict) else "not_an_object"


def without_lone_surrogates(data: bytes) -> bytes:
    """Return JSON in which an escape for U+FFFD replaces each escape for half of a character beyond U+FFFF."""
    return ESCAPE.sub(lambda m: m[0] if m[1] is None else b"\\ufffd", data)


def refuse(bad: list[Bad], piece: Slice, stats: Ledger, trust: Trust, good: Sequence[int] | Any = ()) -> None:
    """Record the bad messages of a group in `stats` as dropped, and count bad and good ones in `trust`.

    - piece: the file.
    - good: byte offsets of the good messages.

    Raises ReadError if `trust` has counted too many bad ones.
    """
    trust.count(good, [one.position for one in bad], lambda: f"{bad[0].reason} {bad[0].looks}")
    ids = np.array([doc_id(piece.file, one.position) for one in bad], np.uint64)
    stats.drop(ids, [one.reason for one in bad], n_bytes=[one.n_bytes for one in bad])


def batch_of(
    rows: list[MessageRow], chat: str | Sequence[str], positions: Any, piece: Slice, reply_to: Any = None
) -> Batch:
    """Return n messages as a batch of documents.

    - chat: the name of their chat, or one name per message.
    - positions: int64[n], byte offsets of the messages.
    - piece: the file.
    - reply_to: uint64[n], the id of the message to which each replies, null if none; None: no message is a reply.
    """
    texts, authors, times, kinds, metas = zip(*rows, strict=True)
    chats = pa.repeat(chat, len(rows)) if isinstance(chat, str) else chat
    columns = {"chat": chats, "author": authors, "time": wall_clock(times), "kind": kinds}
    if reply_to is not None:
        columns["reply_to"] = reply_to
    ids = np.asarray(positions, np.int64).astype(np.uint64) + np.uint64(doc_id(piece.file, 0))
    said = [orjson.dumps(meta).decode() if meta else "{}" for meta in metas]
    return message_batch(piece, ids, list(texts), columns, said)


def number(value: Any) -> int | None:
    """Return a message's number on its platform as int.

    Args:
        value: an integer or digits; None for any other value.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return value if isinstance(value, int) and abs(value) < 1 << 63 else None


class Known:
    """The byte offsets of a chat's messages by their numbers on the platform, to find the messages replied to.

    They are stored as sorted runs of (number, offset), which take 16 bytes per message; a dict would take 150. Each run
    is at least twice as long as the next, so adding numbers out of order costs no more in total than sorting them.
    """

    def __init__(self) -> None:
        self.runs: list[npt.NDArray[np.int64]] = []

    def add(self, numbers: list[int | None], positions: npt.NDArray[np.int64]) -> None:
        """Add n messages: their numbers on the platform (None: leave out), and their byte offsets, int64[n]."""
        rows = [k for k, one in enumerate(numbers) if one is not None]
        if rows:
            wanted = np.array([numbers[k] for k in rows], np.int64)
            self.runs.append(_sorted(np.stack([wanted, positions[rows]])))
        while len(self.runs) > 1 and self.runs[-2].shape[1] < 2 * self.runs[-1].shape[1]:
            last = self.runs.pop()
            self.runs[-1] = _sorted(np.concatenate([self.runs[-1], last], 1))

    def find(self, answered: list[int | None], file: int) -> pa.Array | None:
        """Return the document ids of the messages replied to, uint64[n], null if unknown; None if all are null.

        Args:
            answered: for each of n messages, the platform's number of the message to which it replies, or None.
            file: the number of the file, from which ids are made.
        """
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
