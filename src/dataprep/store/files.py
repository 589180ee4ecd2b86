"""Files by URL: open, list, hash, remove, and write them whole.

URLs are str (fsspec); only this file handles local paths. A file appears whole or not at all: it is written under a
name unique to the attempt, synced, and renamed; on an object store it appears when the upload ends.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import fsspec
import orjson
import xxhash

from dataprep.errors import CorruptShard, PlanError, ReadError

from . import compress
from .atomic import is_attempt, whole

HASH_BLOCK = 1 << 20


def is_local(url: str) -> bool:
    """Return whether a URL is a path of this machine."""
    return "://" not in url or url.startswith("file://")


def path_of(url: str) -> str:
    """Return the path of a local URL."""
    return url.removeprefix("file://")


def fs_of(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path inside it."""
    try:
        return cast("tuple[Any, str]", fsspec.core.url_to_fs(url))
    except (ImportError, ValueError) as e:  # an unknown protocol, or one whose package is not installed
        msg = f"{url} cannot be reached: {e}; check the URL"
        raise PlanError(msg) from e


def join(url: str, *names: str) -> str:
    """Return `url/name/...`; works on every kind of URL, unlike `Path`."""
    return "/".join([url.rstrip("/") if url != "/" else "", *names])


def name_of(url: str) -> str:
    """Return the last part of a URL."""
    return posixpath.basename(url.rstrip("/"))


def suffix(url: str) -> str:
    """Return the suffix of the format, without compression: `.jsonl` of `a.jsonl.zst`."""
    name = name_of(url).lower()
    for compressed in compress.SUFFIXES:
        name = name.removesuffix(compressed)
    return posixpath.splitext(name)[1]


def is_compressed(url: str) -> bool:
    """Return whether the suffix is that of a compressed file, which must be read from the start."""
    return url.lower().endswith(compress.SUFFIXES)


def real(url: str) -> str:
    """Return the unique name of a file: an absolute path without links if it is local."""
    return os.path.realpath(path_of(url)) if is_local(url) else url.rstrip("/")


def exists(url: str) -> bool:
    """Return whether a file or folder exists."""
    if is_local(url):
        return os.path.exists(path_of(url))
    fs, path = fs_of(url)
    return bool(fs.exists(path))


def is_dir(url: str) -> bool:
    """Return whether a folder exists."""
    if is_local(url):
        return os.path.isdir(path_of(url))
    fs, path = fs_of(url)
    return bool(fs.isdir(path))


def size(url: str) -> int:
    """Return the bytes of a file as stored. Raises ReadError if it does not exist."""
    try:
        if is_local(url):
            return os.path.getsize(path_of(url))
        fs, path = fs_of(url)
        return int(fs.size(path))
    except FileNotFoundError as e:
        msg = "there is no such file; check the path"
        raise ReadError(msg, url) from e


def expand(pattern: str) -> list[str]:
    """Return the files of a path, a folder or a glob, sorted; an empty list if there are none."""
    fs, path = fs_of(pattern)
    protocol = "" if is_local(pattern) else pattern.split("://", 1)[0] + "://"
    given = path_of(pattern) if not protocol else path  # a relative path stays one
    if any(c in given for c in "*?["):
        found = [p for p in fs.glob(path) if not fs.isdir(p)]
    elif fs.isdir(path):
        found = [p for p in fs.find(path) if not _hidden(p[len(path) :])]
    else:
        found = [path] if fs.exists(path) else []
    if not protocol and not os.path.isabs(given):
        found = [os.path.relpath(p) for p in found]
    return sorted(protocol + p for p in found)


def _hidden(path: str) -> bool:
    return any(part.startswith((".", "_")) for part in path.strip("/").split("/"))


def listdir(url: str) -> list[str]:
    """Return the names in a folder, sorted; an empty list if there is no folder."""
    if not is_dir(url):
        return []
    if is_local(url):
        return sorted(os.listdir(path_of(url)))
    fs, path = fs_of(url)
    return sorted(name_of(p) for p in fs.ls(path, detail=False))


def remove(url: str) -> None:
    """Remove a file or a whole folder, if it exists."""
    fs, path = fs_of(url)
    with contextlib.suppress(FileNotFoundError):
        fs.rm(path, recursive=True)


def open_raw(url: str) -> BinaryIO:
    """Return a seekable stream of the stored bytes. Raises ReadError if it cannot be opened."""
    try:
        if is_local(url):
            return open(path_of(url), "rb")
        fs, path = fs_of(url)
        return cast("BinaryIO", fs.open(path, "rb"))
    except (FileNotFoundError, IsADirectoryError, PermissionError) as e:
        msg = f"cannot be opened ({e.strerror or e}); check the path"
        raise ReadError(msg, url) from e


def open_read(url: str) -> BinaryIO:
    """Return a stream of the decompressed bytes; `.gz` (several members too), `.zst` and `.xz` by suffix.

    Raises ReadError, with the offset, if a file ends inside a compressed stream or does not decompress.
    """
    return compress.decompressed(open_raw(url), url)


@contextlib.contextmanager
def atomic(url: str) -> Iterator[BinaryIO]:
    """Yield a file to write that appears under `url` when the block ends without an error, and not otherwise."""
    if not is_local(url):
        fs, path = fs_of(url)
        with fs.transaction, fs.open(path, "wb") as f:
            yield f
        return
    with whole(path_of(url)) as f:
        yield f


def sweep(url: str) -> None:
    """Delete the temporary files of killed attempts in a local folder, at any depth; no process may write there."""
    if is_local(url):
        for folder, _, names in os.walk(path_of(url)):
            for name in filter(is_attempt, names):
                os.unlink(os.path.join(folder, name))


def write_bytes(url: str, data: bytes) -> None:
    """Write a small file whole."""
    with atomic(url) as f:
        f.write(data)


def write_json(url: str, value: Any) -> None:
    """Write a small JSON file; keys are sorted, so that equal values are equal bytes."""
    write_bytes(url, orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")


def read_json(url: str) -> Any:
    """Return the content of a JSON file of dataprep. Raises CorruptShard if it is not JSON."""
    with open_raw(url) as f:
        try:
            return orjson.loads(f.read())
        except orjson.JSONDecodeError as e:
            msg = f"{url} must be JSON that dataprep wrote ({e}); remove it and run again"
            raise CorruptShard(msg) from e


def content_hash(url: str) -> str:
    """Return the xxh3-128 of a file's bytes, in hex."""
    digest = xxhash.xxh3_128()
    with open_raw(url) as f:
        while block := f.read(HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def fingerprint(url: str) -> str:
    """Return a hash that identifies an input file: name, size, first and last 64 kB; not mtime or folder."""
    n = size(url)
    digest = xxhash.xxh3_128(f"{name_of(url)}\0{n}\0".encode())
    with open_raw(url) as f:
        digest.update(f.read(1 << 16))
        if n > 1 << 16:
            f.seek(max(1 << 16, n - (1 << 16)))
            digest.update(f.read())
    return digest.hexdigest()
