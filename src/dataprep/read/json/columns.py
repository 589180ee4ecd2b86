"""Fields of JSON records as typed columns: the types of fields, and their values as Arrow arrays."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import FIXED
from dataprep.errors import PlanError
from dataprep.read.text_field import meant, paths_of

log = logging.getLogger("dataprep")

SHOWN = 20  # fields in a warning
SAMPLE = 1_000  # records read to find the types of columns
KINDS = {"string": pa.large_string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()}


def infer(
    stream: BinaryIO, names: Iterable[str], url: str = "", path: tuple[str, ...] = ()
) -> tuple[tuple[str, str], ...]:
    """Return (name, type) of each of the fields `names`, from the first 1,000 JSON Lines of `stream`.

    A field of mixed or unknown type has the type string. Logs a warning if one of the fields, or the field to which
    `path` leads, occurs in no record.

    - url: the name of the file in the warning.
    """
    seen: dict[str, set[str]] = {name: set() for name in names}
    fields: dict[str, None] = {}
    inner: dict[str, None] = {}
    for _ in range(SAMPLE):
        try:
            record = orjson.loads(stream.readline(1 << 22))
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            fields |= dict.fromkeys(record)
            inner |= dict.fromkeys(found for found, _ in paths_of(record)) if path else {}
            for name, kinds in seen.items():
                kinds.add(_kind(record.get(name)))
    absent = [(name, fields) for name in seen if name not in fields]
    wanted = ".".join(path)
    for name, known in [*absent, (wanted, inner)] if path and wanted not in inner else absent:
        if fields:
            shown = ", ".join(list(fields)[:SHOWN]) + meant(name, known)
            log.warning("%s: none of the first %d records has a field %r; they have %s", url, SAMPLE, name, shown)
    types = {**{frozenset({kind}): kind for kind in KINDS}, frozenset({"int64", "double"}): "double"}
    return tuple((name, types.get(frozenset(kinds - {""}), "string")) for name, kinds in seen.items())


def check_taken(text: str, names: Iterable[str]) -> None:
    """Raise PlanError if one of `names` is the text field, or is id, text, source or meta.

    - text: the field of the text, "a" or "a.b".
    """
    for name in names:
        if name in {text, text.partition(".")[0], *FIXED}:
            why = "every document has this column already, and the field of the input stays in meta"
            why = "it is the text" if name == text else why if name in FIXED else "it contains the text"
            msg = f"the field {name!r} cannot be a column: {why}"
            raise PlanError(msg)


def check_kinds(columns: Iterable[tuple[str, str]]) -> None:
    """Raise PlanError if a type in `columns`, pairs (name, type), is not string, int64, double or bool."""
    for name, kind in columns:
        if kind not in KINDS:
            msg = f"the column {name!r} cannot have the type {kind!r}; it must be one of {', '.join(KINDS)}"
            raise PlanError(msg)


_ZONED = re.compile(r"timestamp\[(s|ms|us|ns), tz=([\w/+:-]+)\]")
_SIZED = re.compile(r"fixed_size_binary\[(\d{1,6})\]")


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type with the name `kind`, such as "timestamp[us]"; "string" is large_string.

    Raises PlanError if there is no such type.
    """
    try:
        zoned, sized = _ZONED.fullmatch(kind), _SIZED.fullmatch(kind)  # as Arrow prints these types
        if sized:
            return pa.binary(int(sized[1]))
        return pa.timestamp(*zoned.groups()) if zoned else KINDS.get(kind) or pa.type_for_alias(kind)
    except ValueError as e:
        msg = f"{kind!r} is not a column type; pass string, int64, double, bool, timestamp[us] ..."
        raise PlanError(msg) from e


def _kind(value: Any) -> str:
    if value is None:
        return ""
    return {bool: "bool", int: "int64", float: "double"}.get(type(value), "string")


def convert(values: pa.LargeStringArray, first: npt.NDArray[np.uint8], kind: str) -> pa.Array:
    """Return n JSON values as an Arrow array of the type `kind`; missing values and values of other types become null.

    - values: the values as written, strings unescaped.
    - first: uint8[n], the first byte of each value as written (it shows the value's type), 0 if it is missing. With
      kind "string", a value that is not a string is kept as JSON.
    """
    if kind == "string":
        return _masked(values, (first != 0) & (first != ord("n")))
    if kind == "bool":
        return _masked(pa.array(first == ord("t")), (first == ord("t")) | (first == ord("f")))
    numbers = _masked(values, (first == ord("-")) | ((first >= ord("0")) & (first <= ord("9"))))
    try:
        return pc.cast(numbers, KINDS[kind])
    except pa.ArrowInvalid:
        return pa.array([_number(v, kind) for v in numbers.to_pylist()], KINDS[kind])


def _number(value: str | None, kind: str) -> float | int | None:
    if value is None or kind == "double":
        return None if value is None else float(value)
    number = orjson.loads(value)
    fits = number == int(number) and -(1 << 63) <= number < 1 << 63
    return int(number) if fits else None


def _masked(values: pa.Array, valid: npt.NDArray[np.bool_]) -> pa.Array:
    return pc.if_else(pa.array(valid), values, pa.scalar(None, values.type))
