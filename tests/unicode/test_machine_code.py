"""Stored machine code: loaded where it fits, and compiled again where it does not."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np
import pytest

from dataprep.unicode import machine_code, private_folder
from dataprep.unicode.kernel import kernel


class Sums(NamedTuple):
    """What the kernel returns."""

    each: np.ndarray
    total: int


def fresh():
    """The same kernel as a process finds it that has not called it."""

    @kernel
    def sums(values: np.ndarray, limit: int) -> Sums:
        each = np.zeros(len(values), np.int64)
        total = 0
        for i in range(len(values)):
            total += values[i]
            if total > limit:
                raise ValueError("the sum is above the limit")  # noqa: EM101 - as kernels raise
            each[i] = total
        return Sums(each, total)

    return sums


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """An empty folder of compiled code."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    monkeypatch.setattr(machine_code, "cache_root", lambda: folder)
    return folder


def called(made, values=(1, 2, 3), limit=100):
    """The result of a call, in plain types, and how often this kernel was compiled."""
    each, total = made(np.array(values), limit)
    return each.tolist(), total, made.n_compiled


def stored(root):
    """The files of compiled code."""
    return [path for path in root.rglob("*") if path.is_file()]


def loaded(file):
    """The content of a file of compiled code."""
    return pickle.loads(file.read_bytes()[machine_code.CHECKSUM :])


def test_stored_code_does_what_compiled_code_does(root):
    """Arrays, records and errors come out the same; the array has its own memory, which outlives the call."""
    assert called(fresh()) == ([1, 3, 6], 6, 1)
    again = fresh()
    assert called(again) == ([1, 3, 6], 6, 0)
    assert isinstance(again(np.array([1]), 5), Sums)
    with pytest.raises(ValueError, match="the sum is above the limit"):
        again(np.array([9]), 5)
    kept = [again(np.arange(n), 10**9).each for n in range(2_000)]
    assert all(np.array_equal(one, np.arange(n).cumsum()) for n, one in enumerate(kept))
    assert len(stored(root)) == 1


def test_other_kinds_of_arguments_have_their_own_code(root):
    """Each is compiled once."""
    made = fresh()
    for dtype in (np.int64, np.int32, np.uint8):
        for limit in (100, np.int64(100)):
            assert made(np.array([1, 2], dtype), limit).total == 3
    assert made.n_compiled == len(stored(root)) == 3


@pytest.mark.parametrize("change", [lambda _: b"", lambda b: b[:50], lambda _: pickle.dumps("text")])
def test_a_damaged_file_is_compiled_again(root, change):
    """And replaced."""
    called(fresh())
    [file] = stored(root)
    file.write_bytes(change(file.read_bytes()))
    assert called(fresh())[2] == 1
    assert called(fresh())[2] == 0


def test_no_changed_byte_is_loaded(root):
    """Machine code of which a byte is another could do anything."""
    called(fresh())
    [file] = stored(root)
    data, kinds = file.read_bytes(), loaded(file).kinds
    assert machine_code.stored(file.parent.name, kinds) is not None
    for at in range(0, len(data), 211):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert machine_code.stored(file.parent.name, kinds) is None


def test_code_for_other_kinds_under_the_same_name_is_not_loaded(root):
    """The kinds are in the file too."""
    called(fresh())
    [file] = stored(root)
    machine_code.write(file, loaded(file)._replace(kinds="none"))
    assert called(fresh())[2] == 1


def test_code_that_calls_what_is_not_there_is_compiled_again(root):
    """LLVM would end the process."""
    called(fresh())
    [file] = stored(root)
    code = loaded(file)
    assert "NRT_adapt_ndarray_from_python" in code.needs
    machine_code.write(file, code._replace(needs=[*code.needs, "a_function_of_another_version"]))
    assert called(fresh())[2] == 1


def test_a_folder_that_cannot_be_written(monkeypatch):
    """The code is compiled, and nothing is stored."""
    monkeypatch.setattr(machine_code, "cache_root", lambda: None)
    assert called(fresh())[2] == 1
    assert called(fresh())[2] == 1


def test_threads_that_call_at_once_compile_once():
    """One compiles, the others wait."""
    made = fresh()
    with ThreadPoolExecutor(8) as pool:
        assert all(found[:2] == ([1, 3, 6], 6) for found in pool.map(lambda _: called(made), range(32)))
    assert made.n_compiled == 1


def features(*names):
    """The features of a processor."""
    return lambda: dict.fromkeys(names, True) | {"amx-int8": False}


@pytest.mark.parametrize(
    ("has", "runs"),
    [
        (machine_code.X86_64["x86-64-v4"], ["x86-64-v4", "x86-64-v3", "x86-64"]),
        (machine_code.X86_64["x86-64-v4"] - {"avx512bw"}, ["x86-64-v3", "x86-64"]),
        (machine_code.X86_64["x86-64-v3"] - {"fma"}, ["x86-64"]),
        (set(), ["x86-64"]),
    ],
)
def test_the_levels_that_a_processor_runs(has, runs, tmp_path, monkeypatch):
    """The best first; none if nothing was shipped."""
    monkeypatch.setattr(llvm, "get_host_cpu_features", features(*has))
    monkeypatch.setattr(machine_code.platform, "machine", lambda: "x86_64")
    own = machine_code._own_levels.__wrapped__
    monkeypatch.setattr(machine_code, "SHIPPED", tmp_path / "none")
    assert own() == []
    monkeypatch.setattr(machine_code, "SHIPPED", tmp_path)
    assert own() == runs
    monkeypatch.setattr(machine_code.platform, "machine", lambda: "aarch64")
    assert own() == ["generic"]


def test_code_of_any_kernel_for_this_processor(tmp_path, monkeypatch):
    """The user's own, or that of a wheel; code for another processor does not count."""
    monkeypatch.setattr(machine_code, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(machine_code, "_own_levels", lambda: ["level"])
    monkeypatch.setattr(machine_code, "cache_root", lambda: tmp_path)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "1234-other").touch()
    assert not machine_code.has_any()
    own = tmp_path / "kernel" / f"1234-{machine_code._processor()}"
    own.touch()
    assert machine_code.has_any()
    own.unlink()
    (tmp_path / "shipped" / "level").mkdir(parents=True)
    assert machine_code.has_any()
    monkeypatch.setattr(machine_code, "cache_root", lambda: None)
    assert machine_code.has_any()


SHIPPED = """
import sys
from pathlib import Path
from dataprep.unicode import machine_code
machine_code.SHIPPED = Path(sys.argv[1])
import numpy as np
from dataprep.read.json import grammar as g
data = np.frombuffer(b'abcdefgh"' + b"\\n" * 64, np.uint8)
print(g.next_special(data, 0), g.next_special.n_compiled, "numba" in sys.modules)
"""


def test_shipped_code_is_found_before_the_users(tmp_path):
    """Made for a level, as the wheel has it, and loaded by a process whose own folder is empty."""
    level = machine_code.levels()[-1]  # which any processor of this kind runs
    make = (
        "import sys\nfrom pathlib import Path\nfrom dataprep.unicode import machine_code\n"
        "machine_code.SHIPPED = Path(sys.argv[1])\n"
        "import importlib.util\nspec = importlib.util.spec_from_file_location('make_kernels', sys.argv[2])\n"
        "made = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(made)\n"
        "assert made.compile_module({sys.argv[3]: 'here'}, sys.argv[4]) == []"
    )
    line = "dataprep.read.json.grammar next_special |u1/1Cr int64"
    script = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "make_kernels.py")
    shipped = str(tmp_path / "shipped")
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "own")}
    as_level = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
    command = [sys.executable, "-c", make, shipped, script, line, level]
    subprocess.run(command, env=env | as_level, check=True)
    done = subprocess.run([sys.executable, "-c", SHIPPED, shipped], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "8 0 False\n"
    assert not stored(tmp_path / "own")


def test_numba_without_compilation_runs_python(root):
    """NUMBA_DISABLE_JIT, which debuggers want, is followed though code is stored."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(root)}
    code = (
        "from dataprep.unicode.kernel import kernel\n@kernel\ndef name(x): return type(x).__name__\n"
        "class Mine: pass\nprint(name(3), name(Mine()))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True)
    assert done.stdout == "int Mine\n"
    assert private_folder.cache_root.__wrapped__() is not None
