"""How often a task may end its worker before the run gives up on it, or on one file."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from dataprep.core.model.reader import Slice
from dataprep.core.run.crashes import ATTEMPTS, MAX_CRASHES, Crashes, Quarantined
from dataprep.errors import WorkerDied


@dataclass(frozen=True)
class Task:
    """A Part as far as crashes know it."""

    skips_bad: bool = True
    slices: tuple[Slice, ...] = (Slice("a.txt", 0), Slice("b.txt", 1))


def count(crashes, *lost, at=0, why="memory ran out"):
    """Add crashes in order; return the number of them that were borne, and the error."""
    borne = 0
    try:
        for items in lost:
            crashes.add(items, at, why, "allow more")
            borne += 1
    except WorkerDied as error:
        return borne, error
    return borne, None


ALONE, OTHER = [(3, Task())], (4, Task())


@pytest.mark.parametrize("at", [0, 1])
def test_a_file_that_ends_two_workers_alone_is_left_out(at) -> None:
    """The slice that was read is named, not the first one."""
    borne, error = count(Crashes(), ALONE, ALONE, at=at)
    assert borne == MAX_CRASHES - 1
    assert (type(error), error.piece, error.why) == (Quarantined, ALONE[0][1].slices[at], "memory ran out")
    assert f"{'ab'[at]}.txt: memory ran out, 2 times; read it alone" in str(error)


@pytest.mark.parametrize(("item", "at"), [(Task(skips_bad=False), 0), (Task(), -1), (Task(), 2), ("a word", 0)])
def test_others_end_the_run_the_third_time(item, at) -> None:
    """If nothing may be left out, or no slice is known, the task is tried three times."""
    borne, error = count(Crashes(), *[[(3, item)]] * ATTEMPTS, at=at)
    assert (borne, type(error)) == (ATTEMPTS - 1, WorkerDied)
    assert "memory ran out 3 times during the task" in str(error)
    assert str(error).endswith("; allow more")


def test_of_several_at_once_each_counts_one_death_at_most() -> None:
    """They die together any number of times; who dies alone then is counted from that one death."""
    crashes = Crashes()
    both = [(3, Task(skips_bad=False)), OTHER]
    assert count(crashes, *[both] * 9) == (9, None)
    assert crashes.counts == {3: 1, 4: 1}
    assert count(crashes, *[both[:1]] * 9)[0] == 1
    assert crashes.counts == {3: 3, 4: 1}
    assert count(crashes, [OTHER]) == (1, None)
    assert type(count(crashes, [OTHER])[1]) is Quarantined
    assert crashes.alone == {3: 2, 4: 2}


def test_a_long_task_is_cut_in_the_message() -> None:
    """Its first 200 characters are shown."""
    long = "x" * 1000
    _, error = count(Crashes(), *[[(0, long)]] * 3, why="timeout=5 passed")
    assert str(error).count("x") == 200


def test_the_decision_travels_between_processes() -> None:
    """With the slice and the reason."""
    error = Quarantined(Slice("a.txt", 3), "it hung")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.piece, copy.why) == (str(error), error.piece, "it hung")
