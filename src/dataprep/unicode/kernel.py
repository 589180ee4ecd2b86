"""`@kernel`: compile a function with Numba, and store its machine code, which is never loaded once it is out of date.

Numba's own cache checks only the file of a function. If a function in *another* file, which the first one calls,
changes, the cache still loads the old code (tested). Here the folder of a kernel's compiled code is named by a hash of
all that Numba compiles: the bytecode of the kernel and of every function that it calls, directly or through another
function, and the value of every constant that these functions read. The hash is computed at the first call of the
kernel, when every name is defined.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from .kinds import kind_of, text_of

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=npt.NDArray[Any])
B = TypeVar("B", bound=npt.NDArray[Any])
BUILT_IN = ("builtins", "math", "cmath", "numpy", "numba")  # packages whose functions Numba itself knows
SIMPLE = (bool, int, float, complex, str, bytes, np.generic, Enum, type(...))
LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLOSURE")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_BEING_MADE = threading.RLock()


class Kernel:
    """A function that is compiled, or whose stored machine code is loaded, at the first call.

    Numba is imported only for compiling. In a kernel that calls this one, Numba finds `_numba_type_`, and for inlining
    `targetoptions` and `py_func`.
    """

    def __init__(self, fn: Callable[..., Any], *, is_cached: bool, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, fn)
        self.py_func, self.is_cached, self.options = fn, is_cached, options
        self.targetoptions = {"nopython": True, "boundscheck": None} | options  # as Numba completes them
        self.n_compiled = 0  # how often it was compiled for a call in this process
        self._codes: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        own = {name: value for name, value in self.__dict__.items() if name not in {"compiled", "part"}}
        return own | {"_codes": {}}

    @functools.cached_property
    def compiled(self) -> Any:
        """Numba's function."""
        with _BEING_MADE:
            from .compiled import dispatcher_of

            return self.__dict__.get("compiled") or dispatcher_of(self.py_func, self.options)

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function."""
        kinds = tuple(map(kind_of, args))
        code = self._codes.get(kinds)
        if code is None:
            with _BEING_MADE:
                code = self._codes.get(kinds) or self._made(kinds, args)
            self._codes[kinds] = code
        return code(*args)

    def _made(self, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the code for arguments: loaded, or compiled and stored; Numba's function if it has to choose."""
        from . import machine_code

        text = text_of(kinds) if self.is_cached and not os.environ.get("NUMBA_DISABLE_JIT") else None
        folder = "" if text is None else kernel_hash(self)
        if text is not None and (found := machine_code.stored(folder, text)) is not None:
            module = sys.modules[self.py_func.__module__]
            if (loaded := found.loaded(module, self.py_func.__name__)) is not None:
                return loaded
        self.n_compiled += 1
        if text is None:
            own: Callable[..., Any] = self.compiled
            return own
        from . import compiled

        result = compiled.result_for(self.compiled, [self.compiled.typeof_pyval(arg) for arg in args])
        machine_code.store(folder, compiled.machine_code(result, text))
        entry: Callable[..., Any] = result.entry_point
        return entry

    @functools.cached_property
    def part(self) -> Any:
        """Numba's function in the kernels that call this one."""
        with _BEING_MADE:
            from .compiled import part_of

            return self.__dict__.get("part") or part_of(self.py_func, self.options)

    @property
    def _numba_type_(self) -> Any:
        return self.part._numba_type_


class Intrinsic:
    """A function that writes LLVM code for the kernels that call it; Numba is imported when one is compiled."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self.py_func = fn

    def __call__(self, *_: Any) -> Any:
        """Raise PlanError, since Python cannot run it."""
        from dataprep.errors import PlanError

        msg = f"only compiled kernels can call {self.py_func.__name__}; unset NUMBA_DISABLE_JIT"
        raise PlanError(msg)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from .compiled import type_of

        return type_of(self)


@overload
def kernel(fn: F) -> F: ...
@overload
def kernel(*, inline: str = "never", **options: Any) -> Callable[[F], F]: ...
def kernel(fn: Any = None, **options: Any) -> Any:
    """Compile a function to machine code by Numba, cached on disk; used as a decorator.

    The code runs without the GIL; division by zero follows NumPy. A kernel cannot call itself.

    - options: further options of `numba.njit`, such as `inline="always"`; `cache=False` disables the cache.
    """
    if fn is None:
        return lambda f: kernel(f, **options)
    cached = options.pop("cache", True)
    return Kernel(fn, is_cached=cached, options={"nogil": True, "error_model": "numpy"} | options)


def read_only(one: A, other: B) -> tuple[A, B]:
    """Return views that cannot be written, as the arrays of batches: a kernel is compiled once per type."""
    one, other = one.view(), other.view()
    one.flags.writeable = other.flags.writeable = False
    return one, other


def intrinsic(fn: Callable[..., Any]) -> Any:
    """Make a function an intrinsic, as `numba.extending.intrinsic` does; used as a decorator.

    The function gets Numba's typing context and the types of the arguments; it imports Numba in its body.
    """
    return Intrinsic(fn)


@functools.cache
def numba_version() -> str:
    """Return the version of Numba, which compiles the kernels and takes half a second to import."""
    from importlib.metadata import version

    return version("numba")


def kernel_hash(kernel: Any) -> str:
    """Return a hash, in hex, of everything on which the machine code of a kernel depends.

    The folder of the cached code has this name. Raises TypeError if the kernel reads a value that cannot be hashed.
    """
    versions = f"{numba_version()} {sys.implementation.cache_tag}"
    digest = hashlib.blake2b(versions.encode(), digest_size=8)
    seen, waiting = {kernel}, [kernel]
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
    """Yield the parts of a function that determine its machine code, as text, and the functions that it refers to."""
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
    for operation, name in _loads(code):
        if operation in ATTRIBUTES and module is not None:
            value = getattr(module, name)
        elif operation in LOADS and name in names:
            value = names[name]
        else:
            module = None
            continue
        module = value if isinstance(value, types.ModuleType) else None
        if module is None:
            yield name, value


@functools.cache  # kernels have many functions in common
def _loads(code: types.CodeType) -> list[tuple[str, Any]]:
    """Return the operations of bytecode with their arguments; those that load no name are ("", None)."""
    wanted = [op for op in dis.get_instructions(code) if op.opname not in {"CACHE", "EXTENDED_ARG"}]
    return [(op.opname, op.argval) if op.opname in (*LOADS, *ATTRIBUTES) else ("", None) for op in wanted]


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
    elif isinstance(value, np.ufunc) and not hasattr(value, "__module__"):  # before NumPy 2
        yield f"numpy {value.__name__}"
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
    """Return the Python function from which a kernel, or an intrinsic, was made."""
    return getattr(function, "py_func", getattr(function, "__wrapped__", function))
