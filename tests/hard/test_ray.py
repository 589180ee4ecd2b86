"""Ray does what the runners of one machine do: order, errors, and the same bytes from text to token shards."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import dataprep as dp
import laws
import test_laws
from dataprep import extend
from dataprep.core.model import batch as B
from dataprep.core.pipeline import Pipeline
from dataprep.errors import ReadError
from fixtures.small_pipeline import STAGES, TEXTS

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def _one_cluster():
    """One start of Ray for all of these tests."""
    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    yield
    ray.shutdown()
    patch.undo()


def square(n):
    return n * n


def broken(n):
    msg = "is empty"
    raise ReadError(msg, f"file {n}", 3)


def test_ray_is_the_same_map():
    """Order, errors and budgets as with the other runners."""
    runner = dp.tools.Ray()
    assert list(runner.map(square, range(5))) == [0, 1, 4, 9, 16]
    with pytest.raises(ReadError, match="file 1, byte 3"):
        list(runner.map(broken, [1, 2]))
    assert runner.workers >= 1


@dataclass(frozen=True)
class SlowWrite:
    """Fails at once at item 0; of the others, notes that it began, and writes a file after a while."""

    out: str

    def __call__(self, item):
        if item == 0:
            msg = "no"
            raise ValueError(msg)
        Path(self.out, f"began-{item}").touch()
        time.sleep(1.5)
        Path(self.out, f"file-{item}").touch()


def test_nothing_writes_after_an_error(tmp_path):
    """The tasks that were sent before it are waited for."""
    with pytest.raises(ValueError, match="no"):
        list(dp.tools.Ray().map(SlowWrite(str(tmp_path)), range(6)))
    found = {path.name for path in tmp_path.iterdir()}
    assert found  # or the test would say nothing
    assert {name.replace("began", "file") for name in found} <= found
    time.sleep(2)
    assert {path.name for path in tmp_path.iterdir()} == found


def test_a_pipeline_is_the_same_byte_for_byte(tmp_path):
    """Ray writes the files that Serial writes, receipts and manifest included."""
    docs = laws.dataset_of(tmp_path, TEXTS, parts=5)
    Pipeline(*STAGES).run(docs, str(tmp_path / "serial"))
    Pipeline(*STAGES).run(docs, str(tmp_path / "ray"), dp.tools.Ray())
    laws.same_bytes(tmp_path / "serial", tmp_path / "ray")


def folder_of(_):
    return str(Path.cwd())


def test_tasks_run_in_the_folder_of_the_caller(tmp_path, monkeypatch):
    """Also those of a cluster that was started in another one."""
    assert len(list(dp.tools.Ray().map(square, range(3)))) == 3
    monkeypatch.chdir(tmp_path)
    assert set(dp.tools.Ray().map(folder_of, range(3))) == {str(tmp_path)}


def test_the_spine_is_the_same_for_every_runner(tmp_path):
    """From text to token shards: Serial, Local and Ray write the same bytes."""
    texts = [f"{page} Number {i % 19} of this page is told here." for i, page in enumerate(test_laws.REAL * 6)]
    docs = laws.dataset_of(tmp_path, texts, parts=4)
    for name, runner in (("serial", dp.tools.Serial()), ("local", laws.TWO), ("ray", dp.tools.Ray())):
        stages = dp.C4(min_sentences=1), dp.Exact(), dp.MinHash()
        clean = dp.Pipeline(*stages).run(docs, str(tmp_path / name / "clean"), runner)
        tokenizer = dp.train_bpe(clean, vocab_size=300, sample=1.0, val=0.2, runner=runner)
        dp.encode(clean, tokenizer, out=str(tmp_path / name / "shards"), val=0.2, runner=runner)
    laws.same_bytes(tmp_path / "serial", tmp_path / "local")
    laws.same_bytes(tmp_path / "serial", tmp_path / "ray")


@dataclass(frozen=True)
class Slow(extend.Reader):
    """A document per file; the word in it decides what becomes of the process."""

    def __call__(self, piece, stats):
        with open(piece.url, encoding="utf-8") as f:
            word = f.read()
        if word == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if word == "sleep":
            time.sleep(60)
        held = []
        while word == "memory" and len(held) < 32:
            held.append(bytearray(b"x") * (1 << 26))
            time.sleep(0.02)
        yield B.make([B.doc_id(piece.file, 0)], [word], piece.source)


@pytest.mark.parametrize(
    ("word", "limits", "says"),
    [("sleep", {"timeout": 1}, "timeout=1 s"), ("memory", {"memory": "700MB"}, "more memory than memory='667 MiB'"),
     ("kill", {}, "a worker was killed (SIGKILL)")],
    ids=["time", "memory", "death"],
)  # fmt: skip
def test_limits_of_time_and_memory(tmp_path, word, limits, says):
    """A file beyond a limit is left out under on_bad_file="skip"; the others are read."""
    (tmp_path / "in").mkdir()
    for n, text in enumerate(("one", word, "two")):
        (tmp_path / "in" / f"{n}.txt").write_text(text)
    docs = dp.read(str(tmp_path / "in"), Slow, on_bad_file="skip")
    done = dp.Pipeline().run(docs, str(tmp_path / "out"), dp.tools.Ray(**limits))
    assert [doc["text"] for doc in done] == ["one", "two"]
    [row] = done.unread().to_pylist()
    assert (row["reason"], row["detail"].endswith(says)) == ("quarantined", True), row
