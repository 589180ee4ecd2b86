"""@kernel: fresh code after any change, and no trace in Numba's own settings."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
from numba.core import config

import dataprep
import dataprep.unicode.kernel
from dataprep.unicode.kernel import cache_folder, kernel, sources, sources_hash

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


def run_package(folder: Path, factor: int) -> tuple[str, set[str]]:
    """Call `f(10)` of a small package in a new process; the answer and the compiled files that then exist."""
    (folder / "dataprep" / "helper.py").write_text(HELPER.format(factor=factor))
    env = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = "from dataprep.caller import f; print(f(10), sum(f.stats.cache_hits.values()))"
    python = [sys.executable, "-c", command]
    done = subprocess.run(python, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip(), {p.parent.parent.name for p in (folder / "cache").rglob("*.nbc")}


def test_a_changed_helper_in_another_file_is_compiled_again(tmp_path: Path) -> None:
    """The second process loads the cache, the third sees the changed helper (Numba's own cache would not)."""
    package = tmp_path / "dataprep"
    package.mkdir()
    shutil.copy(dataprep.unicode.kernel.__file__, package)
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER)
    assert run_package(tmp_path, 2)[0] == "21 0"
    answer, before = run_package(tmp_path, 2)
    assert answer == "21 1"
    answer, after = run_package(tmp_path, 3)
    assert answer == "31 0"
    assert before < after


def test_numba_settings_are_left_alone() -> None:
    """Decorating changes neither of Numba's cache settings for the user's own functions."""
    before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES

    @kernel(cache=False, inline="always")
    def add(x: int, y: int) -> int:
        return x + y

    after = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
    assert after == before
    assert add(1, 2) == 3
    folder = cache_folder(sources_hash(__file__))
    assert folder is not None
    assert folder.is_dir()


def all_kernels() -> list[Any]:
    """Every compiled function that a module of the package defines."""
    found = []
    for info in pkgutil.walk_packages(dataprep.__path__, "dataprep."):
        if not info.name.endswith("__main__") and _has_kernel(info.name):
            module = importlib.import_module(info.name)
            found += [v for v in vars(module).values() if isinstance(v, numba.core.dispatcher.Dispatcher)]
    return found


def _has_kernel(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None and "@kernel" in Path(spec.origin).read_text("utf-8")


def test_everything_that_a_kernel_reads_is_hashed() -> None:
    """The numbers, tables and other kernels that a kernel names are assigned in a file of its hash."""
    for found in all_kernels():
        fn = found.py_func
        hashed = "\n".join(p.read_text("utf-8") for p in sources(fn.__code__.co_filename))
        for name in fn.__code__.co_names:
            value = fn.__globals__.get(name)
            if isinstance(value, int | float | tuple) or type(value).__module__ == "numpy":
                assert re.search(rf"^(\w+, )*{name}(, \w+)*(:.*)? = ", hashed, re.MULTILINE), (fn.__name__, name)
            if isinstance(value, numba.core.dispatcher.Dispatcher):
                assert re.search(rf"^def {value.py_func.__name__}\(", hashed, re.MULTILINE), (fn.__name__, name)
