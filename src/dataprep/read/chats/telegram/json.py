"""Reader of Telegram Desktop's `result.json`, of one chat or a whole account, streamed: one document per message.

`html.py` reads its pages (`messages.html`). `text` is the message without formatting, a poll's question and answers, a
contact's name and number, or a location. A sticker's emoji is in meta. For messages of the platform (`type: service`),
the text is actor and action, as in `Ilse: invite_members Greta`, the author is null and the kind is `system`. The
author of a call is the caller. A deleted account has no name: its number is used (`user42`). Time is `date`, the clock
of the exporting machine, or UTC if there is only `date_unixtime`. A reply refers to an earlier message of the same
chat.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.chats.json_export import JsonExport, MessageRow, number, text_in
from dataprep.read.chats.messages import kind_of_file, names_of, utc_text
from dataprep.read.text import BOM
from dataprep.store import files

from .html import html_messages

PLAIN = {
    "id", "type", "date", "date_unixtime", "from", "from_id", "text", "text_entities", "reply_to_message_id",
    "reply_to_peer_id",
}  # fmt: skip
MEDIA = {
    "sticker": "sticker", "video_file": "video", "video_message": "video", "voice_message": "audio",
    "audio_file": "audio", "animation": "gif",
}  # fmt: skip
CALLS = ("phone_call", "group_call", "group_call_scheduled")
WHAT = (  # of a service message: what its action is about
    "title", "members", "boosts", "duration", "duration_seconds", "inviter", "amount", "emoticon", "new_title",
    "gift_text", "information_text", "items", "option", "comment", "values", "to", "new_creator", "bot", "peer_name",
    "boost_peer_name",
)  # fmt: skip
# Further fields that Telegram Desktop writes.
FIELDS = PLAIN | set(WHAT) | {
    "edited", "edited_unixtime", "author", "forwarded_from", "forwarded_from_id", "saved_from", "via_bot", "photo",
    "photo_file_size", "width", "height", "file", "file_name", "file_size", "thumbnail", "thumbnail_file_size",
    "media_type", "sticker_emoji", "mime_type", "performer", "self_destruct_period_seconds", "media_spoiler",
    "contact_information", "contact_vcard", "contact_vcard_file_size", "location_information",
    "live_location_period_seconds", "place_name", "address", "game_title", "game_description", "game_link",
    "game_message_id", "invoice_information", "poll", "giveaway_information", "giveaway_results", "reactions",
    "inline_bot_buttons", "actor", "actor_id", "action", "message_id", "score", "discard_reason", "currency", "period",
    "todo_list", "rich_message", "gift_text", "reason_app_name", "reason_domain", "new_icon_emoji_id", "months", "days",
    "gift_code", "gift_id", "slug", "schedule_date", "paid_stars_amount", "stars", "cost", "recurring", "charge_id",
    "transaction_id", "giveaway_msg_id", "price_currency", "to_id", "peer_id", "boost_peer_id", "invoice_message_id",
    "reason_app_id",
}  # fmt: skip
_CHOICES = frozenset({"question", "answers", "text", "title", "items", "tasks", "id", "type", "style", "href", "url"})
_CHOICES |= {"language", "document_id"}
INNER = {  # the fields of the objects in some of these fields: those that are read, and those that have no text
    "poll": _CHOICES,
    "todo_list": _CHOICES,
    "contact_information": frozenset({"first_name", "last_name", "phone_number"}),
    "location_information": frozenset({"latitude", "longitude"}),
    "invoice_information": frozenset({"title", "description", "currency", "amount", "receipt_message_id"}),
    "giveaway_information": frozenset({"additional_prize", "channels", "countries", "until_date"}),
    "giveaway_results": frozenset({"additional_prize", "channel", "winners", "until_date"}),
}
OTHERS = ("guild", "channel", "participants")  # of Discord and Messenger


@dataclass(frozen=True, kw_only=True)
class Telegram(JsonExport):
    """Reads result.json and messages.html of Telegram; the `chat` column is the chat's name, or its number."""

    PLATFORM: ClassVar[str] = "Telegram"
    FIELDS: ClassVar[frozenset[str]] = frozenset(FIELDS)
    INNER: ClassVar[Mapping[str, frozenset[str]]] = INNER
    VERSION: ClassVar[int] = 7

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of a file as batches, one row per message; HTML begins with <, JSON does not."""
        with files.open_read(piece.url) as stream:
            is_page = stream.read(64).removeprefix(BOM).lstrip().startswith(b"<")
        return html_messages(self, piece, stats) if is_page else super().__call__(piece, stats)

    def names(self, document: Mapping[str, Any], url: str) -> Mapping[int, str]:
        """Return {k: name of the chat whose messages are the k-th array, from 0}.

        If chats have equal names, their numbers are appended.

        - document: the parsed export without its messages.

        Raises ReadError if it is not a Telegram export.
        """
        found = [] if any(field in document for field in OTHERS) else list(_chats(document))
        if not found:
            msg = f"the file has no Telegram chat; its fields are {names_of(document)}; "
            msg += "pass result.json, or name another reader with format="
            raise ReadError(msg, url, 0)
        count = Counter(_name(chat) for chat in found)
        names = ((chat, _name(chat)) for chat in found)
        return {
            chat["messages"][0]: name if count[name] == 1 else f"{name} ({chat.get('id', '')})" for chat, name in names
        }

    def answers(self, message: Mapping[str, Any]) -> int | None:
        """Return Telegram's number of the message in the same chat to which `message` replies, or None."""
        answered = message.get("reply_to_message_id")
        return None if answered is None or "reply_to_peer_id" in message else number(answered)

    def row(self, message: Mapping[str, Any]) -> MessageRow:
        """Return the columns of one message of a person or of Telegram.

        Args:
            message: the message's object in the JSON of the export.
        """
        text = message.get("text")
        time = message.get("date") or utc_text(message.get("date_unixtime"))
        author = message.get("from") or message.get("from_id")
        is_plain = type(text) is str and (text or not message.get("text_entities")) and message.keys() <= PLAIN
        if not (is_plain and isinstance(text, str) and type(author) is str and type(time) is str):
            return _rare(message, time if isinstance(time, str) else None)
        if message.get("type") == "service":
            return _service(message, time)
        return MessageRow(text, author, time)


def _chats(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects with messages, in the order of the file."""
    if isinstance(value, list):
        for inner in value:
            yield from _chats(inner)
    elif isinstance(value, dict):
        messages = value.get("messages")  # in the frame, the number of the array that was there
        if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], int):
            yield value
        for name, inner in value.items():
            if name != "messages":
                yield from _chats(inner)


def _name(chat: Mapping[str, Any]) -> str:
    return str(chat.get("name") or ("Saved Messages" if chat.get("type") == "saved_messages" else chat.get("id", "")))


def _rare(message: Mapping[str, Any], time: str | None) -> MessageRow:
    """Return the row of a message that has more than text."""
    if message.get("type") == "service":
        return _service(message, time)
    author = message.get("from") or message.get("from_id")
    kind, content = _content(message)
    text = "\n".join(filter(None, [content, plain(message.get("text")) or plain(message.get("text_entities"))]))
    unknown = {name: value for name, value in message.items() if name not in FIELDS}
    if not text and kind == "text" and (unknown or "gift_text" in message):
        text = plain(message.get("gift_text")) or text_in(unknown)
        kind = "text" if text else "event"
    return MessageRow(text, None if author is None else str(author), time, kind, _meta(message))


def _content(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind of a message, and the texts of its media, which may be several, such as a photo and a poll."""
    found = [CONTENT[name] for name in CONTENT if name in message]
    read = dict.fromkeys(text_of for _, text_of in found if text_of)
    said = "\n".join(filter(None, (text_of(message) for text_of in read)))
    media = plain(message.get("media_type"))
    if media in MEDIA:
        return MEDIA[media], said
    if found:
        return found[0][0], said
    if "file" in message:
        return kind_of_file(message.get("file_name") or message["file"], message.get("mime_type")), ""
    return "text", "\n".join(filter(None, (plain(message.get(name)) for name in ("game_title", "game_description"))))


def plain(text: Any) -> str:
    """Return the `text` of a message as one string; in the file it is a string, an object, or a list of these.

    The text of an object is its `text` field; an object without this field, and other values, are written as JSON.
    """
    if isinstance(text, list):
        return "".join(map(plain, text))
    if isinstance(text, dict) and "text" in text:
        return plain(text["text"])
    return "" if text is None else text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, default=str)


def _poll(message: Mapping[str, Any]) -> str:
    poll = message["poll"]
    answers = poll.get("answers") if isinstance(poll, dict) else None
    lines = [a.get("text") for a in answers if isinstance(a, dict)] if isinstance(answers, list) else []
    known = "\n".join(map(plain, [poll.get("question"), *lines])) if isinstance(poll, dict) else ""
    return known if known.strip() else _every_text(poll)


def _contact(message: Mapping[str, Any]) -> str:
    contact = message.get("contact_information")
    fields = contact if isinstance(contact, dict) else {}
    name = " ".join(filter(None, [plain(fields.get("first_name")), plain(fields.get("last_name"))]))
    return ", ".join(filter(None, [name, plain(fields.get("phone_number"))])) or _every_text(contact)


def _place(message: Mapping[str, Any]) -> str:
    where = message.get("location_information")
    point = f"{where.get('latitude')}, {where.get('longitude')}" if isinstance(where, dict) else ""
    return "\n".join(filter(None, [plain(message.get("place_name")), plain(message.get("address")), point]))


def _invoice(message: Mapping[str, Any]) -> str:
    """Return the name of what is sold and its description."""
    bill = message["invoice_information"]
    fields = [bill.get("title"), bill.get("description")] if isinstance(bill, dict) else [bill]
    return "\n".join(filter(None, map(plain, fields))) or _every_text(bill)


def _giveaway(message: Mapping[str, Any]) -> str:
    """Return what the giver of a giveaway wrote about its prize."""
    some = (message.get(name) for name in ("giveaway_information", "giveaway_results"))
    return "\n".join(filter(None, (plain(one.get("additional_prize")) for one in some if isinstance(one, dict))))


def _checklist(message: Mapping[str, Any]) -> str:
    """Return the title of a checklist and its items, a line each."""
    todo = message["todo_list"]
    if not isinstance(todo, dict):
        return plain(todo)
    items = [one for field in ("answers", "items", "tasks") for one in _listed(todo.get(field))]
    lines = [one.get("text") for one in items if isinstance(one, dict)]
    return "\n".join(filter(None, map(plain, [todo.get("title"), *lines]))) or _every_text(todo)


def _rich(message: Mapping[str, Any]) -> str:
    """Return the text of a message with blocks such as headings and lists, unless `text` has it too."""
    return "" if plain(message.get("text")) else _every_text(message["rich_message"])


def _every_text(value: Any) -> str:
    """Return the texts in a JSON value, also those in fields that are not known."""
    return text_in(_without_types(value))


def _without_types(value: Any) -> Any:
    """Return a JSON value without the fields that name a type, a style or a link."""
    if isinstance(value, list):
        return [_without_types(one) for one in value]
    left_out = ("type", "style", "href", "id", "language", "url", "currency")
    return {k: _without_types(v) for k, v in value.items() if k not in left_out} if isinstance(value, dict) else value


CONTENT: Mapping[
    str, tuple[str, Callable[[Mapping[str, Any]], str] | None]
] = {  # by the field that only such messages have
    "photo": ("image", None),
    "poll": ("poll", _poll),
    "todo_list": ("text", _checklist),
    "rich_message": ("text", _rich),
    "contact_information": ("contact", _contact),
    "contact_vcard": ("contact", _contact),
    "location_information": ("location", _place),
    "place_name": ("location", _place),
    "invoice_information": ("text", _invoice),
    "giveaway_information": ("event", _giveaway),
    "giveaway_results": ("event", _giveaway),
}


def _service(message: Mapping[str, Any], time: str | None) -> MessageRow:
    """Return the row of a service message: actor and action."""
    action = plain(message.get("action"))
    actor = plain(message.get("actor") or message.get("actor_id"))
    said = [plain(one) for name in WHAT for one in _listed(message.get(name)) if one is not None]
    text = " ".join(filter(None, [action, ", ".join(filter(None, said)), plain(message.get("text"))]))
    meta = {"action": action} if action else None
    if action in CALLS and actor:
        return MessageRow(text, actor, time, "call", meta)
    return MessageRow(f"{actor}: {text}" if actor else text, None, time, "call" if action in CALLS else "system", meta)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _meta(message: Mapping[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    if "edited" in message or "edited_unixtime" in message:
        meta["edited"] = True
    if "forwarded_from" in message:
        meta["forwarded"] = message["forwarded_from"] or True  # true: from a deleted account
    name = message.get("file_name") or message.get("file") or message.get("photo")
    if isinstance(name, str) and not name.startswith("("):  # "(File not included. ...)"
        meta["file"] = name
    elif isinstance(name, str) and message.get("text"):
        meta["file"] = None  # the file was left out and has a caption
    if isinstance(message.get("sticker_emoji"), str):
        meta["emoji"] = message["sticker_emoji"]
    if isinstance(message.get("via_bot"), str):
        meta["bot"] = message["via_bot"]
    given = [one for one in _listed(message.get("reactions")) if isinstance(one, dict)]
    names = (str(one.get("emoji") or one.get("document_id") or one.get("type") or "") for one in given)
    if given:
        meta["reactions"] = {name: one.get("count", 1) for name, one in zip(names, given, strict=True)}
    return meta
