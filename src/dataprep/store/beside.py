"""Replace several files with fixed names together; the new files are first written to OUT/_unfinished.

`commit` writes OUT/_unfinished/ready.json, the list of the new files; at this moment, the result changes. From then on,
`at` finds the new files, in OUT/_unfinished or, once they are moved, in OUT. Each step can be repeated, so `recover`
completes an interrupted commit. Other programs open the files by their names in OUT; for them, the result changes while
the files are renamed. Only the standard library is imported, since the trainer also uses this module.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from dataprep.errors import DataprepError, StaleOutput

from .atomic import check_leases, full_disk_said, is_attempt, journal_of, journaled, note, remove_empty, sync, whole

T = TypeVar("T")
UNFINISHED = "_unfinished"  # the name that `core/output` gives to the same folder
READY = "ready.json"
READINGS = 5  # maximum number of attempts to read files that are replaced meanwhile


@dataclass(frozen=True)
class Ready:
    """The names of the files of a new result, and of the old files to delete, as paths relative to the folder."""

    files: tuple[str, ...]
    gone: tuple[str, ...]


def home(out: str | os.PathLike[str]) -> str:
    """Return the folder in which the next files of the local folder `out` are written."""
    return os.path.join(out, UNFINISHED)


def ready(out: str | os.PathLike[str]) -> Ready | None:
    """Return the new files of `out` from a commit that is in progress or was killed; None without such a commit."""
    try:
        with open(os.path.join(home(out), READY), encoding="utf-8") as f:
            found = json.load(f)
        return Ready(tuple(found["files"]), tuple(found["gone"]))
    except (OSError, ValueError, KeyError, TypeError):  # a file of this name that `commit` did not write
        return None


def at(path: str) -> str:
    """Return the current path of a file of the result: `path`, or its path in OUT/_unfinished during a commit."""
    out, name = os.path.split(path)
    found, new = ready(out), os.path.join(home(out), name)
    if found is None or name not in (*found.files, *found.gone):
        return path
    return new if name in found.gone or os.path.exists(new) else path


def commit(out: str | os.PathLike[str], names: Iterable[str], gone: Iterable[str] = ()) -> None:
    """Make the files `names` in OUT/_unfinished the result of `out`; delete the files `gone` of the old result.

    Raises StaleOutput if a folder exists at the path of one of the files.
    """
    names = sorted(set(names))
    for path in (os.path.join(out, name) for name in names):
        if os.path.isdir(path):
            msg = f"{path} is a folder, but the result needs a file there; remove it, or choose another folder as out"
            raise StaleOutput(msg)
    with whole(os.path.join(home(out), READY)) as f:
        f.write(json.dumps({"files": names, "gone": sorted(set(gone) - set(names))}).encode())
    recover(out)


def recover(out: str | os.PathLike[str]) -> None:
    """Complete a killed commit in the local folder `out`, if there is one."""
    found = ready(out)
    if found is None:
        return
    moves = [(os.path.join(home(out), name), os.path.join(out, name)) for name in found.files]
    moves = [(old, new) for old, new in moves if os.path.exists(old)]
    with full_disk_said(out):
        for folder in {os.path.dirname(new) for _, new in moves}:
            os.makedirs(folder, exist_ok=True)
        note(*(new for _, new in moves))
        for old, new in moves:
            os.replace(old, new)
        for name in found.gone:
            check_leases(os.path.join(out, name))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(out, name))
        sync({os.fspath(out), *(os.path.dirname(new) for _, new in moves)})
    os.unlink(os.path.join(home(out), READY))
    for folder in (home(out), *(os.path.dirname(old) for old, _ in moves)):
        remove_empty(folder, above=os.fspath(out))


def discard(out: str | os.PathLike[str], names: Collection[str] | None = None) -> None:
    """Delete the unfinished files `names` of `out`; None: all that dataprep created, according to the journal.

    Nothing is deleted if a commit has begun.
    """
    if ready(out) is not None:
        return
    journal = journal_of(home(out)) if names is None else None
    ours = journaled(journal) if journal else {os.path.abspath(os.path.join(home(out), name)) for name in names or ()}
    for folder, _, found in os.walk(home(out), topdown=False):
        for path in (os.path.join(folder, name) for name in found):
            if os.path.abspath(path) in ours or (names is None and is_attempt(os.path.basename(path))):
                check_leases(path)
                os.unlink(path)
        remove_empty(folder, above=os.fspath(out))


def steady(out: str | os.PathLike[str], read: Callable[[], T]) -> T:
    """Return `read()`, which reads several files of the result in `out`; repeat the call if they were replaced."""
    for _ in range(READINGS - 1):
        before = _state(out)
        try:
            found = read()
        except (DataprepError, OSError):
            if _state(out) == before:
                raise
            continue
        if _state(out) == before:
            return found
    return read()


def _state(out: str | os.PathLike[str]) -> tuple[int, Ready | None]:
    """Return a value that changes if a file of `out` is replaced."""
    try:
        return os.stat(out).st_mtime_ns, ready(out)
    except OSError:
        return 0, None
