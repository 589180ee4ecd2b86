"""Draw plots as SVG; colours are CSS classes, so the light and dark styles of the page apply to the plots.

All plots are 440 units wide, so that their text is readable on a telephone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dataprep.errors import counted
from dataprep.history.message_figures import WEEKDAYS
from dataprep.shown.notebook import text

WIDTH, HEIGHT = 440.0, 250.0
LEFT, TOP, RIGHT, BOTTOM = 48.0, 14.0, WIDTH - 14.0, HEIGHT - 40.0

Points = Sequence[tuple[float, float]]


def wedge(came: float, left: float) -> str:
    """Return the shape of one stage in a funnel chart as SVG.

    Args:
        came: the share (0 to 1) of all documents that the stage received.
        left: the share that it returned.
    """
    a, b = 100 * came, 100 * left
    return (
        '<svg class="wedge" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="lost" d="M0,0 H{a:.3f} V10 H0 Z"/><path class="kept" d="M0,0 H{a:.3f} L{b:.3f},10 H0 Z"/></svg>'
    )


def histogram(
    rows: Sequence[tuple[str, Sequence[int]]], styles: Sequence[str], axis: str, description: str, labels: int = 12
) -> str:
    """Return a chart of stacked bars as SVG.

    Args:
        rows: (label, counts) of each bar; a bar has a segment per count.
        styles: the CSS class of each segment.
        axis: the title of the axis below.
        description: a text for screen readers.
        labels: the largest number of labels to show.
    """
    most = max((sum(counts) for _, counts in rows), default=1) or 1
    ticks = ticks_of(0, most, least=1)
    step = (RIGHT - LEFT) / max(10, len(rows))  # a few bars stay narrow
    every = -(-len(rows) // labels)
    parts = [_grid(ticks, short)]
    for i, (label, counts) in enumerate(rows):
        x, y = LEFT + i * step, BOTTOM
        for style, n in zip(styles, counts, strict=True):
            tall = (BOTTOM - TOP) * n / ticks[-1]
            y -= tall
            if n:
                title = f"{label}: {n:,} {style}"
                parts.append(_bar(style, x + step * 0.06, y, step * 0.88, max(tall, 0.6), title))
        if i % every == 0:
            parts.append(label_at(x + step / 2, BOTTOM + 15, text(label)))
    return svg([*parts, axis_title(axis)], description)


def similarity(counts: Sequence[int], threshold: float | None, bands: tuple[int, int] | None, description: str) -> str:
    """Return a histogram of similarities as SVG, with the threshold and the probability that a pair is compared.

    Args:
        counts: removed documents per hundredth of similarity, int[100].
        threshold: the similarity at which a line is drawn; None for no line.
        bands: (bands b, rows r) of locality-sensitive hashing, which compares a pair of similarity s with probability 1
            - (1 - s^r)^b; None to draw no probability.
        description: a text for screen readers.
    """
    lowest = next((i for i, n in enumerate(counts) if n), 99)
    first = min(50 if bands else 70, lowest - lowest % 5)
    ticks = ticks_of(0, max(counts), least=1)

    def x_of(s: float) -> float:
        return LEFT + (RIGHT - 26 - LEFT) * (100 * s - first) / (100 - first)

    parts = [_grid(ticks, short, RIGHT - 26)]
    wide = x_of(0.01) - x_of(0)
    for i, n in enumerate(counts):
        if n:
            tall = max(0.6, (BOTTOM - TOP) * n / ticks[-1])
            title = f"{i / 100:.2f}: {counted(n, 'document')}"
            parts.append(_bar("removed", x_of(i / 100) + wide * 0.08, BOTTOM - tall, wide * 0.84, tall, title))
    steps = range(first, 101, 10 if first < 70 else 5)
    parts += [label_at(x_of(s / 100), BOTTOM + 15, f"{s / 100:.2g}") for s in steps]
    if bands:
        likes = [first / 100 + (1 - first / 100) * i / 80 for i in range(81)]
        curve = [(x_of(s), BOTTOM - (BOTTOM - TOP) * (1 - (1 - s ** bands[1]) ** bands[0])) for s in likes]
        parts.append(f'<polyline class="line curve" points="{_path(curve)}"/>')
        for share in (0, 0.5, 1):
            y = BOTTOM - (BOTTOM - TOP) * share
            parts.append(f'<text class="curve-text" x="{RIGHT - 20}" y="{y + 4:.1f}">{share:.0%}</text>')
    if threshold is not None and first <= 100 * threshold:
        x = x_of(threshold)
        parts.append(f'<line class="threshold" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{BOTTOM}"/>')
        parts.append(f'<text x="{x - 5:.1f}" y="{BOTTOM - 7}" text-anchor="end">threshold {threshold:g}</text>')
    return svg([*parts, axis_title("Similarity of a dropped document to the one that was kept")], description)


def week(table: Sequence[Sequence[int]], description: str) -> str:
    """Return a chart of seven rows (Monday first) of 24 cells (hours) as SVG; cells with larger counts are darker.

    Args:
        table: counts, int[7][24].
        description: a text for screen readers.
    """
    most = max(1, *(n for row in table for n in row))
    wide, tall, left = (RIGHT - 40) / 24, 22.0, 40.0
    parts = []
    for day, row in enumerate(table):
        y = TOP + day * tall
        parts.append(f'<text x="{left - 7}" y="{y + tall / 2 + 4:.1f}" text-anchor="end">{WEEKDAYS[day]}</text>')
        for hour, n in enumerate(row):
            box = f'x="{left + hour * wide:.1f}" y="{y:.1f}" width="{wide - 1.2:.2f}" height="{tall - 1.2:.1f}"'
            shade = f'style="fill-opacity:{0.08 + 0.92 * n / most:.3f}"' if n else ""
            title = f"<title>{WEEKDAYS[day]} {hour:02}:00: {counted(n, 'message')}</title>"
            parts.append(f'<rect class="{"kept" if n else "none"}" {box} {shade} rx="2">{title}</rect>')
    low = TOP + 7 * tall
    parts += [label_at(left + (hour + 0.5) * wide, low + 14, f"{hour}") for hour in range(0, 24, 3)]
    axis = f'<text class="axis" x="{(left + RIGHT) / 2}" y="{low + 34}" text-anchor="middle">Hour of the day</text>'
    return svg([*parts, axis], description, low + 40)


def loglog(points: Points, x_axis: str, description: str) -> str:
    """Return a chart of dots over two logarithmic axes as SVG.

    Args:
        points: pairs (x, y) of numbers of at least 1.
        x_axis: the title of the axis below.
        description: a text for screen readers.
    """
    x_most, y_most = (max(1, math.ceil(math.log10(max(p[i] for p in points) * 1.05))) for i in (0, 1))

    def at(x: float, y: float) -> tuple[float, float]:
        wide, tall = math.log10(x) / x_most, math.log10(y) / y_most
        return LEFT + (RIGHT - LEFT) * wide, BOTTOM - (BOTTOM - TOP) * tall

    parts = [_grid(range(y_most + 1), lambda power: short(10**power))]
    for power in range(x_most + 1):
        x = at(10**power, 1)[0]
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{BOTTOM}"/>')
        parts.append(label_at(x, BOTTOM + 15, short(10**power)))
    for x, y in points:
        a, b = at(x, y)
        parts.append(
            f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="3.6"><title>{y:,.0f} of size {x:,.0f}</title></circle>'
        )
    return svg([*parts, axis_title(x_axis)], description)


def curves(train: Points, val: Points, axis: str, description: str) -> str:
    """Return a chart with the lines of training and validation over the same axes, as SVG.

    Args:
        train: the points (x, y) of the training line.
        val: the points (x, y) of the validation line, which are also drawn as dots.
        axis: the title of the axis below.
        description: a text for screen readers.
    """
    both = [*train, *val]
    x_most = max(x for x, _ in both) or 1.0
    ticks = ticks_of(min(y for _, y in both), max(y for _, y in both))

    def at(point: tuple[float, float]) -> tuple[float, float]:
        tall = (point[1] - ticks[0]) / (ticks[-1] - ticks[0])
        return LEFT + (RIGHT - LEFT) * point[0] / x_most, BOTTOM - (BOTTOM - TOP) * tall

    parts = [_grid(ticks, lambda v: f"{v:g}")]
    quarters = (0, 0.25, 0.5, 0.75, 1)
    parts += [label_at(LEFT + (RIGHT - LEFT) * share, BOTTOM + 15, short(x_most * share)) for share in quarters]
    for style, points in (("train", train), ("val", val)):
        if points:
            parts.append(f'<polyline class="line {style}" points="{_path(list(map(at, points)))}"/>')
    parts += [f'<circle class="val-dot" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>' for x, y in map(at, val)]
    return svg([*parts, axis_title(axis)], description)


def _grid(ticks: Sequence[float], label: Callable[[float], str], right: float = RIGHT) -> str:
    """Return horizontal lines with their values at the left."""
    parts = []
    for tick in ticks:
        y = BOTTOM - (BOTTOM - TOP) * (tick - ticks[0]) / (ticks[-1] - ticks[0])
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{label(tick)}</text>')
    return "".join(parts)


def _bar(style: str, x: float, y: float, wide: float, tall: float, title: str) -> str:
    box = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.2f}" height="{tall:.1f}"'
    return f'<rect class="{style}" {box}><title>{text(title)}</title></rect>'


def axis_title(title: str) -> str:
    """Return the title of the horizontal axis."""
    return f'<text class="axis" x="{(LEFT + RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{text(title)}</text>'


def label_at(x: float, y: float, label: str) -> str:
    """Return a text, as SVG, whose middle is at `x`."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{label}</text>'


def _path(points: Points) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def short(n: float) -> str:
    """Return a count with three digits: 950, 12k, 3.4M."""
    for unit, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= unit:
            return f"{n / unit:.3g}{sign}"
    return f"{n:.3g}"


def ticks_of(low: float, high: float, least: float = 0) -> list[float]:
    """Return about five round numbers that enclose the range, at least `least` apart."""
    span = max(high - low, 1e-9 if low else 1.0)
    unit = 10.0 ** math.floor(math.log10(span / 4))
    step = next(unit * k for k in (1, 2, 5, 10) if span / (unit * k) <= 6)
    step = max(step, least)
    first = math.floor(low / step)
    return [round(step * (first + i), 10) for i in range(max(1, math.ceil(round(high / step, 9)) - first) + 1)]


def svg(parts: Sequence[str], description: str, height: float = HEIGHT) -> str:
    """Return a chart of these parts, with a text for screen readers."""
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-label="{text(description, 300)}">'
        f"{''.join(parts)}</svg>"
    )
