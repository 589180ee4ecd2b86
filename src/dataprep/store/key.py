"""Keys: hashes that identify work, such as a stage and its parameters; a task whose key has changed runs again.

The key of a dataclass is a hash of its class, its VERSION, and its fields or the result of its method `recipe`. The key
of a function is a hash of its name, its source, its default values, its closure values, the globals that it names, and
the functions of its module that it calls. The source alone is not enough: closures over the values 200 and 300 have the
same source.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import xxhash

from dataprep.errors import PlanError, a_or_an

SIMPLE = (str, int, float, bool, type(None))


def key(value: Any) -> str:
    """Return a hash of a value, as 32 hex digits; it is the same in every process and on every machine.

    Args:
        value: for example a dataclass, a function (hashed with its source), or plain values.

    Raises PlanError if the value, or an element of it, cannot be hashed.
    """
    return xxhash.xxh3_128_hexdigest(orjson.dumps(_plain(value, ()), option=orjson.OPT_SORT_KEYS))


def _plain(value: Any, seen: tuple[int, ...]) -> Any:  # noqa: PLR0911 - one line per kind of value
    """Return nested lists and strings that are equal if and only if the recipes are equal."""
    if isinstance(value, SIMPLE):
        return repr(value)
    if isinstance(value, (bytes, np.generic, pa.DataType, pa.Schema)):
        return [type(value).__name__, repr(value)]
    if isinstance(value, Enum):
        return [type(value).__qualname__, value.name]
    if id(value) in seen:  # a function that calls itself
        return ["again", seen.index(id(value))]
    seen = (*seen, id(value))
    if isinstance(value, functools.partial):
        return ["partial", *(_plain(v, seen) for v in (value.func, value.args, value.keywords))]
    if isinstance(value, Mapping):
        return ["map", sorted([str(k), _plain(v, seen)] for k, v in value.items())]
    if isinstance(value, (set, frozenset)):
        return ["set", sorted(orjson.dumps(_plain(v, seen)).decode() for v in value)]
    if isinstance(value, (list, tuple)):
        return ["list", *(_plain(v, seen) for v in value)]
    if isinstance(value, np.ndarray):
        return ["array", str(value.dtype), list(value.shape), xxhash.xxh3_128_hexdigest(value.tobytes())]
    return _thing(value, seen)


def _thing(value: Any, seen: tuple[int, ...]) -> Any:
    value = value.__wrapped__ if hasattr(value, "cache_info") else value  # functools.cache changes no result
    if isinstance(value, type):
        return ["class", class_name(value)]
    if hasattr(value, "recipe") or dataclasses.is_dataclass(value):
        return [class_name(type(value)), getattr(value, "VERSION", 1), _deciding(value, seen)]
    if isinstance(value, types.MethodType):
        return ["method", value.__name__, _plain(value.__self__, seen)]
    if isinstance(value, types.FunctionType):
        return _function(value, seen)
    if isinstance(value, types.BuiltinFunctionType):
        return ["builtin", value.__module__, value.__qualname__]
    msg = (
        f"{_show(value)} cannot be hashed, so a change in it would not be detected; "
        "make it a frozen dataclass, or use simple values"
    )
    raise PlanError(msg)


def _deciding(value: Any, seen: tuple[int, ...]) -> Any:
    """Return the values that identify an object within its class: `recipe()` if it has this method, else its fields.

    For example, a recipe contains the content of files and not their paths.
    """
    if hasattr(value, "recipe"):
        return _plain(value.recipe(), seen)
    return {f.name: _plain(getattr(value, f.name), seen) for f in dataclasses.fields(value) if f.compare}


def class_name(kind: type) -> str:
    """Return the name that represents a class in hashes and manifests.

    For a class of dataprep it is the name alone, so that moving the class to another file changes no hash; for any
    other class it includes the module.
    """
    ours = kind.__module__.partition(".")[0] == "dataprep"
    return kind.__qualname__ if ours else f"{kind.__module__}.{kind.__qualname__}"


def _function(fn: types.FunctionType, seen: tuple[int, ...]) -> Any:
    return [
        "function",
        fn.__qualname__,
        _source(fn),
        _plain(fn.__defaults__, seen),
        _plain(fn.__kwdefaults__, seen),
        [_plain(cell, seen) for cell in _closure(fn)],
        {name: _global(fn, name, seen) for name in sorted(_names(fn.__code__)) if name in fn.__globals__},
    ]


def _closure(fn: types.FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in fn.__closure__ or () if _filled(cell)]


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - raises while empty
    except ValueError:
        return False
    return True


def _names(code: types.CodeType) -> set[str]:
    """Return the globals that a function names, including those of functions and comprehensions inside it."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*(_names(c) for c in inner))


def _global(fn: types.FunctionType, name: str, seen: tuple[int, ...]) -> Any:
    value = fn.__globals__[name]
    if isinstance(value, types.ModuleType):
        return ["module", value.__name__]
    module = getattr(value, "__module__", None)
    if callable(value) and module != fn.__module__:  # a library: its version is pinned
        return ["import", str(module), getattr(value, "__qualname__", repr(type(value)))]
    if isinstance(value, type):
        return ["class", value.__qualname__, _source(value)]
    if hasattr(value, "pattern") and hasattr(value, "flags"):
        return ["regex", value.pattern, value.flags]
    return _plain(value, seen)


# Code of `exec`, `eval` and `python -c`. From Python 3.13 on, `inspect` returns the text of -c for all three, which may
# be that of another function.
STRING = "code of a string"


def _source(fn: Callable[..., Any] | type) -> str:
    try:
        if getattr(getattr(inspect.unwrap(fn), "__code__", None), "co_filename", "") == "<string>":
            raise OSError(STRING)  # noqa: TRY301 - as older versions of Python raise
        return textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError) as e:
        msg = (
            f"{_show(fn)} cannot be hashed, since its source cannot be found; "
            "write it in a file, make it a frozen dataclass, or set version="
        )
        raise PlanError(msg) from e


def _show(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    return f"the function {name}" if name else f"{a_or_an(type(value).__name__)} ({str(value)[:60]})"


def parameter_names(fn: Callable[..., Any]) -> Sequence[str]:
    """Return the names of a function's parameters. Raises PlanError if the signature cannot be inspected."""
    try:
        return list(inspect.signature(fn).parameters)
    except (TypeError, ValueError) as e:
        msg = f"the parameters of {_show(fn)} cannot be read; wrap it in a function whose parameters are column names"
        raise PlanError(msg) from e
