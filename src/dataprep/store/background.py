"""One call at a time in a thread, while the caller prepares the next; for work outside Python, such as zstd."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Background:
    """Runs calls in one thread, in order; when the `with` block ends, the thread has ended.

    At most one call is waiting or running, so the arguments of at most one call are held in memory. An error of a call
    is raised by the next `call`, or by `wait`; no further call is run after an error.
    """

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._last: Future[Any] | None = None

    def __enter__(self) -> Background:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    def call(self, function: Callable[..., Any], *args: Any) -> None:
        """Wait for the previous call; then begin to call `function(*args)` in the thread, and return."""
        self.wait()
        self._last = self._thread.submit(function, *args)

    def wait(self) -> None:
        """Wait for the last call; raise its error if it failed."""
        if self._last is not None:
            self._last.result()


def one_behind(threads: Executor, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield `function(item)` for every item, in order; it is called in a thread while the next item is made."""
    last: Future[R] | None = None
    for item in items:
        last, before = threads.submit(function, item), last
        if before is not None:
            yield before.result()
    if last is not None:
        yield last.result()
