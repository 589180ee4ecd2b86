"""Parser of DiscordChatExporter's CSV (AuthorID,Author,Date,Content,Attachments,Reactions), one record per message."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import numpy as np

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.chats.json_export import Bad, MessageRow, batch_of, refuse
from dataprep.read.chats.media import kind_of_file
from dataprep.read.chats.messages import ChatReader
from dataprep.read.trust import Trust
from dataprep.store import files

COLUMNS = ["AuthorID", "Author", "Date", "Content"]
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
    """Yield the records of a file. Raises ReadError for another first line, or an end inside a quoted field."""
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
    """Yield (number of the first record, records), 4,096 records at a time."""
    with files.open_read(url) as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as text:
        records = csv.reader(text, strict=True)
        first = 0
        try:
            head = next(records, [])
            if head[: len(COLUMNS)] != COLUMNS:
                shown = ",".join(head)[:80]
                msg = f"the file is not a Discord channel: its first line is {shown!r}, not {','.join(COLUMNS)!r}"
                raise ReadError(msg, url, 0)
            while block := list(itertools.islice(filter(None, records), B.MAX_ROWS // 4)):
                yield first, block
                first += len(block)
        except csv.Error as e:
            msg = f"record {first:,} or one soon after it is broken or cut ({e}); export the channel again"
            raise ReadError(msg, url) from e


def platform_row(text: str, author: str | None, time: str | None, *, is_call: bool) -> MessageRow:
    """Return the row of a platform message: "Pinned a message." of Ilse becomes "Ilse pinned a message."."""
    if is_call:
        return MessageRow(text, author, time, "call")
    return MessageRow(f"{author} {text[:1].lower()}{text[1:]}" if author else text, None, time, "system")


def is_gif(text: str) -> bool:
    """Return whether a message is nothing but the link of an animation."""
    return text.startswith(GIFS) and not any(c.isspace() for c in text)


def dates(url: str) -> Iterator[str]:
    """Yield the dates of all records; none if the first is ISO 8601, so that the file is not read."""
    for _, block in blocks(url):
        if re.match(r"\d{4}-\d\d-\d\dT", block[0][2] if len(block[0]) > 2 else ""):
            return
        yield from (record[2] for record in block if len(record) > 2)


def order_of(found: Iterator[str]) -> str:
    """Return the order of day and month that makes the most dates possible; month first if both do."""
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
    """Return the channel's name from the file's: "Server - Category - channel [123].csv"."""
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
    return "" if all(field.isascii() or _is_text(field) for field in record) else "invalid_utf8"


def _is_text(field: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in field)


def _row(record: list[str], order: str, author: str) -> MessageRow:
    number, name, date, text = record[: len(COLUMNS)]
    who = (number or name if author == "id" else name or number) or None
    time = iso(date, order)
    if text in SAID or CALL.fullmatch(text):
        return platform_row(text, who, time, is_call=text not in SAID)
    attached = [url for url in (record[4] if len(record) > 4 else "").split(",") if url]
    kind = kind_of_file(attached[0]) if attached else "gif" if is_gif(text) else "text"
    names: dict[str, Any] = {}
    if attached:
        bare = [url.partition("?")[0].rpartition("/")[2] for url in attached]
        names = {"file": bare[0]} if len(bare) == 1 else {"files": bare}
    return MessageRow(text, who, time, kind, names | _reactions(record[5] if len(record) > 5 else ""))


def _reactions(field: str) -> dict[str, Any]:
    found = re.findall(r"([^,]+?) \((\d+)\)", field)
    return {"reactions": {name.strip(): int(count) for name, count in found}} if found else {}


def iso(date: str, order: str) -> str | None:
    """Return a date in any form of the exporter's versions as ISO 8601; None if it is not a date."""
    if re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", date):
        return date
    m = NUMBERS.match(date)
    numeric = [f"{ORDERS[order].replace(' {0} ', date[m.end(1)])} {clock}" for clock in CLOCKS] if m else []
    for form in (*FORMATS, *numeric):
        with contextlib.suppress(ValueError):
            return datetime.strptime(date.strip(), form).isoformat()  # noqa: DTZ007 - a clock without a zone
    return None
