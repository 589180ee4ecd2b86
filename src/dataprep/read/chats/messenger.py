"""Reader of Messenger's and Instagram's JSON (`message_1.json`, `message_2.json` ...): one document per message.

Meta writes each byte of UTF-8 as a character ("Ã©" for "é"); such texts and names are repaired. Files store the newest
message first. The order is reversed, and the position of a message is its index, counted from the oldest message of the
file. `read` puts message_2.json, which is older, before message_1.json. Messenger's newer form for encrypted chats
(`senderName`, `text`, `media`) is read too. Times are UTC: `timestamp_ms` has no time zone. Memory: the whole file, of
about 10,000 messages.

Reactions are counted in meta, without their authors. Lines that the platform writes under a person's name ("Ada named
the group Tea.") are recognised by their first words in English. Their author is null, and their kind is `system` (or
call, poll, location).
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.json.stream import GROUP, Group, JsonStream, warm
from dataprep.read.trust import Trust
from dataprep.store import files
from dataprep.unicode.text import I64

from .json_export import MessageRow, batch_of, refuse, sort_out, with_unknown
from .messages import ChatReader, files_of, kind_of_file, names_of, utc_text

MEDIA = {
    "photos": "image", "videos": "video", "audio_files": "audio", "gifs": "gif", "files": "file", "sticker": "sticker",
}  # fmt: skip
MARKS = ("participants", "thread_path", "threadName", "title", "is_still_participant")
PLAIN = {
    "sender_name", "timestamp_ms", "content", "is_geoblocked_for_viewer", "is_unsent_image_by_messenger_kid_parent",
}  # fmt: skip
_FIELDS = """
sender_name timestamp_ms content photos videos audio_files gifs files sticker share reactions type users call_duration
missed ip is_unsent is_taken_down is_geoblocked_for_viewer is_unsent_image_by_messenger_kid_parent
bumped_message_metadata magic_words joinable_mode senderName timestamp text media isUnsent
"""  # of a message, as Meta writes it, in the older and the newer form
FIELDS = frozenset(_FIELDS.split())
INNER = {
    "share": frozenset(("link", "share_text", "original_content_owner", "profile_share_username", "profile_share_name"))
}
EVENTS = {"Subscribe", "Unsubscribe"}
DONE = {  # the platform's words after a name, or after You, up to the end of the message; other texts are a person's
    "call": (
        r"(started|joined|ended) (a|the) ((audio|video|voice) )?(call|chat)",
        r"(missed|answered) (a|your) ((audio|video|voice) )?(call|chat)( from .+)?",
        r"called (you|the group)",
    ),
    "poll": (r"(created|started) a poll(: .+)?",),
    "location": (r"(sent|shared) a (live )?location", r"started sharing (live )?location"),
    "event": (r"(created|started|named|updated|ended) (the|a|an) (event|plan)( .+)?",),
    "deleted": (r"unsent a message",),
    "system": (
        r"named the group .+",
        r"(created|left|joined) the group",
        r"(added|removed) .+ (to|from) the group",
        r"(changed|removed) the group (photo|name|description)( to .+)?",
        r"changed the (chat )?(theme|colou?rs?)( to .+)?",
        r"set the (nickname for .+|emoji|quick reaction|quick emoji) to .+",
        r"set (his|her|their|your)( own)? nickname to .+",
        r"cleared (the nickname for .+|(his|her|their|your)( own)? nickname)",
        r"(un)?pinned a message",
        r"(voted|changed (his|her|their|your) vote) .+ in the poll: .+",
        r"reacted .+ to your message ?",
        r"liked a message",
        r"(made .+ a group admin|removed .+ as a group admin)",
        r"turned (on|off) (member approval|vanish mode|disappearing messages).*",
        r"waved at (you|.+)!?",
        r"can now (message and )?call each other.*",
    ),
}
SAID = re.compile("|".join(rf"(?P<{kind}>(?:{'|'.join(words)})\.?$)" for kind, words in DONE.items()), re.IGNORECASE)
ALONE = {  # of nobody
    "The video chat ended.": "call", "The audio call ended.": "call", "The video call ended.": "call",
    "Video chat ended": "call", "Audio call ended": "call", "Liked a message": "system",
}  # fmt: skip
NOBODYS = {"system", "event"}
MISSED = re.compile(r"You missed an? (audio |video |voice )?(call|chat) (from|with) .+")
REACTED = re.compile(r"Reacted .{1,20} to your message ?")


@dataclass(frozen=True, kw_only=True)
class Messenger(ChatReader):
    """Reads message_N.json of Facebook Messenger; a chat without a title is named after its folder."""

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of a file as batches, oldest first, one row per message."""
        return B.recut(self._batches(piece, stats))

    def _batches(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        with files.open_read(piece.url) as stream:
            data = stream.read()
        spans, chat = _survey(data, piece.url)
        trust = Trust(piece.url, self.max_bad, remedy="name another reader with format=")
        turned = _newest_first(data, spans)
        for first in range(0, len(spans), GROUP):
            stop = len(spans) - first
            mine = spans[max(0, stop - GROUP) : stop] if turned else spans[first : first + GROUP]
            offsets, messages, bad = sort_out(Group(0, data, 0, mine[:, 0], mine[:, 1]), self.max_doc_bytes)

            def ordinal(offset: Any, n: int = len(mine), starts: Any = mine[:, 0], first: int = first) -> Any:
                at = np.searchsorted(starts, offset)
                return first + (n - 1 - at if turned else at)

            step = -1 if turned else 1
            good = ordinal(offsets)[::step]
            refuse([b._replace(position=int(ordinal(b.position))) for b in bad[::step]], piece, stats, trust, good)
            if messages:
                rows = [self.row(m) for m in messages[::step]]
                rows = with_unknown(rows, messages[::step], FIELDS, stats, repaired, INNER)
                yield batch_of(rows, chat, good, piece)
        trust.close()

    def warm(self) -> None:
        """Compile the kernels (compiled functions); called once, before workers start."""
        warm()

    def row(self, message: Mapping[str, Any]) -> MessageRow:
        """Return the columns of one message.

        Args:
            message: the message's object in the JSON of the export, in the older or newer form.
        """
        author = _text(message.get("sender_name", message.get("senderName"))) or None
        stamp = message.get("timestamp_ms", message.get("timestamp"))
        time = utc_text(stamp // 1000) if isinstance(stamp, int) else None
        said = _text(message.get("content", message.get("text")))
        if message.keys() <= PLAIN:
            kind = _platform_says(said, author) or "text"
            return MessageRow(said, None if kind in NOBODYS else author, time, kind)
        meta = _meta(message)
        kind = _kind(message)
        if kind == "text":
            kind = "system" if _text(message.get("type")) in EVENTS else _platform_says(said, author) or "text"
        text = "\n".join(filter(None, [said, *_shared(message, said)]))
        return MessageRow(text, None if kind in NOBODYS else author, time, kind, meta)


@dataclass(frozen=True, kw_only=True)
class Instagram(Messenger):
    """Reads message_N.json of Instagram, which has the same structure as Messenger's file."""


def _survey(data: bytes, url: str) -> tuple[I64, str]:
    """Return the byte ranges of the messages, int64[n, 2] in the order of the file, and the chat's name.

    Raises ReadError if the file is truncated, is not an export, or has no messages.
    """
    walk = JsonStream(io.BytesIO(data), url, len(data))
    found = [np.stack([g.starts, g.ends], 1) + g.base for g in walk.groups()]
    document = walk.document()
    if not isinstance(document, dict) or not walk.arrays or not any(name in document for name in MARKS):
        fields = names_of(document) if isinstance(document, dict) else "none: it is a list"
        msg = f"the file has no Messenger or Instagram chat; its fields are {fields}; "
        msg += "pass message_1.json, or name another reader with format="
        raise ReadError(msg, url, 0)
    if not found:
        msg = "the chat has no messages; remove the file"
        raise ReadError(msg, url, 0, reason="empty")
    title = _text(document.get("title", document.get("threadName")))
    return np.concatenate(found), title or files.name_of(url.rpartition("/")[0]) or files.name_of(url)


def _newest_first(data: bytes, spans: I64) -> bool:
    """Return whether the first message with a time is at least as new as the last."""
    stamps = (_stamp(data[start:end]) for start, end in spans.tolist())
    backwards = (_stamp(data[start:end]) for start, end in spans[::-1].tolist())
    return next(filter(None, stamps), 0) >= next(filter(None, backwards), 0)


def _stamp(data: bytes) -> int:
    with contextlib.suppress(orjson.JSONDecodeError, AttributeError):
        found = orjson.loads(data)
        stamp = found.get("timestamp_ms", found.get("timestamp"))
        return stamp if isinstance(stamp, int) else 0
    return 0


def repaired(text: str) -> str:
    """Repair a text whose UTF-8 bytes were decoded as Latin-1; return other texts unchanged.

    >>> repaired("cafÃ©"), repaired("café"), repaired("€")
    ('café', 'café', '€')
    """
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def _text(value: Any) -> str:
    return repaired(value) if isinstance(value, str) else ""


def _kind(message: Mapping[str, Any]) -> str:
    if message.get("is_unsent") or message.get("isUnsent"):
        return "deleted"
    if "call_duration" in message or message.get("type") == "Call":
        return "call"
    kind = next((kind for field, kind in MEDIA.items() if message.get(field)), None)
    if kind in {None, "file"} and _uris(message):
        return kind_of_file(_uris(message)[0])
    return kind or "text"


def _uris(message: Mapping[str, Any]) -> list[str]:
    found = [one for field in (*MEDIA, "media") for one in _listed(message.get(field))]
    return [_text(one.get("uri")) for one in found if isinstance(one, dict) and one.get("uri")]


def _platform_says(said: str, author: str | None) -> str | None:
    """Return the kind of a line that the platform wrote in a person's name; None if a person wrote it."""
    if said in ALONE:
        return ALONE[said]
    if MISSED.fullmatch(said):
        return "call"
    if REACTED.fullmatch(said):
        return "system"
    for name in filter(None, (author, (author or "").partition(" ")[0], "You")):
        m = SAID.match(said, len(name) + 1) if said.startswith(name + " ") else None
        if m:
            return m.lastgroup
    return None


def _shared(message: Mapping[str, Any], said: str) -> Iterator[str]:
    """Return the shared link, unless the text contains it, and its description."""
    share = message.get("share")
    fields = share if isinstance(share, dict) else {}
    found = (_text(fields.get("share_text")), _text(fields.get("link")))
    return (one for one in found if one and one not in said)


def _meta(message: Mapping[str, Any]) -> dict[str, Any]:
    meta = files_of([uri.rpartition("/")[2] for uri in _uris(message)])
    given = [_text(r.get("reaction")) for r in _listed(message.get("reactions")) if isinstance(r, dict)]
    if given:
        meta["reactions"] = dict(Counter(given))
    return meta


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
