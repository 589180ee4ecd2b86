"""Every command that writes, with its input or somebody else's file as the place to write: one sentence, no change."""

from __future__ import annotations

import hashlib
import re

import pytest

from dataprep.tokens.shards.writer import save
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

CASES = """
train-langid en=texts/a.jsonl fr=texts/b.jsonl --out texts/a.jsonl
train-langid en=texts fr=chats --out texts/new.bin
train-langid en=texts/a.jsonl fr=texts/b.jsonl --out mine.bin
train-langid en=texts/a.jsonl fr=texts/b.jsonl --out mine
train-langid texts/*.jsonl --label lang --test texts/b.jsonl --out texts/b.jsonl
train-quality --positive texts/a.jsonl --negative texts/b.jsonl --out texts/b.jsonl
train-quality --positive texts --negative chats --out texts/new.bin
train-quality --positive texts/a.jsonl --negative texts/b.jsonl --out link.jsonl
train-quality --positive texts/a.jsonl --negative chats --out mine.bin
train-ngram chats/a.txt --out chats/a.txt
train-ngram chats --out chats/new.arpa
train-ngram chats/a.txt --out mine.bin
train-ngram chats/a.txt --out mine
train-tokenizer texts/a.jsonl --out texts
train-tokenizer texts --out texts/deeper
train-tokenizer texts/a.jsonl --out mine
train-tokenizer texts/a.jsonl --out mine.json
train-tokenizer result.json --out result.json
train-tokenizer texts/a.jsonl --out mine.tiktoken
extend-tokenizer tok --special <x> --out mine
extend-tokenizer tok --special <x> --out mine.json
extend-tokenizer tok --special <x> --out mine.tiktoken
tokenizer-stats tok texts/a.jsonl --json tok/tokenizer.json
tokenizer-stats tok texts/a.jsonl --json texts/a.jsonl
tokenizer-stats tok texts/a.jsonl --json mine.json
init texts --out mine.py
people chats --out chats/a.txt
people chats --out chats/a.txt --replace
persona chats --person Ilse --out chats
persona chats --person Ilse --out chats/deeper
fit-language en --reference texts --crawl chats --out texts
fit-language en --reference texts --crawl chats --out chats/deeper
report run --to mine.json
run job.py --out texts
run job.py --out mine
export shards --to nanogpt --out mine
import bins --tokenizer tok --out mine
import bins --tokenizer tok --out bins
""".strip().splitlines()
JOB = """
import dataprep as dp

def data(out, runner):
    return dp.Pipeline().run(dp.read("texts"), out=out, runner=runner)
"""
SAID = r"(choose (another|a)|pass a) (file|folder)|exists|not a people file"


def tree(home):
    """The hashes of the files below a folder, without hidden ones (locks and journals) and Python's own."""
    found = [path for path in home.rglob("[!.]*") if path.is_file() and path.suffix != ".pyc"]
    return {str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with input of each kind, results, and files of somebody else's under names that dataprep uses."""
    tmp_path = tmp_path_factory.mktemp("place")
    for name in ("texts", "chats", "mine", "run", "bins"):
        (tmp_path / name).mkdir()
    rows = "".join(f'{{"text": "one text {k}", "lang": "{"ab"[k % 2]}"}}\n' for k in range(9))
    for name in ("texts/a.jsonl", "texts/b.jsonl", "result.json"):
        (tmp_path / name).write_text(rows)
    (tmp_path / "chats/a.txt").write_text("".join(f"12/03/2024, 10:{k:02} - Ilse: word {k}\n" for k in range(10, 40)))
    for name in ("mine.bin", "mine.json", "mine.tiktoken", "mine.py"):
        (tmp_path / name).write_text("mine")
    for name in ("tokenizer.json", "train.bin", "run.json", "metrics.jsonl"):
        (tmp_path / "mine" / name).write_text("mine")
    (tmp_path / "bins/train.bin").write_bytes(bytes(range(250)) * 8)
    (tmp_path / "job.py").write_text(JOB)
    (tmp_path / "link.jsonl").symlink_to("texts/a.jsonl")
    Tokenizer.of_bytes().save(tmp_path / "tok")
    save(tmp_path / "shards", {"train": [[1, 2, 3]] * 400, "val": [[1, 2]] * 90}, vocab_size=257, eot=256)
    Tokenizer.of_bytes().save(tmp_path / "shards")
    return tmp_path


@pytest.fixture
def place(made, monkeypatch):
    """The folder as the working directory; nothing in it may change, so that one is enough."""
    monkeypatch.chdir(made)
    return made


@pytest.mark.parametrize("case", CASES)
def test_out_is_an_input_or_somebody_elses(dataprep, place, case):
    """The command names the place, and changes nothing."""
    if case.startswith(("train-langid", "train-quality")):
        pytest.importorskip("fasttext")
    before = tree(place)
    code, out, err = dataprep(*case.split())
    assert (code, len(err.strip().splitlines()), "Traceback" in err) == (1, 1, False), (out, err)
    assert re.search(SAID, err)
    assert tree(place) == before, err
