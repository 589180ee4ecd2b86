"""Which worker of a queue does which task: claims, heartbeats, and what happens to tasks of dead workers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import cloudpickle
import orjson
import pytest

import dataprep as dp
from dataprep.core.run import elsewhere, queue_job, queue_runner, queue_worker
from dataprep.core.run.queue_job import Job
from dataprep.errors import PlanError, Transient, WorkerDied
from dataprep.store import claims, files, lease
from dataprep.store.claims import Heartbeats, Watch, claim


def square(n: int) -> int:
    return n * n


@pytest.fixture(params=["folder", "store"])
def job(tmp_path, request):
    """A job of six items that no worker has seen."""
    home = str(tmp_path) if request.param == "folder" else f"memory://queues{tmp_path}"
    return Job.offer(home, square, range(6), None)


def tasks(job: Job, name: str = "me") -> queue_worker._Tasks:
    return queue_worker._Tasks(job, name, lambda _: "")


def gone(job: Job, index: int, attempt: int) -> None:
    """Let a claim be that of a process of this machine that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with files.open_raw(job.claim_of(index, attempt)) as f:
        found = orjson.loads(f.read())
    files.write_bytes(job.claim_of(index, attempt), orjson.dumps({**found, "pid": ended.pid}))


def test_one_of_many_creates_a_claim(tmp_path):
    """Of sixteen threads that claim the same fifty names, exactly one gets each."""
    got = []
    names = [str(tmp_path / str(n)) for n in range(50)]
    threads = [threading.Thread(target=lambda: got.extend(n for n in names if claim(n))) for _ in range(16)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(got) == sorted(names)


def test_heartbeats_are_seen_without_clocks(tmp_path, monkeypatch):
    """A file that changes is not silent, whatever its time says; one that does not, is; an ended process at once."""
    monkeypatch.setattr(claims, "BEAT", 0.02)
    url = str(tmp_path / "alive")
    claim(url)
    os.utime(url, (0, 0))  # a clock that is decades behind
    watch = Watch()
    with Heartbeats() as beats, beats.of(url):
        assert watch.silent(url) == 0.0
        first = files.version(url)
        while files.version(url) == first:
            time.sleep(0.01)
        assert watch.silent(url) == 0.0
    watch.silent(url)
    time.sleep(0.05)
    assert watch.silent(url) >= 0.05
    assert watch.silent(str(tmp_path / "none")) == float("inf")


def test_items_are_taken_in_order_and_once(job):
    """Two workers take turns, and none gets an item of the other."""
    first, second = tasks(job), tasks(job)
    assert [first.take().index, second.take().index, second.take().index, first.take().index] == [0, 1, 2, 3]
    assert cloudpickle.loads(job.item(4).content) == 4
    result, error = cloudpickle.loads(cloudpickle.dumps(job.task))(job.item(5))
    assert (cloudpickle.loads(result), error) == (25, None)
    assert [first.take().index, second.take().index] == [4, 5]
    assert first.take() is second.take() is None


def test_no_item_is_begun_behind_an_error(job):
    """The items before it are still done, so that the error of the first failing item is raised, as in one process."""
    assert tasks(job).take().index == 0
    claim(job.at("failed.2"))
    rest = tasks(job)
    assert rest.take().index == 1
    assert rest.take() is None


def test_the_task_of_a_dead_worker_is_done_by_another(job, monkeypatch):
    """Three times at most; then the Runner gets a WorkerDied that names the task."""
    monkeypatch.setattr(queue_worker, "LISTED", 0.0)
    monkeypatch.setattr(queue_worker, "LISTED_THERE", 0.0)
    other = tasks(job)
    while other.take():
        pass
    for attempt in (1, 2):
        assert tasks(job).take() is None  # all of them are being done
        gone(job, 3, attempt)
        again = tasks(job).take()
        assert (again.index, again.attempt) == (3, attempt + 1)
    gone(job, 3, 3)
    assert tasks(job).take() is None
    result, error = job.answer(3)
    assert result is None
    with pytest.raises(WorkerDied, match="ended 3 times during the task 3"):
        raise cloudpickle.loads(error)


def test_a_task_that_was_given_back_is_taken_at_once(job, monkeypatch):
    """As by a worker that is stopped."""
    monkeypatch.setattr(queue_worker, "LISTED", 0.0)
    monkeypatch.setattr(queue_worker, "LISTED_THERE", 0.0)
    first = tasks(job)
    while first.take():
        pass
    files.remove(job.claim_of(2, 1))
    assert tasks(job).take().index == 2


def test_a_job_of_a_dead_runner_is_removed(job):
    """No task of it is begun."""
    files.remove(job.at("runner"))
    assert tasks(job).take() is None
    assert not files.exists(job.url)


def test_a_worker_with_other_versions_refuses(job, monkeypatch):
    """It says which; it would write other bytes, or could not load the task."""
    ours = {**elsewhere.versions(), "pyarrow": "1.0"}
    monkeypatch.setattr(elsewhere, "versions", lambda: ours)
    assert tasks(job, "/queue/workers/host-7").take() is None
    with files.open_raw(job.at("refused", "host-7")) as f:
        why = f.read().decode()
    assert why.startswith("host-7 has pyarrow 1.0 (the run has ")
    assert why.endswith("); install the same versions there")


class InThisProcess:
    """In place of a worker's child."""

    def map_pickled(self, task, items):
        return [cloudpickle.loads(task)(item) for item in items]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [("", None), ("out", "has no folder OUT; pass an out that all machines see, such as a folder on NFS or s3://bucket/out"),
     ("other", "has another folder OUT; pass an out that all machines see, such as a folder on NFS or s3://bucket/out"),
     ("denied", "cannot write into OUT (PermissionError: no); check the credentials and permissions there"),
     ("read", "has no file READ; pass files that all machines see")],
)  # fmt: skip
def test_a_worker_that_cannot_do_the_tasks_of_a_run_takes_none(tmp_path, monkeypatch, wrong, says):
    """It says why, looks again after a while, and need not look again for a later job of the run."""
    out, read = tmp_path / "out", tmp_path / "a.jsonl"
    read.touch()
    out.mkdir()
    runner, offered = dp.tools.Queue(str(tmp_path / "queue")), []
    monkeypatch.setattr(queue_worker._Worker, "_child", lambda *_: InThisProcess())
    worker = queue_worker._Worker(runner.folder, "/queue/workers/host-7", None, None)

    def offer(*given):
        offered.append(Job.offer(*given))
        raise StopIteration

    monkeypatch.setattr(queue_runner, "Job", type("", (), {"offer": offer}))
    with lease.held(str(out)):
        runner.prepare([str(read)], str(out))
        for _ in range(2):
            with pytest.raises(RuntimeError):
                next(runner._map(square, [1]))
        there = {"out": out, "other": out, "read": read}.get(wrong, tmp_path / "none")
        with monkeypatch.context() as patch:
            if there.exists():
                there.rename(tmp_path / "aside")
            if wrong == "other":
                out.mkdir()
            if wrong == "denied":
                patch.setattr(files, "create", lambda *_: (_ for _ in ()).throw(PermissionError("no")))
                patch.setattr(queue_worker, "claim", lambda _: True)
            seen = queue_worker._Tasks(offered[0], worker.name, worker._objection)
            assert (seen.take() is None) == bool(wrong)
        if wrong:
            why = files.read(offered[0].at("refused", "host-7")).decode()
            assert why.replace(str(out), "OUT").replace(str(read), "READ") == f"host-7 {says}"
            if wrong == "other":
                out.rmdir()
            if wrong != "denied":
                (tmp_path / "aside").rename(there)
            assert seen.take() is None
            seen.ask_at = 0.0
            assert seen.take() is not None
    assert list(out.iterdir()) == []
    monkeypatch.setattr(InThisProcess, "map_pickled", None)
    assert queue_worker._Tasks(offered[1], worker.name, worker._objection).take() is not None
    with pytest.raises(RuntimeError):
        next(runner._map(square, [1]))
    assert (offered[1].stated.needs != b"", offered[2].stated.needs) == (True, b"")  # the run has ended


def test_a_queue_without_workers_is_said(job, tmp_path, monkeypatch, caplog):
    """Although the folder of workers exists; not if there is one."""
    monkeypatch.setattr(queue_runner, "ALONE", 0.0)
    files.write_bytes(str(tmp_path / "workers" / ".keep"), b"")
    claim(str(tmp_path / "workers" / "host-7"))
    queue_runner._Attended(str(tmp_path), job, set()).look()
    assert not caplog.records
    files.write_bytes(job.at("refused", "host-7"), b"host-7 has no folder")
    told = set()
    for _ in range(2):
        attended = queue_runner._Attended(str(tmp_path), job, told)
        attended.look()
    assert caplog.messages == ["a worker takes no tasks: host-7 has no folder"]
    files.write_bytes(job.at("refused", "host-7"), b"host-7 has no file")  # when it looked again
    attended.next = 0.0
    attended.look()
    assert caplog.messages[1:] == ["a worker takes no tasks: host-7 has no file"]
    files.remove(str(tmp_path / "workers" / "host-7"))
    queue_runner._Attended(str(tmp_path), job, set()).look()
    assert f"no process takes tasks from {tmp_path}; start some: dataprep work {tmp_path}" in caplog.text


def test_a_worker_does_not_import_what_a_task_brings(tmp_path, monkeypatch):
    """An item, a result or an error of a module that only the run has is passed on unopened; errors name the task."""
    (tmp_path / "only_theirs.py").write_text("class Own(str): pass\n\ndef fails(own): raise ValueError(own)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_theirs

    own = only_theirs.Own("an item")
    sent = Job.offer(str(tmp_path), only_theirs.Own, [own], None)
    failing = Job.offer(str(tmp_path), only_theirs.fails, [own], None)
    monkeypatch.delitem(sys.modules, "only_theirs")
    item = sent.item(0)
    assert str(item) == "an item"
    assert failing.task.__name__ == "fails"
    monkeypatch.delitem(sys.modules, "only_theirs")
    result, error = sent.task(item)
    assert error is None
    assert cloudpickle.loads(result) == "an item"
    result, error = failing.task(item)
    assert result is None
    assert str(cloudpickle.loads(error)) == "an item"


def test_files_of_killed_workers_are_deleted(tmp_path, monkeypatch):
    """And they are not counted; a live worker that was taken for dead names itself again."""
    home = tmp_path / "workers"
    worker = queue_worker._Worker(str(tmp_path), str(home / "live-1"), None, None)
    home.mkdir()
    assert worker._next() is None
    (home / "killed-2").write_bytes(orjson.dumps({"machine": claims.machine(), "pid": 2**22 + 1}))
    (home / ".keep").write_bytes(b"")
    assert dp.tools.Queue(str(tmp_path)).workers == 2
    assert sorted(path.name for path in home.iterdir()) == [".keep", "live-1"]
    (home / "live-1").unlink()
    assert worker._next() is None
    assert (home / "live-1").exists()


def test_no_task_begins_after_the_end(job):
    """A worker that already has the task finds it withdrawn."""
    job.end()
    assert tasks(job).take() is None
    with pytest.raises(queue_job.Withdrawn):
        job.task(job.item(3))


def test_a_store_without_conditional_writes_holds_no_queue(tmp_path, monkeypatch):
    """Two processes would do one task; a run and a worker say so before any work, and leave nothing."""
    url = "memory://queues/replaces"
    always = files.write_bytes
    monkeypatch.setattr(files, "create", lambda url, data: always(url, data) is None)
    for start in (lambda: list(dp.tools.Queue(url).map(square, [1])), lambda: queue_worker.serve(url, idle=0)):
        with pytest.raises(PlanError, match=r"^memory://queues/replaces cannot be a queue \(the store replaces files"):
            start()
    assert claims.listed(url) == {}
    monkeypatch.undo()
    claims.check_store(url)
    assert claims.listed(url) == {}


def test_a_queue_is_a_folder(tmp_path):
    """A file is refused in a sentence."""
    with pytest.raises(PlanError, match="the queue '' must be the path of a folder"):
        dp.tools.Queue("")
    (tmp_path / "file").touch()
    with pytest.raises(PlanError, match="must be a folder, but is a file"):
        dp.tools.Queue(str(tmp_path / "file"))


def test_a_process_of_another_container_is_not_taken_for_dead(tmp_path, monkeypatch):
    """Containers may have the same host name, and processes of each have numbers that the others do not know."""
    url = tmp_path / "other"
    claim(str(url))
    url.write_bytes(orjson.dumps({**orjson.loads(url.read_bytes()), "pid": 2**22 + 1}))
    assert Watch().silent(str(url)) == float("inf")
    here = claims.machine()
    monkeypatch.setattr(claims, "machine", lambda: f"{here} container")
    assert Watch().silent(str(url)) == 0.0


def test_a_worker_outlives_a_network_that_fails(tmp_path, monkeypatch, caplog):
    """It says so, waits ever longer, and asks again."""
    pauses, fails = [], [True, False, True]

    def following(worker):
        if fails.pop():
            raise Transient("the store is away")  # noqa: EM101

    monkeypatch.setattr(queue_worker._Worker, "_next", following)
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(time, "monotonic", lambda: float(len(pauses)))
    worker = queue_worker._Worker("memory://queues/away", "memory://queues/away/workers/me", None, None)
    assert worker.work(idle=3) == 0
    assert pauses == pytest.approx([0.2, 0.3, 0.45])
    assert caplog.messages == ["the store is away"] * 2


@pytest.mark.parametrize(("memory", "message"), [("much", "'much' is not an amount"), ("64MB", "less than the 600")])
def test_a_worker_with_too_little_memory_does_not_begin(tmp_path, memory, message):
    """It would take tasks, of which each would then fail."""
    with pytest.raises(PlanError, match=message):
        queue_worker.serve(str(tmp_path), memory=memory, idle=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("again", [False, True])
def test_a_job_that_ends_while_a_worker_takes_an_item(job, monkeypatch, again):
    """The worker takes nothing, and goes on."""
    monkeypatch.setattr(queue_worker, "LISTED", 0.0)
    monkeypatch.setattr(queue_worker, "LISTED_THERE", 0.0)
    mine = tasks(job)
    while again and mine.take():
        pass
    if again:
        files.remove(job.claim_of(2, 1))

    def late(url: str) -> bool:
        job.remove()
        return claim(url)

    monkeypatch.setattr(queue_worker, "claim", late)
    taken = mine.take()
    assert taken is None or not files.is_local(job.url)
    if taken is not None:  # a store has no folders that could be missing; the claim is removed again
        with Heartbeats() as beats:
            queue_worker._Worker(job.url, "memory://queues/me", beats, None)._do(taken)
    assert not files.exists(job.url)
