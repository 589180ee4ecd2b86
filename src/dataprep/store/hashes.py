"""Content hashes of input files, each computed once; if any byte of a file changes, work on the file is done again.

`Hashes` keeps hashes in memory and in OUT/.dataprep-hashes. A hash is computed again only if the file's size, mtime,
ctime or inode has changed; the hash itself does not depend on these four.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import xxhash

from dataprep.errors import DataprepError

from . import files

NAME = ".dataprep-hashes"
KEPT_BYTES = 16 << 20  # smaller input is hashed again, in a few milliseconds
ENDS = 1 << 16  # bytes of each end of a remote file
BLOCK = 1 << 18  # fits into the cache of a core: a third faster than 4 MB
YOUNG_NS = 2 * 10**9  # a file changed less than two seconds ago may change again without a new mtime
SUMS = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss"}  # stores that state a checksum


def fingerprint(url: str) -> str:
    """Return a hash, in hex, of an input file's name, size and content; its folder and dates have no influence.

    Of a remote file, only the first and last bytes are read; the checksum that an object store states is hashed too.
    Raises ReadError if the file cannot be read.
    """
    return _hash(url) if files.is_local(url) else _remote(url)


def fingerprints(urls: Iterable[str], hash_of: Callable[[str], str]) -> dict[str, str]:
    """Return the fingerprint of each URL as {url: hash}; `hash_of` hashes one file, several at once in threads."""
    urls = list(dict.fromkeys(urls))
    with ThreadPoolExecutor(min(len(urls), os.cpu_count() or 1, 8) or 1) as threads:
        return dict(zip(urls, threads.map(hash_of, urls), strict=True))


class Hashes:
    """The content hashes of files that are known; a Dataset and all that are made of it share one such object."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}  # by the state of a file

    def fingerprint(self, url: str) -> str:
        """Return what the function `fingerprint` returns; a local file is read only if its state is not known."""
        if not files.is_local(url):
            return _remote(url)
        state, young = _state(url)
        if state not in self.known or young:
            found = _hash(url)
            if young or _state(url)[0] != state:
                return found
            self.known[state] = found
        return self.known[state]

    def load(self, folder: str) -> None:
        """Read the file hashes that `save` wrote into a folder, so that they need not be computed again.

        Does nothing if the folder has no stored hashes.
        """
        with contextlib.suppress(DataprepError, OSError):
            found = files.read_json(files.join(folder, NAME))
            self.known.update({str(k): str(known) for k, known in found.items()} if isinstance(found, dict) else {})

    def save(self, folder: str, urls: Iterable[str]) -> None:
        """Write the known hashes of the local input files `urls` into a folder, for later runs, if it is writable.

        The written file contains no names or paths. Nothing is written if the files have less than KEPT_BYTES in total.
        """
        local = [url for url in urls if files.is_local(url) and files.exists(url)]  # not those listed as unread
        if sum(map(files.size, local)) < KEPT_BYTES:
            return
        known = {state: self.known[state] for state, _ in map(_state, local) if state in self.known}
        url = files.join(folder, NAME)
        with contextlib.suppress(DataprepError, OSError):
            if known and (not files.exists(url) or _stored(url) != known):
                files.write_state(url, known)


def _stored(url: str) -> Any:
    with contextlib.suppress(DataprepError):
        return files.read_json(url)
    return None


def _state(url: str) -> tuple[str, bool]:
    """Return a hash of path, size, mtime, ctime and inode of a file, and whether it was changed just now."""
    try:
        found = os.stat(files.path_of(url))
    except OSError:
        return "", True
    newest = max(found.st_mtime_ns, found.st_ctime_ns)
    state = (files.real(url), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
    text = repr(state).encode("utf-8", "backslashreplace")
    return xxhash.xxh3_128_hexdigest(text), time.time_ns() - newest < YOUNG_NS


def ends(url: str) -> str:
    """Return a hash, in hex, of a file's name, its size, and its first and last bytes; the rest is not read."""
    return _ends(url).hexdigest()


def _named(url: str) -> xxhash.xxh3_128:
    return xxhash.xxh3_128(f"{files.name_of(url)}\0{files.size(url)}\0".encode("utf-8", "surrogateescape"))


def _hash(url: str) -> str:
    digest, buffer = _named(url), bytearray(BLOCK)
    with files.open_raw(url) as f:
        while n := f.readinto(buffer):  # type: ignore[attr-defined]  # a plain file
            digest.update(memoryview(buffer)[:n])
    return digest.hexdigest()


def _ends(url: str) -> xxhash.xxh3_128:
    n, digest = files.size(url), _named(url)
    with files.open_raw(url) as f:
        digest.update(f.read(ENDS))
        if n > ENDS:
            f.seek(max(ENDS, n - ENDS))
            digest.update(f.read())
    return digest


def _remote(url: str) -> str:
    digest = _ends(url)
    if url.partition("://")[0] in SUMS:
        fs, path = files.fs_of(url)
        info = fs.info(path)
        digest.update("".join(str(info.get(name, "")) for name in ("ETag", "etag", "md5Hash", "content_md5")).encode())
    return digest.hexdigest()
