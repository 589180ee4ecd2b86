"""The field of the text, which may be inside another field: `text="message.body"`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from dataprep.lazy import compute as pc

DEPTH = 4  # levels of fields that are suggested


def place_of(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the path to the text field: ("a.b",) if a field in `names` has this name, else ("a", "b")."""
    return (text,) if text in names else tuple(text.split("."))


def meant(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean 'text'?" with the nearest of `names`, or "" if none is near."""
    near = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def type_at(schema: pa.Schema, text: str) -> pa.DataType | None:
    """Return the type of the column `text`, or of the struct field at the path `text`; None if there is none."""
    path = place_of(text, schema.names)
    kind = schema.field(path[0]).type if path[0] in schema.names else None
    for name in path[1:]:
        if kind is None or not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return None
        kind = kind.field(name).type
    return kind


def paths_in(fields: Iterable[pa.Field], depth: int = DEPTH) -> list[str]:
    """Return the names of columns and of fields of structs, with points: "a", "a.b"."""
    found = []
    for field in fields:
        found.append(field.name)
        if depth > 1 and pa.types.is_struct(field.type):
            found += [f"{field.name}.{name}" for name in paths_in(field.type, depth - 1)]
    return found


def paths_of(record: Mapping[str, Any], depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a record as pairs of a name and a value: ("a", {"b": 1}), ("a.b", 1)."""
    for name, value in record.items():
        yield name, value
        if depth > 1 and isinstance(value, dict):
            yield from ((f"{name}.{inner}", v) for inner, v in paths_of(value, depth - 1))


def taken_out(values: pa.Array, path: tuple[str, ...]) -> tuple[pa.Array, pa.Array | None]:
    """Return the field of a struct column to which `path` leads, and the column without it, None if nothing is left.

    - path: the names of fields; if it is (), `values` is the field itself.
    """
    if not path:
        return values, None
    names = [field.name for field in values.type]
    inner, rest = taken_out(pc.struct_field(values, path[0]), path[1:])
    arrays = dict(zip(names, values.flatten(), strict=True))
    arrays |= {path[0]: rest}
    kept = {name: array for name, array in arrays.items() if array is not None}
    left = pa.StructArray.from_arrays(list(kept.values()), list(kept), mask=values.is_null()) if kept else None
    return inner, left
