"""Ctrl-C and SIGTERM: one sentence that says what is kept, no temporary folders, no workers left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

import dataprep as dp
from dataprep import cli
from dataprep.store import stopping
from laws import dataset_of

PIPELINE = """
import os, time
import dataprep as dp
from dataprep.read import parts

parts.PART_BYTES = 200_000  # a part per file

def slow(text):
    if "part 0" not in text:
        open({marks!r} + "/" + str(os.getpid()), "w").close()
        time.sleep(600)
    return text

def ingest(out, run):
    return dp.Pipeline(dp.Map(slow, version="1")).run(dp.read({texts!r}), out, run)
"""


# A job in the background is started without Ctrl-C.
START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from dataprep.__main__ import main
main()
"""


@pytest.fixture
def started(tmp_path):
    """Start `dataprep run` on four files, the first of which is quick; return when a task of another began."""
    for name in ("marks", "texts", "tmp"):
        (tmp_path / name).mkdir()
    for n in range(4):
        (tmp_path / "texts" / f"{n}.jsonl").write_text(f'{{"text": "of part {n}"}}\n' * 9000)
    marks, texts = str(tmp_path / "marks"), str(tmp_path / "texts")
    (tmp_path / "pipe.py").write_text(PIPELINE.format(marks=marks, texts=texts))
    processes = []

    def start(*options):
        command = [sys.executable, "-c", START, "run", "pipe.py", "--out", "out", *options]
        environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            start_new_session=True,
        )  # fmt: skip
        processes.append(process)
        while not os.listdir(marks):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("number", "workers", "group"),
    [(signal.SIGINT, 1, True), (signal.SIGINT, 2, True), (signal.SIGTERM, 2, False), (signal.SIGTERM, 1, True)],
    ids=["ctrl-c", "ctrl-c-workers", "sigterm-parent", "sigterm-group"],
)
def test_a_stopped_run_says_what_is_kept(started, tmp_path, number, workers, group):
    """One sentence, whoever was signalled; the exit code of the signal; workers end, and no lease stays."""
    process = started("--workers", str(workers))
    children = psutil.Process(process.pid).children(recursive=True)
    assert (len(children) >= workers) == (workers > 1)
    (os.killpg if group else os.kill)(process.pid, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number, said
    kept = r"dataprep: stopped; finished work is kept in out/ingest( \(1 part\))?, and the same command resumes\n"
    assert re.fullmatch(kept, said)
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert not (tmp_path / "out" / "ingest" / ".dataprep-lease").exists()


def test_a_dry_run_leaves_no_temporary_folder(started, tmp_path):
    """SIGTERM removes what Ctrl-C does."""
    process = started("--dry-run")
    assert [name for name in os.listdir(tmp_path / "tmp") if name.startswith("dataprep-dry-run")]
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert said.startswith("dataprep: stopped; ")
    assert said.count("\n") == 1
    assert not [name for name in os.listdir(tmp_path / "tmp") if name.startswith("dataprep-dry-run")]


def test_the_finished_parts_are_counted(tmp_path, monkeypatch):
    """The sentence says how many parts need not be made again; without a folder, that nothing was saved."""
    monkeypatch.setattr(stopping, "_folders", [])
    assert cli._stopped() == "stopped; nothing was saved"
    out = dp.Pipeline().run(dataset_of(tmp_path, ["a", "b"], parts=2), str(tmp_path / "out")).url
    with pytest.raises(KeyboardInterrupt), stopping.clean_end(out):
        raise KeyboardInterrupt
    assert cli._stopped() == f"stopped; finished work is kept in {out} (2 parts), and the same command resumes"


def test_a_handler_of_the_program_is_kept():
    """SIGTERM is handled only if nobody else does, and only while work is under way."""
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with stopping.clean_end():
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
        with pytest.raises(SystemExit, match=str(128 + signal.SIGTERM)):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    try:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with stopping.clean_end():
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_ctrl_c_during_imports_is_one_sentence(monkeypatch, capsys):
    """The first seconds of a command are imports, in which nothing of ours catches Ctrl-C but the entry point."""
    from dataprep.__main__ import main

    class Stop:
        def find_spec(self, name, *_):
            if name == "dataprep.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "dataprep.cli")
    monkeypatch.setattr(sys, "meta_path", [Stop(), *sys.meta_path])
    with pytest.raises(SystemExit) as e:
        main()
    assert e.value.code == 130
    assert capsys.readouterr().err == "dataprep: stopped; nothing was saved\n"
