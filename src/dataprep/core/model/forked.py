"""Forked workers: on Linux, one process forks all workers of a program, after it has imported dataprep.

This process is the `forkserver` of Python's `multiprocessing`. It has no threads, so that forking is safe, and it does
not import the user's script. A worker then starts in about a hundredth of a second instead of a few tenths. On other
systems, each worker is a new process (`spawn`).
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from typing import Any

from dataprep.store.stopping import no_ctrl_c

AT_ONCE = 0.1  # seconds until a killed process has ended

if sys.platform == "linux":
    from multiprocessing import forkserver, popen_forkserver, resource_tracker
    from multiprocessing.context import ForkServerContext, ForkServerProcess

    class _Popen(popen_forkserver.Popen):
        """A process whose exit code, which the server reports only once, can be awaited by any number of threads."""

        def __init__(self, process: Any) -> None:
            self._first = threading.Lock()
            super().__init__(process)

        def poll(self, flag: int = os.WNOHANG) -> int | None:
            """Return the exit code; None if the process is still running and `flag` is WNOHANG."""
            if self.returncode is None and not wait([self.sentinel], 0 if flag == os.WNOHANG else None):
                return None
            with self._first:
                return super().poll(flag)

    class _Process(ForkServerProcess):
        @staticmethod
        def _Popen(process: Any) -> Any:  # noqa: N802 - the name in `multiprocessing`
            try:
                return _Popen(process)
            except (EOFError, ConnectionError):  # the server was killed just now
                time.sleep(AT_ONCE)
                return _Popen(process)

    class _Context(ForkServerContext):
        Process = _Process


def start_server() -> None:
    """Start the process that will fork workers in the background, unless it is already running."""
    if sys.platform == "linux":
        own = sorted(name for name in sys.modules if name.startswith("dataprep.") and not name.endswith("__main__"))
        forkserver.set_forkserver_preload([f"{__package__}.server", *own])
        resource_tracker.ensure_running()  # before, since its start ends with Ctrl-C allowed
        with no_ctrl_c():
            forkserver.ensure_running()


def context() -> BaseContext:
    """Return the `multiprocessing` context in which workers start."""
    if sys.platform == "linux":
        start_server()
        return _Context()
    return multiprocessing.get_context("spawn")


def replace_state(environment: Mapping[str, str]) -> None:
    """Replace the state that a new worker inherits from the server: environment variables, and NumPy's random state.

    - environment: the environment variables of the process that asked for the worker.
    """
    os.environ.clear()
    os.environ.update(environment)
    if (random := sys.modules.get("numpy.random")) is not None:
        random.seed()
