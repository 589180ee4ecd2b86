"""What this process knows of itself if it is a worker: the slice that it reads, its limit of time, and its own Runner.

This is the only state of a module in `core/`, since a worker process does one task at a time. Its parent sets it, and
the code that reads a part only says where it is.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_reading: Any = None  # the index of the slice that is read, which the parent sees
_timeout = 0.0  # seconds for each file
_runner: Any = None  # whose processes do the tasks of this worker


def begin(reading: Any) -> None:
    """Make this process a worker; reading: the place in shared memory where its parent sees what it reads."""
    global _reading  # noqa: PLW0603 - of this process
    _reading = reading


@contextmanager
def timed(seconds: float | None) -> Iterator[None]:
    """End this process by SIGALRM if the `with` block, or one file in it, takes longer than `seconds` (None: never).

    The kernel ends it, so that code which never returns to Python is ended, too.
    """
    global _timeout  # noqa: PLW0603 - of this process
    _timeout = seconds or 0.0
    begin_slice(-1)
    try:
        yield
    finally:
        if _timeout:
            signal.setitimer(signal.ITIMER_REAL, 0)
        _timeout = 0.0


def begin_slice(index: int) -> None:
    """Note that this process begins to read slice `index` of its Part; the time limit begins anew."""
    if _reading is not None:
        _reading.value = index
    if _timeout:
        signal.setitimer(signal.ITIMER_REAL, _timeout)


def kept(runner: T) -> T:
    """Return the Runner that this worker kept for an earlier task, if it equals `runner`; else keep and return this."""
    global _runner  # noqa: PLW0603 - of this process
    _runner = _runner if _runner == runner else runner
    return _runner  # type: ignore[no-any-return]
