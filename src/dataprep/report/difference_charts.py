"""Charts of an experiment: differences with their intervals, and quality against size, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dataprep.shown.notebook import text

from .charts import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Points, axis_title, label_at, short, svg, ticks_of

ROW = 30.0  # units per row
NAMES = 132.0  # width of the names
STYLE = (  # of an SVG file of its own, outside the report
    "svg{--ink:#1d2327;--soft:#5b656d;--grid:#e4e2dc;--kept:#2c6e8f;--dropped:#c9703f;background:#fff;"
    "font-family:system-ui,sans-serif}"
    "text{fill:var(--soft);font-size:11.5px}.grid{stroke:var(--grid)}.threshold{stroke:var(--ink);stroke-dasharray:2 3}"
    ".span{stroke-width:2}.span.kept{stroke:var(--kept)}.span.dropped{stroke:var(--dropped)}.span.none{stroke:#9aa0a5}"
    ".line{fill:none;stroke:var(--kept);stroke-width:1.6}.of-seed{stroke-width:1.1;stroke-opacity:.8}"
    ".of-seed.dropped{stroke:var(--dropped)}.of-seed.none{stroke:#9aa0a5}.of-seed.base{stroke:var(--ink)}"
    ".mean.kept,.dot{fill:var(--kept)}.mean.dropped{fill:var(--dropped)}.mean.none{fill:#9aa0a5}.seed{fill-opacity:.4}"
)


class Mark(NamedTuple):
    """A difference in a chart of intervals.

    Attributes:
        name: its label.
        mean: the difference.
        low: the lower bound of its interval.
        high: the upper bound.
        single: the differences of single runs, drawn as small dots.
        style: the CSS class, "kept", "dropped" or "none".
    """

    name: str
    mean: float
    low: float
    high: float
    single: Sequence[float]
    style: str


def intervals(rows: Sequence[Mark], axis: str, description: str) -> str:
    """Return a chart of one interval per row as SVG, with a line at 0.

    Args:
        rows: the differences, the first at the top.
        axis: the title of the axis below.
        description: a text for screen readers.
    """
    values = [0.0, *(v for row in rows for v in (row.low, row.high, *row.single))]
    ticks = ticks_of(min(values), max(values))
    low = TOP + ROW * len(rows)

    def x_of(value: float) -> float:
        return NAMES + (RIGHT - NAMES) * (value - ticks[0]) / (ticks[-1] - ticks[0])

    parts = []
    for tick in ticks:
        x = x_of(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{low}"/>')
        parts.append(label_at(x, low + 15, f"{tick:+g}" if tick else "0"))
    parts.append(f'<line class="threshold" x1="{x_of(0):.1f}" y1="{TOP}" x2="{x_of(0):.1f}" y2="{low}"/>')
    for i, row in enumerate(rows):
        y = TOP + ROW * (i + 0.5)
        parts.append(f'<text x="{NAMES - 10}" y="{y + 4:.1f}" text-anchor="end">{text(row.name, 20)}</text>')
        title = f"<title>{text(row.name)}: {row.mean:+.4f} ({row.low:+.4f} to {row.high:+.4f})</title>"
        span = f'x1="{x_of(row.low):.1f}" y1="{y}" x2="{x_of(row.high):.1f}" y2="{y}"'
        parts.append(f'<line class="span {row.style}" {span}>{title}</line>')
        parts += [f'<circle class="mean {row.style} seed" cx="{x_of(v):.1f}" cy="{y}" r="2.2"/>' for v in row.single]
        parts.append(f'<circle class="mean {row.style}" cx="{x_of(row.mean):.1f}" cy="{y}" r="4.2">{title}</circle>')
    middle = (NAMES + RIGHT) / 2
    parts.append(f'<text class="axis" x="{middle}" y="{low + 34}" text-anchor="middle">{text(axis)}</text>')
    return svg(parts, description, low + 42)


def against(points: Sequence[tuple[str, float, float]], x_axis: str, description: str) -> str:
    """Return a chart of labelled dots as SVG; each axis begins near its smallest value.

    Args:
        points: (name, x, y) of each dot.
        x_axis: the title of the axis below.
        description: a text for screen readers.
    """
    x_ticks, y_ticks = (ticks_of(min(v), max(v)) for v in ([x for _, x, _ in points], [y for _, _, y in points]))

    def at(x: float, y: float) -> tuple[float, float]:
        wide, tall = ((v - t[0]) / (t[-1] - t[0]) for v, t in ((x, x_ticks), (y, y_ticks)))
        return LEFT + (RIGHT - LEFT - 70) * wide, BOTTOM - (BOTTOM - TOP) * tall

    parts = []
    for tick in y_ticks:
        y = at(x_ticks[0], tick)[1]
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts += [label_at(at(tick, y_ticks[0])[0], BOTTOM + 15, short(tick)) for tick in x_ticks]
    for name, x, y in points:
        a, b = at(x, y)
        title = f"<title>{text(name)}: {y:.4f}</title>"
        parts.append(f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="3.6">{title}</circle>')
        parts.append(f'<text x="{a + 7:.1f}" y="{b + 4:.1f}">{text(name, 18)}</text>')
    return svg([*parts, axis_title(x_axis)], description)


def seed_curves(curves: Sequence[tuple[str, str, Sequence[Points]]], x_axis: str, description: str) -> str:
    """Return a chart with one line per training as SVG; "" without any.

    Args:
        curves: (name, CSS class, lines) of each version, with one line per seed.
        x_axis: the title of the axis below.
        description: a text for screen readers.
    """
    points = [point for _, _, lines in curves for line in lines for point in line]
    if not points:
        return ""
    x_most, ticks = max(x for x, _ in points) or 1.0, ticks_of(*(f(y for _, y in points) for f in (min, max)))

    def at(x: float, y: float) -> str:
        tall = (y - ticks[0]) / (ticks[-1] - ticks[0])
        return f"{LEFT + (RIGHT - LEFT) * x / x_most:.1f},{BOTTOM - (BOTTOM - TOP) * tall:.1f}"

    parts = []
    for tick in ticks:
        y = BOTTOM - (BOTTOM - TOP) * (tick - ticks[0]) / (ticks[-1] - ticks[0])
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts += [label_at(LEFT + (RIGHT - LEFT) * share, BOTTOM + 15, short(x_most * share)) for share in (0, 0.5, 1)]
    for name, style, lines in curves:
        for seed, line in enumerate(lines):
            title = f"<title>{text(name)}, seed {seed + 1} of {len(lines)}: {line[-1][1]:.4f}</title>"
            path = " ".join(at(*point) for point in line)
            parts.append(f'<polyline class="line of-seed {style}" points="{path}">{title}</polyline>')
    return svg([*parts, axis_title(x_axis)], description)


def standalone(chart: str) -> str:
    """Return a chart as the content of an SVG file, with the colours that the report's page has."""
    size = f'xmlns="http://www.w3.org/2000/svg" width="{WIDTH:.0f}"'
    begin, more, rest = chart.partition(">")
    return f'{begin.replace("<svg ", f"<svg {size} ", 1)}{more}<style>{STYLE}</style>{rest}\n'
