"""What a process notes of itself: the slice that it reads, its limit of time, and what it keeps."""

from __future__ import annotations

import ctypes
import signal

from dataprep.core.model import process


def test_the_slice_that_is_read_is_noted(monkeypatch) -> None:
    """None at the beginning of a task, then each; a limit of time begins anew with each slice, ends with the task."""
    reading, timers = ctypes.c_int64(7), []
    monkeypatch.setattr(process, "_reading", reading)
    monkeypatch.setattr(process.signal, "setitimer", lambda kind, seconds: timers.append((kind, seconds)))
    with process.timed(None):
        assert reading.value == -1
        process.begin_slice(3)
        assert reading.value == 3
    assert timers == []
    with process.timed(2.5):
        process.begin_slice(0)
    assert timers == [(signal.ITIMER_REAL, seconds) for seconds in (2.5, 2.5, 0)]
    process.begin_slice(1)
    assert len(timers) == 3


def test_an_object_is_made_once(monkeypatch) -> None:
    """By name; what makes one may ask for another."""
    monkeypatch.setattr(process, "_kept", {})
    made = []

    def make(name):
        made.append(name)
        return process.kept("b", lambda: make("b")) if name == "a" else [name]

    assert process.kept("a", lambda: make("a")) is process.kept("a", lambda: make("a")) is process.kept("b", list)
    assert made == ["a", "b"]
