"""Stop a run cleanly: SIGTERM raises an exception as Ctrl-C does, so temporary folders are removed and workers end.

Only the standard library is imported, since the trainer also uses this module.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
import threading
import traceback
import weakref
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Protocol

from .starting import NUMBERS, is_main_thread, not_begun

CODES = (128 + signal.SIGINT, 128 + signal.SIGTERM)  # exit codes of a stopped program
# Functions that LLVM and compiled kernels call; HTML parsers written in Rust call those of the module `weakref`.
CALLBACKS = ("_raw_object_cache_notify", "_raw_object_cache_getbuffer", "_unpickled")
STARTS = "_spawn_process"  # of a pool of processes, which would not know a worker whose start is interrupted
WAIT = 0.02  # seconds until a signal that arrived in one is sent again
_folders: list[str] = []  # into which a stopped run wrote


class Stopped(SystemExit):
    """Raised by a signal that ends the program, so that interrupted code can distinguish it from `sys.exit`."""


def is_stop(error: BaseException) -> bool:
    """Return whether an error means that the program was told to end, by Ctrl-C or by a signal with any handler."""
    if isinstance(error, (KeyboardInterrupt, Stopped)):
        return True
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = {code for handler in handlers if (code := getattr(handler, "__code__", None)) is not None}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def leave_memory() -> None:
    """Make Python leave its memory to the system when it ends; this function must be called last.

    Searching all objects of the libraries for reference cycles takes a few tenths of a second, and Python guarantees
    nothing about such objects. If DuckDB is imported, they are searched all the same, since DuckDB would otherwise
    print pages about objects that were not freed.
    """
    if "_duckdb" not in sys.modules:
        gc.freeze()


class Stoppable(Protocol):
    """Interface of objects with worker processes."""

    def stop(self) -> None:
        """End the processes."""


_WORK: weakref.WeakSet[Stoppable] = weakref.WeakSet()  # what has worker processes of this process


def at_stop(work: Stoppable) -> None:
    """Register `work.stop` to be called if a run is stopped, unless `work` was freed before."""
    _WORK.add(work)


def stop(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt or Stopped(143); a handler of signals.

    Python ignores exceptions in functions that LLVM, a kernel or the garbage collector calls, and a parser written in
    Rust takes them for a failure of its own. A worker whose start is interrupted would not be ended. If a signal
    arrives in such a function, it is sent again until it arrives elsewhere.
    """
    while frame is not None:
        if frame.f_code.co_name in (*CALLBACKS, STARTS) or frame.f_globals.get("__name__") == weakref.__name__:
            again = threading.Timer(WAIT, _send, [number])
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt if number == signal.SIGINT else Stopped(128 + number)


def _send(number: int) -> None:
    """Send a signal to the main thread, whose sleep it interrupts; on Windows, to the process."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


@contextlib.contextmanager
def clean_end(folder: str | None = None) -> Iterator[None]:
    """Make SIGTERM raise Stopped(143) in the `with` block, unless the program has its own handler.

    When Ctrl-C or SIGTERM ends the block, the workers of this process are ended too. Neither signal is lost while a
    kernel is compiled, or a page is parsed.

    Args:
        folder: the output folder of the work, which `stopped_in` lists afterwards; None if there is none.
    """
    usual = ((signal.SIGTERM, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler))
    ours = [(number, one) for number, one in usual if is_main_thread() and signal.getsignal(number) in (one, not_begun)]
    for number, _ in ours:
        signal.signal(number, stop)
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as e:
        if isinstance(e, KeyboardInterrupt) or e.code in CODES:
            _folders.extend([folder] if folder else [])
            for work in list(_WORK):
                work.stop()
        raise
    finally:
        for number, before in ours:
            signal.signal(number, before)


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """End the process at once, with a sentence, if Ctrl-C or SIGTERM arrives in the `with` block.

    This context manager is for imports before any work: an exception in an import may be ignored or shown as a
    traceback. A handler of the program is kept.
    """
    usual = (stop, signal.SIG_DFL, signal.default_int_handler)
    with _handled(not_begun, [number for number in NUMBERS if signal.getsignal(number) in usual]):
        yield


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM in the `with` block, which says that the program was stopped.

    Programs such as `timeout` send two signals.
    """
    with _handled(signal.SIG_IGN, NUMBERS):
        yield


@contextlib.contextmanager
def _handled(handler: Any, numbers: Iterable[int]) -> Iterator[None]:
    """Handle signals by `handler` in the `with` block, if this is the main thread."""
    before = {number: signal.signal(number, handler) for number in numbers if is_main_thread()}
    try:
        yield
    finally:
        for number, one in before.items():
            signal.signal(number, one)


def stopped_in() -> list[str]:
    """Return the output folders of work in this process that Ctrl-C or SIGTERM stopped, the innermost first."""
    return list(_folders)


@contextlib.contextmanager
def no_ctrl_c() -> Iterator[None]:
    """Delay Ctrl-C until the end of the `with` block; processes that are started in the block never receive it.

    Otherwise, a terminal would send Ctrl-C to each worker too, and each would print a traceback. The parent process
    ends the workers instead.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
