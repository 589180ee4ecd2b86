"""The lists of kernels to compile ahead: each line fits a kernel, and one that does not is named."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys

import pytest

from dataprep.unicode.kernel import Kernel

RECORD = re.compile(r"([\w.]+):(\w+):([\w,]*)\(")


@pytest.fixture(scope="module")
def make_kernels(root):
    """The script that compiles what is listed."""
    spec = importlib.util.spec_from_file_location("make_kernels", root / "scripts" / "make_kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def misfits(line, types_of):
    """What is wrong with a line, found without compiling it."""
    module, name, text = line.split(" ", 2)
    kernel = getattr(importlib.import_module(module), name, None)
    if not isinstance(kernel, Kernel):
        return ["no kernel"]
    for home, record, fields in RECORD.findall(text):
        if getattr(importlib.import_module(home), record)._fields != tuple(fields.split(",")):
            return [f"fields of {record}"]
    types = types_of(text)
    parameters = list(inspect.signature(kernel.py_func).parameters.values())
    if len(types) != len(parameters):
        return ["number of arguments"]
    found = []
    for parameter, given in zip(parameters, types, strict=True):
        stated = eval(str(parameter.annotation), kernel.py_func.__globals__)  # noqa: S307 - our own annotations
        if (hasattr(stated, "_fields") and getattr(given, "instance_class", None) is not stated) or (
            stated in {int, float, bool} and not hasattr(given, "bitwidth") and given.name != "bool"
        ):
            found.append(parameter.name)
    return found


def test_each_line_fits_a_kernel(make_kernels):
    """The kernel exists; number, records and numbers of its arguments are those of the line; no line is there twice."""
    lines = make_kernels.listed(is_all=True)
    wrong = {place: why for line, place in lines.items() if (why := misfits(line, make_kernels.types_of))}
    assert not wrong
    for file in (make_kernels.OF_SETUP, make_kernels.MORE):
        own = file.read_text().splitlines()
        assert own == sorted(set(own))
    assert len(lines) == sum(len(file.read_text().splitlines()) for file in (make_kernels.OF_SETUP, make_kernels.MORE))


CANONICAL = "dataprep.unicode.canonical is_canonical |u1/1Cr int64 int64"
MACHINE = "dataprep.tokens.vocabulary.cutting:Machine:"
RULE = "dataprep.tokens.vocabulary.word_masks:MaskRule:white,digits(int64 int64)"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("dataprep.read.json.grammar next_special |u1/1Cr int64", []),
        ("dataprep.read.json.grammar nothing |u1/1Cr int64", ["no kernel"]),
        ("dataprep.read.json.grammar next_special |u1/1Cr", ["number of arguments"]),
        ("dataprep.read.json.grammar next_special |u1/1Cr <i8/1Cw", ["i"]),
        (f"{CANONICAL} |u1/1Cr", ["given"]),
        (f"{CANONICAL} {MACHINE}classes,moves,rule(|u1/1Cr <u2/1Cr {RULE})", ["given"]),
        (f"{CANONICAL} {MACHINE}moves(<u2/1Cr)", ["fields of Machine"]),
    ],
)
def test_a_line_that_does_not_fit_is_seen(line, why, make_kernels):
    """The guard itself: another name, number, type or field."""
    assert misfits(line, make_kernels.types_of) == why


def test_the_other_lines_are_compiled_and_the_failed_ones_named(tmp_path, root):
    """One sentence without a traceback, and an exit code; what compiles is stored."""
    script = tmp_path / "make_kernels.py"
    script.write_text((root / "scripts" / "make_kernels.py").read_text())
    (tmp_path / "kernels.txt").write_text(
        "dataprep.no_such_module f int64\n"
        "dataprep.unicode.canonical is_canonical |u1/1Cr int64 int64 int64\n"
        "dataprep.read.json.grammar next_special |u1/1Cr int64\n"
        "dataprep.read.json.grammar no_such_kernel int64\n"
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "own")}
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "not compiled; correct these lines or remove them: kernels.txt:1 dataprep.no_such_module f "
        "(ModuleNotFoundError), kernels.txt:2 dataprep.unicode.canonical is_canonical (TypingError), kernels.txt:4 "
        "dataprep.read.json.grammar no_such_kernel (AttributeError)\n"
    )
    assert len([path for path in (tmp_path / "own").rglob("*-*") if path.is_file()]) == 1
