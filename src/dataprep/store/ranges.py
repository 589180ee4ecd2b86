"""Read ranges of bytes of remote files: exactly the bytes that are asked for, with one request per range.

Only the standard library and numpy are imported, since the trainer also uses this module; fsspec is imported when the
first URL is read.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.errors import CorruptShard, Replaced, Transient

from .atomic import is_path, read_bytes

THREADS = 32  # requests at once: a request to an object store waits about 30 ms for its first byte
WAITS = (1, 2, 4, 8)  # seconds before a failed request is repeated
BLOCK, RECENT = 1 << 14, 64  # bytes that a search reads at once, and blocks in memory
GAPS = 4  # a range is read whole if it has at most this many times the wanted items


def is_url(folder: str | os.PathLike[str]) -> bool:
    """Return whether `folder` is a URL such as s3://bucket/a, and not a path or file:///a."""
    return isinstance(folder, str) and not is_path(folder) and not folder.startswith("file://")


def located(folder: Path | str, name: str) -> Path | str:
    """Return the path of the file `name` in a folder, or, if the folder is a URL, its URL.

    Raises NotInstalled, which names the folder, if the package for the URL is not installed.
    """
    if not isinstance(folder, str):
        return folder / name
    from . import remote

    remote.check_installed(folder)
    return f"{folder.rstrip('/')}/{name}"


def read(url: str | os.PathLike[str], start: int = 0, stop: int | None = None) -> bytes:
    """Return the bytes start to stop - 1 of a remote file; `stop` None: to its end. A local file is read whole.

    A request to a server that does not answer is repeated for 15 seconds. Raises FileNotFoundError if there is no such
    file, CorruptShard if it ends before `stop`, Transient if the server does not answer, and PlanError if no installed
    package can open the URL.
    """
    if not is_url(url):
        return read_bytes(url)
    for wait in WAITS:
        with contextlib.suppress(Transient):
            return _requested(os.fspath(url), start, stop)
        time.sleep(wait)
    return _requested(os.fspath(url), start, stop)


def _requested(url: str, start: int, stop: int | None) -> bytes:
    from . import remote

    if stop is None and not start:
        return remote.read(url)
    return _checked(bytes(remote.ask(url, "cat_file", start=start, end=stop)), url, start, stop)


def _checked(data: bytes, url: str, start: int, stop: int | None) -> bytes:
    if stop is not None and len(data) != stop - start:
        msg = f"{url}: it has {len(data):,} bytes from byte {start:,} on, not {stop - start:,}; its content has changed"
        raise CorruptShard(msg)
    return data


def sizes(folder: str, names: Iterable[str]) -> dict[str, int]:
    """Return the sizes in bytes of the files `names` that a folder has, as {name: size}; missing files are left out.

    - folder: the folder's URL. An object store is asked for one listing, a web server for each file.
    """
    from . import remote

    (fs, path), listed = remote.fs_of(folder), {}
    with remote.answered(folder):
        with contextlib.suppress(FileNotFoundError, NotImplementedError):
            listed = {one["name"].rstrip("/").rpartition("/")[2]: one.get("size") for one in fs.ls(path, detail=True)}
        found = {}
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                size = listed.get(name)
                found[name] = int(fs.size(f"{path.rstrip('/')}/{name}") if size is None else size)
    return found


class RemoteArray:
    """A file of numbers at a URL as an array with one dimension; each access requests exactly the bytes that it needs.

    >>> tokens = RemoteArray("s3://bucket/shards/train-00000.bin", np.dtype("<u2"), 100_000_000)
    >>> tokens[5_000:5_004]
    array([ 464, 2159,   13,  257], dtype=uint16)

    Attributes:
        url: the URL of the file.
        dtype: the type of the numbers.
    """

    def __init__(self, url: str, dtype: np.dtype[Any], n: int) -> None:
        self.url, self.dtype, self._n = url, dtype, n

    def __len__(self) -> int:
        return self._n

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        every: npt.NDArray[Any] = self[:]
        return every if dtype is None else every.astype(dtype, copy=False)

    def __getitem__(self, at: Any) -> Any:
        """Return the numbers in a slice or at the indexes of an array, or the number at one index."""
        if isinstance(at, int):
            return self[at : at + 1][0]
        if not isinstance(at, slice):
            return self._at(np.asarray(at, np.int64))
        start, stop, step = at.indices(self._n)
        if step != 1:
            return self[:][at]
        size = self.dtype.itemsize
        return np.frombuffer(self.bytes(start * size, stop * size), self.dtype)

    def _at(self, indexes: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the numbers at `indexes`, which may be in any order; indexes near each other are read at once."""
        if not len(indexes):
            return np.zeros(0, self.dtype)
        order = np.unique(indexes)
        if order[-1] - order[0] < GAPS * len(order):
            every, at = self[int(order[0]) : int(order[-1]) + 1], indexes - order[0]
        else:
            first = np.flatnonzero(np.diff(order, prepend=order[0] - 2) != 1)
            runs = zip(order[first].tolist(), np.append(order[first[1:] - 1], order[-1]).tolist(), strict=True)
            with ThreadPoolExecutor(THREADS, thread_name_prefix="ranges") as threads:
                pieces = list(threads.map(lambda run: self[run[0] : run[1] + 1], runs))
            every, at = np.concatenate(pieces), np.searchsorted(order, indexes)
        found: npt.NDArray[Any] = every[at]
        return found

    def bytes(self, start: int, stop: int) -> bytes:
        """Return the bytes start to stop - 1 of the file. Raises Replaced if the file was removed."""
        if stop <= start:
            return b""
        try:
            return read(self.url, start, stop)
        except FileNotFoundError as e:
            msg = f"{self.url} no longer exists, since its result was replaced; open the result again"
            raise Replaced(msg) from e


class SearchedArray(RemoteArray):
    """A file of numbers at a URL that a binary search reads: blocks of 16 KiB, the last 64 of which stay in memory."""

    def __init__(self, url: str, dtype: np.dtype[Any], n: int) -> None:
        super().__init__(url, dtype, n)
        self._block = functools.lru_cache(RECENT)(self._fetched)

    def _fetched(self, number: int) -> bytes:
        stop = min((number + 1) * BLOCK, len(self) * self.dtype.itemsize)
        return super().bytes(number * BLOCK, stop)

    def bytes(self, start: int, stop: int) -> bytes:
        """Return the bytes start to stop - 1 of the file. Raises Replaced if the file was removed."""
        if stop - start > BLOCK:
            return super().bytes(start, stop)
        blocks = [self._block(k) for k in range(start // BLOCK, -(-stop // BLOCK))]
        first = start // BLOCK * BLOCK
        return b"".join(blocks)[start - first : stop - first]
