"""The Queue Runner: any number of processes, on all machines that see a folder, take tasks from it."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import cloudpickle

from dataprep.errors import PlanError, WorkerDied
from dataprep.store import files
from dataprep.store.claims import Heartbeats, Watch
from dataprep.store.progress import track

from .queue_job import Job
from .runner import check_memory, check_timeout

T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger("dataprep")

SHORT, LONG = 0.005, 0.5  # seconds between two checks for a result
PATIENCE = 60.0  # seconds without a change after which a process is considered dead
ALONE = 15.0  # seconds without a worker after which the user is told


def queue_folder(url: str) -> str:
    """Return the absolute path of a queue's folder. Raises PlanError if `url` cannot be one."""
    if not url:
        msg = "the queue '' must be the path of a folder; name one that all machines see"
        raise PlanError(msg)
    if not files.is_local(url):
        msg = f"the queue {url} must be a folder of a shared file system, such as NFS; an object store has no queues"
        raise PlanError(msg)
    path = os.path.abspath(files.path_of(url))
    if os.path.lexists(path) and not os.path.isdir(path):
        msg = f"the queue {url} must be a folder, but is a file"
        raise PlanError(msg)
    return path


@dataclass(frozen=True)
class Queue:
    """Runs tasks in the processes that `dataprep work FOLDER` started, on any machines that see the folder.

    Such processes may start and end at any time: if a process dies, another one takes over its task. The folder, the
    input and the output must be visible to all processes under the same names. All processes must have the same
    versions of dataprep, Python, NumPy and pyarrow. Anyone who can write into the folder can run code in these
    processes.

    Args:
        folder: the folder of the queue, on a file system that all machines share.
        memory: the memory for which work is planned, in bytes or as text like "4GB"; `dataprep work --memory` limits
            the memory of the processes.
        timeout: the maximum number of seconds that a task may take for one file; None: no limit.
    """

    folder: str
    memory: int | str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", queue_folder(self.folder))
        check_memory(self.memory)
        check_timeout(self.timeout)

    @property
    def workers(self) -> int:
        """The number of processes that currently take tasks from the folder; at least 2, since more may start."""
        return max(2, len(_alive(self.folder, Watch())))

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order.

        - label: title of the progress bar.
        """
        return track(self._map(task, items), items, label)

    def _map(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        if not items:
            return
        job = Job.offer(self.folder, task, items, self.timeout)
        attended = _Attended(self.folder, job)
        with Heartbeats() as beats, beats.of(job.at("runner")):
            try:
                for index in range(len(items)):
                    pause = SHORT
                    while (found := job.answer(index)) is None:
                        attended.look()
                        time.sleep(pause)
                        pause = min(2 * pause, LONG)
                    result, error = found
                    if error is not None:
                        raised = cloudpickle.loads(error)
                        raised.__cause__ = getattr(raised, "cause", None)
                        raise raised
                    yield cloudpickle.loads(result or b"")
            finally:  # after an error or a stop, no task writes any more when this has ended
                job.end()
                while any(job.busy(attended.watch, PATIENCE)):
                    time.sleep(SHORT)
                job.remove()


def _alive(queue: str, watch: Watch) -> list[str]:
    """Return the URLs of the files that name the live workers of a queue; delete those of dead ones."""
    home = files.join(queue, "workers")
    urls = [files.join(home, name) for name in files.listdir(home) if not name.startswith(".")]
    dead = [url for url in urls if watch.silent(url) >= PATIENCE]
    for url in dead:
        with contextlib.suppress(OSError):  # of a process of another user
            files.remove(url)
    return [url for url in urls if url not in dead]


class _Attended:
    """Monitors the workers of a job: tells the user if there is none, or if one rejects the job."""

    def __init__(self, queue: str, job: Job) -> None:
        self.queue, self.job = queue, job
        self.watch = Watch()
        self.warn_at = time.monotonic() + ALONE
        self.refused: set[str] = set()
        self.next = 0.0

    def look(self) -> None:
        """Check the workers, at most once a second."""
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + 1
        if self.job.is_ended:
            msg = f"the job {self.job.url} was removed while this process was unresponsive; run again"
            raise WorkerDied(msg)
        for name in files.listdir(self.job.at("refused")):
            if name not in self.refused:
                self.refused.add(name)
                with files.open_raw(self.job.at("refused", name)) as f:
                    log.warning("a worker refuses all tasks: %s", f.read().decode())
        if _alive(self.queue, self.watch):
            self.warn_at = now + ALONE
        elif now > self.warn_at:
            self.warn_at = now + 20 * ALONE
            log.warning("no process takes tasks from %s; start some: dataprep work %s", self.queue, self.queue)
