"""Tables of texts, aligned or as Markdown, and values for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return one line per row, with columns of equal width; the first and the last column are aligned at the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    last = len(widths) - 1

    def cell(i: int, value: str, width: int) -> str:
        return value.ljust(width) if i in (0, last) else value.rjust(width)

    return ["  ".join(cell(i, *pair) for i, pair in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows, the first of which has the titles, as a Markdown table."""
    lines = [rows[0], ["---", *("--:" for _ in rows[0][1:])], *rows[1:]]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


def finite(value: Any) -> Any:
    """Return plain values with None in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
