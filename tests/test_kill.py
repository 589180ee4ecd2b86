"""A run that is killed, or meets a full disk, goes on where it was and ends in the same bytes."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from dataprep.errors import DataprepError
from dataprep.pipeline import Pipeline
from laws import dataset_of, same_bytes
from test_pipeline import STAGES, TEXTS

SCRIPT = """
import os, signal, sys, threading
sys.path[:0] = {path!r}
from pathlib import Path
import dataprep.files as files
from dataprep.pipeline import Pipeline
from dataprep.run import Local, Serial
from laws import dataset_of
from test_pipeline import STAGES, TEXTS

def die_before_rename(n):
    '''SIGKILL in the middle of the n-th file that is written: after its bytes, before it has its name.'''
    count, real = [0], os.replace
    def replace(*args):
        count[0] += 1
        if count[0] == n:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)
    os.replace = replace

if __name__ == "__main__":
    die_before_rename(int(sys.argv[2]))
    Pipeline(*STAGES).run(dataset_of(Path(sys.argv[1]), TEXTS, parts=4), sys.argv[1] + "/out")
"""


def start(folder, n, script=SCRIPT):
    path = folder / "script.py"
    path.write_text(textwrap.dedent(script).format(path=[os.path.dirname(__file__)]))
    with (folder / "errors").open("w") as errors:
        return subprocess.Popen([sys.executable, str(path), str(folder), str(n)], stderr=errors)


def test_sigkill_at_every_file_then_resumed(tmp_path):
    """SIGKILL inside each write in turn: every attempt dies one file later, and the last ends as if nothing was."""
    clean = tmp_path / "clean"
    clean.mkdir()
    Pipeline(*STAGES).run(dataset_of(clean, TEXTS, parts=4), str(clean / "out"))
    killed = tmp_path / "killed"
    killed.mkdir()
    deaths = 0
    for n in (2, 3, 3, 4, 5, 6, 6, 7):
        worker = start(killed, n)
        worker.wait(60)
        assert worker.returncode in (0, -signal.SIGKILL), (killed / "errors").read_text()
        deaths += worker.returncode == -signal.SIGKILL
    assert deaths >= 5
    Pipeline(*STAGES).run(dataset_of(killed, TEXTS, parts=4), str(killed / "out"))
    same_bytes(clean / "out", killed / "out")


def test_sigkill_of_the_parent_at_any_moment(tmp_path):
    """SIGKILL from outside while two workers write: the workers end too, and a rerun ends the same."""
    psutil = pytest.importorskip("psutil")
    clean = tmp_path / "clean"
    clean.mkdir()
    Pipeline(*STAGES).run(dataset_of(clean, TEXTS, parts=4), str(clean / "out"))
    killed = tmp_path / "killed"
    killed.mkdir()
    script = SCRIPT.replace('"/out")', '"/out", Local(2))')
    for delay in (0.6, 1.5):
        worker = start(killed, 10**9, script)
        time.sleep(delay)
        children = psutil.Process(worker.pid).children(recursive=True)
        worker.send_signal(signal.SIGKILL)
        worker.wait(60)
        assert psutil.wait_procs(children, timeout=30)[1] == []
    Pipeline(*STAGES).run(dataset_of(killed, TEXTS, parts=4), str(killed / "out"))
    same_bytes(clean / "out", killed / "out")


def test_full_disk_then_resumed(tmp_path):
    """A full disk is one sentence; what was finished is kept, and the rerun ends the same."""
    docs = dataset_of(tmp_path, [t * 200 for t in TEXTS], parts=4)
    Pipeline(*STAGES).run(docs, str(tmp_path / "clean"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, hard))
    try:
        with pytest.raises(DataprepError, match="disk is full"):
            Pipeline(*STAGES).run(docs, str(tmp_path / "full"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    Pipeline(*STAGES).run(docs, str(tmp_path / "full"))
    same_bytes(tmp_path / "clean", tmp_path / "full")
