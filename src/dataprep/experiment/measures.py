"""Measures: the losses of an experiment, in bits per byte of text, and how well each measure distinguishes versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.dataset import Dataset
from dataprep.errors import PlanError

from .design import FEWEST
from .difference import Difference, difference, holm, verdict

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
ALL = "all"
MOST_GROUPS = 12  # values of a column that are measured, those with the most text
CANNOT_TELL = 1.0  # signal to noise below which a measure cannot tell the versions apart


@dataclass(frozen=True)
class Measure:
    """Losses of the same items by the models of all versions and seeds.

    Attributes:
        name: "all", "source=news", "choices-exam" ...
        bits: {version: float64[seeds, items]}, the loss on each item.
        sizes: float64[items], the bytes of each item.
        units: int64[items], the number of each item's group, from 0.
    """

    name: str
    bits: dict[str, F64]
    sizes: F64
    units: I64

    def values(self, version: str) -> F64:
        """Return the bits per byte of each run of a version, float64[seeds]."""
        return np.asarray(self.bits[version].sum(1) / self.sizes.sum())

    @property
    def noise(self) -> float:
        """The standard deviation of a run's value between the seeds of a version, in bits per byte; pooled."""
        return float(np.sqrt(np.mean([self.values(name).var(ddof=1) for name in self.bits])))

    @property
    def signal(self) -> float:
        """The difference between the best and the worst version's mean over seeds, in bits per byte."""
        means = [self.values(name).mean() for name in self.bits]
        return float(max(means) - min(means))

    @property
    def signal_to_noise(self) -> float:
        """The signal divided by the noise; infinite if all seeds of each version have the same value."""
        return self.signal / self.noise if self.noise else float("inf") if self.signal else 0.0

    def compared(self, baseline: str) -> dict[str, Compared]:
        """Return the comparison of each other version with the baseline, corrected for their number."""
        found = {
            name: difference(self.bits[baseline], bits, self.sizes, self.units)
            for name, bits in self.bits.items() if name != baseline
        }  # fmt: skip
        corrected = holm([one.p for one in found.values()])
        return {n: Compared(d, p, len(found)) for (n, d), p in zip(found.items(), corrected, strict=True)}


@dataclass(frozen=True)
class Compared:
    """A version compared with the baseline.

    Attributes:
        difference: its loss minus that of the baseline.
        p: the p value of the difference, corrected for the number of comparisons.
        comparisons: the number of comparisons.
    """

    difference: Difference
    p: float
    comparisons: int

    @property
    def verdict(self) -> str:
        """Whether the version is "better" or "worse" than the baseline, or "not shown"."""
        return verdict(self.difference.mean, self.p)

    @property
    def seeds_needed(self) -> int | None:
        """The number of seeds that would show a difference of this size; None if no number would."""
        return self.difference.seeds_needed(self.comparisons)


def of_documents(
    bits: Mapping[str, F64], sizes: F64, units: I64, held: Dataset, by: Sequence[str]
) -> list[Measure]:  # fmt: skip
    """Return the measure of all held-out documents, and one for each value of the columns `by`.

    A value is left out if it has fewer than `FEWEST` groups of documents.
    """
    found = [_some(ALL, bits, sizes, units, sizes > 0)]
    if by:
        table = held.table(list(dict.fromkeys(["id", *by])))
        for column in by:
            labels = pc.fill_null(pc.cast(table[column], pa.string()), "(none)").to_numpy(zero_copy_only=False)
            names, at = np.unique(labels.astype(str), return_inverse=True)
            weight = np.bincount(at.reshape(-1), sizes, len(names))
            for i in sorted(range(len(names)), key=lambda i: (-weight[i], names[i]))[:MOST_GROUPS]:
                chosen = (at.reshape(-1) == i) & (sizes > 0)
                if len(np.unique(units[chosen])) >= FEWEST and len(names) > 1:
                    found.append(_some(f"{column}={names[i]}", bits, sizes, units, chosen))
    return found


def _some(name: str, bits: Mapping[str, F64], sizes: F64, units: I64, chosen: npt.NDArray[np.bool_]) -> Measure:
    own = np.unique(units[chosen], return_inverse=True)[1].reshape(-1).astype(np.int64)
    return Measure(name, {n: one[:, chosen] for n, one in bits.items()}, sizes[chosen], own)


def check_columns(by: Sequence[str], columns: Sequence[str]) -> None:
    """Raise PlanError if the held-out documents lack one of the columns `by`."""
    if missing := [column for column in by if column not in columns]:
        msg = f"by={missing[0]!r} must be a column of the held-out documents: {', '.join(columns)}"
        raise PlanError(msg)


def to_dict(measure: Measure, baseline: str) -> dict[str, Any]:
    """Return a measure as plain values, for JSON."""
    compared = measure.compared(baseline)
    return {
        "name": measure.name, "bytes": float(measure.sizes.sum()), "items": len(measure.sizes),
        "groups": int(measure.units.max(initial=-1)) + 1, "signal": measure.signal, "noise": measure.noise,
        "signal_to_noise": measure.signal_to_noise,
        "versions": {
            name: {
                "bits_per_byte": float(measure.values(name).mean()), "by_seed": measure.values(name).tolist(),
                **(_facts(compared[name]) if name in compared else {}),
            }
            for name in measure.bits
        },
    }  # fmt: skip


def _facts(found: Compared) -> dict[str, Any]:
    one = found.difference
    return {
        "difference": one.mean, "interval": list(one.interval()), "by_seed_difference": list(one.by_seed),
        "seed_error": one.seed_error, "document_error": one.unit_error, "p": one.p, "p_corrected": found.p,
        "verdict": found.verdict, "seeds_needed": found.seeds_needed,
    }  # fmt: skip
