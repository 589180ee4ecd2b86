"""@kernel: fresh code after any change, and no trace in Numba's own settings."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import config

import dataprep
from dataprep.errors import PlanError
from dataprep.unicode import private_folder
from dataprep.unicode.kernel import Kernel, intrinsic, kernel, kernel_hash
from dataprep.unicode.private_folder import cache_root

NUMBERS = (int, float, np.generic)
CHANGED = 123_456_789

CALLER = """
from .kernel import kernel
from .helper import twice
@kernel
def f(x):
    return twice(x) + 1
"""
HELPER = """
from .kernel import kernel
@kernel
def twice(x):
    return x * {factor}
"""


@kernel(cache=False)
def root_of(x: Any) -> Any:
    """Return a square root, for kernels that call it."""
    if x < 0:
        msg = "a negative number"
        raise ValueError(msg, x)
    return np.sqrt(x)


@kernel(cache=False)
def one_more(x: Any) -> Any:
    """Call the kernel above."""
    return root_of(x) + 1.0


@kernel(cache=False)
def of_all(numbers: Any) -> Any:
    """Call it, and the one that calls it, for an array."""
    found = np.empty(len(numbers))
    for i in range(len(numbers)):
        found[i] = root_of(numbers[i]) + one_more(numbers[i])
    return found


def run_package(folder: Path, factor: int) -> tuple[str, set[str]]:
    """Call `f(10)` of a small package in a new process; the answer and the compiled files that then exist."""
    (folder / "dataprep" / "helper.py").write_text(HELPER.format(factor=factor))
    env = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    env["PYTHONDONTWRITEBYTECODE"] = "1"  # Python takes a file changed within a second for the same
    command = "from dataprep.caller import f; print(f(10), f.n_compiled)"
    python = [sys.executable, "-c", command]
    done = subprocess.run(python, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip(), {p.parent.name for p in (folder / "cache").rglob("*-*")}


def test_a_changed_helper_in_another_file_is_compiled_again(tmp_path: Path) -> None:
    """The second process loads the cache, the third sees the changed helper (Numba's own cache would not)."""
    package = tmp_path / "dataprep"
    package.mkdir()
    for name in ("kernel", "kinds", "machine_code", "private_folder", "compiled"):
        shutil.copy(Path(private_folder.__file__).parent / f"{name}.py", package)
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER)
    assert run_package(tmp_path, 2)[0] == "21 1"
    answer, before = run_package(tmp_path, 2)
    assert answer == "21 0"
    answer, after = run_package(tmp_path, 3)
    assert answer == "31 1"
    assert before < after


def test_a_called_kernel_keeps_its_error_in_each_that_calls_it() -> None:
    """The code that is linked into another finds its constants, in whatever order kernels are compiled."""
    assert one_more(4.0) == 3.0
    assert of_all(np.array([4.0, 9.0])).tolist() == [5.0, 7.0]
    assert root_of(4.0) == 2.0
    for call in (lambda: root_of(-4.0), lambda: one_more(-4.0), lambda: of_all(np.array([4.0, -4.0]))):
        with pytest.raises(ValueError, match="a negative number") as raised:
            call()
        assert raised.value.args == ("a negative number", -4.0)
    with pytest.raises(ValueError, match="a negative number"):
        one_more(-4)  # compiled for another type


SMALL_PACKAGE = {
    "caller": """
from . import numbers as N, late
from dataprep.unicode.kernel import kernel
from .helper import twice
@kernel
def f(x):
    return twice(x) + N.ONE + late.nothing(x) + later(x)
def plain(x):
    return x
@kernel
def later(x):
    return 0
""",
    "helper": "from dataprep.unicode.kernel import kernel\n@kernel()\ndef twice(x): return x * 2",
    "numbers": "import numpy as np\nONE, TWO = np.array([1])[0], 2",
    "late": "from . import caller\nfrom dataprep.unicode.kernel import kernel\n@kernel\ndef nothing(x): return 0",
}


def test_the_hash_is_of_what_a_kernel_calls_and_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers, inlined ones, their options, constants, names defined later count; comments and other code do not."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "small").mkdir()

    def hash_of(name: str = "caller", old: str = "", new: str = "") -> str:
        for file, text in SMALL_PACKAGE.items():
            changed = text.replace(old, new) if file == name else text
            assert (changed != text) == (file == name and old != new)
            (tmp_path / "small" / f"{file}.py").write_text(changed)
        for module in [m for m in sys.modules if m.startswith("small")]:
            monkeypatch.delitem(sys.modules, module)
        importlib.invalidate_caches()
        return kernel_hash(importlib.import_module("small.caller").f)

    before = hash_of()
    assert hash_of() == before
    assert hash_of("caller", "@kernel", "# a comment with @kernel\n@kernel") == before
    assert hash_of("caller", "return x\n", "return x + 1\n") == before
    assert hash_of("numbers", ", 2", ", 3") == before
    inline = hash_of("helper", "kernel()", 'kernel(inline="always")')
    others = [
        inline,
        hash_of(
            "helper", "kernel()\ndef twice(x): return x * 2", 'kernel(inline="always")\ndef twice(x): return x * 3'
        ),
        hash_of("helper", "x * 2", "x * 3"),
        hash_of("numbers", "[1]", "[5]"),
        hash_of("late", "return 0", "return 7"),
        hash_of("caller", "return 0", "return 8"),
    ]
    assert len({before, *others}) == 7


def test_numba_settings_are_left_alone() -> None:
    """Decorating changes neither of Numba's cache settings for the user's own functions."""
    before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES

    @kernel(cache=False, inline="always")
    def add(x: int, y: int) -> int:
        return x + y

    after = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
    assert after == before
    assert add(1, 2) == 3
    folder = cache_root()
    assert folder is not None
    assert folder.is_dir()


def test_a_value_that_cannot_be_hashed_is_an_error() -> None:
    """A kernel over a dict has no hash, so it cannot be cached under a wrong one."""
    table = {1: 2}

    @kernel
    def look(x: int) -> int:
        return table[x]

    with pytest.raises(TypeError, match="table is a dict, which a kernel cannot read as a constant; pass"):
        kernel_hash(look)


def all_kernels() -> list[Any]:
    """Every compiled function that a module of the package defines."""
    found = []
    for info in pkgutil.walk_packages(dataprep.__path__, "dataprep."):
        if not info.name.endswith("__main__") and _has_kernel(info.name):
            module = importlib.import_module(info.name)
            found += [v for v in vars(module).values() if isinstance(v, Kernel)]
    return found


def _has_kernel(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None and "@kernel" in Path(spec.origin).read_text("utf-8")


def test_everything_that_a_kernel_names_is_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another value under any name in a kernel's source (found without its bytecode) is another hash."""
    kernels = all_kernels()
    assert len(kernels) > 200
    for found in kernels:
        fn, before = found.py_func, kernel_hash(found)
        assert kernel_hash(found) == before
        body = ast.parse(textwrap.dedent(inspect.getsource(fn))).body[0]
        assert isinstance(body, ast.FunctionDef)
        nodes = [node for line in body.body for node in ast.walk(line)]
        typed = {id(n) for node in nodes if isinstance(node, ast.AnnAssign) for n in ast.walk(node.annotation)}
        names = {n.id: fn.__globals__ for n in nodes if isinstance(n, ast.Name) and id(n) not in typed}
        modules = [
            (n.value.id, n.attr) for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
        ]
        names |= {b: vars(m) for a, b in modules if inspect.ismodule(m := fn.__globals__.get(a)) and _ours(m.__name__)}
        for name, space in names.items():
            value = space.get(name)
            if isinstance(value, (*NUMBERS, tuple, np.ndarray, Kernel)):
                monkeypatch.setitem(space, name, CHANGED)
                assert kernel_hash(found) != before, (fn.__name__, name)
                monkeypatch.undo()


def _ours(module: str) -> bool:
    return module.startswith("dataprep.")


@pytest.mark.parametrize("state", ["mine", "link", "writable", "foreign", "file", "writable_inside"])
def test_compiled_code_of_others_is_not_loaded(tmp_path, monkeypatch, state) -> None:
    """A folder in the shared temporary folder is used only if it is this user's, and nobody else can write to it."""
    monkeypatch.setattr(private_folder, "_roots", lambda: [tmp_path / "shared" / "dataprep-me"])
    root = tmp_path / "shared" / "dataprep-me"
    root.parent.mkdir(mode=0o777)
    kernels = root / "dataprep" / "kernels"
    if state == "link":
        (tmp_path / "theirs" / "dataprep" / "kernels").mkdir(parents=True)
        root.symlink_to(tmp_path / "theirs")
    elif state == "file":
        root.write_text("")
    elif state != "mine":
        kernels.mkdir(parents=True, mode=0o700)
        (kernels if state == "writable_inside" else root).chmod(0o777 if state != "foreign" else 0o700)
    if state == "foreign":
        monkeypatch.setattr(os, "getuid", lambda: 12_345)
    assert cache_root.__wrapped__() == (kernels if state == "mine" else None)
    if state == "mine":
        assert not kernels.stat().st_mode & 0o077


@pytest.mark.parametrize("given", ["", "cache", None])
def test_a_user_without_a_home_folder(tmp_path, monkeypatch, given) -> None:
    """As in a container; a cache folder that is empty or relative is no setting, and nothing is made where we are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if given is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", given)
    me = f"dataprep-{os.getuid()}"
    assert cache_root.__wrapped__() == tmp_path / "tmp" / me / "dataprep" / "kernels"
    assert os.listdir(tmp_path) == ["tmp"]


INTRINSIC = """
import sys
import numpy as np
from dataprep.read.json import grammar as g
data = np.frombuffer(b'abcdefgh"' + b"\\n" * 64, np.uint8)
print(g.next_special(data, 0), g.next_special.n_compiled, "numba" in sys.modules)
"""


def test_stored_code_is_loaded_without_numba(tmp_path: Path) -> None:
    """The first process compiles; the second loads, and does not import Numba."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    command = [sys.executable, "-c", INTRINSIC]
    said = [subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert said == ["8 1 True\n", "8 0 False\n"]


def test_a_function_of_the_user_compiles_after_a_kernel_was_loaded(tmp_path: Path) -> None:
    """Numba's own `njit`, its matrix product and a call of a kernel of ours work as they do without dataprep."""
    code = """
import numba, numpy as np
from dataprep.unicode.shingles import kernel
@kernel
def twice(x): return x * 2
print(twice(2), end=" ")
@numba.njit
def mine(a): return np.dot(a, a).sum() + twice(3)
print(mine(np.eye(3)), numba.np.arraymath._HAVE_BLAS)
"""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    (tmp_path / "mine.py").write_text(code)
    run = [sys.executable, str(tmp_path / "mine.py")]
    said = [subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert said == ["4 9.0 True\n"] * 2


def test_an_intrinsic_is_only_for_kernels() -> None:
    """Calling it from Python is an error that says so."""

    @intrinsic
    def nothing(_: Any) -> Any:
        """Do nothing."""

    with pytest.raises(PlanError, match="only compiled kernels can call nothing; unset NUMBA_DISABLE_JIT"):
        nothing()
