"""`read_messages`: exports of chats as one table, whatever their platforms, without what stands in two of them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core import batch as B
from dataprep.core.dataset import Dataset
from dataprep.core.part import Part
from dataprep.errors import PlanError
from dataprep.read import read
from dataprep.read.chats.messages import COLUMNS
from dataprep.read.chats.sniff import PLATFORMS, refuse_utf16, tried
from dataprep.store import files

from .match_exports import called, spans_of
from .overlap_rows import find_doubles

log = logging.getLogger("dataprep")

READ = pa.schema([pa.field("id", pa.uint64()), *COLUMNS.items(), pa.field("text", pa.large_string())])
TABLE = ("chat", "author", "time", "kind", "text", "reply_to")


def read_messages(
    path: Any, platform: str | None = None, date_order: str | None = None, *, merge: bool = True, **options: Any
) -> pa.Table:
    """The messages of chats as a table, one row a message.

    path: a file, a folder, a glob, or a list of them; platforms may be mixed.
    platform: "whatsapp", "telegram", "discord", "messenger", "instagram", "signal", "chat"; None: told by the files.
    date_order: "dmy", "mdy" or "ymd", where the files do not tell it themselves.
    merge: what stands in two exports of one chat is there once (`chat/same_chat.py`, `chat/doubles.py`).
    options: of the platform's reader.

    Columns: chat, author (null where the platform speaks), time (timestamp[s], the clock as written; UTC for Messenger
    and Instagram), kind, text, and reply_to (int64, the row of the message that is answered, null if there is none).
    Chats come in the order of their first messages, each in the order of time; a message without a time stays behind
    the one before. What is merged and what was no message is logged with its count. Memory: twice the messages.

    Errors: PlanError if a file is no chat, ReadError if it is damaged.

    >>> table = read_messages("chats/")                                                 # doctest: +SKIP
    """
    if date_order not in {None, "dmy", "mdy", "ymd"}:
        msg = f"date_order={date_order!r} is none of dmy, mdy, ymd"
        raise PlanError(msg)
    if platform is not None and platform not in PLATFORMS:
        msg = f"platform={platform!r} is none of {', '.join(PLATFORMS)}"
        raise PlanError(msg)
    docs = read(path, platform, **options)
    _check(docs)
    if date_order and any(hasattr(part.reader, "date_order") for part in docs.parts):
        docs = read(path, platform, date_order=date_order, **options)
    dropped: Counter[str] = Counter()
    batches = [batch for part in docs.parts for batch in _batches(part, dropped)]
    if dropped:
        told = ", ".join(f"{why} {n:,}" for why, n in dropped.most_common())
        log.warning("%d records of %s were no messages and are left out: %s", dropped.total(), path, told)
    rows = pa.Table.from_batches([batch.select(READ.names) for batch in batches]).cast(READ)
    return _in_order(*_merged(rows, merge=merge))


def _check(docs: Dataset) -> None:
    """Every file is a chat's, or a sentence that shows the first line of one that is not."""
    missing = [name for name in TABLE if name not in docs.columns]
    if not missing:
        return
    url = docs.parts[0].slices[0].url
    with files.open_read(url) as stream:
        head = stream.read(200)
    refuse_utf16(head, url)
    begins = head.decode("utf-8", "replace").lstrip("\ufeff\r\n").split("\n")[0][:80]
    msg = f"{url} is no chat export of {', '.join(PLATFORMS[:-1])}: it begins {begins!r}; "
    if files.suffix(url) == ".txt":
        msg += f"tried were {tried()}; "
    msg += "name its platform with platform=, or give platform='chat' and line= for another form"
    raise PlanError(msg)


def _batches(part: Part, dropped: Counter[str]) -> Iterator[Any]:
    ledgers = part.ledgers()
    yield from part.batches(ledgers=ledgers)
    for ledger in ledgers:
        dropped.update(ledger.drop_table()["reason"].to_pylist())


def _merged(rows: pa.Table, *, merge: bool) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """The rows without doubles, and for each the row it answers, int64[n], -1: none."""
    ids = rows["id"].to_numpy()
    doubled = stays = np.zeros(0, np.int64)
    if merge:
        rows = _renamed(rows)
        doubled, stays = find_doubles((ids >> np.uint64(B.POSITION_BITS)).astype(np.int64), rows)
    if len(doubled):
        log.warning("%d messages stand in two exports of one chat and are there once", len(doubled))
    keep = np.ones(len(ids), bool)
    keep[doubled] = False
    stands = np.arange(len(ids))
    stands[doubled] = stays
    wanted = rows["reply_to"].fill_null(0).to_numpy()
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    answered = pc.is_valid(rows["reply_to"]).to_numpy() & (ids[at] == wanted)
    answers = np.where(answered, (np.cumsum(keep) - 1)[stands[at]], -1)
    return rows.filter(pa.array(keep)), answers[keep]


def _renamed(rows: pa.Table) -> pa.Table:
    """Exports that are of one chat by what is said in them have the name of the first."""
    names = called(spans_of(rows.to_batches()))
    odd = {own: name for own, name in names.items() if own[0] != name}
    if not odd:
        return rows
    told = ", ".join(f"{chat} is {name}" for (chat, _), name in list(odd.items())[:5])
    log.warning("%d exports have another name than one of the same chat, which they get: %s", len(odd), told)
    numbers = (rows["id"].to_numpy() >> np.uint64(B.POSITION_BITS)).tolist()
    chats = [names.get(own, own[0]) for own in zip(rows["chat"].to_pylist(), numbers, strict=True)]
    return rows.set_column(rows.schema.get_field_index("chat"), "chat", pa.array(chats, pa.string()))


def _in_order(rows: pa.Table, answers: npt.NDArray[np.int64]) -> pa.Table:
    """Chats in order of appearance, each by time, and the columns of the table."""
    chats = rows["chat"].combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy()
    times = np.zeros(len(rows), np.int64)
    for chat in np.unique(chats).tolist():
        own = np.flatnonzero(chats == chat)
        stamps = rows["time"].take(pa.array(own)).cast(pa.int64())
        times[own] = pc.fill_null_forward(stamps).fill_null(np.iinfo(np.int64).min).to_numpy()
    order = np.lexsort((np.arange(len(rows)), times, chats))
    row_of = np.empty(len(rows), np.int64)
    row_of[order] = np.arange(len(rows))
    answered = answers[order]
    reply_to = pa.array(row_of[answered], mask=answered < 0)
    columns = {name: rows[name].take(pa.array(order)) for name in TABLE[:-1]}
    if columns["text"].nbytes < 1 << 31:
        columns["text"] = columns["text"].cast(pa.string())
    return pa.table({**columns, "reply_to": reply_to})
