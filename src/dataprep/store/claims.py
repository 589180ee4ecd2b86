"""Claims and heartbeats: files by which processes on any machines agree who does a task, and see who still lives.

A claim is a file that only one process can create. While a process lives, it changes its files again and again. Another
process takes it for dead if it saw no change for long enough by its own clock; the clocks of machines are not compared.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from functools import cache

import orjson

from dataprep.errors import ReadError

from . import files

BEAT = 5.0  # seconds between heartbeats


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
    """Create the local file `url`, which names this process; return whether this process, and no other, created it.

    Nothing is created in a folder that another process has removed.
    """
    try:
        descriptor = os.open(files.path_of(url), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except (FileExistsError, FileNotFoundError):
        return False
    with os.fdopen(descriptor, "wb") as f:
        f.write(orjson.dumps({"machine": machine(), "pid": os.getpid()}))
    return True


class Heartbeats:
    """A thread that changes files every few seconds, as a sign that this process lives; a context manager."""

    def __init__(self) -> None:
        self._urls: set[str] = set()
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
        self._urls = {*self._urls, url}
        try:
            yield
        finally:
            self._urls = self._urls - {url}

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            for url in self._urls:
                with contextlib.suppress(OSError):  # it was removed, or the network failed: the next time
                    os.utime(files.path_of(url))


class Watch:
    """Sees for how long the files of other processes have not changed."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[object, float]] = {}

    def silent(self, url: str) -> float:
        """Return the seconds since the last change of a file that this object saw; infinity if there is no file.

        It is infinity, too, if the process that the file names ran on this machine and has ended.
        """
        try:
            version = files.version(url)
            if _has_ended(url):
                return float("inf")
        except (OSError, ReadError):
            self._seen.pop(url, None)
            return float("inf")
        now = time.monotonic()
        before, since = self._seen.get(url, (None, now))
        self._seen[url] = (version, since if before == version else now)
        return now - self._seen[url][1]


def _has_ended(url: str) -> bool:
    """Return whether the process that a file names ran on this machine and has ended."""
    with files.open_raw(url) as f:
        content = f.read()
    try:
        named = orjson.loads(content)
    except orjson.JSONDecodeError:  # it is being written
        return False
    if named["machine"] != machine():
        return False
    try:
        os.kill(named["pid"], 0)
    except ProcessLookupError:
        return True
    except OSError:  # a process of another user
        return False
    return False
