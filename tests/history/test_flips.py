"""Flipped bits: verify names every kind of file in the folder of a run, and repair makes the bytes again."""

from __future__ import annotations

import json
import random
import shutil

import pytest

import dataprep as dp
from dataprep import pipeline_file
from dataprep.core.run import quarantine
from dataprep.core.run.runner import Serial
from dataprep.history.repair import remove_damaged
from dataprep.store import atomic, files, hashes

PIPELINE = """
import dataprep as dp
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

def _strip(text):
    return text.strip()

def clean(out, runner):
    return dp.Pipeline(dp.Map(_strip), dp.Exact(), dp.Bloom()).run(dp.read({texts!r}), out, runner)

def shards(clean, out, runner):
    return dp.encode(clean, Tokenizer.of_bytes(), out, val=0.3, runner=runner)

def mixed(shards, out, runner):
    return dp.Mix({{"all": 1.0}}).write({{"all": str(shards.path)}}, out, runner=runner)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with a file of each kind, and its steps."""
    home = tmp_path_factory.mktemp("made")
    lines = (json.dumps({"text": f" text number {n % 20} of some words "}) + "\n" for n in range(40))
    (home / "a.jsonl").write_text("".join(lines))
    (home / "b.jsonl").write_text("broken")
    (home / "pipe.py").write_text(PIPELINE.format(texts=[str(home / "a.jsonl")]))
    steps = pipeline_file.load(str(home / "pipe.py"))
    list(pipeline_file.execute(steps, str(home / "out"), Serial()))
    clean = home / "out" / "clean"
    files.write_state(str(clean / hashes.NAME), {"0a" * 16: "1b" * 16})
    files.write_state(str(clean / quarantine.NAME), {f"{'0a' * 16}:0": "it took too long"})
    if pytest.importorskip("pydivsufsort"):
        dp.tools.SuffixIndex.build(dp.open_dataset(str(clean)), str(clean / "index"))
    assert not any(dp.tools.verify(str(home / "out")).values())
    return home, steps


def kinds(out):
    """{kind: one file of it}: names without numbers and keys."""
    found = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        name = str(path.relative_to(out))
        found.setdefault("".join("0" if c in "0123456789abcdef" else c for c in name), name)
    unstated = ("tokenizer_config.json", ".huggingface.yaml")  # for other programs
    return [name for name in found.values() if not name.endswith(unstated)]


def flipped(path, at, bit):
    data = bytearray(path.read_bytes())
    data[at] ^= bit
    path.write_bytes(data)


def test_every_kind_of_file(made, tmp_path):
    """A bit of a file of each kind, one after another; that of a line feed may say nothing."""
    home, _ = made
    draw, silent, n = random.Random(5), [], 0
    kept = tmp_path / "kept"
    shutil.copytree(home / "out", kept)
    for name in kinds(kept):
        path = home / "out" / name
        whole = path.read_bytes()
        if not whole:
            continue
        at, bit = draw.randrange(len(whole)), 1 << draw.randrange(8)
        flipped(path, at, bit)
        n += 1
        if not any(dp.tools.verify(str(home / "out")).values()) and whole[at] != 10:
            silent.append((name, at, bit))
        path.write_bytes(whole)
    assert n > 25
    assert silent == []


STATE = ("run.json", ".dataprep-journal", "clean/.dataprep-journal", "clean/.dataprep-hashes",
         "mixed/.dataprep-journal", "clean/.dataprep-quarantine", "mixed/mixture.lock.json",
         "clean/steps/03-Bloom-*/filter.bloom",
         "mixed/train-00000.bin")  # fmt: skip


@pytest.mark.parametrize("pattern", STATE)
def test_repair_mends_what_no_receipt_states(made, pattern):
    """In one call; the results, which are whole, are not made again."""
    home, steps = made
    out = home / "out"
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    path = min(out.glob(pattern))
    flipped(path, len(before[path]) // 2, 4)
    named = {problem.file for problems in dp.tools.verify(str(out)).values() for problem in problems}
    assert named == {str(path.relative_to(out)).partition("/")[2] or path.name}
    remove_damaged(str(out))
    if path.name[:1] in ".rm" and path.suffix != ".bin":
        assert {p for p in before if not p.exists()} <= {path}
    list(pipeline_file.execute(steps, str(out), Serial()))
    assert not any(dp.tools.verify(str(out)).values())
    again = {p: p.read_bytes() for p in before if p.exists()}
    gone = {hashes.NAME, quarantine.NAME, atomic.JOURNAL}
    assert {p: data for p, data in before.items() if p.name not in gone} == {
        p: data for p, data in again.items() if p.name not in gone}  # fmt: skip
    assert atomic.journaled(str(out / "clean" / atomic.JOURNAL)) >= {str(p) for p in (out / "clean" / "data").iterdir()}
