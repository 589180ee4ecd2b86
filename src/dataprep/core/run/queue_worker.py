"""A worker of a queue: it takes tasks from a folder until it is stopped, and runs each task in a child process."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import cloudpickle

from dataprep.errors import ReadError, WorkerDied, portable
from dataprep.store import files
from dataprep.store.claims import Heartbeats, Watch, claim
from dataprep.store.stopping import clean_end

from .crashes import ATTEMPTS
from .elsewhere import difference
from .queue_job import Answer, Job
from .queue_runner import PATIENCE, queue_folder
from .runner import Local, at_once

LOOK = 0.2  # seconds between two checks for tasks
LISTED = 5.0  # seconds between two checks for tasks of dead workers


def serve(queue: str, *, memory: int | str | None = None, idle: float | None = None) -> int:
    """Take tasks from a queue's folder, one at a time, and return the number of completed tasks.

    Each task runs in a child process, which is reused for the next task. If the child dies, its task is repeated, and
    the worker continues.

    Args:
        queue: the folder of a `Queue`, created if it does not exist.
        memory: the maximum memory of the child, in bytes or as text like "4GB"; None: 90 % of the machine's memory.
        idle: the number of seconds without a task after which the function returns; None: it continues until it is
            stopped.

    Raises PlanError if `memory` is less than a child takes.
    """
    queue = queue_folder(queue)
    at_once(Local(1, memory=memory))  # before a task is taken, which would fail
    name = files.join(queue, "workers", f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}")
    files.write_bytes(files.join(queue, "workers", ".keep"), b"")
    claim(name)
    try:
        with Heartbeats() as beats, beats.of(name), clean_end(queue):
            return _Worker(queue, name, beats, memory).work(idle)
    finally:
        files.remove(name)


@dataclass
class _Taken:
    """An item that this worker is processing."""

    job: Job
    index: int
    attempt: int

    @property
    def claim(self) -> str:
        """The URL of the item's claim."""
        return self.job.claim_of(self.index, self.attempt)


class _Worker:
    def __init__(self, queue: str, name: str, beats: Heartbeats, memory: int | str | None) -> None:
        self.queue, self.name, self.beats = queue, name, beats
        self.memory = memory
        self.jobs: dict[str, _Tasks] = {}
        self.children: dict[float | None, Local] = {}  # by time limit
        self.program = ""  # whose modules are imported in the children

    def work(self, idle: float | None) -> int:
        """Process tasks until none was available for `idle` seconds; return how many were done."""
        n, since = 0, time.monotonic()
        while idle is None or time.monotonic() - since < idle:
            taken = self._next()
            if taken is None:
                time.sleep(LOOK)
                continue
            self._do(taken)
            n, since = n + 1, time.monotonic()
        return n

    def _next(self) -> _Taken | None:
        claim(self.name)  # in case a Runner took this worker for dead
        home = files.join(self.queue, "jobs")
        names = [name for name in files.listdir(home) if files.exists(files.join(home, name, "stated"))]
        self.jobs = {name: self.jobs.get(name) or _Tasks(Job(files.join(home, name)), self.name) for name in names}
        return next((taken for name in names if (taken := self.jobs[name].take()) is not None), None)

    def _do(self, taken: _Taken) -> None:
        job = taken.job
        timeout = job.stated.timeout
        self._begin(job.stated.program)
        child = self.children.setdefault(timeout, Local(1, memory=self.memory, timeout=timeout))
        with self.beats.of(taken.claim), _withdrawn(job, child):
            answer: Answer
            try:
                [answer] = child.map_pickled(cloudpickle.dumps(job.task), [job.item(taken.index)])
            except Exception as e:  # noqa: BLE001 - raised again by the Runner
                answer = (None, bytes(cloudpickle.dumps(portable(e))))
            except BaseException:  # this worker is stopped, so that another one can take the task at once
                files.remove(taken.claim)
                raise
            if not job.is_ended:
                files.write_bytes(job.result_of(taken.index), cloudpickle.dumps(answer))
                if answer[1] is not None:
                    claim(job.at(f"failed.{taken.index}"))
            else:
                files.remove(taken.claim)

    def _begin(self, program: str) -> None:
        """End the children of the program before, since another one may have other modules of the same names."""
        if program == self.program:
            return
        for child in self.children.values():
            child.stop()
        self.children.clear()
        self.program = program


@contextlib.contextmanager
def _withdrawn(job: Job, child: Local) -> Iterator[None]:
    """Within the `with` block, stop the child as soon as the result is no longer wanted, or the Runner has died."""
    done, watch = threading.Event(), Watch()

    def look() -> None:
        while not done.wait(1.0):
            if not job.is_ended and watch.silent(job.at("runner")) < PATIENCE:
                continue
            with contextlib.suppress(OSError):  # the folder was removed
                job.end()
            child.stop()
            return

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


class _Tasks:
    """The items of a job that this worker may take."""

    def __init__(self, job: Job, worker: str) -> None:
        self.job, self.worker = job, worker
        self.watch = Watch()
        self.cursor = 0  # the first item that this worker did not see claimed
        self.listed = 0.0
        self.refused = False

    def take(self) -> _Taken | None:
        """Claim an item that no live worker is processing, and return it; None if there is none."""
        try:
            return self._take()
        except ReadError:
            if not self.job.is_ended:
                raise
            return None  # the job was removed just now

    def _take(self) -> _Taken | None:
        job = self.job
        if self.watch.silent(job.at("runner")) >= PATIENCE:  # the Runner has died
            if not any(job.busy(self.watch, PATIENCE)):
                job.remove()
            return None
        if self.refused or job.is_ended or self._refuses():
            return None
        end = min((int(name[7:]) for name in files.listdir(job.url) if name.startswith("failed.")), default=None)
        end = job.stated.items if end is None else end  # after an error, no item is begun
        while self.cursor < end:
            index, self.cursor = self.cursor, self.cursor + 1
            if claim(job.claim_of(index, 1)):
                return _Taken(job, index, 1)
            self.cursor = max(self.cursor, max(job.claims(), default=-1) + 1)  # items are claimed in order
        return self._lost(end)

    def _lost(self, end: int) -> _Taken | None:
        """Claim an item whose worker has died or has returned the item."""
        now = time.monotonic()
        if now - self.listed < min(LISTED, PATIENCE):
            return None
        self.listed = now
        claimed, done = self.job.claims(), self.job.results()
        for index in range(end):
            attempt = claimed.get(index, 0)
            if index in done or (attempt and self.watch.silent(self.job.claim_of(index, attempt)) < PATIENCE):
                continue
            if attempt == ATTEMPTS:
                msg = f"the machine or worker ended {ATTEMPTS} times during the task {str(self.job.item(index))[:200]}"
                error = cloudpickle.dumps((None, cloudpickle.dumps(WorkerDied(f"{msg}; use fewer workers"))))
                files.write_bytes(self.job.result_of(index), error)
            elif claim(self.job.claim_of(index, attempt + 1)):
                return _Taken(self.job, index, attempt + 1)
        return None

    def _refuses(self) -> bool:
        """Return whether a version of this worker differs from the Runner's; if so, inform the Runner."""
        differ = difference(self.job.stated.versions)
        self.refused = bool(differ)
        if differ:
            name = files.name_of(self.worker)
            why = f"{name} has {differ}; install the same versions there"
            files.write_bytes(self.job.at("refused", name), why.encode())
        return self.refused
