"""Thresholds from quantiles: the strictest limit of a rule that drops at most a given share of a reference.

Slow reference for the tests: tests/twins/limits.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.filters.fineweb import RULES as FINEWEB_RULES
from dataprep.filters.gopher.stage import PRESETS as GOPHER
from dataprep.filters.gopher.stage import RULES as GOPHER_RULES
from dataprep.filters.thresholds import Threshold

DIGITS = 4  # of a limit
# The rules whose thresholds FineWeb-2 sets per language, and the two that short texts need.
GOPHER_FITTED = (
    "min_words", "min_mean_word_chars", "max_mean_word_chars", "min_alphabetic", "min_stop_words", "max_dup_lines",
    *(f"max_top_{n}gram" for n in (2, 3, 4)), *(f"max_dup_{n}gram" for n in range(5, 11)),
)  # fmt: skip
AT_MOST = ("min_words", "min_stop_words")  # never above the published number
FINEWEB_FITTED = ("min_punctuated_lines", "max_newline_ratio")
# As FineWeb-2 has them for all languages.
FINEWEB_FIXED: dict[str, Any] = {"max_short_lines": None, "max_dup_line_chars": 0.1}
FINEWEB_PUBLISHED: dict[str, Any] = {"min_punctuated_lines": 0.12, "max_newline_ratio": 0.3}


def limit(values: npt.ArrayLike, drops: str, quantile: float) -> float | None:
    """Return the strictest limit of a rule that drops at most a share of `quantile` of the values, or None.

    - values: the scores of the reference, one per document; NaN is not a score.
    - drops: the comparison with the limit that drops a document, "<", "<=", ">" or ">=". The limit is rounded to four
      digits, so that no more values are dropped.
    """
    low = drops[0] == "<"
    found = np.asarray(values, np.float64)
    n = len(found)
    found = np.sort(found[~np.isnan(found)]) if low else -np.sort(-found[~np.isnan(found)])
    if not len(found):
        return None
    most = min(math.floor(quantile * n + 1e-9), len(found) - 1)  # so many values may be dropped
    edge = round(float(found[most]) * 10**DIGITS, 6)  # of the first value that must be kept
    if len(drops) == 2:  # a value at the limit is dropped, too
        edge = math.ceil(edge) - 1 if low else math.floor(edge) + 1
    edge = math.floor(edge) if low else math.ceil(edge)
    return edge / 10**DIGITS if edge >= 0 else None


def gopher_limits(scores: Mapping[str, npt.ArrayLike], quantile: float) -> dict[str, Any]:
    """Return the fitted parameters of Gopher, by name.

    Args:
        scores: the columns gopher_* of the reference.
        quantile: the share of the reference that each rule may drop. If the fitted limit of a share of repeats is 0,
            because most of the reference has no repeats, the published limit is kept.
    """
    found = _limits(GOPHER_RULES, GOPHER_FITTED, scores, quantile, GOPHER["paper"])
    for name in AT_MOST:
        most = int(GOPHER["paper"][name])
        found[name] = None if found[name] is None else min(most, int(found[name])) or None
    return found


def fineweb_limits(scores: Mapping[str, npt.ArrayLike], quantile: float) -> dict[str, Any]:
    """Return the parameters of FineWeb by name: two fitted, and two as FineWeb-2 has them for all languages.

    Args:
        scores: the columns fineweb_* of the reference.
        quantile: the share of the reference that each rule may drop.
    """
    found = _limits(FINEWEB_RULES, FINEWEB_FITTED, scores, quantile, FINEWEB_PUBLISHED)
    return {name: None if value is None else min(value, 1.0) for name, value in found.items()} | FINEWEB_FIXED


def _limits(
    rules: tuple[Threshold, ...], names: tuple[str, ...], scores: Any, quantile: float, published: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fitted limits of the rules with these names; in place of 0, the published limit or None."""
    found: dict[str, Any] = {}
    for rule in rules:
        if rule.parameter in names:
            value = limit(scores[rule.score], rule.drops, quantile)
            instead = published[rule.parameter] if rule.drops[0] == ">" else None
            found[rule.parameter] = instead if value == 0 else value
    return found
