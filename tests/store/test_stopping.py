"""Ctrl-C and SIGTERM end a block as exceptions, end its workers, and leave the handlers as they were."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor

import pytest

from dataprep.store import stopping
from dataprep.store.stopping import at_stop, clean_end, no_ctrl_c, stopped_in


class Work:
    """Has workers, whose end it notes."""

    def __init__(self, ended):
        self.ended = ended

    def stop(self):
        """End them."""
        self.ended.append("stop")


@pytest.fixture
def ended(monkeypatch):
    """What was ended, in a process that has no workers and was not stopped yet."""
    found = []
    monkeypatch.setattr(stopping, "_WORK", weakref.WeakSet())
    monkeypatch.setattr(stopping, "_folders", [])
    work = Work(found)
    at_stop(work)
    at_stop(Work(found))  # which nobody has any more
    yield found
    assert work in stopping._WORK


@pytest.fixture
def python_int():
    """Python's own handler of SIGINT, which the background jobs of a shell do not have: they ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("error", "ends"),
    [(KeyboardInterrupt(), True), (SystemExit(143), True), (SystemExit(130), True), (SystemExit(1), False),
     (SystemExit(0), False), (SystemExit(None), False), (ValueError("x"), False)],
    ids=["ctrl-c", "143", "130", "1", "0", "none", "other"],
)  # fmt: skip
def test_workers_end_only_if_the_run_was_stopped(ended, error, ends) -> None:
    """The error passes; the folders are known afterwards, the innermost first, and none if it was not stopped."""
    with pytest.raises(type(error)), clean_end("outer"), clean_end(), clean_end("inner"):
        raise error
    assert ended == (["stop"] * 3 if ends else [])
    assert stopped_in() == (["inner", "outer"] if ends else [])


def test_a_block_without_a_folder_names_none(ended) -> None:
    """Nothing was stopped, and nothing was written."""
    with clean_end("out"):
        pass
    with pytest.raises(KeyboardInterrupt), clean_end():
        raise KeyboardInterrupt
    assert (stopped_in(), ended) == ([], ["stop"])


def test_sigterm_ends_the_block(ended) -> None:
    """As SystemExit(143); after the block the default is back, and a handler of the program is not touched."""
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with pytest.raises(SystemExit) as stop, clean_end("out"):
        os.kill(os.getpid(), signal.SIGTERM)
        signal.sigtimedwait([], 5)
    assert (stop.value.code, stopped_in(), ended) == (143, ["out"], ["stop"])
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    got = []
    before = signal.signal(signal.SIGTERM, lambda *_: got.append("own"))
    try:
        with clean_end():
            os.kill(os.getpid(), signal.SIGTERM)
        assert got == ["own"]
        os.kill(os.getpid(), signal.SIGTERM)
        assert got == ["own", "own"]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_another_thread_no_handler_is_set(ended) -> None:
    """Only the main thread may have handlers; the block is run all the same."""
    seen = []

    def work():
        with clean_end():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]


@pytest.mark.usefixtures("python_int")
def test_ctrl_c_waits_for_the_end_of_the_block() -> None:
    """It is not lost, and not seen inside; signals that were blocked before stay so."""
    seen = []
    with pytest.raises(KeyboardInterrupt):
        with no_ctrl_c():
            signal.raise_signal(signal.SIGINT)  # to this thread, which blocks it
            seen.append("inside")
        seen.append("after")
    assert seen == ["inside"]
    with no_ctrl_c():
        with no_ctrl_c():
            pass
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_threads_delay_ctrl_c_each_for_itself() -> None:
    """A thread that ends its block while another is in its own unblocks nothing but itself, and not the main thread."""
    seen, inside, go_on = {}, threading.Barrier(3), threading.Event()

    def blocked() -> bool:
        return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

    def work(*, first: bool) -> None:
        with no_ctrl_c():
            inside.wait()
            if not first:
                go_on.wait()
            seen[first] = [blocked()]
        seen[first].append(blocked())
        if first:
            go_on.set()

    threads = [threading.Thread(target=work, kwargs={"first": first}) for first in (True, False)]
    for thread in threads:
        thread.start()
    inside.wait()
    assert not blocked()  # of the main thread, which a terminal's Ctrl-C reaches
    with no_ctrl_c():
        go_on.wait()
        assert blocked()
    for thread in threads:
        thread.join()
    assert seen == {True: [True, False], False: [True, False]}
    assert not blocked()


@pytest.mark.parametrize(("name", "n"), [("_duckdb", 0), ("_another", 1)])
def test_memory_is_searched_if_duckdb_would_list_it(monkeypatch, name, n) -> None:
    """Its library prints a page about each kind of object that is not freed at the end of the process."""
    frozen = []
    monkeypatch.delitem(sys.modules, "_duckdb", raising=False)
    monkeypatch.setitem(sys.modules, name, sys)
    monkeypatch.setattr(stopping.gc, "freeze", lambda: frozen.append(1))
    stopping.leave_memory()
    assert len(frozen) == n


def test_a_signal_in_a_weak_dictionary_is_not_lost() -> None:
    """Python ignores what is raised while it removes a freed value; the signal arrives again a moment later."""

    class Key(str):
        __slots__ = ("__weakref__",)

        def __hash__(self) -> int:  # the dictionary hashes the key of a freed value
            if freed:
                signal.raise_signal(signal.SIGINT)
                freed.clear()
            return 1

    freed: list[int] = []
    table = weakref.WeakValueDictionary({Key("a"): (value := Key("value"))})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts jobs in the background without
    try:
        with pytest.raises(KeyboardInterrupt), clean_end():
            freed.append(1)
            assert value
            del value
            assert not table
            assert not freed
            threading.Event().wait(9)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_whose_start_is_interrupted_is_known_to_its_pool(monkeypatch, python_int, number) -> None:
    """The signal arrives when the pool has the process, which can then be ended."""
    pool, started = ProcessPoolExecutor(1, multiprocessing.get_context("spawn")), []
    kind = multiprocessing.get_context("spawn").Process

    def start(process):
        real(process)
        started.append(process)
        signal.raise_signal(number)

    real = kind.start
    monkeypatch.setattr(kind, "start", start)
    try:
        with pytest.raises((KeyboardInterrupt, SystemExit)), clean_end():
            pool.submit(os.getpid)
            threading.Event().wait(9)
        assert list(pool._processes.values()) == started
        assert len(started) == 1
    finally:
        for process in started:
            process.kill()
        pool.shutdown()
