"""What a worker process notes of itself: the slice that it reads, and its limit of time."""

from __future__ import annotations

import ctypes
import signal

from dataprep.core.model import worker
from dataprep.core.run.runner import Local


def test_the_slice_that_is_read_is_noted(monkeypatch) -> None:
    """None at the beginning of a task, then each; a limit of time begins anew with each slice, ends with the task."""
    reading, timers = ctypes.c_int64(7), []
    monkeypatch.setattr(worker, "_reading", reading)
    monkeypatch.setattr(worker.signal, "setitimer", lambda kind, seconds: timers.append((kind, seconds)))
    with worker.timed(None):
        assert reading.value == -1
        worker.begin_slice(3)
        assert reading.value == 3
    assert timers == []
    with worker.timed(2.5):
        worker.begin_slice(0)
    assert timers == [(signal.ITIMER_REAL, seconds) for seconds in (2.5, 2.5, 0)]
    worker.begin_slice(1)
    assert len(timers) == 3


def test_a_worker_keeps_one_runner(monkeypatch) -> None:
    """The first of equal ones, so that tasks share its processes, and no other."""
    monkeypatch.setattr(worker, "_runner", None)
    first = Local(1, timeout=9)
    assert worker.kept(first) is first
    assert worker.kept(Local(1, timeout=9)) is first
    other = Local(1)
    assert worker.kept(other) is other
    assert worker.kept(Local(1, timeout=9)) is not first
