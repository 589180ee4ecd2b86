"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998) with pruning as in `lmplz`.

The adjusted count of an n-gram is the number of its occurrences in the text, if it has the highest order or begins with
<s>; otherwise it is the number of different words that occur before it. Source: Heafield, Pouzyrevsky, Clark, Koehn,
"Scalable Modified Kneser-Ney Language Model Estimation" (2013), the paper on `lmplz`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.errors import DataprepError
from dataprep.unicode.text import I64

from .partition import Sorted
from .vocabulary import BOS, I32

F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

FALLBACK = (0.5, 1.0, 1.5)  # lmplz --discount_fallback


class Nodes(NamedTuple):
    """The distinct n-grams of one length (`order`), sorted by the last word first, with their adjusted counts.

    The arrays have one entry per n-gram.

    Attributes:
        first: the index of the first n-gram of the highest order that ends with the n-gram.
        parent: the index of the n-gram without its first word, among those of length `order` - 1.
        adjusted: the adjusted counts, int64[n]; for lower orders, the number of different words before the n-gram.
        kept: False if the n-gram is pruned.
    """

    order: int
    first: npt.NDArray[np.intp]  # index of the first of each among the n-grams of the highest order
    parent: npt.NDArray[np.intp]  # index of its suffix in the order below
    adjusted: I64
    kept: Bools  # not pruned


def nodes(ngrams: Sorted, prune: Sequence[int]) -> Iterator[Nodes]:
    """Yield the distinct n-grams of order (length) 2, then of order 3, and so on up to the highest order.

    Args:
        ngrams: the n-grams of the highest order.
        prune: one number per order; n-grams with at most this many occurrences are pruned (`kept` is False). N-grams
            with <s> after their first word are left out.
    """
    top = len(ngrams.columns)
    begins = [_begins(ngrams, n) for n in range(1, top + 1)]
    for n in range(2, top + 1):
        first = np.flatnonzero(begins[n - 1])
        parent = np.cumsum(begins[n - 2], dtype=np.int32)[first].astype(np.intp) - 1
        if n == top:
            adjusted = actual = ngrams.counts[first]
        else:
            alive = ngrams.columns[n - 2] != BOS
            actual = np.add.reduceat(ngrams.counts * alive, first) if len(first) else np.zeros(0, np.int64)
            extensions = np.add.reduceat(begins[n], first, dtype=np.int64) if len(first) else actual
            adjusted = np.where(ngrams.columns[n - 1][first] == BOS, actual, extensions)
        yield Nodes(n, first, parent, adjusted, actual > prune[n - 1])


def _begins(ngrams: Sorted, n: int) -> Bools:
    """Return rows whose n-gram of order n differs from the previous row, and has <s> at most as its first word."""
    new = np.ones(ngrams.columns.shape[1], np.bool_)
    if len(new):
        new[1:] = (ngrams.columns[:n, 1:] != ngrams.columns[:n, :-1]).any(0)
    return new & (ngrams.columns[n - 2] != BOS) if n > 1 else new


class Statistics:
    """Numbers of n-grams of each order (length): by adjusted count (0 to 4, 5 or more), and unpruned ones."""

    def __init__(self, order: int) -> None:
        self.of_count = np.zeros((order, 6), np.int64)  # last column: 5 and more
        self.kept = [0] * order

    def add(self, order: int, adjusted: I64, kept: Bools) -> None:
        """Add n-grams of length `order`.

        - adjusted: the adjusted counts of the n-grams, int64[n].
        - kept: bool[n], False if pruned.
        """
        self.of_count[order - 1] += np.bincount(np.minimum(adjusted, 5), minlength=6)
        self.kept[order - 1] += int(kept.sum())

    def discounts(self, fallback: Sequence[float] | None) -> F64:
        """Return the discounts (subtracted from counts) per order for counts 0, 1, 2, and 3 or more, float64[order, 4].

        Args:
            fallback: three discounts for an order whose discounts cannot be computed. If it is None, DataprepError is
                raised for such an order.
        """
        rows = []
        for order, counts in enumerate(self.of_count.tolist(), 1):
            found, problem = _discounts(order, counts)
            if problem and fallback is None:
                msg = (
                    f"the text is too small or too artificial for Kneser-Ney discounts: {problem}; provide more text, "
                    "a lower order, or pass discount_fallback=True (--discount-fallback), which subtracts 0.5, 1 and "
                    "1.5"
                )
                raise DataprepError(msg)
            rows.append([0.0, *(fallback if problem and fallback else found)])
        return np.array(rows)


def _discounts(order: int, t: Sequence[int]) -> tuple[Sequence[float], str]:
    """Return the discounts of one order (Chen and Goodman, equation 26), and the reason not to use them, or ""."""
    absent = [j for j in (1, 2, 3) if t[j] == 0]
    if absent:
        return (), f"no {order}-gram has an adjusted count of {absent[0]}"
    y = t[1] / (t[1] + 2 * t[2])
    found = [j - (j + 1) * y * t[j + 1] / t[j] for j in (1, 2, 3)]
    bad = [(j, d) for j, d in enumerate(found, 1) if not 0 <= d <= j]
    if bad:
        return found, f"the discount of {order}-grams with an adjusted count of {bad[0][0]} would be {bad[0][1]:.3f}"
    return found, ""


class Smoothed(NamedTuple):
    """Probabilities of the n-grams of one order (length), and the back-off weights of the order below.

    Attributes:
        nodes: the n-grams.
        probability: the probability of each n-gram, float64.
        gamma: the back-off weight of each context (the words before the last), float64[m].
        context: for each context, the index of an n-gram of the highest order that has this context, int32[m].
    """

    nodes: Nodes
    probability: F64  # of each node
    gamma: F64  # of each context of this order, in context order: the probability of its unseen words
    context: I32  # one n-gram of the highest order for each context, whose columns 1.. are its words


def unigrams(adjusted: I64, discounts: F64) -> F64:
    """Return the probability of each single word, float64[words].

    Args:
        adjusted: the adjusted counts, int64[words].
        discounts: the discounts of order 1, for counts of 0, 1, 2, and 3 or more. The word <unk>, whose count is 0,
            gets only a share of the discounted probability. The probability of <s> is 1.
    """
    total = adjusted.sum()
    taken = discounts[np.minimum(adjusted, 3)]
    probability: F64 = (adjusted - taken) / total + taken.sum() / total / (len(adjusted) - 1)
    probability[BOS] = 1.0
    return probability


def smooth(ngrams: Sorted, prune: Sequence[int], discounts: F64, words: F64) -> Iterator[Smoothed]:
    """Yield the probabilities and back-off weights of every order, from 2 to the highest.

    Args:
        ngrams: the n-grams of the highest order.
        prune: one number per order, as in `nodes`.
        discounts: float64[order, 4].
        words: float64, the probabilities of order 1.
    """
    lower = words[ngrams.columns[0]]
    same = np.ones(max(0, len(ngrams.by_context) - 1), np.bool_)
    number = np.empty(len(ngrams.by_context), np.int32)  # context of each n-gram of the highest order
    for level in nodes(ngrams, prune):
        column = ngrams.columns[level.order - 1][ngrams.by_context]
        same &= column[1:] == column[:-1]
        new = np.concatenate([np.ones(min(1, len(number)), np.bool_), ~same])
        number[ngrams.by_context] = np.cumsum(new, dtype=np.int32) - 1
        context = number[level.first]
        taken = discounts[level.order - 1][np.minimum(level.adjusted, 3)]
        n_contexts = int(new.sum())
        total = np.bincount(context, level.adjusted, n_contexts)
        left = np.bincount(context, np.where(level.kept, taken, level.adjusted), n_contexts)
        gamma = left / np.where(total, total, 1)
        below = lower[level.first] if level.order == 2 else lower[level.parent]
        lower = (level.adjusted - taken) / total[context] + gamma[context] * below
        real = total > 0  # the others have <s> after their first word
        yield Smoothed(level, lower, gamma[real], ngrams.by_context[new][real])
