"""Every deduplication at growing sizes: does its cost grow with the text, and does its memory stay?

    python benchmarks/bench_growth.py [--mb 100 300 1000] [--only minhash suffix] [--memory 2GB] [--sentences]

JSONL in, sealed Parquet out: `Pipeline(METHOD).run(...)` with `Serial(threads=1)`, each job a process of its own after
one small run that compiles the kernels. CPU is user and system time of the process; the peak is of the process and its
children together, looked at twenty times a second. Text: `corpus.py`, new sentences with planted copies (--sentences:
sentences that come back, the worst case for repeated text). SemDeDup's vectors are 64 numbers of hashed words, so that
what is measured is ours.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

GAP = 0.05  # seconds between two looks at memory
LOOKS_PER_DISK = 5
THOUSAND = 1000  # MB; a larger corpus is this one several times, with other words, which is made in seconds
LETTERS = b"ghjkmopqsvwyz"  # that are exchanged for each other; no key and no escape of JSON has one of them


def hashed_words(texts: list[str]):
    """64 numbers a text: words counted by hash, as a stand-in for a model."""
    import numpy as np
    import xxhash

    out = np.zeros((len(texts), 64), np.float32)
    for row, text in zip(out, texts, strict=True):
        for word in text.split()[:200]:
            h = xxhash.xxh3_64_intdigest(word.encode())
            row[h % 64] += 1.0 if h >> 63 else -1.0
    return out


METHODS: dict[str, tuple[str, dict]] = {
    "exact": ("Exact", {}),
    "exact-line": ("Exact", {"unit": "line"}),
    "exact-paragraph": ("Exact", {"unit": "paragraph"}),
    "exact-span3": ("Exact", {"unit": "span3"}),
    "url": ("URLDedup", {}),
    "minhash": ("MinHash", {}),
    "minhash-lee2022": ("MinHash", {"preset": "lee2022"}),
    "suffix": ("SuffixArray", {"min_bytes": 100}),
    "suffix-words": ("SuffixArray", {"min_words": 50}),
    "bloom-document": ("Bloom", {"unit": "document"}),
    "bloom-paragraph": ("Bloom", {"unit": "paragraph"}),
    "bloom-ngram": ("Bloom", {"unit": "ngram"}),
    "semdedup": ("SemDeDup", {"embed": hashed_words}),
}


def job(method: str, source: str, out: str, memory: str) -> None:
    """One run, in this process."""
    import dataprep as dp

    columns = {"columns": ["url", "date"]} if method == "url" else {}
    docs = dp.read(source, **columns)
    name, options = METHODS[method]
    result = dp.Pipeline(getattr(dp, name)(**options)).run(docs, out, dp.tools.Serial(memory=memory, threads=1))
    book = result.stats[-1]
    removed = 1 - book.total(book.out).bytes / max(1, book.total(book.into).bytes)
    print(f"removed {removed:.4f}")


def measure(method: str, source: str, out: Path, memory: str) -> dict[str, float]:
    """Run a job as a process; seconds of CPU and wall, the peak MB of its tree, and the share of bytes removed.

    `disk` and `most` are the MB of the files at the end, and at the largest of a few looks a second.
    """
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, __file__, "--job", method, source, str(out), memory]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    peak, pid, most, looks = 0, 0, 0, 0
    watched = psutil.Process(process.pid)
    while not pid:
        with contextlib.suppress(psutil.Error):
            peak = max(peak, sum(p.memory_info().rss for p in (watched, *watched.children(recursive=True))))
        if looks % LOOKS_PER_DISK == 0:
            most = max(most, size_of(out))
        looks += 1
        time.sleep(GAP)
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
    wall, user, cpu = time.perf_counter() - started, used.ru_utime, used.ru_utime + used.ru_stime
    process.returncode = os.waitstatus_to_exitcode(status)
    said = process.stdout.read() if process.stdout else ""
    disk = size_of(out)
    shutil.rmtree(out, ignore_errors=True)
    assert process.returncode == 0, command
    sizes = {"peak": peak / 1e6, "disk": disk / 1e6, "most": max(most, disk) / 1e6}
    return {"cpu": cpu, "user": user, "wall": wall, "removed": float(said.split()[-1]), **sizes}


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder, some of which may disappear meanwhile."""
    n_bytes = 0
    for home, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                n_bytes += os.path.getsize(os.path.join(home, name))
    return n_bytes


def main() -> None:
    """Print one row a method and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "dataprep-bench")
    parser.add_argument("--mb", type=float, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--sentences", action="store_true")
    parser.add_argument("--job", nargs=4, metavar=("METHOD", "SOURCE", "OUT", "MEMORY"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        return job(*given.job)
    given.folder.mkdir(parents=True, exist_ok=True)
    kind = "sentences" if given.sentences else "fresh"
    sources = {mb: corpus(given.folder / f"{kind}-{mb:g}.jsonl", mb, fresh=not given.sentences) for mb in given.mb}
    small = corpus(given.folder / f"{kind}-2.jsonl", 2, fresh=not given.sentences)
    table = Table("method", "MB", "s of CPU", "MB/s per core", "wall s", "peak MB", "left on disk MB", "bytes removed")
    for method in given.only or METHODS:
        measure(method, small, given.folder / "out", given.memory)  # compiles the kernels
        for mb, source in sources.items():
            took = measure(method, source, given.folder / "out", given.memory)
            row = (f"{took['cpu']:.1f}", f"{mb / took['cpu']:.0f}", f"{took['wall']:.1f}", f"{took['peak']:.0f}")
            table.add_row(method, f"{mb:g}", *row, f"{took['disk']:.0f}", f"{took['removed']:.2%}")
            print(method, mb, row, file=sys.stderr, flush=True)
        table.add_section()
    Console(width=110).print(table)
    return None


def corpus(path: Path, mb: float, *, fresh: bool) -> str:
    """The corpus of a size, made once."""
    if path.exists():
        return str(path)
    if fresh and mb > THOUSAND and mb % THOUSAND == 0:
        source = corpus(path.with_name(f"fresh-{THOUSAND}.jsonl"), THOUSAND, fresh=True)
        unfinished = path.with_suffix(".tmp")
        with unfinished.open("wb") as made:
            for turn in range(int(mb) // THOUSAND):
                other = bytes.maketrans(LETTERS, LETTERS[turn:] + LETTERS[:turn])
                with open(source, "rb") as lines:
                    made.writelines(line.translate(other) for line in lines)
        unfinished.rename(path)
    else:
        from corpus import write

        write(str(path), int(mb * 1e6), fresh=fresh)
    return str(path)


if __name__ == "__main__":
    main()
