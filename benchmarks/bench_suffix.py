"""Repeated text: MB of UTF-8 text per second of user CPU, and memory, beside a suffix array and a NumPy finder.

    python benchmarks/bench_suffix.py [--mb 26] [--growth 100 300 1000] [--input TEXTS.jsonl]

Every engine looks for repeats, from JSONL to the table of spans, in a process of its own, after it was warmed up on a
few documents. `memory` is the peak beyond what the warmed-up process held before, for each byte of text; windows also
write shuffle files. The text is that of `corpus.py --fresh`, or any JSONL with a `text`; `hard` is runs of one byte
and short periods, `copies` one document over and over. The peer is what Lee et al. 2022 do, in few lines:
`pydivsufsort` (C) sorts the suffixes, `kasai` measures neighbours, and NumPy finds and unites what repeats. It joins
the texts without a mark, so it also cuts the few repeats that run across documents, and it does not keep the first.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from engines import peak_kb, write_texts

ENGINES = {
    "windows_100": "dataprep windows, 100 bytes",
    "windows_200": "dataprep windows, 200 bytes",
    "windows_words": "dataprep windows, 50 words",
    "sorted_100": "dataprep suffix_array, 100 bytes",
    "numpy_100": "pydivsufsort, kasai, NumPy, 100 bytes",
}
LENGTH = 100


def ours(**chosen) -> Callable[[str], int]:
    """A fit from the file to the spans; the bytes that are cut."""
    import dataprep as dp
    from dataprep.dedup.suffix_array import SuffixArray

    def run(file: str) -> int:
        with tempfile.TemporaryDirectory() as out:
            return SuffixArray(**chosen).fit(dp.read(file), dp.tools.Serial(memory="2GB"), out).facts["bytes_cut"]

    return run


def numpy_100(file: str) -> int:
    """The suffix array and the common prefixes in memory; all of a group go but one."""
    import numpy as np
    from pydivsufsort import divsufsort, kasai

    with Path(file).open("rb") as f:
        data = np.frombuffer(b"".join(json.loads(line)["text"].encode() for line in f), np.uint8).copy()
    order = divsufsort(data)
    shared = kasai(data, order)
    again = np.flatnonzero(shared[:-1] >= LENGTH) + 1  # the suffix behind shares as much: all but a group's first go
    change = np.zeros(len(data) + 1, np.int32)
    change[order[again]] += 1
    change[np.minimum(order[again] + LENGTH, len(data))] -= 1
    return int((np.cumsum(change) > 0).sum())


def run_of(engine: str) -> Callable[[str], int]:
    """What an engine does with a file."""
    chosen = {
        "windows_100": {"min_bytes": LENGTH, "engine": "windows"},
        "windows_200": {"min_bytes": 200, "engine": "windows"},
        "windows_words": {"min_words": 50, "engine": "windows"},
        "sorted_100": {"min_bytes": LENGTH, "engine": "suffix_array"},
    }
    return numpy_100 if engine == "numpy_100" else ours(**chosen[engine])


def measure(engine: str, file: str, warm: str) -> dict:
    """Seconds of user CPU and of all CPU, bytes cut, and peak kB before and after."""
    run = run_of(engine)
    run(warm)
    clear, held = Path("/proc/self/clear_refs"), peak_kb()
    if clear.exists():
        clear.write_text("5")  # the peak starts again at what is held now
        held = peak_kb()
    before = resource.getrusage(resource.RUSAGE_SELF)
    cut = run(file)
    after = resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return {"user": user, "cpu": user + system, "cut": cut, "held": held, "peak": peak_kb()}


def table(title: str, engines: list[str], file: str, size: int, warm: str) -> None:
    """One row an engine."""
    print(f"\n{title:40} {'MB/s user':>9} {'MB/s CPU':>9} {'cut':>7} {'peak MB':>8} {'memory B/B':>10}")
    for engine in engines:
        command = [sys.executable, __file__, "--engine", engine, "--file", file, "--warm", warm]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{ENGINES[engine]} skipped: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
            continue
        got = json.loads(done.stdout.splitlines()[-1])
        rates = f"{size / got['user'] / 1e6:9.1f} {size / got['cpu'] / 1e6:9.1f}"
        memory = (got["peak"] - got["held"]) * 1024 / size
        print(
            f"{ENGINES[engine]:40} {rates} {got['cut'] / size:7.2%} {got['peak'] / 1e3:8.0f} {memory:10.2f}", flush=True
        )


def texts(n_bytes: int, source: str | None) -> Iterator[str]:
    """Texts of the corpus, or of a file."""
    import corpus

    if source is None:
        yield from corpus.documents(n_bytes, fresh=True)
        return
    with Path(source).open("rb") as f:
        yield from (json.loads(line)["text"] for line in f)


def hard() -> Iterator[str]:
    """Runs of one byte and of short periods, for ever."""
    while True:
        yield from (unit * (100_000 // len(unit)) for unit in ("a", "=-", " \n", "abcdefg", "-" * 79 + "\n"))


def main() -> None:
    """Write the texts, run the engines, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=26)
    parser.add_argument("--growth", type=float, nargs="*", default=[100, 300, 1000], help="MB for windows alone")
    parser.add_argument("--input", help="JSONL with a field `text` to take the documents from")
    parser.add_argument("--engine", choices=list(ENGINES), help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--warm", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(measure(given.engine, given.file, given.warm)))
        return
    with tempfile.TemporaryDirectory() as folder:
        warm, _ = write_texts(f"{folder}/warm.jsonl", texts(50_000, None), 50_000)
        n = int(given.mb * 1e6)
        file, size = write_texts(f"{folder}/texts.jsonl", texts(n, given.input), n)
        table(f"{size / 1e6:.0f} MB", list(ENGINES), file, size, warm)
        page = "".join(texts(3_000, None))
        for name, made in (("hard", hard()), ("copies", iter([page] * (n // len(page))))):
            file, size = write_texts(f"{folder}/texts.jsonl", made, n // 2)
            table(f"{name}, {size / 1e6:.0f} MB", ["windows_100"], file, size, warm)
        for mb in given.growth:
            file, size = write_texts(f"{folder}/texts.jsonl", texts(int(mb * 1e6), given.input), int(mb * 1e6))
            table(f"growth: {size / 1e6:.0f} MB, memory='2GB'", ["windows_100"], file, size, warm)


if __name__ == "__main__":
    main()
