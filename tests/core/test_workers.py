"""Pools of workers, with processes that only look like some: who is ended, why one ended, and which slice was read."""

from __future__ import annotations

import atexit
import ctypes
import os
import pickle
import signal
import sys
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from dataprep.core.model import process as this_process
from dataprep.core.run import workers
from dataprep.core.run.workers import UNGUARDED, Pool, Workers
from dataprep.errors import PlanError
from dataprep.store.stopping import at_stop, clean_end, leave_memory

START = "forkserver" if sys.platform == "linux" else "spawn"


@dataclass
class Process:
    """A process that ends by a signal of ours, unless it is deaf."""

    pid: int
    exitcode: int | None = None
    deaf: bool = False
    got: list[str] = field(default_factory=list)

    def join(self, seconds=None):
        """Wait for no time."""

    def terminate(self):
        """End it, if it listens."""
        self.got.append("terminate")

    def is_alive(self):
        """Whether it is deaf."""
        return self.deaf

    def kill(self):
        """End it."""
        self.got.append("kill")


class Executor:
    """Holds processes as the executor of the standard library does."""

    def __init__(self, *processes):
        self._processes = {process.pid: process for process in processes}
        self.closed = []

    def shutdown(self, **how):
        """Note how it was closed."""
        self.closed.append(how)


def workers_of(*processes, reading=-1):
    """Workers that have these processes, and their pool."""
    found = Workers()
    found.pool = Pool(Executor(*processes), ctypes.c_int64(reading))
    return found, found.pool


@pytest.mark.parametrize(
    ("codes", "over", "why"),
    [([0, -9], (), "SIGKILL"), ([143, -11, -15], (), "SIGSEGV"), ([143, -15], (), "SIGTERM"),
     ([143, 1], (), "exit code 1"), ([-15, 0], (), "exit code 0"), ([-24, -15], (), "SIGXCPU"),
     ([-9, -15], (0,), "memory"), ([-14, -15], (), "time"), ([-14, -9], (1,), "time"),
     ([-9, -15], (7,), "SIGKILL")],
)  # fmt: skip
def test_why_a_worker_ended(codes, over, why) -> None:
    """A limit of time comes before one of memory, and our own SIGTERM to the others says nothing."""
    found, broken = workers_of(*(Process(n, code) for n, code in enumerate(codes)), reading=5)
    broken.over.update(over)
    assert found.remove_broken() == (why, 5)
    assert found.pool is None
    assert broken.executor.closed == [{"wait": False, "cancel_futures": True}]


def test_a_missing_guard_is_told() -> None:
    """One worker that ran the script again is enough."""
    found, _ = workers_of(Process(1, -9), Process(2, UNGUARDED))
    with pytest.raises(PlanError, match="__main__"):
        found.remove_broken()


@pytest.mark.parametrize(("sizes", "ended"), [({1: 60, 2: 50}, 1), ({1: 10, 2: 91}, 2), ({1: 50, 2: 50}, None)])
def test_the_largest_worker_is_ended(monkeypatch, sizes, ended) -> None:
    """Only when all together have more than they may; it is known afterwards why."""
    killed, looked = [], threading.Event()

    def kill(pid, number):
        killed.append((pid, number))
        sizes.clear()

    def size_of(pid):
        size = sizes.get(pid, 0)
        if pid == 2:
            looked.set()
        return size

    monkeypatch.setattr(workers, "POLL", 0.001)
    monkeypatch.setattr(workers, "_anonymous", size_of)
    monkeypatch.setattr(workers.os, "kill", kill)
    found, watched = workers_of(Process(1), Process(2))
    with found.within(100, {}):
        for _ in range(3):
            looked.clear()
            assert looked.wait(10)
    assert killed == ([] if ended is None else [(ended, signal.SIGKILL)])
    assert watched.over == ({ended} - {None})


def test_stopping_ends_all_and_kills_the_deaf() -> None:
    """The pool is gone afterwards; a second call has nothing to do, and what then breaks was told to end."""
    one, deaf = Process(1), Process(2, deaf=True)
    found, pool = workers_of(one, deaf)
    found.stop()
    assert [p.got for p in (one, deaf)] == [["terminate"], ["terminate", "kill"]]
    assert pool.executor.closed == [{"wait": False, "cancel_futures": True}]
    assert found.pool is None
    found.stop()
    assert one.got == ["terminate"]
    assert found.remove_broken() == ("SIGTERM", -1)


def test_memory_of_a_process_is_that_beyond_files() -> None:
    """Of this process some, of none nothing."""
    assert 1 << 20 < workers._anonymous(os.getpid()) < 1 << 40
    assert workers._anonymous(2**30) == 0


def test_processes_end_with_their_runner() -> None:
    """Nobody is waited for, and what was not begun is not; a copy for another process has none of them."""
    process = Process(1)
    found, pool = workers_of(process)
    executor = pool.executor
    assert pickle.loads(pickle.dumps(found)).pool is None
    del found, pool
    assert executor.closed == [{"wait": False, "cancel_futures": True}]
    assert process.got == []


def test_a_worker_notes_what_it_reads_and_ends_with_its_parent(monkeypatch) -> None:
    """SIGTERM is an exit, so that temporary files are removed; a thread waits for the parent, and ends the process."""
    reading, done, handlers, at_end = ctypes.c_int64(-1), [], {}, []

    @dataclass
    class Parent:
        """A process that has ended."""

        def join(self):
            """Wait for it."""
            done.append("waited")

    ended = threading.Event()
    monkeypatch.setattr(this_process, "_reading", None)
    monkeypatch.setattr(workers.signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(workers.atexit, "register", at_end.append)
    monkeypatch.setattr(workers.multiprocessing, "parent_process", Parent)
    monkeypatch.setattr(workers.os, "_exit", lambda code: (done.append(code), ended.set()))
    monkeypatch.setattr(workers, "Finalize", lambda *given, **_: at_end.append(given[1]))
    monkeypatch.setattr(workers.os, "environ", {"OF_SERVER": "1", "OF_BOTH": "2"})
    workers._begin(reading, {"OF_BOTH": "3", "OF_PARENT": "4"})
    assert workers.os.environ == {"OF_BOTH": "3", "OF_PARENT": "4"}
    assert ended.wait(10)
    assert done == ["waited", 1]
    assert at_end == [leave_memory, atexit._run_exitfuncs]
    this_process.begin_slice(4)
    assert reading.value == 4
    with pytest.raises(SystemExit) as e:
        handlers[signal.SIGTERM](signal.SIGTERM, None)
    assert e.value.code == 143


@pytest.mark.parametrize("inheriting", [True, False])
def test_a_worker_that_runs_the_script_again_ends(monkeypatch, inheriting) -> None:
    """With the code by which its parent knows why; the parent itself goes on."""
    codes = []
    monkeypatch.setattr(workers.multiprocessing, "current_process", lambda: SimpleNamespace(_inheriting=inheriting))
    monkeypatch.setattr(workers.os, "_exit", codes.append)
    workers.guard()
    assert codes == [UNGUARDED] * inheriting


def test_a_pool_is_kept_by_its_runner(monkeypatch) -> None:
    """They begin with the place that their parent sees, and with its environment; a stopped run ends them."""
    made = []

    def executor(workers, context, **given):
        made.append((workers, context.get_start_method(), given))
        return Executor()

    monkeypatch.setattr(workers, "ProcessPoolExecutor", executor)
    monkeypatch.setattr(workers, "at_stop", at_stop)
    first, second = Workers(), Workers()
    one, two, again = first.started(1), second.started(2), first.started(1)
    assert one is again is not two
    assert [(n, how, given["initializer"], given["initargs"]) for n, how, given in made] == [
        (n, START, workers._begin, (p.reading, dict(os.environ))) for n, p in ((1, one), (2, two))
    ]
    assert (one.reading.value, one.over, one.processes) == (-1, set(), [])
    one.executor._processes = None  # of an executor that was shut down
    assert one.processes == []
    with pytest.raises(KeyboardInterrupt), clean_end():
        raise KeyboardInterrupt
    assert first.pool is second.pool is None


class Slow(Process):
    """A process whose end is known a little later."""

    looks = 0

    @property
    def exitcode(self):
        """Unknown three times."""
        self.looks += 1
        return None if self.looks < 4 else -11

    @exitcode.setter
    def exitcode(self, code):
        """It is as it is."""


def test_the_end_of_a_worker_may_be_known_later() -> None:
    """Another thread takes it first; it is waited for, and no longer than until it is known."""
    found, _ = workers_of(Slow(1))
    assert found.remove_broken() == ("SIGSEGV", -1)
    assert found.pool is None
