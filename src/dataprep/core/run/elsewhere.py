"""What a process of another machine needs before it does a task of this program: equal versions, and its folders."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
from collections.abc import Sequence

import cloudpickle
import numpy as np
import pyarrow as pa

from dataprep.errors import DataprepError
from dataprep.store import files
from dataprep.unicode.kernel import numba_version

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


def objection(theirs: dict[str, str], path: Sequence[str], folder: str, probe: str, read: str) -> str:
    """Return why this process could not do the tasks of a run; "" if it could, after it has created the file `probe`.

    Args:
        theirs: the versions of the run's process.
        path: its module search path.
        folder: its working folder.
        probe: the URL of a new file in the output folder, which exists.
        read: the URL of a file that tasks read.
    """
    if differ := difference(theirs):
        return f"has {differ}; {SAME}"
    enter(path, folder)
    out = probe.rpartition("/")[0]
    try:
        if files.is_local(out) and not files.is_dir(out):
            return f"has no folder {out}; pass an out that all nodes see, such as a folder on NFS or s3://bucket/out"
        files.create(probe, probe.encode())
    except Exception as e:  # noqa: BLE001 - of any client
        return f"cannot write into {out}{_why(e, probe)}"
    try:
        if not files.exists(read):
            return f"has no file {read}; pass files that all nodes see"
        files.size(read)
    except Exception as e:  # noqa: BLE001 - of any client
        return f"cannot read the input {read}{_why(e, read)}"
    return ""


def _why(error: Exception, url: str) -> str:
    """Return the rest of a sentence: what an error says of the file `url`, and advice if it gives none itself."""
    said = str(error).removeprefix(f"{url}: ")
    if isinstance(error, DataprepError):
        return f": {said}"
    return f" ({type(error).__name__}: {said}); check the credentials and permissions there"


def name_of(task: bytes) -> str:
    """Return the name of a pickled task."""
    found = cloudpickle.loads(task)
    found = found.func if isinstance(found, functools.partial) else found
    return str(getattr(found, "__name__", type(found).__name__))
