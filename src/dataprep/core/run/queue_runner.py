"""The Queue Runner: any number of processes, on all machines that see a folder, take tasks from it."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import cloudpickle

from dataprep.errors import PlanError, WorkerDied
from dataprep.store import files
from dataprep.store.claims import Heartbeats, Watch, check_store, listed
from dataprep.store.progress import track

from .elsewhere import Needs
from .queue_job import Job, is_over
from .runner import check_memory, check_timeout

T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger("dataprep")

SHORT, LONG = 0.005, 0.5  # seconds between two checks for a result
THERE = 2.0  # seconds between two checks on an object store, once nothing has changed for a while
PATIENCE = 60.0  # seconds without a change after which a process is considered dead
LOOK, LOOK_THERE = 1.0, 10.0  # seconds between two checks of the workers, and on an object store
ALONE = 15.0  # seconds without a worker after which the user is told


def queue_folder(url: str) -> str:
    """Return the absolute path or the URL of a queue's folder. Raises PlanError if `url` cannot be one."""
    if not url:
        msg = "the queue '' must be the path of a folder; name one that all machines see"
        raise PlanError(msg)
    if not files.is_local(url):
        return url.rstrip("/")
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
        folder: the folder of the queue, on a file system that all machines share; or a URL such as s3://bucket/queue,
            in a store with conditional writes.
        memory: the memory for which work is planned, in bytes or as text like "4GB"; `dataprep work --memory` limits
            the memory of the processes.
        timeout: the maximum number of seconds that a task may take for one file; None: no limit.
    """

    folder: str
    memory: int | str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)
    has_other_machines: ClassVar[bool] = True
    _needs: list[Needs] = field(default_factory=list, init=False, repr=False, compare=False)  # of the last run
    _told: set[str] = field(default_factory=set, init=False, repr=False, compare=False)  # reasons of workers

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", queue_folder(self.folder))
        check_memory(self.memory)
        check_timeout(self.timeout)

    @property
    def workers(self) -> int:
        """The number of processes that currently take tasks from the folder; at least 2, since more may start."""
        return max(2, len(_alive(self.folder, Watch())))

    def prepare(self, urls: Sequence[str], out: str) -> None:
        """Let each worker check, before its first task, that it can do the tasks of a run; nothing is waited for.

        - urls: a file that each part of the input reads; the first one is tried.
        - out: the folder into which tasks write.

        A worker that has other versions, cannot read the file, cannot write into `out` or sees another folder there
        takes no tasks, and a warning states its reason.
        """
        self._needs[:] = [Needs.of(out, url) for url in urls[:1]]

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order.

        - label: title of the progress bar.
        """
        return track(self._map(task, items), items, label)

    def _map(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        if not items:
            return
        check_store(self.folder)
        needs = next((cloudpickle.dumps(needs) for needs in self._needs if needs.is_held), b"")
        job = Job.offer(self.folder, task, items, self.timeout, needs)
        longest = LONG if files.is_local(self.folder) else THERE
        attended = _Attended(self.folder, job, self._told)
        with Heartbeats() as beats, beats.of(job.at("runner")):
            try:
                for index in range(len(items)):
                    pause = SHORT
                    while (found := job.answer(index)) is None:
                        attended.look()
                        time.sleep(pause)
                        pause = min(2 * pause, longest)
                    result, error = found
                    if error is not None:
                        raised = cloudpickle.loads(error)
                        raised.__cause__ = getattr(raised, "cause", None)
                        raise raised
                    yield cloudpickle.loads(result or b"")
            finally:  # after an error or a stop, no task writes any more when this has ended
                job.end()
                pause = SHORT
                while any(job.busy(attended.watch, PATIENCE)):
                    time.sleep(pause)
                    pause = SHORT if longest == LONG else min(2 * pause, longest)
                job.remove()


def _alive(queue: str, watch: Watch) -> list[str]:
    """Return the URLs of the files that name the live workers of a queue; delete those of dead ones."""
    home = files.join(queue, "workers")
    found = listed(home)
    urls = [files.join(home, name) for name in found if not name.startswith(".")]
    dead = [url for url in urls if watch.silent(url, found) >= PATIENCE]
    for url in dead:
        with contextlib.suppress(OSError):  # of a process of another user
            files.remove(url)
    return [url for url in urls if url not in dead]


class _Attended:
    """Monitors the workers of a job: tells the user if there is none, or if one rejects the job."""

    def __init__(self, queue: str, job: Job, told: set[str]) -> None:
        self.queue, self.job, self.told = queue, job, told
        self.watch = Watch()
        self.warn_at = time.monotonic() + ALONE
        self.refused: dict[str, object] = {}  # names of workers, with what `listed` states of their reasons
        self.next, self.every = 0.0, LOOK if files.is_local(queue) else LOOK_THERE

    def look(self) -> None:
        """Check the workers, unless this was done a moment ago."""
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + self.every
        found = listed(self.job.url)
        if is_over(found):
            msg = f"the job {self.job.url} was removed while this process was unresponsive; run again"
            raise WorkerDied(msg)
        refused = listed(self.job.at("refused")) if "refused" in found else {}
        for name, state in refused.items():
            if state is None or state != self.refused.get(name):  # None: a local file, which may have changed
                self.refused[name] = state
                why = files.read(self.job.at("refused", name)).decode()
                if why not in self.told:  # for an earlier pass
                    self.told.add(why)
                    log.warning("a worker takes no tasks: %s", why)
        if _alive(self.queue, self.watch):
            self.warn_at = now + ALONE
        elif now > self.warn_at:
            self.warn_at = now + 20 * ALONE
            log.warning("no process takes tasks from %s; start some: dataprep work %s", self.queue, self.queue)
