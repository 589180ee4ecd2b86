"""Twin of `fit/limits.py`: try every limit of four digits that can matter, keep the strictest allowed."""

from __future__ import annotations

import math

from dataprep.filters.thresholds import DROPS


def limit(values: list[float], drops: str, tail: float) -> float | None:
    """Return the strictest limit of four digits, at least 0, that drops at most the share `tail` of the values."""
    known = [x for x in values if not math.isnan(x)]
    most = tail * len(values) + 1e-9
    if most >= len(known):  # one value with a score is kept
        most = len(known) - 1
    near = {math.floor(x * 1e4) + k for x in known for k in (-1, 0, 1, 2)}
    good = [k / 1e4 for k in near if k >= 0 and sum(bool(DROPS[drops](x, k / 1e4)) for x in known) <= most]
    return (max(good, default=None) if drops[0] == "<" else min(good, default=None)) if known else None
