"""Threads of this process that call a task for several items at once, with the results in the order of the items."""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, TypeVar

from ..model.process import until

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 32  # results per thread, or per worker, that may wait for an earlier, slower task
POLL = 0.005  # seconds between two looks at the running calls


def may_share(task: Any, items: Sequence[Any]) -> bool:
    """Return whether threads may call `task` for several items at once: the task and all items have `thread_safe`."""
    return getattr(task, "thread_safe", False) and all(getattr(item, "thread_safe", True) for item in items)


def in_order(task: Callable[[T], R], items: Sequence[T], n: int) -> Iterator[R]:
    """Yield `task(item)` for every item, in item order; up to `n` threads call the task.

    The first error in item order is raised. After an error, no further item begins, and those that have begun are
    completed. If the iteration is ended by Ctrl-C, by a signal, or by closing it, those that have begun end at their
    next batch of documents. In both cases, no call of the task is left when the iteration has ended.
    """
    calls, rest, waiting = _Calls(task), iter(items), collections.deque[Future[R]]()
    with ThreadPoolExecutor(n, thread_name_prefix="task") as threads:
        try:
            while True:
                for item in (item for _, item in zip(range(AHEAD * n - len(waiting)), rest, strict=False)):
                    waiting.append(threads.submit(calls, item))
                if not waiting:
                    return
                yield waiting.popleft().result()
        except BaseException as e:
            calls.end(stop=not isinstance(e, Exception))
            raise


class _Calls:
    """Calls a task in several threads; once one call failed, or after `end`, no call begins."""

    def __init__(self, task: Callable[[Any], Any]) -> None:
        self._task, self._ended, self._stopped = task, False, False
        self._running = set[int]()  # the threads that call the task

    def __call__(self, item: Any) -> Any:
        own = threading.get_ident()
        self._running.add(own)  # before the check, so that `end` sees this thread, or this thread sees the end
        try:
            if self._ended:
                raise CancelledError  # noqa: TRY301 - as an error of the task
            with until(lambda: self._stopped):
                return self._task(item)
        except BaseException:
            self._ended = True
            raise
        finally:
            self._running.discard(own)

    def end(self, *, stop: bool) -> None:
        """Let no further call begin, and wait for those that have begun.

        The pool does not wait for a thread if a signal interrupted `submit` while it started.

        - stop: whether the running calls end at their next batch of documents. An exception that was raised in another
          thread at any place would end the process if a kernel just calls a function of Python.
        """
        self._ended, self._stopped = True, stop
        try:
            while self._running:
                time.sleep(POLL)
        except BaseException:
            self._stopped = True
            raise
