"""Load the machine code of kernels with llvmlite alone: importing Numba takes longer than loading all kernels of a run.

`compiled.py` writes one file for each kernel, kinds of arguments and processor. A kernel's code calls functions of
Numba's C modules, which are loaded from their files, and finds constants, such as the dtype of the arrays that it
returns, in *environments*, objects whose addresses its code reads.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import hashlib
import importlib.machinery
import importlib.util
import os
import pickle
import platform
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from .private_folder import cache_root

_V3 = frozenset({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"})
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
# What processors of the higher levels have beyond the first ones of x86-64 (System V ABI), by LLVM's names.
X86_64 = {"x86-64-v4": _V4, "x86-64-v3": _V3}
CHECKSUM = 16  # bytes, at the beginning of a file
SHIPPED = Path(__file__).parent / "compiled_kernels"  # in a wheel that `make wheel` built


class Environment(NamedTuple):
    """The environment that compiled code reads Python objects from.

    Attributes:
        symbol: the variable that holds the address of the environment.
        constants: the Python objects.
    """

    symbol: str
    constants: list[Any]


class MachineCode(NamedTuple):
    """The compiled code of a kernel for certain arguments.

    Attributes:
        kinds: the text of the arguments' kinds.
        entry: the symbol of the function that Python calls.
        needs: the symbols that other code defines.
        code: an object file.
    """

    kinds: str
    entry: str
    environments: list[Environment]
    needs: list[str]
    code: bytes

    def loaded(self, module: Any, name: str) -> Callable[..., Any] | None:
        """Return the function; None if a symbol is missing, for example because of another Numba version."""
        dynfunc = _prepared()
        machine = llvm.Target.from_default_triple().create_target_machine()  # the engine will own it
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        if any(llvm.address_of_symbol(symbol) is None for symbol in self.needs):
            return None
        engine.add_object_file(llvm.ObjectFileRef.from_data(self.code))
        engine.finalize_object()
        made = [_environment(dynfunc, engine, one) for one in self.environments]
        address = engine.get_function_address(self.entry)
        _kept().append(engine)
        own: Callable[..., Any] = dynfunc.make_function(module, name, "", address, made[0], tuple(made))
        return own


def _environment(dynfunc: Any, engine: Any, wanted: Environment) -> Any:
    made = dynfunc.Environment({})
    made.consts[:] = wanted.constants
    ctypes.c_void_p.from_address(engine.get_global_value_address(wanted.symbol)).value = id(made)
    return made


def stored(folder: str, kinds: str) -> MachineCode | None:
    """Return the code in a kernel's folder for the kinds of arguments: shipped code, or code compiled by this user."""
    paths = [shipped(level, folder, kinds) for level in _own_levels()]
    if (root := cache_root()) is not None:
        paths.append(root / folder / f"{_digest(kinds)}-{_processor()}")
    for path in paths:
        with contextlib.suppress(OSError, pickle.UnpicklingError, AttributeError, ImportError):
            data = path.read_bytes()
            if _checksum(data[CHECKSUM:]) != data[:CHECKSUM]:
                continue  # one changed byte of code may end the process
            found = pickle.loads(data[CHECKSUM:])  # noqa: S301 - the folder is private, as its machine code must be
            if isinstance(found, MachineCode) and found.kinds == kinds:
                return found
    return None


def is_stored(folder: str) -> bool:
    """Return whether this processor has code of a kernel, given the kernel's folder, for arguments of any kinds."""
    root = cache_root()
    own = root is not None and any((root / folder).glob(f"*-{_processor()}"))
    return own or any((SHIPPED / level / folder).is_dir() for level in _own_levels())


def has_any() -> bool:
    """Return whether this processor has code of any kernel."""
    root = cache_root()
    own = root is not None and any(root.glob(f"*/*-{_processor()}"))
    return own or any((SHIPPED / level).is_dir() for level in _own_levels())


def shipped(level: str, folder: str, kinds: str) -> Path:
    """Return the file of code that a wheel brings, for a level of processors."""
    return SHIPPED / level / folder / _digest(kinds)


def store(folder: str, code: MachineCode) -> None:
    """Keep compiled code for later processes, if a folder can be written."""
    if (root := cache_root()) is not None:
        with contextlib.suppress(OSError):
            write(root / folder / f"{_digest(code.kinds)}-{_processor()}", code)


def write(path: Path, code: MachineCode) -> None:
    """Write a file of machine code, a checksum and the pickled code; it appears completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = pickle.dumps(code)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as f:
        f.write(_checksum(data) + data)
    os.replace(f.name, path)


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=CHECKSUM).digest()


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@cache
def _processor() -> str:
    """Return a hash of the name and the features of this processor, for which code is compiled here."""
    return _digest(f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}")


def levels() -> list[str]:
    """Return the levels of processors of this kind for which a wheel has code, the best first, in LLVM's names."""
    return [*X86_64, "x86-64"] if platform.machine().lower() in {"x86_64", "amd64"} else ["generic"]


@cache
def _own_levels() -> list[str]:
    """Return the levels that this processor supports, the best first; none if no code was shipped."""
    if not SHIPPED.is_dir():
        return []
    has = {name for name, is_there in llvm.get_host_cpu_features().items() if is_there}
    return [level for level in levels() if X86_64.get(level, frozenset()) <= has]


@cache
def _kept() -> list[Any]:
    """Return the list that keeps all loaded code: an array that a kernel returned may outlive the kernel."""
    return []


@cache
def _prepared() -> Any:
    """Tell LLVM where the functions of Numba's C modules are, as Numba does; return the module of functions."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    helpers, dynfunc, memory = map(_c_module, ("_helperlib", "_dynfunc", "core.runtime._nrt_python"))
    found = {f"numba_{name}": at for part in (helpers, dynfunc) for name, at in part.c_helpers.items()}
    found |= {name if name.startswith("_") else f"NRT_{name}": at for name, at in memory.c_helpers.items()}
    errors = {e for e in vars(builtins).values() if isinstance(e, type) and issubclass(e, BaseException)}
    found |= {f"PyExc_{e.__name__}": id(e) for e in errors} | {"_Py_NoneStruct": id(None)}
    found["numba_unpickle"] = ctypes.cast(_unpickled, ctypes.c_void_p).value
    for name, address in found.items():
        llvm.add_symbol(name, address)
    return dynfunc


def _c_module(name: str) -> Any:
    """Return a C module of Numba, loaded without the package, whose import runs all of Numba's Python code."""
    full = f"numba.{name}"
    if full in sys.modules:
        return sys.modules[full]
    numba = importlib.util.find_spec("numba")
    assert numba is not None
    assert numba.submodule_search_locations
    folder = Path(numba.submodule_search_locations[0], *name.split(".")[:-1])
    file = name.rpartition(".")[2]
    path = next(p for s in importlib.machinery.EXTENSION_SUFFIXES if (p := folder / f"{file}{s}").exists())
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    sys.modules.pop(full, None)  # so that a later import of Numba finds the module itself, in Python's own table
    return made


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
def _unpickled(address: int, size: int, _: int) -> Any:
    """Return the object that a kernel holds as pickled bytes, such as the class of a record that it returns."""
    if address not in _UNPICKLED:
        _UNPICKLED[address] = pickle.loads(ctypes.string_at(address, size))  # noqa: S301 - bytes of our own code
    return _UNPICKLED[address]


_UNPICKLED: dict[int, Any] = {}
