"""The bytes of dataprep's JSON files."""

from __future__ import annotations

from typing import Any

import orjson


def json_bytes(value: Any) -> bytes:
    """Return `value` as JSON with sorted keys, so that equal values have equal bytes.

    Bytes in file names that are not valid UTF-8 are written as escape sequences.
    """
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
    try:
        data = orjson.dumps(value, option=options)
    except TypeError:
        data = orjson.dumps(_as_utf8(value), option=options)
    return data + b"\n"


def _as_utf8(value: Any) -> Any:
    """Return JSON values in which escapes replace the bytes of strings that are not UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_as_utf8(name): _as_utf8(one) for name, one in value.items()}
    return [_as_utf8(one) for one in value] if isinstance(value, (list, tuple)) else value
