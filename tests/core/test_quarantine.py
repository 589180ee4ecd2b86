"""Files that end a worker twice: left out under on_bad_file="skip" only, the same in a resumed run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import dataclass, replace

import pytest

import dataprep as dp
from dataprep import extend
from dataprep.core.model import batch as B
from dataprep.core.run.crashes import Quarantined
from dataprep.core.run.quarantine import NAME, without, without_deadly_files
from dataprep.errors import PlanError, WorkerDied
from laws import same_bytes

LIMIT = 10_000  # seconds that a file may take, which none does, however busy the machine is


@dataclass(frozen=True)
class Deadly(extend.Reader):
    """A document per file; the word in it decides what becomes of the process."""

    def __call__(self, piece, stats):
        with open(piece.url, encoding="utf-8") as f:
            word = f.read()
        if word == "kill" and multiprocessing.parent_process():
            os.kill(os.getpid(), signal.SIGKILL)
        if word == "memory":
            held = [bytearray(b"x") * (1 << 26)]
            while len(held) < 32:
                held.append(bytearray(held[0]))
                time.sleep(0.02)
        left, _ = signal.getitimer(signal.ITIMER_REAL)  # seconds, 0 without a limit
        if word == "long":
            signal.setitimer(signal.ITIMER_REAL, LIMIT / 2)  # as if half of the time were over
        if word == "fresh":
            word = f"{word}: {left > LIMIT / 2}"
        if word == "sleep":
            signal.setitimer(signal.ITIMER_REAL, left and 0.01)  # as if all of it were, so that no test waits for it
            time.sleep(60)
        yield B.make([B.doc_id(piece.file, 0)], [word], piece.source)


def folder_of(tmp_path, words):
    """A folder with a file for each word."""
    (tmp_path / "in").mkdir()
    for n, word in enumerate(words):
        (tmp_path / "in" / f"{n}.txt").write_text(word)
    return str(tmp_path / "in")


def test_a_deadly_file_is_left_out_and_remembered(tmp_path):
    """It is a row of the unread table; the rest is read, also before an Estimator; a later run decides the same."""
    home = folder_of(tmp_path, ["one", "kill", "two", "one"])
    docs = dp.read(home, Deadly, on_bad_file="skip")
    done = dp.Pipeline(dp.Exact()).run(docs, str(tmp_path / "out"), dp.tools.Local(1))
    assert [doc["text"] for doc in done] == ["one", "two"]
    [row] = done.unread().to_pylist()
    assert (os.path.basename(row["file"]), row["reason"]) == ("1.txt", "quarantined")
    assert row["detail"] == "a worker was killed (SIGKILL)"
    (tmp_path / "out" / "manifest.json").unlink()  # a run that was stopped at its end
    assert dp.Pipeline(dp.Exact()).run(docs, str(tmp_path / "out"), dp.tools.Serial()).count == 2  # not read at all
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / NAME).write_bytes((tmp_path / "out" / NAME).read_bytes())
    dp.Pipeline(dp.Exact()).run(docs, str(tmp_path / "again"), dp.tools.Serial())
    same_bytes(tmp_path / "out" / "data", tmp_path / "again" / "data")
    assert (tmp_path / "again" / "manifest.json").read_bytes() == (tmp_path / "out" / "manifest.json").read_bytes()


def test_without_skip_it_is_an_error(tmp_path):
    """The task is named, and nothing is left out."""
    docs = dp.read(folder_of(tmp_path, ["one", "sleep"]), Deadly)
    with pytest.raises(WorkerDied, match=rf"took longer than timeout={LIMIT} s 3 times .* allow more time"):
        dp.Pipeline().run(docs, str(tmp_path / "out"), dp.tools.Local(1, timeout=LIMIT))
    assert not (tmp_path / "out" / NAME).exists()
    for wrong in (0, -1, "5", True, float("nan"), float("inf")):
        with pytest.raises(PlanError, match=f"timeout={wrong!r} must be a number of seconds above 0"):
            dp.tools.Local(1, timeout=wrong)
        with pytest.raises(PlanError, match=f"timeout={wrong!r} must be a number of seconds above 0"):
            dp.tools.Ray(timeout=wrong)
    with pytest.raises(PlanError, match=r"timeout=5 needs a worker process, .*; use dp.tools.Local\(1, timeout=5\)"):
        dp.tools.Serial(timeout=5)


@pytest.mark.parametrize(
    ("word", "limits", "says"),
    [
        ("sleep", {"timeout": LIMIT}, f"timeout={LIMIT} s"),
        ("memory", {"memory": "700MB"}, "more memory than memory='700MB'"),
    ],
    ids=["time", "memory"],
)
def test_limits_of_time_and_memory(tmp_path, word, limits, says):
    """A file beyond a limit is left out, and the others are read."""
    docs = dp.read(folder_of(tmp_path, ["one", word, "two"]), Deadly, on_bad_file="skip")
    done = dp.Pipeline().run(docs, str(tmp_path / "out"), dp.tools.Local(1, **limits))
    assert [doc["text"] for doc in done] == ["one", "two"]
    assert says in done.unread().to_pylist()[0]["detail"]


def test_the_time_of_one_file_does_not_count_for_the_next(tmp_path):
    """Each file of a part has the whole limit."""
    docs = dp.read(folder_of(tmp_path, ["long", "fresh"]), Deadly)
    assert len(docs.parts) == 1
    done = dp.Pipeline().run(docs, str(tmp_path / "out"), dp.tools.Local(1, timeout=LIMIT))
    assert [doc["text"] for doc in done] == ["long", "fresh: True"]


@dataclass(frozen=True)
class Plan:
    """What the wrapper needs of a plan."""

    docs: dp.Dataset
    out: str


def after(out, docs, *errors):
    """The input of the last attempt of work that raises each of the errors, one after another."""
    left, given = list(errors), []

    @without_deadly_files
    def work(plan):
        if left:
            raise left.pop(0)
        given.append(plan.docs)

    work(Plan(docs, out))
    return given[0]


def test_what_was_decided_is_kept_by_content_and_place(tmp_path):
    """Several decisions add up; each is of one slice of one content, and only parts that may skip obey."""
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(name)
    out = str(tmp_path / "out")
    docs = dp.read([str(tmp_path / f"{name}.txt") for name in "abc"], Deadly, on_bad_file="skip")
    pieces = [piece for part in docs.parts for piece in part.slices]

    def left_out(docs):
        """The files that are not read, and why."""
        rows = [piece.unread for part in docs.parts for piece in part.slices if piece.unread]
        return [(os.path.basename(row.file)[0], row.reason, row.offset, row.detail) for row in rows]

    docs = after(out, docs, Quarantined(pieces[0], "memory"), Quarantined(pieces[2], "time"))
    both = [("a", "quarantined", None, "memory"), ("c", "quarantined", None, "time")]
    assert left_out(docs) == both
    again = dp.read([str(tmp_path / f"{name}.txt") for name in "cab"], Deadly, on_bad_file="skip")
    assert sorted(left_out(without(again, out))) == both
    (tmp_path / "c.txt").write_text("d")
    assert left_out(without(dp.read([piece.url for piece in pieces], Deadly, on_bad_file="skip"), out)) == both[:1]
    stops = dp.read([piece.url for piece in pieces], Deadly)
    assert without(stops, out) is stops
    moved = docs.of(replace(part, slices=(replace(part.slices[0], start=5, unread=None),)) for part in docs.parts)
    assert left_out(without(moved, out)) == []
    late = Quarantined(next(piece for part in moved.parts for piece in part.slices), "late")
    assert left_out(after(out, moved, late)) == [("a", "quarantined", 5, "late")]
    for lost in ("", "[1]", "null"):
        (tmp_path / "out" / NAME).write_text(lost)
        assert left_out(without(again, out)) == []
        found = after(out, docs.of(docs.parts), Quarantined(pieces[1], "late"))
        assert ("b", "quarantined", None, "late") in left_out(found)


def test_other_errors_pass(tmp_path):
    """Only a file that was given up is left out."""
    docs = dp.read(folder_of(tmp_path, ["one"]), Deadly, on_bad_file="skip")
    with pytest.raises(ZeroDivisionError):
        after(str(tmp_path / "out"), docs, ZeroDivisionError())
    assert after(str(tmp_path / "out"), docs) is docs
    assert not (tmp_path / "out").exists()
