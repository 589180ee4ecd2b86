"""Readers of DiscordChatExporter's JSON (streamed) and CSV files, and of data packages (`discord_package.py`).

The author is the nickname, which differs from server to server; `author="name"` selects the account's name, "id" its
number. Messages of bots are marked in meta. For messages of the platform (members join, messages are pinned) the text
is actor and action, the author null and the kind `system`; a call has its caller as author. The kind of a message with
attachments or stickers is that of the first attachment or sticker, and its text is the caption; the text of a message
with embeds only (by a bot) is the embeds' titles, texts and fields. Time is the clock as written, without its zone. A
CSV states no message types and no replies: messages of the platform are recognised by their fixed wording, and the
position is the record number instead of a byte offset.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.text import BOM
from dataprep.read.trust import Trust
from dataprep.store import files

from .discord_package import companions_of, is_package, package_messages
from .json_export import Bad, JsonExport, MessageRow, batch_of, number, refuse
from .messages import ChatReader, files_of, kind_of_file, names_of

# Types that people write; all others are the platform's. Those that the exporter has no name for are numbers.
WRITTEN = {"Default", "Reply", "ChatInputCommand", "ContextMenuCommand", "ThreadStarterMessage", "20", "21", "23"}
NAMES = {"nickname": ("nickname", "name", "id"), "name": ("name", "id"), "id": ("id",)}


@dataclass(frozen=True, kw_only=True)
class Discord(JsonExport):
    """Reads DiscordChatExporter's exports of a channel, JSON or CSV, and Discord's own data package.

    author: what identifies an author: "nickname", the account's "name", or "id". date_order: order of day, month and
    year ("dmy", "mdy" or "ymd") in a CSV whose dates are not ISO 8601; None: found from the dates. me: the name of a
    data package's owner; None means the name of the account.
    """

    author: str = "nickname"
    date_order: str | None = None
    me: str | None = None
    PLATFORM: ClassVar[str] = "Discord"
    VERSION: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.author not in NAMES:
            msg = f"author={self.author!r} must be one of {', '.join(NAMES)}"
            raise PlanError(msg)
        if self.date_order not in {None, "dmy", "mdy", "ymd"}:
            msg = f"date_order={self.date_order!r} must be one of dmy, mdy, ymd"
            raise PlanError(msg)
        if self.me is not None and not self.me.strip():
            msg = f"me={self.me!r} must be the name of the package's owner, or None for that of the account"
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

        document: the export without its messages. Raises ReadError if it is not an export of Discord.
        """
        guild, channel = document.get("guild"), document.get("channel")
        if not isinstance(channel, dict) or "messages" not in document:
            msg = f"the file has no Discord channel; its fields are {names_of(document)}; "
            msg += "give a file of DiscordChatExporter, or name another reader with format="
            raise ReadError(msg, url, 0)
        server = guild.get("name") if isinstance(guild, dict) and guild.get("id") != "0" else None
        return {0: " / ".join(str(name) for name in (server, channel.get("name")) if name)}

    def answers(self, message: Mapping[str, Any]) -> int | None:
        """Return Discord's id of the message that `message` replies to; None if it is not a reply."""
        reference = message.get("reference")
        return number(reference.get("messageId")) if isinstance(reference, dict) else None

    def row(self, message: Mapping[str, Any]) -> MessageRow:
        """Return the columns of one message; message: its object in the export's JSON."""
        who = message.get("author")
        who = who if isinstance(who, dict) else {}
        author = next((str(who[name]) for name in NAMES[self.author] if who.get(name)), None)
        text, time = str(message.get("content") or ""), message.get("timestamp")
        time = time if isinstance(time, str) else None
        sort = str(message.get("type", "Default"))
        if sort not in WRITTEN:
            return platform_row(text or sort, author, time, is_call=sort == "Call")
        names, kind = _attached(message)
        if not text and kind is None:
            text = "\n".join(_embedded(message))
        if kind is None:
            kind = "poll" if message.get("poll") else "gif" if is_gif(text) else "text"
        return MessageRow(text, author, time, kind, _meta(message, names, who))


def _attached(message: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """Return the names of attached files, and the kind of the first, or sticker if there are only stickers."""
    names = [str(a.get("fileName") or a.get("url") or "") for a in listed(message.get("attachments"))]
    if names:
        return names, kind_of_file(names[0])
    return [], "sticker" if listed(message.get("stickers")) else None


def _embedded(message: Mapping[str, Any]) -> Iterator[str]:
    for embed in listed(message.get("embeds")):
        fields = [part for field in listed(embed.get("fields")) for part in (field.get("name"), field.get("value"))]
        yield from (str(said) for said in (embed.get("title"), embed.get("description"), *fields) if said)


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


COLUMNS = ["AuthorID", "Author", "Date", "Content"]
SURROGATE = re.compile("[\ud800-\udfff]")  # a byte that is not UTF-8
CALL = re.compile(r"Started a call that lasted \d+ minutes?\.")
SAID = {  # by the platform, in these words; a person who writes the same is taken for it
    "Joined the server.", "Pinned a message.", "Changed the channel icon.", "Started a thread.", "Left the group.",
}  # fmt: skip
GIFS = ("https://tenor.com/view/", "https://giphy.com/gifs/", "https://media.giphy.com/", "https://klipy.com/gifs/")
NUMBERS = re.compile(r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})")
FORMATS = ("%d-%b-%y %I:%M %p", "%d-%b-%Y %I:%M %p", "%d-%b-%y %H:%M", "%d %B %Y %H:%M")
CLOCKS = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
ORDERS = {"dmy": "%d {0} %m {0} %Y", "mdy": "%m {0} %d {0} %Y", "ymd": "%Y {0} %m {0} %d"}


def csv_messages(
    reader: ChatReader, piece: Slice, stats: Ledger, author: str, date_order: str | None
) -> Iterator[Batch]:
    """Yield the messages of a CSV export as batches; record dropped ones in `stats`.

    reader: states the limits for bad messages. piece: the file. author: "nickname", "name" or "id". date_order: order
    of day, month and year, such as "dmy"; None: found from the dates. Raises ReadError if the first line is not
    DiscordChatExporter's, or if the file ends inside a quoted field.
    """
    trust = Trust(piece.url, reader.max_bad, remedy="name another reader with format=")
    order = date_order or order_of(dates(piece.url))
    chat = chat_of(piece.url)
    for first, block in blocks(piece.url):
        rows, good, bad = [], [], []
        for k, record in enumerate(block, first):
            n_bytes = sum(len(field.encode("utf-8", "surrogateescape")) for field in record)
            why = _fault(record, n_bytes, reader.max_doc_bytes)
            if why:
                bad.append(Bad(k, n_bytes, why, repr(record)[:60]))
            else:
                rows.append(_row(record, order, author))
                good.append(k)
        refuse(bad, piece, stats, trust, good)
        if rows:
            yield batch_of(rows, chat, np.array(good), piece)
    trust.close()


def blocks(url: str) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield the records of a CSV file as pairs: number of the first record, and up to 4,096 records.

    A record is the list of its fields. Raises ReadError if the first line is not DiscordChatExporter's.
    """
    with files.open_read(url) as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as text:
        records = csv.reader(text, strict=True)
        first = 0
        try:
            head = next(records, [])
            if head[: len(COLUMNS)] != COLUMNS:
                shown = ",".join(head)[:80]
                wanted = ",".join(COLUMNS)
                msg = (
                    f"the file is not a Discord channel: its first line is {shown!r}, not {wanted!r}; "
                    "name another reader with format="
                )
                raise ReadError(msg, url, 0)
            while block := list(itertools.islice(filter(None, records), B.MAX_ROWS // 4)):
                yield first, block
                first += len(block)
        except csv.Error as e:
            msg = f"record {first:,}, or one soon after it, is damaged or truncated ({e}); export the channel again"
            raise ReadError(msg, url) from e


def platform_row(text: str, author: str | None, time: str | None, *, is_call: bool) -> MessageRow:
    """Return the columns of a message written by Discord: "Pinned a message." of Ilse becomes "Ilse pinned a message.".

    author: the person who acted. time: ISO 8601. is_call: whether the message reports a call; the text of such a
    message is not changed.
    """
    if is_call:
        return MessageRow(text, author, time, "call")
    return MessageRow(f"{author} {text[:1].lower()}{text[1:]}" if author else text, None, time, "system")


def is_gif(text: str) -> bool:
    """Return whether a message consists only of a link to an animated image."""
    return text.startswith(GIFS) and not any(c.isspace() for c in text)


def dates(url: str) -> Iterator[str]:
    """Yield the date of each record of a CSV file as written; none if the first date is in ISO 8601."""
    for _, block in blocks(url):
        if re.match(r"\d{4}-\d\d-\d\dT", block[0][2] if len(block[0]) > 2 else ""):
            return
        yield from (record[2] for record in block if len(record) > 2)


def order_of(found: Iterator[str]) -> str:
    """Return the order of day, month and year, "mdy", "dmy" or "ymd", in which most of the dates `found` are valid.

    If several orders are equally good, "mdy" is returned.
    """
    counts = dict.fromkeys(("mdy", "dmy", "ymd"), 0)
    for date in found:
        m = NUMBERS.match(date)
        if m:
            a, b = int(m[1]), int(m[2])
            counts["ymd"] += a > 31
            counts["mdy"] += a <= 12 and b <= 31
            counts["dmy"] += a <= 31 and b <= 12
    return max(counts, key=counts.__getitem__)


def chat_of(url: str) -> str:
    """Return "Server / channel", or "channel", from a file name such as "Server - Category - channel [123].csv"."""
    name = re.sub(r"\.csv(\.(gz|zst|xz))?$", "", files.name_of(url), flags=re.IGNORECASE)
    name = re.sub(r" *\[\d+\]( *\[part \d+\])?( *\((after|before|\d{4}).*\))?$", "", name)
    parts = name.split(" - ")
    return " / ".join((parts[0], parts[-1])) if len(parts) > 2 and parts[0] != "Direct Messages" else parts[-1]


def _fault(record: list[str], n_bytes: int, max_bytes: int) -> str:
    """Return the reason to drop a record, or ""."""
    if len(record) < len(COLUMNS):
        return "too_few_fields"
    if n_bytes > max_bytes:
        return "too_long"
    is_text = all(field.isascii() or not SURROGATE.search(field) for field in record)
    return "" if is_text else "invalid_utf8"


def _row(record: list[str], order: str, author: str) -> MessageRow:
    user, name, date, text = record[: len(COLUMNS)]
    who = (user or name if author == "id" else name or user) or None
    time = iso(date, order)
    if text in SAID or CALL.fullmatch(text):
        return platform_row(text, who, time, is_call=text not in SAID)
    attached = [url for url in (record[4] if len(record) > 4 else "").split(",") if url]
    kind = kind_of_file(attached[0]) if attached else "gif" if is_gif(text) else "text"
    meta = files_of([url.partition("?")[0].rpartition("/")[2] for url in attached])
    given = re.findall(r"([^,]+?) \((\d+)\)", record[5] if len(record) > 5 else "")
    if given:
        meta["reactions"] = {name.strip(): number(count) or 1 for name, count in given}
    return MessageRow(text, who, time, kind, meta)


def iso(date: str, order: str) -> str | None:
    """Return a date, in any form that DiscordChatExporter has written, as ISO 8601; None if it is not a date.

    order: the order of day, month and year in dates that are not ISO, such as "dmy".
    """
    if re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", date):
        return date
    m = NUMBERS.match(date)
    numeric = [f"{ORDERS[order].replace(' {0} ', date[m.end(1)])} {clock}" for clock in CLOCKS] if m else []
    for form in (*FORMATS, *numeric):
        with contextlib.suppress(ValueError):
            return datetime.strptime(date.strip(), form).isoformat()  # noqa: DTZ007 - a clock without a zone
    return None
