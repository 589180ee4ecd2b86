"""Workers that a server forks: what they share with it, what they do not, and the exit codes that it states."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from dataprep.core.model.forked import context
from dataprep.core.run.runner import Local

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


def found(path):
    """What a worker has: its server, how many threads that one has, a variable, random numbers; `path` is for its end.

    It waits for the other worker.
    """
    import numpy as np

    Path(path).touch()
    while len(list(Path(path).parent.glob("begun*"))) % 2:
        pass
    atexit.register(Path(path).with_suffix(".end").touch)
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{os.getppid()}/status").read_text().splitlines())
    is_warm = "dataprep.core.run.runner" in sys.modules
    return os.getppid(), os.getpid(), status["Threads"], os.environ.get("OF_TEST"), np.random.random(), is_warm  # noqa: NPY002


def test_what_workers_share_and_what_they_do_not(tmp_path, monkeypatch) -> None:
    """One server, without threads, forks those of all Runners; each has its own variables and random numbers."""
    rows = []
    for n, value in enumerate("ab"):
        monkeypatch.setenv("OF_TEST", value)
        local = Local(2)
        rows += local.map(found, [str(tmp_path / f"begun{n}{which}") for which in "xy"])
        local._own.pool.executor.shutdown()
    servers, pids, threads, values, numbers, warm = zip(*rows, strict=True)
    assert len({os.getpid(), *pids, *servers}) == 6
    assert set(threads) == {"1"}
    assert values == ("a", "a", "b", "b")
    assert len(set(numbers)) == 4
    assert all(warm)
    assert len(list(tmp_path.glob("begun*.end"))) == 4


def test_functions_of_a_script_work_and_the_server_does_not_run_it(tmp_path) -> None:
    """Only the two workers import the script, as the guard expects; the server dies, and the next work has another."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import os, signal, time
        import dataprep as dp

        os.write(1, f"{__name__}\\n".encode())

        class Twice:
            def __call__(self, n): time.sleep(0.3); return 2 * n, os.getppid()

        if __name__ == "__main__":
            (four, server), (six, _) = dp.tools.Local(2).map(Twice(), [2, 3])
            os.kill(server, signal.SIGKILL)
            assert [n for n, _ in dp.tools.Local(2).map(Twice(), [2, 3])] == [four, six] == [4, 6]
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["__main__", *["__mp_main__"] * 4]
    assert done.stderr == ""


def test_any_number_of_threads_are_told_an_exit_code() -> None:
    """The server states it once."""
    process = context().Process(target=signal.pause)
    process.start()
    codes = []

    def waits():
        process._popen.wait()
        codes.append(process._popen.returncode)

    threads = [threading.Thread(target=waits) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert process.exitcode is None
    process.kill()
    for thread in threads:
        thread.join(20)
    assert codes == [-signal.SIGKILL] * 8
