"""Local files that appear whole or not at all. Only the standard library is imported: the trainer uses it too."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from typing import BinaryIO

from dataprep.errors import DataprepError


@contextlib.contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file to write that appears under `path` when the block ends without an error, and not otherwise.

    It is written under a hidden name unique to the attempt, synced, and renamed; then the folder is synced, so that the
    name is durable too. Raises DataprepError if the disk is full.
    """
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
    attempt = os.path.join(folder, f".{os.path.basename(path)}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with open(attempt, "wb") as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
        os.replace(attempt, path)
        _sync_folder(folder)
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        msg = f"{path}: the disk is full; free some space and run again, finished parts are kept"
        raise DataprepError(msg) from e
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(attempt)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_attempt(name: str) -> bool:
    """Return whether a name is that of an unfinished file; without a running writer, its writer was killed."""
    return name.startswith(".") and name.endswith(".tmp")
