"""Compile and load kernels: Numba's part of `@kernel`, imported at the first call of a kernel.

A kernel whose compiled code is stored is loaded without Numba's tables of functions and types, which only a compilation
needs: to fill them, Numba imports 150 modules, `scipy.linalg` among them. They are filled, as Numba does it, when a
kernel, or a function of the user, is compiled.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
from numba.core import caching
from numba.core import config as _numba_config
from numba.core.runtime.nrt import rtsys
from numba.core.types import BaseTuple, Function
from numba.core.typing.templates import make_intrinsic_template

config: Any = _numba_config


def dispatcher_of(fn: Callable[..., Any], options: dict[str, Any], key: Callable[[], str] | None) -> Any:
    """Return the function of Numba that compiles `fn` for each combination of argument types, or loads its code.

    key: returns the hash of all that is compiled, which names the folder of the code; None: the code is not stored.
    """
    compiled: Any = numba.njit(**options)(fn)
    if key is not None:
        compiled._cache = _Cache(fn, key)  # noqa: SLF001 - what njit(cache=True) sets, with another folder
    return compiled


def type_of(intrinsic: Any) -> Any:
    """Return the type that Numba gives to an intrinsic in the kernels that call it."""
    template: Any = make_intrinsic_template  # untyped
    return Function(template(intrinsic, intrinsic.py_func, intrinsic.__name__))


class _Cache:
    """The cache of one kernel, opened at the first call."""

    def __init__(self, fn: Callable[..., Any], key: Callable[[], str]) -> None:
        self.fn, self.key = fn, key

    @cached_property
    def opened(self) -> Any:
        """Numba's cache in the kernel's folder, or one that stores nothing if no folder can be written."""
        root = cache_root()
        if root is None:
            return caching.NullCache()
        return _FolderCache(self.fn, str(root / self.key()))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.opened, name)


class _FolderCache(caching.FunctionCache):
    """Numba's cache of a function in a given folder."""

    def __init__(self, fn: Any, folder: str) -> None:
        self._impl_class: Any = lambda fn: _Files(fn, folder)
        super().__init__(fn)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)  # memory of arrays; the rest of `target_context.refresh()` serves compilation
        return self._or_emptied(self._loaded, sig, target_context)

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        self._or_emptied(super().save_overload, sig, data)

    def _or_emptied(self, call: Callable[..., Any], *args: Any) -> Any:
        """Return what a call returns; if the index names a record that was renamed since, empty it and call again."""
        try:
            return call(*args)
        except (ImportError, AttributeError):
            self.flush()  # type: ignore[no-untyped-call]
            return call(*args)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        own = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]
        return (*own, _record_fields(getattr(sig, "args", sig)))


class _Files(caching.CompileResultCacheImpl):
    """Names of the files in a kernel's folder."""

    def __init__(self, fn: Any, folder: str) -> None:
        self._locator, self._lineno = _Locator(), fn.__code__.co_firstlineno
        self._locator.folder, self._locator._py_file = folder, fn.__code__.co_filename  # noqa: SLF001
        name: Any = self.get_filename_base  # untyped
        self._filename_base = name(fn.__qualname__, getattr(sys, "abiflags", ""))


class _Locator(caching._CacheLocator):  # noqa: SLF001
    """A folder that belongs to one kernel, and is never stale."""

    folder: str

    def get_cache_path(self) -> str:
        return self.folder

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return "kernel"


def _record_fields(kinds: Any) -> Any:
    """Return the field names of the records among argument types; Numba's own key has only their class and types."""
    return tuple((getattr(k, "fields", ()), _record_fields(k)) for k in kinds if isinstance(k, BaseTuple))


@cache
def cache_root() -> Path | None:
    """Create the folder of all compiled kernels; return its path, or None if no folder is writable by this user only.

    Compiled code is loaded without a check of its content, so a folder to which another user can write is never used.
    """
    for root in _roots():
        folder = root / "dataprep" / "kernels"
        try:
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.parent.mkdir(exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
            if not all(map(_is_private, (root, folder.parent, folder))):
                continue
            folder.chmod(0o700)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def _is_private(folder: Path) -> bool:
    """Return whether a folder is a folder of this user, not a link, and no other user can write to it."""
    if not hasattr(os, "getuid"):
        return True
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _roots() -> list[Path]:
    """Return the folders to try: Numba's own setting, the user's cache folder, the machine's temporary folder.

    As XDG asks, a setting that is empty or relative is none. A user may have no home folder, and a machine no temporary
    one.
    """
    home = Path(os.path.expanduser("~"))  # "~" if the user has none
    if sys.platform == "win32":
        user = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        user = home / "Library" / "Caches"
    else:
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        user = given if given.is_absolute() else home / ".cache"
    own = [*([Path(config.CACHE_DIR)] if config.CACHE_DIR else []), *([user] if user.is_absolute() else [])]
    found = [root.resolve() for root in own]  # a user's own folder may be a link; one that all can make may not
    with contextlib.suppress(FileNotFoundError):
        found.append(Path(tempfile.gettempdir()) / f"dataprep-{os.getuid() if hasattr(os, 'getuid') else 'user'}")
    return found
