"""Loss scaling for training in float16, whose smallest number would round most gradients to 0.

The loss is multiplied by `scale` before the backward pass, and the gradient divided by it afterwards. If a gradient
overflows, the step changes no weight and the scale is halved; after `GROWTH` steps without an overflow, the scale is
doubled. Everything is computed on the device, so that no step waits for a result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

FIRST, LARGEST, GROWTH = 2.0**16, 2.0**24, 2000
OVERFLOW = -1.0
"""Gradient norm that stands for one that overflowed because of the scale."""


@dataclass
class Scaler:
    """The scale of the loss, float32 scalar, and the number of steps since it changed, int64 scalar, on the device."""

    scale: Tensor
    steps: Tensor

    @classmethod
    def begin(cls, device: torch.device) -> Scaler:
        """Return the state before the first step."""
        return cls(torch.tensor(FIRST, device=device), torch.tensor(0, device=device))

    def unscale(self, parameters: Iterable[nn.Parameter]) -> None:
        """Divide the gradients by the scale."""
        gradients = [p.grad for p in parameters if p.grad is not None]
        torch._foreach_mul_(gradients, 1 / self.scale)

    def update(self, loss: Tensor, norm: Tensor) -> Tensor:
        """Adjust the scale to the gradient norm of a step; return the norm, or OVERFLOW.

        A norm that is not finite is an overflow if the loss is finite and the scale is above 1; with a lower scale, the
        gradient itself is not finite.
        """
        fine = torch.isfinite(norm)
        overflow = ~fine & torch.isfinite(loss) & (self.scale > 1)
        steps = torch.where(fine, self.steps + 1, 0)
        grows = steps >= GROWTH
        grown = torch.where(grows, (self.scale * 2).clamp(max=LARGEST), self.scale)
        self.scale = torch.where(overflow, self.scale / 2, grown)
        self.steps = torch.where(grows, 0, steps)
        return torch.where(overflow, OVERFLOW, norm)

    def state(self) -> dict[str, Any]:
        """Return the state as plain values, for a checkpoint."""
        return {"scale": float(self.scale), "steps": int(self.steps)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take the values of a checkpoint, a result of `state`; {} leaves the state unchanged."""
        if state:
            device = self.scale.device
            self.scale = torch.tensor(state["scale"], device=device)
            self.steps = torch.tensor(state["steps"], device=device)
