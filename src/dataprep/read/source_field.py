"""Take sources from a field of each record, such as `source` in files of Dolma or `meta.pile_set_name` in the Pile."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError, require
from dataprep.lazy import compute as pc

PREFIX = "field:"
MAX_SOURCES = 10_000  # of one file; statistics, tables and reports have a row per source


def field_path(source: str, text: str) -> tuple[str, ...]:
    """Return the names on the path to the field that `source="field:a.b"` names, ("a", "b"); () if `source` is "".

    - text: the field of the text, "a" or "a.b".

    Raises PlanError if `source` has another form, or names the text field or a field that contains it.
    """
    if source == "":
        return ()
    named = isinstance(source, str) and source.startswith(PREFIX)
    path = tuple(source.removeprefix(PREFIX).split(".")) if named else ()
    form = f'source={source!r} must be "field:NAME" or "field:OUTER.INNER"; to name the source of files, write '
    require(bool(path) and all(path), form + "dp.read({NAME: PATH})")
    inside = path[0] == text or f"{text}.".startswith(f"{'.'.join(path)}.")
    require(not inside, f"source={source!r} must differ from the text field, text={text!r}")
    return path


def as_sources(
    values: pa.Array, inner: tuple[str, ...], piece: Slice, seen: set[str], stats: Ledger
) -> pa.DictionaryArray:
    """Return the source of each of n documents.

    - values: the field of each document as a string, or as JSON if `inner` is a path inside it; null if it is missing.
    - inner: the rest of the path.
    - piece: the slice of a file; documents without a value have its source, and are counted in `stats` as
      `without_source`.
    - seen: the sources of the file so far, to which those of `values` are added.

    Raises ReadError if the file has more than 10,000 sources.
    """
    coded = values.dictionary_encode()
    names = [_name(value, inner) for value in coded.dictionary.to_pylist()] + [""]
    rows = pc.fill_null(coded.indices, len(names) - 1)
    stats.count("without_source", int(np.array([not name for name in names])[rows.to_numpy()].sum()))
    known = [name or piece.source for name in names]
    seen.update(known[:-1])
    if len(seen) > MAX_SOURCES:
        some = ", ".join(repr(name[:40]) for name in sorted(seen)[:3])
        msg = f"the field of source= has over {MAX_SOURCES:,} values ({some} ...); name a field that has few values"
        raise ReadError(msg, piece.url)
    distinct = pa.array(known, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(distinct.indices.take(rows), distinct.dictionary)


def _name(value: Any, inner: tuple[str, ...]) -> str:
    """Return the name that a value states; "" if it states none."""
    if value is None:
        return ""
    if inner:
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return ""
        for name in inner:
            value = value.get(name) if isinstance(value, dict) else None
    elif value[:1] in {"{", "["}:  # an object, which is as JSON here
        return ""
    if value is None or isinstance(value, (dict, list)):
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
