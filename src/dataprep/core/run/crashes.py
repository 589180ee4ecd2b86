"""Crashes: counts how often each task ended its worker, and decides when to give up on a task or a file."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dataprep.errors import WorkerDied

ATTEMPTS = 3  # attempts at an item whose worker died, or that met network errors
MAX_CRASHES = 2  # deaths of workers that ran no other item


class Quarantined(WorkerDied):
    """A slice of a file ended a worker twice; reading continues without it in `Pipeline.run`."""

    def __init__(self, piece: Any, why: str) -> None:
        super().__init__(f"{piece.url}: {why}, {MAX_CRASHES} times; read it alone with other limits, or leave it out")
        self.piece, self.why = piece, why

    def __reduce__(self) -> tuple[Any, ...]:
        return Quarantined, (self.piece, self.why)


def _check(item: Any, index: int, why: str) -> None:
    """Raise Quarantined if `item` is a Part that may be read without its slice `index`, which killed a worker twice."""
    if getattr(item, "skips_bad", False) and 0 <= index < len(item.slices):
        raise Quarantined(item.slices[index], why)


class Crashes:
    """Counts worker deaths per item; `counts` contains the items that are to be retried, one at a time.

    An item is known to have ended a worker only if it ran alone. If several items ran at once, each item is charged at
    most once.
    """

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.alone: Counter[int] = Counter()

    def add(self, lost: list[tuple[int, Any]], at: int, why: str, advice: str) -> None:
        """Count a death. Raises WorkerDied at the limit, or Quarantined if the file may be left out instead.

        Args:
            lost: the index and the item of each lost task.
            at: the slice of the item that was being read.
            why: the cause of the death, in words.
            advice: the advice to the user, for the message of WorkerDied.
        """
        for index, item in lost:
            known = self.counts.get(index, 0)
            self.counts[index] = known + 1 if len(lost) == 1 else max(1, known)
            self.alone[index] += len(lost) == 1
            if self.alone[index] >= MAX_CRASHES:
                _check(item, at, why)
            if self.counts[index] >= ATTEMPTS:
                msg = f"{why} {ATTEMPTS} times during the task {str(item)[:200]}; {advice}"
                raise WorkerDied(msg)
