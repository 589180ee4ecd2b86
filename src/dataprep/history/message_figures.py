"""The figures of `MessageStats` as rows with labels, for the report and the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dataprep.core.model.stats import StageStats
from dataprep.messages.counts import CHARS, CONVERSATION_MESSAGES, CONVERSATION_SECONDS, OTHERS, REPLY_SECONDS, STAGE

MOST_NAMES = 12  # rows of a list; the others are one row
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
TITLES = {  # of the lists, in the order in which they are shown
    "author": "Messages by author",
    "chat": "Messages by chat",
    "kind": "Kinds of messages",
    "language": "Languages",
    "emoji": "Emoji",
}


class Lengths(NamedTuple):
    """A histogram of `MessageStats` to show.

    Attributes:
        histogram: the histogram's name in the statistics.
        title: the heading.
        unit: the name of the unit of the counts.
        axis: the title of the axis.
    """

    histogram: str
    title: str
    unit: str
    axis: str


LENGTHS = (
    Lengths(CONVERSATION_MESSAGES, "Messages per conversation", "conversations", "Messages, fewer than"),
    Lengths(CONVERSATION_SECONDS, "Duration of conversations", "conversations", "Time, less than"),
    Lengths(REPLY_SECONDS, "Time until a reply", "replies", "Time, less than"),
    Lengths(CHARS, "Length of texts", "texts", "Characters, fewer than"),
)


class NameRow(NamedTuple):
    """A row of a list: a name and its count `n`.

    Attributes:
        is_one: True if the row is for one name; False if it represents all names that are not shown, with their total
            count.
    """

    name: str
    n: int
    is_one: bool


def message_stats(stages: Sequence[StageStats]) -> StageStats | None:
    """Return the statistics of the first `MessageStats` stage, or None if there is none."""
    return next((stage for stage in stages if stage.name.startswith(STAGE)), None)


def most_frequent(counts: Counter[str], n: int = MOST_NAMES) -> list[NameRow]:
    """Return the `n` most frequent names as rows, and after them one row for all others.

    - counts: number by name.
    """
    named = sorted(((name, k) for name, k in counts.items() if name != OTHERS), key=lambda kv: (-kv[1], kv[0]))
    rest = counts[OTHERS] + sum(k for _, k in named[n:])
    n_others = len(named[n:])
    name = f"{n_others:,} others" if n_others and not counts[OTHERS] else OTHERS
    return [*(NameRow(name, k, is_one=True) for name, k in named[:n]), *([NameRow(name, rest, False)] if rest else [])]


def length_rows(stats: StageStats, histogram: str) -> list[tuple[str, int]]:
    """Return (upper bound as text, count) for each bucket of a histogram.

    Args:
        stats: the statistics of the stage `MessageStats`.
        histogram: the histogram's name, one of LENGTHS. The rows begin at the first bucket that is not empty.
    """
    counts = stats.histograms.get(histogram, Counter())
    label: Callable[[int], str] = _duration if "second" in histogram else _number
    buckets = range(min(counts), max(counts) + 1) if counts else ()
    return [(label(1 << bits), counts.get(bits, 0)) for bits in buckets]


def _number(n: int) -> str:
    return f"{n}" if n < 1024 else f"{n >> 10}k"


def _duration(seconds: int) -> str:
    """Return a duration in the largest unit that fits into it."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
