"""How many bands of how many rows: the S-curve, the published settings, and the choice for a threshold.

Two documents of Jaccard similarity s share a band with probability 1 - (1 - s^r)^b (Broder 1997; Leskovec,
Rajaraman, Ullman, ch. 3).
"""

from __future__ import annotations

from functools import cache

from ..errors import PlanError

PRESETS = {
    "dclm": (93, 15),  # Li et al. 2024, DataComp-LM
    "fineweb": (14, 8),  # Penedo et al. 2024
    "lee2022": (450, 20),  # Lee et al. 2022, Deduplicating Training Data Makes Language Models Better
}
MAX_HASHES = 256
RECALL = 0.99  # wanted at the threshold itself; above it the curve only rises
LOW = 0.5  # pairs this similar are what verification spends its time on; far below, there are many more


def p_candidate(similarity: float, bands: int, rows: int) -> float:
    """The probability that a pair of this Jaccard similarity shares a band."""
    return float(1.0 - (1.0 - similarity**rows) ** bands)


@cache
def choose(threshold: float) -> tuple[int, int]:
    """Bands and rows for a threshold: of at most 256 hashes, recall 0.99 there and fewest candidates far below.

    >>> choose(0.8)
    (26, 8)
    """
    fitting = [
        (bands, rows)
        for rows in range(1, MAX_HASHES + 1)
        for bands in range(1, MAX_HASHES // rows + 1)
        if p_candidate(threshold, bands, rows) >= RECALL
    ]
    low = LOW * threshold / 0.8  # the same place on the curve for every threshold
    return min(fitting, key=lambda br: (p_candidate(low, *br), br[0] * br[1]))


def resolve(threshold: float, bands: int | None, rows: int | None, preset: str | None) -> tuple[int, int]:
    """The bands and rows that the parameters of MinHash mean; what cannot be meant is a PlanError."""
    if preset is not None and preset not in PRESETS:
        msg = f"unknown preset {preset!r}; there are {', '.join(PRESETS)}"
        raise PlanError(msg)
    if (bands is None) != (rows is None):
        msg = "bands and rows belong together: give both, or neither to have them chosen for the threshold"
        raise PlanError(msg)
    if preset is not None and bands is not None:
        msg = f"preset={preset!r} sets bands and rows itself; leave bands and rows out"
        raise PlanError(msg)
    if preset is not None:
        return PRESETS[preset]
    if bands is None or rows is None:
        return choose(threshold)
    if bands < 1 or rows < 1:
        msg = f"bands={bands}, rows={rows}: both must be at least 1"
        raise PlanError(msg)
    return bands, rows
