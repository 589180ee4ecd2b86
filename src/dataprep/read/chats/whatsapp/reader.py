"""Reader of WhatsApp's exported chats (`.txt`, or the phone's `.zip`) in any language: one document per message.

The file is read twice. The first pass collects the dates, which determine the order of day and month, and the lines
that begin messages (headers, `dates.py`). The second pass reads the messages; a line that is not a header continues the
message before. A quoted header is text if no other line has the same form, if its date is impossible, or if its author
is unknown and its time does not fit (`headers.py`). All other quoted headers become messages.

The position is the byte offset of the message's first byte; the chats of a zip count as if they were joined. At the
end of a truncated file, half a character or half a header is removed and counted.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats.charsets import Charset
from dataprep.read.chats.messages import ChatReader, message_batch
from dataprep.read.text import BLOCK, blocks
from dataprep.read.trust import Trust
from dataprep.unicode.valid import is_utf8

from . import headers as H
from . import scan as S
from .archives import Export, exports
from .authors import Authors, strings
from .calendars import Ints
from .cut_end import whole_end
from .dates import ORDERS, DateOrders, Survey
from .kinds import is_system, recognise
from .recurring import EditMarks, Recurring

log = logging.getLogger("dataprep")
_WARNED: set[str] = set()


@dataclass(frozen=True, kw_only=True)
class WhatsApp(ChatReader):
    """Reads chats exported from WhatsApp, one document per message.

    Attributes:
        date_order: the order of day, month and year: "dmy", "mdy" or "ymd"; None: inferred from all dates of the file,
            and counted in the statistics as `order.dmy`; a warning is logged if the dates are ambiguous. Dates that
            start with a year of four digits are always recognised.
    """

    date_order: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.date_order not in {None, *ORDERS}:
            msg = f"date_order={self.date_order!r} must be one of {', '.join(ORDERS)}"
            raise PlanError(msg)

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the messages of all chats in a file as batches, one row per message.

        Raises ReadError if a chat has no header, or `date_order` contradicts its dates.
        """
        base = 0
        with exports(piece.url, stats) as found:
            for export in found:
                chat = _Chat(self, export, piece, stats, base)
                yield from chat.batches()
                base = chat.stop


class _Held(NamedTuple):
    """Message whose end is not read yet: position, its header's row, time and bytes so far (None: over the limit)."""

    position: int
    row: Ints
    time: int
    data: list[bytes] | None
    n_bytes: int


@dataclass
class _Chat:
    """Reads one export."""

    reader: WhatsApp
    export: Export
    piece: Slice
    stats: Ledger
    base: int
    stop: int = 0  # the position after its last byte
    whole: bool = True  # whether its last line has a line feed
    marked: bool = False  # whether a message's first line has a direction mark, as all that iOS writes itself
    charset: Charset | None = None
    authors: Authors = field(default_factory=Authors)
    doubtful: H.DoubtfulLines = field(default_factory=H.DoubtfulLines)
    recurring: Recurring = field(default_factory=Recurring)
    edits: EditMarks = field(default_factory=EditMarks)
    edit_marks: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.trust = Trust(self.piece.url, self.reader.max_bad, remedy="name another reader with format=")

    def batches(self) -> Iterator[Batch]:
        self.charset = self.export.charset()
        survey, first_line = self._survey()
        plan = survey.plan(self.reader.date_order)
        if not plan.orders:
            raise H.without_headers(self.piece.url, first_line)
        self._state(plan)
        if self.charset:
            self.charset.state(self.piece.url, self.stats)
        self.edit_marks = self.edits.found()
        text = self.doubtful.text(plan)
        self.stats.count("header_like_text", len(text))
        held: _Held | None = None
        for data, stop, start in self._blocks():
            if data is None:
                held = self._append(held, None, stop, start)
                continue
            found = H.find(data, stop)
            times, which = plan.times(found, start)
            which[np.isin(found[:, S.START] + start, text)] = -1
            rows = np.flatnonzero(which >= 0)
            for number, order in enumerate(ORDERS):
                self.stats.count(f"order.{order}", int((which == number).sum()))
            if not len(rows):
                held = self._append(held, data[:stop].tobytes(), stop, start)
                continue
            found, times = found[rows], times[rows]
            first, last = found[[0, -1], S.START].tolist()
            held = self._append(held, data[:first].tobytes(), first, start)
            yield from self._messages(held, data, found, times, start)
            held = _Held(int(start + last), _moved(found[-1:], -last)[0], int(times[-1]), [], 0)
            held = self._append(held, data[last:stop].tobytes(), stop - last, start)
        if held:
            yield from self._messages(self._uncut(held, plan), np.zeros(0, np.uint8), np.zeros((0, S.FIELDS), np.int64),
                                      np.zeros(0, np.int64), 0)  # fmt: skip
        self.trust.close()

    def _blocks(self) -> Iterator[tuple[Any, int, int]]:
        """Yield blocks of whole lines: bytes, how many count, position; None for a line that is too long."""
        with self.export.open(self.charset) as stream:
            size = 0
            for block in blocks(stream, 0, None, max(self.reader.max_doc_bytes, BLOCK)):  # type: ignore[arg-type]
                long = block.too_long is not None
                n_bytes = block.stop if block.too_long is None else block.too_long + 1
                yield None if long else block.data, n_bytes, self.base + block.start
                size = block.start + n_bytes
            self.stop, self.whole = self.base + stream.n_bytes, stream.n_bytes == size

    def _survey(self) -> tuple[Survey, bytes]:
        survey, first_line = Survey(), b""
        for data, stop, start in self._blocks():
            if data is None:
                continue
            found = H.find(data, stop)
            survey.add(found, start)
            if len(found):
                self._learn(data, found, start)
            first_line = first_line or data[: min(stop, 4_096)].tobytes().strip().split(b"\n", 1)[0]
        return survey, first_line

    def _learn(self, data: npt.NDArray[np.uint8], found: Ints, start: int) -> None:
        """Store the authors, and the lines that seem to have no author."""
        names, codes = self.authors.learn(data, found)
        plain = np.array([name is None for name in names], np.bool_)[codes]
        unnamed = np.flatnonzero(plain)
        lines = strings(*S.gather(data, found[unnamed, S.BODY], found[unnamed, S.LINE_STOP])).to_pylist()
        plain[unnamed] = [not is_system(line) for line in lines]
        self.doubtful.add(found, start, codes, names, plain)
        begin = np.where(found[:, S.SAID] >= 0, found[:, S.SAID], found[:, S.BODY])
        self.recurring.add(data, found, begin, names, codes)
        self.edits.add(data, found, begin, names, codes)
        self.marked = self.marked or S.marked(data, begin, found[:, S.LINE_STOP])

    def _state(self, plan: DateOrders) -> None:
        """Log and count the orders in which dates are read."""
        if plan.n_impossible:
            msg = (
                f"date_order='{self.reader.date_order}' makes {plan.n_impossible:,} dates impossible, such as"
                f" {plan.impossible}; leave it out, or set it to the order in this file"
            )
            raise ReadError(msg, self.piece.url)
        names = ", ".join(dict.fromkeys(o.name for orders in plan.orders.values() for o in orders))
        if plan.undecided and self.piece.url not in _WARNED:  # once: a run reads a file several times
            _WARNED.add(self.piece.url)
            log.warning(
                "%s: dates such as %s are ambiguous and are read as %s; set date_order= to change this",
                self.piece.url, plan.undecided, names,
            )  # fmt: skip
        if plan.undecided:
            self.stats.count("order.undecided")
        else:
            log.info("%s: dates are read as %s", self.piece.url, names)

    def _append(self, held: _Held | None, data: bytes | None, size: int, start: int) -> _Held | None:
        """Append bytes to the open message (None: over the limit); drop bytes before the first message."""
        if held is None:
            self._lost(data, start, size)
            return None
        n_bytes = held.n_bytes + size
        if held.data is None or data is None or n_bytes > self.reader.max_doc_bytes + 1:
            return held._replace(data=None, n_bytes=n_bytes)
        held.data.append(data)
        return held._replace(n_bytes=n_bytes)

    def _lost(self, data: bytes | None, start: int, size: int) -> None:
        """Drop lines before the first header, whose time and author are unknown."""
        for line in [b"..."] if data is None else data.split(b"\n"):
            n_bytes = size if data is None else len(line)
            if line.strip(b" \r\t\xef\xbb\xbf"):
                self.trust.count([], [start], functools.partial("no date begins the line {!r}".format, line[:60]))
                self.stats.drop([doc_id(self.piece.file, start)], "no_header", n_bytes=[n_bytes])
            start += n_bytes + 1

    def _uncut(self, held: _Held, plan: DateOrders) -> _Held:
        """Return the last message without half a character or half a header at the end of a truncated file."""
        if held.data is None or self.whole:
            return held
        data, is_cut, header = whole_end(b"".join(held.data), int(held.row[S.BODY]), plan)
        self.stats.count("cut_in_a_character", is_cut)
        if header:
            self.stats.drop([doc_id(self.piece.file, held.position + len(data))], "cut_header", n_bytes=[header])
        return held._replace(data=[data], n_bytes=len(data))

    def _messages(
        self, held: _Held | None, block: npt.NDArray[np.uint8], found: Ints, times: Ints, start: int
    ) -> Iterator[Batch]:
        """Yield the open message, and all messages that begin in a block except the last, as batches."""
        before = b"".join(held.data or []) if held else b""
        last = int(found[-1, S.START]) if len(found) else 0
        first = int(found[0, S.START]) if len(found) else 0
        data = np.frombuffer(before + block[first:last].tobytes() + bytes(8), np.uint8)[: len(before) + last - first]
        rows = _moved(found[:-1], len(before) - first)
        positions, when = found[:-1, S.START] + start, times[:-1]
        sizes = np.diff(found[:, S.START]) if len(found) else np.zeros(0, np.int64)
        if held and held.data is not None:
            rows, positions = np.vstack([held.row, rows]), np.r_[held.position, positions]
            when, sizes = np.r_[held.time, when], np.r_[held.n_bytes, sizes]
        elif held:
            self.trust.count([], [held.position], lambda: "too long")
            self._drop(np.array([held.position]), ["too_long"], np.array([held.n_bytes]))
        if len(rows):
            yield from self._batches(data, rows, positions, when, sizes)

    def _batches(self, data: Any, rows: Ints, positions: Ints, when: Ints, sizes: Ints) -> Iterator[Batch]:
        """Drop messages that are too long or not UTF-8; yield the others as columns."""
        stops = rows[:, S.START] + sizes
        bad = sizes > self.reader.max_doc_bytes + 1
        reasons = np.where(bad, "too_long", "").astype("<U12")
        if not is_utf8(data):
            pieces = zip(np.flatnonzero(~bad).tolist(), rows[~bad, S.START].tolist(), stops[~bad].tolist(), strict=True)
            invalid = [row for row, first, last in pieces if not is_utf8(data[first:last].tobytes())]
            bad[invalid], reasons[invalid] = True, "invalid_utf8"
        self.trust.count(positions[~bad], positions[bad], lambda: str(reasons[bad][0]).replace("_", " "))
        self._drop(positions[bad], reasons[bad].tolist(), sizes[bad])
        good = np.flatnonzero(~bad)
        for cut in range(0, len(good), B.MAX_ROWS):
            some = good[cut : cut + B.MAX_ROWS]
            yield self._batch(data, rows[some], positions[some], when[some], stops[some] - 1)

    def _batch(self, data: Any, rows: Ints, positions: Ints, when: Ints, stops: Ints) -> Batch:
        rows = self.authors.ended(data, rows)
        names, named = self.authors.of(data, rows)
        after = np.where(rows[:, S.SAID] >= 0, rows[:, S.SAID], -2 - rows[:, S.SAID])
        offsets, out = S.gather(data, np.where(named, np.minimum(after, stops), rows[:, S.BODY]), stops)
        said = B.strings(offsets, out)
        kinds, texts, metas = recognise(said, named, marked=self.marked, edit_marks=self.edit_marks)
        kinds = self.recurring.kinds(said, kinds, self.stats)
        n = len(rows)
        chat = pa.repeat(pa.scalar(self.export.chat), n)
        authors = pc.if_else(pc.equal(kinds, "system"), None, names)  # iOS has the chat's name there
        columns = {"chat": chat, "author": authors, "time": pa.array(when), "kind": kinds}
        ids = np.uint64(doc_id(self.piece.file, 0)) + positions.astype(np.uint64)
        return message_batch(self.piece, ids, texts, columns, metas)

    def _drop(self, positions: Ints, reasons: list[str], sizes: Ints) -> None:
        if len(positions):
            ids = np.uint64(doc_id(self.piece.file, 0)) + positions.astype(np.uint64)
            self.stats.drop(ids, reasons, n_bytes=sizes)


def _moved(rows: Ints, by: int) -> Ints:
    """Return rows of `scan` with positions shifted by `by` bytes."""
    moved = rows.copy()
    for column in (S.START, S.BODY, S.NAME, S.NAME_STOP, S.LINE_STOP):
        moved[:, column] += by
    said = rows[:, S.SAID]
    moved[:, S.SAID] = np.where(said >= 0, said + by, np.where(said == -1, -1, said - by))
    return moved
