"""Runners: order, retries, dead workers, the missing main guard."""

import itertools
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import laws
from dataprep.core import runner as run
from dataprep.core import workers
from dataprep.core.ray_runner import Ray
from dataprep.core.runner import Local, Serial, parse_bytes
from dataprep.errors import PlanError, ReadError, Transient, WorkerDied


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


@pytest.mark.parametrize("runner", [Serial(), Local(2)], ids=str)
def test_results_come_in_item_order(runner):
    """Whoever works, the n-th result is of the n-th item; functions of the test travel by value."""
    assert list(runner.map(square, range(9))) == [n * n for n in range(9)]
    offset = 5
    assert list(runner.map(lambda n: n + offset, [1, 2, 3])) == [6, 7, 8]


@pytest.mark.parametrize("runner", [Serial(), Local(2)], ids=str)
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
    assert list(Local(2).map(killed_once, items)) == items
    with pytest.raises(WorkerDied, match=r"killed \(SIGKILL\) 3 times during the task 1; .*fewer workers"):
        list(Local(2).map(killed_always, [1, 2]))
    assert list(Local(2).map(square, [2, 3])) == [4, 9]


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
            print(list(dp.Local(2).map(double, [1, 2, 3])))
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
     ("1KiB", 2**10), ("1.5 mib", 3 << 19), ("2GiB", 2**31), (" 4 GB ", 4 * 10**9), (9, 9)],
)  # fmt: skip
def test_sizes_have_units(text, n):
    """Decimal and binary ones, with or without a space."""
    assert parse_bytes(text) == n


@pytest.mark.parametrize("text", ["", "GB", "4 XB", "four", True, None, "1e999", "nan"])
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
        assert [(a, b) for a, b, _ in cuts] == list(itertools.pairwise([*range(0, n_bytes, target), n_bytes]))
        assert all(n == b - a <= target for a, b, n in cuts)
        assert Splits().cuts("a.txt.gz", n_bytes, target) == [(0, None, n_bytes)]


@dataclass(frozen=True)
class Splits(laws.Rows):
    """A reader that may begin anywhere."""

    splits = True
