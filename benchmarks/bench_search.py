"""Searching a corpus: building a suffix-array index, and the time of its answers beside reading through the text.

    python benchmarks/bench_search.py [--mb 100] [--input TEXTS.jsonl]

Text: `corpus.py`, or any JSONL with a `text`. The index is built and asked in processes of their own. Questions are
pieces of 5 to 40 characters from the corpus; each is asked once, the median and the 90th percentile are told, in wall
milliseconds. "cold": the kernel was asked to forget the files (`posix_fadvise`) before the process began. Peers read
through: `bytes.count` on all texts in memory, `grep -c -F` on the JSONL. Pages for the longest shared piece are a
page of the corpus, and one whose words were shuffled.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engines import peak_kb

QUESTIONS = 300
PAGES = 40


def build(file: str, index: str) -> None:
    """Build it; what it took."""
    import dataprep as dp

    docs = dp.read(file)
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    made = dp.tools.SuffixIndex.build(docs, index)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    size, disk = made.manifest.bytes, sum(p.stat().st_size for p in Path(index).rglob("*") if p.is_file())
    user = after.ru_utime - before.ru_utime
    print(f"{'build, JSONL to index':34} {size / user / 1e6:8.1f} MB/s user {size / wall / 1e6:8.1f} MB/s wall", end="")
    print(f" {peak_kb() / 1e3:6.0f} MB peak {disk / size:5.2f} bytes a byte, {len(made.shards)} shards")


def questions(file: str) -> tuple[list[str], list[str], list[str]]:
    """Pieces of the corpus, pages of it, and pages with their words in another order."""
    rng = random.Random(1)
    with Path(file).open("rb") as f:
        texts = [json.loads(line)["text"] for _, line in zip(range(3000), f, strict=False)]
    texts = [text for text in texts if len(text) > 100]
    pieces, shuffled = [], []
    for _ in range(QUESTIONS):
        text = rng.choice(texts)
        at = rng.randrange(len(text) - 40)
        pieces.append(text[at : at + rng.randint(5, 40)])
    for text in texts[:PAGES]:
        words = text.split()
        rng.shuffle(words)
        shuffled.append(" ".join(words))
    return pieces, texts[:PAGES], shuffled


def tell(name: str, ask, questions: list[str], per: str = "") -> None:
    """Ask every question once, and print the times."""
    times = []
    for question in questions:
        began = time.perf_counter()
        ask(question)
        times.append((time.perf_counter() - began) * 1e3 / (len(question.encode()) / 1e3 if per else 1))
    first, times = times[0], sorted(times)
    said = f"median {times[len(times) // 2]:9.3f} ms{per}  90 % under {times[len(times) * 9 // 10]:9.3f}"
    print(f"{name:34} {said}  first {first:9.3f}", flush=True)


def ask(file: str, index: str, state: str) -> None:
    """Ask an index whose files are in memory, or not."""
    import dataprep as dp

    pieces, pages, shuffled = questions(file)
    opened = dp.tools.SuffixIndex.open(index)
    tell(f"count ({state})", opened.count, pieces)
    if state == "cold":
        return
    tell("find, 10 hits", opened.find, pieces)
    tell("count of single letters", opened.count, list("etaoins"))
    tell("find of single letters", opened.find, list("etaoins"))
    opened.longest(pages[0])  # compiles
    tell("longest: a page of the corpus", opened.longest, pages, per="/kB")
    tell("longest: a shuffled page", opened.longest, shuffled, per="/kB")


def read_through(file: str) -> None:
    """What one does without an index."""
    pieces = questions(file)[0][:20]
    with Path(file).open("rb") as f:
        text = b"\xff".join(json.loads(line)["text"].encode() for line in f)
    tell("bytes.count, text in memory", lambda piece: text.count(piece.encode()), pieces)
    plain = [json.dumps(piece, ensure_ascii=False)[1:-1] for piece in pieces]
    tell("grep -c -F (lines) on the JSONL", lambda piece: _grep(piece, file), plain)


def _grep(piece: str, file: str) -> bytes:
    return subprocess.run(["grep", "-c", "-F", "-e", piece, file], check=False, stdout=subprocess.PIPE).stdout


def forget(index: str) -> None:
    """Ask the kernel to drop the pages of the index."""
    for place in (p for p in Path(index).rglob("*") if p.is_file()):
        with place.open("rb") as f:
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    """Write the text, build, ask."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=100, help="of text")
    parser.add_argument("--input", help="JSONL with a field `text` to take the documents from")
    parser.add_argument("--part", choices=["build", "cold", "warm", "peers"], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--index", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part == "build":
        build(given.file, given.index)
    elif given.part in ("cold", "warm"):
        ask(given.file, given.index, given.part)
    elif given.part == "peers":
        read_through(given.file)
    else:
        with tempfile.TemporaryDirectory() as folder:
            from bench_dedup import write

            file, size = write(f"{folder}/texts.jsonl", int(given.mb * 1e6), given.input)
            print(f"search in {size / 1e6:.1f} MB", flush=True)
            for part in ("build", "cold", "warm", "peers"):
                if part == "cold" and hasattr(os, "posix_fadvise"):
                    forget(f"{folder}/index")
                command = [sys.executable, __file__, "--part", part, "--file", file, "--index", f"{folder}/index"]
                subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
