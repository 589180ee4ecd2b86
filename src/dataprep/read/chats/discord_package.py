"""Reader of Discord's own data package ("Request all of my data"): the messages that one person sent.

A package, a zip or its folder, has a file per channel, messages/cID/messages.json (messages.csv in older packages),
with the messages of the owner only. The author of all messages is `me`, or, if `me` is None, the name in
account/user.json. Files store the newest message first; the reader sorts messages by their numbers, which ascend with
time. The position of a message is its index in this order. Times are UTC. Memory: the messages of one channel.
"""

from __future__ import annotations

import csv
import io
import posixpath
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import orjson

from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.text import BOM
from dataprep.read.trust import Trust
from dataprep.store import files

from .json_export import Bad, MessageRow, batch_of, number, refuse
from .messages import ChatReader, files_of, kind_of_file
from .packs import DAMAGED_ZIP, Pack, folder_of, list_unread, members, opened_zip

FIELDS = ("ID", "Timestamp", "Contents", "Attachments")
CHANNEL = re.compile(r"((?:[^/]+/)*?)([Mm]essages)/(c?\d+)/messages\.(json|csv)\Z")
LIST = re.compile(rb'\s*\[\s*\{\s*"ID"\s*:\s*"?\d+"?\s*,\s*"Timestamp"\s*:')
CSV = re.compile(rb'"?ID"?,"?Timestamp"?,"?Contents"?,"?Attachments"?\s*(?:\n|\Z)')
STATED = re.compile(r"(?:^|/)(?:channel|index|user)\.json\Z")  # files with names of channels and of the owner
ACCOUNTS = ("account/user.json", "Account/user.json")
EMOJI = re.compile(r"<a?(:\w+:)\d+>")
MENTION = re.compile(r"<(@)[!&]?(\d+)>|<(#)(\d+)>")  # of a person, a role or a channel, by its id
DIRECT = "Direct Message with "
UNNAMED = {"", "None", "Unknown channel", "Direct Message with Unknown Participant"}
GROUP = 4_096  # messages per batch
MAX_BYTES = 1 << 26  # of one channel's messages, which take up to twenty times as much memory
GIFS = ("https://tenor.com/view/", "https://giphy.com/gifs/", "https://media.giphy.com/")


def is_package(head: bytes) -> bool:
    """Return whether `head`, a file's first bytes, is the beginning of a channel's messages in a data package."""
    return bool(LIST.match(head) or CSV.match(head.removeprefix(BOM)))


def companions_of(url: str) -> tuple[str, ...]:
    """Return the files that state the names of the channel and of the owner for a channel's file of messages."""
    if files.name_of(url) not in {"messages.json", "messages.csv"}:
        return ()
    around = (f"{folder_of(url, 1)}channel.json", f"{folder_of(url, 2)}index.json")
    return tuple(name for name in (*around, *(folder_of(url, 3) + one for one in ACCOUNTS)) if files.exists(name))


def package_messages(reader: ChatReader, piece: Slice, stats: Ledger, me: str | None) -> Iterator[Batch]:
    """Yield the messages of a channel's file, or of all channels in a zip, as batches; record dropped ones in `stats`.

    - reader: states the limits for bad messages.
    - me: the owner's name; None means the name of the account.

    Raises ReadError if the file is damaged or not of a data package.
    """
    trust = Trust(piece.url, reader.max_bad, remedy="name another reader with format=")
    if files.suffix(piece.url) != ".zip":
        pack = Pack(piece.url, folder_of(piece.url, 3))
        parts = piece.url.rsplit("/", 3)
        middle = parts[-3] if len(parts) > 2 else "messages"
        with files.open_read(piece.url) as stream:
            records = _records(stream, piece.url)
        chat = _chat(pack, middle, files.name_of(folder_of(piece.url, 1).rstrip("/")))
        yield from _batches(records, chat, me or _owner(pack), 0, reader, piece, stats, trust)
    else:
        with opened_zip(piece.url) as archive:
            found = sorted((m[1], m[2], m[3], m[0]) for name in members(archive) if (m := CHANNEL.match(name)))
            if not found:
                msg = (
                    "the zip is not a Discord data package: it has no files such as messages/c123/messages.json; "
                    "name another reader with format="
                )
                raise ReadError(msg, piece.url, reason="not_a_chat")
            stated = {name for name in archive.namelist() if STATED.search(name)}
            list_unread(piece.url, archive, stated | {name for *_, name in found}, stats)
            n = 0
            for root, middle, channel, name in found:
                pack = Pack(piece.url, root, archive)
                with pack.open(name.removeprefix(root)) or io.BytesIO() as stream:
                    records = _records(stream, f"{piece.url}/{name}")
                chat = _chat(pack, middle, channel)
                yield from _batches(records, chat, me or _owner(pack), n, reader, piece, stats, trust)
                n += len(records)
    trust.close()


def _records(stream: BinaryIO, url: str) -> list[Any]:
    """Return the messages of a channel as dicts of FIELDS, oldest first. Raises ReadError if the file is damaged."""
    try:
        data = stream.read(MAX_BYTES + 1).removeprefix(BOM)
        if len(data) > MAX_BYTES:
            msg = f"a channel has more than {MAX_BYTES >> 20} MiB; split its file, or fetch the package again"
            raise ReadError(msg, url)
        if data.lstrip().startswith(b"["):
            found = orjson.loads(data)
        else:
            text = io.TextIOWrapper(io.BytesIO(data), "utf-8", "surrogateescape", newline="")
            rows = csv.reader(text, strict=True)
            head = next(rows, [])
            if tuple(head[: len(FIELDS)]) != FIELDS:
                shown = ",".join(head)[:80]
                msg = (
                    f"the file is not part of a Discord data package: its first line is {shown!r}; "
                    "name another reader with format="
                )
                raise ReadError(msg, url, 0)
            found = [dict(zip(FIELDS, row, strict=False)) for row in rows if row]
    except (csv.Error, *DAMAGED_ZIP) as e:
        msg = f"the file is damaged or truncated ({e}); fetch the package again"
        raise ReadError(msg, url) from e
    return sorted(found, key=lambda one: (number(one.get("ID")) or 0) if isinstance(one, dict) else 0)


def _batches(
    records: list[Any],
    chat: str,
    author: str,
    first: int,
    reader: ChatReader,
    piece: Slice,
    stats: Ledger,
    trust: Trust,
) -> Iterator[Batch]:
    """Yield the messages of one channel as batches.

    - first: the position of the first.
    """
    for start in range(0, len(records), GROUP):
        rows, good, bad = [], [], []
        for k, record in enumerate(records[start : start + GROUP], first + start):
            why, size = _fault(record, reader.max_doc_bytes)
            if why:
                bad.append(Bad(k, size, why, repr(record)[:60]))
            else:
                rows.append(_row(record, author))
                good.append(k)
        refuse(bad, piece, stats, trust, good)
        if rows:
            yield batch_of(rows, chat, np.array(good), piece)


def _fault(record: Any, max_bytes: int) -> tuple[str, int]:
    """Return (the reason to drop a record or "", its size in bytes)."""
    if not isinstance(record, dict):
        return "not_an_object", 0
    if not set(FIELDS) <= record.keys():
        return "too_few_fields", 0
    data = str(record["Contents"] or "").encode("utf-8", "surrogateescape")
    if len(data) > max_bytes:
        return "too_long", len(data)
    try:
        "".join(map(str, record.values())).encode()
    except UnicodeEncodeError:
        return "invalid_utf8", len(data)
    return "", len(data)


def _row(record: dict[str, Any], author: str) -> MessageRow:
    text = MENTION.sub(r"\1\2\3\4", EMOJI.sub(r"\1", str(record["Contents"] or "")))
    urls = [url for url in re.split(r"[\s,]+", str(record.get("Attachments") or "")) if url]
    names = [url.partition("?")[0].rpartition("/")[2] for url in urls]
    only_gif = text.startswith(GIFS) and not any(c.isspace() for c in text)
    kind = kind_of_file(names[0]) if names else "gif" if only_gif else "text"
    return MessageRow(text, author, str(record["Timestamp"]), kind, files_of(names))


def _owner(pack: Pack) -> str:
    account = pack.document(*ACCOUNTS)
    found = account if isinstance(account, dict) else {}
    return str(found.get("global_name") or found.get("username") or "Me")


def _chat(pack: Pack, middle: str, channel: str) -> str:
    """Return the name of a channel: "Server / channel", the other person, or "channel ID" if no file states it.

    - middle: the name of the folder of all channels.
    - channel: the name of the channel's folder, such as "c123".
    """
    stated = pack.document(posixpath.join(middle, channel, "channel.json"))
    stated = stated if isinstance(stated, dict) else {}
    guild, name = stated.get("guild"), stated.get("name")
    if isinstance(guild, dict) and guild.get("name") and name:
        return f"{guild['name']} / {name}"
    id_ = str(stated.get("id") or channel.removeprefix("c"))
    index = pack.document(posixpath.join(middle, "index.json"))
    title = str(index.get(id_) or "") if isinstance(index, dict) else ""
    if title in UNNAMED:
        return str(name or f"channel {id_}")
    return title_of_direct(title) or title


def title_of_direct(title: str) -> str:
    """Return the name in a title of index.json such as "Direct Message with bob#0"; "" for other titles."""
    name = title.removeprefix(DIRECT).removesuffix("#0")
    return name if title.startswith(DIRECT) and title not in UNNAMED else ""
