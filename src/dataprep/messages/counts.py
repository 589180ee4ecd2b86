"""How `MessageStats` calls what it counts, and that as tables: for those who draw it, without its kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

STAGE = "MessageStats"
FAMILIES = ("kind", "author", "chat", "clock", "month", "language", "emoji")
"""What is counted as `family.value`; clock.1.09 is Monday, from nine to ten."""
TALK_MESSAGES, TALK_SECONDS, REPLY_SECONDS, CHARS = (
    "messages of a talk", "seconds of a talk", "seconds to a reply", "characters of a message",
)  # fmt: skip
OTHERS = "others"
MOST_MONTHS = 2_400

I64 = npt.NDArray[np.int64]


def of_family(counts: Mapping[str, int], family: str) -> Counter[str]:
    """What was counted in one of the FAMILIES, by value.

    >>> of_family({"kind.text": 3, "month.2024-05": 2}, "kind")
    Counter({'text': 3})
    """
    start = f"{family}."
    return Counter({name[len(start) :]: n for name, n in counts.items() if name.startswith(start)})


def months_of(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Messages of every month from the first to the last one, those without any included (if clocks were not mad).

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
    """Messages by weekday (Monday first) and hour, int64[7, 24]."""
    table = np.zeros((7, 24), np.int64)
    for name, n in of_family(counts, "clock").items():
        if name != OTHERS:
            day, hour = map(int, name.split("."))
            table[day - 1, hour] = n
    return table


def month_name(number: int) -> str:
    """Months since the year 0 as people write them."""
    return f"{number // 12:04}-{number % 12 + 1:02}"
