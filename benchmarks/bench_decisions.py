"""Own parts beside the libraries that do the same: units per second of user CPU, on one thread, in turns.

    python benchmarks/bench_decisions.py [--rounds 5] [--only json,bpe ...]

docs/decisions.md states the verdicts. All engines of a part run in this process and take the same input; those that are
marked get only the beginning of it, since they are slow. Each runs once to warm up, then all run in turns, and the
median of the rounds counts. The last column compares what the engines return. Libraries that are not installed are
left out: orjson and tokenizers come with dataprep, datasketch with its extras; the others are pysimdjson, nltk,
scikit-learn, faiss-cpu, uniseg, unicodedata2, regex, phonenumbers, scrubadub, emoji, python-dateutil and dateparser.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from decisions_common import measure

THREADS = ("OMP", "OPENBLAS", "MKL", "RAYON", "NUMBA")
PARTS = {
    "json": "data.json_lines", "ngram": "data.ngram", "bpe": "data.bpe", "kmeans": "data.kmeans",
    "hyperloglog": "data.hyperloglog", "decomposed": "text.decomposed", "composed": "text.composed",
    "words": "text.words", "personal": "text.personal", "emoji": "text.emoji", "dates": "text.dates",
}  # fmt: skip


def main() -> None:
    """Measure the parts and print a line per engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    one = {f"{library}_NUM_THREADS": "1" for library in THREADS}
    if not one.items() <= os.environ.items():  # libraries read them when they are imported
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=os.environ | one, check=False).returncode)
    print("* the beginning of the input only")
    for name in given.only:
        measure_part(name, given.rounds)


def measure_part(name: str, rounds: int) -> None:
    """Measure a part and print its lines: the rate, how many times faster ours is, and the results compared."""
    module, _, function = PARTS[name].partition(".")
    part = getattr(importlib.import_module(f"decisions_{module}"), function)
    print(f"\n{name}: {part.__doc__}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        (ours, *libraries), compare = part(Path(folder))
        there = [ours, *(library for library in libraries if importlib.util.find_spec(library.needs))]
        spent, results = measure(there, rounds)
        best = ours.units / spent[ours.name]
        print(f"  {ours.name:34}{best:10.2f}/s", flush=True)
        for library in libraries:
            if library not in there:
                print(f"  {library.name:34} not installed", flush=True)
                continue
            rate = library.units / spent[library.name]
            note = compare(results[ours.name], results[library.name])
            print(f"  {library.name:34}{rate:10.2f}/s{best / rate:8.1f} x  {note}", flush=True)


if __name__ == "__main__":
    main()
