"""The loss curve of a run, drawn with characters for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

HEIGHT = 12
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a Braille character: 4 rows of 2 columns
BRAILLE = "\u2800"
"""The Braille character without dots; those with dots follow it."""
_SCALE = 8  # characters of the numbers at the left


class Curve:
    """Collects the losses of a run, and draws them: training as a line of Braille dots, validation as circles.

    Attributes:
        plain: draw the line with asterisks, for a terminal that cannot show Braille.
    """

    def __init__(self, *, plain: bool = False) -> None:
        self.plain = plain
        self.train: list[tuple[int, float]] = []
        self.val: list[tuple[int, float]] = []

    def restart(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Forget all losses, and take those of `rows`, the rows of metrics.jsonl so far."""
        self.train.clear()
        self.val.clear()
        self.add(rows)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add the losses of some rows of metrics; losses that are not finite are left out."""
        for name, points in (("loss", self.train), ("val_loss", self.val)):
            points += [(r["step"], r[name]) for r in rows if r.get(name) is not None and math.isfinite(r[name])]

    def close(self) -> None:
        """Do nothing: a curve has no file."""

    def lines(self, width: int = 80, height: int = HEIGHT) -> list[str]:
        """Return the drawing as `height` + 2 lines of `width` characters, at least 34; [] for fewer than two losses.

        Each column of dots is the mean of its steps.
        """
        if len(self.train) + len(self.val) < 2:
            return []
        columns, n_steps = max(24, width - _SCALE - 2), max(s for s, _ in [*self.train, *self.val])
        line = _means(self.train, n_steps, 2 * columns)
        values = [v for v in line if v is not None] + [v for _, v in self.val]
        low, high = min(values), max(values)
        cells = _draw(line, low, high, columns, height)
        if self.plain:
            cells = [["*" if cell != " " else cell for cell in row] for row in cells]
        for step, value in self.val:
            row = _row(value, low, high, height)
            cells[row][min(columns - 1, step * columns // max(1, n_steps))] = "o"
        marks = {0: f"{high:.3f}", height - 1: f"{low:.3f}"}
        drawn = [f"{marks.get(i, ''):>{_SCALE}} |{''.join(row)}".rstrip() for i, row in enumerate(cells)]
        last = f"{n_steps:,}"
        legend = ("o validation" if self.val else "").center(columns - 1 - len(last))
        return [*drawn, f"{' ' * _SCALE} +{'-' * columns}", f"{'step':>{_SCALE}}  0{legend}{last}"]


def _means(points: Sequence[tuple[int, float]], n_steps: int, columns: int) -> list[float | None]:
    """Divide the steps into columns; return the mean loss per column, None for a column without losses."""
    sums, counts = [0.0] * columns, [0] * columns
    for step, value in points:
        column = min(columns - 1, step * columns // max(1, n_steps))
        sums[column] += value
        counts[column] += 1
    return [total / n if n else None for total, n in zip(sums, counts, strict=True)]


def _row(value: float, low: float, high: float, rows: int) -> int:
    """Return the row of a value, from 0 at the top."""
    return min(rows - 1, int((high - value) / (high - low) * rows)) if high > low else rows // 2


def _draw(line: Sequence[float | None], low: float, high: float, columns: int, height: int) -> list[list[str]]:
    """Return a drawing of the line, in which neighbours are joined, as characters by row and column."""
    dots = [[0] * columns for _ in range(height)]
    before: int | None = None
    for x, value in enumerate(line):
        if value is None:
            continue
        y = _row(value, low, high, 4 * height)
        top, bottom = (y, y) if before is None else sorted((y, before + (1 if before < y else -1 if before > y else 0)))
        for dot in range(top, bottom + 1):
            dots[dot // 4][x // 2] |= _DOTS[dot % 4][x % 2]
        before = y
    return [[chr(ord(BRAILLE) + cell) if cell else " " for cell in row] for row in dots]
