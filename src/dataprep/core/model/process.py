"""State of this process: the slice that it reads as a worker, its time limit, and the objects that it keeps.

No other module in `core/` has state. A worker process does one task at a time, and the objects that it keeps, such as a
model, are too large to be sent with each task.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_reading: Any = None  # the index of the slice that is read, which the parent sees
_timeout = 0.0  # seconds for each file
_kept: dict[Hashable, Any] = {}
_thread = threading.local()  # `is_stopped`: whether the call that this thread works on is to end
_LOCK = threading.RLock()  # creating an object may create another one


def begin(reading: Any) -> None:
    """Turn this process into a worker.

    Args:
        reading: shared memory through which the parent process sees which file this process reads.
    """
    global _reading  # noqa: PLW0603 - of this process
    _reading = reading


@contextmanager
def timed(seconds: float | None) -> Iterator[None]:
    """End this process by SIGALRM if the `with` block, or one file in it, takes over `seconds`; None sets no limit.

    The kernel delivers the signal, so even code that never returns to Python is ended.
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
    """Record that this process begins to read slice `index` of its Part; the time limit starts again."""
    if _reading is not None:
        _reading.value = index
    if _timeout:
        signal.setitimer(signal.ITIMER_REAL, _timeout)


@contextmanager
def until(is_stopped: Callable[[], bool]) -> Iterator[None]:
    """Let `check_stopped` end the `with` block in this thread once `is_stopped` returns True."""
    _thread.is_stopped = is_stopped
    try:
        yield
    finally:
        _thread.is_stopped = None


def check_stopped() -> None:
    """Raise KeyboardInterrupt if the work of this thread is to end; the main thread gets Ctrl-C itself."""
    is_stopped = getattr(_thread, "is_stopped", None)
    if is_stopped is not None and is_stopped():
        raise KeyboardInterrupt


def kept(name: Hashable, make: Callable[[], T]) -> T:
    """Return the object `name` that this process keeps until it ends; the first call creates it with `make`."""
    with _LOCK:
        if name not in _kept:
            _kept[name] = make()
        return _kept[name]  # type: ignore[no-any-return]
