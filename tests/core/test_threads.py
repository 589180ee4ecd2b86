"""`Serial` calls a task in threads if the task and its items allow it: order, errors, the end, and the bytes."""

import itertools
import json
import os
import signal
import threading
import time
from dataclasses import dataclass
from functools import partial

import pytest

import dataprep as dp
import laws
import test_laws
from dataprep.core.model.part import Part
from dataprep.core.model.process import check_stopped
from dataprep.core.model.reader import Slice
from dataprep.core.run.passes import PartItem
from dataprep.core.run.runner import WORKER_BYTES, Serial
from dataprep.core.run.threads import AHEAD, in_order, may_share
from dataprep.errors import PlanError
from dataprep.read.json.reader import Jsonl
from dataprep.tools import Local
from test_equal_parts import rows_of


def own_threads() -> list[str]:
    """Return the names of the threads that call tasks; those that have nothing to do may first end."""
    for one in threading.enumerate():
        if one.name.startswith("task"):
            one.join(10)
    return [one.name for one in threading.enumerate() if one.name.startswith("task")]


class Pair:
    """A task of which two calls must run at once."""

    thread_safe = True

    def __init__(self) -> None:
        self.both = threading.Barrier(2, timeout=60)

    def __call__(self, item: int) -> int:
        """Wait for the other call."""
        self.both.wait()
        return item


def test_two_items_run_at_once_and_results_are_in_order():
    """The later of two items may be done first."""
    done = [threading.Event() for _ in range(4)]

    def task(item: int) -> int:
        if item % 2 == 0:
            assert done[item + 1].wait(60)
        done[item].set()
        return 10 * item

    assert list(in_order(task, range(4), 2)) == [0, 10, 20, 30]
    assert list(Serial(threads=2).map(Pair(), range(6))) == list(range(6))
    assert own_threads() == []


def test_few_results_wait():
    """At most a fixed number of items begin before the caller has taken the results of those before them."""
    begun = []
    results = in_order(begun.append, range(10 * AHEAD), 2)
    for n in range(3):
        next(results)
        assert len(begun) <= 2 * AHEAD + n
    results.close()


def test_the_first_error_in_item_order_is_raised():
    """Also if a later item fails earlier; items that had not begun never begin, and those that had are completed."""
    failed, begun, ended = threading.Event(), [], []

    def task(item: int) -> int:
        begun.append(item)
        if item == 1:
            assert failed.wait(60)
        elif item == 2:
            failed.set()
            time.sleep(0.05)
        if item in (1, 2):
            raise ValueError(item)
        ended.append(item)
        return item

    results = in_order(task, range(40), 2)
    assert next(results) == 0
    with pytest.raises(ValueError, match="1"):
        next(results)
    assert begun == [0, 1, 2]
    assert ended == [0]
    assert own_threads() == []


def endless(begun: threading.Event, ended: list[str], item: int) -> None:
    """Work, batch by batch, until this thread is to end."""
    try:
        while True:
            begun.set()
            time.sleep(0.001)
            check_stopped()
    except BaseException as e:
        ended.append(type(e).__name__)
        raise
    return item


def test_ctrl_c_interrupts_the_running_items():
    """The main thread gets the KeyboardInterrupt, every running task too, and no thread is left."""
    begun, ended = threading.Event(), []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores Ctrl-C

    def press() -> None:
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    presses = threading.Thread(target=press)
    presses.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            list(in_order(partial(endless, begun, ended), range(9), 2))
    finally:
        presses.join()
        signal.signal(signal.SIGINT, before)
    assert set(ended) == {"KeyboardInterrupt"}
    assert own_threads() == []


def test_closing_the_iteration_interrupts_the_running_items():
    """A caller that fails between two results leaves no work behind."""
    begun, ended = threading.Event(), []
    results = in_order(lambda n: endless(begun, ended, n) if n else n, range(9), 2)
    assert next(results) == 0
    begun.wait(60)
    results.close()
    assert set(ended) == {"KeyboardInterrupt"}
    assert own_threads() == []


@dataclass(frozen=True)
class Mine(Jsonl):
    """A reader of the user, which inherits `thread_safe`."""


def jsonl(reader=None, *stages) -> Part:
    """A part that is never read."""
    return Part((Slice("a.jsonl", 0),), reader or Jsonl(), stages)


def test_only_code_of_dataprep_is_shared():
    """The reader, all stages and the task must allow it; a function of the user is called in the main thread."""
    assert jsonl(None, dp.C4()).thread_safe
    assert not jsonl(Mine()).thread_safe
    assert not jsonl(None, dp.C4(), dp.Filter(len)).thread_safe
    assert may_share(Pair(), [1, jsonl(), PartItem(jsonl())])
    assert not may_share(Pair(), [jsonl(), PartItem(jsonl(Mine()))])
    assert not may_share(len, [jsonl()])


def test_a_function_of_the_user_runs_in_the_main_thread(tmp_path):
    """Although the task of the run could be called by threads."""
    for n in range(4):
        (tmp_path / f"{n}.jsonl").write_text('{"text": "a"}\n' * 9)
    seen = set()
    docs = dp.read(f"{tmp_path}/*.jsonl")
    docs = docs.of(Part(part.slices[:1], part.reader) for part in docs.parts)
    dp.Pipeline(dp.Filter(lambda text: seen.add(threading.current_thread().name))).run(docs, str(tmp_path / "out"))
    assert seen == {"MainThread"}


def test_little_memory_means_one_thread():
    """A thread takes as much memory as a worker, and what the task states."""
    task = Pair()
    assert Serial(threads=2, memory=2 * WORKER_BYTES)._threads(task, range(9)) == 2
    assert Serial(threads=2, memory=2 * WORKER_BYTES - 1)._threads(task, range(9)) == 1
    assert Serial(threads=9, memory="1TB")._threads(task, range(3)) == 3
    task.memory_bytes = WORKER_BYTES
    assert Serial(threads=3, memory=4 * WORKER_BYTES)._threads(task, range(9)) == 2
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(PlanError, match="must be an integer of at least 1"):
            Serial(threads=wrong)


FIRST = [one for one in test_laws.ESTIMATORS if isinstance(one, (dp.Exact, dp.MinHash, dp.Bloom, dp.SuffixArray))]


def many_parts(folder, n: int):
    """Return a Dataset of many small parts of JSON Lines: equal ones, empty ones, and some of one document."""
    texts = [test_laws.PAGE, "the quick brown fox jumps over a lazy dog", f"{test_laws.PAGE} the end", ""]
    parts = []
    for number in range(n):
        kind = (texts * 3, texts[: 1 + number % 3], [f"{number} {test_laws.PAGE} {number}"] * 2)[number % 3]
        lines = "".join(json.dumps(row) + "\n" for row in rows_of(kind, ()))
        path = folder / f"{number:02}.jsonl"
        path.write_text(lines)
        cuts = (0, len(lines) // 2, len(lines) // 2, None)
        for a, b in itertools.pairwise(cuts):
            size = (len(lines) if b is None else b) - a
            parts.append(Part((Slice(str(path), number, a, b, "s", n_bytes=size),), Jsonl()))
    return dp.read(f"{folder}/*.jsonl").of(parts)


@pytest.mark.parametrize("stage", FIRST, ids=lambda stage: stage.name)
def test_threads_write_the_bytes_of_one(stage, tmp_path):
    """Also in a run that was interrupted in another number of threads."""
    (tmp_path / "in").mkdir()
    docs = many_parts(tmp_path / "in", 3)
    pipeline = dp.Pipeline(dp.C4(min_sentences=0, min_words=0), stage)
    pipeline.run(docs, str(tmp_path / "one"), Serial(threads=1))
    pipeline.run(docs, str(tmp_path / "four"), Serial(threads=4))
    laws.same_bytes(tmp_path / "one", tmp_path / "four")
    for label in (f"{stage.name}: hash", "write"):
        out = tmp_path / label.replace(": ", "-")
        with pytest.raises(KeyboardInterrupt):
            pipeline.run(docs, str(out), laws.Stops(threads=3, at=label))
        pipeline.run(docs, str(out), Serial(threads=2))
        laws.same_bytes(tmp_path / "one", out)


def test_one_worker_and_threads_write_the_same(tmp_path):
    """A worker process calls one task at a time."""
    (tmp_path / "in").mkdir()
    docs = many_parts(tmp_path / "in", 6)
    pipeline = dp.Pipeline(dp.MinHash(), dp.Exact())
    pipeline.run(docs, str(tmp_path / "threads"), Serial(threads=4))
    pipeline.run(docs, str(tmp_path / "worker"), Local(1))
    laws.same_bytes(tmp_path / "threads", tmp_path / "worker")
