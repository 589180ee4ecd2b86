"""Pictures as SVG text; colours are CSS classes, so the page's light and dark styles apply to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from dataprep.stats import StageStats

WIDTH = 960


def flow(books: Sequence[StageStats]) -> str:
    """The documents as a stream that narrows: at each stage, what is dropped turns down, labelled by reason."""
    first = max(1, *(book.docs_in for book in books))
    height, top = 190.0, 34.0
    step = WIDTH / len(books)
    deepest = top + height + 20
    parts = []
    for i, book in enumerate(books):
        x0, x1 = i * step, (i + 1) * step
        came, left = height * book.docs_in / first, height * book.docs_out / first
        middle = x0 + step * 0.55
        kept = max(left, 0.75) if book.docs_out else 0
        parts.append(f'<path class="kept" d="M{x0:.1f},{top} H{x1:.1f} V{top + kept:.1f} H{middle:.1f} '
                     f'L{x0:.1f},{top + came:.1f} Z"><title>{_said(book)}</title></path>')  # fmt: skip
        if book.docs_dropped:
            y = top + left
            parts.append(_fall(x0, middle, top + came, y, step))
            lines = _reason_lines(book)
            deepest = max(deepest, top + came + 26 + 15 * len(lines))
            parts += [
                f'<text class="small drop-text" x="{x0 + 10:.1f}" y="{top + came + 26 + 15 * n:.1f}">{line}</text>'
                for n, line in enumerate(lines)
            ]
        label = escape(book.name)
        parts.append(f'<text class="label" x="{x0 + 10:.1f}" y="14">{label}</text>')
        parts.append(f'<text class="small muted" x="{x0 + 10:.1f}" y="28">{book.docs_out:,} kept</text>')
        parts.append(f'<line class="rule" x1="{x0:.1f}" y1="4" x2="{x0:.1f}" y2="{top + came:.1f}"/>')
    return _svg("".join(parts), deepest, "Documents kept and dropped, stage by stage")


def _fall(x0: float, x1: float, low: float, high: float, step: float) -> str:
    """The wedge between what came and what stayed."""
    return (
        f'<path class="dropped" d="M{x0:.1f},{low:.1f} L{x1:.1f},{high:.1f} V{low:.1f} '
        f'Q{x1:.1f},{low + 12:.1f} {x1 - step * 0.1:.1f},{low + 12:.1f} H{x0 + 4:.1f} Z"/>'
    )


def _reason_lines(book: StageStats, most: int = 5) -> list[str]:
    reasons = list(book.reasons.items())
    lines = [f"−{n:,} {escape(reason)}" for reason, n in reasons[:most]]
    if len(reasons) > most:
        lines.append(f"−{sum(n for _, n in reasons[most:]):,} for {len(reasons) - most} other reasons")
    return lines


def _said(book: StageStats) -> str:
    return f"{escape(book.name)}: {book.docs_in:,} in, {book.docs_out:,} kept, {book.docs_dropped:,} dropped"


def bars(rows: Sequence[tuple[str, int]], unit: str) -> str:
    """Horizontal bars with their numbers; rows are (label, value), drawn in the order given."""
    most = max((n for _, n in rows), default=1) or 1
    left, room = 300, WIDTH - 300 - 130
    parts = []
    for i, (label, n) in enumerate(rows):
        y = i * 24
        parts.append(f'<text class="small" x="{left - 10}" y="{y + 15}" text-anchor="end">{escape(label)}</text>')
        wide = max(1.0, room * n / most)
        parts.append(f'<rect class="bar" x="{left}" y="{y + 3}" width="{wide:.1f}" height="16" rx="2"/>')
        x = left + wide + 8
        parts.append(f'<text class="small muted" x="{x:.1f}" y="{y + 15}">{n:,} {escape(unit)}</text>')
    return _svg("".join(parts), 24 * len(rows) + 4, f"Bars of {unit}")


def columns(rows: Sequence[tuple[str, int]], said: str) -> str:
    """A histogram: upright bars, a label under each."""
    most = max((n for _, n in rows), default=1) or 1
    height, step = 150.0, WIDTH / max(1, len(rows))
    parts = []
    for i, (label, n) in enumerate(rows):
        tall = height * n / most
        x = i * step
        parts.append(f'<rect class="bar" x="{x + 2:.1f}" y="{height + 16 - tall:.1f}" width="{step - 4:.1f}" '
                     f'height="{max(tall, 0.0):.1f}"><title>{escape(label)}: {n:,}</title></rect>')  # fmt: skip
        middle = x + step / 2
        if n:
            parts.append(_tick(middle, height + 12 - tall, f"{n:,}", "muted"))
        parts.append(_tick(middle, height + 32, escape(label)))
    parts.append(f'<line class="rule" x1="0" y1="{height + 16}" x2="{WIDTH}" y2="{height + 16}"/>')
    return _svg("".join(parts), height + 38, said)


Points = Sequence[tuple[float, float]]


def curves(train: Points, val: Points, said: str) -> str:
    """Two lines over the same axes: many training points, few validation points (drawn as dots)."""
    both = [*train, *val]
    left, top, right, bottom = 52.0, 12.0, WIDTH - 90.0, 264.0
    x_most = max(x for x, _ in both) or 1.0
    ticks = _ticks(min(y for _, y in both), max(y for _, y in both))
    low, high = ticks[0], ticks[-1]

    def at(point: tuple[float, float]) -> str:
        x = left + (right - left) * point[0] / x_most
        return f"{x:.1f},{bottom - (bottom - top) * (point[1] - low) / (high - low):.1f}"

    middle = sum(points[-1][1] for points in (train, val) if points) / 2  # the labels stand apart
    parts = []
    for tick in ticks:
        y = float(at((0, tick)).split(",")[1])
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tiny muted" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = left + (right - left) * share
        parts.append(_tick(x, bottom + 18, f"{x_most * share:,.0f}", "muted"))
    for name, points in (("train", train), ("val", val)):
        if points:
            parts.append(f'<polyline class="line {name}" points="{" ".join(map(at, points))}"/>')
            y = float(at(points[-1]).split(",")[1]) + (10 if points[-1][1] < middle else -4)
            said_last = f"{name} {points[-1][1]:.3f}"
            parts.append(f'<text class="small {name}-text" x="{right + 8}" y="{y:.1f}">{said_last}</text>')
    parts += [f'<circle class="val-dot" cx="{x}" cy="{y}" r="3.5"/>' for x, y in (at(p).split(",") for p in val)]
    return _svg("".join(parts), bottom + 26, said)


def _tick(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text class="tiny {style}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{text}</text>'


def _ticks(low: float, high: float) -> list[float]:
    """Five round numbers or so that hold the range."""
    span = max(high - low, 1e-9)
    unit = 10.0 ** math.floor(math.log10(span / 4))
    step = next(unit * k for k in (1, 2, 5, 10) if span / (unit * k) <= 6)
    first = math.floor(low / step)
    return [round(step * (first + i), 10) for i in range(math.ceil(high / step) - first + 1)]


def _svg(inside: str, height: float, said: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(said)}" '
        f'xmlns="http://www.w3.org/2000/svg">{inside}</svg>'
    )
