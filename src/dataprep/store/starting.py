"""Ctrl-C and SIGTERM before any work: one sentence, and the process ends at once.

An exception in an import may be ignored or shown as a traceback. Only modules that load at once are imported here,
since a command imports this module first.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # a type checker takes it for the name in `typing`, which takes a hundredth of a second to load
if TYPE_CHECKING:
    from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM)


def not_begun(number: int, _: FrameType | None) -> None:
    """End the process with a sentence; a handler of signals."""
    try:
        for one in NUMBERS:  # `timeout` sends two
            signal.signal(one, signal.SIG_IGN)
        if os.environ.get("LOCAL_RANK", "0") == "0":  # of the processes that torchrun started, one says it
            os.write(2, b"dataprep: stopped; nothing was saved\n")
    finally:
        os._exit(128 + number)


def end_at_once() -> None:
    """Let `not_begun` handle Ctrl-C and SIGTERM, until `clean_end` does; a handler of the program is kept."""
    usual = (signal.SIG_DFL, signal.default_int_handler)
    for number in NUMBERS:
        if is_main_thread() and signal.getsignal(number) in usual:
            signal.signal(number, not_begun)


def is_main_thread() -> bool:
    """Return whether this is the thread that handles signals."""
    threading = sys.modules.get("threading")
    return threading is None or threading.current_thread() is threading.main_thread()
