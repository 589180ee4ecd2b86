"""Read DiscordChatExporter's JSON (streamed), its CSV (`discord_csv.py`), and data packages (`discord_package.py`).

The author is the nickname, which differs between servers; `author="name"` selects the account's name, "id" its number.
Messages of bots are marked in meta. For messages of the platform (members join, messages are pinned), the text is actor
and action, the author is null and the kind is `system`. The author of a call is the caller. The kind of a message with
attachments or stickers is that of the first attachment or sticker. The text of a message without content of its own (by
a bot) is that of its embeds (titles, texts and fields), poll or buttons, and the text of a forwarded message is the
forwarded text. Times are those of the file, without their time zones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.text import BOM
from dataprep.store import files

from .discord_csv import csv_messages, is_gif, platform_row
from .discord_package import companions_of, is_package, package_messages
from .json_export import JsonExport, MessageRow, number, text_in
from .messages import files_of, kind_of_file, names_of

# Types that people write; all others are the platform's. Those that the exporter has no name for are numbers.
WRITTEN = {"Default", "Reply", "ChatInputCommand", "ContextMenuCommand", "ThreadStarterMessage", "20", "21", "23"}
_FIELDS = """
id type timestamp timestampEdited callEndedTimestamp isPinned content author attachments embeds stickers reactions
mentions reference forwardedMessage interaction inlineEmojis poll components
"""  # of a message, as DiscordChatExporter writes it
FIELDS = frozenset(_FIELDS.split())
CONTENT = ("attachments", "embeds", "stickers")
NAMES = {"nickname": ("nickname", "name", "id"), "name": ("name", "id"), "id": ("id",)}


@dataclass(frozen=True, kw_only=True)
class Discord(JsonExport):
    """Reads channels exported by DiscordChatExporter, as JSON or CSV, and Discord's own data package.

    Attributes:
        author: the field that becomes the author: "nickname", the account's "name", or "id".
        date_order: the order of day, month and year ("dmy", "mdy" or "ymd") in a CSV whose dates are not in ISO 8601;
            None: inferred from the dates.
        me: the name of a data package's owner; None means the name of the account.
    """

    author: str = "nickname"
    date_order: str | None = None
    me: str | None = None
    PLATFORM: ClassVar[str] = "Discord"
    FIELDS: ClassVar[frozenset[str]] = FIELDS
    VERSION: ClassVar[int] = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.author not in NAMES:
            msg = f"author={self.author!r} must be one of {', '.join(NAMES)}"
            raise PlanError(msg)
        if self.date_order not in {None, "dmy", "mdy", "ymd"}:
            msg = f"date_order={self.date_order!r} must be one of dmy, mdy, ymd"
            raise PlanError(msg)
        if self.me is not None and not self.me.strip():
            msg = f"me={self.me!r} must be the name of the package's owner, or None for the name of the account"
            raise PlanError(msg)

    def companions(self, url: str) -> tuple[str, ...]:
        """Return the files with names that belong to the file `url` of a data package."""
        return companions_of(url)

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of a file as batches, one row per message; JSON begins with a brace, CSV does not."""
        with files.open_read(piece.url) as stream:
            head = stream.read(256).removeprefix(BOM)
        if files.suffix(piece.url) == ".zip" or is_package(head):
            return package_messages(self, piece, stats, self.me)
        is_json = head.lstrip().startswith(b"{")
        if is_json:
            return super().__call__(piece, stats)
        return csv_messages(self, piece, stats, self.author, self.date_order)

    def names(self, document: Mapping[str, Any], url: str) -> Mapping[int, str]:
        """Return {0: name}, in which the name is the channel's, preceded by its server's name if it has a server.

        - document: the export without its messages.

        Raises ReadError if it is not a Discord export.
        """
        guild, channel = document.get("guild"), document.get("channel")
        if not isinstance(channel, dict) or "messages" not in document:
            msg = f"the file has no Discord channel; its fields are {names_of(document)}; "
            msg += "pass a file of DiscordChatExporter, or name another reader with format="
            raise ReadError(msg, url, 0)
        server = guild.get("name") if isinstance(guild, dict) and guild.get("id") != "0" else None
        return {0: " / ".join(str(name) for name in (server, channel.get("name")) if name)}

    def answers(self, message: Mapping[str, Any]) -> int | None:
        """Return Discord's id of the message that `message` replies to; None if it is not a reply."""
        reference = message.get("reference")
        return number(reference.get("messageId")) if isinstance(reference, dict) else None

    def row(self, message: Mapping[str, Any]) -> MessageRow:
        """Return the columns of one message.

        Args:
            message: the message's object in the JSON of the export.
        """
        who = message.get("author")
        who = who if isinstance(who, dict) else {}
        author = next((str(who[name]) for name in NAMES[self.author] if who.get(name)), None)
        text, time = str(message.get("content") or ""), message.get("timestamp")
        forwarded = message.get("forwardedMessage")
        if isinstance(forwarded, dict) and not text:
            message = {**message, **{name: message.get(name) or forwarded.get(name) for name in ("content", *CONTENT)}}
            text = str(message.get("content") or "")
        time = time if isinstance(time, str) else None
        sort = str(message.get("type", "Default"))
        if sort not in WRITTEN:
            return platform_row(text or sort, author, time, is_call=sort == "Call")
        names, kind = _attached(message)
        text = text or "\n".join(_embedded(message))
        if not text:
            text = text_in(_asked(message.get("poll"))) or "\n".join(_buttons(message.get("components")))
        if kind is None:
            kind = "poll" if message.get("poll") else "gif" if is_gif(text) else "text"
        return MessageRow(text, author, time, kind, _meta(message, names, who))


def _attached(message: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """Return the names of attached files, and the kind of the first file, or "sticker" if there are only stickers."""
    names = [str(a.get("fileName") or a.get("url") or "") for a in listed(message.get("attachments"))]
    if names:
        return names, kind_of_file(names[0])
    return [], "sticker" if listed(message.get("stickers")) else None


def _embedded(message: Mapping[str, Any]) -> Iterator[str]:
    for embed in listed(message.get("embeds")):
        fields = [part for field in listed(embed.get("fields")) for part in (field.get("name"), field.get("value"))]
        parts = [str(said) for said in (embed.get("title"), embed.get("description"), *fields) if said]
        inner = (embed.get(name) for name in ("author", "footer"))  # read only if there is nothing else
        yield from parts or [text for one in inner if isinstance(one, dict) and (text := text_in(_labels(one)))]


def _buttons(components: Any) -> Iterator[str]:
    """Yield the labels of buttons, and texts of components in which later versions may write them."""
    for one in listed(components):
        yield from (said for name in ("label", "content") if isinstance(said := one.get(name), str) and said)
        yield from _buttons(one.get("components"))


def _asked(poll: Any) -> Any:
    """Return the question and the answers of a poll."""
    return [poll.get("question"), poll.get("answers")] if isinstance(poll, dict) else poll


def _labels(one: Mapping[str, Any]) -> list[Any]:
    """Return the name and the text of an author or a footer, without its addresses."""
    return [one.get("name"), one.get("text")]


def _meta(message: Mapping[str, Any], names: list[str], who: Mapping[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    if message.get("timestampEdited"):
        meta["edited"] = True
    if who.get("isBot"):
        meta["bot"] = True
    if message.get("forwardedMessage"):
        meta["forwarded"] = True
    meta |= files_of(names)
    stickers = [str(s["name"]) for s in listed(message.get("stickers")) if s.get("name")]
    if stickers:
        meta["sticker"] = stickers[0]
    reactions = {_emoji(one): one.get("count", 1) for one in listed(message.get("reactions"))}
    if reactions:
        meta["reactions"] = reactions
    return meta


def listed(value: Any) -> list[dict[str, Any]]:
    """Return the JSON objects in a list; [] if `value` is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _emoji(reaction: Mapping[str, Any]) -> str:
    emoji = reaction.get("emoji")
    return str(emoji.get("name") or emoji.get("code") or "") if isinstance(emoji, dict) else ""
