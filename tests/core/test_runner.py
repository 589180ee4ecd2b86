"""Runners: order, retries, dead workers, the missing main guard."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from functools import partial

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.run import context, workers
from dataprep.core.run import runner as run
from dataprep.core.run.ray_runner import Ray
from dataprep.core.run.runner import Local, Serial, parse_bytes
from dataprep.core.run.trial import Trial
from dataprep.errors import DataprepError, FunctionFailed, PlanError, ReadError, Transient, WorkerDied
from dataprep.store.stopping import Stopped


def square(n):
    return n * n


def flaky(path):
    """Fails twice, then answers."""
    with open(path, "a+") as f:
        f.write("x")
        f.seek(0)
        if len(f.read()) < 3:
            msg = "the network is away"
            raise Transient(msg)
    return "fine"


def away(n):
    msg = "connection reset by peer"
    raise ConnectionResetError(msg)


def broken(n):
    msg = "is empty"
    raise ReadError(msg, f"file {n}", 3)


def killed_once(path):
    """Kills its process the first time, as the kernel does when memory runs out."""
    if path and not os.path.exists(path):
        with open(path, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return path


def killed_always(n):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("runner", [Serial(), laws.TWO], ids=str)
def test_results_come_in_item_order(runner):
    """Whoever works, the n-th result is of the n-th item; functions of the test travel by value."""
    assert list(runner.map(square, range(9))) == [n * n for n in range(9)]
    offset = 5
    assert list(runner.map(lambda n: n + offset, [1, 2, 3])) == [6, 7, 8]


def dies_after_the_next(item):
    """The first task ends its worker once, after the second is done; each returns its number."""
    folder, n = item
    (folder / f"began-{n}").touch()
    if n == 0 and not (folder / "died").exists():
        while not (folder / "done-1").exists():
            time.sleep(0.01)
        time.sleep(0.5)  # the result of the second is with the parent
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / f"done-{n}").touch()
    return n


def test_a_task_is_tried_again_while_a_later_result_waits(tmp_path):
    """A worker ends in the first task when the second is done already: the first is begun again."""
    assert list(Local(2).map(dies_after_the_next, [(tmp_path, n) for n in range(4)])) == [0, 1, 2, 3]



@pytest.mark.parametrize("runner", [Serial(), laws.TWO], ids=str)
def test_transient_trouble_is_tried_again(runner, tmp_path, monkeypatch):
    """Network trouble gets three attempts; other errors arrive as they were raised."""
    monkeypatch.setattr(run.time, "sleep", lambda _: None)
    assert list(runner.map(flaky, [str(tmp_path / "a"), str(tmp_path / "b")])) == ["fine", "fine"]
    with pytest.raises(ReadError, match="file 1, byte 3: is empty"):
        list(runner.map(broken, [1, 2]))
    with pytest.raises(Transient, match=r"failed 3 times .* 7 \(connection reset by peer\); run again"):
        list(runner.map(away, [7, 8]))


def test_a_dead_worker_is_replaced(tmp_path):
    """A killed worker costs nothing but its time; one that always dies is named."""
    items = [str(tmp_path / name) for name in "abc"]
    assert list(laws.TWO.map(killed_once, items)) == items
    with pytest.raises(WorkerDied, match=r"killed \(SIGKILL\) 3 times during the task 1; .*fewer workers"):
        list(Local(2).map(killed_always, [1, 2]))
    assert list(laws.TWO.map(square, [2, 3])) == [4, 9]


def fails_beside(path):
    """Writes without end into the file `path`; the task of a folder fails as soon as the others write."""
    if path.endswith("/"):
        while not (begun := os.listdir(path)):
            time.sleep(0.01)
        raise ValueError(begun)
    while True:
        with open(path, "a") as f:
            f.write("x")
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["error", "closed"])
def test_no_task_goes_on_after_the_map(tmp_path, how):
    """A task that runs beside one that failed, or whose result nobody takes, has ended; the Runner can go on."""
    runner, items = Local(2), [f"{tmp_path}/", f"{tmp_path}/slow", f"{tmp_path}/later", f"{tmp_path}/last"]
    if how == "error":
        with pytest.raises(ValueError, match="slow"):
            list(runner.map(fails_beside, items))
    else:
        results = runner.map(lambda path: path.endswith("/") or fails_beside(path), items)
        assert next(results)
        while not (tmp_path / "slow").exists():
            time.sleep(0.01)
        results.close()
    before = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    time.sleep(0.3)
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == before
    assert set(before) <= {"slow", "later"}
    assert list(runner.map(square, [2, 3])) == [4, 9]


class Left:
    """Writes a file when it is freed."""

    def __init__(self, path):
        self.path, self.itself = path, self

    def __del__(self):
        with open(self.path, "w", encoding="utf-8"):
            pass


LEFT = []


def leave(path):
    """Leave an object that refers to itself until the process ends."""
    LEFT.append(Left(path))
    return os.getpid()


def test_the_end_of_a_worker_searches_no_cycles(tmp_path):
    """Which takes some tenths of a second with all libraries."""
    runner = Local(2)
    pids = list(runner.map(leave, [str(tmp_path / "a"), str(tmp_path / "b")]))
    processes = runner._own.pool.processes
    runner._own.pool.executor.shutdown()
    assert {one.pid for one in processes} >= set(pids)
    assert [one.exitcode for one in processes] == [0] * len(processes)
    assert not os.listdir(tmp_path)


def test_a_script_without_main_guard_is_told_so(tmp_path):
    """One sentence in the parent, no pool traceback in the workers."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import dataprep as dp
        from dataprep.errors import DataprepError
        import sys
        def double(n): return 2 * n
        try:
            print(list(dp.tools.Local(2).map(double, [1, 2, 3])))
        except DataprepError as e:
            sys.exit(str(e))
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == workers.GUARD
    script.write_text(
        script.read_text()
        .replace("try:", 'if __name__ == "__main__":\n  try:')
        .replace("\nexcept", "\n  except")
        .replace("    print", "     print")
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[2, 4, 6]", done.stderr


def test_memory_is_shared_among_workers():
    """Budgets are read as people write them."""
    assert [run.parse_bytes(m) for m in (5, "8GB", "512 MiB", "1.5 kb")] == [5, 8 * 10**9, 512 << 20, 1500]
    assert run.machine_memory() > 1 << 28
    with pytest.raises(PlanError, match="not an amount of memory"):
        Serial(memory="lots")
    with pytest.raises(PlanError, match="workers=0 must be at least 1"):
        Local(0)
    assert [run.at_once(Local(8, memory=m)) for m in (None, "64GB", "2 GiB", "700MB")] == [8, 8, 3, 1]
    assert list(Local(2, memory="700MB").map(square, [1, 2, 3])) == [1, 4, 9]
    for runner in (Serial(memory="100MB"), Local(2, memory="100MB")):
        with pytest.raises(PlanError, match="less than the 600 MiB that one worker takes"):
            runner.map(square, [1, 2])


@pytest.mark.parametrize(
    ("text", "n"),
    [("0", 0), ("7", 7), ("7b", 7), ("1kB", 10**3), ("2 MB", 2 * 10**6), ("3G", 3 * 10**9), ("0.5TB", 5 * 10**11),
     ("1KiB", 2**10), ("1.5 mib", 3 << 19), ("2GiB", 2**31), (" 4 GB ", 4 * 10**9), (9, 9), ("10PB", 10**16),
     ("2TiB", 2 << 40)],
)  # fmt: skip
def test_sizes_have_units(text, n):
    """Decimal and binary ones, with or without a space."""
    assert parse_bytes(text) == n


@pytest.mark.parametrize("text", ["", "GB", "4 XB", "four", True, None, "1e999", "nan", "-1", "-5TB", -1])
def test_sizes_that_are_none(text):
    """Each is one sentence."""
    with pytest.raises(PlanError, match="is not an amount of memory"):
        parse_bytes(text)
    for make in (Serial, partial(Local, 2), Ray) if text is not None else ():  # at once, not when work begins
        with pytest.raises(PlanError, match="is not an amount of memory"):
            make(memory=text)


@given(st.integers(0, 200), st.integers(1, 60))
def test_slices_of_a_file_are_the_file(n_bytes, target):
    """One after another, each of at most the size asked for; a small file is not cut."""
    cuts = laws.Rows().cuts("a.txt", n_bytes, target)
    assert cuts == [(0, None, n_bytes)]
    cuts = Splits().cuts("a.txt", n_bytes, target)
    if n_bytes <= target:
        assert cuts == [(0, None, n_bytes)]
    else:
        assert [a for a, _, _ in cuts] == [0, *(b for _, b, _ in cuts[:-1])]
        assert cuts[-1][1] == n_bytes
        assert all(n == b - a <= target for a, b, n in cuts)
        sizes = {n for _, _, n in cuts}
        assert max(sizes) - min(sizes) <= 1
        assert len(cuts) == -(-n_bytes // target)
        assert Splits().cuts("a.txt.gz", n_bytes, target) == [(0, None, n_bytes)]


@dataclass(frozen=True)
class Splits(laws.Rows):
    """A reader that may begin anywhere."""

    splits = True


@pytest.mark.parametrize("given", [0, -1, 10**9, True, "2", float("nan"), float("inf")])
def test_limits_of_time_that_are_none(given):
    """Are refused at once, with the value."""
    with pytest.raises(PlanError, match=f"timeout={given!r} must be a number of seconds above 0"):
        Local(1, timeout=given)
    with pytest.raises(PlanError, match=rf"Serial has none; use dp\.tools\.Local\(1, timeout={given!r}\)"):
        Serial(timeout=given)


def test_limits_are_given_by_name():
    """A number alone would be neither."""
    for limits in (("4GB",), (None, 2)):
        with pytest.raises(TypeError):
            Local(1, *limits)


@pytest.mark.parametrize("given", [None, 1, 0.5, 10**9 - 1])
def test_limits_of_time(given):
    """In seconds."""
    assert Local(1, timeout=given).timeout == given
    assert Serial(timeout=None).map(square, [2]).__next__() == 4


@pytest.mark.parametrize(
    ("cause", "memory", "says"),
    [("time", None, "a worker took longer than timeout=2.5 s"), ("memory", None, "more memory than there is"),
     ("memory", "9GB", "more memory than memory='9GB'"), ("SIGKILL", None, "a worker was killed (SIGKILL)")],
)  # fmt: skip
def test_why_work_ended_is_told(cause, memory, says):
    """With the limit that was given."""
    assert Local(1, memory=memory, timeout=2.5)._why(cause).endswith(says)


def test_what_is_no_runner_is_told():
    """None is Serial; the members that lack are named."""
    assert run.runner_of(None) == Serial()
    assert run.runner_of(Local(3)) == Local(3)
    with pytest.raises(PlanError, match="runner=3 must be a Runner .*it has no map and no workers and no memory"):
        run.runner_of(3)


class Elsewhere(Serial):
    """A Runner whose workers may be on other machines, and which looks whether they can do the work."""

    has_other_machines = True

    def prepare(self, urls, out):
        assert os.path.isabs(out)
        self.asked.append(urls)
        if "bad" in out:
            msg = "no machine can write there"
            raise PlanError(msg)


def test_a_runner_is_asked_before_the_first_task(tmp_path, monkeypatch):
    """It sees one file of each part and the absolute folder, and its refusal stops the run; a trial does not ask it."""
    monkeypatch.chdir(tmp_path)
    docs = laws.dataset_of(tmp_path / "in", ["وجدت الكتاب", "two", "three"], parts=2)
    runner = Elsewhere()
    object.__setattr__(runner, "asked", [])
    dp.Pipeline().run(docs, "out", runner)
    assert runner.asked == [[part.slices[0].url for part in docs.parts]]
    with pytest.raises(PlanError, match="no machine can write there"):
        dp.Pipeline().run(docs, "bad", runner)
    dp.Pipeline().run(docs, "bad-trial", context.Context(runner, Trial("bad-trial", 1 << 20)))
    assert len(runner.asked) == 2


def test_the_network_is_tried_three_times(monkeypatch):
    """After pauses that double; other errors pass at once."""
    calls, pauses = [], []

    def fails(n):
        calls.append(n)
        if len(calls) <= n:
            away(n)
        return n

    monkeypatch.setattr(run.time, "sleep", pauses.append)
    assert run._attempt(fails, 2) == 2
    assert pauses == [0.5, 1.0]
    calls.clear()
    with pytest.raises(DataprepError, match=r"failed 3 times during the task 5 \(connection reset by peer\); run"):
        run._attempt(fails, 5)
    assert calls == [5, 5, 5]
    with pytest.raises(ZeroDivisionError):
        run._attempt(lambda n: 1 // n, 0)
    assert pauses == [0.5, 1.0] * 2


def test_a_task_runs_in_a_worker(monkeypatch):
    """With its limit of time; an error that cannot be sent is told in words, SIGTERM ends the process."""
    send, limits = cloudpickle.dumps, []
    monkeypatch.setattr(run, "timed", lambda seconds: limits.append(seconds) or contextlib.nullcontext())
    assert cloudpickle.loads(run.work(send(square), send(3), 4.0)) == 9
    assert limits == [4.0]
    with pytest.raises(ZeroDivisionError):
        run.work(send(lambda n: 1 // n), send(0))

    def ends(error):
        raise error

    for error in (SystemExit(0), GeneratorExit("no")):  # a function that ends the program is no signal
        says = rf"^ends raised {type(error).__name__}: \S+ \(.*(test_runner.py|<dynamic-code>), line "
        with pytest.raises(FunctionFailed, match=says):
            run.work(send(partial(ends)), send(error))
    with pytest.raises(KeyboardInterrupt):
        run.work(send(ends), send(KeyboardInterrupt()))
    assert limits == [4.0, *[None] * 4]
    monkeypatch.setattr(run.os, "_exit", limits.append)
    with contextlib.suppress(FunctionFailed):  # since the process does not end here
        run.work(send(ends), send(Stopped(143)))
    assert limits[-1] == 143


def test_processes_belong_to_their_runner(tmp_path):
    """Pipelines that get the same Runner share two processes, which end when it is freed; an equal one has others."""
    runner = Local(2)
    docs = laws.dataset_of(tmp_path, ["one", "two", "three", "four"], parts=4)
    found = set()
    for name in "abc":
        dp.Pipeline(dp.Exact()).run(docs, str(tmp_path / name), runner)
        found.update(process.pid for process in runner._own.pool.processes)
    assert len(found) == 2
    assert Local(2) == runner
    assert Local(2)._own.pool is None
    processes = runner._own.pool.processes
    del runner
    for process in processes:
        process.join(20)
    ends = time.monotonic() + 5
    while None in [process.exitcode for process in processes] and time.monotonic() < ends:
        time.sleep(0.01)  # the thread of the pool takes it first
    assert [process.exitcode for process in processes] == [0, 0]
