"""A Runner that reports the progress of its work, and ends it when the page no longer waits for the result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dataprep.core.run.runner import Runner

T = TypeVar("T")
R = TypeVar("R")
Tell = Callable[[str, int, int], None]
SECONDS = 0.2  # between two reports while other work is waited for


class Gone(ConnectionAbortedError):
    """Raised in a view if the page no longer waits for its result."""


@dataclass(frozen=True)
class WatchedRunner:
    """Runs tasks with another Runner, one list of tasks at a time for all requests.

    Attributes:
        runner: the other Runner.
        turn: held while its tasks run, since requests are answered in threads.
        tell: called with a label, the amount of finished work and the total, in bytes if the items have `n_bytes`. If
            it raises an error, the work ends.
    """

    runner: Runner
    turn: threading.Lock
    tell: Tell

    @property
    def workers(self) -> int:
        """The number of items processed at once."""
        return self.runner.workers

    @property
    def memory(self) -> int | str | None:
        """The memory that all workers together may use."""
        return self.runner.memory

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Yield `task(item)` for every item, in item order; `tell` is called before the first and after each."""
        sizes = [int(getattr(item, "n_bytes", 0)) for item in items]
        sizes = sizes if sum(sizes) else [1] * len(items)
        done, total = 0, sum(sizes)
        self.tell(label, done, total)
        while not self.turn.acquire(timeout=SECONDS):
            self.tell(label, done, total)
        try:
            found = self.runner.map(task, items)
            try:
                for size, result in zip(sizes, found, strict=True):
                    done += size
                    yield result
                    self.tell(label, done, total)
            finally:
                if (close := getattr(found, "close", None)) is not None:  # a generator, which ends its processes
                    close()
        finally:
            self.turn.release()
