"""A run that is killed, or meets a full disk, goes on where it was and ends in the same bytes."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep.core.pipeline import Pipeline
from dataprep.errors import DataprepError
from dataprep.tokens.shards.writer import save
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from fixtures.small_pipeline import STAGES, TEXTS
from laws import dataset_of, same_bytes

TESTS = os.path.dirname(laws.__file__)
SCRIPT = """
import os, signal, sys, threading
sys.path[:0] = {path!r}
from pathlib import Path
import dataprep.store.files as files
from dataprep.core.pipeline import Pipeline
from dataprep.core.run.runner import Local, Serial
from laws import dataset_of
from fixtures.small_pipeline import STAGES, TEXTS

def die_before_rename(n):
    '''SIGKILL in the middle of the n-th file that is written: after its bytes, before it has its name.'''
    count, real = [0], os.replace
    def replace(*args):
        count[0] += 1
        if count[0] == n:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)
    os.replace = replace
    os.fsync = lambda _: None  # nothing waits for the disk, which stays on
    return count

if __name__ == "__main__":
    die_before_rename(int(sys.argv[2]))
    Pipeline(*STAGES).run(dataset_of(Path(sys.argv[1]), TEXTS, parts=4), sys.argv[1] + "/out")
"""


def start(folder, n, script=SCRIPT):
    path = folder / "script.py"
    path.write_text(textwrap.dedent(script).format(path=[TESTS]))
    with (folder / "errors").open("w") as errors:
        return subprocess.Popen([sys.executable, str(path), str(folder), str(n)], stderr=errors)


def test_sigkill_at_every_file_then_resumed(tmp_path):
    """SIGKILL inside each write in turn: every attempt dies one file later, and the last ends as if nothing was."""
    clean = tmp_path / "clean"
    clean.mkdir()
    Pipeline(*STAGES).run(dataset_of(clean, TEXTS, parts=4), str(clean / "out"))
    killed = tmp_path / "killed"
    killed.mkdir()
    deaths = 0
    for n in (2, 3, 3, 4, 5, 6, 6, 7):
        worker = start(killed, n)
        worker.wait(60)
        assert worker.returncode in (0, -signal.SIGKILL), (killed / "errors").read_text()
        deaths += worker.returncode == -signal.SIGKILL
    assert deaths >= 5
    Pipeline(*STAGES).run(dataset_of(killed, TEXTS, parts=4), str(killed / "out"))
    same_bytes(clean / "out", killed / "out")


def test_sigkill_of_the_parent_at_any_moment(tmp_path):
    """SIGKILL from outside while two workers write: the workers end too, and a rerun ends the same.

    Three random times in CI; DATAPREP_KILLS=100 takes a hundred.
    """
    psutil = pytest.importorskip("psutil")
    clean = tmp_path / "clean"
    clean.mkdir()
    Pipeline(*STAGES).run(dataset_of(clean, TEXTS, parts=4), str(clean / "out"))
    killed = tmp_path / "killed"
    killed.mkdir()
    script = SCRIPT.replace('"/out")', '"/out", Local(2))')
    chosen = random.Random(17)
    for _ in range(int(os.environ.get("DATAPREP_KILLS", "3"))):
        worker = start(killed, 10**9, script)
        time.sleep(chosen.uniform(0.4, 2.4))
        children = psutil.Process(worker.pid).children(recursive=True) if worker.poll() is None else []
        worker.send_signal(signal.SIGKILL)
        assert worker.wait(60) in (0, -signal.SIGKILL), (killed / "errors").read_text()
        assert psutil.wait_procs(children, timeout=30)[1] == []
        if (killed / "out" / "manifest.json").exists():  # finished: begin anew
            same_bytes(clean / "out", killed / "out")
            shutil.rmtree(killed / "out")
    Pipeline(*STAGES).run(dataset_of(killed, TEXTS, parts=4), str(killed / "out"))
    same_bytes(clean / "out", killed / "out")


def test_full_disk_then_resumed(tmp_path):
    """A full disk is one sentence; what was finished is kept, and the rerun ends the same."""
    docs = dataset_of(tmp_path, [t * 200 for t in TEXTS], parts=4)
    Pipeline(*STAGES).run(docs, str(tmp_path / "clean"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, hard))
    try:
        with pytest.raises(DataprepError, match="disk is full"):
            Pipeline(*STAGES).run(docs, str(tmp_path / "full"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    Pipeline(*STAGES).run(docs, str(tmp_path / "full"))
    same_bytes(tmp_path / "clean", tmp_path / "full")


# -- from texts to tokens: every job of issue 6 that writes a folder


def encode_dialogues(home):
    """Two parts of dialogues into shards with masks, three sides."""
    said = [{"role": "user", "content": "how is it " * (i % 3)} for i in range(40)]
    rows = [{"text": "", "messages": json.dumps([q, {"role": "assistant", "content": f"fine {i}"}])}
            for i, q in enumerate(said)]  # fmt: skip
    docs = dataset_of(home, rows, parts=2, strings=("messages",))
    tok = Tokenizer.of_bytes(special=["chatml"])
    dp.encode(docs, tok, home / "out", split=dp.Split(val=0.2, test=0.2), template="chatml", shard_tokens=300)


def mix(home):
    """Two sources into a mixture of several shards."""
    for name, seed in (("web", 1), ("chat", 2)):
        rng = np.random.default_rng(seed)
        docs = [rng.integers(0, 90, 20) for _ in range(20 * seed)]
        save(home / name, {"train": docs, "val": docs[:2]}, vocab_size=100, eot=99)
    sources = {"web": home / "web", "chat": home / "chat"}
    dp.Mix({"web": 3, "chat": 1}, max_epochs=6).write(sources, home / "out", tokens=1_500, shard_tokens=600)


def forget(home):
    """A run of two steps loses three documents; begun anew if it was not begun."""
    if not (home / "out" / "shards" / "manifest.json").exists():
        clean = Pipeline(*STAGES).run(dataset_of(home, TEXTS, parts=4), str(home / "out" / "clean"))
        dp.encode(clean, Tokenizer.of_bytes(), home / "out" / "shards", val=0.2, shard_tokens=200)
    ids = [i for batch in dp.open_dataset(str(home / "out" / "clean")).batches() for i in batch["id"].to_pylist()][::9]
    (home / "ids").exists() or (home / "ids").write_text("\n".join(map(str, ids)))
    dp.tools.forget(str(home / "out"), str(home / "ids"), missing_ok=True)


KILLED = """
import os, sys
sys.path[:0] = {path!r}
from pathlib import Path
import script, test_kill

home, job = Path(sys.argv[1]), getattr(test_kill, sys.argv[2])
for n in range(2, 999, int(sys.argv[3])):  # a fork each: what takes long is importing
    place = home / f"killed-{{n}}"
    place.mkdir()
    for at in (n, 10**9):
        if (child := os.fork()) == 0:
            script.die_before_rename(at)
            job(place)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -9), code
        if at == n and code == 0:
            sys.exit(print(n))
sys.exit("never ended")
"""


@pytest.mark.parametrize(("job", "every"), [(encode_dialogues, 16), (mix, 6), (forget, 25)])
def test_sigkill_anywhere_then_called_again(tmp_path, job, every):
    """SIGKILL inside some of a job's writes, then the same call: each time the bytes of one that nobody killed."""
    (tmp_path / "clean").mkdir()
    job(tmp_path / "clean")
    here = [str(tmp_path), os.path.dirname(__file__), TESTS]
    (tmp_path / "script.py").write_text(SCRIPT.format(path=here))
    (tmp_path / "killed.py").write_text(KILLED.format(path=here))
    code = [sys.executable, str(tmp_path / "killed.py"), str(tmp_path), job.__name__, str(every)]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    killed = sorted(tmp_path.glob("killed-*"))
    assert len(killed) >= 3
    for place in killed:
        same_bytes(tmp_path / "clean" / "out", place / "out")


# -- what was seen by a Bloom filter, and the way from text to token shards

BLOOM = """
import os, signal, sys
sys.path[:0] = {path!r}
from pathlib import Path
from dataprep.dedup.bloom import Bloom
from dataprep.core.pipeline import Pipeline
from laws import dataset_of
count, real = [0], os.replace
def replace(*args):
    count[0] += 1
    if count[0] == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args)
os.replace = replace
texts = [f"a line that comes back\\nline {{i % 50}} of several words\\nand a last one" for i in range(90)]
docs = dataset_of(Path(sys.argv[1]), texts)
Pipeline(Bloom(unit="paragraph"), Bloom(unit="document")).run(docs, sys.argv[1] + "/out")
"""


def test_a_killed_fit_forgets_nothing(tmp_path) -> None:
    """SIGKILL inside one write after the other: what was seen is neither forgotten nor counted twice."""
    script = tmp_path / "script.py"
    script.write_text(BLOOM.format(path=[TESTS]))

    def run_until(folder: str, n: int) -> int:
        (tmp_path / folder).mkdir(exist_ok=True)
        return subprocess.run([sys.executable, script, tmp_path / folder, str(n)], check=False).returncode

    assert run_until("clean", 0) == 0
    assert [run_until("killed", n) for n in (5, 6)] == [-signal.SIGKILL] * 2
    assert run_until("killed", 0) == 0
    same_bytes(tmp_path / "clean" / "out", tmp_path / "killed" / "out")


SPINE = """
import os, sys
sys.path[:0] = {path!r}
from pathlib import Path
import dataprep as dp
import laws, script, test_laws

def spine(folder):
    docs = laws.dataset_of(folder, test_laws.REAL, parts=3)
    stages = dp.C4(min_sentences=1), dp.Exact(), dp.MinHash(), dp.SuffixArray(min_words=12), dp.Exact(unit="line")
    clean = dp.Pipeline(*stages, dp.Bloom(unit="paragraph")).run(docs, str(folder / "out"))
    tokenizer = dp.train_bpe(clean, vocab_size=300, sample=1.0, val=0.2, out=str(folder / "tokenizer"))
    dp.encode(clean, tokenizer, out=str(folder / "shards"), val=0.2, shard_tokens=900)

def attempt(folder, n):  # a fork each: what takes long is importing
    if (child := os.fork()) == 0:
        written = script.die_before_rename(n)
        spine(folder)
        (folder.parent / "written").write_text(str(written[0]))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(n, code, (folder / "shards").exists(), flush=True)
    return code

home = Path(sys.argv[1])
assert attempt(home / "clean", 10**9) == 0
further = int((home / "written").read_text()) // 12  # a twelfth of all writes further each time, wherever that is
for n in range(further, further + 30):
    if attempt(home / "killed", n) == 0:
        break
"""


def test_the_killed_spine_resumes_to_the_same_bytes(tmp_path):
    """SIGKILL inside many writes from text to token shards; what is left resumes to the same bytes."""
    for name in ("clean", "killed"):
        (tmp_path / name).mkdir()
    (tmp_path / "script.py").write_text(SCRIPT.format(path=[str(tmp_path), TESTS]))
    code = SPINE.format(path=[str(tmp_path), TESTS])
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ends = [line.split()[1:] for line in done.stdout.splitlines()[1:]]
    assert [code for code, _ in ends] == ["-9"] * (len(ends) - 1) + ["0"]
    assert len(ends) > 6
    assert sum(writing == "True" for _, writing in ends) >= 2  # of token shards
    for made in ("out", "tokenizer", "shards"):
        same_bytes(tmp_path / "clean" / made, tmp_path / "killed" / made)
