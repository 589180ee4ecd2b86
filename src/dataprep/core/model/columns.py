"""The columns of joined Datasets: every column of any of them, with one type that loses no value."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import pyarrow as pa

from dataprep.errors import PlanError

from . import batch as B
from .batch import Batch

EXACT_BITS = {16: 11, 32: 24, 64: 53}  # of the integers that a floating-point number of so many bits has exactly


def union_of(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """Return the schema with all columns of several Datasets.

    Args:
        schemas: {name of the Dataset in error messages: its schema}.

    Raises PlanError if the types of a column differ and no type can represent the values of all of them.
    """
    found: dict[str, pa.DataType] = {}
    first: dict[str, str] = {}
    for name, schema in schemas.items():
        for field in schema:
            both = _common(found[field.name], field.type) if field.name in found else field.type
            if both is None:
                msg = (
                    f"the column {field.name!r} is {found[field.name]} in {first[field.name]} and {field.type} in "
                    f"{name}; give it one type, such as with columns={{{field.name!r}: ...}} in dp.read"
                )
                raise PlanError(msg)
            first.setdefault(field.name, name)
            found[field.name] = both
    return pa.schema([pa.field(name, kind, nullable=name not in B.FIXED) for name, kind in found.items()])


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that can represent all values of two types; None if there is none."""
    if one == other:
        return one
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other)]
    try:
        schemas = [pa.schema([pa.field("", kind)]) for kind in plain]
        both = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        for kind in plain:
            pa.array([], kind).cast(both)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None
    return both if all(_keeps(both, kind) for kind in plain) else None


def _keeps(wide: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether `wide`, to which Arrow promotes `kind`, can represent all values of `kind`."""
    if pa.types.is_nested(kind):
        return bool(kind == wide)
    if pa.types.is_integer(kind) and pa.types.is_integer(wide):
        return _bits(wide) >= _bits(kind)
    if pa.types.is_integer(kind) and pa.types.is_floating(wide):
        return EXACT_BITS[wide.bit_width] >= _bits(kind)
    return True


def _bits(kind: pa.DataType) -> int:
    """Return the number of bits of the largest value of an integer type."""
    return int(kind.bit_width) - bool(pa.types.is_signed_integer(kind))


def as_text(schema: pa.Schema) -> str:
    """Return a schema as text, for records in JSON."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def from_text(text: str) -> pa.Schema:
    """Return the schema that `as_text` described."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def with_columns(batch: Batch, schema: pa.Schema, columns: Sequence[str] | None) -> Batch:
    """Return the batch with the columns of `schema` in its order; columns that the batch lacks contain nulls.

    - columns: the names of the columns to return; None means all.
    """
    fields, arrays = [], []
    for field in schema:
        if columns is not None and field.name not in columns:
            continue
        at = batch.schema.get_field_index(field.name)
        own = batch.schema.field(at) if at >= 0 else field
        array = batch.column(at) if at >= 0 else pa.nulls(batch.num_rows, field.type)
        fields.append(own.with_type(field.type))
        arrays.append(array if own.type == field.type else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
