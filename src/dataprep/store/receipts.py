"""Receipts: records of finished work, so that a repeated run skips it.

A receipt is a small JSON file with a task's key (a hash of everything that determines its result), and the name, size
and hash of each file that the task wrote. A receipt is not valid if its key differs, or if it is empty or truncated. It
is also not valid if one of its files is missing or has different bytes. Large remote files are compared by size only.

Each task writes a receipt of its own. When a result with more than MOST_FILES parts is finished, its receipts are
packed into the file PACKED: a line with their number, and a line per receipt, the content of its file as a JSON string
with the file's name as the field `receipt`.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import orjson
import xxhash

from dataprep.errors import CorruptShard, ReadError

from . import files
from .as_json import json_bytes
from .checksum import stamped

SMALL = 1 << 20  # bytes of a remote file that is fetched to be compared
MOST_FILES = 64  # receipts of a finished result that stay files of their own
PACKED = "packed.ndjson"
RESTORES = "`dataprep verify DIR --repair PIPELINE` restores it"


def once(receipt: str, key: str, make: Callable[[], dict[str, Any]], *, synced: bool = True) -> dict[str, Any]:
    """Do a task's work once: call `make` and write a receipt, unless the receipt shows that the work is done.

    Args:
        receipt: the URL of the receipt.
        key: a hash of everything that determines the result.
        make: a function that writes files (with `atomic`) and returns {"files": [their URLs], ...}, a dict of values
            that JSON can represent.
        synced: as in `atomic.whole`.

    Returns the content of the receipt: the result of `make`, the key, and the size and hash of each file.
    """
    done = valid(receipt, key)
    return write(receipt, key, make(), synced=synced) if done is None else done


def write(receipt: str, key: str, made: dict[str, Any], *, synced: bool = True) -> dict[str, Any]:
    """Write the receipt of finished work, as `once` does, replacing any existing receipt; return its content.

    An earlier receipt is replaced but never removed, so that other tasks, which may do the same work at the same time,
    always find a receipt.

    - made: {"files": [URLs of the files, or of folders of files, that were written], ...}. A file that a task wrote may
      be given as {"name": its URL, "size": ..., "hash": ...}, so that it is not read again.
    - synced: as in `atomic.whole`.
    """
    stored = [one for url in made.get("files", []) for one in _stored(url, receipt)]
    record = {**made, "key": key, "files": stored}
    files.write_state(receipt, record, synced=synced)
    return cast("dict[str, Any]", orjson.loads(json_bytes(record)))


def _stored(url: str | dict[str, Any], receipt: str) -> list[dict[str, Any]]:
    """Return the entry of a file, or those of the files in a folder."""
    if isinstance(url, dict):
        return [{**url, "name": _relative(url["name"], receipt)}]
    if not files.is_local(url) or not files.is_dir(url):
        try:
            size, digest = files.stored(url)
            return [{"name": _relative(url, receipt), "size": size, "hash": digest}]
        except ReadError:  # in an object store, that there is a folder is asked only now
            if not files.is_dir(url):
                raise
    return [one for inside in files.expand(url) for one in _stored(inside, receipt)]


def valid(receipt: str, key: str) -> dict[str, Any] | None:
    """Return the content of a receipt (record of finished work) if it is valid for `key`, else None.

    It is valid if it states this key, and if the files that it lists have the bytes that were written. Hashing these
    files takes 0.2 s per GB. Remote files of more than SMALL bytes are compared by size only.
    """
    record = found(receipt)
    return record if record is not None and record["key"] == key and _has_files(receipt, record) else None


def restate(receipt: str, url: str) -> None:
    """Update the size and hash of the file `url` in the receipt (work record) that lists it, if one does.

    Call this function after a file was changed on purpose; a file that does not exist is removed from the list.
    """
    record = found(receipt)
    name = _relative(url, receipt)
    if record is None or name not in (file["name"] for file in record["files"]):
        return
    kept = [file for file in record["files"] if file["name"] != name]
    if files.exists(url):
        kept += _stored(url, receipt)
    files.write_state(receipt, {**record, "files": kept})


def read(receipt: str, *lists: str) -> dict[str, Any]:
    """Return the content of a receipt; its files are not checked.

    - lists: the names of further fields that must be lists.

    Raises CorruptShard if the file is not a receipt that dataprep wrote.
    """
    return stated(files.read_state(receipt), receipt, *lists)


def stated(record: Any, receipt: str, *lists: str) -> dict[str, Any]:
    """Return the content of a receipt; the other arguments and the errors are those of `read`."""
    lists_of = [record.get(name) for name in ("files", *lists)] if isinstance(record, dict) else [None]
    of_files = lists_of[0] if isinstance(lists_of[0], list) else [None]
    named = all(isinstance(f, dict) and {"name", "size", "hash"} <= f.keys() for f in of_files)
    if record is None and files.name_of(receipt) == PACKED:
        msg = f"lines of {receipt} have changed since they were written; {RESTORES}"
        raise CorruptShard(msg)
    if not named or not all(isinstance(one, list) for one in lists_of):
        msg = f"{receipt} must be a receipt that dataprep wrote; remove it and run again"
        raise CorruptShard(msg)
    return cast("dict[str, Any]", record)


def changed(receipt: str) -> list[str]:
    """Return the names, relative to a receipt, of the files in it that are missing or have different bytes.

    Raises CorruptShard if the file is not a receipt that dataprep wrote.
    """
    return [file["name"] for file in read(receipt)["files"] if not _has_files(receipt, {"files": [file]})]


def all_whole(every: Mapping[str, dict[str, Any] | None]) -> bool:
    """Return whether all receipts, as `all_in` returns them, and their files have the bytes that were written."""
    with ThreadPoolExecutor(min(len(every), os.cpu_count() or 1, 8) or 1, thread_name_prefix="check") as threads:
        return all(threads.map(lambda one: one[1] is not None and _has_files(*one), every.items()))


def all_in(folder: str) -> dict[str, dict[str, Any] | None]:
    """Return {URL: content} of the receipts in a folder, in order of their names; the content is None if it is damaged.

    A packed receipt has the URL of the file that it replaces. The URL of damaged or missing lines is that of PACKED.
    """
    names = files.listdir(folder)
    every = dict(_packed(files.join(folder, PACKED)) if PACKED in names else ())
    every |= files.each(found, [files.join(folder, name) for name in names if name.endswith(".json")])
    return dict(sorted(every.items()))


def _packed(url: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    with files.open_raw(url) as f:
        stated, *lines = f.read().split(b"\n")
        if stated != b"%d" % (len(lines) - 1):
            yield url, None
        names = set[str]()
        for line in lines[:-1]:
            try:
                record = files.parsed(orjson.loads(line).encode(), url, checksum=True)
                name = record.pop("receipt")
                yield files.join(url.rpartition("/")[0], name), record
                if name in names:
                    yield url, None
                names.add(name)
            except (ValueError, AttributeError, CorruptShard):  # noqa: PERF203 - the other lines are used
                yield url, None


def pack(folder: str, every: Mapping[str, dict[str, Any]]) -> None:
    """Write receipts into the file PACKED of a folder; files of their own are not removed.

    - every: {name of the file: content}.
    """
    with files.atomic(files.join(folder, PACKED)) as f:
        f.write(b"%d\n" % len(every))
        for name, record in sorted(every.items()):
            f.write(orjson.dumps(stamped(json_bytes({**record, "receipt": name})).decode()) + b"\n")


def found(receipt: str) -> dict[str, Any] | None:
    """Return the content of a receipt; None if it is missing, or was left empty or truncated by a machine crash."""
    try:
        record = files.read_state(receipt)
    except CorruptShard:
        return None
    except ReadError as e:
        if not _is_missing(e):
            raise
        return None
    return record if isinstance(record, dict) and {"key", "files"} <= record.keys() else None


def _has_files(receipt: str, record: dict[str, Any]) -> bool:
    """Return whether the files that a receipt lists have the bytes that were written."""
    try:
        return all(_is_as_stated(resolved(receipt, file["name"]), file) for file in record["files"])
    except (KeyError, TypeError):
        return False


def _is_as_stated(url: str, file: dict[str, Any]) -> bool:
    """Return whether the file `url` has the size and hash that a receipt states for `file`."""
    try:
        if files.is_local(url):
            return bool(files.size(url) == file["size"] and files.content_hash(url) == file["hash"])
        if file["size"] > SMALL:
            return bool(files.size(url) == file["size"])
        return bool(xxhash.xxh3_128_hexdigest(files.read(url)) == file["hash"])
    except ReadError as e:
        if not _is_missing(e):
            raise
        return False


def _is_missing(error: ReadError) -> bool:
    return isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError))


def moved(record: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Return the content of the receipt at `old`, adapted to `new`, from where the same files have other paths."""
    return {**record, "files": [{**f, "name": _relative(resolved(old, f["name"]), new)} for f in record["files"]]}


def _relative(url: str, receipt: str) -> str:
    """Return a file's path relative to its receipt, so that the folder can be moved."""
    (_, path), (_, home) = _split(url), _split(receipt)
    return posixpath.relpath(path, posixpath.dirname(home))


def resolved(receipt: str, name: str) -> str:
    """Return the URL of a file that a receipt lists as `name`."""
    protocol, path = _split(receipt)
    return protocol + posixpath.normpath(posixpath.join(posixpath.dirname(path), name))


def _split(url: str) -> tuple[str, str]:
    protocol, mark, path = url.rpartition("://")
    return protocol + mark, path
