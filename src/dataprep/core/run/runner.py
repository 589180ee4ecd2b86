"""Runners: Serial, and Local (processes of this machine); `ray_runner.py` has Ray. All have the method `map`.

A task is a module-level function, a `functools.partial`, or a frozen dataclass with `__call__`. Results are yielded in
the order of the items. Only URLs and small results are sent between processes, so every Runner produces the same bytes.
`memory=` limits the memory of all workers together: if the limit is low, fewer workers run at once. The output does not
depend on the limit.
"""

from __future__ import annotations

import collections
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import InitVar, dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import cloudpickle

from dataprep.errors import FunctionFailed, PlanError, Transient, WorkerDied, portable
from dataprep.store import lease
from dataprep.store.allocator import keep_freed_memory, share_freed_memory
from dataprep.store.place import here
from dataprep.store.progress import track
from dataprep.store.remote import NETWORK
from dataprep.store.stopping import is_stop, no_ctrl_c

from ..model.blame import raised
from ..model.forked import start_server
from ..model.process import timed
from .crashes import ATTEMPTS, Crashes
from .elsewhere import name_of
from .threads import AHEAD, in_order, may_share
from .workers import MEMORY, TIME, TIMED, Pool, Workers, guard

T = TypeVar("T")
R = TypeVar("R")

WORKER_BYTES = 600 << 20  # the most memory that a worker needs (541 MB on 3 GB of text): benchmarks/RESULTS.md
PREFIXES = "kmgtp"  # of units, each a thousand (or 1,024) of the one before
ADVICE = {
    TIME: "allow more time",
    **dict.fromkeys((MEMORY, "SIGKILL"), "use fewer workers, or Serial(), if memory ran out"),
    "SIGTERM": "another program ended it; run again",
}
ENDED = "the task, or a library that it uses, ended the process; correct it, or leave the file out"


class Runner(Protocol):
    """Interface of Runners, which call a task for every item of a pipeline's work, in this or in other processes.

    A custom Runner may be any class with the members `map`, `workers` and `memory`; see `examples/runner.py`. Two more
    members are optional:

    - `prepare(urls, out)`: a method that is called before the first task of a run, with the URL of a file that each
      part of the input reads, and the folder into which tasks write. It raises PlanError if the workers cannot use
      them.
    - `has_other_machines`: True if workers may be on other machines, so that a relative `out` is made absolute.
    """

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Yield `task(item)` for every item, in item order.

        Args:
            task: the function to call; cloudpickle must be able to pickle the function, the items and the results. It
                may have `memory_bytes`, the memory that it needs in addition to the usual memory of a worker, and
                `thread_safe`: whether several threads may call it at once, for different items. An item may also have
                `thread_safe`; it counts as True if it is absent.
            items: the arguments of the calls.
            label: the title of the progress bar; "" for no progress bar.
        """

    @property
    def workers(self) -> int:
        """The number of items processed at once; if it is above 1, kernels are compiled before the work begins."""

    @property
    def memory(self) -> int | str | None:
        """The memory that all workers together may use, in bytes or as text such as "4GB"; None sets no limit."""


def runner_of(runner: Runner | None) -> Runner:
    """Return `runner`, or a new `Serial()` if it is None. Raises PlanError if `runner` lacks a member of a Runner."""
    missing = [name for name in ("map", "workers", "memory") if runner is not None and not hasattr(runner, name)]
    if missing:
        msg = (
            f"runner={runner!r} must be a Runner such as dp.tools.Serial() or dp.tools.Local(2); it has no "
            f"{' and no '.join(missing)}"
        )
        raise PlanError(msg)
    return Serial() if runner is None else runner


def memory_of(runner: Runner) -> int:
    """Return the memory in bytes that all workers of `runner` may use together: its limit, or the machine's memory."""
    return machine_memory() if runner.memory is None else parse_bytes(runner.memory)


def parse_bytes(size: int | str) -> int:
    """Return a size in bytes, from an integer or text such as "4GB" or "512 MiB".

    Raises PlanError if it is neither, or negative.
    """
    units = {unit: 10 ** (3 * n) for n, unit in enumerate(["", *PREFIXES])}
    units |= {f"{unit}i": 1 << (10 * n) for n, unit in enumerate(PREFIXES, 1)}
    text = str(size).strip().lower().removesuffix("b")
    digits = text.rstrip(f"{PREFIXES}i ")
    try:
        n = size if isinstance(size, int) else int(float(digits) * units[text[len(digits) :].strip()])
    except (ValueError, KeyError, OverflowError):
        n = -1
    if n < 0 or isinstance(size, bool):
        msg = f"{size!r} is not an amount of memory; it must be a number of bytes, or text such as '4GB'"
        raise PlanError(msg)
    return n


def check_memory(size: int | str | None) -> None:
    """Raise PlanError if `size` is neither None nor an amount of memory."""
    if size is not None:
        parse_bytes(size)


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def at_once(runner: Runner) -> int:
    """Return the number of items to process at once: `workers`, or fewer if `memory` does not suffice for that many."""
    if runner.memory is None:
        return runner.workers
    n = parse_bytes(runner.memory) // WORKER_BYTES
    if n < 1:
        msg = f"memory={runner.memory!r} is less than the {WORKER_BYTES >> 20} MiB that one worker takes; allow more"
        raise PlanError(msg)
    return min(runner.workers, n)


@dataclass(frozen=True, kw_only=True)
class Serial:
    """Runs all tasks in this process.

    Args:
        memory: the memory for which work is planned, in bytes or as text like "4GB"; it is not enforced.
        timeout: must be None, since a process cannot interrupt its own work on a file; use `Local(1, timeout=...)`.
        threads: the number of parts of the input that are processed at once, if all code that reads and processes them
            is dataprep's and can share a process; default: 2, or 1 on a machine with one processor. With a function or
            class of yours, or a stage whose work is mostly Python code, one part is processed at a time. A thread needs
            the memory of a worker, so there are fewer of them if `memory` or the machine's memory is low.
    """

    memory: int | str | None = None
    timeout: InitVar[None] = None
    threads: int = field(default_factory=lambda: min(2, processors()))
    workers: ClassVar[int] = 1

    def __post_init__(self, timeout: float | None) -> None:
        check_memory(self.memory)
        if isinstance(self.threads, bool) or not isinstance(self.threads, int) or self.threads < 1:
            msg = f"threads={self.threads!r} must be an integer of at least 1"
            raise PlanError(msg)
        if self.threads > 1:
            share_freed_memory()  # before any thread of a run starts: later, memory doubled
        if timeout is not None:
            msg = f"timeout={timeout!r} needs a worker process, but Serial has none; "
            msg += f"use dp.tools.Local(1, timeout={timeout!r})"
            raise PlanError(msg)

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order.

        - label: title of the progress bar.
        """
        at_once(self)
        keep_freed_memory()
        attempt, n = partial(_attempt, task), self._threads(task, items)
        return track(in_order(attempt, items, n) if n > 1 else map(attempt, items), items, label)

    def _threads(self, task: Callable[[T], R], items: Sequence[T]) -> int:
        """Return the number of threads that may call a task at once."""
        if not may_share(task, items):
            return 1
        return min(len(items), self.fitting(getattr(task, "memory_bytes", 0)))

    def fitting(self, more: int = 0) -> int:
        """Return the number of threads, at most `threads`, for which there is memory.

        - more: bytes that each thread needs in addition to the usual memory of a worker.
        """
        return min(self.threads, max(1, memory_of(self) // (WORKER_BYTES + more)))


@dataclass(frozen=True)
class Local:
    """Runs tasks in processes of this machine.

    Args:
        workers: the number of processes.
        memory: the maximum memory of all processes together, in bytes or as text like "4GB"; None: 90 % of the
            machine's memory. If the processes use more, the largest one is killed.
        timeout: the maximum number of seconds that a task may take for one file; None: no limit.

    The work of a killed process is retried. The processes belong to this object, and end when it is freed or the
    program ends. On Linux, they are forked from one process without threads, the server, which imports dataprep. The
    server is the `forkserver` of Python's `multiprocessing`; it starts with the first Local that runs a task, and ends
    with the program. On other systems, each process imports dataprep itself, which takes a second; there, pass the same
    object to several pipelines.
    """

    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    memory: int | str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)
    _own: Workers = field(default_factory=Workers, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_memory(self.memory)
        check_timeout(self.timeout)
        if self.workers < 1:
            msg = f"workers={self.workers!r} must be at least 1"
            raise PlanError(msg)

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order.

        - label: title of the progress bar.
        """
        guard()
        at_once(self)
        if len(items) <= 1 and self.timeout is None and not any(getattr(item, "skips_bad", False) for item in items):
            return Serial().map(task, items, label)  # one item gains nothing from another process
        return track(self.map_pickled(cloudpickle.dumps(task), items), items, label)

    def prepare(self, urls: Sequence[str], out: str) -> None:  # noqa: ARG002 - the processes see the same files
        """Start the server of the processes in the background, if they will be used; the first task also does so.

        - urls: a file that each part of the input reads.
        - out: the folder into which tasks write.
        """
        if self.workers > 1 and len(urls) > 1:
            guard()
            start_server()

    def map_pickled(self, task: bytes, items: Sequence[T]) -> Iterator[Any]:
        """Yield the results of a task that cloudpickle serialised, in item order."""
        workers = at_once(self)
        limit = machine_memory() * 9 // 10 if self.memory is None else parse_bytes(self.memory)
        waiting = collections.deque(enumerate(items))
        running: dict[int, tuple[T, Future[bytes]]] = {}  # in item order
        crashes = Crashes()
        with self._own.within(limit, running):
            for wanted in range(len(items)):
                while True:
                    try:
                        pool = self._own.started(workers)
                        most = 1 if crashes.counts else workers + 1  # one extra, so that no worker is idle
                        while True:
                            busy = [future for _, future in running.values() if not future.done()]
                            free = len(busy) < most and _goes_on(running, workers)
                            if waiting and (free or wanted not in running):
                                index, item = waiting[0]
                                running[index] = (item, _submit(pool, task, item, self.timeout))
                                waiting.popleft()  # not earlier: submit may find the pool broken
                            elif running[wanted][1].done():
                                break
                            else:
                                wait(busy, return_when=FIRST_COMPLETED)
                        answer = running[wanted][1].result()
                        break
                    except FunctionFailed as e:
                        raise e from (e.cause or e.__cause__)
                    except BrokenProcessPool as e:
                        cause, at = self._own.remove_broken()
                        lost = [
                            (i, item) for i, (item, future) in running.items()
                            if not future.done() or isinstance(future.exception(), BrokenProcessPool)
                        ]  # fmt: skip
                        try:
                            crashes.add(lost, at, self._why(cause), ADVICE.get(cause, ENDED))
                        except WorkerDied as died:
                            raise died from e
                        waiting.extendleft(reversed(lost))
                        for index, _ in lost:
                            del running[index]
                del running[wanted]
                crashes.counts.pop(wanted, None)
                yield cloudpickle.loads(answer)

    def stop(self) -> None:
        """End the processes and interrupt their work; the next task starts new processes."""
        self._own.stop()

    def _why(self, cause: str) -> str:
        """Return a description of the reason why a worker ended."""
        if cause == TIME:
            return f"a worker took longer than timeout={self.timeout:g} s"
        if cause == MEMORY:
            return "workers took more memory than " + ("there is" if self.memory is None else f"memory={self.memory!r}")
        return f"a worker was killed ({cause})" if cause.startswith("SIG") else f"a worker ended with {cause}"


def check_timeout(given: float | None) -> None:
    """Raise PlanError unless `given` is a time limit in seconds, or None."""
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if given is not None and not (TIMED and is_number and 0 < given < 10**9):
        msg = f"timeout={given!r} must be a number of seconds above 0, or None; Windows has no time limit"
        raise PlanError(msg)


def _goes_on(running: Mapping[int, tuple[Any, Future[bytes]]], workers: int) -> bool:
    """Return whether one more task may start: none has failed, and few results wait for an earlier, slower task."""
    return len(running) < AHEAD * workers and not any(f.done() and f.exception() for _, f in running.values())


def _submit(pool: Pool, task: bytes, item: Any, timeout: float | None) -> Future[bytes]:
    """Return the future of a task. Raises BrokenProcessPool if a worker died, even while another was being started."""
    try:
        with no_ctrl_c():  # submit starts the processes
            return pool.executor.submit(work, task, cloudpickle.dumps(item), timeout, here(), lease.for_workers())
    except OSError as e:
        if getattr(pool.executor, "_broken", False):  # the pool's other thread closed the pipes of the new process
            raise BrokenProcessPool(str(e)) from e
        raise


def _attempt(task: Callable[[T], R], item: T, attempt: int = 1) -> R:
    """Return the result of a task; after a network error, it is retried twice."""
    try:
        return task(item)
    except NETWORK as e:
        if attempt == ATTEMPTS:
            msg = f"the network failed {attempt} times during the task {str(item)[:200]} ({e}); run again to resume"
            raise Transient(msg) from e
    time.sleep(2.0**attempt / 4)
    return _attempt(task, item, attempt + 1)


def work(task: bytes, item: bytes, timeout: float | None = None, folder: str = "", leases: Any = ((), {})) -> bytes:
    """Run a task in a worker process, in the working folder of the program that sent it; return the result.

    Functions of the user's script are sent by value (cloudpickle). An error that the parent process could not unpickle,
    which would look like a killed worker, is raised as a RuntimeError. An error that would end the parent process is
    raised as FunctionFailed.

    - leases: those of the program, as `lease.for_workers` returns them.
    """
    try:
        keep_freed_memory()
        if folder and folder != here():
            os.chdir(folder)
        work, given = cloudpickle.loads(task), cloudpickle.loads(item)  # the first time this imports modules
        with lease.worked_for(*leases), timed(timeout):
            return bytes(cloudpickle.dumps(_attempt(work, given)))
    except KeyboardInterrupt:
        raise
    except BaseException as e:
        if is_stop(e):  # SIGTERM, which the pool would mistake for a result
            os._exit(128 + signal.SIGTERM)
        sent = portable(e) if isinstance(e, Exception) else FunctionFailed(raised(name_of(task), e))
        if sent is e:
            raise
        raise sent from e
