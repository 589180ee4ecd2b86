"""What commands load and read, counted and not timed: a new import, kernel or pass over the input is seen here.

If a line of the table must change, ask whether all users should pay for it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from dataprep.store import hashes

# Libraries that take a hundredth of a second or more to import.
HEAVY = (
    "asyncio", "concurrent.futures.process", "datasets", "fsspec", "llvmlite", "markdown_it", "numba", "numpy",
    "pandas", "pyarrow", "pyarrow.compute", "pyarrow.parquet", "pygments", "regex", "rich.console", "scipy.linalg",
    "tiktoken", "tokenizers", "torch", "typer.rich_utils",
)  # fmt: skip

# Runs `code`, then prints what it loaded and read. A kernel counts if Python calls it; one that was compiled and not
# loaded is counted apart, since compiling imports more.
CHILD = """
import importlib, json, sys
from collections import Counter

opened, kernels, calls = Counter(), set(), set()
code, heavy, place, watched = json.loads(sys.argv[1])


def watch():
    from dataprep.store import files
    from dataprep.unicode.kernel import Kernel
    from dataprep.unicode.kinds import text_of

    plain_open, plain_call, plain_made = files._opened, Kernel.__call__, Kernel._made

    def open_(url, *given):
        if url.endswith("numbers.jsonl"):
            opened["input"] += 1
        elif "/steps/" in url and "/data/" in url:
            opened["saved"] += 1
        return plain_open(url, *given)

    def call(kernel, *given):
        kernels.add(kernel)
        return plain_call(kernel, *given)

    def made(kernel, kinds, given):
        calls.add(f"{kernel.__module__} {kernel.__qualname__} {text_of(kinds)}")
        return plain_made(kernel, kinds, given)

    files._opened, Kernel.__call__, Kernel._made = open_, call, made


if watched:
    watch()
try:
    exec(code, {"PLACE": place})
except SystemExit as e:
    assert not e.code, e.code
compiled = sum(kernel.n_compiled for kernel in kernels)
found = {
    "libraries": [name for name in heavy if name in sys.modules], "opened": opened, "kernels": len(kernels),
    "calls": sorted(calls), "compiled": compiled,
    "ours": sorted(name for name in sys.modules if name.startswith("dataprep.cli.")),
}
print("\\n" + json.dumps(found))
"""


class Cost(NamedTuple):
    """What a command needs.

    libraries: of HEAVY. opened: how often the input, and text that a run saved, are opened, to hash or to read them.
    kernels: the kernels that Python calls. ours: modules of `dataprep.cli`.
    """

    libraries: str
    opened: dict[str, int]
    kernels: int
    ours: str


ARROW = "numpy pyarrow"
RUNNERS = f"{ARROW} concurrent.futures.process"
PARQUET = f"{RUNNERS} pyarrow.compute pyarrow.parquet"
RUN = f"{PARQUET} llvmlite"
STAGES = ("C4", "Exact", "Gopher", "MinHash", "PII", "RefinedWeb", "SuffixArray", "URLDedup")
SHOWN = "as_json listed options wording"  # modules of `dataprep.cli`
COMMAND = "from dataprep.cli import main; import sys; sys.argv = ['dataprep', {}]; main()"
READ = "import dataprep as dp; docs = dp.read(PLACE + '/numbers.jsonl'); "
TABLE = {
    "version": (COMMAND.format("'--version'"), Cost("", {}, 0, "listed wording")),
    "help": (COMMAND.format("'--help'"), Cost("typer.rich_utils rich.console", {}, 0, "listed wording")),
    "import": ("import dataprep", Cost("", {}, 0, "")),
    "stages": (f"import dataprep as dp; {', '.join(map('dp.{}'.format, STAGES))}", Cost(ARROW, {}, 0, "")),
    "read": (READ + "list(docs.batches())", Cost(f"{RUNNERS} llvmlite pyarrow.compute", {"input": 1}, 2, "")),
    "Exact": (
        READ + "dp.Pipeline(dp.Exact()).run(docs, out=PLACE + '/OUT')",
        Cost(RUN, {"input": 4}, 13, ""),
    ),
    "C4, Exact": (
        READ + "dp.Pipeline(dp.C4(), dp.Exact()).run(docs, out=PLACE + '/OUT')",
        Cost(f"{RUN} fsspec asyncio", {"input": 2, "saved": 5}, 13, ""),
    ),
    "C4, MinHash": (
        READ + "dp.Pipeline(dp.C4(), dp.MinHash()).run(docs, out=PLACE + '/OUT')",
        Cost(f"{RUN} fsspec asyncio", {"input": 2, "saved": 4}, 15, ""),
    ),
    "lines": (
        READ + "dp.Pipeline(dp.Exact(unit='line')).run(docs, out=PLACE + '/OUT')",
        Cost(RUN, {"input": 4}, 11, ""),
    ),
    "encode": (
        READ + "dp.encode(docs, dp.train_bpe(docs, vocab_size=300, val=0), out=PLACE + '/OUT', val=0)",
        Cost(f"{RUN} tiktoken tokenizers", {"input": 4}, 11, ""),
    ),
    "status": (COMMAND.format("'status', PLACE + '/made'"), Cost(f"{RUNNERS} rich.console", {}, 0, f"{SHOWN} status")),
    "inspect": (
        COMMAND.format("'inspect', PLACE + '/made'"),
        Cost(f"{PARQUET} rich.console", {"saved": 1}, 0, f"{SHOWN} look"),
    ),
    "verify": (
        COMMAND.format("'verify', PLACE + '/made'"),
        Cost(f"{PARQUET} rich.console tiktoken tokenizers", {"saved": 2}, 0, f"{SHOWN} quiet tokens"),
    ),
}  # fmt: skip
UNWATCHED = {"version", "help", "import", "stages"}  # to watch the others, modules are imported first


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an input, `numbers.jsonl`, and a run of it, `made`."""
    import dataprep as dp

    folder = tmp_path_factory.mktemp("counts")
    lines = ("".join(f"This is sentence {n} of text {i}, which has many words. " for n in range(9)) for i in range(40))
    texts = [*lines] * 2
    (folder / "numbers.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    dp.Pipeline(dp.C4(), dp.Exact()).run(dp.read(str(folder / "numbers.jsonl")), out=str(folder / "made"))
    age = time.time_ns() - (folder / "numbers.jsonl").stat().st_ctime_ns
    time.sleep(max(0, hashes.YOUNG_NS - age) / 1e9 + 0.1)  # the hash of a younger file is not kept, so it is read again
    return folder


def counted(name, place, out):
    """What the command `name` of the table loads and reads in a new process."""
    code = TABLE[name][0].replace("OUT", f"{name}-{out}")
    given = json.dumps([code, HEAVY, str(place), name not in UNWATCHED])
    command = [sys.executable, "-c", CHILD, given]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"})
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", TABLE)
def test_what_a_command_loads_and_reads(name, place):
    """As the table says, with kernels that are compiled ahead; a second process counts if the first had to compile."""
    found = counted(name, place, "first")
    if found["compiled"]:
        found = counted(name, place, "second")
    assert not found["compiled"]
    wanted = TABLE[name][1]
    there = {one for one in wanted.libraries.split() if importlib.util.find_spec(one.partition(".")[0])}
    assert set(found["libraries"]) == there
    assert (found["opened"], found["kernels"]) == (wanted.opened, wanted.kernels)
    listed = (Path(__file__).parents[1] / "scripts" / "kernels.txt").read_text("utf-8").splitlines()
    assert not set(found["calls"]) - set(listed), "scripts/kernels.txt lacks calls of kernels"
    assert found["ours"] == sorted(f"dataprep.cli.{module}" for module in wanted.ours.split())


def test_a_second_pass_and_a_new_import_are_seen(place):
    """The guard itself: reading twice, and importing what the table does not have, count."""
    once = counted("read", place, "x")
    code = TABLE["read"][0] + "; list(docs.batches()); import tokenizers"
    given = json.dumps([code, HEAVY, str(place), True])
    done = subprocess.run([sys.executable, "-c", CHILD, given], capture_output=True, text=True, check=True)
    twice = json.loads(done.stdout.splitlines()[-1])
    assert twice["opened"]["input"] > once["opened"]["input"]
    assert set(twice["libraries"]) - set(once["libraries"]) == {"tokenizers"}
