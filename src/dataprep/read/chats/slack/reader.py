"""Reader of Slack's exports, a zip or its folder: a file per channel and day, one document per message.

People are identified by their display names in users.json (or by the field that `author=` names). For people who are
not in users.json, the profile in the message is used, or else the id. A channel has its own name; a direct message is
named after its members. Markup is replaced by the text that people saw. Messages of Slack itself (members join, a topic
is set) have the kind `system` and a null author. An answer in a thread replies to the thread's first message; in a
folder, only if both are in the same file, that is, written on the same day. The position of a message is its byte
offset in its file; in a zip, the files of messages count as if they were joined. Times are UTC.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, BinaryIO, ClassVar, cast

from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats.discord import listed
from dataprep.read.chats.json_export import (
    Bad,
    Known,
    MessageRow,
    batch_of,
    number,
    refuse,
    sort_out,
    text_in,
    with_unknown,
)
from dataprep.read.chats.messages import ChatReader, files_of, kind_of_file, utc_text
from dataprep.read.chats.packs import (
    BEFORE,
    ListStream,
    Pack,
    folder_of,
    list_unread,
    members,
    names_in,
    opened_zip,
    state_of,
)  # fmt: skip
from dataprep.read.json.stream import JsonStream, warm
from dataprep.read.trust import Trust
from dataprep.store import files

from .names import CHATS, FIELDS, USERS, SlackNames, cached_names, name_of
from .names import names_in as slack_names
from .text import blocks_text, plain, unknown_types

_KNOWN = """
type subtype text user ts client_msg_id team user_team source_team user_profile blocks attachments files file upload
display_as_bot edited reactions thread_ts parent_user_id reply_count reply_users reply_users_count latest_reply
replies is_locked subscribed last_read bot_id bot_profile bot_link app_id username icons inviter topic purpose name
old_name hidden pinned_to pinned_info is_starred root room channel no_notifications permalink members item item_type
comment language x_files trigger_id saved_for_later metadata assistant_app_thread
"""  # fields of a message that are read, and those that have no text which people see
KNOWN = frozenset(_KNOWN.split())
DAY = re.compile(r"((?:[^/]+/)*?)([^/]+)/(\d{4}-\d\d-\d\d\.json)\Z")
WRITTEN = {"", "me_message", "thread_broadcast", "reply_broadcast", "file_share", "file_comment", "bot_message"}
BOTS = {"bot_message", "slackbot_response"}
DELETED = {"tombstone", "message_deleted"}
CALLS = {"huddle_thread", "sh_room_created", "sh_room_shared"}
BEGINS = re.compile(rb"\s*\[\s*\{")
MARKS = (re.compile(rb'"type"\s*:\s*"message"'), re.compile(rb'"ts"\s*:\s*"\d{9,11}\.\d{1,6}"'))


@dataclass(frozen=True, kw_only=True)
class Slack(ChatReader):
    """Reads Slack exports.

    Args:
        author: the field that becomes the author: "display" (name), "real" (name), "id", "name".
    """

    VERSION: ClassVar[int] = 7

    author: str = "display"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.author not in FIELDS:
            msg = f"author={self.author!r} must be one of {', '.join(FIELDS)}"
            raise PlanError(msg)

    def companions(self, url: str) -> tuple[str, ...]:
        """Return the files with the names of people and chats that belong to the file `url` of messages."""
        if files.suffix(url) == ".zip":
            return ()
        root = folder_of(url, 2)
        return tuple(found for name in (*USERS, *CHATS) if files.exists(found := f"{root}{name}"))

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of a day or of a zip as batches, one row per message."""
        trust = Trust(piece.url, self.max_bad, remedy="name another reader with format=")
        reading = _Reading(self, piece, stats, trust)
        if files.suffix(piece.url) == ".zip":
            yield from self._zip(reading)
        else:
            root = folder_of(piece.url, 2)
            names = cached_names(root, state_of(self.companions(piece.url)), self.author)
            stream = ListStream(files.open_read(piece.url), piece.url)
            yield from reading.day(stream, files.name_of(folder_of(piece.url, 1).rstrip("/")), Known(), names)
        trust.close()

    def warm(self) -> None:
        """Compile the kernels (compiled functions); called once, before workers start."""
        warm()

    def _zip(self, reading: _Reading) -> Iterator[Batch]:
        url = reading.piece.url
        with opened_zip(url) as archive:
            names = members(archive)
            days = sorted(m.groups() for name in names if (m := DAY.match(name)))
            if not days:
                msg = (
                    "the zip is not a Slack export: it has no files such as general/2024-05-03.json; "
                    "name another reader with format="
                )
                raise ReadError(msg, url, reason="not_a_chat")
            read = {n for n in names if DAY.match(n) or posixpath.basename(n) in {*USERS, *CHATS}}
            list_unread(url, archive, read, reading.stats)
            for root, in_root in itertools.groupby(days, itemgetter(0)):
                pack = Pack(url, root, archive)
                people = slack_names(pack, self.author)
                for folder, in_folder in itertools.groupby(in_root, itemgetter(1)):
                    known = Known()
                    for _, _, day in in_folder:
                        inner = cast("BinaryIO", pack.open(f"{folder}/{day}"))
                        yield from reading.day(ListStream(inner, url), folder, known, people)

    def row(self, message: Mapping[str, Any], names: SlackNames) -> MessageRow:
        """Return the columns of one message.

        - message: the message's object in the JSON of the export.
        """
        sort = _subtype(message)
        author = self._author(message, names)
        text = plain(str(message.get("text") or ""), names.users, names.channels)
        time = utc_text(str(message.get("ts")).partition(".")[0])
        if sort in CALLS or message.get("room"):
            return MessageRow(text, author, time, "call")
        if sort in DELETED:
            return MessageRow(text, author, time, "deleted")
        if sort not in WRITTEN and sort not in BOTS:
            who = author and not text.startswith(("@", author))
            return MessageRow(f"{author} {text}" if who else text.removeprefix("@"), None, time, "system")
        attached = listed(message.get("files")) or ([message["file"]] if isinstance(message.get("file"), dict) else [])
        if not text:
            said = blocks_text(message.get("blocks"), names.users, names.channels)
            text = "\n".join([*([said] if said else []), *_attachments(message, names)])
        comments = [message.get("comment"), *(one.get("initial_comment") for one in attached)]
        for comment in comments:
            if not text and isinstance(comment, dict):
                text = plain(str(comment.get("comment") or ""), names.users, names.channels)
        kind = kind_of_file(attached[0].get("name"), attached[0].get("mimetype")) if attached else "text"
        return MessageRow(text, author, time, kind, _meta(message, attached))

    def _author(self, message: Mapping[str, Any], names: SlackNames) -> str | None:
        id_ = message.get("user") or message.get("bot_id")
        if self.author == "id" and id_:
            return str(id_)
        profile = message.get("user_profile")
        stated = name_of(profile, self.author) if isinstance(profile, dict) else None
        bot = message.get("bot_profile")
        bot_name = message.get("username") or (bot.get("name") if isinstance(bot, dict) else None)
        return names.users.get(str(id_)) or stated or bot_name or (str(id_) if id_ else None)


@dataclass
class _Reading:
    """The state of reading one slice: the counter of its messages, and the position of the next file's first byte."""

    reader: Slack
    piece: Slice
    stats: Ledger
    trust: Trust
    start: int = 0

    def day(self, stream: ListStream, folder: str, known: Known, names: SlackNames) -> Iterator[Batch]:
        """Yield the messages of a file as batches.

        - known: the messages before it in its channel.
        """
        url, limit, start = self.piece.url, self.reader.max_doc_bytes, self.start - len(BEFORE)
        with stream:
            walk = JsonStream(cast("BinaryIO", stream), url, limit)
            for group in walk.groups():
                offsets, messages, faults = sort_out(group, limit)
                bad = [one._replace(position=one.position + start) for one in faults]
                good = [k for k, one in enumerate(messages) if "ts" in one]
                others = sorted(set(range(len(messages))) - set(good))
                bad += [Bad(int(offsets[k]) + start, 0, "not_a_message", str(messages[k])[:60]) for k in others]
                positions, kept = offsets[good] + start, [messages[k] for k in good]
                refuse(sorted(bad), self.piece, self.stats, self.trust, positions)
                if kept:
                    known.add([_stamp(m["ts"]) for m in kept], positions)
                    answered = known.find([_answers(m) for m in kept], self.piece.file)
                    rows = with_unknown([self.reader.row(m, names) for m in kept], kept, KNOWN, self.stats)
                    unread = [f"blocks.{one[:40]}" for m in kept for one in _unknown_blocks(m)]
                    unread += [f"files.{one}" for m in kept for one in _unread_of_files(m)]
                    for name, n in Counter(unread).items():
                        self.stats.count(f"unknown_field.{name}", n)
                    yield batch_of(rows, names.folders.get(folder, folder), positions, self.piece, answered)
            if walk.document() != {"messages": [0]}:
                msg = "the file is not a list of messages, as Slack writes per day; name another reader with format="
                raise ReadError(msg, url, 0)
            self.start += walk.base + walk.n


def _subtype(message: Mapping[str, Any]) -> str:
    return str(message.get("subtype") or "")


def _attachments(message: Mapping[str, Any], names: SlackNames) -> Iterator[str]:
    """Yield the texts that a program attached to its message."""
    for one in listed(message.get("attachments")):
        fields = [part for field in listed(one.get("fields")) for part in (field.get("title"), field.get("value"))]
        parts = [*(one.get(name) for name in ("pretext", "title", "text")), *fields]
        said = [plain(str(part), names.users, names.channels) for part in parts if part]
        said += filter(None, [blocks_text(one.get("blocks"), names.users, names.channels)])
        quoted = [
            inner["message"] for inner in listed(one.get("message_blocks")) if isinstance(inner.get("message"), dict)
        ]
        if not said:
            said += filter(None, (blocks_text(inner.get("blocks"), names.users, names.channels) for inner in quoted))
        yield from said or ([str(one["fallback"])] if one.get("fallback") else [])


def _unknown_blocks(message: Mapping[str, Any]) -> set[str]:
    """Return the types of blocks in a message and in what is attached to it that the reader does not know."""
    return unknown_types(message.get("blocks")).union(
        *(unknown_types(one.get("blocks")) for one in listed(message.get("attachments")))
    )


def _unread_of_files(message: Mapping[str, Any]) -> set[str]:
    """Return the fields of files with texts that are not read; a comment is read if there is no other text."""
    found = set[str]()
    for one in (*listed(message.get("files")), *listed([message.get("file")])):
        spoken, comment = one.get("transcription"), one.get("initial_comment")
        spoken = [v for k, v in spoken.items() if k not in ("status", "locale")] if isinstance(spoken, dict) else spoken
        said = comment.get("comment") if isinstance(comment, dict) and message.get("text") else ""
        texts = {"transcription": spoken, "initial_comment": "" if said == message.get("text") else said}
        texts |= {name: one.get(name) for name in ("preview", "plain_text", "alt_txt")}
        found |= {name for name, text in texts.items() if text_in(text)}
    return found


def _meta(message: Mapping[str, Any], attached: list[dict[str, Any]]) -> dict[str, Any]:
    meta: dict[str, Any] = files_of([str(one["name"]) for one in attached if one.get("name")])
    if message.get("edited"):
        meta["edited"] = True
    if message.get("bot_id") or _subtype(message) in BOTS:
        meta["bot"] = True
    given = {str(r.get("name")): r.get("count", 1) for r in listed(message.get("reactions"))}
    if given:
        meta["reactions"] = given
    return meta


def _stamp(value: Any) -> int | None:
    """Return a message's time, which is its number in the channel, as microseconds since 1970."""
    seconds, _, rest = str(value).partition(".")
    return number(seconds + rest.ljust(6, "0")) if len(seconds) < 12 and len(rest) <= 6 else None


def _answers(message: Mapping[str, Any]) -> int | None:
    thread = message.get("thread_ts")
    return _stamp(thread) if thread and thread != message.get("ts") else None


def is_slack(head: bytes, url: str) -> bool:
    """Return whether a file is a day of a Slack export, or a zip of one.

    - head: the file's first bytes.
    """
    if files.suffix(url) == ".zip":
        names = names_in(url, head)
        bare = {posixpath.basename(name) for name in names}
        return bool(bare & {*USERS, *CHATS}) and any(DAY.match(name) for name in names)
    return bool(BEGINS.match(head)) and all(mark.search(head) for mark in MARKS)
