"""`@kernel`: compile a function with Numba, with a cache on disk that never returns out-of-date code.

Numba's own cache checks only the file of a function. If a function in *another* file, which the first one calls,
changes, the cache still loads the old code (tested). Here the folder of a kernel's compiled code is named by a hash of
all that Numba compiles: the bytecode of the kernel and of every function that it calls, directly or through another
function, and the value of every constant that these functions read. The hash is computed at the first call of the
kernel, when every name is defined.
"""

from __future__ import annotations

import contextlib
import dis
import hashlib
import os
import stat
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
import numpy as np
from numba.core import caching
from numba.core import config as _numba_config
from numba.core.types import BaseTuple

F = TypeVar("F", bound=Callable[..., Any])
config: Any = _numba_config
BUILT_IN = ("builtins", "math", "cmath", "numpy", "numba")  # packages whose functions Numba itself knows
SIMPLE = (bool, int, float, complex, str, bytes, np.generic, Enum, type(...))
LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLOSURE")


@overload
def kernel(fn: F) -> F: ...
@overload
def kernel(*, inline: str = "never", **options: Any) -> Callable[[F], F]: ...
def kernel(fn: Any = None, **options: Any) -> Any:
    """Compile a function to machine code by Numba, cached on disk; used as a decorator.

    The code runs without the GIL; division by zero follows NumPy. options: further options of `numba.njit`, such as
    `inline="always"`; `cache=False` disables the cache.
    """
    if fn is None:
        return lambda f: kernel(f, **options)
    cached = options.pop("cache", True)
    settings: Any = {"nogil": True, "error_model": "numpy"} | options
    compiled: Any = numba.njit(**settings)(fn)
    if cached:
        compiled._cache = _Cache(compiled)  # noqa: SLF001 - what njit(cache=True) sets, with another folder
    return compiled


def kernel_hash(compiled: Any) -> str:
    """Return a hash, in hex, of everything on which the machine code of a kernel (compiled function) depends.

    The folder of the cached code has this name. Raises TypeError if the kernel reads a value that cannot be hashed.
    """
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    seen, waiting = {compiled}, [compiled]
    while waiting:
        function = waiting.pop()
        for part in _parts(function):
            if isinstance(part, str):
                digest.update(f"{part}\0".encode())
            elif part not in seen:
                seen.add(part)
                waiting.append(part)
    return digest.hexdigest()


def _parts(function: Any) -> Iterator[Any]:
    """Yield the parts of a function that decide its machine code, as text, and the functions it refers to."""
    fn = _python(function)
    yield f"{fn.__module__}.{fn.__qualname__} {sorted(getattr(function, 'targetoptions', {}).items())}"
    yield from _constant(fn.__qualname__, (fn.__defaults__, fn.__kwdefaults__ and sorted(fn.__kwdefaults__.items())))
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    names = {**fn.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    codes = [fn.__code__]
    for code in codes:
        inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]  # comprehensions
        codes += inner
        yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {getattr(code, 'co_exceptiontable', b'').hex()}"
        yield from _constant(fn.__qualname__, tuple(c for c in code.co_consts if c not in inner and c != fn.__doc__))
        for name, value in _read(code, names):
            yield name
            yield from _constant(f"{fn.__qualname__}: {name}", value)


def _read(code: types.CodeType, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every global and closure variable that bytecode loads, as name and value; `K.name` of a module `K`."""
    module: Any = None
    for op in dis.get_instructions(code):
        if op.opname in {"LOAD_ATTR", "LOAD_METHOD"} and module is not None:
            value = getattr(module, op.argval)
        elif op.opname in LOADS and op.argval in names:
            value = names[op.argval]
        else:
            module = module if op.opname in {"CACHE", "EXTENDED_ARG"} else None
            continue
        module = value if isinstance(value, types.ModuleType) else None
        if module is None:
            yield op.argval, value


def _constant(name: str, value: Any) -> Iterator[Any]:
    """Yield the content of a value that a kernel reads, as text and functions."""
    if value is None or isinstance(value, SIMPLE):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, (tuple, frozenset)):
        yield f"{type(value).__name__} {len(value)} {getattr(value, '_fields', '')}"
        for item in value if isinstance(value, tuple) else sorted(value, key=repr):
            yield from _constant(name, item)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype.descr} {value.shape} {hashlib.blake2b(value.tobytes()).hexdigest()}"
    elif not (callable(value) and hasattr(value, "__module__")):
        msg = f"{name} is a {type(value).__name__}, which a kernel cannot read as a constant; pass it as an argument"
        raise TypeError(msg)
    else:
        record: Any = getattr(value, "_fields", "")
        fields = [(m.name, m.value) for m in value] if isinstance(value, type(Enum)) else record
        yield f"{value.__module__}.{getattr(value, '__qualname__', value)} {fields}"
        if isinstance(_python(value), types.FunctionType) and value.__module__.partition(".")[0] not in BUILT_IN:
            yield value


def _python(function: Any) -> Any:
    """Return the Python function that a kernel, or an intrinsic of Numba, was made of."""
    return getattr(function, "py_func", getattr(function, "__wrapped__", function))


class _Cache:
    """The cache of one kernel, opened at the first call."""

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled

    @cached_property
    def opened(self) -> Any:
        """Numba's cache in the kernel's folder, or one that stores nothing if no folder can be written."""
        root = cache_root()
        if root is None:
            return caching.NullCache()
        return _FolderCache(self.compiled.py_func, str(root / kernel_hash(self.compiled)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.opened, name)


class _FolderCache(caching.FunctionCache):
    """Numba's cache of a function in a given folder."""

    def __init__(self, fn: Any, folder: str) -> None:
        self._impl_class: Any = lambda fn: _Files(fn, folder)
        super().__init__(fn)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self._or_emptied(super().load_overload, sig, target_context)

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
