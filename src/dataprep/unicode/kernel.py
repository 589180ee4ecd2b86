"""`@kernel`: a Numba function whose compiled code is never stale.

Numba's own cache looks at the file a function is written in; when a helper in *another* file changes, it serves the
old code (tried). Here the cache is a folder named by the hash of the function's file and of every file of this
package with kernels that it imports, directly or through another: a change in any of them is another folder. A
kernel's constants must be written in such a file too (tested).
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
from numba.core import config as _numba_config

F = TypeVar("F", bound=Callable[..., Any])
config: Any = _numba_config
_LOCK = threading.Lock()


@overload
def kernel(fn: F) -> F: ...
@overload
def kernel(*, inline: str = "never", **options: Any) -> Callable[[F], F]: ...
def kernel(fn: Any = None, **options: Any) -> Any:
    """Compile a function to machine code that runs without the GIL, cached on disk.

    `options` go to `numba.njit` (`inline="always"`, `fastmath=True`, `cache=False`); division by zero follows
    NumPy.
    """
    if fn is None:
        return lambda f: kernel(f, **options)
    folder = cache_folder(sources_hash(fn.__code__.co_filename))
    settings: Any = {"nogil": True, "cache": folder is not None, "error_model": "numpy"} | options
    ours = {"CACHE_DIR": str(folder or ""), "CACHE_LOCATOR_CLASSES": ""}
    with _LOCK:  # Numba reads where to cache while it decorates, so our folder is set for this moment only
        before = {name: getattr(config, name) for name in ours if hasattr(config, name)}
        vars(config).update(ours)
        try:
            return numba.njit(**settings)(fn)
        finally:
            vars(config).update(before)


@cache
def cache_folder(name: str) -> Path | None:
    """The folder of this name for compiled kernels; None where none can be written: nothing is cached then."""
    for root in _roots():
        folder = root / "dataprep" / "kernels" / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


@cache
def sources_hash(path: str) -> str:
    """Hash of the names and bytes of `sources(path)`, and of Numba's version."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for source in sources(path):
        data = source.read_bytes()
        digest.update(f"\0{source.name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def sources(path: str) -> list[Path]:
    """The file at `path` and the files with kernels that it imports, directly or through each other; sorted."""
    found: set[Path] = set()
    waiting = [Path(path).resolve()]
    while waiting:
        source = waiting.pop()
        if source not in found and source.is_file():
            found.add(source)
            waiting += [p for p in _imports(source) if p.is_file() and b"@kernel" in p.read_bytes()]
    return sorted(found)


def _imports(path: Path) -> list[Path]:
    """The files that relative imports of a source file may mean: `from .a import b` is a.py, or a/b.py."""
    named: list[Path] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("dataprep.")):
            home = path.parents[node.level - 1] if node.level else Path(__file__).parents[2]
            module = home.joinpath(*(node.module or "").split("."))
            named += [module.with_suffix(".py"), module / "__init__.py"]
            named += [module / f"{alias.name}.py" for alias in node.names]
    return named


def _roots() -> list[Path]:
    """Folders to try: Numba's own setting, the user's cache folder, the machine's temporary folder."""
    home = Path.home()
    if sys.platform == "win32":
        user = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        user = home / "Library" / "Caches"
    else:
        user = Path(os.environ.get("XDG_CACHE_HOME", home / ".cache"))
    temporary = Path(tempfile.gettempdir()) / f"dataprep-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    return [*([Path(config.CACHE_DIR)] if config.CACHE_DIR else []), user, temporary]
