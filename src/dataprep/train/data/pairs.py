"""Pairs of rows for preference tuning: a chosen answer and a rejected one to the same prompt, in two sets of shards."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataprep.errors import PlanError
from dataprep.tokens.shards.shard import Shards

from .layouts import Layout, layout_of
from .mixture import Mixture
from .rows import permute

log = logging.getLogger(__name__)
CHOSEN, REJECTED = "chosen", "rejected"
_CHECKED = 10_000  # pairs whose prompts are compared


class AnswerPairs(Mixture):
    """Two sets of rows, in which rows of the same number form a pair; samples 2k and 2k + 1 are the rows of one pair.

    Attributes:
        layouts: {"chosen": rows, "rejected": rows}, with equal numbers of rows.

    The order of the pairs differs between epochs.
    """

    def __init__(self, layouts: Mapping[str, Layout], *, seed: int) -> None:
        super().__init__(layouts, seed=seed)
        self.n_pairs = self.sizes[0]

    def find(self, samples: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (set, row) of each sample, int64[n] each, as `Mixture.find` does."""
        pair, which = np.divmod(samples, 2)
        epoch, place = np.divmod(pair, self.n_pairs)
        number = np.empty_like(place)
        for e in np.unique(epoch).tolist():
            now = epoch == e
            number[now] = permute(place[now], self.n_pairs, f"{self.seed} {e} pairs")
        return which, number

    def held_out(self, count: int) -> NDArray[np.int64]:
        """Return the numbers of `count` pairs, at most all, spread over the split: the same ones in every call."""
        return permute(np.arange(min(count, self.n_pairs)), self.n_pairs, "validation")


def pairs_of(sets: Mapping[str, Shards], split: str, context: int, *, seed: int = 0) -> AnswerPairs | None:
    """Return the pairs of one split, a row of `context` inputs per answer; None if the split has no documents.

    A longer answer is cut. Raises PlanError unless the sets are "chosen" and "rejected", both have loss masks, and each
    document begins with the prompt of the document of the same number in the other set.
    """
    if set(sets) != {CHOSEN, REJECTED}:
        found = ", ".join(map(repr, sets))
        msg = f"dpo needs the sets {CHOSEN!r} and {REJECTED!r}, as `encode_preferences` writes them, and has {found}"
        raise PlanError(msg)
    sides = [sets[name].split(split) for name in (CHOSEN, REJECTED)]
    if len(sides[0]) == len(sides[1]) == 0:
        return None
    how: dict[str, Any] = {"how": "cut", "context": context, "mask_documents": False}
    layouts = {n: layout_of(s, name=n, **how) for n, s in zip((CHOSEN, REJECTED), sides, strict=True)}
    unmasked = any(layout.masks is None for layout in layouts.values())
    if unmasked or len(sides[0]) != len(sides[1]) or _heads(sides[0]) != _heads(sides[1]):
        where = " and ".join(str(side.path) for side in sides)
        msg = (
            f"the {split} documents in {where} are not answers to the same prompts; write both with encode_preferences"
        )
        raise PlanError(msg)
    lost = int(np.count_nonzero(~np.logical_or(*(_has_answer(side, context) for side in sides))))
    if lost == len(sides[0]):
        msg = f"no answer of the {split} pairs begins within model.context={context}: their prompts fill it; raise it"
        raise PlanError(msg)
    if lost:
        log.warning(
            "%s of %s %s pairs teach nothing: their prompts fill model.context=%s; raise it", f"{lost:,}",
            f"{len(sides[0]):,}", split, context,
        )  # fmt: skip
    return AnswerPairs(layouts, seed=seed)


def _has_answer(side: Shards, context: int) -> NDArray[np.bool_]:
    """Return whether each document of a split has a learned token among its first `context` tokens."""
    found = [np.zeros(0, np.bool_)]
    for i, mask in enumerate(side.masks()):
        ends = np.asarray(side.ends(i)).astype(np.int64)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        learned = np.zeros(int(ends[-1]) + 1 if len(ends) else 1, np.int64)
        np.cumsum(1 if mask is None else np.asarray(mask) != 0, out=learned[1:])
        found.append(learned[np.minimum(ends, starts + context)] > learned[starts])
    return np.concatenate(found)


def _heads(side: Shards) -> list[bytes]:
    """Return the tokens before the first learned token, for each of the first documents of a split."""
    found: list[bytes] = []
    for i, (tokens, mask) in enumerate(zip(side.memmaps(), side.masks(), strict=True)):
        ends = np.asarray(side.ends(i)).astype(np.int64)[: _CHECKED - len(found)]
        for start, stop in zip(np.concatenate([[0], ends[:-1]]).tolist(), ends.tolist(), strict=True):
            n = stop - start if mask is None else int(np.argmax(np.asarray(mask[start:stop]) != 0))
            found.append(np.asarray(tokens[start : start + n]).tobytes())
    return found
