"""The Ray Runner: tasks on a Ray cluster, over storage that all nodes can read."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import platform
import socket
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import cloudpickle
from rich.filesize import decimal

from dataprep.errors import PlanError, ReadError, WorkerDied, counted, need, portable, require
from dataprep.store import files
from dataprep.store.place import here
from dataprep.store.progress import track

from ..model.process import kept
from .crashes import ATTEMPTS
from .elsewhere import NO_KERNELS, SAME, Needs, difference, enter, versions
from .runner import WORKER_BYTES, Local, at_once, check_memory, check_timeout, parse_bytes, work
from .threads import AHEAD

T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger("dataprep")

SLOW, SHORT = 2.0, 1.0  # a task is slow after so many median times, and this many seconds
WATCH = 0.25  # seconds between two checks for slow tasks
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
        max_retries: the maximum number of times that a task is repeated if its worker process ended.
        preempted: what the loss of a node means: "retry" repeats the tasks that it executed and does not count this in
            `max_retries`, however often it happens; "count" counts it as the end of a worker process.
        copy_slow: whether idle workers at the end of a pass also execute tasks that still run after twice the median
            time. The first result counts, and the process of the other task is ended. All functions must be
            deterministic, since both processes may write the same file.
        memory: the maximum memory of all workers together, in bytes or as text like "4GB"; each worker may use an equal
            share, which Ray reserves for it.
        timeout: the maximum number of seconds that a task may take for one file; None: no limit. With a limit, a Ray
            worker runs the task in another process, which it ends at the limit.
    """

    address: str | None = None
    num_cpus: float = field(default=1, kw_only=True)
    resources: Mapping[str, float] | None = field(default=None, kw_only=True)
    runtime_env: Mapping[str, Any] | None = field(default=None, kw_only=True)
    max_retries: int = field(default=ATTEMPTS - 1, kw_only=True)
    preempted: Literal["retry", "count"] = field(default="retry", kw_only=True)
    copy_slow: bool = field(default=False, kw_only=True)
    memory: int | str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)
    has_other_machines: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_memory(self.memory)
        check_timeout(self.timeout)
        require(self.num_cpus > 0, f"num_cpus={self.num_cpus!r} must be above 0")
        require(self.max_retries >= 0, f"max_retries={self.max_retries!r} must be 0 or more")
        require(self.preempted in ("retry", "count"), f"preempted={self.preempted!r} must be 'retry' or 'count'")

    @property
    def workers(self) -> int:
        """The number of tasks for which the cluster has enough CPUs and other resources, at least 1."""
        there = self._ray().cluster_resources()
        return max(1, min(int(there.get(name, 0) // amount) for name, amount in self._wanted(0).items() if amount))

    def prepare(self, urls: Sequence[str], out: str) -> None:
        """Check on every node of the cluster that it can do tasks.

        - urls: a file that each part of the input reads; the first one is tried.
        - out: the folder into which tasks write.

        Raises PlanError if a node has other versions, cannot read the file, cannot write into `out`, or sees another
        folder there. If a node has no compiled kernels, a warning says so.
        """
        if not urls:
            return
        ray, wanted = self._ray(), self._wanted(self._share())
        remote = ray.remote(num_cpus=0, max_retries=self.max_retries)(_asked)
        given, sent = (versions(), sys.path, here(), Needs.of(out, urls[0])), []
        for node in _alive(ray):
            if _has(node, wanted):
                on = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                sent.append((node, remote.options(scheduling_strategy=on).remote(*given)))
        for node, reference in sent:
            name, (why, has_kernels) = node["NodeManagerHostname"], _answer(ray, node, reference)
            if why:
                msg = f"the Ray node {name} {why}"
                raise PlanError(msg)
            if not has_kernels:
                log.warning("the Ray node %s has %s", name, NO_KERNELS)

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order.

        - label: title of the progress bar.
        """
        return track(self._map(task, items), items, label)

    def _ray(self) -> Any:
        ray = need("ray", extra="ray")
        if not ray.is_initialized():
            given = self.address or os.environ.get("RAY_ADDRESS", "")
            last = _last_address() if given in ("", "auto") else ""
            try:
                _check_address(last or given)
                ray.init(
                    address=self.address, runtime_env=self.runtime_env and dict(self.runtime_env),
                    include_dashboard=False, log_to_driver=False, logging_level="error",
                )  # fmt: skip
            except (OSError, ValueError, RuntimeError) as e:  # no connection, no such address, other versions
                at, said = given or "this machine", " ".join(str(e).split())
                msg = f"no Ray cluster at {at} ({said}); check the address and the versions of Ray and Python there"
                if last and isinstance(e, OSError):
                    msg = f"the Ray cluster at {last}, which {_last_file()} names, does not answer ({said}); "
                    msg += "start it, or delete this file"
                raise PlanError(msg) from e
        return ray

    def _wanted(self, n_bytes: int) -> dict[str, float]:
        """Return what the cluster reserves for a task, by Ray's names; `n_bytes` of memory unless it is 0."""
        return {"CPU": self.num_cpus, **(self.resources or {}), **({"memory": n_bytes} if n_bytes else {})}

    def _share(self) -> int:
        """Return the bytes of memory that a worker may use; 0 if there is no limit."""
        return 0 if self.memory is None else parse_bytes(self.memory) // at_once(self)

    def _map(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        n = at_once(self)
        sent = _Sent(self._ray(), self, task, items)
        grows, look = self.memory is None, 0.0  # a limit is for a known number of workers
        try:
            for wanted in range(len(items)):
                while True:
                    if grows and time.monotonic() >= look:
                        n, look = self.workers, time.monotonic() + LOOK
                    most = 2 * n if grows else n  # so many wait that an autoscaler doubles the cluster
                    sent.fill(min(most, AHEAD * n - len(sent.done)))
                    if wanted in sent.done:
                        break
                    sent.wait(n)
                found = sent.done.pop(wanted)
                if isinstance(found, Exception):
                    raise found
                yield cloudpickle.loads(found)
        finally:  # after an error or a stop, no task writes any more when this has ended
            sent.end()


class _Sent:
    """The tasks of one call of `map` that were sent to the cluster.

    Attributes:
        busy: the index of the item, by the reference of its task.
        done: the pickled result of an item or the error to raise, by index, until it is taken.
    """

    def __init__(self, ray: Any, runner: Ray, task: Callable[[Any], Any], items: Sequence[Any]) -> None:
        self.ray, self.runner, self.items = ray, runner, items
        self.busy: dict[Any, int] = {}
        self.done: dict[int, bytes | Exception] = {}
        self.following = 0  # index of the first item that was not sent
        self.ends = Counter[int]()  # of worker processes, by index of the item
        self.began: dict[Any, float] = {}  # by the reference of a task that probably runs
        self.times: list[float] = []  # seconds that tasks took
        self.cancelled: list[Any] = []  # references of tasks
        self.task, share, stated = cloudpickle.dumps(task), runner._share(), getattr(task, "memory_bytes", 0)  # noqa: SLF001
        memory = f"{share >> 20} MiB" if share else None
        self.alone = Local(1, memory=memory, timeout=runner.timeout)
        self.limited = memory is not None or runner.timeout is not None
        wanted = runner._wanted(max(share, stated and WORKER_BYTES + stated))  # noqa: SLF001
        if items and not any(_has(node, wanted) for node in _alive(ray)):
            log.warning("no node of the Ray cluster has %s; the tasks wait until one joins", _in_words(wanted))
        own = {"num_cpus": wanted.pop("CPU"), **({"memory": wanted.pop("memory")} if "memory" in wanted else {})}
        self.remote = ray.remote(**own, resources=wanted, max_retries=0)(_work_elsewhere)  # repeated here: see `_again`

    def fill(self, most: int) -> None:
        """Send further items until `most` are sent and have no result; none once a task has failed."""
        if not any(isinstance(found, Exception) for found in self.done.values()):
            while len(self.busy) < most and self.following < len(self.items):
                self.start(self.following)
                self.following += 1

    def start(self, index: int) -> None:
        """Send an item."""
        item = self.items[index]
        apart = self.alone if self.limited or getattr(item, "skips_bad", False) else None
        sent = versions(), sys.path, here(), self.task, cloudpickle.dumps(item), apart
        self.busy[self.remote.remote(*sent)] = index

    def wait(self, n: int) -> None:
        """Wait for the end of a task, and take its result; if its worker was lost, send the item again.

        - n: the number of tasks that the cluster executes at once.
        """
        timeout = WATCH if self._copied_slow(n) else None
        for reference in self.ray.wait(list(self.busy), num_returns=1, timeout=timeout)[0]:
            index, began = self.busy[reference], self.began.pop(reference, time.monotonic())
            others = [other for other, i in self.busy.items() if i == index and other is not reference]
            try:
                answer, raised = self.ray.get(reference)
            except self.ray.exceptions.RayError as e:
                if self._again(index, e):
                    if not others:
                        self.start(index)
                    others = []
                else:
                    self.done[index] = _cluster_error(self.ray, e, self.items[index], self.ends[index])
            else:
                self.done[index] = bytes(answer) if raised is None else _task_error(raised)
                self.times.append(time.monotonic() - began)
            for other in others:
                self.ray.cancel(other, force=True)
                self.cancelled.append(other)
                del self.busy[other]
                self.began.pop(other, None)
            del self.busy[reference]

    def _copied_slow(self, n: int) -> bool:
        """If the Runner has `copy_slow`, begin copies of slow items on idle workers; return whether some are idle."""
        now = time.monotonic()
        for reference in itertools.islice(self.busy, n):  # Ray begins them in this order
            self.began.setdefault(reference, now)
        if not self.runner.copy_slow or self.following < len(self.items) or not self.times:
            return False
        copies = Counter(self.busy.values())
        slow = [reference for reference, index in self.busy.items() if copies[index] == 1]
        limit = now - max(SHORT, SLOW * statistics.median(self.times))
        for reference in sorted(slow, key=lambda one: self.began.get(one, now))[: max(0, n - len(self.busy))]:
            if self.began.get(reference, now) < limit:
                self.start(self.busy[reference])
        return len(self.busy) < n

    def _again(self, index: int, error: Exception) -> bool:
        """Return whether an error means that an item is sent again: its worker or node was lost, and not too often."""
        known = self.ray.exceptions
        if _means_lost_node(self.ray, error):
            if self.runner.preempted == "retry":
                log.warning("a Ray node was lost during the task %.200s, which is repeated", self.items[index])
                return True
        elif not isinstance(error, (known.WorkerCrashedError, known.OutOfMemoryError)):
            return False
        self.ends[index] += 1
        return self.ends[index] <= self.runner.max_retries

    def end(self) -> None:
        """Wait until no task runs."""
        if left := [*self.busy, *self.cancelled]:
            self.ray.wait(left, num_returns=len(left), fetch_local=False)


def _last_file() -> str:
    """Return the path of the file in which Ray keeps the address of the cluster that was last started here."""
    return os.path.join(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), "ray", "ray_current_cluster")


def _last_address() -> str:
    """Return the address of the cluster that was last started here, which Ray connects to by default; "" if none."""
    with contextlib.suppress(ReadError):
        return files.read(_last_file()).decode().strip()
    return ""


def _check_address(address: str) -> None:
    """Raise OSError if nobody listens at the port of an address, which Ray would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def _asked(theirs: dict[str, str], path: list[str], folder: str, needs: Needs) -> tuple[str, bool]:
    """Return why this worker could not do the tasks of a run, "" if it could, and whether it has compiled kernels.

    - theirs, path, folder: as in `_work_elsewhere`.
    """
    from dataprep.unicode.machine_code import has_any  # with llvmlite

    differ = difference(theirs)
    return f"has {differ}; {SAME}" if differ else needs.objection(path, folder), has_any()


def _answer(ray: Any, node: dict[str, Any], reference: Any) -> tuple[str, bool]:
    """Return what `_asked` returned on a node, or what its failure means; a node that was lost has no objection."""
    try:
        why, has_kernels = ray.get(reference, timeout=ANSWER)
        return str(why), bool(has_kernels)
    except ray.exceptions.RayError as e:
        if _means_lost_node(ray, e) or node["NodeID"] not in {one["NodeID"] for one in _alive(ray)}:
            return "", True
        said = str(e).strip().splitlines()[-1]
        if isinstance(e, ray.exceptions.RayTaskError):  # dataprep, or what it imports, is missing there
            return f"cannot run dataprep ({said}); {SAME}", True
        return f"does not answer ({type(e).__name__}: {said}); check the cluster", True


def _means_lost_node(ray: Any, error: Exception) -> bool:
    """Return whether Ray raises an error because a node was lost, which `ray.nodes` may not state yet."""
    known = ray.exceptions
    return isinstance(error, (known.NodeDiedError, known.LocalRayletDiedError, known.ObjectLostError))


def _alive(ray: Any) -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _has(node: dict[str, Any], wanted: Mapping[str, float]) -> bool:
    """Return whether a node has the resources of a task, used or not."""
    return all(node["Resources"].get(name, 0) >= amount for name, amount in wanted.items())


def _in_words(wanted: Mapping[str, float]) -> str:
    shown = {name: decimal(int(n)) if name == "memory" else f"{n:g}" for name, n in wanted.items()}
    return ", ".join(f"{n} {name}" for name, n in shown.items())


def _cluster_error(ray: Any, error: Any, item: Any, ends: int) -> Exception:
    """Return the error to raise in place of one of Ray.

    - ends: the number of worker processes that ended during the task.
    """
    known = ray.exceptions
    if isinstance(error, known.RayTaskError) and isinstance(error.cause, Exception):
        found: Exception = error.cause
    else:
        found = error
    if isinstance(error, (known.WorkerCrashedError, known.OutOfMemoryError)):
        ended = "memory ran out" if isinstance(error, known.OutOfMemoryError) else "a worker ended"
        found = WorkerDied(f"{ended} {counted(ends, 'time')} during the task {str(item)[:200]}; {ADVICE}")
    elif isinstance(found, known.RayError) and not isinstance(found, known.RayTaskError):
        found = _failed(item, found)  # a task was cancelled, or a node ended
    if found is not error:
        found.__cause__ = error
    return found


def _task_error(raised: bytes) -> Exception:
    """Return the error that a task raised, from its pickled form, with its cause."""
    error: Exception = cloudpickle.loads(raised)
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
