"""The lease of a remote output folder: an object that names the process that may write, which it rewrites as it runs.

The object is OUT/.dataprep-lease.N. Whoever finds no object of a live process creates the one with the next N, which
only one process can do, and looks again: if another one has appeared in the meantime, it was created from an older
view, and this process gives way. Two processes can therefore not both hold the lease in a store whose listings show
every object that was created before (as those of S3, Google Cloud Storage and Azure do). The age of a lease is the
difference of two times of the store: the clocks of machines are not compared.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from dataprep.errors import DataprepError, InUse, ReadError, taken

from . import files
from .claims import Heartbeats, is_gone, listed, this_process
from .remote import NETWORK


@contextlib.contextmanager
def held_there(folder: str, name: str, stale: float) -> Iterator[Callable[[], None]]:
    """Hold the lease of a remote folder inside the `with` block.

    Yields a function that raises InUse if another process has taken the lease.

    - name: the name of the object, without its number.
    - stale: the seconds without a heartbeat after which a process on another machine is considered dead.

    Raises InUse if another process or thread holds the lease, and DataprepError if the folder cannot be written.
    """
    mine = _acquired(folder, name, stale)
    try:
        with Heartbeats() as beats, beats.of(mine):
            yield lambda: _check(folder, name, mine)
    finally:
        files.remove(mine)


def holder_there(folder: str, name: str, stale: float) -> dict[str, str | int] | None:
    """Return {"pid", "host"} of the process that holds the lease of a remote folder; None if no process holds it.

    Nothing is written: the age of a lease is its time by the store, compared with the clock of this machine.

    - name, stale: as in `held_there`.
    """
    for one, changed in files.changed(folder).items():
        if one.startswith(f"{name}.") and time.time() - changed < stale:
            named = _content(files.join(folder, one))
            if named and not is_gone(named):
                return {"pid": named.get("pid", "?"), "host": _host(named)}
    return None


def _acquired(folder: str, name: str, stale: float) -> str:
    """Return the URL of the lease that this process has created."""
    try:
        before = _leases(folder, name)
        for url in before:
            _refuse_live(folder, url, stale)
        number = max(map(_number, before), default=0) + 1
        mine = files.join(folder, f"{name}.{number}")
        if not files.create(mine, this_process()):
            _refuse_live(folder, mine, stale)
            return _acquired(folder, name, stale)  # its process ended at once
        now = _leases(folder, name)
        others = [url for url in now if url != mine and now[url] != before.get(url)]
        if others:
            files.remove(mine)
            raise _in_use(folder, _content(others[0]))
    except (NotImplementedError, OSError, ValueError) as e:
        if isinstance(e, NETWORK):
            raise
        msg = f"{folder} cannot be written ({e}); check the URL and the credentials"
        raise DataprepError(msg) from e
    for url in before:
        files.remove(url)
    return mine


def _check(folder: str, name: str, mine: str) -> None:
    """Raise InUse unless the lease `mine` is there and no other process has created a later one."""
    last = max(_leases(folder, name), key=_number, default="")
    if last != mine:
        raise taken(folder, _content(last).get("machine") if last else None)


def _number(url: str) -> int:
    return int(url.rpartition(".")[2])


def _leases(folder: str, name: str) -> dict[str, object]:
    """Return the URLs of the leases of a folder, with values that change if a lease does."""
    found = {one: value for one, value in listed(folder).items() if one.startswith(f"{name}.")}
    return {files.join(folder, one): value for one, value in found.items() if one.rpartition(".")[2].isdigit()}


def _content(url: str) -> Mapping[str, Any]:
    """Return the content of a lease; empty if it has just been removed."""
    with contextlib.suppress(ReadError):
        found: Mapping[str, Any] = orjson.loads(files.read(url))
        return found
    return {}


def _refuse_live(folder: str, url: str, stale: float) -> None:
    """Raise InUse unless the process of a lease has ended, or has not rewritten it for `stale` seconds."""
    named = _content(url)
    if named and is_gone(named):
        return
    now = f"{url}.now"
    files.write_bytes(now, b"")
    try:
        fs, path = files.fs_of(url)
        age = (fs.modified(files.fs_of(now)[1]) - fs.modified(path)).total_seconds()
    except FileNotFoundError:  # the lease has just been removed
        age = 0.0
    finally:
        files.remove(now)
    if age < stale:
        raise _in_use(folder, named)


def _in_use(folder: str, named: Mapping[str, Any]) -> InUse:
    msg = f"{folder} is in use by pid {named.get('pid', '?')} on host {_host(named)}; "
    return InUse(msg + "wait until it is done, or choose another folder")


def _host(named: Mapping[str, Any]) -> str:
    """Return the host name of the process that a lease names."""
    return str(named.get("machine", "?")).partition(" ")[0]
