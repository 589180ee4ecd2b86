"""Spikes of the training loss, found by a robust rule, and a loss that rises for good.

A loss is a spike if it is far above the median of the last `WINDOW` steps: by `FAR` times their spread, and by at least
a `SHARE` of the median. The spread is 1.4826 times the median absolute deviation (MAD), which estimates the standard
deviation of normally distributed values; earlier spikes hardly change it. All of this is computed on the device, so
that no step waits for a result, and before the weights change, so that a step can be skipped. The result depends on the
losses alone, not on how often they are reported.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .config import TrainConfig

log = logging.getLogger(__name__)
WINDOW, LEAST = 64, 16
"""Number of previous steps with which a loss is compared, and the minimum number of them."""
FAR, SHARE = 6.0, 0.05
"""A spike exceeds the median by this many spreads, and by this share of the median."""
RISE = (0.2, 0.1)
"""A median that is higher than the lowest one by so many nats and this share of it has risen for good."""


@dataclass
class Spikes:
    """The losses of the last steps, on the device of the run, and the lowest of their medians so far.

    Attributes:
        recent: float32 (WINDOW), NaN until there are WINDOW steps.
        lowest: the lowest median so far; before the first median, the loss of a uniform prediction.
        risen: whether a median rose far above `lowest`, which is reported once.
    """

    recent: Tensor
    lowest: float
    risen: bool = False

    @classmethod
    def begin(cls, guess: float, device: torch.device) -> Spikes:
        """Return the state before the first step.

        - guess: the loss of a uniform prediction.
        """
        return cls(torch.full((WINDOW,), math.nan, device=device), guess)

    def limit(self) -> tuple[Tensor, Tensor]:
        """Return (largest loss that is not a spike, median), float32 scalars; infinite while the losses are few."""
        median = self.recent.nanmedian()
        spread = 1.4826 * (self.recent - median).abs().nanmedian()
        limit = median + torch.maximum(FAR * spread, SHARE * median.abs())
        enough = torch.isfinite(self.recent).sum() >= LEAST
        return torch.where(enough, limit, math.inf), torch.where(enough, median, math.inf)

    def add(self, found: Tensor) -> Tensor:
        """Add the loss of a step; return `found`, its loss and gradient norm, with (is a spike, median before it)."""
        limit, median = self.limit()
        loss = found[0].detach().to(torch.float32)
        after = torch.cat([self.recent[1:], loss[None]])
        self.recent = torch.where(torch.isfinite(loss), after, self.recent)
        is_spike = (loss > limit) & torch.isfinite(loss)
        return torch.stack([loss, found[1].to(torch.float32), is_spike.float(), median])

    def rises(self, median: float) -> bool:
        """Return whether the median of the losses has just risen far above the lowest; True at most once per run."""
        if not math.isfinite(median):
            return False
        nats, share = RISE
        just = not self.risen and median > self.lowest + nats + share * self.lowest
        self.lowest, self.risen = min(self.lowest, median), self.risen or just
        return just

    def state(self) -> dict[str, Any]:
        """Return the state as plain values, for a checkpoint."""
        return {"recent": self.recent.tolist(), "lowest": self.lowest, "risen": self.risen}

    def restore(self, state: dict[str, Any]) -> None:
        """Take the values of a checkpoint, a result of `state`; {} leaves the state unchanged."""
        if state:
            self.recent = torch.tensor(state["recent"], device=self.recent.device)
            self.lowest, self.risen = state["lowest"], state["risen"]


def warn_of_rise(step: int, median: float, lowest: float, config: TrainConfig) -> None:
    """Log one sentence about the rise of the loss, with advice."""
    log.warning(
        "step %s: the training loss has risen to %.2f (median of the steps before) from %.2f, so training diverges: "
        "lower lr (now %g) or clip (now %g), or lengthen warmup (now %d)",
        f"{step:,}", median, lowest, config.lr, config.clip, config.warmup,
    )  # fmt: skip
