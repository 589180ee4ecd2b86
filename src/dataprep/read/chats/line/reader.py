"""Reader of LINE's text exports, of phones and of desktops: one document per message.

Dates are lines of their own, in the form of the phone's language. A phone writes tabs between time, name and text, and
quotes around a text of several lines, which are removed. A desktop writes spaces: a name of several words is found
because all its messages begin with them. A message without a name is LINE's own: its author is null.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from dataprep.core.model.batch import doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError
from dataprep.read.chats.headed import UNIX_DAY, FirstLine, Headed, Held, MessageContent, chat_of
from dataprep.read.trust import Trust
from dataprep.store import files

from .forms import LineSurvey, Timed, date_of, survey, timed
from .words import EVENTS, UNSENT, kind_of, title_of

log = logging.getLogger("dataprep")
TITLE_LINES = 5  # lines before the first date that are LINE's title


@dataclass(frozen=True, kw_only=True)
class LineChat(Headed):
    """Reads LINE's text exports.

    Attributes:
        date_order: "dmy" or "mdy", the order of day and month in dates that do not start with the year; None: inferred
            from the dates.
    """

    date_order: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.date_order not in {None, "dmy", "mdy", "ymd"}:
            msg = f"date_order={self.date_order!r} must be one of dmy, mdy, ymd"
            raise PlanError(msg)

    def expected(self) -> str:
        """Return a description of the form of an export, for the error about a file without messages."""
        return "LINE's: a line with a date, as 2024/01/15(Mon), then lines with time, name and text (14:05 Ilse tea?)"

    def chat(self, piece: Slice) -> str:
        """Return the chat's name, which is in the first line of the file; without such a line, the name of the file."""
        first = next((line.data.decode("utf-8", "replace") for line in self._lines(piece) if line.data), "")
        name = chat_of(piece.url)
        return title_of(first.strip()) or title_of(name) or name

    def _messages(self, piece: Slice, stats: Ledger, trust: Trust) -> Iterator[Held]:
        order = self.date_order if self.date_order != "ymd" else None
        lines = (line.data.decode("utf-8", "surrogateescape") for line in self._lines(piece) if line.data)
        found = survey(lines, order)
        if not found.sure:
            log.warning("%s: dates such as 05/03 are ambiguous; day before month is used; see date_order=", piece.url)
        stats.count(f"order.{found.order}")
        head: FirstLine | None = None
        rest: list[bytes] | None = []
        position = n_bytes = n_dates = n_title = 0
        day: int | None = None
        quoted, blank = False, True
        for line in self._lines(piece):
            text = "" if line.data is None else line.data.decode("utf-8", "surrogateescape")
            written = None if quoted and not blank else date_of(text)
            begins = None if day is None or line.data is None else _first_line(text, day, found)
            blank = line.data is not None and not text.strip()
            if written and written.day(found.order) is not None:
                if head:
                    yield Held(position, head, rest, n_bytes)
                head, day, quoted = None, written.day(found.order), False
                n_dates += 1
                continue
            if begins:
                if head:
                    yield Held(position, head, rest, n_bytes)
                head, rest, position, n_bytes = begins, [], line.position, 0
                quoted = begins.text[:1] == '"' and not (len(begins.text) > 1 and begins.text.endswith('"'))
            elif not head:
                if day is None and n_title < TITLE_LINES and text.strip() and not timed(text):
                    n_title += 1
                elif line.data is None or text.strip():
                    first = partial("no message begins with {!r}".format, text[:60])
                    trust.count([], [line.position], first)
                    stats.drop([doc_id(piece.file, line.position)], "no_header", n_bytes=[line.n_bytes])
                continue
            elif rest is not None and line.data is not None:
                rest.append(line.data)
                quoted = quoted and not text.endswith('"')
            n_bytes += line.n_bytes + 1
            if line.data is None or n_bytes > self.max_doc_bytes + 1:
                rest = None
        stats.count("line.dates", n_dates)
        stats.count("line.title", n_title)
        if head:
            yield Held(position, head, rest, n_bytes, last=True)

    def row(self, head: FirstLine, text: str) -> MessageContent:
        """Return author, text and kind of a message; quotes around a text of several lines are removed.

        Args:
            head: the parsed first line.
            text: the whole text.
        """
        if "\n" not in text:
            return MessageContent(head.author, text, head.kind or "text", {})
        inner = text[1:-1]
        if text[0] == text[-1] == '"':
            text = inner.replace('""', '"') if '"' not in inner.replace('""', "") else inner
        return MessageContent(head.author, text, head.kind if head.kind in {"system", "call"} else "text", {})


def _first_line(text: str, day: int, found: LineSurvey) -> FirstLine | None:
    """Return the first line of a message on the day number `day`; None if the line does not begin one."""
    head = timed(text)
    if head is None or (found.tabs and head.gap != "\t"):
        return None
    name, said = _split(head, found)
    time = (day - UNIX_DAY) * 86_400 + head.seconds
    if not name or (not found.tabs and EVENTS.fullmatch(f"{name} {said}")):
        said = said if found.tabs else head.rest
        kind = kind_of(said, bracketed=True)
        return FirstLine(time, None, said, kind if kind in {"call", "deleted"} else "system")
    if not found.tabs and UNSENT.fullmatch(head.rest):
        return FirstLine(time, None, head.rest, "deleted")
    kind = kind_of(said, bracketed=found.tabs)
    return FirstLine(time, name, said, "file" if kind == "text" and said in found.placeholders else kind)


def _split(head: Timed, found: LineSurvey) -> tuple[str, str]:
    """Return (name, text); the name is "" if LINE itself wrote the message."""
    if not found.tabs:
        return found.name_of(head.rest)
    name, tab, said = head.rest.partition("\t")
    return (name.strip(), said) if tab else ("", name)


def is_line(head: bytes, url: str) -> bool:
    """Return whether `head`, the first bytes of the file `url`, is the beginning of a LINE export.

    It must begin with [LINE], or with a date and a line with a time. Diaries may begin like this too; therefore, if the
    file has no tabs, its name must begin with [LINE], as the names of desktop exports do.
    """
    lines = [line.strip("\r ") for line in re.split(r"\r?\n|\r", head[:8_192].decode("utf-8", "replace"))]
    lines = [line for line in lines if line][:2]
    if len(lines) < 2:
        return False
    if lines[0].startswith("[LINE]"):
        return True
    written = date_of(lines[0])
    first = timed(lines[1])
    if not written or written.a <= 31 or not written.weekday or not first:
        return False
    return first.gap == "\t" or files.name_of(url).startswith("[LINE]")
