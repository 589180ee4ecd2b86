"""Tokens: training and encoding beside `tokenizers` and `tiktoken`, the same vocabulary everywhere.

    python benchmarks/bench_tokens.py [--mb 50] [--input FILE.jsonl.zst ...] [--vocab 16000] [--pattern words]
                                      [--peer-python ENV/bin/python ...]

Every case is a process of its own. Reported are MB of UTF-8 text per second of user CPU and of wall time, of the
measured part alone (reading the input, loading the tokenizer and a first small call are not in it), and the peak
memory of the whole process (with Local: of the parent), the texts it was given included; `dp.*` read theirs from a
sealed Dataset, batch by batch. Encoded is one thread unless the case says two.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
from engines import having

import dataprep as dp
from dataprep.tokens.sample import Sample
from dataprep.tokens.split import Split
from dataprep.tokens.vocabulary.cutting import machine_of
from dataprep.tokens.vocabulary.patterns import PATTERNS
from dataprep.tokens.vocabulary.special import EOT
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.tokens.vocabulary.word_counts import count_words

CASES = {
    "train: tokenizers alone": "all texts in a list, the same trainer",
    "train: dp, the sample read": "of the next line: both passes over the Dataset, sample=1",
    "train: dp, its words counted": "of the next line: the same, and the distinct words",
    "train: dp.train_bpe, sample=1": "all of the training side, from the Dataset",
    "train: dp.train_bpe, sample=0.05": "a twentieth, from the Dataset",
    "encode: tokenizers": "encode_batch_fast, 1,000 texts a call, to uint16",
    "encode: tokenizers, 2 threads": "the same",
    "encode: tiktoken, lists": "encode_ordinary_batch, to uint16",
    "encode: tiktoken, 2 threads": "the same",
    "encode: tiktoken, a call each": "encode_to_numpy for each text",
    "encode: dp, in memory, cold": "encode_column over the Dataset's batches, no word known",
    "encode: dp, in memory, warm": "the same again, the words known",
    "encode: dp.encode, cold": "Dataset to sealed shards on disk, no word known",
    "encode: dp.encode, warm": "the same after one pass in memory",
    "encode: dp.encode, Local(2)": "the same; starting two processes (3 s of CPU) included",
    "encode: datatrove": "DocumentTokenizer of documents in a list, 1 thread; tokens and ends on disk, not shuffled",
    "encode: dp.encode, writing": "what dp.encode takes beyond the same in memory, medians of 7 rounds in one process",
    "mix: dp.Mix.write": "two folders of shards to 100 M tokens, 2 to 1, repeated as needed; MB of text",
}
MIXED, ROUNDS = 100_000_000, 7  # tokens; of memory and dp.encode in turn


def texts_of(docs: dp.Dataset) -> list[str]:
    """All texts as Python strings."""
    return [text for batch in docs.batches(["text"]) for text in batch.column("text").to_pylist()]


def prepare(case: str, docs: dp.Dataset, tok: Tokenizer | None, vocab: int, out: str) -> Callable[[], Any]:
    """What is to be measured; it returns a number of tokens or merges, or the mixture."""
    import numpy as np

    if case.startswith("train"):
        return _training(case, docs, vocab)
    assert tok is not None
    if case.startswith("mix"):
        return _mixing(docs, tok, out)
    engine, rapid = tok.tiktoken(), tok.engine
    if "dp" in case:
        tok.encode_batch(["a first call"])
        return _ours(case, docs, tok, out)
    texts = texts_of(docs)

    def tokenizers_() -> int:
        n = 0
        for start in range(0, len(texts), 1000):
            found = rapid.encode_batch_fast(texts[start : start + 1000], add_special_tokens=False)
            n += sum(len(np.array(e.ids, np.uint16)) for e in found)
        return n

    def lists() -> int:
        n, threads = 0, 2 if "2 threads" in case else 1
        for start in range(0, len(texts), 1000):
            found = engine.encode_ordinary_batch(texts[start : start + 1000], num_threads=threads)
            n += sum(len(np.array(ids, np.uint16)) for ids in found)
        return n

    def each() -> int:
        return sum(len(engine.encode_to_numpy(text, disallowed_special=()).astype(np.uint16)) for text in texts)

    return tokenizers_ if "tokenizers" in case else each if "each" in case else lists


def _training(case: str, docs: dp.Dataset, vocab: int) -> Callable[[], int]:
    if "dp" in case:
        dp.train_bpe(docs, vocab_size=300, sample=0.0, min_bytes=1)  # a first call
    if "dp, " in case:
        return lambda: _part(docs, words="words" in case)
    if "dp" in case:
        share = float(case.rpartition("=")[2])
        return lambda: len(dp.train_bpe(docs, vocab_size=vocab, sample=share, min_bytes=1).merges)
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    texts = texts_of(docs)

    def alone() -> int:
        engine = tokenizers.Tokenizer(models.BPE())
        words = pre_tokenizers.Split(tokenizers.Regex(PATTERNS["words"]), "isolated")
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        engine.pre_tokenizer = pre_tokenizers.Sequence([words, byte_level])
        trainer = trainers.BpeTrainer(
            vocab_size=vocab - 1, min_frequency=2, initial_alphabet=byte_level.alphabet(), show_progress=False
        )
        engine.train_from_iterator((texts[i : i + 1000] for i in range(0, len(texts), 1000)), trainer)
        return engine.get_vocab_size() - 256

    return alone


def _part(docs: dp.Dataset, *, words: bool) -> int:
    """What training does before it merges."""
    machine = machine_of(PATTERNS["words"])
    assert machine is not None
    texts = (batch.column("text") for batch in Sample(split=Split(val=0.05)).draw(docs).batches())
    return len(count_words(texts, machine).ends) if words else sum(map(len, texts))


def _ours(case: str, docs: dp.Dataset, tok: Tokenizer, out: str) -> Callable[[], int]:
    def memory() -> int:
        batches = (tok.encode_column(b.column("text"), "uint16") for b in docs.batches(["text"]))
        return sum(len(tokens) - len(ends) for tokens, ends in batches)

    if "warm" in case:
        memory()
    if "memory" in case:
        return memory
    run = dp.tools.Local(2) if "Local" in case else dp.tools.Serial()
    Path(out).mkdir(exist_ok=True)
    Path(out, "first.jsonl").write_text('{"text": "a first call <|"}\n', encoding="utf-8")
    dp.encode(dp.read(f"{out}/first.jsonl"), tok, out=f"{out}/first")

    def whole() -> int:
        shards = dp.encode(docs, tok, out=f"{out}/shards", runner=run)
        return shards.n_tokens - len(shards)

    return whole


def _mixing(docs: dp.Dataset, tok: Tokenizer, out: str) -> Callable[[], dp.Shards]:
    parts = [dp.Dataset((part,)) for part in docs.parts[:2]]
    made = {f"source {i}": dp.encode(part, tok, out=f"{out}/{i}") for i, part in enumerate(parts)}
    mix = dp.Mix({"source 0": 2, "source 1": 1}, max_epochs=1_000)
    return lambda: mix.write(made, out=f"{out}/mixed", tokens=MIXED)


def cpu() -> float:
    """User CPU seconds of this process and of its ended children."""
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure(case: str, folder: Path, vocab: int) -> None:
    """One case in this process; prints its figures as JSON."""
    docs = open_docs(folder)
    tok = None if case.startswith("train") else Tokenizer.load(folder)
    with tempfile.TemporaryDirectory() as out:
        if "writing" in case:
            assert tok is not None
            print(json.dumps(writing(docs, tok, out)))
            return
        work = prepare(case, docs, tok, vocab, out)
        start, wall = cpu(), time.perf_counter()
        result = work()
        wall = time.perf_counter() - wall
        if "Local" in case:
            del work  # whose Runner has the processes
            time.sleep(3)  # children count once they have ended
        told = {"user": cpu() - start, "wall": wall, "peak": peak()}
        mixed = isinstance(result, dp.Shards)
        print(json.dumps(told | ({"n": result.n_tokens, "mb": result.n_bytes / 1e6} if mixed else {"n": result})))


def writing(docs: dp.Dataset, tok: Tokenizer, out: str) -> dict[str, Any]:
    """The figures of encoding to shards less those of encoding in memory, taken in turn."""
    memory, spent = _ours("in memory, warm", docs, tok, out), []
    for i in range(ROUNDS):
        whole = _ours("whole", docs, tok, f"{out}/{i}")
        start, wall = cpu(), time.perf_counter()
        memory()
        middle = cpu(), time.perf_counter()
        n = whole()
        spent.append((middle[0] - start, middle[1] - wall, cpu() - middle[0], time.perf_counter() - middle[1]))
    user, wall, user_all, wall_all = (statistics.median(column) for column in zip(*spent, strict=True))
    share = f"{user_all / user - 1:.1%} more user CPU than in memory ({user:.3f} s)"
    return {"user": user_all - user, "wall": wall_all - wall, "peak": peak(), "n": n, "what": share}


def peak() -> int:
    """Peak memory of this process, bytes; not `ru_maxrss`, which starts at what the parent held."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def open_docs(folder: Path) -> dp.Dataset:
    """The input, a sealed Dataset for each file, so that two workers have a part each."""
    return dp.read([dp.open_dataset(str(place)) for place in sorted(folder.glob("docs-*"))])


def make_input(given: argparse.Namespace, folder: Path) -> tuple[float, int]:
    """The sealed input and a tokenizer of it; MB of text, documents."""
    inputs = given.input
    if not inputs:
        inputs = [str(folder / f"corpus-{seed}.jsonl.zst") for seed in (0, 1)]
        for seed, url in enumerate(inputs):
            corpus.write(url, int(given.mb / 2 * 1e6), seed)
    made = [dp.Pipeline().run(dp.read(url), out=str(folder / f"docs-{i:03d}")) for i, url in enumerate(inputs)]
    docs = open_docs(folder)
    dp.train_bpe(docs, vocab_size=given.vocab, sample=0.2, pattern=given.pattern).save(folder)
    if given.peer_python:
        with (folder / "texts.jsonl").open("w", encoding="utf-8") as f:
            f.writelines(json.dumps(text) + "\n" for text in texts_of(docs))
    return sum(d.sealed.bytes for d in made) / 1e6, sum(d.count for d in made)


def main() -> None:
    """Measure every case, print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mb", type=float, default=50)
    parser.add_argument("--input", nargs="*")
    parser.add_argument("--vocab", type=int, default=16_000)
    parser.add_argument("--pattern", default="words")
    parser.add_argument("--peer-python", nargs="*", default=[], help="interpreters that may have datatrove")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        measure(given.case, Path(given.folder), given.vocab)
        return
    given.peer_python = having("datatrove", given.peer_python)
    with tempfile.TemporaryDirectory() as name:
        mb, n_docs = make_input(given, Path(name))
        print(f"{mb:.1f} MB of text, {n_docs:,} documents, vocabulary {given.vocab:,}, separator {EOT}\n")
        print(f"{'case':34} {'MB/s user':>9} {'MB/s wall':>9} {'peak MB':>8} {'result':>11}  what")
        for case in CASES:
            if given.only in case and ("datatrove" not in case or given.peer_python):
                show(case, mb, name, given)


def show(case: str, mb: float, folder: str, given: argparse.Namespace) -> None:
    """Run a case in a process of its own and print its line."""
    two = "2 threads" in case
    env = os.environ | {"RAYON_NUM_THREADS": "2" if two else "1", "TOKENIZERS_PARALLELISM": str(two).lower()}
    command = [sys.executable, __file__, "--case", case, "--folder", folder, "--vocab", str(given.vocab)]
    if "datatrove" in case:
        places = [f"{folder}/{name}" for name in ("texts.jsonl", "tokenizer.json", "datatrove")]
        command = [given.peer_python[0], str(Path(__file__).with_name("peer_tokens.py")), *places]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{case}: {done.stderr}")
    r = json.loads(done.stdout.splitlines()[-1])
    mb = r.get("mb", mb)
    speed = f"{mb / r['user']:9.1f} {mb / r['wall']:9.1f} {r['peak'] / 1e6:8.0f}"
    print(f"{case:34} {speed} {r['n']:>11,}  {r.get('what', CASES[case])}", flush=True)


if __name__ == "__main__":
    main()
