"""The Ray Runner: tasks on a Ray cluster, over storage that all nodes can read."""

from __future__ import annotations

import itertools
import os
import platform
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import cloudpickle

from dataprep.errors import PlanError, WorkerDied, counted, need, portable, require
from dataprep.store import files
from dataprep.store.claims import listed
from dataprep.store.place import here
from dataprep.store.progress import track

from ..model.process import kept
from .crashes import ATTEMPTS
from .elsewhere import SAME, difference, enter, objection, versions
from .runner import AHEAD, Local, at_once, check_memory, check_timeout, parse_bytes, work

T = TypeVar("T")
R = TypeVar("R")

PROBE = ".dataprep-node."  # begins the names of files that nodes write, which have the form of unfinished files
LOOK = 10.0  # seconds between two looks at the size of the cluster
ANSWER = 300.0  # seconds in which a node starts a worker
ADVICE = "allow more memory, or run the task with Serial() to find what ends the process"


@dataclass(frozen=True)
class Ray:
    """Runs tasks on a Ray cluster, over storage that all nodes can read; needs the extra `ray`.

    Args:
        address: the address of the cluster, as for `ray.init`.
        num_cpus: the number of CPUs that the cluster reserves for a task.
        resources: other resources that the cluster reserves for a task, by name, such as {"ingest": 1}.
        runtime_env: the environment of the workers, as for `ray.init`; it is ignored if Ray is already connected.
        max_retries: the maximum number of times that a task is repeated if its worker or machine is lost, for example
            by preemption.
        memory: the maximum memory of all workers together, in bytes or as text like "4GB"; each worker may use an equal
            share.
        timeout: the maximum number of seconds that a task may take for one file; None: no limit. With a limit, a Ray
            worker runs the task in another process, which it ends at the limit.
    """

    address: str | None = None
    num_cpus: float = field(default=1, kw_only=True)
    resources: Mapping[str, float] | None = field(default=None, kw_only=True)
    runtime_env: Mapping[str, Any] | None = field(default=None, kw_only=True)
    max_retries: int = field(default=ATTEMPTS - 1, kw_only=True)
    memory: int | str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)
    has_other_machines: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_memory(self.memory)
        check_timeout(self.timeout)
        require(self.num_cpus > 0, f"num_cpus={self.num_cpus!r} must be above 0")
        require(self.max_retries >= 0, f"max_retries={self.max_retries!r} must be 0 or more")

    @property
    def workers(self) -> int:
        """The number of tasks for which the cluster has enough CPUs and other resources, at least 1."""
        wanted = {"CPU": self.num_cpus, **(self.resources or {})}
        there = self._ray().cluster_resources()
        return max(1, min(int(there.get(name, 0) // amount) for name, amount in wanted.items() if amount))

    def prepare(self, urls: Sequence[str], out: str) -> None:
        """Check on every node of the cluster that it can do tasks.

        - urls: a file that each part of the input reads; the first one is tried.
        - out: the folder into which tasks write.

        Raises PlanError if a node has other versions, or cannot read the files, or if what it writes into `out` does
        not appear there for this process.
        """
        ray = self._ray()
        remote = ray.remote(num_cpus=0, max_retries=self.max_retries)(objection)
        wanted = {"CPU": self.num_cpus, **(self.resources or {})}
        asked = {}
        try:
            for node in _alive(ray) if urls else ():
                if all(node["Resources"].get(name, 0) >= amount for name, amount in wanted.items()):
                    probe = f"{PROBE}{uuid.uuid4().hex[:12]}.tmp"
                    on = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                    given = versions(), sys.path, here(), files.join(out, probe), urls[0]
                    asked[probe] = node, remote.options(scheduling_strategy=on).remote(*given)
            objections = {probe: _objection(ray, node, sent) for probe, (node, sent) in asked.items()}
            seen = listed(out)
            other = f"writes into another folder {out}; pass an out that all nodes see, such as s3://bucket/out"
            for probe, why in objections.items():
                if why or (why == "" and probe not in seen):
                    msg = f"the Ray node {asked[probe][0]['NodeManagerHostname']} {why or other}"
                    raise PlanError(msg)
        finally:
            for name in listed(out):
                if name.startswith(PROBE):  # or it was left by a run that was killed here
                    files.remove(files.join(out, name))

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order.

        - label: title of the progress bar.
        """
        return track(self._map(task, items), items, label)

    def _ray(self) -> Any:
        ray = need("ray", extra="ray")
        if not ray.is_initialized():
            given = self.address or os.environ.get("RAY_ADDRESS", "")
            try:
                _check_address(given)
                ray.init(
                    address=self.address, runtime_env=self.runtime_env and dict(self.runtime_env),
                    include_dashboard=False, log_to_driver=False, logging_level="error",
                )  # fmt: skip
            except (OSError, ValueError, RuntimeError) as e:  # no connection, no such address, other versions
                at, said = given or "this machine", " ".join(str(e).split())
                msg = f"no Ray cluster at {at} ({said}); check the address and the versions of Ray and Python there"
                raise PlanError(msg) from e
        return ray

    def _map(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        ray, n = self._ray(), at_once(self)
        share = None if self.memory is None else f"{(parse_bytes(self.memory) // n) >> 20} MiB"
        limited = share is not None or self.timeout is not None
        options = {"num_cpus": self.num_cpus, "resources": dict(self.resources or {}), "max_retries": self.max_retries}
        remote = ray.remote(**options)(_work_elsewhere)
        sent = cloudpickle.dumps(task)
        grows, look = self.memory is None, 0.0  # a limit is for a known number of workers
        waiting = iter(enumerate(items))
        busy: dict[Any, int] = {}  # index of the item, by the reference of its task
        done: dict[int, bytes | Exception] = {}  # by index of the item

        def start(index: int, item: T) -> None:
            alone = Local(1, memory=share, timeout=self.timeout)
            apart = alone if limited or getattr(item, "skips_bad", False) else None
            busy[remote.remote(versions(), sys.path, here(), sent, cloudpickle.dumps(item), apart)] = index

        try:
            for wanted in range(len(items)):
                while True:
                    if grows and time.monotonic() >= look:
                        n, look = self.workers, time.monotonic() + LOOK
                    failed = any(isinstance(found, Exception) for found in done.values())
                    most = 2 * n if grows else n  # so many wait that an autoscaler doubles the cluster
                    room = 0 if failed else min(most - len(busy), AHEAD * n - len(busy) - len(done))
                    for index, item in itertools.islice(waiting, max(0, room)):
                        start(index, item)
                    if wanted in done:
                        break
                    for reference in ray.wait(list(busy), num_returns=1)[0]:
                        done[busy[reference]] = _answer(ray, reference, items[busy[reference]], self.max_retries + 1)
                        del busy[reference]
                found = done.pop(wanted)
                if isinstance(found, Exception):
                    raise found
                yield cloudpickle.loads(found)
        finally:  # after an error or a stop, no task writes any more when this has ended
            if busy:
                ray.wait(list(busy), num_returns=len(busy), fetch_local=False)


def _check_address(address: str) -> None:
    """Raise OSError if nobody listens at the port of an address, which Ray would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def _objection(ray: Any, node: dict[str, Any], sent: Any) -> str | None:
    """Return why a node could not do the tasks of a run; "" if it could, None if the cluster has lost it since.

    - sent: the reference of the task `objection` on this node.
    """
    try:
        return str(ray.get(sent, timeout=ANSWER))
    except ray.exceptions.RayError as e:
        if node["NodeID"] not in {one["NodeID"] for one in _alive(ray)}:  # it was preempted
            return None
        said = str(e).strip().splitlines()[-1]
        if isinstance(e, ray.exceptions.RayTaskError):  # dataprep, or what it imports, is missing there
            return f"cannot run dataprep ({said}); {SAME}"
        return f"does not answer ({type(e).__name__}: {said}); check the cluster"


def _alive(ray: Any) -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _answer(ray: Any, reference: Any, item: Any, attempts: int) -> bytes | Exception:
    """Return the result of a task that has ended, or the error to raise.

    - attempts: the number of times that the task was started while its workers ended.
    """
    known = ray.exceptions
    try:
        answer, raised = ray.get(reference)
    except known.RayError as e:
        error: Exception = e.cause if isinstance(e, known.RayTaskError) and isinstance(e.cause, Exception) else e
        if isinstance(e, (known.WorkerCrashedError, known.OutOfMemoryError)):
            ended = "memory ran out" if isinstance(e, known.OutOfMemoryError) else "a worker ended"
            error = WorkerDied(f"{ended} {counted(attempts, 'time')} during the task {str(item)[:200]}; {ADVICE}")
        elif isinstance(error, known.RayError) and not isinstance(error, known.RayTaskError):
            error = _failed(item, error)  # a task was cancelled, or a node ended
        if error is not e:
            error.__cause__ = e
        return error
    if raised is None:
        return bytes(answer)
    error = cloudpickle.loads(raised)
    error.__cause__ = getattr(error, "cause", None)
    return error


def _failed(item: Any, error: Exception) -> WorkerDied:
    """Return the error to raise in place of a cluster error that concerns no document."""
    what = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return WorkerDied(f"Ray failed during the task {str(item)[:200]} ({what}); check the cluster, and run again")


def _work_elsewhere(
    theirs: dict[str, str], path: list[str], folder: str, task: bytes, item: bytes, apart: Local | None
) -> tuple[bytes, None] | tuple[None, bytes]:
    """Run a task in a Ray worker, with the driver's module search path and, if it exists, its working folder.

    Args:
        theirs: the versions of the driver.
        path: the module search path of the driver.
        folder: the working folder of the driver.
        task: the pickled task.
        item: the pickled item.
        apart: the Runner in whose process the task runs; None if the task runs in the Ray worker itself.

    Returns:
        The pickled result and None, or None and the pickled error: Ray would send an error as text, and ends the worker
        if this text is not UTF-8.
    """
    enter(path, folder)
    try:
        differ = difference(theirs)
        require(not differ, f"{platform.node()} has {differ}; {SAME}")
        if apart is None:
            return work(task, item), None
        own = kept(apart, lambda: apart)  # the process is reused by later tasks
        return bytes(cloudpickle.dumps(next(own.map_pickled(task, [cloudpickle.loads(item)])))), None
    except Exception as e:  # noqa: BLE001 - raised again by the driver
        return None, bytes(cloudpickle.dumps(portable(e)))
