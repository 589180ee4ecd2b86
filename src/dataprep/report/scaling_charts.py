"""The chart of an isoFLOP sweep: loss against the number of parameters, with a parabola per budget, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dataprep.shown.notebook import text

from .charts import BOTTOM, LEFT, RIGHT, TOP, Points, axis_title, label_at, short, svg, ticks_of

NAMES = 64.0  # width of the budgets at the right


class Parabola(NamedTuple):
    """The runs of one budget.

    Attributes:
        name: the budget, as a label.
        points: (parameters, loss) of each run.
        curve: the same of points on the parabola, from left to right.
        lowest: the best number of parameters with its interval, (number, low, high), and the loss there; or None.
    """

    name: str
    points: Points
    curve: Points
    lowest: tuple[Sequence[float], float] | None


def parabolas(curves: Sequence[Parabola], x_axis: str, description: str) -> str:
    """Return a chart of losses over a logarithmic axis of sizes as SVG; later curves are drawn darker.

    Args:
        curves: the budgets, ascending.
        x_axis: the title of the axis below.
        description: a text for screen readers.
    """
    values = [y for one in curves for _, y in (*one.points, *one.curve)]
    sizes = [x for one in curves for x, _ in one.points]
    ticks, low, high = ticks_of(min(values), max(values)), math.log(min(sizes)), math.log(max(sizes))

    def at(x: float, y: float) -> tuple[float, float]:
        wide = min(1.0, max(0.0, (math.log(x) - low) / (high - low)))
        tall = (y - ticks[0]) / (ticks[-1] - ticks[0])
        return LEFT + 8 + (RIGHT - NAMES - LEFT) * wide, BOTTOM - (BOTTOM - TOP) * tall

    parts = []
    for tick in ticks:
        y = at(min(sizes), tick)[1]
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT - NAMES + 16}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for share in (0, 1 / 3, 2 / 3, 1):
        size = math.exp(low + (high - low) * share)
        parts.append(label_at(at(size, ticks[0])[0], BOTTOM + 15, short(size)))
    for i, one in enumerate(curves):
        shade = f'opacity="{0.4 + 0.6 * (i + 1) / len(curves):.2f}"'
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in one.curve))
        inside = [f'<polyline class="line train" points="{line}"/>']
        for size, loss in one.points:
            x, y = at(size, loss)
            title = f"<title>{text(one.name)}: {loss:.4f} with {size:,.0f}</title>"
            inside.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.2">{title}</circle>')
        if one.lowest is not None:
            (best, *bounds), loss = one.lowest
            (x, y), (left, _), (right, _) = at(best, loss), *(at(bound, loss) for bound in bounds)
            title = f"<title>{text(one.name)}: best {best:,.0f} ({bounds[0]:,.0f} to {bounds[1]:,.0f})</title>"
            inside.append(f'<line class="span dropped" x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>')
            inside.append(f'<circle class="mean dropped" cx="{x:.1f}" cy="{y:.1f}" r="4.2">{title}</circle>')
        x, y = at(*one.curve[-1])
        inside.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}">{text(one.name)}</text>')
        parts.append(f"<g {shade}>{''.join(inside)}</g>")
    return svg([*parts, axis_title(x_axis)], description)
