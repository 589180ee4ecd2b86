"""Lease: a lock so that only one process at a time writes into an output folder.

The file OUT/.dataprep-lease states the process id and the host of the process that may write, and the boot id of the
host. This process locks the file and, while it runs, updates the file's modification time. The lock ends when the
process ends, so no cleanup is needed after a killed run. If the file system has no locks, or does not show the locks of
other hosts, a lease with an old modification time is considered expired. Object stores have no locks; `remote_lease.py`
has their leases. At first, only the standard library is imported, since the trainer also uses this module.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import inspect
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

from dataprep.errors import DataprepError, InUse, PlanError, taken

from . import failure, newer
from .atomic import full_disk_said, leased, leased_folders
from .stopping import clean_end

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

F = TypeVar("F", bound=Callable[..., Any])
Check = Callable[[], None]
NAME = ".dataprep-lease"
OURS = (".dataprep-journal", "manifest.json", "recipe.json", "run.json")  # one of them is in a folder of results
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # a link there would lead to another user's file
BEAT, STALE = 10.0, 60.0  # seconds between heartbeats, and after which a holder on another host counts as dead


@contextlib.contextmanager
def all_held(folders: Iterable[str]) -> Iterator[None]:
    """Hold the leases of several output folders inside the `with` block, as `held` does."""
    with contextlib.ExitStack() as stack:
        for folder in sorted(set(folders)):
            stack.enter_context(held(folder))
        yield


def holder(folder: str) -> dict[str, str | int] | None:
    """Return {"pid", "host"} of the process that holds the lease of a folder; None if no process holds it.

    Nothing is written.
    """
    if _is_remote(folder):
        from .remote_lease import holder_there

        return holder_there(folder, NAME, STALE)
    folder = folder.removeprefix("file://")
    path = os.path.join(folder, NAME)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # opening a pipe would block
    except OSError:
        return None
    try:
        locked, stated = _lock(descriptor), _holder(descriptor)
        here = stated.get("host") == socket.gethostname()
        lives = here and _lives(stated, descriptor, path, locks=bool(locked))
        recent = time.time() - os.fstat(descriptor).st_mtime < STALE
        if locked is False or lives or (bool(stated) and not here and recent):  # a truncated lease
            return {"pid": stated.get("pid", "?"), "host": stated.get("host", "?")}
        return None
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def held(folder: str, *, anywhere: bool = False) -> Iterator[None]:
    """Hold the lease (exclusive right to write) of an output folder inside the `with` block; create the folder.

    If another process takes the lease, which is possible if this process was suspended, this process can no longer
    make files or results in the folder: `atomic.check_leases` raises InUse.

    Folders that are created and remain empty are deleted again. SIGTERM ends the block as Ctrl-C does.

    - anywhere: whether to skip the check that results may be written into the folder.

    Raises InUse if another process or thread holds the lease, PlanError if results may not be written into the folder
    (see `check_place`), or if its URL would be read as a pattern, NewerFormat if a newer dataprep wrote into it, and
    DataprepError if it cannot be written.
    """
    newer.refuse(folder)
    if _is_remote(folder):
        from .remote_lease import held_there  # with what reads URLs, which the trainer does not need

        if sign := next((c for c in folder if c in "*?["), None):
            msg = f"{folder} has {sign}, which makes the URL a pattern when it is read; choose another folder as out"
            raise PlanError(msg)
        with held_there(folder, NAME, STALE) as check, clean_end(folder), _or_taken(check), leased(folder, check):
            yield
        return
    if not anywhere:
        check_place(folder)
    home = folder.removeprefix("file://")
    made = _missing(home)
    try:
        with full_disk_said(folder):
            os.makedirs(home, exist_ok=True)
            descriptor = _acquired(os.path.join(home, NAME), folder)
    except OSError as e:
        state = "it is a file" if os.path.isfile(home) else e.strerror or str(e)
        if os.path.islink(home) and not os.path.exists(home):
            state = "it is a broken link"
        msg = f"{folder} cannot be written ({state}); choose another folder as out, or change its permissions"
        raise DataprepError(msg) from e
    done = threading.Event()
    beats = threading.Thread(target=_beat, args=(descriptor, done), daemon=True)
    beats.start()
    check = functools.partial(_check, descriptor, os.path.join(home, NAME), folder)
    try:
        with clean_end(folder), failure.noted(home), _or_taken(check, home), leased(home, check):
            yield
    finally:
        done.set()
        beats.join()
        with contextlib.suppress(OSError, InUse):
            check()
            os.unlink(os.path.join(home, NAME))  # before the lock ends, so that nobody locks a name that is gone
        with contextlib.suppress(OSError):
            for new in made:
                os.rmdir(new)  # unless something was written
        os.close(descriptor)


def for_workers() -> tuple[list[str], dict[str, str | int]]:
    """Return the local folders whose leases this process holds, and what these state, for its workers."""
    return leased_folders(), _this_process()


@contextlib.contextmanager
def worked_for(folders: Iterable[str], holder: Mapping[str, str | int]) -> Iterator[None]:
    """Make no file in `folders` inside the `with` block, in a worker process, once their leases state another holder.

    - folders, holder: as `for_workers` returned them in the process that sent the task.
    """
    with contextlib.ExitStack() as stack:
        for folder in folders:
            stack.enter_context(leased(folder, functools.partial(_check_holder, folder, holder)))
        yield


def _check_holder(folder: str, holder: Mapping[str, str | int]) -> None:
    """Raise InUse if the lease of a folder states another process; one that was released is not there."""
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(os.path.join(folder, NAME), os.O_RDONLY)
        try:
            stated = _holder(descriptor)
        finally:
            os.close(descriptor)
        if stated != holder:
            raise taken(folder.rstrip("/"), stated.get("host"))


@contextlib.contextmanager
def _or_taken(check: Check, home: str | None = None) -> Iterator[None]:
    """If an error ends the `with` block after another process took the lease, raise InUse, which is its reason.

    - home: the path of a local folder.
    """
    try:
        yield
    except Exception as e:
        if home is None or os.path.isdir(home):  # if it was removed, that is the reason
            try:
                check()
            except InUse as taken_over:
                raise taken_over from e
            except (OSError, DataprepError):  # the store cannot be reached
                pass
        raise


def _is_remote(folder: str) -> bool:
    return "://" in folder and not folder.startswith("file://")


def sweep(folder: str) -> None:
    """Delete the lease of a local folder if the process that held it was killed and the folder can be written."""
    path = os.path.join(folder, NAME)
    with contextlib.suppress(OSError, InUse):
        if os.path.exists(path):
            descriptor = _acquired(path, folder)
            os.unlink(path)
            os.close(descriptor)


def check_place(folder: str) -> None:
    """Raise PlanError if results may not be written into the local folder `folder`, or searched for in it.

    Such folders are the root of all files, the user's home folder, and a folder with .git that has no results yet.
    """
    home = "/" if folder == "file:" else folder.removeprefix("file://")  # of file:/// without its slashes
    if not home:
        msg = f"out={folder!r} must be the path of a folder to write to"
        raise PlanError(msg)
    real, what = os.path.realpath(home), ""
    if real == os.path.dirname(real):
        what = "the root of all files"
    elif real == os.path.realpath(os.path.expanduser("~")):
        what = "the home folder"
    elif os.path.exists(os.path.join(real, ".git")) and not any(os.path.exists(os.path.join(real, n)) for n in OURS):
        what = "the root of a project (it has .git)"
    if what:
        msg = f"{folder} is {what}; results need a folder of their own, such as {os.path.join(folder, 'out')}"
        raise PlanError(msg)


def _missing(path: str) -> list[str]:
    """Return the folders that must be created for the folder `path`, itself first."""
    found: list[str] = []
    path = os.path.abspath(path)
    while not os.path.lexists(path):
        found.append(path)
        path = os.path.dirname(path)
    return found


def writes(make: F) -> F:
    """Return `make`, wrapped so that it holds the lease of the folder in its parameter `out` while it runs."""
    signature = inspect.signature(make)

    @functools.wraps(make)
    def holding(*given: Any, **named: Any) -> Any:
        out = os.fspath(signature.bind(*given, **named).arguments["out"])
        with held(out.rstrip("/") or out[:1]):
            return make(*given, **named)

    return cast("F", holding)


def _acquired(path: str, folder: str) -> int:
    """Return an open, locked lease file that states this process."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o644)
        try:
            locked = _lock(descriptor)
            holder = _holder(descriptor)
            if locked is False or (holder and _lives(holder, descriptor, path, locks=locked is True)):
                pid, host = holder.get("pid", "?"), holder.get("host", "?")
                msg = f"{folder} is in use by pid {pid} on host {host}; wait until it is done, or choose another folder"
                raise InUse(msg)  # noqa: TRY301 - the descriptor is closed below
            if os.path.exists(path) and os.path.samestat(os.fstat(descriptor), os.stat(path)):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, json.dumps(_this_process()).encode(), 0)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has just removed it: a new one is created


def _lock(descriptor: int) -> bool | None:
    """Lock a file; return False if another process holds the lock, None if the file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        return False if e.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES) else None
    return True


def _check(descriptor: int, path: str, folder: str) -> None:
    """Raise InUse unless `path` is the lease that this process opened, and names it."""
    stated = _holder(descriptor)
    if not os.path.exists(path) or not os.path.samestat(os.fstat(descriptor), os.stat(path)):
        raise taken(folder, None)
    if stated != _this_process():
        raise taken(folder, stated.get("host"))


def _this_process() -> dict[str, str | int]:
    return {"pid": os.getpid(), "host": socket.gethostname(), "boot": _boot()}


def _boot() -> str:
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        return f.read().strip()
    return ""


def _holder(descriptor: int) -> dict[str, str | int]:
    """Return the content of a lease; empty if it is new, truncated or a pipe."""
    with contextlib.suppress(ValueError, OSError):
        found = json.loads(os.pread(descriptor, 1 << 12, 0))
        return found if isinstance(found, dict) else {}
    return {}


def _lives(holder: dict[str, str | int], descriptor: int, path: str, *, locks: bool) -> bool:
    """Return whether the holder stated in a lease may still be writing."""
    if holder.get("host") == socket.gethostname():
        return not locks and holder.get("boot") == _boot() and _runs(int(holder.get("pid", 0)))
    now = f"{path}.{os.getpid()}.now"  # the clock of the file system, not of this host
    os.close(os.open(now, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINK, 0o644))
    clock = os.stat(now).st_mtime
    os.unlink(now)
    return clock - os.fstat(descriptor).st_mtime < STALE


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _beat(descriptor: int, done: threading.Event) -> None:
    while not done.wait(BEAT):
        with contextlib.suppress(OSError):
            os.utime(descriptor)
