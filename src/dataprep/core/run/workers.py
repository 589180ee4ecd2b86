"""Worker processes of a Local Runner: their start and end, memory and time limits, and the reasons for their end."""

from __future__ import annotations

import atexit
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.util import Finalize
from typing import Any

from dataprep.errors import PlanError, ReadError
from dataprep.store import files
from dataprep.store.stopping import at_stop, leave_memory, stop

from ..model import forked
from ..model import process as this_process

GRACE = 1.0  # seconds in which a worker that is told to end may remove temporary files
UNGUARDED = 78  # exit code of a worker that found itself running the user's script
GUARD = (
    "Local starts fresh Python processes, which import your script first: "
    'put its work under `if __name__ == "__main__":` (or use dp.tools.Serial())'
)
POLL = 0.1  # seconds between two checks of the memory of workers
TIME, MEMORY = "time", "memory"  # reasons for which a worker was ended
TERMINATED = (-signal.SIGTERM, 128 + signal.SIGTERM)  # exit codes after SIGTERM, which `_begin` handles
TIMED = hasattr(signal, "setitimer")  # not on Windows


@dataclass
class Pool:
    """Worker processes that are kept between tasks; they end when nothing refers to the pool any more.

    Attributes:
        reading: the index of the slice that a worker began most recently.
        over: the ids of processes that were ended because of their memory use.
    """

    executor: ProcessPoolExecutor
    reading: Any
    over: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        weakref.finalize(self, self.executor.shutdown, wait=False, cancel_futures=True)

    @property
    def processes(self) -> list[Any]:
        """The processes of the pool."""
        return list((getattr(self.executor, "_processes", None) or {}).values())


class Workers:
    """The worker processes of one Runner: they start with its first task, and end with the Runner or the program.

    A copy that is made for another process starts its own processes.
    """

    def __init__(self) -> None:
        self.pool: Pool | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Workers, ()

    def started(self, n: int) -> Pool:
        """Return the pool of `n` processes; it is kept for later tasks."""
        if self.pool is None:
            at_stop(self)
            context = forked.context()
            reading = context.Value(ctypes.c_int64, -1, lock=False)
            given = (reading, dict(os.environ))
            self.pool = Pool(ProcessPoolExecutor(n, context, initializer=_begin, initargs=given), reading)
        return self.pool

    @contextmanager
    def within(self, n_bytes: int, running: Mapping[int, tuple[Any, Future[bytes]]]) -> Iterator[None]:
        """Within the `with` block, end the largest worker whenever all exceed `n_bytes` together; then, end `running`.

        - running: the unfinished tasks. After an error they are cancelled, or their processes are ended, so that none
          continues to write. Memory that only holds cached file pages is not counted. Only Linux reports the memory of
          a process.
        """
        done = threading.Event()

        def watch() -> None:
            while not done.wait(POLL):
                pool = self.pool
                sizes = {process.pid: _anonymous(process.pid) for process in (pool.processes if pool else ())}
                if pool and sum(sizes.values()) > n_bytes:
                    largest = max(sizes, key=sizes.__getitem__)
                    pool.over.add(largest)
                    try:
                        os.kill(largest, signal.SIGKILL)
                    except ProcessLookupError:
                        pool.over.discard(largest)

        threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            done.set()
            if [future for _, future in running.values() if not future.cancel() and not future.done()]:
                self.stop()

    def remove_broken(self) -> tuple[str, int]:
        """Forget the processes of a pool if one of them ended; return the reason, and the slice that was being read.

        The reason is TIME, MEMORY, a signal such as "SIGKILL", or an exit code such as "exit code 3". The other
        processes are ended by SIGTERM, which is the reason only if there is no other. Raises PlanError if workers ended
        because the script has no main guard.
        """
        pool, self.pool = self.pool, None
        if pool is None:  # `stop` was called while they worked
            return "SIGTERM", -1
        processes = pool.processes
        ends = time.monotonic() + 5
        for process in processes:
            process.join(5)
            while process.exitcode is None and time.monotonic() < ends:  # the thread of the pool takes it first
                time.sleep(0.001)
        pool.executor.shutdown(wait=False, cancel_futures=True)
        if any(process.exitcode == UNGUARDED for process in processes):
            raise PlanError(GUARD) from None  # the broken pool is what the sentence explains
        codes = {process.exitcode for process in processes}
        if TIMED and -signal.SIGALRM in codes:
            return TIME, pool.reading.value
        if any(process.pid in pool.over for process in processes):
            return MEMORY, pool.reading.value
        own = sorted(code for code in codes if code is not None and code not in TERMINATED)
        return _cause(own[0]) if own else "SIGTERM", pool.reading.value

    def stop(self) -> None:
        """End the processes, if there are any; they have one second to remove their temporary files."""
        pool, self.pool = self.pool, None
        processes = [] if pool is None else pool.processes
        for process in processes:
            process.terminate()
        ends = time.monotonic() + GRACE
        for process in processes:
            process.join(max(0.0, ends - time.monotonic()))
            if process.is_alive():
                process.kill()
        if pool is not None:
            thread = getattr(pool.executor, "_executor_manager_thread", None)
            pool.executor.shutdown(wait=False, cancel_futures=True)
            if thread is not None:  # the end of the program would interrupt it while it removes a semaphore
                thread.join(GRACE)


def _cause(code: int) -> str:
    """Return the exit code of a process in words; if a signal ended it, the name of the signal."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _begin(reading: Any, environment: Mapping[str, str]) -> None:
    """Start a thread that ends this worker when its parent ends, even if killed; let SIGTERM remove temporary files.

    When the worker ends, it leaves its memory to the system.

    - reading: the shared memory in which the parent sees the slice that this worker reads.
    - environment: the environment variables of the parent.
    """
    atexit.register(leave_memory)
    Finalize(None, atexit._run_exitfuncs, exitpriority=-1)  # noqa: SLF001 - before Python 3.13, a fork does not call them
    forked.replace_state(environment)
    this_process.begin(reading)
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
    signal.signal(signal.SIGTERM, stop)  # last: the pool prints a traceback of what is raised in this function


def _anonymous(pid: int) -> int:
    """Return a process's memory in bytes, apart from memory that maps files; 0 if the process has ended."""
    try:
        with files.open_raw(f"/proc/{pid}/statm") as f:
            _, resident, shared, *_ = map(int, f.read().split())
    except (ReadError, OSError, ValueError):
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def guard() -> None:
    """End this process if it is a worker that runs the script again because `if __name__ == '__main__'` is missing."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        sys.stderr.flush()
        os._exit(UNGUARDED)
