"""A worker of a queue: it takes tasks from a folder until it is stopped, and runs each task in a child process."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import cloudpickle

from dataprep.errors import ReadError, Transient, WorkerDied, portable
from dataprep.store import files
from dataprep.store.claims import Heartbeats, Watch, check_store, claim, listed
from dataprep.store.remote import NETWORK
from dataprep.store.stopping import clean_end

from .crashes import ATTEMPTS
from .elsewhere import NO_KERNELS, Needs, difference
from .queue_job import Answer, Job, is_over, last_attempts
from .queue_runner import PATIENCE, queue_folder
from .runner import Local, at_once

log = logging.getLogger("dataprep")

LOOK, LOOK_THERE = 0.2, 5.0  # seconds between two checks for tasks; on an object store, the longest such time
LISTED, LISTED_THERE = 5.0, 30.0  # seconds between two checks for tasks of dead workers, and on an object store
ASKED = 30.0  # seconds after which a worker that could not do the tasks of a run checks again
WITHDRAWN, WITHDRAWN_THERE = 1.0, 5.0  # seconds between two checks whether a result is still wanted


def serve(queue: str, *, memory: int | str | None = None, idle: float | None = None) -> int:
    """Take tasks from a queue's folder, one at a time, and return the number of completed tasks.

    Each task runs in a child process, which is reused for the next task. If the child dies, its task is repeated, and
    the worker continues.

    Args:
        queue: the folder of a `Queue`, created if it does not exist; a path or a URL.
        memory: the maximum memory of the child, in bytes or as text like "4GB"; None: 90 % of the machine's memory.
        idle: the number of seconds without a task after which the function returns; None: it continues until it is
            stopped.

    Raises PlanError if `memory` is less than a child takes, or if the queue is in a store without conditional writes.
    """
    from dataprep.unicode.machine_code import has_any  # with llvmlite

    queue = queue_folder(queue)
    at_once(Local(1, memory=memory))  # before a task is taken, which would fail
    check_store(queue)
    if not has_any():
        log.warning("this machine has %s", NO_KERNELS)
    name = files.join(queue, "workers", f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}")
    for folder in ("workers", "jobs"):  # a store answers for an empty one with an error, after a second request
        files.write_bytes(files.join(queue, folder, ".keep"), b"")
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
        self.able: list[bytes] = []  # the needs of runs whose tasks this worker can do
        self.program = ""  # whose modules are imported in the children
        self.longest = LOOK if files.is_local(queue) else LOOK_THERE

    def work(self, idle: float | None) -> int:
        """Process tasks until none was available for `idle` seconds; return how many were done."""
        n, since, pause = 0, time.monotonic(), LOOK
        while idle is None or time.monotonic() - since < idle:
            try:
                if (taken := self._next()) is not None:
                    self._do(taken)
                    n, since, pause = n + 1, time.monotonic(), LOOK
                    continue
            except NETWORK as e:  # another worker takes the task, since its claim is no longer renewed
                log.warning("%s", e)
            time.sleep(pause)
            pause = min(pause * 1.5, self.longest)
        return n

    def _next(self) -> _Taken | None:
        if files.is_local(self.name):  # elsewhere a heartbeat does so
            claim(self.name)  # in case a Runner took this worker for dead
        home = files.join(self.queue, "jobs")
        names = [one for one in listed(home) if not one.startswith(".")]
        seen, self.jobs = self.jobs, {}
        for name in names:
            self.jobs[name] = seen.get(name) or _Tasks(Job(files.join(home, name)), self.name, self._objection)
        return next((taken for name in names if (taken := self.jobs[name].take()) is not None), None)

    def _objection(self, job: Job) -> str:
        """Return why the children of this worker could not do the tasks of a job; "" if they could."""
        pickled = job.stated.needs
        if pickled and pickled not in self.able:
            asked = partial(Needs.objection, path=job.task.path, folder=job.task.folder)
            try:
                [why] = self._child(job).map_pickled(cloudpickle.dumps(asked), [cloudpickle.loads(pickled)])
            except WorkerDied as e:
                why = f"cannot run tasks ({e})"
            if why:
                return str(why)
            self.able.append(pickled)
        return ""

    def _child(self, job: Job) -> Local:
        timeout = job.stated.timeout
        self._begin(job.stated.program)
        return self.children.setdefault(timeout, Local(1, memory=self.memory, timeout=timeout))

    def _do(self, taken: _Taken) -> None:
        job = taken.job
        child = self._child(job)
        answer: Answer
        try:
            with self.beats.of(taken.claim), _withdrawn(job, child):
                try:
                    [answer] = child.map_pickled(cloudpickle.dumps(job.task), [job.item(taken.index)])
                except Exception as e:  # noqa: BLE001 - raised again by the Runner
                    answer = (None, bytes(cloudpickle.dumps(portable(e))))
        except BaseException:  # this worker is stopped, so that another one can take the task at once
            files.remove(taken.claim)
            raise
        if job.is_ended:
            files.remove(taken.claim)
            return
        files.write_bytes(job.result_of(taken.index), cloudpickle.dumps(answer))
        if answer[1] is not None:
            claim(job.at(f"failed.{taken.index}"))

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
    every = WITHDRAWN if files.is_local(job.url) else WITHDRAWN_THERE

    def look() -> None:
        while not done.wait(every):
            try:
                found = listed(job.url)
                is_ended = is_over(found)
                if not is_ended and watch.silent(job.at("runner"), found) < PATIENCE:
                    continue
                if not is_ended:
                    job.end()
            except (OSError, Transient):  # the folder was removed, or the network failed: look again
                continue
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

    def __init__(self, job: Job, worker: str, objection: Callable[[Job], str]) -> None:
        self.job, self.worker, self.objection = job, worker, objection
        self.watch = Watch()
        self.cursor = 0  # the first item that this worker did not see claimed
        self.listed = 0.0
        self.accepted, self.ask_at = False, 0.0

    def take(self) -> _Taken | None:
        """Claim an item that no live worker is processing, and return it; None if there is none."""
        try:
            return self._take()
        except ReadError:
            if not self.job.is_ended:
                raise
            return None  # the job was removed just now

    def _take(self) -> _Taken | None:
        job, found = self.job, listed(self.job.url)
        if "stated" not in found:  # it is being written, or removed
            return None
        if self.watch.silent(job.at("runner"), found) >= PATIENCE:  # the Runner has died
            if not any(job.busy(self.watch, PATIENCE)):
                job.remove()
            return None
        if is_over(found) or not (self.accepted or self._accepts()):
            return None
        end = min((int(name[7:]) for name in found if name.startswith("failed.")), default=None)
        end = job.stated.items if end is None else end  # after an error, no item is begun
        while self.cursor < end:
            index, self.cursor = self.cursor, self.cursor + 1
            if claim(job.claim_of(index, 1)):
                return _Taken(job, index, 1)
            self.cursor = self._unclaimed(end)
        return self._lost(end)

    def _unclaimed(self, end: int) -> int:
        """Return an item from `cursor` on that is not claimed, but all before it were: items are claimed in order.

        The number of files that are looked for is the logarithm of the number of items.
        """
        first, step = self.cursor, 1
        while first + step <= end and self._is_claimed(first + step - 1):
            first, step = first + step, 2 * step
        last = min(first + step - 1, end)
        while first < last:
            middle = (first + last) // 2
            first, last = (middle + 1, last) if self._is_claimed(middle) else (first, middle)
        return first

    def _is_claimed(self, index: int) -> bool:
        return files.exists(self.job.claim_of(index, 1))

    def _lost(self, end: int) -> _Taken | None:
        """Claim an item whose worker has died or has returned the item."""
        now = time.monotonic()
        if now - self.listed < min(LISTED if files.is_local(self.job.url) else LISTED_THERE, PATIENCE):
            return None
        self.listed = now
        done, found = self.job.results(), listed(self.job.at("claims"))
        claimed = last_attempts(found)
        for index in range(end):
            attempt = claimed.get(index, 0)
            if index in done or (attempt and self.watch.silent(self.job.claim_of(index, attempt), found) < PATIENCE):
                continue
            if attempt == ATTEMPTS:
                msg = f"the machine or worker ended {ATTEMPTS} times during the task {str(self.job.item(index))[:200]}"
                error = cloudpickle.dumps((None, cloudpickle.dumps(WorkerDied(f"{msg}; use fewer workers"))))
                files.write_bytes(self.job.result_of(index), error)
            elif claim(self.job.claim_of(index, attempt + 1)):
                return _Taken(self.job, index, attempt + 1)
        return None

    def _accepts(self) -> bool:
        """Return whether this worker can do the tasks of the job; if not, inform the Runner."""
        if time.monotonic() < self.ask_at:
            return False
        differ = difference(self.job.stated.versions)
        why = f"has {differ}; install the same versions there" if differ else self.objection(self.job)
        self.accepted, self.ask_at = not why, float("inf") if differ else time.monotonic() + ASKED
        if why:
            name = files.name_of(self.worker)
            files.write_bytes(self.job.at("refused", name), f"{name} {why}".encode())
        return self.accepted
