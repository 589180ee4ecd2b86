"""A queue does what one process does, with workers that come, go and are killed, and a Runner that is killed."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import dataprep as dp
import laws
from dataprep.core.pipeline import Pipeline
from dataprep.errors import ReadError
from fixtures import disk_store
from fixtures.small_pipeline import STAGES, TEXTS

WAIT = 120.0


@contextlib.contextmanager
def working(queue, *options):
    """A process that takes tasks; it is told to end at the end."""
    command = [sys.executable, "-m", "dataprep", "work", str(queue), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(WAIT)


def until(found):
    """Wait until `found()` is true, and return it."""
    ends = time.monotonic() + WAIT
    while not (value := found()):
        assert time.monotonic() < ends
        time.sleep(0.01)
    return value


@dataclass(frozen=True)
class Slow:
    """Notes which process does an item; a process that does item 2 first waits to be killed."""

    home: str

    def __call__(self, n: int) -> int:
        if n == 2:
            first = not Path(self.home, "2").exists()
            parent = multiprocessing.parent_process()
            Path(self.home, "2").write_text(str(parent.pid if parent else ""))
            time.sleep(600 if first else 0)
        if n == 5:
            msg = "is empty"
            raise ReadError(msg, "file 5")
        return n * n


def test_tasks_of_a_killed_worker_and_errors(tmp_path):
    """A worker that is killed with its machine's processes loses nothing; errors are raised in the order of items."""
    with working(tmp_path / "queue") as one, working(tmp_path / "queue") as other:
        results = dp.tools.Queue(str(tmp_path / "queue")).map(Slow(str(tmp_path)), range(7))
        got = [next(results), next(results)]
        killed = int(until(lambda: (tmp_path / "2").exists() and (tmp_path / "2").read_text()))
        worker = next(process for process in (one, other) if process.pid == killed)
        worker.kill()
        worker.wait()  # or it would still be a process, if a dead one
        got += [next(results), next(results), next(results)]
        assert got == [0, 1, 4, 9, 16]
        with pytest.raises(ReadError, match="file 5: is empty"):
            next(results)
        assert not list((tmp_path / "queue" / "jobs").iterdir())


def test_a_task_ends_when_nobody_wants_its_result(tmp_path):
    """A run that is stopped does not wait for a task of ten minutes, and the worker then does the next run's tasks."""
    with working(tmp_path / "queue"):
        results = dp.tools.Queue(str(tmp_path / "queue")).map(Slow(str(tmp_path)), range(4))
        assert [next(results), next(results)] == [0, 1]
        until((tmp_path / "2").exists)
        results.close()
        assert not list((tmp_path / "queue" / "jobs").iterdir())
        assert list(dp.tools.Queue(str(tmp_path / "queue")).map(Slow(str(tmp_path)), range(4))) == [0, 1, 4, 9]


@pytest.mark.parametrize("store", ["", "disk://"], ids=["folder", "store"])
def test_a_run_is_the_same_byte_for_byte(tmp_path, monkeypatch, store):
    """Also one whose Runner and a worker were killed: the next run continues with the parts that are finished.

    In a folder, and in a store, which holds the queue and the result.
    """
    Pipeline(*STAGES).run(laws.dataset_of(tmp_path, TEXTS, parts=5), str(tmp_path / "serial"))
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, pathlib, dataprep as dp, laws\n"
        "from fixtures.small_pipeline import STAGES, TEXTS\n"
        "home, queue, out = sys.argv[1:]\n"
        "docs = laws.dataset_of(pathlib.Path(home), TEXTS, parts=5)\n"
        "dp.Pipeline(*STAGES).run(docs, out, dp.tools.Queue(queue))\n"
    )
    queue, out = f"{store}{tmp_path}/queue", f"{store}{tmp_path}/queued"
    command = [sys.executable, str(script), str(tmp_path), queue, out]
    path = [disk_store.installed(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))
    with working(queue) as killed, working(queue):
        first = subprocess.Popen(command)
        until(lambda: first.poll() is not None or any((tmp_path / "queued").rglob("*.json")))
        assert first.poll() is None
        for process in (first, killed):
            process.kill()
            process.wait()
        subprocess.run(command, check=True, timeout=WAIT)
    laws.same_bytes(tmp_path / "serial", tmp_path / "queued")
    assert not [path for path in tmp_path.rglob(".dataprep-lease*") if path.parent.name != "serial"]


def test_each_run_has_its_own_modules(tmp_path):
    """Runs whose modules have the same name, and a module that was edited between two runs."""
    script = "import sys, dataprep as dp, helper\nprint(*dp.tools.Queue(sys.argv[1]).map(helper.change, 'xy'))\n"
    found = []
    with working(tmp_path / "queue"):
        for place, said in (("a", "one"), ("b", "two"), ("b", "three"), ("a", "one")):
            (tmp_path / place).mkdir(exist_ok=True)
            (tmp_path / place / "helper.py").write_text(f"def change(x):\n    return x + '-{said}'\n")
            (tmp_path / place / "run.py").write_text(script)
            command = [sys.executable, str(tmp_path / place / "run.py"), str(tmp_path / "queue")]
            found.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    assert found == ["x-one y-one", "x-two y-two", "x-three y-three", "x-one y-one"]
