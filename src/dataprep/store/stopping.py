"""Stop a run cleanly: SIGTERM raises an exception as Ctrl-C does; so temporary folders are removed, and workers end.

Only the standard library is imported: the trainer uses it too.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

CODES = (128 + signal.SIGINT, 128 + signal.SIGTERM)  # exit codes of a stopped program
_WORK: list[Callable[[], None]] = []  # what ends the workers of this process
_folders: list[str] = []  # into which a stopped run wrote


def at_stop(end: Callable[[], None]) -> Callable[[], None]:
    """Register `end`, a function that ends the workers of this process, to be called if a run is stopped; return it."""
    _WORK.append(end)
    return end


def _terminated(number: int, _frame: Any) -> None:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def clean_end(folder: str | None = None) -> Iterator[None]:
    """Make SIGTERM raise SystemExit(143) in the `with` block, unless the program has its own handler.

    When Ctrl-C or SIGTERM ends the block, the workers of this process are ended too. folder: the output folder of the
    work, which `stopped_in` returns afterwards; None if there is none.
    """
    main = threading.current_thread() is threading.main_thread()
    ours = main and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as e:
        if isinstance(e, KeyboardInterrupt) or e.code in CODES:
            _folders.extend([folder] if folder else [])
            for end in _WORK:
                end()
        raise
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def stopped_in() -> str | None:
    """Return the output folder of the run that Ctrl-C or SIGTERM stopped in this process; None if there was none."""
    return _folders[0] if _folders else None


@contextlib.contextmanager
def no_ctrl_c() -> Iterator[None]:
    """Delay Ctrl-C until the end of the `with` block; processes that are started in it never receive it.

    Without this, a terminal sends Ctrl-C to each worker too, and each prints a traceback. The parent process ends the
    workers instead.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
