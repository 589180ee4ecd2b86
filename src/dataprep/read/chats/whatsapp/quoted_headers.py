"""Quoted headers: text lines that look exactly like headers of the file, recognised by author and time.

A line is doubtful if it has no author and is not WhatsApp's own, or if its author has no other line in the file. It
is text if its time is a day or more outside the times of the lines around it: a real message fits in, even the first
of another export. In a file of few lines, or if the times are not in order, all are messages.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from . import scan as S
from .dates import DAY, DateOrders, Ints

MAX_DOUBTFUL = 1 << 16  # lines that are remembered; further ones count as messages


@dataclass
class DoubtfulLines:
    """Doubtful lines with the lines around them, in the order of the file."""

    names: Counter[str] = field(default_factory=Counter)
    doubtful: list[tuple[Ints, str]] = field(default_factory=list)  # int64[3, FIELDS]: the line before, it, the next
    waiting: list[tuple[Ints, str]] = field(default_factory=list)  # their next line is not read yet
    last: Ints | None = None

    def add(self, found: Ints, base: int, codes: Ints, names: list[str | None], plain: npt.NDArray[np.bool_]) -> None:
        """Add lines that look like headers: names[codes[i]] is the author; plain[i]: no author, not WhatsApp's own."""
        rows = found.copy()
        rows[:, S.START] += base
        present, first, counts = np.unique(codes, return_index=True, return_counts=True)
        named = [(names[code], i, n) for code, i, n in zip(present, first.tolist(), counts.tolist(), strict=True)]
        doubtful = [(i, "") for i in np.flatnonzero(plain).tolist()]
        doubtful += [(i, name) for name, i, _ in named if name is not None and name not in self.names]
        self.names.update({name: n for name, _, n in named if name is not None})
        firm = ~plain
        firm[[i for i, _ in doubtful]] = False
        solid = np.flatnonzero(firm)
        for i, name in sorted(doubtful):
            at = int(np.searchsorted(solid, i))
            before = rows[solid[at - 1]] if at else self.last
            if before is None or len(self.doubtful) + len(self.waiting) >= MAX_DOUBTFUL:
                continue
            three = np.stack([before, rows[i], rows[solid[at]] if at < len(solid) else before])
            (self.doubtful if at < len(solid) else self.waiting).append((three, name))
        if len(solid):
            early = [(three, name) for three, name in self.waiting if three[1, S.START] < base]
            for three, _ in early:
                three[2] = rows[solid[0]]
            self.doubtful += early
            self.waiting = [(three, name) for three, name in self.waiting if three[1, S.START] >= base]
            self.last = rows[solid[-1]]

    def text(self, plan: DateOrders) -> Ints:
        """Return the positions of the lines that are text, ascending."""
        some = [three for three, name in (*self.doubtful, *self.waiting) if self.names[name] < 2]
        if not some or not plan.orderly:
            return np.zeros(0, np.int64)
        lines = np.stack(some)
        times, which = (x.reshape(-1, 3) for x in plan.times(lines.reshape(-1, S.FIELDS), 0))
        early, late = times[:, [0, 2]].min(axis=1), times[:, [0, 2]].max(axis=1)
        ends = lines[:, 0, S.START] == lines[:, 2, S.START]  # no line follows it, so any later time fits
        outside = (times[:, 1] < early - DAY) | ((times[:, 1] > late + DAY) & ~ends)
        return np.unique(lines[outside & (which >= 0).all(axis=1), 1, S.START])
