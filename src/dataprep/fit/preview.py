"""The documents of the reference and of the crawl sample that each cut of a preset drops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model.dataset import Dataset
from dataprep.core.model.score import ScoredFilter
from dataprep.filters.thresholds import DROPS, Threshold

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CutShares:
    """One line of a preview: a rule, and the shares of documents that it drops.

    Attributes:
        stage: the filter.
        reason: the drop reason; "all" for all rules of the filter together.
        limit: the threshold.
        usual: the published threshold for English; None if there is none.
        reference: the share (0 to 1) of the reference's documents that the rule alone would drop.
        crawl: the share (0 to 1) of the crawl's documents that the rule alone would drop.
    """

    stage: str
    reason: str
    limit: float | None
    usual: float | None
    reference: float
    crawl: float


def measured(docs: Dataset, filters: Sequence[ScoredFilter]) -> dict[str, pa.ChunkedArray]:
    """Return the scores of all filters for each document of `docs`, as columns by name."""
    found: dict[str, list[pa.Array]] = {name: [] for one in filters for name in one.scores}
    for batch in docs.batches():
        for one in filters:
            for name, values in one.scores_of(batch).items():
                found[name].append(values)
    return {name: pa.chunked_array(values) for name, values in found.items() if values}


def floats(values: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Return a column of scores as float64, with NaN for null."""
    return np.asarray(values.cast(pa.float64()).to_numpy(), np.float64)


def cuts_of(
    stage: Any, rules: Sequence[Threshold], usual: Mapping[str, Any], reference: Mapping[str, Any], crawl: Any
) -> tuple[list[CutShares], Bools, Bools]:
    """Return a CutShares per rule of a filter and one for all, and which documents of both samples are dropped.

    - stage: the filter, with the limits.
    - usual: the published limits, by parameter.
    - reference: the columns of scores of the reference.
    - crawl: the columns of scores of the crawl sample.
    """
    rows = []
    lost = [np.zeros(len(next(iter(columns.values()))), bool) for columns in (reference, crawl)]
    for rule in rules:
        at = getattr(stage, rule.parameter)
        if at is None:
            continue
        hit = [DROPS[rule.drops](floats(columns[rule.score]), at) for columns in (reference, crawl)]
        lost = [before | now for before, now in zip(lost, hit, strict=True)]
        rows.append(CutShares(stage.name, rule.reason, at, usual.get(rule.parameter), *map(share_of, hit)))
    return [*rows, CutShares(stage.name, "all", None, None, *map(share_of, lost))], lost[0], lost[1]


def share_of(lost: Bools) -> float:
    """Return the share of True values, rounded to four digits; 0 if there are no values."""
    return round(float(lost.mean()), 4) if len(lost) else 0.0
