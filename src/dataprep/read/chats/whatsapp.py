"""WhatsApp's exported chats (`.txt`): one document a message, with columns chat, author, time and kind.

Read are the forms of Android (`03/05/2024, 09:12 - Ilse: hello`) and iOS (`[03/05/2024, 09:12:05] Ilse: hello`), with
12 or 24 hours, their no-break spaces and direction marks, and two older ones; recognised by words (media, deleted,
system) are exports in English so far: `WORDS` is the table to widen. A line that begins with no date continues the
message before; a line that looks like a header in the middle of a message cannot be told from one, and becomes one.
Day and month are told by the whole file. The position is the byte offset of the message.
"""

from __future__ import annotations

import functools
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from ... import batch as B
from ... import files
from ...batch import Batch, doc_id
from ...errors import PlanError
from ...meter import Meter
from ...part import Slice
from ..text import Lines, Record, is_utf8
from ..trust import Trust
from .messages import COLUMNS, message_batch

MARKS = "\ufeff\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069"  # direction marks and the byte order mark
SPACE = "[ \u00a0\u202f]"
DATE = r"(?P<a>\d{1,4})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<c>\d{1,4})"
TIME = rf"(?P<h>\d{{1,2}})[:.](?P<m>\d\d)(?:[:.](?P<s>\d\d))?(?:{SPACE}?(?P<half>[aApP])\.?{SPACE}?[mM]\.?)?"
HEADER = re.compile(
    rf"[{MARKS}]*(?P<bracket>\[)?{DATE}(?:,| -)?{SPACE}+{TIME}(?(bracket)\]{SPACE}?|(?P<end>{SPACE}-{SPACE}|: |; ))"
)
AUTHOR = re.compile(r"(?P<author>[^\n]{1,200}?):(?: |$)")
EDITED = re.compile(rf" ?[{MARKS}]*<This message was edited>$")
ORDERS = ("dmy", "mdy", "ymd")

# What stands in place of a message, by kind: the whole of its first line, marks and full stop left out.
WORDS = {
    "media omitted": "file",
    "<media omitted>": "file",
    "null": "file",  # what Android writes for media to be viewed once
    "image omitted": "image",
    "video omitted": "video",
    "gif omitted": "gif",
    "audio omitted": "audio",
    "sticker omitted": "sticker",
    "document omitted": "file",
    "contact card omitted": "contact",
    "video note omitted": "video",
    "this message was deleted": "deleted",
    "you deleted this message": "deleted",
    "missed voice call": "call",
    "missed video call": "call",
    "missed group voice call": "call",
    "missed group video call": "call",
    "voice call": "call",
    "video call": "call",
    "live location shared": "location",
}
BEGINS = {"location: http": "location", "poll:": "poll", "this message was deleted by": "deleted"}
# A line without an author may hold a colon: what stands before it is no name if it holds one of these.
SYSTEM = re.compile(
    r" (created (this )?group|changed (the|this|their|to)|added |removed |joined |left$|pinned )|"
    r"^(Messages (and calls|to this)|You('re| are| created| changed| added| joined| were)|Your security code)"
)
NAMES = (  # what the names of attached files tell
    (re.compile(r"(^|-)(STK|STICKER)-|\.webp$", re.IGNORECASE), "sticker"),
    (re.compile(r"(^|-)GIF-|\.gif$", re.IGNORECASE), "gif"),
    (re.compile(r"(^|-)(IMG|PHOTO)-|\.(jpe?g|png|heic)$", re.IGNORECASE), "image"),
    (re.compile(r"(^|-)(VID|VIDEO)-|\.(mp4|mov|3gp|webm)$", re.IGNORECASE), "video"),
    (re.compile(r"(^|-)(AUD|AUDIO|PTT)-|\.(opus|ogg|m4a|mp3|aac|wav)$", re.IGNORECASE), "audio"),
    (re.compile(r"\.vcf$", re.IGNORECASE), "contact"),
)


class Header(NamedTuple):
    """The beginning of a message: its date as written, seconds of the day, the form, and where the rest starts."""

    date: tuple[int, int, int]
    seconds: int
    form: str
    length: int
    day_first: bool  # what the way of writing suggests


@dataclass(frozen=True, kw_only=True)
class WhatsApp(Lines):
    """Reads exported chats. date_order: "dmy", "mdy" or "ymd" where the file does not tell. max_bad: see `trust.py`."""

    date_order: str | None = None
    splits: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.date_order not in {None, *ORDERS}:
            msg = f"date_order={self.date_order!r} is none of {', '.join(ORDERS)}"
            raise PlanError(msg)

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """chat, author (null where WhatsApp itself speaks), time as the phone wrote it, kind, reply_to (null)."""
        return COLUMNS

    def __call__(self, piece: Slice, stats: Meter) -> Iterator[Batch]:
        """The messages of a file."""
        trust = Trust(piece.url, self.max_bad, remedy="format= names another reader")
        survey = Survey(self._lines(piece))
        order = self.date_order or survey.order()
        held: list[tuple[Record, Header]] = []
        for message in self._messages(piece, survey.forms(), order, stats, trust):
            held.append(message)
            if len(held) >= B.MAX_ROWS // 4:
                yield from _batch(held, order, piece, stats, trust)
                held = []
        yield from _batch(held, order, piece, stats, trust)
        trust.close()

    def _messages(
        self, piece: Slice, forms: set[str], order: str, stats: Meter, trust: Trust
    ) -> Iterator[tuple[Record, Header]]:
        """Headers with all the lines up to the next; lines before the first header are dropped."""
        header: Header | None = None
        held: list[bytes] | None = []
        position = n_bytes = 0
        for line in self._lines(piece):
            found = None if line.data is None else header_of(line.data.decode("utf-8", "replace"))
            if found and found.form in forms and time_of(found, order):
                if header:
                    yield Record(position, None if held is None else b"\n".join(held), n_bytes), header
                header, held, position, n_bytes = found, [], line.position, 0
            elif not header:
                if line.data is None or line.data.strip():
                    trust.saw([], [line.position], functools.partial(_no_date, line))
                    stats.drop([doc_id(piece.file, line.position)], "no_header", n_bytes=[line.n_bytes])
                continue
            n_bytes += line.n_bytes + 1
            if held is None or line.data is None or n_bytes > self.max_doc_bytes:
                held = None
            else:
                held.append(line.data)
        if header:
            yield Record(position, None if held is None else b"\n".join(held), n_bytes), header


def _no_date(line: Record) -> str:
    return f"no date begins the line {(line.data or b'')[:60]!r}"


class Survey:
    """What the headers of a whole file tell together: which forms it has, and which number is the day."""

    def __init__(self, lines: Iterator[Record]) -> None:
        self.count: Counter[str] = Counter()
        numbers = array("q")
        self.day_first = True
        for line in lines:
            header = header_of(line.data.decode("utf-8", "replace")) if line.data else None
            if header:
                self.count[header.form] += 1
                numbers.extend((*header.date, header.seconds))
                self.day_first &= header.day_first
        self.numbers = np.array(numbers, np.int64).reshape(-1, 4)

    def forms(self) -> set[str]:
        """Brackets and dashes may be mixed; the older forms look like plain text, and count if they prevail."""
        modern = self.count["["] + self.count["-"]
        return {"[", "-"} | {f for f in (":", ";") if self.count[f] > modern}

    def order(self) -> str:
        """Which order makes the most dates possible, then time go back least; then how the dates are written."""
        a, b, c, seconds = self.numbers.T
        dates = {"dmy": (c, b, a), "mdy": (c, a, b), "ymd": (a, b, c)}
        possible = {o: int(((m <= 12) & (d <= 31) & (y < 2100)).sum()) for o, (y, m, d) in dates.items()}
        if (a > 31).sum() * 2 < len(a):
            possible["ymd"] = -1  # years of two digits come last, unless said otherwise
        back = {
            o: int((np.diff((y * 372 + m * 31 + d) * 86_400 + seconds) < 0).sum()) for o, (y, m, d) in dates.items()
        }
        habit = ("dmy", "mdy", "ymd") if self.day_first else ("mdy", "dmy", "ymd")
        return min(ORDERS, key=lambda o: (-possible[o], back[o], habit.index(o)))


def looks_like_chat(url: str) -> bool:
    """Whether a text file begins with a WhatsApp header, and one of its first lines names an author."""
    with files.open_read(url) as stream:
        lines = stream.read(1 << 16).decode("utf-8", "replace").split("\n")
    headers = [(line, header_of(line)) for line in lines if line.strip()]
    if not headers or headers[0][1] is None:
        return False
    return any(h and h.form in {"[", "-", ":"} and _author(line[h.length :])[0] for line, h in headers)


def header_of(line: str) -> Header | None:
    """The header a line begins with."""
    m = HEADER.match(line)
    if m is None:
        return None
    a, b, c, hour, minute, second = (int(m[k] or 0) for k in ("a", "b", "c", "h", "m", "s"))
    if m["half"] and hour <= 12:  # some phones write 00:04 AM, and 22:35 PM
        hour = hour % 12 + 12 * (m["half"] in "pP")
    if hour > 23 or minute > 59 or second > 59:
        return None
    form = "[" if m["bracket"] else m["end"].strip(" \u00a0\u202f")
    united_states = m["sep"] == "/" and min(len(m["a"]), len(m["b"])) == 1 and "." not in m[0]  # 5/3/24, 1:02 PM
    return Header((a, b, c), hour * 3_600 + minute * 60 + second, form, m.end(), not united_states)


def time_of(header: Header, order: str) -> int | None:
    """Seconds since 1970 on the phone's clock; None if neither the order nor its opposite makes a date."""
    a, b, c = header.date
    for y, m, d in {"dmy": ((c, b, a), (c, a, b)), "mdy": ((c, a, b), (c, b, a)), "ymd": ((a, b, c),)}[order]:
        try:
            days = datetime(y + 2_000 if y < 100 else y, m, d).toordinal() - 719_163  # noqa: DTZ001 - a phone's clock
        except ValueError:
            continue
        return days * 86_400 + header.seconds
    return None


def _author(rest: str) -> tuple[str | None, str]:
    """Who speaks (None: WhatsApp) and what is said."""
    m = AUTHOR.match(rest)
    if m is None or SYSTEM.search(m["author"]):
        return None, rest
    name = m["author"].strip(MARKS + " \u00a0\u202f").removeprefix("~").lstrip(" \u00a0\u202f")
    return name or None, rest[m.end() :]


def kind_of(author: str | None, said: str) -> str:
    """text, or what stands in its place: a kind of media, deleted, call, location, poll, contact, system."""
    first = said.split("\n", 1)[0]
    for part in (first, first.rsplit("\u200e", 1)[-1]):
        bare = part.strip(MARKS + " \u00a0\u202f").lower()
        kind = WORDS.get(bare.rstrip(".")) or next((k for b, k in BEGINS.items() if bare.startswith(b)), None)
        if kind and author:
            return kind
    name = _attached(first.strip(MARKS + " "))
    if name:
        return next((kind for pattern, kind in NAMES if pattern.search(name)), "file")
    spoken_by_whatsapp = first.startswith("\u200e") and SYSTEM.search(first.lstrip(MARKS))  # people's may have the mark
    return "system" if author is None or spoken_by_whatsapp else "text"


def _attached(line: str) -> str:
    """The name of the file a line says is attached, or nothing."""
    if line.endswith(" (file attached)"):
        return line.removesuffix(" (file attached)")
    _, found, name = line.rpartition("<attached: ")
    return name.removesuffix(">") if found and name.endswith(">") else ""


def _batch(held: list[tuple[Record, Header]], order: str, piece: Slice, stats: Meter, trust: Trust) -> Iterator[Batch]:
    """Messages as one batch; those that are too long or not UTF-8 are dropped."""
    rows: list[tuple[Any, ...]] = []
    chat = chat_of(piece.url)
    bad: list[tuple[Record, str]] = []
    for record, header in held:
        if record.data is None or not is_utf8(record.data):
            bad.append((record, "too_long" if record.data is None else "invalid_utf8"))
            continue
        author, said = _author(record.data.decode()[header.length :])
        kind = kind_of(author, said)
        text = EDITED.sub("", said.strip(MARKS + "\n"))
        rows.append((doc_id(piece.file, record.position), text, author, time_of(header, order), kind))
    trust.saw([0] * len(rows), [r.position for r, _ in bad], lambda: bad[0][1])
    ids = [doc_id(piece.file, r.position) for r, _ in bad]
    stats.drop(np.array(ids, np.uint64), [why for _, why in bad], n_bytes=[r.n_bytes for r, _ in bad])
    if not rows:
        return
    numbers, texts, authors, times, kinds = zip(*rows, strict=True)
    columns = {"chat": [chat] * len(rows), "author": authors, "time": times, "kind": kinds}
    yield message_batch(piece, np.array(numbers, np.uint64), list(texts), columns)


def chat_of(url: str) -> str:
    """The chat's name: what the phone put in the file's name, or the folder's where the file is `_chat.txt`."""
    name = re.sub(r"\.txt(\.(gz|zst|xz))?$", "", files.name_of(url), flags=re.IGNORECASE)
    if name == "_chat":
        name = files.name_of(url.rpartition("/")[0]) or name
    return re.sub(r"^WhatsApp Chat (with|-) ", "", name)
