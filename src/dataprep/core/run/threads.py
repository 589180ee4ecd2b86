"""Threads of this process that call a task for several items at once, with the results in the order of the items."""

from __future__ import annotations

import collections
import contextvars
import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 32  # items per thread that may begin while an earlier, slower one is processed


def may_share(task: Any, items: Sequence[Any]) -> bool:
    """Return whether threads may call `task` for several items at once: the task and all items have `thread_safe`."""
    return getattr(task, "thread_safe", False) and all(getattr(item, "thread_safe", True) for item in items)


def in_order(task: Callable[[T], R], items: Sequence[T], n: int) -> Iterator[R]:
    """Yield `task(item)` for every item, in item order; up to `n` threads call the task.

    The first error in item order is raised. After an error, no further item begins, and those that have begun are
    completed. If the iteration is ended by Ctrl-C, by a signal, or by closing it, those that have begun are
    interrupted. In both cases, no thread is left when the iteration has ended.
    """
    calls, rest, waiting = _Calls(task), iter(items), collections.deque[Future[R]]()
    with ThreadPoolExecutor(n, thread_name_prefix="task") as threads:
        try:
            while True:
                for item in (item for _, item in zip(range(AHEAD * n - len(waiting)), rest, strict=False)):
                    waiting.append(threads.submit(contextvars.copy_context().run, calls, item))
                if not waiting:
                    return
                yield waiting.popleft().result()
        except BaseException as e:
            calls.end(interrupt=not isinstance(e, Exception))
            raise


class _Calls:
    """Calls a task in several threads; once one call failed, or after `end`, no call begins."""

    def __init__(self, task: Callable[[Any], Any]) -> None:
        self._task, self._lock = task, threading.Lock()
        self._ended = False
        self._running = set[int]()  # the threads that call the task

    def __call__(self, item: Any) -> Any:
        own = threading.get_ident()
        with self._lock:
            if self._ended:
                raise CancelledError
            self._running.add(own)
        try:
            return self._task(item)
        except BaseException:
            self._ended = True
            raise
        finally:
            with self._lock:
                self._running.discard(own)

    def end(self, *, interrupt: bool) -> None:
        """Let no further call begin.

        - interrupt: whether to raise KeyboardInterrupt in the running calls, as Ctrl-C does in the main thread.
        """
        with self._lock:
            self._ended = True
            for thread in self._running if interrupt else ():
                given = ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(*given)
