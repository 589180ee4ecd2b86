"""Calls in a thread: one at a time, in their order, while the caller goes on; errors come back; the thread ends."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dataprep.store.background import Background, one_behind


def test_the_caller_goes_on_while_a_call_runs() -> None:
    """The first call ends only when the caller has gone on; the second begins only when the first has ended."""
    went_on, order = threading.Event(), []

    def first():
        assert went_on.wait(20)
        order.append((1, threading.current_thread().name))

    with Background("write") as background:
        background.wait()
        background.call(first)
        went_on.set()
        background.call(lambda n: order.append((n, threading.current_thread().name)), 2)
        background.wait()
        assert order == [(1, "write_0"), (2, "write_0")]
        background.call(order.clear)
    assert order == []  # also without `wait`
    assert "write_0" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_error_of_a_call_is_raised_by_the_next(error) -> None:
    """Which is not made; an error of the block itself is the one that is raised."""
    made = []

    def fails():
        raise error

    for again in (lambda background: background.call(made.append, 1), Background.wait):
        with Background("write") as background:
            background.call(fails)
            for _ in range(2):
                with pytest.raises(type(error)):
                    again(background)
    with pytest.raises(ZeroDivisionError), Background("write") as background:
        background.call(fails)
        1 / 0  # noqa: B018
    assert made == []


def test_a_call_waits_until_the_next_item_is_made():
    """One behind: results in order, the first call runs before the second item is taken on; an error is raised."""
    with ThreadPoolExecutor(2) as threads:
        assert list(one_behind(threads, str, range(5))) == list("01234")
        assert list(one_behind(threads, str, [])) == []
        made = []
        found = one_behind(threads, str, (made.append(n) or n for n in range(3)))
        assert (next(found), made) == ("0", [0, 1])
        with pytest.raises(ZeroDivisionError):
            list(one_behind(threads, lambda n: 1 // n, [1, 0, 1]))
