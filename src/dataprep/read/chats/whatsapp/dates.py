"""Decide, from a whole WhatsApp export, the order of day and month, and which lines begin messages (headers).

One pass over the file collects its dates (`Survey`), and `Survey.plan` decides. Headers of one form have the same order
of day and month, or several orders in turn if exports of several phones were joined in one file. Orders in which dates
are not valid are excluded. Of several valid orders, the one with the smallest jumps in time is used: 05/03 and 06/03
are either consecutive days or a month apart. If only few lines have a form, they are quotations, unless their times fit
between those of the lines around them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from . import fields as F
from . import scan as S
from .calendars import Ints, days_of

ORDERS = ("dmy", "mdy", "ymd")
DAY = 86_400
MAX_STEP = 400  # days that one step counts at most, so that one wrong clock does not decide
IMPOSSIBLE, SWITCH = 2_000, 5_000  # days that an impossible message costs, and another order: three messages in a row
RARE, FEW = 0.2, 10  # a form of this share of the most frequent one's lines, so many in a row, is a header
SLACK = 60  # seconds by which a quotation may seem newer: one form has seconds, the other has not

MARKS = {F.DOT: ".", F.SLASH: "/", F.DASH: "-", F.COMMA: ","}


@dataclass(frozen=True)
class Order:
    """The order of day, month and year in the dates that begin messages, from the byte offset `start` of the file on.

    Attributes:
        name: "dmy", "mdy" or "ymd".
        sure: whether it follows from the dates; otherwise it is a guess.
    """

    start: int
    name: str
    sure: bool  # whether some date is possible in this order only, or many speak for it


@dataclass(frozen=True)
class DateOrders:
    """The forms of message headers (date and time) in a file, with the orders of day, month and year in each.

    Attributes:
        orders: {number of a form: its orders, ascending by `start`}; lines of other forms are not headers.
        undecided: an example of a date that is valid in several orders, or "".
        impossible: an example of a date that is not valid in the wanted order.
        n_impossible: the number of lines with such a date.
        orderly: whether times hardly ever go back by a day.
    """

    orders: dict[int, list[Order]]
    undecided: str = ""
    impossible: str = ""  # a date that is impossible in the wanted order
    n_impossible: int = 0
    orderly: bool = False  # whether times almost never decrease by a day, in enough lines to tell

    def times(self, found: Ints, base: int) -> tuple[Ints, npt.NDArray[np.int8]]:
        """Return (times, orders) of n lines: seconds since 1970, int64[n]; indexes in the list ORDERS, int8[n].

        Args:
            found: the lines, as `scan` returns them.
            base: byte offset at which the scanned bytes begin in the file. The order is -1 if a line is not a header.
        """
        which = np.full(len(found), -1, np.int8)
        for form, orders in self.orders.items():
            rows = np.flatnonzero(found[:, S.FORM] == form)
            at = np.searchsorted([o.start for o in orders], found[rows, S.START] + base, side="right") - 1
            numbers = np.array([ORDERS.index(o.name) for o in orders], np.int8)
            which[rows] = numbers[np.maximum(at, 0)]
        days = np.zeros(len(found), np.int64)
        for number in set(which.tolist()) - {-1}:
            rows = np.flatnonzero(which == number)
            days[rows], possible = days_of(found[rows, S.A : S.C + 1], ORDERS[number])
            which[rows[~possible]] = -1
        return days * DAY + found[:, S.SECONDS], which


@dataclass
class Survey:
    """The dates in a file's message headers, in order; neighbouring headers of one form and date (a run) are one row.

    Attributes:
        chunks: arrays of runs: position, form, the date's three numbers, first and last time in seconds.
        counts: for each array, the number of headers in each run.
        lines: the number of all headers.
    """

    chunks: list[Ints] = field(default_factory=list)  # int64[n, 7]: position, form, a, b, c, first and last seconds
    counts: list[Ints] = field(default_factory=list)
    lines: int = 0

    def add(self, found: Ints, base: int) -> None:
        """Add lines that look like message headers (`found`, as `scan` returns them).

        - base: byte offset at which the scanned bytes begin in the file.
        """
        if not len(found):
            return
        key = found[:, S.FORM : S.C + 1]
        starts = np.flatnonzero(np.r_[True, (key[1:] != key[:-1]).any(axis=1)])
        stops = np.r_[starts[1:], len(found)]
        seconds = found[:, S.SECONDS]
        runs = np.column_stack([found[starts, S.START] + base, key[starts], seconds[starts], seconds[stops - 1]])
        self.chunks.append(runs)
        self.counts.append(stops - starts)
        self.lines += len(found)

    def plan(self, wanted: str | None = None) -> DateOrders:
        """Decide which forms of lines are message headers, and the orders of day, month and year in each form.

        Args:
            wanted: the order to use, except for dates that begin with a year of four digits; None: decide from the
                dates.
        """
        if not self.chunks:
            return DateOrders({})
        runs, counts = np.concatenate(self.chunks), np.concatenate(self.counts)
        some = np.zeros(len(runs), np.bool_)
        for order in ORDERS:
            some |= days_of(runs[:, 2:5], order)[1] & np.isin(_year(runs[:, 1]), _years(order))
        runs, counts = runs[some], counts[some]
        sizes, frequent = _frequent(runs[:, 1], counts)
        orders = {form: _orders(runs[runs[:, 1] == form], counts[runs[:, 1] == form], wanted) for form in sizes}
        unsure = [form for form in frequent if not orders[form][-1].sure]
        if wanted is None and 0 < len(unsure) < len(frequent):
            for form in unsure:
                orders[form] = _by_the_others(runs, orders, form, [f for f in frequent if f not in unsure])
        plan = DateOrders({form: orders[form] for form in frequent})
        for form in sorted(set(sizes) - set(frequent), key=lambda form: -sizes[form]):
            if fits := _fits(runs, counts, plan, form, wanted):
                plan.orders[form] = fits
        return _stated(plan, runs, counts, wanted)


def _frequent(forms: Ints, counts: Ints) -> tuple[dict[int, int], list[int]]:
    """Return the number of lines per form, and the forms that are accepted at once: the first, and long runs."""
    if not len(forms):
        return {}, []
    starts = np.flatnonzero(np.r_[True, forms[1:] != forms[:-1]])
    rows = np.add.reduceat(counts, starts)
    sizes: Counter[int] = Counter()
    longest: Counter[int] = Counter()
    for form, n in zip(forms[starts].tolist(), rows.tolist(), strict=True):
        sizes[form] += n
        longest[form] = max(longest[form], n)
    some = [form for form, n in sizes.items() if n >= RARE * max(sizes.values())]
    return dict(sizes), [form for form in some if form == some[0] or longest[form] >= FEW]


def _year(forms: Ints) -> Ints:
    """Return the position of the year: 0 in two digits anywhere, 1 first, 2 last."""
    return forms >> S.YEAR & 3


def _years(order: str) -> tuple[int, ...]:
    return (0, 1) if order == "ymd" else (0, 2)


def _orders(runs: Ints, counts: Ints, wanted: str | None) -> list[Order]:
    """Return the orders of one form in turn (almost always one)."""
    year = int(_year(runs[:1, 1])[0])
    if year == 1:
        return [Order(0, "ymd", sure=True)]
    names = [o for o in ORDERS if year in _years(o)]
    if wanted in names:
        return [Order(0, wanted, sure=True)]
    new = np.r_[True, (runs[1:, 2:5] != runs[:-1, 2:5]).any(axis=1)]
    dates, starts = runs[new], runs[new, 0]
    weights = np.minimum(np.add.reduceat(counts, np.flatnonzero(new)), 5)
    days, possible = (np.array(x) for x in zip(*(days_of(dates[:, 2:5], o) for o in names), strict=True))
    path = _path(days, possible, weights)
    cuts = np.flatnonzero(np.r_[True, path[1:] != path[:-1]])
    costs = [_cost(days[i], possible[i], weights) for i in range(len(names))]
    sure = len(cuts) > 1 or _is_sure(path[0], costs, possible, len(dates))
    return [Order(int(starts[i]) if i else 0, names[path[i]], sure=sure) for i in cuts.tolist()]


def _is_sure(best: int, costs: list[float], possible: npt.NDArray[np.bool_], n: int) -> bool:
    """Return whether a date is valid in the best order only, or times are far steadier in it over three dates."""
    others = [i for i in range(len(costs)) if i != best]
    if all((possible[best] & ~possible[i]).any() for i in others[:1]):
        return True
    return n >= 3 and all(costs[i] > 4 * costs[best] for i in others)


def _cost(days: Ints, possible: npt.NDArray[np.bool_], weights: Ints) -> float:
    """Return the days between neighbouring dates (doubled if time runs backwards), plus a cost per impossible date."""
    steps = np.clip(np.diff(days[possible]), -MAX_STEP, MAX_STEP)
    return float(np.where(steps < 0, -2 * steps, steps).sum() + IMPOSSIBLE * weights[~possible].sum())


def _path(days: Ints, possible: npt.NDArray[np.bool_], weights: Ints) -> Ints:
    """Return the cheapest order of every date (Viterbi): costs are those of `_cost`, and SWITCH for each change."""
    n_orders, n = days.shape
    if possible.all(axis=1).any() or n == 1:  # no change is needed
        costs = [_cost(days[i], possible[i], weights) + i / 4 + 40 * (i == 2) for i in range(n_orders)]
        return np.full(n, int(np.argmin(costs)), np.int64)
    cost = [i / 4 + 40.0 * (i == 2) for i in range(n_orders)]
    last: list[int | None] = [None] * n_orders
    back = np.zeros((n, n_orders), np.int64)
    for k, (day, ok, weight) in enumerate(zip(days.T.tolist(), possible.T.tolist(), weights.tolist(), strict=True)):
        cheapest = min(range(n_orders), key=cost.__getitem__)
        before, cost = cost, [0.0] * n_orders
        for i in range(n_orders):
            stay = before[i] <= before[cheapest] + SWITCH
            back[k, i] = i if stay else cheapest
            cost[i] = before[i] if stay else before[cheapest] + SWITCH
            if not ok[i]:
                cost[i] += IMPOSSIBLE * weight
                continue
            step = 0 if last[i] is None or not stay else max(-MAX_STEP, min(MAX_STEP, day[i] - last[i]))
            cost[i] += step if step >= 0 else -2 * step
            last[i] = day[i]
    path = np.empty(n, np.int64)
    path[-1] = min(range(n_orders), key=cost.__getitem__)
    for k in range(n - 1, 0, -1):
        path[k - 1] = back[k, path[k]]
    return path


def _by_the_others(runs: Ints, orders: dict[int, list[Order]], form: int, sure: list[int]) -> list[Order]:
    """Return the order in which an undecided form fits best between the lines of the decided forms."""
    names = [o for o in ORDERS if int(_year(np.array(form))) in _years(o)]
    costs = []
    for name in names:
        plan = DateOrders({**{f: orders[f] for f in sure}, form: [Order(0, name, sure=True)]})
        first, last, known = _times(runs, plan)
        days = np.column_stack([first, last])[known].ravel() // DAY
        costs.append(_cost(days, np.ones(len(days), np.bool_), np.ones(len(days), np.int64)))
    best = names[int(np.argmin(costs))]
    return [Order(0, best, sure=min(costs) < max(costs))]


def _times(runs: Ints, plan: DateOrders) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Return the first and last time of every run, and whether the plan accepts its form as a header."""
    found = np.zeros((len(runs), S.FIELDS), np.int64)
    found[:, S.START], found[:, S.FORM : S.C + 1], found[:, S.SECONDS] = runs[:, 0], runs[:, 1:5], runs[:, 5]
    first, which = plan.times(found, 0)
    return first, first - runs[:, 5] + runs[:, 6], which >= 0


def _fits(runs: Ints, counts: Ints, plan: DateOrders, form: int, wanted: str | None) -> list[Order]:
    """Return the orders of a rare form if most of its times are between those of the lines around them, else []."""
    first, last, known = _times(runs, plan)
    mine = np.flatnonzero(runs[:, 1] == form)
    theirs = np.flatnonzero(known)
    if not len(theirs):
        return []
    before, after = np.searchsorted(theirs, mine) - 1, np.searchsorted(theirs, mine)
    floor = np.where(before >= 0, last[theirs[np.maximum(before, 0)]], np.iinfo(np.int64).min // 2)
    next_one = theirs[np.minimum(after, len(theirs) - 1)]
    ceiling = np.where(after < len(theirs), first[next_one], np.iinfo(np.int64).max // 2)
    alone = counts[mine].sum() == 1 and counts[known].sum() > 1 and after[0] < len(theirs)
    names = [o for o in ORDERS if int(_year(np.array(form))) in _years(o)]
    names = [wanted] if wanted in names else names
    shares = []
    for name in names:
        begin, end, possible = _times(runs[mine], DateOrders({form: [Order(0, name, sure=True)]}))
        fits = possible & (begin >= floor - SLACK * (begin % 60 == 0)) & (end <= ceiling + SLACK)
        shares.append(float(counts[mine][fits].sum() / counts[mine].sum()))
    best = int(np.argmax(shares))
    return [] if alone or shares[best] <= 0.5 else [Order(0, names[best], sure=True)]


def _stated(plan: DateOrders, runs: Ints, counts: Ints, wanted: str | None) -> DateOrders:
    """Return the plan with an example of a date that is ambiguous, or impossible in the wanted order."""
    unsure = [form for form, orders in plan.orders.items() if not all(o.sure for o in orders)]
    rows = [i for i in range(len(runs)) if runs[i, 1] in unsure][:1] if unsure else []
    first, last, known = _times(runs, plan)
    lost = np.flatnonzero(~known & np.isin(runs[:, 1], list(plan.orders)) & (wanted is not None))
    back = int((first[known][1:] < last[known][:-1] - DAY).sum())
    n = int(counts[known].sum())
    return DateOrders(
        plan.orders,
        undecided=written(runs[rows[0]]) if rows else "",
        impossible=written(runs[lost[0]]) if len(lost) else "",
        n_impossible=int(counts[lost].sum()),
        orderly=n >= FEW and back < RARE * n,
    )


def written(run: Ints) -> str:
    """Return the date of `run`, a row of the arrays in `Survey`, as written in the file but without leading zeros."""
    return MARKS.get(int(run[1]) >> S.SEPARATOR & 7, "-").join(map(str, run[2:5].tolist()))
