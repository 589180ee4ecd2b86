"""Reader of Apple's Messages (iMessage and SMS): `chat.db` of a Mac, `sms.db` of an iPhone, imessage-exporter's text.

The owner of the device is called `me` ("Me", as in imessage-exporter). Other people are identified by their phone
numbers or e-mail addresses, since the database has no names. Reactions are counted in meta of the message that they
belong to, and are dropped as `reaction`. Messages are ordered by chat and time, and the position is the index of the
message in this order. Times of the database are UTC; times of text files are local times as written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats.headed import FirstLine, Headed, Held, MessageContent
from dataprep.read.chats.json_export import Bad, MessageRow, batch_of, refuse
from dataprep.read.chats.messages import files_of, kind_of_file
from dataprep.read.trust import Trust
from dataprep.store import files

from .database import MAGIC, REACTIONS, chat_names, is_database, messages, opened, prepare
from .exporter import content, first_line, is_export
from .values import edits_of, text_of, time_of

ATTACHED = "\ufffc"  # stands in a text for an attached file
SAID = {1: "changed the members", 3: "left, or changed the photo", 4: "shared a location", 5: "kept an audio message"}
MEMBERS = {0: "added a member", 1: "removed a member"}
LEFT = {0: "left the conversation", 1: "changed the group photo", 2: "removed the group photo"}
KINDS = {4: "location", 6: "call"}  # by item_type; the others are system


@dataclass(frozen=True, kw_only=True)
class IMessage(Headed):
    """Reads Apple's message database and the text files of imessage-exporter.

    Args:
        me: the name of the owner.
    """

    me: str = "Me"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.me.strip():
            msg = f"me={self.me!r} must be the name of the owner, such as 'Me'"
            raise PlanError(msg)

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of a database or a text file as batches, one row per message."""
        with files.open_read(piece.url) as stream:
            is_binary = stream.read(len(MAGIC)) == MAGIC
        return self._database(piece, stats) if is_binary else super().__call__(piece, stats)

    def expected(self) -> str:
        """Return the form of a message's first line in words, for the error about a file without such lines."""
        return "chat.db, or imessage-exporter's: a line with the time (May 17, 2022  5:29:42 PM), then one with a name"

    def _database(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        trust = Trust(piece.url, self.max_bad, remedy="copy the database again, or allow more with max_bad=")
        with opened(piece.url) as connection:
            names = chat_names(connection)
            prepare(connection, names)
            found = messages(connection, self.max_doc_bytes)
            held: list[tuple[int, int | None, bool, dict[str, Any]]] = []
            try:
                for one in found:
                    held.append(one)
                    if len(held) == B.MAX_ROWS // 4:
                        yield from self._batch(held, names, piece, stats, trust)
                        held = []
            except ReadError:
                yield from self._batch(held, names, piece, stats, trust)
                raise
            yield from self._batch(held, names, piece, stats, trust)
            stats.count("imessage.invalid_utf8", connection.text_factory.n_invalid)
        trust.close()

    def _batch(
        self, held: list[Any], names: dict[int, str], piece: Slice, stats: Ledger, trust: Trust
    ) -> Iterator[Batch]:
        rows, chats, good, answers = [], [], [], []
        bad: list[Bad] = []
        reactions: list[int] = []
        for position, chat, is_long, values in held:
            row, why = (None, "too_long") if is_long else self._row(values)
            if why == "reaction":
                reactions.append(position)
            elif row is None:
                bad.append(Bad(position, 0, why, f"message {position}"))
            else:
                rows.append(row)
                chats.append(names.get(chat) or str(values["who"] or "no chat"))
                good.append(position)
                answers.append(values["answers"])
        refuse(bad, piece, stats, trust, good)
        ids = np.array([doc_id(piece.file, position) for position in reactions], np.uint64)
        stats.drop(ids, "reaction", n_bytes=[0] * len(ids))
        trust.good += len(ids)
        if rows:
            base = doc_id(piece.file, 0)
            reply_to = pa.array([None if one is None else base + one for one in answers], pa.uint64())
            yield batch_of(rows, chats, np.array(good), piece, reply_to)

    def _row(self, values: dict[str, Any]) -> tuple[MessageRow | None, str]:
        """Return (the columns of a message, ""), or (None, the reason to drop it)."""
        sort = values["associated_message_type"] or 0
        if isinstance(sort, int) and 2000 <= sort < 4000:
            return None, "reaction"
        author = self.me if values["is_from_me"] else str(values["who"] or "Unknown")
        time = time_of(values["date"])
        if values["item_type"] or values["group_title"]:
            return _notice(values, author, time), ""
        text, archived = values["text"], values["attributedBody"]
        edits = edits_of(values["message_summary_info"]) if isinstance(values["message_summary_info"], bytes) else None
        if not text and isinstance(archived, bytes) and archived:
            text = text_of(archived)
            if text is None:
                return None, "unreadable_text"
        if not text and edits:
            text = edits[-1]
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text or "")
        text = text.replace(ATTACHED, "\n").strip("\n") if ATTACHED in text else text
        attached = [(str(name or "").rpartition("/")[2], kind, sticker) for name, kind, sticker in values["files"]]
        kind = _kind(values, attached, text, is_gone=not text and (bool(values["date_retracted"]) or edits == []))
        return MessageRow(text, author, time, kind, _meta(values, attached, edits)), ""

    def _messages(self, piece: Slice, stats: Ledger, trust: Trust) -> Iterator[Held]:
        head: FirstLine | None = None
        rest: list[bytes] | None = []
        position = n_bytes = n_answers = 0
        named = nested = True
        for line in self._lines(piece):
            text = "" if line.data is None else line.data.decode("utf-8", "surrogateescape")
            found = first_line(text)
            if found and not found[1]:
                if head:
                    yield Held(position, head, rest, n_bytes)
                head, rest, position, n_bytes = found[0], [], line.position, 0
                named, nested = bool(found[0].kind), False
            elif not head:
                if line.data is None or text.strip():
                    trust.count([], [line.position], partial("no message begins with {!r}".format, text[:60]))
                    stats.drop([doc_id(piece.file, line.position)], "no_header", n_bytes=[line.n_bytes])
                continue
            elif not named:
                head, named = head._replace(author=text.strip() or None), True
            elif found or (nested and text.strip()):
                n_answers += bool(found)
                nested = True
                continue
            elif rest is not None and line.data is not None:
                rest.append(line.data)
                nested = False
            n_bytes += line.n_bytes + 1
            if line.data is None or n_bytes > self.max_doc_bytes + 1:
                rest = None
        stats.count("imessage.answers_shown_twice", n_answers)
        if head:
            yield Held(position, head, rest, n_bytes, last=True)

    def row(self, head: FirstLine, text: str) -> MessageContent:
        """Return author, text, kind and meta of a message.

        Args:
            head: the parsed first line of the message.
            text: the whole text of the message.
        """
        if head.kind:
            return MessageContent(None, text, head.kind, {})
        return content(self.me if head.author == "Me" else head.author, text.removeprefix("\n"))


def _notice(values: dict[str, Any], author: str, time: str | None) -> MessageRow:
    """Return the columns of a line of the platform; its text describes the action of the person."""
    sort, action = values["item_type"] or 0, values["group_action_type"] or 0
    kind = KINDS.get(sort, "system")
    if values["group_title"]:
        said = f"named the conversation {values['group_title']}"
    else:
        done = MEMBERS if sort == 1 else LEFT if sort == 3 else {}
        said = done.get(action) or SAID.get(sort, "changed the conversation")
    return MessageRow("" if kind == "call" else f"{author} {said}", author if kind != "system" else None, time, kind)


def _kind(values: dict[str, Any], attached: list[tuple[str, Any, Any]], text: str, *, is_gone: bool) -> str:
    if is_gone and not attached:
        return "deleted"
    if attached:
        name, media_type, sticker = attached[0]
        return "sticker" if sticker else "audio" if values["is_audio_message"] else kind_of_file(name, media_type)
    app = values["balloon_bundle_id"]
    return "file" if app and not text.strip() else "text"


def _meta(values: dict[str, Any], attached: list[tuple[str, Any, Any]], edits: list[str] | None) -> dict[str, Any]:
    meta: dict[str, Any] = files_of([name for name, _, _ in attached if name])
    if values["date_edited"] or edits:
        meta["edited"] = True
    if values["subject"]:
        meta["subject"] = str(values["subject"])
    given = Counter(REACTIONS.get(kind) or str(emoji or "?") for kind, emoji in values["reactions"])
    if given:
        meta["reactions"] = dict(given)
    return meta


def is_imessage(head: bytes, url: str) -> bool:
    """Return whether a file is Apple's message database, or a text file of imessage-exporter.

    - head: the file's first bytes.
    """
    return is_database(head, url) if files.suffix(url) == ".db" else is_export(head)
