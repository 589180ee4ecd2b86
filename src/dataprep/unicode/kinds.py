"""Determine, without Numba, the kinds of arguments, which decide the types for which a kernel is compiled.

`kind_of` is called at each call of a kernel, and is fast; `text_of` names a kind in files. Values of one kind have the
same Numba type, whereas values of one type may be of several kinds, such as the `int` 1 and `np.int64(1)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

CONTIGUOUS, FORTRAN, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400  # bits of `ndarray.flags.num`
KEPT = CONTIGUOUS | FORTRAN | ALIGNED | WRITEABLE
SCALARS = {bool: "bool", int: "int64", float: "float64", type(None): "none"}


def kind_of(value: Any) -> Any:
    """Return the kind of a value: its class; for arrays (dtype, dimensions, flags); for tuples (class, kinds...)."""
    cls = type(value)
    if cls is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & KEPT
    if cls is int:
        return int if value.bit_length() < 64 else np.uint64
    if issubclass(cls, tuple):
        return (cls, *map(kind_of, value))
    return cls


def text_of(kinds: Iterable[Any]) -> str | None:
    """Return the kinds of all arguments as text; None if a kind has no text, such as that of a list.

    An array is its dtype, dimensions, `C`, `F` or `A` (any order), and `r` (read-only) or `w`; a record is its class
    and fields. For example `<i8/1Cr int64 (|u1/1Cw float64)`. The dtype of an array of packed records is their fields:
    `id=<u8,size=<u4/1Cw`.
    """
    texts = [_one(kind) for kind in kinds]
    return None if None in texts else " ".join(t for t in texts if t is not None)


def _one(kind: Any) -> str | None:
    if isinstance(kind, tuple):
        first, *rest = kind
        if isinstance(first, np.dtype):
            return _array(first, *rest)
        inner = text_of(rest)
        name = "" if first is tuple else f"{first.__module__}:{first.__qualname__}:{','.join(first._fields)}"
        return None if inner is None else f"{name}({inner})"
    if kind in SCALARS:
        return SCALARS[kind]
    return np.dtype(kind).name if issubclass(kind, (np.number, np.bool_)) else None


def _array(dtype: Any, dimensions: int, flags: int) -> str | None:
    if dtype.subdtype or dtype.hasobject or not flags & ALIGNED:
        return None
    items = _fields(dtype) if dtype.names else dtype.str
    order = "C" if flags & CONTIGUOUS else "F" if flags & FORTRAN else "A"
    return None if items is None else f"{items}/{dimensions}{order}{'w' if flags & WRITEABLE else 'r'}"


def _fields(dtype: np.dtype[Any]) -> str | None:
    """Return the fields of packed records as text; None if a field is nested, or its name is not an identifier."""
    own = [(name, dtype[name]) for name in dtype.names or ()]
    if np.dtype([(name, kind.str) for name, kind in own]) != dtype or dtype.isalignedstruct:
        return None
    plain = all(name.isidentifier() and kind.names is None and kind.subdtype is None for name, kind in own)
    return ",".join(f"{name}={kind.str}" for name, kind in own) if plain else None
