"""Runners: Serial, Local (processes of this machine) and Ray. All have one method, `map`.

A task is a module-level function, a `functools.partial`, or a frozen dataclass with `__call__`. Results are yielded in
the order of the items. Only URLs and small results are sent between processes, so every Runner makes the same bytes.
`memory=` limits the memory of all workers together: with a small limit, fewer workers run at once. The output does not
depend on the limit.
"""

from __future__ import annotations

import atexit
import collections
import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

import cloudpickle
from fsspec.exceptions import FSTimeoutError

from dataprep.errors import FunctionFailed, PlanError, Transient, WorkerDied, need, portable
from dataprep.store.progress import track
from dataprep.store.stopping import at_stop, no_ctrl_c

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS = 3  # of an item whose worker died, or that met network trouble
WORKER_BYTES = 600 << 20  # what a worker takes at most (541 MB on 3 GB of text): benchmarks/RESULTS.md
NETWORK = (Transient, ConnectionError, TimeoutError, FSTimeoutError)
GRACE = 1.0  # seconds in which a worker that is told to end may remove temporary files
UNGUARDED = 78  # exit code of a worker that found itself running the user's script
GUARD = (
    "Local starts fresh Python processes, which import your script first: "
    'put its work under `if __name__ == "__main__":` (or use dp.Serial())'
)


class Runner(Protocol):
    """Interface of Runners, which do the work of a pipeline: call a task for every item, in this process or in others.

    Your own Runner may be any class with the members `map`, `workers` and `memory`; see `examples/runner.py`.
    """

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Yield `task(item)` for every item, in item order.

        The task, the items and the results must be picklable by cloudpickle. label: title of the progress bar; "" for
        no progress bar.
        """

    @property
    def workers(self) -> int:
        """Number of items processed at once; if it is more than 1, kernels are compiled before the work starts."""

    @property
    def memory(self) -> int | str | None:
        """The memory that all workers together may take, in bytes or as text such as "4GB"; None sets no limit."""


def runner_of(run: Runner | None) -> Runner:
    """Return `run`, or a new `Serial()` if it is None. Raises PlanError if `run` lacks a member of a Runner."""
    missing = [name for name in ("map", "workers", "memory") if run is not None and not hasattr(run, name)]
    if missing:
        msg = f"run={run!r} must be a Runner such as dp.Serial() or dp.Local(2); it has no {' and no '.join(missing)}"
        raise PlanError(msg)
    return Serial() if run is None else run


def memory_of(run: Runner) -> int:
    """Return the memory in bytes that all workers of `run` may take together: its limit, or the machine's memory."""
    return machine_memory() if run.memory is None else parse_bytes(run.memory)


def parse_bytes(size: int | str) -> int:
    """Return a size in bytes, from an integer or text such as "4GB" or "512 MiB". Raises PlanError if it is neither."""
    if isinstance(size, int):
        return size
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
    text = size.strip().lower().removesuffix("b")
    digits = text.rstrip("kmgti ")
    try:
        return int(float(digits) * units[text[len(digits) :].strip()])
    except (ValueError, KeyError) as e:
        msg = f"{size!r} is not an amount of memory; it must be a number of bytes, or text such as '4GB'"
        raise PlanError(msg) from e


def machine_memory() -> int:
    """Return the bytes of memory that this machine (or its container) may use."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 << 30
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        if os.path.exists(limit):
            with open(limit) as f:
                text = f.read().strip()
            if text.isdigit():
                total = min(total, int(text))
    return total


def _at_once(run: Runner) -> int:
    """Return the number of items to process at once: `workers`, or as many as fit into `memory`."""
    if run.memory is None:
        return run.workers
    n = parse_bytes(run.memory) // WORKER_BYTES
    if n < 1:
        msg = f"memory={run.memory!r} is less than the {WORKER_BYTES >> 20} MiB that one worker takes; allow more"
        raise PlanError(msg)
    return min(run.workers, n)


@dataclass(frozen=True, kw_only=True)
class Serial:
    """Runs everything in this process, one item after another; memory: limit in bytes, or as text like "4GB"."""

    memory: int | str | None = None
    workers: ClassVar[int] = 1

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order; label: title of the progress bar."""
        _at_once(self)
        return track((_attempt(task, item) for item in items), items, label)


@dataclass(frozen=True)
class Local:
    """Runs tasks in processes of this machine.

    workers: number of processes. memory: bytes that all of them may take together, or text like "4GB"; None: no limit.
    Processes are spawned, since fork is unsafe with Arrow's threads, and kept until the program ends.
    """

    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    memory: int | str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.workers < 1:
            msg = f"workers={self.workers!r} must be at least 1"
            raise PlanError(msg)

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order; label: title of the progress bar."""
        guard()
        n = _at_once(self)
        if len(items) <= 1:  # one item gains nothing from another process
            return Serial(memory=self.memory).map(task, items, label)
        return track(self._map(cloudpickle.dumps(task), items, n), items, label)

    def _map(self, task: bytes, items: Sequence[T], workers: int) -> Iterator[Any]:
        waiting = collections.deque(enumerate(items))
        running: dict[int, tuple[T, Future[bytes]]] = {}  # in item order
        deaths: dict[int, int] = {}  # of workers, by the index of the item; then items run one at a time
        for wanted in range(len(items)):
            while True:
                try:
                    pool = _pool(workers)
                    while waiting and len(running) < (1 if deaths else workers + 1):  # one more, so that none waits
                        index, item = waiting[0]
                        running[index] = (item, _submit(pool, task, item))
                        waiting.popleft()  # not before: submit may find the pool broken
                    answer = running[wanted][1].result()
                    break
                except FunctionFailed as e:
                    raise e from (e.cause or e.__cause__)
                except BrokenProcessPool as e:
                    _remove_pool(workers)
                    lost = [
                        (i, item) for i, (item, future) in running.items()
                        if not future.done() or isinstance(future.exception(), BrokenProcessPool)
                    ]  # fmt: skip
                    _count_deaths(lost, deaths, e)
                    waiting.extendleft(reversed(lost))
                    running = {i: one for i, one in running.items() if i not in dict(lost)}
            del running[wanted]
            deaths.pop(wanted, None)
            yield cloudpickle.loads(answer)


def _submit(pool: ProcessPoolExecutor, task: bytes, item: Any) -> Future[bytes]:
    """Return the future of a task. Raises BrokenProcessPool if a worker died, also while another was being started."""
    try:
        with no_ctrl_c():  # submit starts the processes
            return pool.submit(_work, task, cloudpickle.dumps(item))
    except OSError as e:
        if getattr(pool, "_broken", False):  # the pool's other thread closed the pipes of the new process
            raise BrokenProcessPool(str(e)) from e
        raise


@dataclass(frozen=True)
class Ray:
    """Runs tasks on a Ray cluster, over storage that all nodes can read; needs the extra `ray`.

    address: the address of the cluster, as for `ray.init`. memory: bytes that all workers may take together, or text
    like "4GB".
    """

    address: str | None = None
    memory: int | str | None = field(default=None, kw_only=True)

    @property
    def workers(self) -> int:
        """The number of CPUs of the cluster."""
        return max(1, int(self._ray().cluster_resources().get("CPU", 1)))

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order; label: title of the progress bar."""
        return track(self._map(task, items), items, label)

    def _ray(self) -> Any:
        ray = need("ray", extra="ray")
        if not ray.is_initialized():
            ray.init(address=self.address, include_dashboard=False, log_to_driver=False, logging_level="error")
        return ray

    def _map(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        ray = self._ray()
        work = ray.remote(max_retries=ATTEMPTS - 1)(_work_elsewhere)
        sent = cloudpickle.dumps(task)
        waiting = iter(items)

        def start(n: int) -> list[tuple[T, Any]]:
            return [
                (item, work.remote(sys.path, sent, cloudpickle.dumps(item))) for item in itertools.islice(waiting, n)
            ]

        running = collections.deque(start(_at_once(self) + (self.memory is None)))
        while running:
            item, reference = running.popleft()
            try:
                answer = ray.get(reference)
            except ray.exceptions.RayTaskError as e:
                raise (e.cause if isinstance(e.cause, Exception) else e) from e
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as e:
                raise WorkerDied(_died(item)) from e
            running.extend(start(1))
            yield cloudpickle.loads(answer)


def _attempt(task: Callable[[T], R], item: T, attempt: int = 1) -> R:
    """Return the result of a task; after a network error it is tried twice more."""
    try:
        return task(item)
    except NETWORK as e:
        if attempt == ATTEMPTS:
            msg = f"the network failed {attempt} times during the task {str(item)[:200]} ({e}); run again to resume"
            raise Transient(msg) from e
    time.sleep(2.0**attempt / 4)
    return _attempt(task, item, attempt + 1)


def _work(task: bytes, item: bytes) -> bytes:
    """Run a task in a worker process; cloudpickle sends functions of the user's script by value.

    An error that the parent could not load, which would look like a killed worker, arrives as a RuntimeError.
    """
    try:
        return bytes(cloudpickle.dumps(_attempt(cloudpickle.loads(task), cloudpickle.loads(item))))
    except SystemExit:  # SIGTERM, which the pool would take for a result
        os._exit(128 + signal.SIGTERM)
    except Exception as e:
        sent = portable(e)
        if sent is e:
            raise
        raise sent from e


def _work_elsewhere(path: list[str], task: bytes, item: bytes) -> bytes:
    """Run a task in a Ray worker, with the module search path of the driver."""
    sys.path.extend(p for p in path if p not in sys.path)
    return _work(task, item)


def _count_deaths(lost: list[tuple[int, Any]], deaths: dict[int, int], e: Exception) -> None:
    """Count the deaths of workers per item, and raise WorkerDied at the limit.

    An item is known to have killed a worker only if it ran alone; of several at once each counts one death at most.
    """
    for index, item in lost:
        deaths[index] = deaths.get(index, 0) + 1 if len(lost) == 1 else max(1, deaths.get(index, 0))
        if deaths[index] >= ATTEMPTS:
            raise WorkerDied(_died(item)) from e


def _died(item: object) -> str:
    return (
        f"a worker was killed {ATTEMPTS} times during the task {str(item)[:200]}; "
        "most often memory ran out: use fewer workers, or Serial()"
    )


_POOLS: dict[int, ProcessPoolExecutor] = {}


def _pool(workers: int) -> ProcessPoolExecutor:
    """Return the pool of this size; it is kept, since a new process takes a second for imports."""
    if workers not in _POOLS:
        spawn = multiprocessing.get_context("spawn")
        _POOLS[workers] = ProcessPoolExecutor(workers, spawn, initializer=_end_with_parent)
    return _POOLS[workers]


def _end_with_parent() -> None:
    """Start a thread that ends this worker when its parent ends, even by a kill; let SIGTERM remove temporary files."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _remove_pool(workers: int) -> None:
    """Remove a broken pool; raise PlanError if its workers ended because the script has no main guard."""
    pool = _POOLS.pop(workers)
    processes = list((getattr(pool, "_processes", None) or {}).values())
    for process in processes:
        process.join(5)
    pool.shutdown(wait=False, cancel_futures=True)
    if any(process.exitcode == UNGUARDED for process in processes):
        raise PlanError(GUARD) from None  # the broken pool is what the sentence explains


def guard() -> None:
    """End this process if it is a worker that runs the script again, since `if __name__ == '__main__'` is missing."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        sys.stderr.flush()
        os._exit(UNGUARDED)


@at_stop
def stop_workers() -> None:
    """End the worker processes of this process; they have one second to remove their temporary files."""
    pools = list(_POOLS.values())
    _POOLS.clear()
    processes = [p for pool in pools for p in (getattr(pool, "_processes", None) or {}).values()]
    for process in processes:
        process.terminate()
    ends = time.monotonic() + GRACE
    for process in processes:
        process.join(max(0.0, ends - time.monotonic()))
        if process.is_alive():
            process.kill()
    for pool in pools:
        pool.shutdown(wait=False, cancel_futures=True)


@atexit.register
def _close_pools() -> None:
    for pool in _POOLS.values():
        pool.shutdown(wait=False, cancel_futures=True)
