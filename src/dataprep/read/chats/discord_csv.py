"""Read the CSV files of DiscordChatExporter.

A CSV states neither message types nor replies: messages of the platform are recognised by their fixed wording. The
position is the record number instead of a byte offset. Dates have the order and form of the exporter's locale.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import itertools
import re
from collections.abc import Iterator
from datetime import datetime

import numpy as np

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.trust import Trust
from dataprep.store import files

from .json_export import Bad, MessageRow, batch_of, number, refuse
from .messages import ChatReader, files_of, kind_of_file

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
MAX_LINE = 1 << 20  # characters: longer than any line whose fields are within the limit of `csv`
ORDERS = {"dmy": "%d {0} %m {0} %Y", "mdy": "%m {0} %d {0} %Y", "ymd": "%Y {0} %m {0} %d"}


def csv_messages(
    reader: ChatReader, piece: Slice, stats: Ledger, author: str, date_order: str | None
) -> Iterator[Batch]:
    """Yield the messages of a CSV export as batches; record dropped ones in `stats`.

    - reader: its `max_bad` limits the bad messages.
    - piece: the file to read.
    - author: "nickname", "name" or "id".
    - date_order: the order of day, month and year, such as "dmy"; None: inferred from the dates.

    Raises ReadError if the first line is not DiscordChatExporter's, or if the file ends inside a quoted field.
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
        lines = iter(functools.partial(text.readline, MAX_LINE), "")  # a bomb may be one line of gigabytes
        records = csv.reader(lines, strict=True)
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
    """Return the columns of a message by Discord: "Pinned a message." of Ilse becomes "Ilse pinned a message.".

    - author: the person who acted.
    - time: ISO 8601.
    - is_call: whether the message reports a call; the text of such a message is not changed.
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
    name = re.sub(r"\.csv(\.(gz|zst|xz|bz2))?$", "", files.name_of(url), flags=re.IGNORECASE)
    name = re.sub(r" *\[\d+\]( *\[part \d+\])?( *\((after|before|\d{4}).*\))?$", "", name)
    parts = name.encode("utf-8", "backslashreplace").decode().split(" - ")  # names of files need not be UTF-8
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

    - order: the order of day, month and year in dates that are not ISO, such as "dmy".
    """
    if re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", date):
        return date
    m = NUMBERS.match(date)
    numeric = [f"{ORDERS[order].replace(' {0} ', date[m.end(1)])} {clock}" for clock in CLOCKS] if m else []
    for form in (*FORMATS, *numeric):
        with contextlib.suppress(ValueError):
            return datetime.strptime(date.strip(), form).isoformat()  # noqa: DTZ007 - a clock without a zone
    return None
