"""Receipts: records of finished work, so that a repeated run skips it.

A receipt is a small JSON file with a task's key (hash of all that decides its result), and the name, size and hash of
each file that the task wrote. A receipt is not valid if its key differs, or if it is empty or cut off. It is also not
valid if one of its files is missing, has another size or, for a small file, has other bytes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any, cast

from dataprep.errors import CorruptShard

from . import files

SMALL = 1 << 20  # bytes that are hashed in less than a millisecond


def once(receipt: str, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do a task's work once: call `make` and write a receipt, unless the receipt shows that the work is done.

    receipt: URL of the receipt. key: hash of all that decides the result. make: a function that writes files (with
    `atomic`) and returns {"files": [their URLs], ...}, a dict of values that JSON can represent. Returns the content of
    the receipt: what `make` returned, the key, and the size and hash of each file.
    """
    found = valid(receipt, key)
    if found is not None:
        return found
    made = make()
    urls = made.get("files", [])
    stored = [{"name": _relative(u, receipt), "size": files.size(u), "hash": files.content_hash(u)} for u in urls]
    record = {**made, "key": key, "files": stored}
    files.write_json(receipt, record)
    return cast("dict[str, Any]", files.read_json(receipt))


def valid(receipt: str, key: str) -> dict[str, Any] | None:
    """Return the content of a receipt (record of finished work) if it is valid for `key`, else None.

    It is valid if it states this key, and if the files that it lists exist and have the sizes that it states. Files of
    up to SMALL bytes must also have the bytes that were written; larger ones are checked by `dataprep verify`.
    """
    try:
        record = files.read_json(receipt) if files.exists(receipt) else {}
        if not isinstance(record, dict) or record.get("key") != key:
            return None
        for file in record["files"]:
            url = _resolve(receipt, file["name"])
            if not files.exists(url) or files.size(url) != file["size"]:
                return None
            if file["size"] <= SMALL and files.content_hash(url) != file["hash"]:
                return None
    except (CorruptShard, KeyError, TypeError):  # empty or cut, by a disk that lost what was written last
        return None
    return cast("dict[str, Any]", record)


def _relative(url: str, receipt: str) -> str:
    """Return a file's path relative to its receipt, so that the folder can be moved."""
    (_, path), (_, home) = _split(url), _split(receipt)
    return posixpath.relpath(path, posixpath.dirname(home))


def _resolve(receipt: str, name: str) -> str:
    protocol, path = _split(receipt)
    return protocol + posixpath.normpath(posixpath.join(posixpath.dirname(path), name))


def _split(url: str) -> tuple[str, str]:
    protocol, mark, path = url.rpartition("://")
    return protocol + mark, path
