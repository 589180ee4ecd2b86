"""The lines of LINE's exports: dates on lines of their own, and lines that begin a message with a time.

Phones write `14:05<TAB>name<TAB>text`, desktops `14:05 name text`. Dates are written by the phone's language:
`2024/01/15(Mon)`, `2024.01.15 Monday`, `Mon, 01/15/2024`, `2024年1月15日(月)`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from .words import AFTER_NOON, BEFORE_NOON

WEEKDAY = r"[^\W\d_]\w{0,14}\.?"
DATE = re.compile(
    rf"(?:(?P<before>{WEEKDAY}),? )?(?P<a>\d{{1,4}})(?:[./-] ?|\s?[年년]\s?)(?P<b>\d{{1,2}})(?:[./-] ?|\s?[月월]\s?)"
    r"(?P<c>\d{1,4})(?:\s?[日일]|\.)?"
    r"(?: ?[(\uff08](?P<inside>[^)\uff09]{1,15})[)\uff09]|(?:,? |(?<=[日일]))(?P<after>\S{1,15}))?\s*\Z"
)
HALVES = "|".join((*BEFORE_NOON, *AFTER_NOON))
CLOCK = re.compile(
    rf"(?:(?P<half>{HALVES})[ \u202f]?)?(?P<hour>\d{{1,2}}):(?P<minute>\d\d)(?:[ \u202f]?(?P<end>[AaPp]\.?[Mm]\.?))?"
    r"(?P<gap>[\t ])(?P<rest>.*)\Z",
    re.DOTALL,
)
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
BUDDHIST = 543  # years between the calendars
MAX_LINE = 200  # characters of a date's line
MAX_PREFIXES = 100_000  # beginnings of lines that are counted, to find names with spaces
MAX_WORDS = 4  # of a name
FEW = 3
PLACEHOLDER = re.compile(r"\[[^\[\]\n]{2,30}\]\s*\Z")


class Written(NamedTuple):
    """A date as written: three numbers, and the day of the week, "" if there is none."""

    a: int
    b: int
    c: int
    weekday: str

    def day(self, order: str) -> int | None:
        """Return the day as a number (1: the first day of year 1); None if it does not exist.

        Args:
            order: "dmy" or "mdy", for dates that do not begin with the year. Years of the Buddhist calendar are
                converted.
        """
        year, month, day = (self.a, self.b, self.c) if self.a > 31 else (self.c, self.b, self.a)
        if self.a <= 31 and order == "mdy":
            month, day = self.a, self.b
        try:
            return date(year - BUDDHIST if year > 2400 else year, month, day).toordinal()
        except ValueError:
            return None


def date_of(line: str) -> Written | None:
    """Return the date that a line consists of; None if it is not such a line."""
    m = DATE.match(line) if len(line) <= MAX_LINE else None
    if not m or max(len(m["a"]), len(m["c"])) < 4:
        return None
    return Written(int(m["a"]), int(m["b"]), int(m["c"]), m["before"] or m["inside"] or m["after"] or "")


class Timed(NamedTuple):
    """A line that begins with a time: seconds since midnight, the next character, and the rest of the line."""

    seconds: int
    gap: str
    rest: str


def timed(line: str) -> Timed | None:
    """Return a line that begins with a time, parsed; None for other lines."""
    m = CLOCK.match(line)
    if not m or int(m["minute"]) > 59 or int(m["hour"]) > 24:
        return None
    hour = int(m["hour"])
    half = m["half"] or (m["end"] or "").replace(".", "").upper()
    if half and hour <= 12:
        hour = hour % 12 + 12 * (half in AFTER_NOON)
    return Timed(hour % 24 * 3_600 + int(m["minute"]) * 60, m["gap"], m["rest"])


@dataclass
class LineSurvey:
    """The results of one pass over a file: whether it has tabs, its date order, its names and its placeholders.

    Attributes:
        title: the file's first line.
        tabs: whether tabs separate time, name and text.
        order: "dmy" or "mdy".
        sure: whether the dates decide the order.
        placeholders: texts in brackets that several people have sent.
    """

    title: str = ""
    tabs: bool = False
    order: str = "dmy"
    sure: bool = True
    placeholders: frozenset[str] = frozenset()
    _next: dict[str, list[str]] = field(default_factory=dict)  # the words that follow a beginning: up to FEW of them
    _lines: Counter[str] = field(default_factory=Counter)

    def name_of(self, rest: str) -> tuple[str, str]:
        """Return (name, text) of a message in the desktop form, in which a space separates name and text.

        The name is the first word. It also includes the second word if at least three messages begin with the first
        word and all of them continue with the second, and so on for further words.
        """
        words = rest.split(" ", MAX_WORDS)
        n = 1
        while n + 1 < len(words) and n < MAX_WORDS:
            begins = " ".join(words[:n])
            if self._lines[begins] < FEW or len(self._next.get(begins, ())) != 1:
                break
            n += 1
        return " ".join(words[:n]), " ".join(words[n:])

    def add(self, rest: str) -> None:
        """Count the beginnings (first one, two ... words) of a line without tabs; one of them is the name.

        Args:
            rest: the text after the time.
        """
        words = [*rest.split(" ", MAX_WORDS)[:MAX_WORDS], ""]
        for n in range(1, len(words)):
            begins = " ".join(words[:n])
            if begins not in self._next and len(self._next) >= MAX_PREFIXES:
                return
            self._lines[begins] += 1
            follow = self._next.setdefault(begins, [])
            if words[n] not in follow and len(follow) < FEW:
                follow.append(words[n])


def survey(lines: Iterable[str], order: str | None) -> LineSurvey:
    """Return the LineSurvey of a file's lines.

    - order: the order of day and month that the user set, or None.
    """
    found = LineSurvey()
    dates: dict[Written, None] = {}
    senders: dict[str, Counter[str]] = {}
    for line in lines:
        found.title = found.title or line.strip()
        head = timed(line)
        if head is None:
            written = date_of(line)
            if written and written.a <= 31:
                dates.setdefault(written)
            continue
        found.tabs |= head.gap == "\t"
        name, _, text = head.rest.partition("\t")
        if head.gap == " ":
            found.add(head.rest)
        elif PLACEHOLDER.match(text) and (text in senders or len(senders) < 1_000):
            senders.setdefault(text, Counter())[name] += 1
    found.placeholders = frozenset(text for text, who in senders.items() if len(who) > 1 and who.total() >= FEW)
    if order or dates:
        found.order, found.sure = (order, True) if order else _order_of(list(dates))
    return found


def _order_of(dates: list[Written]) -> tuple[str, bool]:
    """Return the likelier order of day and month, and whether the dates decide it."""
    scores = {}
    for order in ("dmy", "mdy"):
        days = [one.day(order) for one in dates]
        known = [day for day in days if day is not None]
        named = sum(
            day is not None and (day - 1) % 7 == DAYS.index(one.weekday[:3].lower())
            for day, one in zip(days, dates, strict=True)
            if one.weekday[:3].lower() in DAYS
        )
        back = sum(later < earlier for earlier, later in itertools.pairwise(known))
        scores[order] = (len(known), named, -back)
    return max(scores, key=scores.__getitem__), scores["dmy"] != scores["mdy"]
