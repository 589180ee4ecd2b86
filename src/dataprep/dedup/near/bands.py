"""Bands and rows of a MinHash signature: the S-curve, published settings, and the choice for a threshold.

Two documents of Jaccard similarity s share a band with probability 1 - (1 - s^r)^b (Broder 1997; Leskovec,
Rajaraman, Ullman, ch. 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from dataprep.errors import PlanError

PRESETS: dict[str, dict[str, Any]] = {
    "dclm": {"bands": 93, "rows": 15},  # Li et al. 2024, DataComp-LM
    "dialect": {"shingle": "char", "ngram": 4, "threshold": 0.6},  # short texts spelt by ear: docs/dedup.md
    "fineweb": {"bands": 14, "rows": 8},  # Penedo et al. 2024
    "lee2022": {"bands": 450, "rows": 20},  # Lee et al. 2022, Deduplicating Training Data Makes Language Models Better
}
DEFAULTS: dict[str, Any] = {"threshold": 0.8, "shingle": "word", "ngram": 5}
MAX_HASHES = 256
RECALL = 0.99  # at the threshold itself; above it the curve only rises
LEAST = 0.5  # explicit bands that miss more than half of the pairs at the threshold are a mistake
LOW = 0.5  # verification spends its time on pairs this similar; at lower similarities there are many more


def p_candidate(similarity: float, bands: int, rows: int) -> float:
    """Return the probability that a pair of this Jaccard similarity shares a band."""
    return float(1.0 - (1.0 - similarity**rows) ** bands)


@dataclass(frozen=True, kw_only=True)
class BandSettings:
    """The parameters that decide which pairs are proposed, and which documents are dropped."""

    threshold: float
    bands: int
    rows: int
    shingle: str
    ngram: int

    @property
    def found(self) -> float:
        """The share of the pairs at the threshold that share a band."""
        return p_candidate(self.threshold, self.bands, self.rows)


@cache
def choose(threshold: float) -> tuple[int, int]:
    """Return (bands, rows) of at most 256 hashes with recall 0.99 at the threshold and fewest candidates below it.

    >>> choose(0.8)
    (26, 8)
    """
    fitting = [
        (bands, rows)
        for rows in range(1, MAX_HASHES + 1)
        for bands in range(1, MAX_HASHES // rows + 1)
        if p_candidate(threshold, bands, rows) >= RECALL
    ]
    low = LOW * threshold / 0.8  # the same point of the curve for every threshold
    return min(fitting, key=lambda br: (p_candidate(low, *br), br[0] * br[1]))


def resolve(**given: Any) -> BandSettings:
    """Return the parameters of MinHash, with the preset's value or the default in place of None.

    Raises PlanError if a value is out of range, or two values exclude each other.
    """
    preset = given.pop("preset")
    if preset is not None and preset not in PRESETS:
        msg = f"preset={preset!r} must be one of {', '.join(map(repr, PRESETS))}"
        raise PlanError(msg)
    chosen: dict[str, Any] = (
        DEFAULTS | PRESETS.get(preset, {}) | {name: value for name, value in given.items() if value is not None}
    )
    threshold = chosen["threshold"]
    if not isinstance(threshold, (int, float)) or not 0 < threshold <= 1:
        msg = f"threshold={threshold!r} must be a number above 0 and at most 1"
        raise PlanError(msg)
    if (given["bands"] is None) != (given["rows"] is None):
        msg = f"bands={given['bands']}, rows={given['rows']}: give both, or neither to have them chosen"
        raise PlanError(msg)
    if "bands" in PRESETS.get(preset, {}) and given["bands"] is not None:
        msg = f"preset={preset!r} sets bands and rows itself; leave bands and rows out"
        raise PlanError(msg)
    if "bands" not in chosen:
        chosen["bands"], chosen["rows"] = choose(threshold)
    made = BandSettings(**chosen)
    if made.bands < 1 or made.rows < 1:
        msg = f"bands={made.bands} and rows={made.rows} must both be at least 1"
        raise PlanError(msg)
    if made.found < LEAST:
        msg = (
            f"{made.bands} bands of {made.rows} rows propose {made.found:.0%} of the pairs at the threshold "
            f"{threshold}, which must be at least {LEAST:.0%}; give more bands or fewer rows, or neither"
        )
        raise PlanError(msg)
    return made
