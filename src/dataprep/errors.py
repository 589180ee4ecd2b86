"""The errors that dataprep raises on purpose.

    DataprepError
    ├── PlanError       wrong before any work: a parameter, a missing column, a recipe that cannot be keyed
    ├── ReadError       a file that cannot be trusted: missing, truncated, wrong schema, mostly bad records
    ├── CorruptShard    a file that dataprep wrote no longer agrees with its receipt
    ├── StaleOutput     the output folder was made by another recipe
    ├── WorkerDied      a worker process was killed, usually because memory ran out
    └── Transient       a network error: the only one that a Runner retries

A message is one sentence: what was found, the file or value, and what to do.
Bad *documents* raise nothing: they are dropped with a reason and counted.
"""

from __future__ import annotations

import importlib
from typing import Any


class DataprepError(Exception):
    """Base class of the errors that dataprep raises on purpose."""


class PlanError(DataprepError):
    """Something is wrong that can be known before any work."""


class ReadError(DataprepError):
    """An input file cannot be read, at `path` and `offset` (in decompressed bytes)."""

    def __init__(self, message: str, path: str | None = None, offset: int | None = None) -> None:
        where = ""
        if path is not None:
            where = f"{path}: " if offset is None else f"{path}, byte {offset:,}: "
        super().__init__(where + message)
        self.message, self.path, self.offset = message, path, offset

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.path, self.offset)


class CorruptShard(DataprepError):
    """A file that dataprep wrote has changed since its receipt."""


class StaleOutput(DataprepError):
    """The output folder holds the result of another recipe."""


class WorkerDied(DataprepError):
    """A worker process ended without an answer."""


class Transient(DataprepError):
    """A network error that may pass; a Runner tries again."""


def need(module: str, extra: str) -> Any:
    """Import and return an optional module; raise PlanError that names the extra if it is not installed.

    >>> datasets = need("datasets", extra="hf")
    """
    try:
        return importlib.import_module(module)
    except ImportError as e:
        package = module.split(".", maxsplit=1)[0]
        msg = f"this needs the package '{package}', which is not installed: pip install 'dataprep[{extra}]'"
        raise PlanError(msg) from e
