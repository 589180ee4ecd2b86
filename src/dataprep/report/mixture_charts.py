"""The chart of a sweep over mixtures: predicted against measured loss, as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from dataprep.shown.notebook import text

from .charts import BOTTOM, LEFT, RIGHT, TOP, axis_title, label_at, svg, ticks_of


def agreement(points: Sequence[tuple[str, float, float]], marked: str, x_axis: str, description: str) -> str:
    """Return a chart of dots on two axes with the same range, and the line on which both values are equal, as SVG.

    Args:
        points: (name, measured, predicted) of each dot.
        marked: the name of the dot that has a label.
        x_axis: the title of the axis below.
        description: a text for screen readers.
    """
    ticks = ticks_of(min(min(x, y) for _, x, y in points), max(max(x, y) for _, x, y in points))

    def at(x: float, y: float) -> tuple[float, float]:
        wide, tall = ((v - ticks[0]) / (ticks[-1] - ticks[0]) for v in (x, y))
        return LEFT + (RIGHT - LEFT) * wide, BOTTOM - (BOTTOM - TOP) * tall

    parts = []
    for tick in ticks:
        x, y = at(tick, tick)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        parts.append(label_at(x, BOTTOM + 15, f"{tick:g}"))
    parts.append(f'<line class="threshold" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{TOP}"/>')
    for name, measured, predicted in points:
        x, y = at(measured, predicted)
        title = f"<title>{text(name)}: measured {measured:.4f}, predicted {predicted:.4f}</title>"
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.6">{title}</circle>')
        if name == marked:
            parts.append(f'<text x="{x + 7:.1f}" y="{y + 4:.1f}">{text(name, 18)}</text>')
    return svg([*parts, axis_title(x_axis)], description)
