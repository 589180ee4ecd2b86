"""The Runner Local without processes: which tasks are begun when, what follows a death, and what decides before it."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import cloudpickle
import pytest

from dataprep.core.run import runner as run
from dataprep.core.run.crashes import Quarantined
from dataprep.core.run.runner import Local, Serial
from dataprep.core.run.workers import Workers
from dataprep.errors import FunctionFailed, PlanError, WorkerDied
from dataprep.store import lease


class Late(Future):
    """A result that is worked out when somebody waits, as the log says; some end their worker."""

    def __init__(self, item, log, fate):
        super().__init__()
        self.item, self.log, self.fate = item, log, fate
        log.append(("begin", item))

    def end(self):
        """Note it; have the square, or what the fate says."""
        self.log.append(("end", self.item))
        if self.fate is None:
            self.set_result(cloudpickle.dumps(self.item**2))
        else:
            self.set_exception(self.fate)


@pytest.fixture
def pool(monkeypatch):
    """A pool of no process: `fates` lists for each item the errors of its first tries, `log` what happened.

    The task that began first ends first, but those in `slow` end last.
    """
    found = SimpleNamespace(log=[], fates={}, limits=[], removed=[], within=[], slow=[])

    def submit(work, task, item, timeout, folder, leases):
        assert folder == os.getcwd()
        assert leases == lease.for_workers()
        assert work is run.work
        found.limits.append(timeout)
        item = cloudpickle.loads(item)
        fates = found.fates.get(item, [])
        return Late(item, found.log, fates.pop(0) if fates else None)

    def removed(_workers):
        found.removed.append(found.started)
        return "SIGKILL", 0

    def started(_workers, n):
        found.started = n
        return found

    def wait(busy, return_when):
        assert return_when == "FIRST_COMPLETED"
        min(busy, key=lambda late: late.item in found.slow).end()

    found.executor = SimpleNamespace(submit=submit)
    monkeypatch.setattr(run, "wait", wait)
    monkeypatch.setattr(Workers, "started", started)
    monkeypatch.setattr(Workers, "remove_broken", removed)
    monkeypatch.setattr(Workers, "within", lambda _, limit, __: found.within.append(limit) or contextlib.nullcontext())
    return found


def begun(log):
    """How many tasks are begun and not ended, after each event; and the events as text."""
    n, counts = 0, []
    for what, _ in log:
        n += 1 if what == "begin" else -1
        counts.append(n)
    return counts, " ".join(f"{'' if what == 'begin' else '-'}{item}" for what, item in log)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_one_task_more_than_workers_is_begun(pool, workers) -> None:
    """None waits for a task; results come in order; limits are handed on."""
    local = Local(workers, memory="3 GB", timeout=7)
    assert list(local.map(None, range(9))) == [n * n for n in range(9)]
    counts, _ = begun(pool.log)
    assert (max(counts), pool.started) == (workers + 1, workers)
    assert (set(pool.limits), pool.within) == ({7}, [3 * 10**9])
    assert [item for what, item in pool.log if what == "end"] == list(range(9))


def test_a_slow_task_holds_up_no_other(pool) -> None:
    """While it works, later ones begin and end, up to a number that a worker may be ahead; results come in order."""
    pool.slow = [2]
    assert list(Local(2).map(None, range(99))) == [n * n for n in range(99)]
    ended = [item for what, item in pool.log if what == "end"]
    ahead = run.AHEAD * 2
    assert ended.index(2) == ahead + 1
    assert max(begun(pool.log)[0]) == 3


def test_after_an_error_no_task_begins(pool) -> None:
    """An error of a later task is raised when the earlier ones are done, and none begins before."""
    pool.slow, pool.fates[4] = [0, 1], [ZeroDivisionError()]
    results = Local(3).map(None, range(99))
    assert [next(results) for _ in range(4)] == [0, 1, 4, 9]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert begun(pool.log)[1] == "0 1 2 3 -2 4 -3 5 -4 -5 -0 -1"


def test_after_a_death_tasks_are_tried_one_at_a_time(pool) -> None:
    """Those that were begun, in their order; then work goes on as before."""
    pool.fates[2] = [BrokenProcessPool()]
    assert list(Local(2).map(None, range(8))) == [n * n for n in range(8)]
    assert begun(pool.log)[1] == "0 1 2 -0 3 -1 4 -2 2 -2 3 -3 4 -4 5 6 7 -5 -6 -7"
    assert pool.removed == [2]
    limit = run.machine_memory() * 9 // 10
    assert pool.within == [limit]


def test_a_task_that_always_ends_its_worker_is_named(pool) -> None:
    """After three tries; results that came before it are kept, and one that came with the death is not made again."""
    pool.fates[1] = [BrokenProcessPool()] * 5
    results = Local(2).map(None, range(4))
    assert next(results) == 0
    with pytest.raises(WorkerDied, match=r"a worker was killed \(SIGKILL\) 3 times during the task 1; ") as e:
        next(results)
    assert isinstance(e.value.__cause__, BrokenProcessPool)
    assert begun(pool.log)[1] == "0 1 2 -0 3 -1 1 -1 1 -1"
    assert len(pool.removed) == 3


def test_a_pool_that_breaks_while_tasks_are_begun(pool, monkeypatch) -> None:
    """The task that was to be begun is begun in the next one; an error of the machine passes."""
    broken = [BrokenProcessPool()]
    submit = pool.executor.submit

    def fails(*given):
        if cloudpickle.loads(given[2]) == 1 and broken:
            raise broken.pop()
        return submit(*given)

    pool.executor.submit = fails
    assert list(Local(1).map(None, range(4))) == [0, 1, 4, 9]
    for is_broken, kind in ((True, BrokenProcessPool), (False, OSError)):
        pool.executor = SimpleNamespace(submit=lambda *_: (_ for _ in ()).throw(OSError("pipe")), _broken=is_broken)
        with pytest.raises(kind, match="pipe"):
            run._submit(pool, b"", 1, None)


def test_errors_of_tasks_pass(pool) -> None:
    """That of a user's function with its own cause, a file that is left out with its decision."""
    cause = KeyError("a")
    error = FunctionFailed("f raised", "0:1", "text")
    error.cause = cause
    pool.fates[0] = [error]
    with pytest.raises(FunctionFailed) as e:
        list(Local(2).map(None, range(2)))
    assert e.value.__cause__ is cause
    part = SimpleNamespace(skips_bad=True, slices=(SimpleNamespace(url="a"),))
    pool.fates = {}
    pool.executor.submit = lambda *_: Late("part", pool.log, BrokenProcessPool())
    with pytest.raises(Quarantined, match="a: a worker was killed"):
        list(Local(2).map_pickled(b"", [part]))


@pytest.mark.parametrize(
    ("items", "limits", "elsewhere"),
    [([2], {}, False), ([], {}, False), ([2], {"timeout": 3}, True), ([2, 3], {}, True), ([], {"timeout": 3}, True),
     ([SimpleNamespace(skips_bad=True)], {}, True), ([SimpleNamespace(skips_bad=False)], {}, False)],
    ids=["one", "none", "limit", "two", "none with a limit", "may be skipped", "may not be skipped"],
)  # fmt: skip
def test_one_item_stays_in_this_process(monkeypatch, items, limits, elsewhere) -> None:
    """Unless it has a limit of time, or a worker may die of it."""
    made = []
    monkeypatch.setattr(Local, "map_pickled", lambda self, task, items: made.append("elsewhere") or iter(items))
    monkeypatch.setattr(run, "guard", lambda: made.append("guard"))
    assert list(Local(3, memory="1300MB", **limits).map(lambda item: item, items)) == items
    assert made == ["guard", *["elsewhere"] * elsewhere]


@pytest.mark.parametrize(
    ("stated", "n"),
    [({}, 2**40), ({"memory.max": "max\n"}, 2**40), ({"memory.max": "12345\n"}, 12345),
     ({"memory/memory.limit_in_bytes": "99"}, 99), ({"memory.max": f"{2**41}"}, 2**40),
     ({"memory.max": "5", "memory/memory.limit_in_bytes": "7"}, 5)],
    ids=["none", "max", "new", "old", "more", "both"],
)  # fmt: skip
def test_the_memory_of_a_container_counts(monkeypatch, tmp_path, stated, n) -> None:
    """The smallest of what the machine has and what is stated."""
    (tmp_path / "memory").mkdir()
    for name, text in stated.items():
        (tmp_path / name).write_text(text)
    here, exists = (lambda path: path.replace("/sys/fs/cgroup", str(tmp_path))), run.os.path.exists
    monkeypatch.setattr(run.os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**28}[name])
    monkeypatch.setattr(run.os.path, "exists", lambda path: exists(here(path)))
    monkeypatch.setattr(run, "open", lambda path: open(here(path)), raising=False)  # noqa: SIM115 - the caller closes it
    assert run.machine_memory() == n
    assert run.memory_of(Serial()) == n
    assert run.memory_of(Serial(memory="2kB")) == 2000


def test_a_limit_that_one_worker_just_meets() -> None:
    """Workers are as many as fit."""
    one = run.WORKER_BYTES
    assert one == 600 << 20
    assert [run.at_once(Local(2, memory=n)) for n in (one, 2 * one - 1, 2 * one, 9 * one)] == [1, 1, 2, 2]
    with pytest.raises(PlanError, match=f"memory={one - 1} is less than the 600 MiB that one worker takes; allow more"):
        run.at_once(Local(2, memory=one - 1))
