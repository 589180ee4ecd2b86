"""The tokens of shards at a URL, as training reads them: fetched when they are needed, and kept on a local disk.

Rows are read in random order, so every batch needs bytes from all over the shards. Files are therefore fetched in
blocks of 1 MiB into the folder `shards` of $DATAPREP_CACHE (~/.cache/dataprep), and a run begins after the blocks of
its first rows. Space for a whole file is reserved before its first block, so that the cache has at most
$DATAPREP_CACHE_GB gigabytes (64) and leaves 5 % of the disk free. For new files, the shards that were not used for the
longest time are removed, but not while a process reads them. A file for which there is no space is not kept: of it,
exactly the bytes of each row are requested, since fetching and dropping a block per row would move hundreds of times as
much.

    CACHE/shards/ROOT/lock             locked by each process that reads the shards with the hash ROOT (`Shards.root`)
    CACHE/shards/ROOT/NAME             the file, with zeros for blocks that were not fetched
    CACHE/shards/ROOT/NAME.blocks      uint32 per block: its CRC-32 plus 1, or 0 if it was not fetched; then 1 if the
                                       whole file was compared with the hash in the manifest

Several processes may use one cache: they write the same bytes, and a block is used only if its CRC-32 agrees.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dataprep.errors import CorruptShard, PlanError
from dataprep.store.ranges import THREADS, RemoteArray
from dataprep.tokens.shards.shard import Shards

try:
    import fcntl
except ImportError:  # Windows: nothing is kept
    fcntl = None  # type: ignore[assignment]

BLOCK = 1 << 20  # bytes: about as long to fetch as a request waits for its first byte
GB = 64.0
LEFT = 20  # a twentieth of the disk stays free
LOCK, BLOCKS = "lock", ".blocks"
Range = tuple[int, int]


class Source(Protocol):
    """A file of a shard at a URL, of which ranges of bytes are fetched before they are read."""

    def missing(self, start: int, stop: int) -> list[Range]:
        """Return the ranges of bytes to fetch before the bytes start to stop - 1 are read."""

    def fetch(self, start: int, stop: int) -> bytes | None:
        """Fetch a range that `missing` returned; return its bytes, or None if they are kept."""

    def __getitem__(self, at: slice) -> Any:
        """Return bytes that are kept."""


class Passing:
    """A file of which nothing is kept: each range of bytes is one request."""

    def __init__(self, file: RemoteArray) -> None:
        self.file = file

    def __len__(self) -> int:
        return len(self.file)

    def missing(self, start: int, stop: int) -> list[Range]:
        """Return the range itself."""
        return [(start, stop)] if start < stop else []

    def fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes start to stop - 1."""
        return self.file.bytes(start, stop)

    def __getitem__(self, at: slice) -> bytes:
        return b""


class Kept:
    """A file that is kept on a local disk, block by block, as far as it was fetched.

    Attributes:
        file: the file at its URL.
        path: the path of the local file, which has the size of the whole one.
        expected: the hash of the file's content in the manifest.
        cache: the cache, which keeps the local file from being removed.
    """

    def __init__(self, file: RemoteArray, path: str, expected: str, cache: LocalCache) -> None:
        self.file, self.path, self.expected, self.cache = file, path, expected, cache
        self.n_bytes = len(file) * file.dtype.itemsize
        self._data = np.memmap(path, np.uint8, "r+", shape=(self.n_bytes,))
        self._sums = np.memmap(path + BLOCKS, np.uint32, "r+", shape=(-(-self.n_bytes // BLOCK) + 1,))
        self._good = np.zeros(len(self._sums) - 1, np.bool_)  # blocks whose CRC-32 this process has compared
        self._view = self._data.data

    def __len__(self) -> int:
        return len(self.file)

    def missing(self, start: int, stop: int) -> list[Range]:
        """Return the blocks that the bytes start to stop - 1 are in, and that were not fetched or are damaged."""
        found = []
        for k in range(start // BLOCK, -(-stop // BLOCK)):
            if not self._good[k]:
                begin, end = k * BLOCK, min((k + 1) * BLOCK, self.n_bytes)
                self._good[k] = self._sums[k] == _sum(self._view[begin:end]) if self._sums[k] else False
                if not self._good[k]:
                    found.append((begin, end))
        return found

    def fetch(self, start: int, stop: int) -> None:
        """Fetch a block; when the last one is there, compare the hash of the whole file. Raises CorruptShard."""
        data = self.file.bytes(start, stop)
        self._data[start:stop] = np.frombuffer(data, np.uint8)
        self._sums[start // BLOCK] = _sum(data)  # last, so that a killed process leaves no block that seems fetched
        self._good[start // BLOCK] = True
        if self._sums[:-1].all() and not self._sums[-1]:
            self._compare()

    def _compare(self) -> None:
        digest = hashlib.sha256(self._view)
        if self.expected != f"sha256:{digest.hexdigest()}":
            self._sums[:] = 0
            self._good[:] = False
            msg = f"{self.file.url}: its content has changed since it was written; `dataprep verify` lists all damage"
            raise CorruptShard(msg)
        self._sums[-1] = 1

    def __getitem__(self, at: slice) -> memoryview:
        return self._view[at]


def _sum(data: Any) -> int:
    return min(zlib.crc32(data) + 1, 0xFFFFFFFF)


class LocalCache:
    """The local files of the shards whose `Shards.root` is `root`; they are not removed while this object exists."""

    def __init__(self, root: str) -> None:
        self.home = os.path.join(home(), root[:32])
        self._lock = self._locked()
        if self._lock is not None:
            weakref.finalize(self, os.close, self._lock)

    def _locked(self) -> int | None:
        """Return the open, shared lock of the folder; None if files cannot be kept on this machine."""
        if fcntl is None:
            return None
        with contextlib.suppress(OSError):
            while True:
                os.makedirs(self.home, exist_ok=True)
                path = os.path.join(self.home, LOCK)
                opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
                fcntl.flock(opened, fcntl.LOCK_SH)
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(opened), os.stat(path)):
                        os.utime(path)  # of last use
                        return opened
                os.close(opened)  # the folder was removed meanwhile
        return None

    def sources(self, named: Mapping[str, RemoteArray], hashes: Mapping[str, str | None]) -> dict[str, Source]:
        """Return the files `named` of the shards as sources; they are kept as far as there is space.

        - hashes: the hash of each file in the manifest; a file without one, which may change, is not kept.
        """
        found: dict[str, Source] = {}
        with self._alone():
            held = _held(os.path.dirname(self.home)) if self._lock is not None else {}
            for name, file in named.items():
                expected, path = hashes[name], os.path.join(self.home, name)
                is_kept = self._lock is not None and expected is not None and self._reserved(path, file, held)
                found[name] = Kept(file, path, str(expected), self) if is_kept else Passing(file)
        return found

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one process at a time reserve space."""
        if self._lock is None or fcntl is None:
            yield
            return
        with open(os.path.join(os.path.dirname(self.home), LOCK), "ab") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            yield

    def _reserved(self, path: str, file: RemoteArray, held: dict[str, int]) -> bool:
        """Return whether there is space for a file, which is created in its whole size.

        - held: the bytes in each folder of the cache, which are updated.
        """
        n_bytes = len(file) * file.dtype.itemsize
        n_sums = 4 * (-(-n_bytes // BLOCK) + 1)
        if _size(path) == n_bytes and _size(path + BLOCKS) == n_sums:
            return True
        if not self._freed(n_bytes + n_sums, held):
            return False
        try:
            for new, size in ((path + BLOCKS, n_sums), (path, n_bytes)):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(new)
                with open(new, "xb") as f:
                    if hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(f.fileno(), 0, size)
                    f.truncate(size)
        except OSError:  # such as a full disk
            for new in (path, path + BLOCKS):
                with contextlib.suppress(OSError):
                    os.unlink(new)
            return False
        held[self.home] = held.get(self.home, 0) + n_bytes + n_sums
        return True

    def _freed(self, n_bytes: int, held: dict[str, int]) -> bool:
        """Remove shards that no process uses, least recently used first, until `n_bytes` more fit; False if not."""
        most, every = limit(), os.path.dirname(self.home)
        unused = sorted((folder for folder in held if folder != self.home), key=_last_use)
        while sum(held.values()) + n_bytes > most or n_bytes > _free(every):
            if n_bytes + held.get(self.home, 0) > most or not unused:
                return False
            if _removed(folder := unused.pop(0)):
                held.pop(folder)
        return True


def home() -> str:
    """Return the folder in which the shards of URLs are kept."""
    return os.path.join(os.environ.get("DATAPREP_CACHE") or os.path.expanduser("~/.cache/dataprep"), "shards")


def limit() -> int:
    """Return the maximum number of bytes in the cache. Raises PlanError if $DATAPREP_CACHE_GB is not a number."""
    given = os.environ.get("DATAPREP_CACHE_GB") or GB
    try:
        return int(float(given) * 1e9)
    except (ValueError, OverflowError):
        msg = f"DATAPREP_CACHE_GB={given!r} must be a number of gigabytes, such as 64; 0 keeps nothing"
        raise PlanError(msg) from None


def _size(path: str) -> int | None:
    with contextlib.suppress(OSError):
        return os.path.getsize(path)
    return None


def _free(folder: str) -> int:
    disk = shutil.disk_usage(folder)
    return disk.free - disk.total // LEFT


def _held(every: str) -> dict[str, int]:
    """Return the bytes in each folder of the cache."""
    folders = [entry.path for entry in os.scandir(every) if entry.is_dir()]
    return {folder: sum(_size(entry.path) or 0 for entry in os.scandir(folder)) for folder in folders}


def _last_use(folder: str) -> float:
    with contextlib.suppress(OSError):
        return os.stat(os.path.join(folder, LOCK)).st_mtime
    return 0.0


def _removed(folder: str) -> bool:
    """Remove the files of shards unless a process uses them; return whether they were removed."""
    try:
        lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def opened(shards: Shards, arrays: Sequence[Any], kind: str) -> list[Any]:
    """Return arrays of files of shards, of which those at a URL are replaced by sources.

    - arrays: the array of each shard, or None.
    - kind: the suffix of the files, "bin" or "msk".
    """
    if not any(isinstance(one, RemoteArray) for one in arrays):
        return list(arrays)
    names = [f"{s.name}.{kind}" for s in shards.shards]
    hashes = {f"{s.name}.{kind}": s.hash if kind == "bin" else s.mask_hash for s in shards.shards}
    remote = {name: one for name, one in zip(names, arrays, strict=True) if isinstance(one, RemoteArray)}
    sources = LocalCache(shards.root).sources(remote, hashes)
    return [sources.get(name, one) for name, one in zip(names, arrays, strict=True)]


def read(sources: Sequence[Any], ranges: Sequence[NDArray[np.int64]]) -> list[Any]:
    """Return the bytes of ranges of files; what is missing is fetched first, several requests at once.

    - sources: the files; each is a `Source`, or a local file as a memoryview.
    - ranges: for each range the number of its file, its first byte, and its last byte + 1.
    """
    every = list(zip(*(numbers.tolist() for numbers in ranges), strict=True))
    wanted = dict.fromkeys(
        (f, one) for f, start, stop in every if not isinstance(sources[f], memoryview)
        for one in sources[f].missing(start, stop)
    )  # fmt: skip
    with ThreadPoolExecutor(min(THREADS, len(wanted)) or 1, thread_name_prefix="fetch") as threads:
        fetched = list(threads.map(lambda one: sources[one[0]].fetch(*one[1]), wanted))
    got = dict(zip(wanted, fetched, strict=True))
    return [got.get((f, (start, stop))) or sources[f][start:stop] for f, start, stop in every]
