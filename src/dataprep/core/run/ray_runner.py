"""The Runner Ray: tasks on a Ray cluster, over storage that all nodes can read."""

from __future__ import annotations

import collections
import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import cloudpickle

from dataprep.errors import WorkerDied, need, portable
from dataprep.store.place import here
from dataprep.store.progress import track

from ..model.process import kept
from .crashes import ATTEMPTS
from .runner import Local, at_once, check_memory, check_timeout, parse_bytes, work

T = TypeVar("T")
R = TypeVar("R")

ADVICE = "allow more memory, or find what ends the process by Serial()"


@dataclass(frozen=True)
class Ray:
    """Runs tasks on a Ray cluster, over storage that all nodes can read; needs the extra `ray`.

    address: the address of the cluster, as for `ray.init`. memory: bytes that all workers may take together, or text
    like "4GB"; each worker may take an equal share. timeout: seconds that a task may take for a file; None: no limit.
    With a limit, a Ray worker does its work in another process, which it ends at the limit.
    """

    address: str | None = None
    memory: int | str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_memory(self.memory)
        check_timeout(self.timeout)

    @property
    def workers(self) -> int:
        """The number of CPUs of the cluster."""
        return max(1, int(self._ray().cluster_resources().get("CPU", 1)))

    def map(self, task: Callable[[T], R], items: Sequence[T], label: str = "") -> Iterator[R]:
        """Call `task` for every item, and yield the results in item order; label: title of the progress bar."""
        return track(self._map(task, items), items, label)

    def _ray(self) -> Any:
        ray = need("ray", extra="ray")
        if not ray.is_initialized():
            ray.init(address=self.address, include_dashboard=False, log_to_driver=False, logging_level="error")
        return ray

    def _map(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        ray, n = self._ray(), at_once(self)
        share = None if self.memory is None else f"{(parse_bytes(self.memory) // n) >> 20} MiB"
        limited = share is not None or self.timeout is not None
        remote = ray.remote(max_retries=ATTEMPTS - 1)(_work_elsewhere)
        sent = cloudpickle.dumps(task)
        waiting = iter(items)

        def start(item: T) -> tuple[T, Any]:
            alone = Local(1, memory=share, timeout=self.timeout)
            apart = alone if limited or getattr(item, "skips_bad", False) else None
            return item, remote.remote(sys.path, here(), sent, cloudpickle.dumps(item), apart)

        running = collections.deque(map(start, itertools.islice(waiting, n + (self.memory is None))))
        try:
            while running:
                item, reference = running[0]
                try:
                    answer, error = ray.get(reference)
                except ray.exceptions.RayTaskError as e:
                    if isinstance(e.cause, ray.exceptions.RayError):  # a task that was cancelled
                        raise _failed(item, e.cause) from e
                    raise (e.cause if isinstance(e.cause, Exception) else e) from e
                except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as e:
                    ended = "memory ran out" if isinstance(e, ray.exceptions.OutOfMemoryError) else "a worker ended"
                    msg = f"{ended} {ATTEMPTS} times during the task {str(item)[:200]}; {ADVICE}"
                    raise WorkerDied(msg) from e
                except ray.exceptions.RayError as e:  # a node or its raylet ended, for example
                    raise _failed(item, e) from e
                if error is not None:
                    raised = cloudpickle.loads(error)
                    raise raised from getattr(raised, "cause", None)
                running.popleft()
                running.extend(map(start, itertools.islice(waiting, 1)))
                yield cloudpickle.loads(answer)
        finally:  # after an error or a stop, no task writes any more when this has ended
            sent_before = [reference for _, reference in running]
            if sent_before:
                ray.wait(sent_before, num_returns=len(sent_before), fetch_local=False)


def _failed(item: Any, error: Exception) -> WorkerDied:
    """Return the error to raise instead of an error of the cluster, which is about no document."""
    what = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return WorkerDied(f"Ray failed during the task {str(item)[:200]} ({what}); check the cluster, and run again")


def _work_elsewhere(
    path: list[str], folder: str, task: bytes, item: bytes, apart: Local | None
) -> tuple[bytes, None] | tuple[None, bytes]:
    """Run a task in a Ray worker, with the module search path of the driver, and its working folder if there is one.

    apart: the task runs in a process of this Runner. Returns the result and None, or None and the error: Ray would send
    an error as text, and ends the worker if this text is no UTF-8.
    """
    sys.path.extend(p for p in path if p not in sys.path)
    with contextlib.suppress(OSError):  # on another machine, where relative paths are refused (`check_here`)
        os.chdir(folder)
    try:
        if apart is None:
            return work(task, item), None
        own = kept(apart, lambda: apart)  # whose process later tasks use, too
        return bytes(cloudpickle.dumps(next(own.map_pickled(task, [cloudpickle.loads(item)])))), None
    except Exception as e:  # noqa: BLE001 - raised again by the driver
        return None, bytes(cloudpickle.dumps(portable(e)))
