"""Bands and rows of a MinHash signature: the probability of finding a pair, published settings, automatic choice.

A band is a group of rows of a signature. Two documents are compared if all rows of at least one band are equal in both.
For b bands of r rows, two documents of Jaccard similarity s share a band with probability 1 - (1 - s^r)^b (Broder 1997;
Leskovec, Rajaraman, Ullman, ch. 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from dataprep.errors import PlanError, require, require_integer
from dataprep.unicode.shingles import FINEWEB, differences

PRESETS: dict[str, dict[str, Any]] = {
    "dclm": {"bands": 93, "rows": 15, "word_split": "regex"},  # Li et al. 2024, DataComp-LM
    "dialect": {"shingle": "char", "ngram": 4, "threshold": 0.6},  # short texts spelt by ear: docs/dedup.md
    "fineweb": {"bands": 14, "rows": 8, "word_split": "regex", "normalize": FINEWEB},  # Penedo et al. 2024
    "lee2022": {"bands": 450, "rows": 20, "word_split": "regex"},  # Lee et al. 2022, Deduplicating Training Data ...
}
DEFAULTS: dict[str, Any] = {"threshold": 0.8, "shingle": "word", "ngram": 5, "word_split": "unicode", "normalize": None}
MAX_HASHES = 256  # maximum number of rows in all bands, when chosen automatically
MOST_HASHES = 1 << 16  # maximum number of rows in all bands, when given
RECALL = 0.99  # at the threshold itself; above it the curve only rises
RATIO = 20  # containment: pairs are found up to this ratio of the lengths, with the recall
CONTAINED_RECALL = 0.995  # at this ratio
LEAST = 0.5  # bands that find a smaller share of the pairs at the threshold raise PlanError
LOW = 0.5  # fewest candidates at this similarity are wanted: verification spends most of its time on such pairs


def p_candidate(similarity: float, bands: int, rows: int) -> float:
    """Return the probability that documents of Jaccard similarity `similarity` share a band and are thus compared."""
    return float(1.0 - (1.0 - similarity**rows) ** bands)


@dataclass(frozen=True, kw_only=True)
class BandSettings:
    """The parameters of MinHash.

    Attributes:
        threshold: a document is dropped if its similarity is at least this value.
        bands: the number of bands.
        rows: the number of rows per band.
        shingle: "word" or "char".
        ngram: the number of words or characters per shingle.
        word_split: the rule for splitting words.
        normalize: the differences that are ignored.
    """

    threshold: float
    bands: int
    rows: int
    shingle: str
    ngram: int
    word_split: str
    normalize: tuple[str, ...]

    def found(self, measure: str) -> float:
        """Return the share (0 to 1) of the pairs of similarity `threshold` that are expected to have a band in common.

        Args:
            measure: "jaccard" or "containment". For "containment", the pairs are those in which one text is RATIO times
                as long as the other.
        """
        return p_candidate(least_jaccard(self.threshold, measure), self.bands, self.rows)


def least_jaccard(threshold: float, measure: str) -> float:
    """Return the least Jaccard similarity of the pairs that the bands must find for this threshold.

    - measure: "jaccard": the threshold itself; "containment": the Jaccard similarity of a document and another one that
      is RATIO times as long and contains the share `threshold` of its shingles.

    >>> round(least_jaccard(0.8, "containment"), 4)
    0.0396
    """
    return threshold if measure == "jaccard" else threshold / (1 + RATIO - threshold)


@cache
def choose(threshold: float, recall: float = RECALL) -> tuple[int, int] | None:
    """Return (bands, rows) such that pairs of similarity `threshold` share a band with at least probability `recall`.

    Of all such choices with bands * rows <= 256, the result is the one for which the fewest pairs of lower similarity
    share a band. Returns None if there is no such choice.

    >>> choose(0.8)
    (26, 8)
    """
    fitting = [
        (bands, rows)
        for rows in range(1, MAX_HASHES + 1)
        for bands in range(1, MAX_HASHES // rows + 1)
        if p_candidate(threshold, bands, rows) >= recall
    ]
    low = LOW * threshold / 0.8  # the same point of the curve for every threshold
    return min(fitting, key=lambda br: (p_candidate(low, *br), br[0] * br[1]), default=None)


def resolve(**given: Any) -> BandSettings:
    """Return the parameters of MinHash, in which None is replaced by the preset's value or the default.

    Args:
        given: threshold, bands, rows, shingle, ngram, preset and measure, as in `MinHash`.

    Raises PlanError if a value is out of range, or if two values exclude each other.
    """
    preset, measure = given.pop("preset"), given.pop("measure")
    known = ", ".join(map(repr, PRESETS))
    require(preset is None or preset in tuple(PRESETS), f"preset={preset!r} must be one of {known}")
    chosen: dict[str, Any] = (
        DEFAULTS | PRESETS.get(preset, {}) | {name: value for name, value in given.items() if value is not None}
    )
    threshold = chosen["threshold"]
    in_range = isinstance(threshold, (int, float)) and 0 < threshold <= 1
    require(in_range, f"threshold={threshold!r} must be a number above 0 and at most 1")
    longer = "" if measure == "jaccard" else f" of containment in a text with {RATIO} times as many shingles"
    pairs = f"the pairs at the threshold {threshold}{longer}"
    bands, rows = given["bands"], given["rows"]
    both = (bands is None) == (rows is None)
    require(both, f"bands={bands}, rows={rows}: set both, or leave out both to have them chosen")
    free = "bands" not in PRESETS.get(preset, {}) or bands is None
    require(free, f"preset={preset!r} sets bands and rows itself; leave bands and rows out")
    if "bands" not in chosen:
        least = least_jaccard(threshold, measure)
        found = choose(least, RECALL if measure == "jaccard" else CONTAINED_RECALL)
        if found is None:
            enough = f"{MAX_HASHES} hashes are too few to find {pairs}; set a higher threshold, or bands and rows"
            raise PlanError(enough)
        chosen["bands"], chosen["rows"] = found
    made = BandSettings(
        **chosen | {"normalize": differences(chosen["normalize"], chosen["shingle"], chosen["word_split"])}
    )
    require_integer("bands", made.bands, 1)
    require_integer("rows", made.rows, 1)
    hashes = made.bands * made.rows
    too_many = f"bands={bands} and rows={rows} must make at most {MOST_HASHES:,} hashes, not {hashes:,}"
    require(hashes <= MOST_HASHES, too_many)
    require(
        made.found(measure) >= LEAST,
        f"{made.bands} bands of {made.rows} rows propose {made.found(measure):.0%} of {pairs}, which must be at "
        f"least {LEAST:.0%}; choose more bands or fewer rows, or leave both out",
    )
    return made
