"""The Slurm Runner: a queue whose processes are the jobs of an array, which it submits with `sbatch`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from dataprep.errors import PlanError, require, require_integer
from dataprep.store import files

from .queue_runner import Queue

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Slurm(Queue):
    """Runs tasks in a job array of Slurm: every job runs `dataprep work` on the folder of a `Queue`.

    The array is submitted with `sbatch` at the first task, and again at a later task if all of its jobs have ended.
    Jobs may start late, be preempted and be cancelled during the run. Each job ends after `idle` seconds without a
    task.

    Args:
        folder: the folder of the queue, on a file system that all nodes share; the jobs write their logs there.
        memory: the memory of each job, in bytes or as text like "30GB"; somewhat less than `--mem` of `options`.
        timeout: as in `Queue`.
        jobs: the number of jobs.
        processes: the number of tasks that a job runs at once.
        options: further arguments of sbatch, such as ("--cpus-per-task=8", "--mem=32G", "--partition=long").
        idle: the number of seconds without a task after which a job ends.
    """

    jobs: int = field(default=1, kw_only=True)
    processes: int = field(default=1, kw_only=True)
    options: Sequence[str] = field(default=(), kw_only=True)
    idle: float = field(default=600, kw_only=True)
    _submitted: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(files.is_local(self.folder), f"the queue {self.folder} must be a folder, where Slurm's jobs write logs")
        require_integer("jobs", self.jobs, 1)
        require_integer("processes", self.processes, 1)

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order.

        - label: title of the progress bar.

        Raises PlanError if Slurm rejects the jobs.
        """
        if items and not (self._submitted and _answer("squeue", "--noheader", f"--jobs={self._submitted[-1]}")[1]):
            self._submit()
        return super().map(task, items, label)

    def _submit(self) -> None:
        """Submit the job array."""
        os.makedirs(self.folder, exist_ok=True)
        work = [sys.executable, "-m", "dataprep", "work", self.folder, "--workers", str(self.processes)]
        work += ["--idle", f"{self.idle:g}", *(() if self.memory is None else ("--memory", str(self.memory)))]
        log = f"--output={os.path.join(self.folder, 'slurm-%A_%a.log')}"
        about = ("--parsable", "--job-name=dataprep", "--requeue", f"--array=1-{self.jobs}", log)
        code, answer, error = _answer("sbatch", *about, *self.options, f"--wrap={shlex.join(work)}")
        if code:
            msg = f"sbatch rejects the jobs ({' '.join(error.split())[:200]}); change options={list(self.options)}"
            raise PlanError(msg)
        self._submitted.append(answer.strip().partition(";")[0])


def _answer(*command: str) -> tuple[int, str, str]:
    """Run a program of Slurm; return its exit code, output and errors. Raises PlanError if it is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no shell
    except FileNotFoundError as e:
        msg = f"there is no program {command[0]} on this machine; run this on a login node of the cluster, or use "
        msg += "dp.tools.Queue, and start its workers yourself"
        raise PlanError(msg) from e
    return done.returncode, done.stdout, done.stderr
