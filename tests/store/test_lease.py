"""Leases: one writer per output folder, and none that outlives its process."""

import contextlib
import datetime as dt
import errno
import functools
import inspect
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import FunctionType, MethodType, SimpleNamespace

import cloudpickle
import orjson
import pytest

import dataprep as dp
from dataprep.core.run import runner
from dataprep.errors import DataprepError, InUse, PlanError
from dataprep.persona import persona
from dataprep.store import atomic, claims, failure, files, lease, remote_lease
from dataprep.store.lease import NAME, STALE, all_held, held
from dataprep.tokens.shards.writer import save
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

HOLD = """
import sys, time
from dataprep.store.lease import held
with held(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def of_a_store(out, number, stated, *, age=0.0):
    """Write the lease of another process into a folder of a store, as of `age` seconds ago."""
    url = f"{out}/{NAME}.{number}"
    files.write_json(url, {"machine": claims.machine(), "pid": os.getpid(), "is": "x", **stated})
    fs, path = files.fs_of(url)
    fs.store[path].modified -= dt.timedelta(seconds=age)


def leases_of(out):
    return [name for name in claims.listed(out) if name.startswith(NAME)]


def test_a_store_has_one_writer():
    """A run is refused while another one writes; a killed process of this machine is replaced at once."""
    out = "memory://leases/one"
    with held(out):
        with pytest.raises(InUse, match=rf"^{out} is in use by pid {os.getpid()} on host \S+; wait"):
            lease.writes(lambda out: pytest.fail("two writers"))(out)
        assert leases_of(out) == [f"{NAME}.1"]
    of_a_store(out, 1, {"pid": 2**22 + 1})
    assert lease.holder(out) is None
    with held(out):
        assert leases_of(out) == [f"{NAME}.2"]
        assert lease.holder(out) == {"pid": os.getpid(), "host": socket.gethostname()}
    assert leases_of(out) == []
    assert lease.holder(out) is None


@pytest.mark.parametrize("age", [STALE - 5, STALE + 5])
def test_a_store_tells_the_age_of_the_lease_of_another_machine(age, monkeypatch):
    """By its own clock; a silent one is replaced."""
    out = f"memory://leases/{age}"
    of_a_store(out, 4, {"machine": "far boot", "pid": 7}, age=age)
    written = dt.datetime.now().timestamp() - age
    with monkeypatch.context() as patch:  # the listing of this store has only the time of creation
        patch.setattr(files, "changed", lambda url: {f"{NAME}.4": written, "other": written})
        assert lease.holder(out) == ({"pid": 7, "host": "far"} if age < STALE else None)
    if age < STALE:
        with pytest.raises(InUse, match="by pid 7 on host far; wait"), held(out):
            pytest.fail("two writers")
    else:
        with held(out):
            assert leases_of(out) == [f"{NAME}.5"]
    assert leases_of(out) == ([f"{NAME}.4"] if age < STALE else [])


def test_an_older_view_of_a_store_gives_way(monkeypatch):
    """A process that saw a dead lease, which two others have replaced in turn since, is no second writer."""
    out = "memory://leases/views"
    of_a_store(out, 1, {"pid": 2**22 + 1})
    views = [claims.listed(out)]
    files.remove(f"{out}/{NAME}.1")
    with held(out):
        real = claims.listed
        monkeypatch.setattr(remote_lease, "listed", lambda url: views.pop() if views else real(url))
        with pytest.raises(InUse), held(out):
            pytest.fail("two writers")
        assert leases_of(out) == [f"{NAME}.1"]


def test_many_that_begin_at_once_have_one_writer(monkeypatch):
    """Threads that hold the lease in turns are never two, and no lease is left."""
    out, one, inside, held_by = "memory://leases/many", threading.Lock(), [], []
    real = files.create

    def create(url, data):
        with one:  # as a store does; that of fsspec does not
            return real(url, data)

    def work():
        for _ in range(5):
            with contextlib.suppress(InUse), held(out):
                inside.append(1)
                held_by.append(len(inside))
                inside.pop()

    monkeypatch.setattr(files, "create", create)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(held_by) == {1}
    assert leases_of(out) == []


def test_a_store_that_cannot_be_written_is_one_sentence(monkeypatch):
    """Before any work."""
    monkeypatch.setattr(files, "create", lambda url, data: os.open("/none/x", os.O_RDONLY))
    with pytest.raises(DataprepError, match="^memory://leases/no cannot be written .*; check the URL and the cred"):
        lease.writes(lambda out: pytest.fail("no lease"))("memory://leases/no")


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lease of a folder."""
    with holding(tmp_path) as (out, process):
        yield out, process


@contextlib.contextmanager
def holding(home):
    """Yield (folder, process that holds its lease)."""
    out = str(home / "out")
    command = [sys.executable, "-c", textwrap.dedent(HOLD), out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield out, process
        process.kill()


def test_a_second_writer_is_refused_and_a_dead_one_replaced(holder):
    """The sentence names pid and host; a killed holder leaves a file that the next process takes over."""
    out, process = holder
    with pytest.raises(InUse, match=rf"out is in use by pid {process.pid} on host \S+; wait"), held(out):
        pytest.fail("two writers")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert os.path.exists(os.path.join(out, NAME))
    with held(out):
        assert orjson.loads(Path(out, NAME).read_bytes())["pid"] == os.getpid()
        with pytest.raises(InUse), held(out):
            pytest.fail("two writers in one process")
    assert os.listdir(out) == []


BYTES = Tokenizer.of_bytes()
# Every function that writes a result into a folder, and the first words of a variant.
JOBS = {
    "Pipeline.run": lambda home, out: dp.Pipeline().run(docs(home), str(out)),
    "Pipeline.run of dropped documents": lambda home, out: SOME.run(docs(home), str(out), keep_dropped=True),
    "materialize": lambda home, out: dp.tools.materialize(str(out)),
    "SuffixIndex.build": lambda home, out: dp.tools.SuffixIndex.build(docs(home), str(out)),
    "encode": lambda home, out: dp.encode(docs(home), BYTES, out),
    "Mix.write": lambda home, out: dp.Mix({"a": 1}).write({"a": shards(home)}, out),
    "export": lambda home, out: dp.tools.export(shards(home), "nanogpt", out),
    "import_tokens": lambda home, out: dp.tools.import_tokens(
        dp.tools.export(shards(home), "nanogpt", home / "n")[0], BYTES, out
    ),
    "train": lambda home, out: trained(shards(home), out),
    "train_bpe": lambda home, out: dp.train_bpe(docs(home), 257, out=out),
    "Tokenizer.save": lambda home, out: BYTES.save(out),
    "Tokenizer.save for tiktoken": lambda home, out: BYTES.save(out / "v.tiktoken"),
    "forget": lambda home, out: dp.tools.forget(str(out), ids=IDS),
    "persona": lambda home, out: persona(chats(home), "Ilse Varga", out),
    "fit_language": lambda home, out: dp.tools.fit_language("xx", many(home), docs(home), out=str(out)),
    "experiment": lambda home, out: dp.experiment(
        {"a": [], "b": []}, docs=many(home), out=out, tokenizer=BYTES, train=small()
    ),
    "scaling": lambda home, out: dp.tools.scaling(
        shards(home), out=out, budgets=[2e7], widths=[8, 16, 24, 32], train=small()
    ),
    "tune": lambda home, out: tuned(shards(home), out),
    "export_model": lambda home, out: exported(home / "model", out),
    "export_adapter": lambda home, out: exported(home / "lora", out, lora=2),
}
IDS = [1]


def is_ascii(text):
    return text.isascii()


SOME, VIEW = dp.Pipeline(dp.Filter(is_ascii)), dp.Pipeline(layout="view")


def docs(home):
    """Two documents."""
    (home / "a.jsonl").write_text('{"text": "one"}\n{"text": "وجدت الكتاب"}\n')
    return dp.read(str(home / "a.jsonl"))


def many(home):
    """Sixty documents."""
    (home / "b.jsonl").write_text("".join(f'{{"text": "one of many {i}"}}\n' for i in range(60)))
    return dp.read(str(home / "b.jsonl"))


def chats(home):
    """A conversation."""
    rows = [("Ilse Varga", "are you there?"), ("Tomas", "always")] * 9
    lines = [f"[0{i // 6 + 1}.02.2024, 12:0{i % 6}:00] {name}: {text}\n" for i, (name, text) in enumerate(rows)]
    (home / "chat.txt").write_text("".join(lines))
    return str(home / "chat.txt")


def small(**more):
    """The settings of a training of a moment, where torch is installed."""
    pytest.importorskip("torch")
    from dataprep.train import ModelConfig, TrainConfig

    model = ModelConfig(n_layers=1, n_heads=2, d_model=8, context=4)
    return TrainConfig(model=model, steps=1, batch=1, warmup=0, device="cpu", **more)


def trained(shards, out, **more):
    """A run of training."""
    config = small(**more)
    from dataprep.train import train

    return train(shards, out=out, config=config, quiet=True, **({"init_from": f"{out}-base"} if more else {}))


def tuned(shards, out):
    """A base and a model."""
    pytest.importorskip("torch")
    from dataprep.inference.tune import tune

    return tune(shards, shards, out)


def exported(model, out, lora=None):
    """A model in Hugging Face's files."""
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from dataprep.inference.adapter import export_adapter
    from dataprep.inference.export_model import export_model

    if lora:
        trained(shards(model.parent), f"{model}-base")
    trained(shards(model.parent), model, **({"lora": lora} if lora else {}))
    return export_adapter(model, out) if lora else export_model(model, out)


def shards(home):
    """Some token shards."""
    return save(home / "shards", {"train": [[1, 2, 3]] * 9, "val": [[1, 2]]}, vocab_size=257, eot=256).path


def begun(job, home, out):
    """Prepare what a job needs in its folder, and return its content."""
    if job == "forget":
        shutil.copytree(shards(home), out, dirs_exist_ok=True)
    if job in {"materialize", "Pipeline.run of dropped documents"}:
        (VIEW if job == "materialize" else SOME).run(docs(home), str(home / "made"))
        shutil.copytree(home / "made", out, dirs_exist_ok=True)
    return content(out)


def content(out):
    """Return {path: bytes} of the files, without the lease and the journal, which may list files that never came."""
    found = (path for path in Path(out).rglob("*") if path.is_file() and path.name not in (NAME, atomic.JOURNAL))
    return {path: path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def long_holder(tmp_path_factory):
    """Another process that holds the lease of a folder for all jobs."""
    with holding(tmp_path_factory.mktemp("holder")) as (out, process):
        yield out, process


@pytest.mark.parametrize("job", JOBS)
def test_every_job_that_writes_holds_the_lease(long_holder, tmp_path, job):
    """Whatever writes into a folder that another process writes into is refused, and changes nothing there."""
    out, process = long_holder
    for path in Path(out).iterdir():  # of the job before
        if path.name != NAME:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    before = begun(job, tmp_path, out)
    with pytest.raises(InUse, match=f"out is in use by pid {process.pid} on host "):
        JOBS[job](tmp_path, Path(out))
    assert content(out) == before


@pytest.mark.parametrize("job", JOBS)
def test_a_job_whose_folder_was_taken_makes_nothing(tmp_path, monkeypatch, job):
    """If another process takes the lease of `out`, no file appears in it, nor in folders whose leases this one has."""
    out, real = str(tmp_path / "out"), lease._acquired
    before = begun(job, tmp_path, out)

    def acquired(path, folder):
        descriptor = real(path, folder)
        if folder == out:
            Path(path).write_bytes(b'{"pid": 1, "host": "there", "boot": ""}')
        return descriptor

    monkeypatch.setattr(lease, "_acquired", acquired)
    with pytest.raises(InUse, match="^another process on host there took .*out over while this one was suspended"):
        JOBS[job](tmp_path, Path(out))
    assert content(out) == before


def test_a_worker_makes_no_file_in_a_folder_that_was_taken(tmp_path):
    """Its task brings the leases of the process that sent it; a lease that was released stops nothing."""
    out, sent = tmp_path / "out", SimpleNamespace(executor=SimpleNamespace(submit=lambda *given: given))
    writes = cloudpickle.dumps(functools.partial(files.write_bytes, data=b"new"))
    with held(str(out)):
        run, *given = runner._submit(sent, writes, str(out / "a"), None)
        mine = (out / NAME).read_bytes()
    out.mkdir()
    (out / NAME).write_bytes(b'{"pid": 1, "host": "there", "boot": ""}')
    with pytest.raises(InUse, match="^another process on host there took .*/out over while this one was suspended"):
        run(*given)
    assert os.listdir(out) == [NAME]
    for lease_ in (mine, None):
        (out / NAME).unlink() if lease_ is None else (out / NAME).write_bytes(lease_)
        run(*given)
        assert (out / "a").read_bytes() == b"new"
        (out / "a").unlink()


def test_the_table_has_every_function_that_writes():
    """Those under `lease.writes`, and public functions and methods with a parameter `out` for a folder."""
    marked = re.compile(r"^@(?:lease\.)?writes\ndef (\w+)", re.MULTILINE)
    found = {name for path in Path(dp.__path__[0]).rglob("*.py") for name in marked.findall(path.read_text())}
    for module in (dp, dp.tools, dp.chats):
        for one in (getattr(module, name) for name in module.__all__ if name != "propose_people"):  # it writes a file
            methods = [getattr(one, name) for name in ("run", "build", "write", "save") if hasattr(one, name)]
            found |= {f.__qualname__ for f in [one, *methods] if isinstance(f, (FunctionType, MethodType))
                      and "out" in inspect.signature(f).parameters}  # fmt: skip
    assert found - {job.partition(" ")[0] for job in JOBS} == set()
    assert {"experiment", "persona", "encode", "Pipeline.run", "SuffixIndex.build"} <= found


def test_a_folder_without_result_is_removed_again(tmp_path):
    """A job that fails before it writes leaves no empty folder; one that was there stays."""
    (tmp_path / "old").mkdir()
    for name in ("old", "new", "a/new/one"):
        with pytest.raises(DataprepError, match="early"), held(str(tmp_path / name)):
            raise DataprepError("early")  # noqa: EM101
    assert os.listdir(tmp_path) == ["old"]


def test_a_function_holds_the_lease_of_out(tmp_path):
    """A function under `writes` holds the lease while it runs, if `out` is given by position or by name."""

    @lease.writes
    def job(out, what):
        with pytest.raises(InUse), held(str(tmp_path)):
            pytest.fail("two writers")
        return what

    assert (job(tmp_path, 1), job(what=2, out=f"{tmp_path}/")) == (1, 2)
    assert os.listdir(tmp_path) == []


def test_leases_of_several_folders_end_together(holder, tmp_path):
    """If one of them is in use, none is held."""
    out, _ = holder
    with pytest.raises(InUse), all_held([str(tmp_path / "a"), out, str(tmp_path / "z")]):
        pytest.fail("two writers")
    with all_held([str(tmp_path / "a"), str(tmp_path / "z"), str(tmp_path / "a")]):
        assert sorted(os.listdir(tmp_path)) == ["a", "out", "z"]


@pytest.mark.parametrize("stated", [b"", b"{", b"[]", b'{"pid": 1, "host": "elsewhere", "boot": "x"}'])
def test_leases_of_other_hosts_end_by_their_heartbeat(tmp_path, stated):
    """A cut lease is none; one of another host counts while it is touched."""
    place = tmp_path / NAME
    place.write_bytes(stated)
    if b"elsewhere" in stated:
        with pytest.raises(InUse, match="pid 1 on host elsewhere"), held(str(tmp_path)):
            pytest.fail("two hosts")
        old = time.time() - 10 * lease.STALE
        os.utime(place, (old, old))
    with held(str(tmp_path)):
        pass
    assert os.listdir(tmp_path) == []


def test_without_locks_the_process_decides(tmp_path, monkeypatch):
    """A file system without locks: a holder of this host counts while its process runs on this boot."""
    monkeypatch.setattr(lease, "fcntl", None)
    place = tmp_path / NAME
    with held(str(tmp_path)):
        with pytest.raises(InUse), held(str(tmp_path)):
            pytest.fail("two writers")
        dead = orjson.loads(place.read_bytes())
    for change in ({"boot": "another"}, {"pid": 2**22 + 1}):
        place.write_bytes(orjson.dumps(dead | change))
        with held(str(tmp_path)):
            pass


@pytest.mark.parametrize("kind", ["file", "below a file", "no rights"])
def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path, kind):
    """A file in the place of a folder, or one that may not be written, names the folder and says what to do."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "closed").mkdir(mode=0o500)
    if kind == "no rights" and os.access(tmp_path / "closed", os.W_OK):
        pytest.skip("this user may write anywhere")
    out = {"file": "file", "below a file": "file/out", "no rights": "closed/out"}[kind]
    sentence = r"cannot be written \(.*\); choose another folder as out"
    with pytest.raises(DataprepError, match=sentence), held(str(tmp_path / out)):
        pytest.fail("written")


def test_a_dangling_link_says_so(tmp_path):
    """A link whose target is missing is not followed to make it."""
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataprepError, match="broken link"), held(str(tmp_path / "link")):
        pytest.fail("written")


def test_the_lease_of_a_file_url_is_on_this_disk(tmp_path, monkeypatch):
    """That of other storage is nowhere: nothing is written, here or there."""
    monkeypatch.chdir(tmp_path)
    with held(f"file://{tmp_path}/a"):
        assert os.listdir(tmp_path / "a") == [lease.NAME]
        with pytest.raises(InUse), held(str(tmp_path / "a")):
            pytest.fail("two writers")
    with held("memory://a/b"):
        assert os.listdir(tmp_path) == []


def test_who_holds_a_folder_is_told(holder, tmp_path):
    """A living process, without a word of its own in the folder; nobody, where it was killed or never was."""
    out, process = holder
    before = os.stat(os.path.join(out, NAME))
    assert lease.holder(out) == {"pid": process.pid, "host": socket.gethostname()}
    with pytest.raises(InUse), all_held([str(tmp_path), out]):
        pass
    Path(out, NAME).write_bytes(b"")
    assert lease.holder(out) == {"pid": "?", "host": "?"}
    with pytest.raises(InUse, match=r"in use by pid \? on host \?;"), held(out):
        pytest.fail("two writers")
    process.kill()
    process.wait()
    assert lease.holder(out) is lease.holder(str(tmp_path)) is None
    with all_held([out]):
        pass
    assert (os.listdir(out), before.st_size > 0) == ([], True)


def test_a_pipe_in_place_of_a_lease_is_not_waited_for(tmp_path):
    """Whoever put it there; it states nobody."""
    os.mkfifo(tmp_path / NAME)
    found = []
    asked = threading.Thread(target=lambda: found.append(lease.holder(str(tmp_path))), daemon=True)
    asked.start()
    asked.join(20)
    assert found == [None]


HERE = {"host": socket.gethostname(), "boot": lease._boot()}
DEAD, LIVING = {"pid": 2**22 + 1}, {"pid": "this"}


@pytest.mark.parametrize(
    ("stated", "age", "locks", "holds"),
    [({"pid": 7, "host": "far"}, STALE - 9, True, True), ({"pid": 7, "host": "far"}, STALE + 1, True, False),
     (HERE | LIVING, 0, True, False), (HERE | LIVING, 9 * STALE, False, True), (HERE | DEAD, 0, False, False),
     (HERE | LIVING | {"boot": "earlier"}, 0, False, False), (HERE, 0, False, True),
     ({}, 0, False, False), ({}, 0, True, False)],
    ids=["far", "far, old", "no lock", "no locks", "dead", "boot", "group", "cut, no locks", "cut"],
)  # fmt: skip
def test_a_lease_without_its_lock(tmp_path, monkeypatch, stated, age, locks, holds):
    """That of another host counts while it is touched, that of this one only where there are no locks."""
    this = HERE | {"pid": os.getpid()}
    stated = {name: this[name] if value == "this" else value for name, value in stated.items()}
    if not locks:
        monkeypatch.setattr(lease, "fcntl", None)
    (tmp_path / NAME).write_bytes(orjson.dumps(stated))
    when = time.time() - age
    os.utime(tmp_path / NAME, (when, when))
    expected = {"pid": stated.get("pid", "?"), "host": stated.get("host", "?")} if holds else None
    assert lease.holder(str(tmp_path)) == expected
    assert os.stat(tmp_path / NAME).st_mtime == pytest.approx(when)
    if holds:
        with pytest.raises(InUse), held(str(tmp_path)):
            pytest.fail("two writers")
        (tmp_path / NAME).unlink()
    with held(str(tmp_path)):
        assert orjson.loads((tmp_path / NAME).read_bytes()) == this
        assert not holds or os.stat(tmp_path / NAME).st_mode & 0o111 == 0
    assert os.listdir(tmp_path) == []


def test_the_heartbeat_touches_the_file(tmp_path, monkeypatch):
    """Again and again while the block runs; no file stays open."""
    monkeypatch.setattr(lease, "BEAT", 0.001)
    with held(str(tmp_path)):
        for _ in range(2):
            os.utime(tmp_path / NAME, (1, 1))
            ends = time.monotonic() + 10
            while os.stat(tmp_path / NAME).st_mtime < 100:
                assert time.monotonic() < ends
                time.sleep(0.001)
        assert lease.holder(str(tmp_path))["pid"] == os.getpid()
        with pytest.raises(InUse), held(str(tmp_path)):
            pytest.fail("two writers")
    opened = [Path("/proc/self/fd", number) for number in os.listdir("/proc/self/fd")]
    assert not [place for place in opened if place.is_symlink() and str(tmp_path) in os.readlink(place)]


def test_a_lease_of_no_folder():
    """An empty path is none."""
    for wrong in ("", "file://"):
        with pytest.raises(PlanError, match=r"out='.*' must be the path of a folder to write to"):
            lease.check_place(wrong)


def test_a_lease_that_is_removed_as_it_is_taken_is_made_again(tmp_path, monkeypatch):
    """Its holder ended between two steps: a locked file without a name would be nobody's."""
    lock, removed = lease._lock, []

    def slow(descriptor):
        locked = lock(descriptor)
        if not removed:
            removed.append(os.path.join(tmp_path, NAME))
            os.unlink(removed[0])
        return locked

    monkeypatch.setattr(lease, "_lock", slow)
    with held(str(tmp_path)):
        assert orjson.loads((tmp_path / NAME).read_bytes())["pid"] == os.getpid()
        with pytest.raises(InUse), held(str(tmp_path)):
            pytest.fail("two writers")
    assert removed


def test_a_full_disk_is_said(tmp_path, monkeypatch) -> None:
    """Not the permissions, if there is no room for the lease."""

    def full(*_given, **_named):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(lease, "_acquired", full)
    with pytest.raises(DataprepError, match="out: the disk is full; free some space"), held(str(tmp_path / "out")):
        pass


@pytest.mark.parametrize("place", ["memory://leases/taken", "folder"])
@pytest.mark.parametrize("is_over", [False, True])
def test_a_suspended_process_does_not_replace_a_later_result(place, is_over, tmp_path):
    """While its stage is "suspended", another process writes a result, or is about to: then nothing is committed."""
    out = f"{place}-{is_over}" if "://" in place else str(tmp_path / place)
    other = {"machine": "there 1 2", "pid": 1, "is": "y"}

    def suspended(text):
        before = [f"{out}/{name}" for name in claims.listed(out) if name.startswith(NAME)]
        for url in before:
            files.remove(url)
        if not is_over and "://" in out:
            files.write_json(f"{out}/{NAME}.2", other)
        elif not is_over:
            Path(before[0]).write_text(orjson.dumps({"pid": 1, "host": "there", "boot": ""}).decode())
        return text == "وجدت الكتاب"

    docs = dp.read([{"text": "وجدت الكتاب"}, {"text": "two"}])
    with pytest.raises(InUse, match="^another process.* took .* over while this one was suspended"):
        dp.Pipeline(dp.Filter(suspended)).run(docs, out)
    assert not files.exists(f"{out}/manifest.json")


def upper(text):
    return text.upper()


@pytest.mark.parametrize("place", ["local", "memory://leases/written-over"])
def test_a_suspended_process_does_not_write_over_files_of_a_later_result(place, tmp_path):
    """It writes its part after another process, with other stages, has made its result in the folder."""
    out = place if "://" in place else str(tmp_path / place)
    docs, later, first = dp.read([{"text": "وجدت الكتاب"}, {"text": "two"}]), [], []

    def suspended(text):
        if not later:
            for name in [name for name in claims.listed(out) if name.startswith(NAME)]:
                files.remove(f"{out}/{name}")
            first[:], atomic._LEASES[:] = atomic._LEASES, []  # as in another process
            later.append(dp.Pipeline(dp.Map(upper)).run(docs, out, replace=True))
            atomic._LEASES[:] = first
        return text + " of the first"

    with pytest.raises(InUse, match="^another process.* took .* over while this one was suspended"):
        dp.Pipeline(dp.Map(suspended)).run(docs, out)
    assert later[0].to_arrow()["text"].to_pylist() == ["وجدت الكتاب", "TWO"]
    assert failure.found(out) is None
    dp.Pipeline(dp.Map(upper)).run(docs, out)
    assert dp.tools.verify(out) == {out: []}


def test_a_suspended_process_does_not_renew_a_lease_that_was_taken(monkeypatch):
    """Its heartbeats end, since an object that they create again would look like the lease of a live process."""
    monkeypatch.setattr(claims, "BEAT", 0.001)
    monkeypatch.setattr(claims, "SPARSE", 1)
    out = "memory://leases/renewed"
    with held(out):
        atomic.check_leases(out)
        first = files.read(f"{out}/{NAME}.1")
        while files.read(f"{out}/{NAME}.1") == first:
            time.sleep(0.001)
        files.remove(f"{out}/{NAME}.1")
        time.sleep(0.02)
        assert leases_of(out) == []
        with pytest.raises(InUse):
            atomic.check_leases(out)
