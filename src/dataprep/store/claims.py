"""Claims and heartbeats: files by which processes on any machines agree who does a task, and who is still alive.

A claim is a file that only one process can create: locally with O_EXCL, on an object store by a conditional PUT
(If-None-Match). A live process changes its files repeatedly. Another process considers it dead if it saw no change for
long enough by its own clock; the clocks of machines are not compared.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import orjson

from dataprep.errors import PlanError, ReadError

from . import files
from .remote import NETWORK, answered

BEAT, SPARSE = 5.0, 3  # seconds between heartbeats; on an object store, where each is a request, every third one


@cache
def machine() -> str:
    """Return a name of this machine and, in a container, of the container if it numbers its processes itself.

    The host name is not enough: containers share it that use the network of their machine, and so do copied machines.
    """
    found = [socket.gethostname()]
    with contextlib.suppress(OSError, ReadError):  # only Linux has these files
        with files.open_raw("/proc/sys/kernel/random/boot_id") as f:
            found.append(f.read().decode().strip())
        found.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(found)


def claim(url: str) -> bool:
    """Create the file `url`, which names this process; return whether it was created by this call.

    Nothing is created in a local folder that another process has removed.
    """
    try:
        return files.create(url, this_process())
    except (FileNotFoundError, ReadError):  # or another process's file has just been removed
        return False


def this_process() -> bytes:
    """Return the content of a file that names this process, which is never the same twice."""
    return orjson.dumps({"machine": machine(), "pid": os.getpid(), "is": uuid.uuid4().hex})


def check_store(folder: str) -> None:
    """Raise PlanError unless exactly one process can create a file in the remote `folder`."""
    if files.is_local(folder):
        return
    url = files.join(folder, f".exclusive-{uuid.uuid4().hex}")
    try:
        if files.create(url, b"1") and not files.create(url, b"2"):
            return
        why = "the store replaces files that exist"
    except NETWORK:
        raise
    except Exception as e:  # noqa: BLE001 - of any client
        why = f"{type(e).__name__}: {e}"
    finally:
        with contextlib.suppress(Exception):  # the error is told above
            files.remove(url)
    msg = (
        f"{folder} cannot be a queue ({why}); check the URL and the credentials, and use a store with conditional "
        "writes (If-None-Match), such as Amazon S3, or a folder of a shared file system"
    )
    raise PlanError(msg)


def listed(folder: str) -> dict[str, object]:
    """Return the names in a folder; for a remote one, with values that change if a file changes, in one request."""
    if files.is_local(folder):
        return dict.fromkeys(files.listdir(folder))
    fs, path = files.fs_of(folder)
    try:
        with answered(folder):
            found = fs.ls(path, detail=True)
    except FileNotFoundError:
        return {}
    return {files.name_of(one["name"]): str(one) for one in found}


class Heartbeats:
    """A thread that changes files every few seconds, as a sign that this process lives; a context manager."""

    def __init__(self) -> None:
        self._urls: set[str] = set()
        self._lock = threading.Lock()  # held while a file is changed, so that none is changed after its block
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Heartbeats:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @contextlib.contextmanager
    def of(self, url: str) -> Iterator[None]:
        """Change the file `url` every few seconds during the `with` block."""
        with self._lock:
            self._urls.add(url)
        try:
            yield
        finally:
            with self._lock:
                self._urls.discard(url)

    def _beat(self) -> None:
        n = 0
        while not self._ended.wait(BEAT):
            n += 1
            with self._lock:
                for url in self._urls:
                    if files.is_local(url):
                        with contextlib.suppress(OSError):  # it was removed: try again next time
                            os.utime(files.path_of(url))
                    elif n % SPARSE == 0:
                        with contextlib.suppress(Exception):  # of any client: try again next time
                            files.version(url)  # an error if another process took it over and removed it
                            files.write_bytes(url, this_process())


class Watch:
    """Observes for how long the files of other processes have not changed."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[object, float]] = {}
        self._named: dict[str, dict[str, Any]] = {}

    def silent(self, url: str, among: Mapping[str, object] | None = None) -> float:
        """Return the seconds since this object last saw a change of a file; infinity if the file does not exist.

        The result is also infinity if the process that the file names ran on this machine and has ended.

        - among: what `listed` returned for the folder of the file, which saves a request.
        """
        name = files.name_of(url)
        try:
            if among is not None and name not in among:
                raise FileNotFoundError(url)
            version = (among or {}).get(name) or files.version(url)
            if self._has_ended(url):
                return float("inf")
        except (OSError, ReadError):
            self._seen.pop(url, None)
            self._named.pop(url, None)
            return float("inf")
        now = time.monotonic()
        before, since = self._seen.get(url, (None, now))
        self._seen[url] = (version, since if before == version else now)
        return now - self._seen[url][1]

    def _has_ended(self, url: str) -> bool:
        """Return whether the process that a file names ran on this machine and has ended."""
        if url not in self._named or is_gone(self._named[url]):  # or another process has claimed it since
            try:
                self._named[url] = orjson.loads(files.read(url))
            except orjson.JSONDecodeError:  # it is being written
                return False
        return is_gone(self._named[url])


def is_gone(named: Mapping[str, Any]) -> bool:
    """Return whether a process ran on this machine and has ended."""
    if named["machine"] != machine():
        return False
    try:
        os.kill(named["pid"], 0)
    except ProcessLookupError:
        return True
    except OSError:  # a process of another user
        return False
    return False
