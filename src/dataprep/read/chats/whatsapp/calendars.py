"""Count the days of dates in the calendars of WhatsApp's exports: Gregorian, Buddhist, and that of Iran."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
YEARS = (1970, 2200)  # of Gregorian years, those in which an export may be
BUDDHIST, PERSIAN = (2_500, 543), (1_340, 1_420)  # first year and difference; first and last year


def days_of(dates: Ints, order: str) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return (days since 1970, int64[n]; whether the date exists, bool[n]) of n dates.

    Args:
        dates: int64[n, 3], three numbers per date, as written.
        order: the meaning of the three, such as "dmy".
    """
    y, m, d = (dates[:, order.index(part)] for part in "ymd")
    y = np.where(y < 100, y + 2_000, np.where(y >= BUDDHIST[0], y - BUDDHIST[1], y))
    possible = (m >= 1) & (m <= 12) & (d >= 1) & (d <= 31) & (y >= YEARS[0]) & (y < YEARS[1])
    persian = (y >= PERSIAN[0]) & (y <= PERSIAN[1])
    month = np.where(possible, (y - 1970) * 12 + m - 1, 0)
    days = _first_day(month) + d - 1
    possible &= days < _first_day(month + 1)
    if persian.any():
        longest = np.where(m <= 6, 31, np.where(m < 12, 30, 29 + ((8 * (y + 1) + 21) // 33 - (8 * y + 21) // 33)))
        days = np.where(persian, _persian(y, m, d), days)
        possible |= persian & (m >= 1) & (m <= 12) & (d >= 1) & (d <= longest)
    return days, possible


def _first_day(months: Ints) -> Ints:
    """Return the days since 1970 of the first days of months, which are counted from January 1970."""
    days: Ints = (np.datetime64(0, "M") + months.astype("timedelta64[M]")).astype("datetime64[D]").astype(np.int64)
    return days


def _persian(y: Ints, m: Ints, d: Ints) -> Ints:
    """Return days since 1970 in the solar calendar of Iran; its 33-year rule is exact from 1244 to 1472."""
    before = 365 * (y - 1) + (8 * y + 21) // 33
    return before + np.where(m <= 7, (m - 1) * 31, (m - 1) * 30 + 6) + d - 1 - 492_268
