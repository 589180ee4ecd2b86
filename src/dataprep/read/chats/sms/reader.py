"""Reader of SMS Backup & Restore's XML: one document per text message (SMS), multimedia message (MMS) or call.

The file does not name the owner of the phone, who is called `me`. Other people have the contact's name, or their number
if it is not in the contacts. The names are collected in a first pass, since the sender of a group message is stated by
number. A chat is named after its other members. Times are UTC. Drafts are dropped, because they were never sent. The
position of a message is its number in the file. Messages keep the order of the file, which is not always chronological:
all MMS may follow after all SMS.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError, counted
from dataprep.read.chats.json_export import Bad, MessageRow, batch_of, refuse
from dataprep.read.chats.messages import ChatReader, files_of, kind_of_file, utc_text
from dataprep.read.trust import Trust
from dataprep.store import files

from .elements import Backup, Element, elements

log = logging.getLogger("dataprep")
NO_NAME = {"", "null", "(Unknown)"}
RECEIVED, DRAFT = "1", "3"
SENT = {"2", "4", "5", "6"}  # sent, in the outbox, failed, queued
FROM = "137"  # the type of an MMS's address that sent it
CALLS = {
    "1": "Incoming call", "2": "Outgoing call", "3": "Missed call", "4": "Voicemail", "5": "Rejected call",
    "6": "Blocked call", "7": "Call answered on another device",
}  # fmt: skip
BEGINS = re.compile(rb"\s*<(\?xml|!--|smses|calls)")
ROOT = re.compile(rb"<(smses|calls)[\s>/]")


@dataclass(frozen=True, kw_only=True)
class Sms(ChatReader):
    """Reads SMS Backup & Restore's files of messages and of calls.

    Args:
        me: the name of the phone's owner.
    """

    me: str = "Me"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.me.strip():
            msg = f"me={self.me!r} must be the name of the phone's owner, such as 'Me'"
            raise PlanError(msg)

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of a file as batches, one row per message or call; those before damage come first."""
        names = contact_names(piece.url)
        trust = Trust(piece.url, self.max_bad, remedy="name another reader with format=")
        backup, n = Backup(), 0
        for group in _groups(piece.url, backup):
            rows, chats, good = [], [], []
            bad: list[Bad] = []
            drafts: list[Bad] = []
            for k, one in enumerate(group, n):
                row, why = self._row(one, names)
                size = len(row.text.encode()) if row else 0
                if row is None or size > self.max_doc_bytes:
                    fault = Bad(k, size, why or "too_long", f"<{one.tag} ...>"[:60])
                    (drafts if why == "draft" else bad).append(fault)
                else:
                    rows.append(row)
                    chats.append(_chat(one, names))
                    good.append(k)
            n += len(group)
            refuse(bad, piece, stats, trust, good)
            stats.drop(_ids(drafts, piece), "draft", n_bytes=[0] * len(drafts))
            trust.good += len(drafts)
            if rows:
                yield batch_of(rows, chats, np.array(good), piece)
        stats.count("sms.repaired", backup.n_repaired)
        if backup.stated not in {None, n}:
            stated = counted(backup.stated, "message")
            log.warning("%s: the file states %s but has %d; it may be incomplete", piece.url, stated, n)
        trust.close()

    def _row(self, one: Element, names: Mapping[str, str]) -> tuple[MessageRow | None, str]:
        """Return (the columns of a message, ""), or (None, the reason to drop it)."""
        if one.tag == "call":
            return self._call(one, names), ""
        box = one.attributes.get("type" if one.tag == "sms" else "msg_box", "")
        if one.tag not in {"sms", "mms"}:
            return None, "not_a_message"
        if box != RECEIVED and box not in SENT:
            return None, "draft" if box == DRAFT else "unknown_type"
        author = self.me if box in SENT else _name(_sender(one), names)
        time = utc_text(_milliseconds(one) // 1000) if _milliseconds(one) else None
        meta = {"failed": True} if box == "5" else {}
        if one.tag == "sms":
            return MessageRow(one.attributes.get("body", ""), author, time, "text", meta), ""
        texts = [p.get("text", "") for p in one.parts if p.get("ct") == "text/plain"]
        others = [p for p in one.parts if p.get("ct") not in {"text/plain", "application/smil"}]
        named = [next((p[k] for k in ("cl", "name", "fn") if p.get(k, "null") != "null"), "") for p in others]
        kind = kind_of_file(named[0], others[0].get("ct")) if others else "text" if texts else "file"
        subject = one.attributes.get("sub", "null")
        meta |= files_of([name for name in named if name]) | ({"subject": subject} if subject not in NO_NAME else {})
        return MessageRow("\n".join(text for text in texts if text != "null"), author, time, kind, meta), ""

    def _call(self, one: Element, names: Mapping[str, str]) -> MessageRow:
        sort, duration = one.attributes.get("type", ""), one.attributes.get("duration", "0")
        seconds = f" ({duration} s)" if duration.isdecimal() and duration != "0" else ""
        author = self.me if sort == "2" else _name(_number(one), names)
        time = utc_text(_milliseconds(one) // 1000) if _milliseconds(one) else None
        return MessageRow(CALLS.get(sort, "Call") + seconds, author, time, "call")


def _groups(url: str, backup: Backup) -> Iterator[list[Element]]:
    with files.open_read(url) as stream:
        yield from elements(stream, url, backup)


def contact_names(url: str) -> dict[str, str]:
    """Return {phone number: contact's name} of a file; if the file is damaged, of the part before the damage."""
    names: dict[str, str] = {}
    with contextlib.suppress(ReadError):  # which is raised when the messages are read
        for group in _groups(url, Backup()):
            for one in group:
                number, name = _number(one), one.attributes.get("contact_name", "")
                if name not in NO_NAME and "~" not in number:
                    names.setdefault(number, name)
    return names


def _ids(bad: list[Bad], piece: Slice) -> B.Ids:
    return np.array([B.doc_id(piece.file, one.position) for one in bad], np.uint64)


def _milliseconds(one: Element) -> int:
    """Return the time of a message in milliseconds since 1970; 0 if it is not a number."""
    date = one.attributes.get("date", "")
    return int(date) if date.isascii() and date.isdecimal() and len(date) < 16 else 0


def _number(one: Element) -> str:
    """Return the number that an element states; those of a group are joined by "~"."""
    return one.attributes.get("number" if one.tag == "call" else "address", "")


def _name(number: str, names: Mapping[str, str]) -> str:
    return names.get(number) or number or "Unknown number"


def _sender(one: Element) -> str:
    """Return the number that sent a message."""
    sent = (a.get("address", "") for a in one.addresses if a.get("type") == FROM)
    number = next(sent, "")
    return number if number and number != "insert-address-token" else _number(one)


def _chat(one: Element, names: Mapping[str, str]) -> str:
    """Return the name of a message's chat: the names or numbers of its other members, sorted."""
    members = {_name(number, names) for number in _number(one).split("~")}
    return ", ".join(sorted(members))


def is_sms(head: bytes, url: str) -> bool:  # noqa: ARG001 - every sniffer is called so
    """Return whether `head`, a file's first bytes, is the beginning of a file of SMS Backup & Restore."""
    return bool(BEGINS.match(head)) and bool(ROOT.search(head))
