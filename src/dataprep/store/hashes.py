"""Content hashes of input files, each computed once; if any byte of a file changes, the file is processed again.

`Hashes` keeps hashes in memory and in OUT/.dataprep-hashes. A hash is computed again only if the file's size, mtime,
ctime or inode has changed; the hash itself does not depend on these four. Other packages are imported only to hash
input files, since the trainer, which hashes token shards, also uses `Hashes`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from dataprep.errors import DataprepError

from .atomic import is_path, read_bytes, whole
from .checksum import checked, stamped

if TYPE_CHECKING:
    import xxhash

NAME = ".dataprep-hashes"
KEPT_BYTES = 16 << 20  # smaller input is hashed again, in a few milliseconds
ENDS = 1 << 16  # bytes of each end of a remote file whose checksum is not known
BLOCK = 1 << 18  # fits into the cache of a core: a third faster than 4 MB
YOUNG_NS = 2 * 10**9  # a file changed less than two seconds ago may change again without a new mtime
ENTRY = re.compile(r"[0-9a-f]{64} (sha256:)?[0-9a-f]{32,64}")  # the state of a file, and a hash of its bytes


def fingerprint(url: str) -> str:
    """Return a hash, in hex, of an input file's name, size and content, but not of its folder and dates.

    A remote file is not read if its store states a checksum, which is hashed instead; else the first and last bytes are
    read. Raises ReadError if the file cannot be read.
    """
    path = _path(url)
    return _remote(url) if path is None else _hash(path)


def listed(patterns: Iterable[str]) -> dict[str, str]:
    """Return the fingerprints that the stores of remote folders and globs state in their listings, as {URL: hash}."""
    from . import files

    found: dict[str, str] = {}
    for pattern in patterns:
        if not files.is_local(pattern):
            found |= {url: _by_sum(url, info) for url, info in files.listing(pattern).found.items()}
    return {url: digest for url, digest in found.items() if digest}


def fingerprints(urls: Iterable[str], hash_of: Callable[[str], str]) -> dict[str, str]:
    """Return the fingerprint of each URL as {url: hash}; `hash_of` hashes one file, several at once in threads."""
    urls = list(dict.fromkeys(urls))
    with ThreadPoolExecutor(min(len(urls), os.cpu_count() or 1, 8) or 1) as threads:
        return dict(zip(urls, threads.map(hash_of, urls), strict=True))


class Hashes:
    """The known content hashes of files; a Dataset and all Datasets made from it share one such object."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}  # by the state of a file

    def fingerprint(self, url: str) -> str:
        """Return the result of the function `fingerprint`; a local file is read only if its state is not known."""
        path = _path(url)
        return _remote(url) if path is None else self.of(path, _hash)

    def of(self, path: str, hash_of: Callable[[str], str], kind: str = "") -> str:
        """Return the known hash of a local file's bytes, or else `hash_of(path)`.

        - kind: the kind of the hash; "" for xxh3-128.
        """
        state, young = _state(path, kind)
        if state not in self.known or young:
            found = hash_of(path)
            if young or _state(path, kind)[0] != state:
                return found
            self.known[state] = found
        return self.known[state]

    def load(self, folder: str) -> None:
        """Read the file hashes that `save` wrote into a folder, so that they need not be computed again.

        Hashes that cannot be read are ignored and computed again.
        """
        self.known.update(_stored(_place(folder)))

    def save(self, folder: str, urls: Iterable[str], kind: str = "") -> None:
        """Write the known hashes of the local input files `urls` into a folder, for later runs, if it is writable.

        The written file contains no names or paths. Nothing is written if the files have less than KEPT_BYTES in total.
        """
        local = [path for url in urls if (path := _path(url)) is not None and os.path.exists(path)]  # not the unread
        if sum(map(os.path.getsize, local)) < KEPT_BYTES:
            return
        known = {state: self.known[state] for state, _ in (_state(path, kind) for path in local) if state in self.known}
        place = _place(folder)
        if known and _stored(place) != known:
            data = stamped(json.dumps(known, indent=2, sort_keys=True).encode() + b"\n")
            with contextlib.suppress(DataprepError, OSError):
                _write(place, data)


def _place(folder: str) -> str:
    return f"{folder.rstrip('/')}/{NAME}"


def _stored(url: str) -> dict[str, str]:
    """Return the hashes in a file that `Hashes.save` wrote, by the states of files; {} if it cannot be read."""
    with contextlib.suppress(DataprepError, OSError, ValueError, RecursionError):
        data = _read(url)
        found = checked(data, json.loads(data), required=True)
        return {state: one for state, one in found.items() if ENTRY.fullmatch(f"{state} {one}")}
    return {}


def _read(url: str) -> bytes:
    if is_path(url):
        return read_bytes(url)
    from . import files

    with files.open_raw(url) as f:
        return f.read()


def _write(url: str, data: bytes) -> None:
    if is_path(url):
        with whole(url) as f:
            f.write(data)
    else:
        from . import files

        files.write_bytes(url, data)


def _path(url: str) -> str | None:
    """Return the path of a local file; None if the URL is that of a remote file."""
    if is_path(url):
        return url
    from . import files

    return files.path_of(url) if files.is_local(url) else None


def _state(path: str, kind: str = "") -> tuple[str, bool]:
    """Return a hash of a file's path, size, mtime, ctime and inode, and whether it was changed just now."""
    try:
        found = os.stat(path)
    except OSError:
        return "", True
    newest = max(found.st_mtime_ns, found.st_ctime_ns)
    real, sizes = os.path.realpath(path), (found.st_size, found.st_ino, found.st_dev)
    text = repr((kind, real, *sizes, found.st_mtime_ns, found.st_ctime_ns)).encode("utf-8", "backslashreplace")
    return hashlib.sha256(text).hexdigest(), time.time_ns() - newest < YOUNG_NS


def ends(url: str) -> str:
    """Return a hash, in hex, of a file's name, its size, and its first and last bytes; the rest is not read."""
    from . import files

    with files.open_raw(url) as f:
        n = f.seek(0, os.SEEK_END)
        f.seek(0)
        digest = _named(url, n)
        digest.update(f.read(ENDS))
        if n > ENDS:
            f.seek(max(ENDS, n - ENDS))
            digest.update(f.read())
    return digest.hexdigest()


def _named(url: str, size: int) -> xxhash.xxh3_128:
    import xxhash

    from . import files

    return xxhash.xxh3_128(f"{files.name_of(url)}\0{size}\0".encode("utf-8", "surrogateescape"))


def _hash(url: str) -> str:
    from . import files

    digest, buffer = _named(url, files.size(url)), bytearray(BLOCK)
    with files.open_raw(url) as f:
        while n := f.readinto(buffer):  # type: ignore[attr-defined]  # a plain file
            digest.update(memoryview(buffer)[:n])
    return digest.hexdigest()


def _remote(url: str) -> str:
    from . import files

    return _by_sum(url, files.stated(url)) or ends(url)


def _by_sum(url: str, stated: Mapping[str, Any]) -> str:
    """Return the fingerprint of a remote file from its size and checksum; "" if its store does not state them."""
    from . import files, remote

    found = remote.checksum(url, stated)
    if not found or stated.get("size") is None:
        return ""
    digest = _named(url, files.size_in(stated, url))
    digest.update(found.encode())
    return digest.hexdigest()
