"""Context: the Runner of a run and, if the run only tries a sample, its trial; it is passed as `runner=`.

    trial = Trial(out, sample_bytes=16 << 20)
    Pipeline(...).run(docs, out, runner=Context(Serial(), trial))      # reads a sample
    trial.inputs, trial.reserved

A Context is itself a Runner, so all code that calls tasks can use it. Code that must know whether it sees the whole
input calls `trial_of(run)` or `sees_all(run)`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rich.filesize import decimal

from dataprep.errors import PlanError
from dataprep.store import files

from ..model.dataset import Dataset
from ..model.ledger import Ledger
from ..model.part import Part
from .runner import WORKER_BYTES, Runner, memory_of, processors, runner_of
from .trial import Reserved, Trial

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, repr=False)
class Context:
    """A Runner that also identifies its run.

    Attributes:
        runner: the Runner that calls the tasks.
        trial: the run on a sample that this run is part of; None if the run reads its whole input.
        given: the documents that the run reads; None if this Context does not belong to a run.
    """

    runner: Runner
    trial: Trial | None = None
    given: Dataset | None = None

    def __repr__(self) -> str:
        return repr(self.runner)

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Generator[R, None, None]:
        """Call `task` for every item through the Runner; yield the results in item order.

        - label: the title of the progress bar.
        """
        n, title = 0, "" if self.trial else label
        nothing = contextlib.nullcontext(list[R]())
        trying: contextlib.AbstractContextManager[list[R]] = (
            self.trial.trying(task, items, label) if self.trial else nothing
        )
        with trying as noted:
            for result in self.runner.map(task, items, title):
                n += 1
                noted.extend([result] if self.trial else [])
                yield result
        if n != len(items):
            msg = f"{self!r} returned {n} results of {len(items)} tasks; map must yield one result per item"
            raise PlanError(msg)

    def prepare(self, urls: Sequence[str], out: str) -> None:
        """Let the Runner do its work before the first task, if it has any; see `Runner`.

        - urls: a file that each task reads.
        - out: the folder into which they write.
        """
        prepare = getattr(self.runner, "prepare", None)
        if prepare is not None and self.trial is None:
            prepare(urls, out)

    @property
    def ledgers(self) -> Callable[[Part], list[Ledger]]:
        """A function that returns the ledgers in which the work of a part's stages is recorded."""
        return Part.ledgers if self.trial is None else self.trial.ledgers

    @property
    def workers(self) -> int:
        """The number of items that the Runner processes at once."""
        return self.runner.workers

    @property
    def memory(self) -> int | str | None:
        """The memory that all workers of the Runner together may use."""
        return self.runner.memory


def context_of(runner: Runner | None) -> Context:
    """Return `runner` if it is a Context, or else a non-trial Context of this Runner (None: `Serial()`).

    Raises PlanError if `runner` lacks a member of a Runner.
    """
    return runner if isinstance(runner, Context) else Context(runner_of(runner))


def trial_of(runner: Runner) -> Trial | None:
    """Return the trial (run on a sample of the input) that `runner` is a part of, or None."""
    return runner.trial if isinstance(runner, Context) else None


def given_to(runner: Runner, docs: Dataset) -> Dataset:
    """Return the documents that the run containing `runner` reads; `docs` if `runner` is not part of a run.

    The input of an Estimator may have been saved after an earlier stage, and may lack data that only the input files
    contain.
    """
    return (isinstance(runner, Context) and runner.given) or docs


def sees_all(runner: Runner) -> bool:
    """Return whether `runner` reads its whole input: it is not a trial, or the trial's samples are complete."""
    trial = trial_of(runner)
    return trial is None or trial.share == 1.0


def threads_of(runner: Runner) -> int:
    """Return the number of threads that a task may use while it is the only one of `runner`.

    It is the number of tasks that are done at once at other times, or that of the processors, if it is less.
    """
    own = runner.runner if isinstance(runner, Context) else runner
    return min(processors(), max(own.workers, getattr(own, "threads", 1)))


def place_of(out: str, runner: Runner | None) -> str:
    """Return the folder `out`; an absolute path if workers may be on other machines with other working folders."""
    is_apart = getattr(context_of(runner).runner, "has_other_machines", False)
    return os.path.abspath(files.path_of(out)) if is_apart and files.is_local(out) else out


def reserve(runner: Runner, n_bytes: int, what: str, instead: str, *, grows: bool = True) -> None:
    """Check that the memory of `runner` suffices for a worker plus `n_bytes`; in a trial, only record the amount.

    - n_bytes: memory that this process will need.
    - what: a description of the data that occupies the memory, for the message.
    - instead: the advice to the user, for the message.
    - grows: True if the amount grows with the input.

    Raises PlanError if the memory is too small.
    """
    trial = trial_of(runner)
    if trial is not None:
        trial.reserved.append(Reserved(int(n_bytes / (trial.share if grows else 1)), what, instead))
    elif n_bytes + WORKER_BYTES > memory_of(runner):
        msg = (
            f"{what} takes {decimal(n_bytes)} of memory in one process, in addition to the {WORKER_BYTES >> 20} MiB "
            f"of a worker, but only {decimal(memory_of(runner))} is allowed; {instead}"
        )
        raise PlanError(msg)
