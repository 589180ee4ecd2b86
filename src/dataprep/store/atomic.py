"""Local files that appear complete or not at all, and the journal, a list of the files created in an output folder.

Only the standard library is imported, since the trainer also uses this module.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import re
import stat
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from dataprep.errors import DataprepError

JOURNAL = ".dataprep-journal"  # in an output folder: per line the relative path of a file created there
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
DEPTH = 8  # folders above a file that are searched for a journal
THREADS = 8  # files synced at once: the disk then writes them together
_LINE = re.compile(rb'(".*") ([0-9a-f]{8})')  # a path and the CRC-32 of its JSON
_ATTEMPT = re.compile(r"\..+\.[0-9a-f]{12}\.tmp", re.DOTALL)
_LEASES: list[tuple[str, int, Callable[[], None]]] = []  # those that this process holds: folder, process, check


@contextlib.contextmanager
def whole(path: str | os.PathLike[str], *, synced: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write; it appears under `path` only if the `with` block ends without an error.

    The file is written under a temporary hidden name, synced to disk, and renamed. Then the folder is synced, so that
    the new name also survives a crash. A new file is entered into the journal (list of created files) of its output
    folder. InUse is raised instead if this process held the lease of a folder around it, and another took it over.

    - synced: if False, the file, its name and its line in the journal may be lost in a crash of the machine until
      `sync`. This value is for files of tasks, whose receipts reveal a loss.

    Raises DataprepError if the disk is full, or if `path` cannot be written, for example because it is a folder.
    """
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    attempt = os.path.join(folder, f".{os.path.basename(path)}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with full_disk_said(path):
            with _writable(path):
                os.makedirs(folder, exist_ok=True)
                note(path, synced=synced)
                opened = open(attempt, "wb")  # noqa: SIM115 - closed below
            with opened as f:
                yield f
                f.flush()
                if synced:
                    os.fsync(f.fileno())
            check_leases(path)
            with _writable(path):
                os.replace(attempt, path)
            if synced:
                _sync(folder)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(attempt)


@contextlib.contextmanager
def leased(folder: str, check: Callable[[], None]) -> Iterator[None]:
    """Call `check` in `check_leases` of paths in `folder` inside the `with` block.

    - check: a function that raises InUse if another process has taken the lease of the folder.
    """
    lease = f"{_place(folder).rstrip('/')}/", os.getpid(), check
    _LEASES.append(lease)
    try:
        yield
    finally:
        _LEASES.remove(lease)


def check_leases(path: str) -> None:
    """Raise InUse if another process has taken a lease that this process holds, of `path` or a folder around it.

    `whole` does this for each local file. On an object store, where each check is a request, it is done before a result
    is replaced.
    """
    for folder, process, check in _LEASES[:]:
        if process == os.getpid() and f"{_place(path)}/".startswith(folder):  # a forked process holds no lease
            check()


def leased_folders() -> list[str]:
    """Return the local folders whose leases this process holds."""
    return [folder for folder, process, _ in _LEASES[:] if process == os.getpid() and is_path(folder)]


def _place(url: str) -> str:
    path = url.removeprefix("file://")
    return os.path.abspath(path) if is_path(path) else path


@contextlib.contextmanager
def full_disk_said(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise a DataprepError that names `path` if the disk is full when the `with` block writes."""
    try:
        yield
    except OSError as e:
        if e.errno not in FULL:
            raise
        why = ", or a file must not be so large (ulimit -f)" if e.errno == errno.EFBIG else ""
        msg = f"{os.fspath(path)}: the disk is full{why}; free some space and run again; finished parts are kept"
        raise DataprepError(msg) from e


@contextlib.contextmanager
def _writable(path: str) -> Iterator[None]:
    """Raise DataprepError if the `with` block cannot write `path`, or if `path` is a folder or a device."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # /dev/null would become a file
            state = "it is a folder" if os.path.isdir(path) else "it is not a file"
            raise OSError(errno.EEXIST, state)  # noqa: TRY301 - said below, as every other reason is
        yield
    except OSError as e:
        if e.errno in FULL:
            raise
        do = "remove it" if e.errno == errno.EEXIST else "change its permissions"
        msg = f"{path} cannot be written ({e.strerror or e}); choose another path, or {do}"
        raise DataprepError(msg) from e


def _sync(path: str) -> None:
    with full_disk_said(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync(paths: Iterable[str]) -> None:
    """Sync local files to disk, and folders, so that the new names of renamed files survive a crash."""
    with ThreadPoolExecutor(THREADS, thread_name_prefix="sync") as threads:
        list(threads.map(_sync, paths))


def regular(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return `path` if it can be opened. Raises OSError if it does not exist, or is a folder, a pipe or a device.

    Opening a pipe would block until another process writes into it.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise PermissionError(0, "it is a pipe or a device")
    return path


def is_path(url: str) -> bool:
    """Return whether `url` is a path, which is opened unchanged, and not a URL such as s3://bucket/a or file:///a."""
    return "://" not in url


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file. Raises OSError if it cannot be read, or is a pipe or a device."""
    with open(regular(path), "rb") as f:
        return f.read()


def is_attempt(name: str) -> bool:
    """Return whether a file name is the temporary name of an unfinished file, left by a running or a killed writer."""
    return _ATTEMPT.fullmatch(name) is not None


def sweep_attempts(path: str) -> None:
    """Delete temporary files that killed writers of the file `path` left; call this only while no process writes it."""
    folder, name = os.path.split(os.path.abspath(path))
    for found in os.listdir(folder) if os.path.isdir(folder) else ():
        if is_attempt(found) and found[1 : -len(".0123456789ab.tmp")] == name:
            os.unlink(os.path.join(folder, found))


def remove_empty(folder: str, above: str) -> None:
    """Delete a local folder if it is empty, then each parent folder that becomes empty, but never `above`."""
    folder, above = os.path.abspath(folder), os.path.abspath(above)
    with contextlib.suppress(OSError):  # not empty
        while folder.startswith(above.rstrip("/") + "/"):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def note(*paths: str, synced: bool = True) -> None:
    """Enter the paths of files that will be created into the journal (list of created files) of their output folder.

    Files that already exist are left out. The function does nothing if no folder around the first file has a journal.

    - synced: if False, the lines may be lost in a crash of the machine. The next run adds the files again.
    """
    paths = tuple(path for path in paths if not os.path.lexists(path))
    journal = journal_of(paths[0]) if paths else None
    if journal is not None:
        names = [os.path.relpath(os.path.abspath(path), os.path.dirname(journal)) for path in paths]
        with open(journal, "ab") as f:  # a short append is one write, so that lines of several processes are not mixed
            f.write("".join(f"\n{_line(name)}" for name in names).encode())
            f.flush()
            if synced:
                os.fsync(f.fileno())  # else a power cut may keep the file and lose its line, and the file is nobody's


def journal_of(path: str) -> str | None:
    """Return the path of the journal (list of created files) of the nearest folder around `path` that has one.

    Returns None if there is no journal.
    """
    folder = os.path.abspath(path)
    for _ in range(DEPTH):
        journal = os.path.join(folder, JOURNAL)
        if is_journal(journal):
            return journal
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    return None


def is_journal(path: str) -> bool:
    """Return whether a file named like a journal is one; links, which may lead to a foreign file, are not."""
    return os.path.isfile(path) and not os.path.islink(path)


def journaled(journal: str) -> set[str]:
    """Return the absolute paths of the files that a journal (list of created files) names.

    An incomplete line, which a process leaves if it is killed during writing, is ignored.
    """
    return set(_inside(os.path.dirname(os.path.abspath(journal)), read_bytes(journal)))


def n_damaged(journal: str) -> int:
    """Return the number of lines of a journal (list of created files) that differ from the lines as written."""
    return sum(name is None for name in _names(read_bytes(journal)))


def is_cut(journal: str) -> bool:
    """Return whether only the last line of a journal is damaged, as if a process was killed while writing it."""
    *others, last = [*_names(read_bytes(journal))] or [""]
    return last is None and None not in others


@functools.lru_cache(2)  # while a run deletes its work files, the journal stays the same
def _inside(home: str, journal: bytes) -> frozenset[str]:
    """Return the absolute paths that a journal with this content, in the folder `home`, names."""
    return frozenset(os.path.normpath(os.path.join(home, name)) for name in _names(journal) if name is not None)


def _names(journal: bytes) -> Iterator[str | None]:
    """Yield the path that each line of a journal states; None for a line that is damaged or incomplete."""
    for line in filter(None, journal.splitlines()):
        stated = _LINE.fullmatch(line)
        is_whole = stated is not None and int(stated[2], 16) == zlib.crc32(stated[1])
        yield json.loads(stated[1]) if stated and is_whole else None


def _line(name: str) -> str:
    """Return the line of a journal that states the path `name`."""
    text = json.dumps(name)
    return f"{text} {zlib.crc32(text.encode()):08x}"


def begin_journal(folder: str, names: Iterable[str] = ()) -> None:
    """Write the journal of `folder`: a sorted list of the files that were created in it.

    The list contains the files in the earlier journal and the files `names`; files that do not exist are left out.

    - names: the paths of files, relative to `folder`.
    """
    journal = os.path.join(folder, JOURNAL)
    listed = {os.path.abspath(os.path.join(folder, name)) for name in names}
    listed |= journaled(journal) if is_journal(journal) else set()
    lines = sorted(_line(os.path.relpath(p, os.path.abspath(folder))) for p in listed if os.path.lexists(p))
    with whole(journal) as f:
        f.write("".join(f"{line}\n" for line in lines).encode())
