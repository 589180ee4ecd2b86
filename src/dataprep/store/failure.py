"""The last failure of work in an output folder, which `dataprep status` shows: OUT/.dataprep-failure.

Only the standard library is imported, since the trainer also uses this module.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any

from dataprep.errors import FunctionFailed, InUse, NewerFormat, PlanError, StaleOutput, shown

from .atomic import whole

NAME = ".dataprep-failure"
REFUSALS = (PlanError, StaleOutput, InUse, NewerFormat)  # before any work
LONGEST = 1_000  # characters of a message that are stored


@contextlib.contextmanager
def noted(folder: str, but: tuple[type[Exception], ...] = REFUSALS, **facts: str) -> Iterator[None]:
    """Delete the record of an earlier failure in `folder`; if an error ends the `with` block, record it there.

    Nothing is written into a folder without files, or after a signal.

    Args:
        folder: the path of a local folder.
        but: the errors that are not recorded.
        facts: further fields of the record.
    """
    path = os.path.join(folder, NAME)
    forget(folder)
    try:
        yield
    except Exception as e:
        with contextlib.suppress(Exception):  # a full disk, for example: the original error is the one to report
            if not isinstance(e, but) and any(not name.startswith(".") for name in os.listdir(folder)):
                with whole(path) as f:
                    f.write(json.dumps({"at": _now(), "error": _sentence(e), **facts}).encode())
        raise


def forget(folder: str) -> None:
    """Delete the record of a failure in a local folder, if there is one and the folder can be written to."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, NAME))


def found(folder: str) -> dict[str, Any] | None:
    """Return the last failure in a local folder as {"at": time in UTC, "error": sentence}; None if there is none."""
    with contextlib.suppress(OSError, ValueError), open(os.path.join(folder, NAME), "rb") as f:
        record = json.loads(f.read(1 << 16))
        if isinstance(record, dict) and {"at", "error"} <= record.keys():
            return record
    return None


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _sentence(error: Exception) -> str:
    """Return the message of an error on one line, without the text of a document."""
    text = str(error)
    if isinstance(error, FunctionFailed) and error.head:
        text = text.replace(f" ({error.head!r})", "")
    named = text if type(error).__module__ == FunctionFailed.__module__ else f"{type(error).__name__}: {text}"
    return shown(" ".join(named.split()))[:LONGEST]
