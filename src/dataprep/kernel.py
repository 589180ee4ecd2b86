"""`@kernel`: a Numba function whose compiled code is never stale.

Numba's own cache looks at the file a function is written in; when a helper in *another* file changes, it serves the old
code (tried). Here the cache is a folder named by the hash of every source file of this package that holds a kernel, so
a change anywhere among them is another folder. A kernel's constants must be written in such a file too (tested).
"""

from __future__ import annotations

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
from numba.core import config

F = TypeVar("F", bound=Callable[..., Any])
_LOCK = threading.Lock()


@overload
def kernel(fn: F) -> F: ...
@overload
def kernel(*, inline: str = "never", **options: Any) -> Callable[[F], F]: ...
def kernel(fn: Any = None, **options: Any) -> Any:
    """Compile a function to machine code that runs without the GIL, cached on disk.

    `options` go to `numba.njit` (`inline="always"`, `fastmath=...`, `cache=False`); division by zero follows NumPy.
    """
    if fn is None:
        return lambda f: kernel(f, **options)
    settings = {"nogil": True, "cache": True, "error_model": "numpy"} | options
    folder = cache_folder()
    if folder is None:
        settings["cache"] = False
    with _LOCK:  # Numba reads its cache folder while it decorates, so our folder is set for this moment only
        before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = str(folder or ""), ""
        try:
            return numba.njit(**settings)(fn)
        finally:
            config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = before


@cache
def cache_folder() -> Path | None:
    """Where this version's compiled kernels lie; None where no folder can be written (then nothing is cached)."""
    for root in _roots():
        folder = root / "dataprep" / "kernels" / sources_hash()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


@cache
def sources_hash() -> str:
    """Hash of the names and bytes of every file of this package that holds a kernel, and of Numba's version."""
    package = Path(__file__).parent
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source:
            digest.update(f"\0{path.relative_to(package).as_posix()}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()


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
