"""Mix several sets of training rows by weight: the number of a sample alone determines its set and row.

In a period of at most 65,536 samples, each set has a whole number of samples. The samples are arranged so that after
*any* number of them, the number from each set is within one sample of its share (the chairman assignment problem,
Tijdeman 1980). Each set counts its own epochs and has its own order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dataprep.errors import PlanError

from .layouts import Layout
from .rows import Rows, permute

PERIOD = 1 << 16
"""Longest period: weights that it cannot represent exactly are rounded to 1 in 65,536."""

Ints = NDArray[np.int64]


class Mixture:
    """Several sets of rows as one sequence of samples, in which each set has a share of the samples by its weight.

    Attributes:
        sets: {name: layout}.
        weights: {name: any positive number}; None means that the weight of a set is its number of rows.
        seed: decides the order of the rows within each set.

    >>> Mixture({"web": web, "chat": chat}, {"web": 0.9, "chat": 0.1}).find(np.arange(3))
    """

    def __init__(
        self, sets: Mapping[str, Layout], weights: Mapping[str, float] | None = None, *, seed: int = 0
    ) -> None:
        self.names, self.layouts, self.seed = list(sets), list(sets.values()), seed
        self.context = self.layouts[0].context
        self.sizes = [len(layout) for layout in self.layouts]
        self.weights = _checked(weights, dict(zip(self.names, self.sizes, strict=True)))
        self.shares = shares(self.weights)
        self._set = interleave(self.shares)
        self._before = np.zeros(len(self._set), np.int64)  # samples of the same set earlier in the period
        for i, share in enumerate(self.shares):
            self._before[self._set == i] = np.arange(share)

    def __len__(self) -> int:
        """Return the number of rows of all sets."""
        return sum(self.sizes)

    @property
    def n_tokens(self) -> int:
        """The number of tokens in all sets."""
        return sum(layout.n_tokens for layout in self.layouts)

    def find(self, samples: Ints) -> tuple[Ints, Ints]:
        """Return (set, row) of each sample, int64[n] each: the set's index in `names`, and the row's number in it."""
        period, at = np.divmod(samples, len(self._set))
        which = self._set[at]
        ordinal = period * np.asarray(self.shares)[which] + self._before[at]
        number = np.empty_like(ordinal)
        for i, size in enumerate(self.sizes):
            here = which == i
            epoch, place = np.divmod(ordinal[here], size)
            found = np.empty_like(place)
            for e in range(int(epoch.min(initial=0)), int(epoch.max(initial=-1)) + 1):
                now = epoch == e
                found[now] = permute(place[now], size, f"{self.seed} {e} {self.names[i]}".rstrip())
            number[here] = found
        return which, number

    def rows(self, which: Ints, number: Ints) -> Rows:
        """Return n rows: row number[k] of set which[k] for each k.

        - which, number: int64[n], as `find` returns them.
        """
        seen: list[int] = np.flatnonzero(np.bincount(which)).tolist()
        if len(seen) == 1:
            return self.layouts[seen[0]].rows(number)
        parts = [(np.flatnonzero(which == i), self.layouts[i].rows(number[which == i])) for i in seen]
        return Rows._make(
            _merged([(at, part[field]) for at, part in parts], field) for field in range(len(Rows._fields))
        )

    def epochs(self, samples: int) -> dict[str, float]:
        """Return how often each set was read after `samples` samples, as {name: times}; 0.5 means half of its rows."""
        period, at = divmod(samples, len(self._set))
        done = np.bincount(self._set[:at], minlength=len(self.names)) + period * np.asarray(self.shares)
        return {n: int(d) / size for n, d, size in zip(self.names, done, self.sizes, strict=True)}


def _merged(parts: list[tuple[Ints, NDArray[np.generic] | None]], field: int) -> NDArray[np.generic] | None:
    """Return one field of rows of several sets, in order; for sets without it, the value that None represents."""
    like = next((part for _, part in parts if part is not None), None)
    if like is None:
        return None
    out = np.full((sum(len(at) for at, _ in parts), like.shape[1]), Rows._fields[field] == "learn", like.dtype)
    for at, part in parts:
        if part is not None:
            out[at] = part
    return out


def _checked(weights: Mapping[str, float] | None, sizes: Mapping[str, int]) -> dict[str, float]:
    if weights is None:
        return dict(sizes)
    there = ", ".join(sizes)
    for name, weight in weights.items():
        if name not in sizes:
            msg = f"the name {name!r} in weights must be one of the sets: {there}"
            if not there:
                msg = f"the name {name!r} in weights must be left out, since the only set has no name"
            raise PlanError(msg)
        if not (isinstance(weight, (int, float)) and 0 < weight < math.inf):
            msg = f"the weight of {name!r} is {weight!r}; it must be above 0; leave out sets that are not wanted"
            raise PlanError(msg)
    missing = [name for name in sizes if name not in weights]
    if missing:
        msg = f"weights must name every set, but {missing[0]!r} is missing; give a weight to each of {there}"
        msg = msg if there else f"weights={weights!r} must be left out, since there is only one set"
        raise PlanError(msg)
    return {name: weights[name] for name in sizes}


def shares(weights: Mapping[str, float]) -> list[int]:
    """Return the number of samples of each set in one period, after which the sequence of sets repeats.

    Args:
        weights: {set: weight}. The shares are exact if a period of at most `PERIOD` samples can have them; otherwise
            they are rounded.

    Raises PlanError if a set would have no sample.

    >>> shares({"web": 0.6, "chat": 0.3, "code": 0.1})
    [6, 3, 1]
    """
    exact = [Fraction(str(w)) for w in weights.values()]
    exact = [w / sum(exact) for w in exact]
    period = math.lcm(*(w.denominator for w in exact))
    if period <= PERIOD:
        return [int(w * period) for w in exact]
    counts = [int(w * PERIOD) for w in exact]
    by_rest = sorted(range(len(exact)), key=lambda i: (counts[i] - exact[i] * PERIOD, i))
    for i in by_rest[: PERIOD - sum(counts)]:
        counts[i] += 1
    if 0 in counts:
        name = list(weights)[counts.index(0)]
        least = f"1/{PERIOD:,} of the sum of all weights"
        msg = f"the weight of {name!r} must be at least {least}; raise it or leave the set out"
        raise PlanError(msg)
    return counts


def interleave(counts: list[int]) -> Ints:
    """Return the order of sets in one period: the set of each sample, int64[sum(counts)], as an index into `counts`.

    Args:
        counts: the number of samples of each of k sets.

    After any number of samples, the number from each set differs from its share by less than one sample. To achieve
    this, sets that are behind their share by less than 1/(2k-2) of a sample are not eligible; among the eligible sets,
    the one whose next sample is due first is chosen (Tijdeman 1980).
    """
    period, sets = sum(counts), len(counts)
    if sets == 1:
        return np.zeros(period, np.int64)
    slack, chosen = 2 * sets - 2, []
    lag = [0] * sets  # of each set, the period times (its share of the samples so far, less those it has had)
    for _ in range(period):
        lag = [behind + count for behind, count in zip(lag, counts, strict=True)]
        due = [
            ((slack - 1) * period - slack * behind) / count if slack * behind >= period else math.inf
            for behind, count in zip(lag, counts, strict=True)
        ]
        best = due.index(min(due))
        chosen.append(best)
        lag[best] -= period
    return np.array(chosen, np.int64)
