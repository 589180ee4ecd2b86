"""Ctrl-C and SIGTERM: one sentence that says what is kept, no temporary folders, no workers left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import llvmlite.binding as llvm
import psutil
import pytest

import dataprep as dp
from dataprep import cli
from dataprep.read import parts
from dataprep.store import stopping
from laws import Stops, dataset_of

PIPELINE = """
import os, signal, time
import dataprep as dp
from dataprep.read import parts

parts.PART_BYTES = 2_300  # a part per file

def slow(text):
    if "part 0" not in text:
        {stop}
    return text

def ingest(out, runner):
    return dp.Pipeline(dp.Map(slow, version="1")).run(dp.read({texts!r}), out, runner)
"""
# A job in the background is started without Ctrl-C.
START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from dataprep.__main__ import main
main()
"""
KEPT = r"dataprep: stopped; finished work is kept in out/ingest( \(1 part\))?, and the same command resumes\n"


@pytest.fixture(autouse=True)
def ctrl_c():
    """A job in the background is started without Ctrl-C; the tests have it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def pipe(tmp_path, monkeypatch):
    """Write a pipeline of four files, the first of which is quick; at any other it does what `stop` says."""
    monkeypatch.setattr(parts, "PART_BYTES", parts.PART_BYTES)
    for name in ("marks", "texts", "tmp"):
        (tmp_path / name).mkdir()
    for n in range(4):
        (tmp_path / "texts" / f"{n}.jsonl").write_text(f'{{"text": "of part {n}"}}\n' * 100)

    def write(stop):
        (tmp_path / "pipe.py").write_text(PIPELINE.format(stop=stop, texts=str(tmp_path / "texts")))

    return write


@pytest.mark.parametrize(
    ("number", "group"), [(signal.SIGINT, True), (signal.SIGTERM, False)], ids=["ctrl-c-group", "sigterm-parent"]
)
def test_a_stopped_run_says_what_is_kept(pipe, tmp_path, number, group):
    """One sentence, whoever was signalled; the exit code of the signal; workers end, and no lease stays."""
    marks = str(tmp_path / "marks")
    pipe(f'open({marks!r} + "/" + str(os.getpid()), "w").close(); time.sleep(600)')
    command = [sys.executable, "-c", START, "run", "pipe.py", "--out", "out", "--workers", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    try:
        while not os.listdir(marks):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
        (os.killpg if group else os.kill)(process.pid, number)
        _, said = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 128 + number, said
    assert re.fullmatch(KEPT, said)
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert not (tmp_path / "out" / "ingest" / ".dataprep-lease").exists()


@pytest.mark.parametrize(
    ("stop", "ends"),
    [("raise KeyboardInterrupt", 130), ("signal.raise_signal(signal.SIGTERM)", 143)],
    ids=["ctrl-c", "sigterm"],
)
def test_a_run_without_workers_stops_the_same_way(pipe, tmp_path, monkeypatch, dataprep, stop, ends):
    """The signal meets the function of the user, in the process of the command; a dry run leaves no folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stopping, "_folders", [])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))  # else a trial may be in memory
    temporary = f"any('dry-run' in name for name in os.listdir({str(tmp_path / 'tmp')!r}))"
    pipe(f"import sys; assert {temporary} == ('--dry-run' in sys.argv); {stop}")
    code, _, said = dataprep("run", "pipe.py", "--out", "out", "--dry-run")
    assert code == ends
    assert said == "dataprep: stopped; nothing was saved\n"
    assert os.listdir(tmp_path / "tmp") == []
    monkeypatch.setattr(stopping, "_folders", [])
    code, _, said = dataprep("run", "pipe.py", "--out", "out")
    assert code == ends
    assert re.fullmatch(KEPT, said)
    assert "(1 part)" in said
    assert not (tmp_path / "out" / "ingest" / ".dataprep-lease").exists()


def test_finished_steps_are_kept_when_another_is_stopped(tmp_path, monkeypatch, dataprep):
    """The sentence names the folder of the run, though the stopped step had written nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stopping, "_folders", [])
    (tmp_path / "a.txt").write_text("a text")
    (tmp_path / "pipe.py").write_text(
        "import dataprep as dp\n\n\n"
        "def one(out, runner):\n    return dp.Pipeline().run(dp.read('a.txt'), out=out, runner=runner)\n\n\n"
        "def two(one, out):\n    raise KeyboardInterrupt\n"
    )
    code, _, said = dataprep("run", "pipe.py", "--out", "out")
    assert (code, said) == (130, "dataprep: stopped; finished work is kept in out, and the same command resumes\n")


def test_the_finished_parts_are_counted(tmp_path, monkeypatch):
    """The sentence says how many parts need not be made again; without a folder, that nothing was saved."""
    monkeypatch.setattr(stopping, "_folders", [])
    assert cli._stopped() == "stopped; nothing was saved"
    out = str(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt), stopping.clean_end(out):
        dp.Pipeline().run(dataset_of(tmp_path, ["a", "b"], parts=2), out, Stops(at="write"))
    assert cli._stopped() == f"stopped; finished work is kept in {out} (1 part), and the same command resumes"


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


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)], ids=["ctrl-c", "sigterm"]
)
@pytest.mark.parametrize("callback", [0, 1], ids=["compiled", "cached"])
def test_a_signal_while_a_kernel_compiles_is_not_lost(number, error, callback):
    """LLVM calls Python while it compiles, and what is raised there is printed and ignored; the kernel is complete."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    code = llvm.parse_assembly("define i32 @f() { ret i32 1 }")
    calls = [lambda *_: None, lambda *_: None]
    ended = []
    calls[callback] = lambda *_: (signal.raise_signal(number), ended.append(number), None)[2]
    with llvm.create_mcjit_compiler(code, llvm.Target.from_default_triple().create_target_machine()) as engine:
        engine.set_object_cache(*calls)
        with pytest.raises(error), stopping.clean_end():
            engine.finalize_object()
            time.sleep(30)
        assert ended == [number]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


IMPORTING = """
import signal, sys

class Stop:
    def find_spec(self, name, *_):
        if name == {module!r}:
            try:
                signal.raise_signal({number})
            except BaseException:  # as modules do that try whether another can be imported
                pass

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Stop())
from dataprep.__main__ import main
sys.argv = ["dataprep", "inspect", "nowhere"]
main()
"""


@pytest.mark.parametrize("module", ["dataprep.store.stopping", "dataprep.cli", "dataprep.cli.look"])
@pytest.mark.parametrize("number", [2, 15], ids=["ctrl-c", "sigterm"])
def test_a_signal_during_imports_is_one_sentence(number, module):
    """The first second of a command are imports, which may ignore what is raised in them."""
    code = IMPORTING.format(number=number, module=module)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stdout) == (128 + number, "")
    assert found.stderr == "dataprep: stopped; nothing was saved\n"


@pytest.mark.parametrize("number", [2, 15], ids=["ctrl-c", "sigterm"])
def test_a_signal_just_before_the_imports_is_one_sentence(number):
    """When the handlers of the work are set, and those of imports are not yet."""
    code = f"""
import signal
from dataprep.store import stopping
stopping.importing = lambda: signal.raise_signal({number})
signal.signal(signal.SIGINT, signal.default_int_handler)
from dataprep.__main__ import main
main()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stderr) == (128 + number, "dataprep: stopped; nothing was saved\n")


def test_two_signals_before_the_work_are_one_sentence():
    """The second arrives while the first is handled."""
    code = """
import os, signal
from dataprep.store import starting
write = os.write
os.write = lambda *given: (write(*given), signal.raise_signal(signal.SIGTERM))
starting.end_at_once()
signal.raise_signal(signal.SIGTERM)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stderr) == (143, "dataprep: stopped; nothing was saved\n")


def test_a_small_address_space_is_one_sentence():
    """OpenBLAS would try for ever to reserve memory while it is imported, which no signal ends."""
    code = "import resource as r; r.setrlimit(r.RLIMIT_AS, (10**9, -1))\nfrom dataprep.__main__ import main\nmain()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stdout) == (1, "")
    said = "dataprep: the limit of address space is 1.00 GB and must be .* ulimit -v, .*=1\\n"
    assert re.fullmatch(said, found.stderr)


def test_closed_streams_are_the_null_device():
    """Else files of results get their numbers, and what a library prints by number is written into them."""
    code = """
import os, sys
os.closerange(0, 3)
sys.stdin = sys.stdout = sys.stderr = None
from dataprep.__main__ import _open_streams
_open_streams()
null = os.stat(os.devnull).st_rdev
print("nobody reads this", file=sys.stderr, flush=True)
sys.exit(0 if {os.fstat(n).st_rdev for n in range(3)} == {null} and sys.stdin.read() == "" else 3)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_ctrl_c_before_the_command_begins_is_one_sentence(monkeypatch, capsys):
    """Declaring the options of all commands takes some tenths of a second."""
    monkeypatch.setattr(stopping, "_folders", [])
    monkeypatch.setattr(cli, "warn_in_options", stopped)
    with pytest.raises(SystemExit, match="130"):
        cli.main()
    assert capsys.readouterr().err == "dataprep: stopped; nothing was saved\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_second_signal_does_not_interrupt_the_sentence(number, monkeypatch, capsys):
    """As `timeout` sends two; the handlers are then as before."""

    def again():
        signal.raise_signal(number)
        return "stopped; nothing was saved"

    monkeypatch.setattr(stopping, "_folders", [])
    monkeypatch.setattr(cli, "warn_in_options", lambda *_: signal.raise_signal(number))
    monkeypatch.setattr(cli, "_stopped", again)
    with pytest.raises(SystemExit, match=str(128 + number)), stopping.clean_end():
        cli.main()
    assert capsys.readouterr().err == "dataprep: stopped; nothing was saved\n"
    assert signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


def test_a_command_handles_signals_before_it_imports_much():
    """Python and `dataprep.store.starting` load in a hundredth of a second; `typing` alone takes as long."""
    code = "import sys; before = set(sys.modules); import dataprep.__main__; print(*set(sys.modules) - before)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in found if name.startswith("dataprep")}
    assert ours == {f"dataprep{name}" for name in ("", ".__main__", ".lazy", ".store", ".store.starting")}
    assert not {"contextlib", "re", "threading", "typing"} & set(found)


def stopped(*_):
    """As Ctrl-C does."""
    raise KeyboardInterrupt


LEFT = """
import atexit, sys
from dataprep.__main__ import main

class Left:
    def __del__(self):
        print("collected")

left = Left()
left.itself = left
sys.argv = ["dataprep", "--version"]
{call}
"""


@pytest.mark.parametrize(("call", "said"), [("main()", ""), ("", "collected\n")])
def test_the_end_of_a_command_searches_no_cycles(call, said):
    """Which takes some tenths of a second with all libraries; without the command, Python does it."""
    done = subprocess.run([sys.executable, "-c", LEFT.format(call=call)], capture_output=True, text=True, check=True)
    assert done.stdout.removeprefix(f"dataprep {dp.__version__}\n") == said
    assert done.stderr == ""
