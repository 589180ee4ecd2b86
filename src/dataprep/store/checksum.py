"""The checksum in a JSON file of dataprep's state, which reveals a changed byte; only uses the standard library.

The checksum is the first field of the file: the first 32 hex digits of the SHA-256 of the file's bytes without this
field.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

FIELD = "checksum"
_HEAD = f'{{\n  "{FIELD}": "'.encode()
_STATED = re.compile(re.escape(_HEAD) + rb'([0-9a-f]{32})",')
_DAMAGED = re.compile(rb'(.{%d})[0-9a-f]{32}",' % len(_HEAD), re.DOTALL)


def stamped(data: bytes) -> bytes:
    """Return the bytes of a JSON object, which has at least one field, with the checksum as its first field."""
    return _HEAD + _digest(data) + b'",' + data[1:]


def checked(data: bytes, value: Any, *, required: bool = False) -> Any:
    """Return `value`, which was parsed from the bytes `data`, without its checksum.

    - required: whether JSON without a checksum, as other programs write it, raises an error.

    Raises ValueError if the checksum is missing, does not match the bytes, or if one byte of the field's name was
    changed.
    """
    if required and (not isinstance(value, dict) or not isinstance(value.get(FIELD), str)):
        msg = f"it has no {FIELD}"
        raise ValueError(msg)
    if not isinstance(value, dict):
        return value
    head = _DAMAGED.match(data)
    is_renamed = head is not None and sum(a != b for a, b in zip(head[1], _HEAD, strict=True)) == 1
    if not is_renamed and not isinstance(value.get(FIELD), str):
        return value
    stated = _STATED.match(data)
    if stated is None or _digest(b"{" + data[stated.end() :]) != stated[1]:
        msg = "its content has changed since it was written"
        raise ValueError(msg)
    return {name: one for name, one in value.items() if name != FIELD}


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest()[:32].encode()
