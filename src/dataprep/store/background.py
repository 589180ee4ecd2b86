"""One call at a time in a thread, while the caller prepares the next one: for work that leaves Python, such as zstd."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Background:
    """Makes calls in one thread, in their order; at the end of the `with` block the thread has ended.

    At most one call is waiting or running, so at most the arguments of one call are held. An error of a call is raised
    by the next `call`, or by `wait`; then no further call is made.
    """

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._last: Future[Any] | None = None

    def __enter__(self) -> Background:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    def call(self, function: Callable[..., Any], *args: Any) -> None:
        """Wait for the last call; then begin to call `function(*args)` in the thread, and return."""
        self.wait()
        self._last = self._thread.submit(function, *args)

    def wait(self) -> None:
        """Wait for the last call; raise its error, if it had one."""
        if self._last is not None:
            self._last.result()
