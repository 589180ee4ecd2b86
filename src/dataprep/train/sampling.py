"""Sampling: the rule by which the next id is drawn from the model's scores (temperature, top-k, top-p, min-p)."""

# ruff: noqa: N803, N806 - the shape letters are capitals
from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dataprep.errors import DataprepError, PlanError

COLDEST = 1e-6
"""Lower temperatures count as 0: at this one, a score that is lower by 0.0001 already has the probability 0."""
NOT_FINITE = "the model's scores are not finite: its weights are damaged or have diverged; use another checkpoint"


def check_finite(losses: Iterable[float]) -> None:
    """Raise DataprepError if a loss of a model, in nats, is not a finite number."""
    if not all(map(math.isfinite, losses)):
        raise DataprepError(NOT_FINITE)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The rule by which the next token id is drawn from the model's scores.

    Attributes:
        temperature: divides the scores; 0, or a number below `COLDEST`, takes the best id.
        top_k: draw only from the k best ids.
        top_p: draw only from the fewest best ids whose probabilities add up to p (nucleus sampling, Holtzman et al.
            2019).
        min_p: draw only from ids at least p times as probable as the best (Nguyen et al. 2024).
        repetition_penalty: for ids in the text so far, positive scores are divided by this number, and negative scores
            are multiplied by it (Keskar et al. 2019); from 0.01 to 100.
        seed: the seed of the random numbers.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        def number(value: object) -> float:
            return value if isinstance(value, (int, float)) and not isinstance(value, bool) else float("nan")

        if not 0 <= number(self.temperature) < float("inf"):
            msg = f"temperature={self.temperature!r} must be a finite number, 0 or more"
        elif self.top_k is not None and not (isinstance(self.top_k, int) and number(self.top_k) >= 1):
            msg = f"top_k={self.top_k!r} must be 1 or more"
        elif not 0 < number(self.top_p) <= 1:
            msg = f"top_p={self.top_p!r} must be above 0 and at most 1"
        elif not 0 <= number(self.min_p) <= 1:
            msg = f"min_p={self.min_p!r} must be from 0 to 1"
        elif not 0.01 <= number(self.repetition_penalty) <= 100:
            penalty = self.repetition_penalty
            msg = f"repetition_penalty={penalty!r} must be a finite number from 0.01 to 100; 1 changes nothing"
        elif not (isinstance(self.seed, int) and 0 <= number(self.seed) < 1 << 62):
            msg = f"seed={self.seed!r} must be a whole number from 0 to 2**62 - 1"
        else:
            return
        raise PlanError(msg)

    def pick(self, logits: Sequence[Tensor], generators: Sequence[torch.Generator], texts: Sequence[Sequence[int]]
             ) -> Any:  # fmt: skip
        """Return an id for each of several rows, drawn by this rule from the scores of its next id, float (V).

        - generators: the random numbers of each row.
        - texts: the ids of each row so far, for the repetition penalty. The ids of all rows are read from the device at
          once.

        Raises DataprepError if a score is not finite.
        """
        return self.read(self.draw(logits, generators, texts))

    def draw(self, logits: Sequence[Tensor], generators: Sequence[torch.Generator], texts: Sequence[Sequence[int]]
             ) -> Tensor:  # fmt: skip
        """Return the result of `pick` as a tensor on the device, int64 (rows), without waiting for it.

        The id of a row whose scores are not finite is -1; `read` raises an error for it.
        """
        return torch.stack([self._draw(*row) for row in zip(logits, generators, texts, strict=True)])

    @staticmethod
    def read(drawn: Tensor) -> Any:
        """Return drawn ids as nested lists. Raises DataprepError if a score was not finite."""
        ids = drawn.tolist()
        if -1 in (ids if drawn.ndim == 1 else itertools.chain.from_iterable(ids)):
            raise DataprepError(NOT_FINITE)
        return ids

    def _draw(self, logits_V: Tensor, generator: torch.Generator, text: Sequence[int]) -> Tensor:
        """Return one id, int64 scalar on the device; -1 if a score is not finite."""
        if self.repetition_penalty != 1 and text:
            ids = torch.tensor(sorted(set(text)), device=logits_V.device)
            seen = logits_V[ids]
            seen = torch.where(seen > 0, seen / self.repetition_penalty, seen * self.repetition_penalty)
            logits_V = logits_V.index_copy(0, ids, seen)
        fine = torch.isfinite(logits_V).all()
        if self.temperature < COLDEST:
            return torch.where(fine, logits_V.argmax(), -1)
        scores, ids = logits_V.sort(descending=True, stable=True)
        scores = (scores - scores[0]) / self.temperature  # 0 at most, so that no score overflows
        probability = scores[: self.top_k].softmax(-1)
        before = probability.cumsum(-1) - probability
        best = probability[0].clamp(min=1e-9)  # the best id is kept in spite of rounding
        probability[(before >= self.top_p) | (probability < self.min_p * best)] = 0
        probability[0] = best
        probability = torch.where(fine, probability, 1.0)  # numbers that can be drawn from, in spite of NaN
        # As torch.multinomial draws one id; that function waits for the device to check its numbers.
        drawn = (probability / torch.empty_like(probability).exponential_(generator=generator)).argmax()
        return torch.where(fine, ids[drawn], -1)
