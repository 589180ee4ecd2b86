"""The counts of `MessageStats`, and of `Pseudonyms` in a dry run: names, and tables for report and terminal.

This module loads no kernels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

STAGE = "MessageStats"
PEOPLE = ("author", "chat")  # families whose values are names of people
FAMILIES = ("kind", "author", "chat", "clock", "month", "language", "emoji")
"""First parts of count names `family.value`; clock.1.09 is Monday, from nine to ten."""
CONVERSATION_MESSAGES, CONVERSATION_SECONDS, REPLY_SECONDS, CHARS = (
    "messages per conversation", "seconds per conversation", "seconds to a reply", "characters per message",
)  # fmt: skip
OTHERS = "others"
WORD, ORDINARY = "word", "ordinary"
"""Families of `Pseudonyms` in a dry run: how often a word of a name is replaced, and how often as an ordinary word."""
MOST_MONTHS = 2_400

I64 = npt.NDArray[np.int64]


def of_family(counts: Mapping[str, int], family: str) -> Counter[str]:
    """Return the counts of one family (first part of a count's name), by the rest of the name.

    >>> of_family({"kind.text": 3, "month.2024-05": 2}, "kind")
    Counter({'text': 3})
    """
    start = f"{family}."
    return Counter({name[len(start) :]: n for name, n in counts.items() if name.startswith(start)})


def months_of(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return (month, number of messages) pairs from the first month to the last, from the counts of `MessageStats`.

    Months without messages are included, unless the range is too long.

    >>> months_of({"month.2023-12": 4, "month.2024-02": 1})
    [('2023-12', 4), ('2024-01', 0), ('2024-02', 1)]
    """
    found = of_family(counts, "month")
    parts = (name.rpartition("-") for name in found if name != OTHERS)
    known = sorted(int(year) * 12 + int(month) - 1 for year, _, month in parts)
    if known and known[-1] - known[0] < MOST_MONTHS:
        known = list(range(known[0], known[-1] + 1))
    return [(name, found[name]) for name in map(month_name, known)]


def clock_of(counts: Mapping[str, int]) -> I64:
    """Return the number of messages by weekday (Monday first) and hour, int64[7, 24].

    Args:
        counts: the counts of `MessageStats`.
    """
    table = np.zeros((7, 24), np.int64)
    for name, n in of_family(counts, "clock").items():
        if name != OTHERS:
            day, hour = map(int, name.split("."))
            table[day - 1, hour] = n
    return table


def costliest(counts: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Return (word of a name, times replaced, times replaced where it was an ordinary word), sorted.

    The words with the most ordinary uses come first.

    Args:
        counts: the counts of `Pseudonyms` in a dry run.

    >>> costliest({"word.ilse": 9, "word.rose": 7, "ordinary.rose": 5})
    [('rose', 7, 5), ('ilse', 9, 0)]
    """
    ordinary = of_family(counts, ORDINARY)
    found = [(word, n, ordinary[word]) for word, n in of_family(counts, WORD).items()]
    return sorted(found, key=lambda row: (-row[2], -row[1], row[0]))


def month_name(number: int) -> str:
    """Return a month as text, YYYY-MM.

    Args:
        number: months since January of the year 0.
    """
    return f"{number // 12:04}-{number % 12 + 1:02}"
