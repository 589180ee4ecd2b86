"""The difference between two versions of a corpus, over seeds and documents, and whether it is significant.

The loss differs between two trainings on the same data if their seeds differ, and it is measured on a sample of
documents. A difference therefore has two independent errors. Each has a 95 % interval by Student's t, for its number of
seeds or documents; to combine the intervals, the squares of their half widths are added. With few seeds the result is
close to a t interval over seeds; with many seeds, to one over documents. A bootstrap over three seeds would be too
narrow, because the spread of three values underestimates that of all seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .student import quantile

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
LEVEL = 0.95
POWER = 0.8  # with which `seeds_needed` shows a difference of the size seen
MOST_SEEDS = 1_000  # that `seeds_needed` tries
BETTER, WORSE, NOT_SHOWN = "better", "worse", "not shown"


@dataclass(frozen=True)
class Difference:
    """How much higher a loss is for one version than for the other; below 0, the version is better.

    Attributes:
        mean: the difference, in bits per byte: the mean over seeds, of all documents together.
        by_seed: the difference for each pair of runs with the same seed.
        seed_error: the standard error of `mean` that is due to the seeds.
        unit_error: the standard error of `mean` that is due to the choice of documents.
        units: the number of documents or groups of documents that were drawn independently.
    """

    mean: float
    by_seed: tuple[float, ...]
    seed_error: float
    unit_error: float
    units: int

    @property
    def seeds(self) -> int:
        """The number of seeds."""
        return len(self.by_seed)

    def half_width(self, level: float = LEVEL) -> float:
        """Return half the width of the interval that contains the true difference with the probability `level`."""
        return math.hypot(
            quantile(level, self.seeds - 1) * self.seed_error, quantile(level, self.units - 1) * self.unit_error
        )

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the bounds (low, high) of the interval of `half_width`."""
        half = self.half_width(level)
        return self.mean - half, self.mean + half

    @property
    def p(self) -> float:
        """The p value: the probability of a difference at least this large if there were no true difference."""
        if not self.mean or not (self.seed_error or self.unit_error):
            return 1.0 if not self.mean else 0.0
        low, high = 0.0, 1.0
        for _ in range(50):
            level = (low + high) / 2
            low, high = (level, high) if self.half_width(level) < abs(self.mean) else (low, level)
        return 1 - low

    def seeds_needed(self, comparisons: int = 1) -> int | None:
        """Return the number of seeds with which a true difference of this size is shown in 80 % of experiments.

        - comparisons: the number of versions that are compared with the baseline; each is tested at 5 % / comparisons.

        The errors are assumed to equal the observed ones. Returns None if there are so few documents that no number of
        seeds is enough.
        """
        spread, level = self.seed_error * math.sqrt(self.seeds), 1 - (1 - LEVEL) / comparisons
        of_units = (quantile(level, self.units - 1) + _power(self.units - 1)) * self.unit_error

        def shows(n: int) -> bool:
            of_seeds = (quantile(level, n - 1) + _power(n - 1)) * spread / math.sqrt(n)
            return math.hypot(of_seeds, of_units) <= abs(self.mean)

        if not self.mean or not shows(MOST_SEEDS):
            return None
        low, high = 1, MOST_SEEDS  # low is too few, high is enough
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if shows(middle) else (middle, high)
        return high


def _power(free: int) -> float:
    """Return the quantile `POWER` of Student's t distribution."""
    return quantile(2 * POWER - 1, free)


def difference(bits: F64, other: F64, sizes: F64, units: I64) -> Difference:
    """Return how much higher the loss of `other` is than that of `bits`.

    Args:
        bits: float64[seeds, documents], the loss of the models of one version on each document, in bits.
        other: float64[seeds, documents], the same for the other version; row i has the same seed in both.
        sizes: float64[documents], the bytes of each document.
        units: int64[documents], the number of the group to which each document belongs, from 0. Documents of one group
            are not independent of each other.

    >>> difference(np.ones((3, 9)), np.ones((3, 9)) * 2, np.ones(9), np.arange(9)).mean
    1.0
    """
    more = other - bits
    by_seed = more.sum(1) / sizes.sum()
    mean, n_seeds = float(by_seed.mean()), len(by_seed)
    n = int(units.max(initial=-1)) + 1
    of_unit, size = np.bincount(units, more.mean(0), n), np.bincount(units, sizes, n)
    left = of_unit - mean * size  # a ratio of two sums over units: the usual linear approximation
    unit_error = math.sqrt(n / (n - 1) * float(left @ left)) / float(sizes.sum()) if n > 1 else math.inf
    seed_error = float(by_seed.std(ddof=1)) / math.sqrt(n_seeds) if n_seeds > 1 else math.inf
    return Difference(mean, tuple(by_seed.tolist()), seed_error, unit_error, n)


def holm(p: Sequence[float]) -> list[float]:
    """Return the p values of several comparisons, corrected for their number (Holm 1979), in the same order.

    If all comparisons with a result of at most 0.05 are reported, at most 5 % of experiments report a false one,
    however the comparisons depend on each other.

    >>> [round(x, 3) for x in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order, found, highest = sorted(range(len(p)), key=p.__getitem__), [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[i]))
        found[i] = highest
    return found


def verdict(mean: float, corrected: float) -> str:
    """Return "better", "worse" or "not shown".

    - mean: the difference from the baseline; a lower loss is better.
    - corrected: the p value of the difference, corrected for the number of comparisons.
    """
    return NOT_SHOWN if corrected > 1 - LEVEL else BETTER if mean < 0 else WORSE
