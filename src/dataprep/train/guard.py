"""Guard of a training run against steps with a loss or gradient that is not finite: skip, roll back, then stop.

A skipped step never changes weights or moments (`optim.step_once`). After `PATIENCE` skipped steps in succession the
run returns to its newest checkpoint, and continues with the data after the last skipped step. If it fails again before
it has passed the step of the first failure, it returns to the checkpoint before that one. The third failure raises a
DataprepError.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .scaling import OVERFLOW

PATIENCE = 3
"""Skipped steps in succession that end in a rollback."""
ROLLBACKS = 2
"""Rollbacks before a run has passed the step at which it failed."""


@dataclass
class Guard:
    """Counts of a training run's skipped steps and rollbacks (returns to a checkpoint), stored in its checkpoints.

    Attributes:
        skipped: all skipped steps.
        streak: skipped steps in succession up to the newest step.
        rollbacks: rollbacks since the run last passed the step `furthest`.
        furthest: the latest step from which the run was rolled back.
        ahead: batches of data that rollbacks left out; step i reads batch i + ahead.
        spikes: steps whose loss was a spike.
        spiked: whether the run must return to a checkpoint because of the newest spike.
    """

    skipped: int = 0
    streak: int = 0
    rollbacks: int = 0
    furthest: int = 0
    ahead: int = 0
    spikes: int = 0
    spiked: bool = False

    def count(self, loss: float, norm: float) -> bool:
        """Count a step; return True if its loss and gradient norm are finite, False if the step was skipped.

        A step whose gradient overflowed because of the scale of the loss is skipped, and is not a failure.
        """
        if norm == OVERFLOW:
            self.skipped += 1
            return False
        fine = math.isfinite(loss) and math.isfinite(norm)
        self.skipped += not fine
        self.streak = 0 if fine else self.streak + 1
        return fine

    @property
    def must_roll_back(self) -> bool:
        """True if the run must return to a checkpoint: `PATIENCE` steps in succession were skipped, or for a spike."""
        return self.streak >= PATIENCE or self.spiked

    def saved(self, step: int) -> None:
        """Set `rollbacks` to 0 if a checkpoint is saved at a step after `furthest`, the latest step with a rollback."""
        if step > self.furthest:
            self.rollbacks = 0

    def rolled_back(self, failed: int, to: int) -> Guard:
        """Return the counts with which a run continues after it was rolled back from step `failed` to the step `to`."""
        return Guard(
            skipped=self.skipped,
            spikes=self.spikes,
            rollbacks=self.rollbacks + 1,
            furthest=max(failed, self.furthest),
            ahead=self.ahead + failed - to,
        )
