"""The job array that a Slurm Runner submits, with a `sbatch` and a `squeue` of ours."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from pathlib import Path

import cloudpickle
import pytest

import dataprep as dp
from dataprep.core.run import queue_worker
from dataprep.errors import PlanError
from dataprep.store import files


def program(home: Path, name: str, text: str) -> None:
    """Write a program that notes its arguments, and then does what `text` says."""
    noted = f'printf "%s\\n" "$@" "" >> {home}/{name}.log'
    (home / name).write_text(f"#!/bin/sh\n{noted}\n{text}\n")
    (home / name).chmod(0o755)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """The folder of programs, first on the PATH."""
    home = tmp_path / "bin"
    home.mkdir()
    monkeypatch.setenv("PATH", f"{home}{os.pathsep}{os.environ['PATH']}")
    program(home, "sbatch", "echo '17;cluster'")
    program(home, "squeue", "test -e running && echo 17_1")
    monkeypatch.chdir(home)
    return home


def test_an_array_is_submitted_again_once_it_has_ended(slurm, tmp_path):
    """Its jobs run `dataprep work`, with the given resources; while one is queued or running, none is submitted."""
    given = {"jobs": 3, "processes": 8, "memory": "30GB", "options": ["--mem=32G"], "idle": 60}
    runner = dp.tools.Slurm(str(tmp_path / "a queue"), **given)
    for n, is_running in ((1, True), (1, False), (2, True)):
        served = threading.Thread(target=serve, args=(tmp_path / "a queue",))
        results = runner.map(abs, [-1, 2])
        served.start()
        assert list(results) == [1, 2]
        served.join()
        assert (slurm / "sbatch.log").read_text().count("--array=1-3\n") == n
        (slurm / "running").touch() if is_running else (slurm / "running").unlink()
    assert list(runner.map(abs, [])) == []
    with pytest.raises(PlanError, match="the queue s3://b/q must be a folder, where Slurm's jobs write logs"):
        dp.tools.Slurm("s3://b/q")
    *_, option, command, _, _ = (slurm / "sbatch.log").read_text().split("\n")
    assert option == "--mem=32G"
    work = [sys.executable, "-m", "dataprep", "work", str(tmp_path / "a queue"), "--workers", "8", "--idle", "60"]
    assert shlex.split(command.removeprefix("--wrap=")) == [*work, "--memory", "30GB"]


def serve(queue):
    """Do the two tasks of a job in this thread."""
    worker, done = queue_worker._Worker(str(queue), str(queue / "workers" / "me"), None, None), 0
    while done < 2:
        if (taken := worker._next()) is not None:
            answer = taken.job.task(taken.job.item(taken.index))
            files.write_bytes(taken.job.result_of(taken.index), cloudpickle.dumps(answer))
            done += 1


def test_mistakes_are_one_sentence(slurm, tmp_path, monkeypatch):
    """What Slurm says of the options, and what to do without Slurm."""
    program(slurm, "sbatch", "echo 'sbatch: error: invalid partition specified: x' >&2\nexit 1")
    with pytest.raises(PlanError, match=r"rejects the jobs \(sbatch: error: invalid part.*; change options=\['-p=x'"):
        dp.tools.Slurm(str(tmp_path), options=["-p=x"]).map(abs, [1])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlanError, match="there is no program sbatch on this machine; run this on a login node"):
        dp.tools.Slurm(str(tmp_path)).map(abs, [1])
    with pytest.raises(PlanError, match="jobs"):
        dp.tools.Slurm(str(tmp_path), jobs=0)
