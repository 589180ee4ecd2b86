"""What a process of another machine needs before it does a task of this program: equal versions, and its folders."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import orjson
import pyarrow as pa

from dataprep.errors import DataprepError, ReadError
from dataprep.store import files, lease
from dataprep.store.claims import listed
from dataprep.unicode.kernel import numba_version

PROBE = ".dataprep-node."  # begins the names of files that only show that one can write, named as unfinished files are
NO_KERNELS = (
    "no compiled kernels, so that each process compiles them in its first tasks, which takes minutes; run `make setup` "
    "there, or install a wheel that `make wheel` built"
)
SAME = "install the same versions there, or pass runtime_env="
STDLIB = f"python{sys.version_info.major}{sys.version_info.minor}.zip"  # in `sys.path` behind the user's own folders


def versions() -> dict[str, str]:
    """Return the versions that a Runner's process and its workers must have in common, by name."""
    from dataprep import __version__

    python = ".".join(platform.python_version_tuple()[:2])
    named = {"dataprep": __version__, "python": python, "numpy": np.__version__, "pyarrow": pa.__version__}
    return {**named, "numba": numba_version()}


def difference(theirs: dict[str, str]) -> str:
    """Return in words how the versions of this process differ from a Runner's; "" if they do not differ."""
    ours = versions()
    return ", ".join(f"{name} {ours[name]} (the run has {theirs[name]})" for name in ours if ours[name] != theirs[name])


def enter(path: Sequence[str], folder: str) -> None:
    """Search modules where the program that sent a task does, and change to its working folder if it exists.

    The program's own folders come first, so that a module of the same name elsewhere does not replace theirs.

    - path: the module search path of the program.
    - folder: its working folder.
    """
    names = [os.path.basename(one) for one in path]
    own = path[: names.index(STDLIB)] if STDLIB in names else ()
    sys.path[:] = dict.fromkeys((*own, *sys.path, *path))
    with contextlib.suppress(OSError):  # on another machine, where relative paths are rejected (`check_here`)
        os.chdir(folder)


class Needs(NamedTuple):
    """The files that the tasks of a run need.

    Attributes:
        out: the folder into which they write.
        leases: the leases of this folder, which the run holds; see `leases_of`.
        read: the URL of a file that they read.
    """

    out: str
    leases: dict[str, Any]
    read: str

    @classmethod
    def of(cls, out: str, read: str) -> Needs:
        """Delete files that processes left that were killed as they checked `out`; return what this run needs."""
        for name in listed(out):
            if name.startswith(PROBE):
                files.remove(files.join(out, name))
        return cls(out, leases_of(out), read)

    @property
    def is_held(self) -> bool:
        """Whether the run still holds its lease."""
        return bool(self.leases) and leases_of(self.out) == self.leases

    def objection(self, path: Sequence[str], folder: str) -> str:
        """Return why this process could not do the tasks of the run; "" if it could.

        - path, folder: as in `enter`, which is called first.
        """
        enter(path, folder)
        probe = files.join(self.out, f"{PROBE}{uuid.uuid4().hex[:12]}.tmp")
        where = f"{self.out}; pass an out that all machines see, such as a folder on NFS or s3://bucket/out"
        try:
            if files.is_local(self.out) and not files.is_dir(self.out):
                return f"has no folder {where}"
            files.create(probe, probe.encode())
            files.remove(probe)
            if leases_of(self.out) != self.leases:
                return f"has another folder {where}"
        except Exception as e:  # noqa: BLE001 - of any client
            return f"cannot write into {self.out}{_why(e, probe)}"
        try:
            files.size(self.read)
        except Exception as e:  # noqa: BLE001 - of any client
            if isinstance(e.__cause__, FileNotFoundError):
                return f"has no file {self.read}; pass files that all machines see"
            return f"cannot read the input {self.read}{_why(e, self.read)}"
        return ""


def leases_of(folder: str) -> dict[str, Any]:
    """Return the content of the leases in a folder by name, without what a heartbeat changes."""
    local = files.is_local(folder)
    found = {}
    for name in [lease.NAME] if local else listed(folder):
        if local or name.removeprefix(f"{lease.NAME}.").isdigit():
            with contextlib.suppress(ReadError, ValueError):  # there is none, or it was removed just now
                found[name] = {**orjson.loads(files.read(files.join(folder, name))), "is": None}
    return found


def _why(error: Exception, url: str) -> str:
    """Return the rest of a sentence: what an error says of the file `url`, and advice if it gives none itself."""
    said = getattr(error, "strerror", None) or str(error).removeprefix(f"{url}: ")
    if isinstance(error, DataprepError):
        return f": {said}"
    return f" ({type(error).__name__}: {said}); check the credentials and permissions there"


def name_of(task: bytes) -> str:
    """Return the name of a pickled task."""
    found = cloudpickle.loads(task)
    found = found.func if isinstance(found, functools.partial) else found
    return str(getattr(found, "__name__", type(found).__name__))
