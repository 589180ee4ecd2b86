"""`dataprep demo`: the pipeline file that it runs is found in a checkout and in an installed package."""

from __future__ import annotations

import importlib.resources
import subprocess
import sys

import pytest

from dataprep.cli import compiling
from dataprep.cli.demo import pipeline_path
from dataprep.errors import PlanError
from dataprep.unicode import machine_code
from dataprep.unicode.kernel import kernel_hash


def test_the_pipeline_file_is_found(root, tmp_path, monkeypatch):
    """In a checkout it is that of pipelines/; in a package, the copy in `included`; else an error says so."""
    with open(pipeline_path("demo.py"), "rb") as found:
        assert found.read() == (root / "pipelines" / "demo.py").read_bytes()
    package = tmp_path / "lib" / "python" / "dataprep"
    monkeypatch.setattr(importlib.resources, "files", lambda _: package)
    with pytest.raises(PlanError, match="is missing from this installation"):
        pipeline_path("demo.py")
    copy = package / "included" / "pipelines" / "demo.py"
    copy.parent.mkdir(parents=True)
    copy.touch()
    assert pipeline_path("demo.py") == str(copy)


def test_kernels_are_compiled_ahead_only_on_a_new_machine(tmp_path, monkeypatch):
    """A process compiles if the last step's kernel is not stored and there are two cores; it is ended with the demo."""
    started = []

    class Child:
        def __init__(self, command, **_):
            started.append([command[1:], "running"])

        def kill(self):
            started[-1][1] = "ended"

        def wait(self):
            """Return at once."""

    monkeypatch.setattr(compiling.subprocess, "Popen", Child)
    monkeypatch.setattr(compiling.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(machine_code, "cache_root", lambda: tmp_path)
    (tmp_path / "0123").mkdir()  # another kernel, and files that are no machine code of ours
    folder = tmp_path / kernel_hash(compiling.count_byte_pairs)
    folder.mkdir()
    for place in (tmp_path / "0123", folder):
        (place / "kernel.py311.1.nbc").touch()
        (place / "1234-another_processor").touch()
    with compiling.compiled_ahead():
        assert started == [[["-m", "dataprep.cli.compiling"], "running"]]
    assert started[-1][1] == "ended"
    monkeypatch.setattr(compiling.os, "cpu_count", lambda: 1)
    with compiling.compiled_ahead():
        pass
    monkeypatch.setattr(compiling.os, "cpu_count", lambda: 2)
    (folder / f"1234-{machine_code._processor()}").touch()
    with compiling.compiled_ahead():
        pass
    monkeypatch.setattr(machine_code, "cache_root", lambda: None)
    monkeypatch.setattr(machine_code, "SHIPPED", tmp_path)
    monkeypatch.setattr(machine_code, "_own_levels", lambda: ["level"])
    (tmp_path / "level" / folder.name).mkdir(parents=True)
    with compiling.compiled_ahead():
        pass
    assert len(started) == 1


def test_the_steps_that_are_compiled_ahead_run():
    """On their two documents; the kernel that stands for all is called."""
    compiling.compile_kernels()
    assert machine_code.is_stored(kernel_hash(compiling.count_byte_pairs))


def test_a_persona_without_torch_names_the_extra(dataprep, monkeypatch, tmp_path):
    """Before anything is read or written."""
    monkeypatch.setitem(sys.modules, "torch", None)
    code, _, said = dataprep("persona", "nowhere", "--person", "Ada", "--out", tmp_path / "ada", "--train")
    assert (code, not list(tmp_path.iterdir())) == (1, True)
    assert "pip install 'dataprep-lm[train]'" in said


def test_the_demo_without_torch_names_the_extra(dataprep, monkeypatch):
    """The sentence is printed before any work."""
    monkeypatch.setitem(sys.modules, "torch", None)
    code, out, err = dataprep("demo")
    assert (code, out) == (1, "")
    assert "pip install 'dataprep-lm[train]'" in err


def test_a_command_whose_modules_import_torch_names_the_extra(tmp_path):
    """Also if torch is missing only in a module below the command's own."""
    call = "import runpy, sys; sys.modules['torch'] = None; runpy.run_module('dataprep', run_name='__main__')"
    given = [sys.executable, "-c", call, "export-model", "nowhere", "--out", str(tmp_path / "model")]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (1, "", [])
    assert "pip install 'dataprep-lm[train]'" in done.stderr
