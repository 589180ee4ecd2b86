"""`dp.chats.read`: read chat exports from any platforms into one table, each message once."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.tables import Unread
from dataprep.core.model.unread import check_unread
from dataprep.errors import PlanError, counted
from dataprep.read import read as read_documents
from dataprep.read.beside_chats import BesideChats
from dataprep.read.chats.charsets import head_as_utf8
from dataprep.read.chats.messages import COLUMNS
from dataprep.read.formats import PLATFORMS
from dataprep.shown.notebook import shown_in_notebooks
from dataprep.store import files

from .match_exports import chat_names, spans_of
from .people.identities import Identities
from .people.people_file import people_of
from .repeated import find_repeated

log = logging.getLogger("dataprep")

READ = pa.schema([pa.field("id", pa.uint64()), *COLUMNS.items(), pa.field("text", pa.large_string())])
TABLE = ("chat", "author", "time", "kind", "text", "reply_to")


def read(
    path: Any, platform: str | None = None, date_order: str | None = None, *, merge: bool = True, people: Any = None,
    **options: Any,
) -> pa.Table:  # fmt: skip
    """Return the messages of chats as a table, one row per message.

    Args:
        path: a file, a folder, a glob, or a list of them; platforms may be mixed.
        platform: the platform of the exports: "whatsapp", "telegram", "discord", "messenger", "instagram", "signal",
            "line", "kakaotalk", "sms", "imessage", "slack" or "chat"; None: the platform of each file is detected.
        date_order: the order of day, month and year, "dmy", "mdy" or "ymd", for files with ambiguous dates.
        merge: whether a message that two exports of one chat contain is returned only once (`match_exports.py`,
            `overlaps.py`).
        people: a people file (`dataprep people`). Authors, and chats of two people, get the name of the person, so a
            contact who was renamed between two exports is one person. None: the names of the exports are returned.
        options: parameters of the platform's reader.

    The columns are chat, author (null for the platform's own lines), time (timestamp[s], in the time zone of the
    export; UTC for Messenger, Instagram, Slack, SMS and chat.db), kind, text, and reply_to (int64, the row of the
    message that is answered, or null). Chats are in the order of their first messages, and the messages of a chat are
    in the order of their times; a message without a time follows the message before it. The numbers of merged messages
    and of records that are not messages are logged. Memory usage is twice the size of the messages.

    Raises PlanError if a file is not a chat export or the people file is not valid, ReadError if a file is damaged.

    >>> table = dp.chats.read("chats/")                                                 # doctest: +SKIP
    """
    if date_order not in {None, "dmy", "mdy", "ymd"}:
        msg = f"date_order={date_order!r} must be one of dmy, mdy, ymd"
        raise PlanError(msg)
    if platform is not None and platform not in PLATFORMS:
        msg = f"platform={platform!r} must be one of {', '.join(PLATFORMS)}"
        raise PlanError(msg)
    known = people_of(people)
    docs = _chats_of(read_documents(path, platform, **options))
    _check(docs)
    if date_order and any(hasattr(part.reader, "date_order") for part in docs.parts):
        docs = _chats_of(read_documents(path, platform, date_order=date_order, **options))
    dropped: Counter[str] = Counter()
    unread: list[Unread] = []
    batches: list[Batch] = []
    for part in docs.parts:
        ledgers = part.ledgers()
        batches += part.batches(ledgers=ledgers)
        unread += [row for ledger in ledgers for row in ledger.unread]
        dropped.update(reason for ledger in ledgers for reason in ledger.drop_table()["reason"].to_pylist())
    check_unread(unread, docs.max_bad_files, sum(batch.num_rows for batch in batches))
    if dropped:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in dropped.most_common())
        n, are = dropped.total(), "is not a message and is" if dropped.total() == 1 else "are not messages and are"
        log.warning("%s of %s %s skipped: %s", counted(n, "record"), path, are, reasons)
    rows = pa.Table.from_batches([batch.select(READ.names) for batch in batches]).cast(READ)
    return shown_in_notebooks(_in_order(*_merged(_of_people(rows, known), known, merge=merge)))


def _chats_of(docs: Dataset) -> Dataset:
    """Return the Dataset without the other files in the folders of the chats."""
    texts = [part for part in docs.parts if isinstance(part.reader, BesideChats)]
    if texts:
        urls = [piece.url for part in texts for piece in part.slices]
        log.warning("files that are not chats are skipped: %d, the first is %s", len(urls), urls[0])
    return docs.of(part for part in docs.parts if part not in texts)


def _check(docs: Dataset) -> None:
    """Raise PlanError, showing the first line of the file, if the documents are not messages."""
    missing = [name for name in TABLE if name not in docs.columns]
    if not missing:
        return
    url = docs.parts[0].slices[0].url
    with files.open_read(url) as stream:
        head = head_as_utf8(stream.read(200), url)
    begins = head.decode("utf-8", "replace").lstrip("\ufeff\r\n").split("\n")[0][:80]
    msg = f"{url} is not a chat export of {', '.join(PLATFORMS[:-1])}: it begins {begins!r}; "
    if files.suffix(url) == ".txt":
        from dataprep.read.chats.whatsapp.headers import TRIED  # imports Numba

        msg += f"tried: {TRIED}; "
    msg += "name its platform with platform=, or set platform='chat' and line= for another format"
    raise PlanError(msg)


def _of_people(rows: pa.Table, people: Identities) -> pa.Table:
    """Return the rows with the names of people as authors, and as names of chats in which at most two people wrote."""
    if not people:
        return rows
    rows = rows.set_column(rows.schema.get_field_index("author"), READ.field("author"), people.renamed(rows["author"]))
    pairs = rows.filter(pc.is_valid(rows["author"])).select(["chat", "author"]).group_by("chat")
    counted = pairs.aggregate([("author", "count_distinct")])
    few = counted.filter(pc.less_equal(counted["author_count_distinct"], 2))["chat"].combine_chunks()
    chats = pc.if_else(pc.is_in(rows["chat"], few), people.renamed(rows["chat"]), rows["chat"])
    return rows.set_column(rows.schema.get_field_index("chat"), READ.field("chat"), chats)


def _merged(rows: pa.Table, people: Identities, *, merge: bool) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Return the distinct rows, and for each the row that it answers, int64[n] (-1: it is not an answer)."""
    ids = rows["id"].to_numpy()
    repeated = kept = np.zeros(0, np.int64)
    numbers = (ids >> np.uint64(B.POSITION_BITS)).astype(np.int64)
    if merge and (numbers[1:] != numbers[:-1]).any():  # of several files
        rows = _renamed(rows, people)
        repeated, kept = find_repeated(numbers, people.mentioning(rows))
    if len(repeated):
        said = "message is" if len(repeated) == 1 else "messages are"
        log.warning("%d %s in two exports of one chat; each is kept once", len(repeated), said)
    keep = np.ones(len(ids), bool)
    keep[repeated] = False
    kept_row = np.arange(len(ids))
    kept_row[repeated] = kept
    wanted = rows["reply_to"].fill_null(0).to_numpy()
    at, there = B.find_sorted(ids, wanted)
    answered = pc.is_valid(rows["reply_to"]).to_numpy() & there
    answers = np.where(answered, (np.cumsum(keep) - 1)[kept_row[at]], -1)
    return (rows.filter(pa.array(keep)) if len(repeated) else rows), answers[keep]


def _renamed(rows: pa.Table, people: Identities) -> pa.Table:
    """Return the rows with one name per chat: exports that share messages get the name of the first."""
    names = chat_names(spans_of(map(people.mentioning, rows.to_batches())))
    changed = {export: name for export, name in names.items() if export[0] != name}
    if not changed:
        return rows
    some = ", ".join(f"{chat} is now {name}" for (chat, _), name in list(changed.items())[:5])
    log.warning("%d exports share messages with an export of another name and take its name: %s", len(changed), some)
    numbers = (rows["id"].to_numpy() >> np.uint64(B.POSITION_BITS)).tolist()
    chats = [names.get(export, export[0]) for export in zip(rows["chat"].to_pylist(), numbers, strict=True)]
    return rows.set_column(rows.schema.get_field_index("chat"), "chat", pa.array(chats, pa.string()))


def _in_order(rows: pa.Table, answers: npt.NDArray[np.int64]) -> pa.Table:
    """Return the columns of the table, with chats in order of appearance and the messages of each by time."""
    chats = rows["chat"].combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy()
    times = np.zeros(len(rows), np.int64)
    for chat in np.unique(chats).tolist():
        own = np.flatnonzero(chats == chat)
        stamps = rows["time"].take(pa.array(own)).cast(pa.int64())
        times[own] = pc.fill_null_forward(stamps).fill_null(np.iinfo(np.int64).min).to_numpy()
    step = np.diff(chats)
    if bool(((step > 0) | ((step == 0) & (times[1:] >= times[:-1]))).all()):  # as in most exports
        reply_to = pa.array(answers, mask=answers < 0)
        columns = {name: rows[name].combine_chunks() for name in TABLE[:-1]}
    else:
        order = np.lexsort((np.arange(len(rows)), times, chats))
        row_of = np.empty(len(rows), np.int64)
        row_of[order] = np.arange(len(rows))
        answered = answers[order]
        reply_to = pa.array(row_of[answered], mask=answered < 0)
        columns = {name: rows[name].take(pa.array(order)) for name in TABLE[:-1]}
    if columns["text"].nbytes < 1 << 31:
        columns["text"] = columns["text"].cast(pa.string())
    return pa.table({**columns, "reply_to": reply_to})
