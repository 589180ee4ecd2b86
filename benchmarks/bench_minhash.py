"""What MinHash finds, and what it costs where it is hard: planted pairs, spelling variants, form letters, thresholds.

    python benchmarks/bench_minhash.py [--documents 100000] [--mb 20] [--variants VARIANTS.jsonl.gz]

planted: the corpus of `tests/planted.py`, each kind of pair by its exact similarity. variants: texts with a `cluster`,
the spellings of one sentence; `removed` is the share of all spellings but one a cluster that go, `astray` the share of
the removed that went for a text of another cluster. form letters: documents that share a template, below the
threshold, so that all meet and all stay. Seconds are user CPU; the whole fit, from the file to the verdicts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dataprep as dp

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]
SETTINGS = [("word", n) for n in (1, 2, 3, 5)] + [("char", n) for n in (3, 4, 5)]
POSITION = (1 << 40) - 1


def fit(stage: dp.MinHash, file: str, out: str) -> tuple[np.ndarray, np.ndarray, dict, float]:
    """Rows that go, rows they go for, what was counted, seconds."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    made = stage.fit(dp.read(file), dp.tools.Serial(), out)
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    table = pq.read_table(made.verdicts)
    gone, kept = (table.column(name).to_numpy() & POSITION for name in ("id", "duplicate_of"))
    return gone, kept, dict(made.facts), seconds


def write(folder: str, texts: pa.Array) -> str:
    """A Parquet file of texts: positions are rows."""
    pq.write_table(pa.table({"text": texts}), f"{folder}/in.parquet")
    return f"{folder}/in.parquet"


def planted_pairs(folder: str, documents: int) -> None:
    """One row a setting and kind."""
    import planted

    made = planted.plant(documents)
    file = write(folder, made.texts)
    exact = {kind: np.array([made.jaccard(a, b) for a, b in pairs.tolist()]) for kind, pairs in made.pairs.items()}
    print(f"\nplanted pairs, {documents:,} documents")
    print(f"{'setting':28} {'kind':18} {'pairs':>6} {'>= t':>6} recall precision")
    for how in ({}, {"threshold": 0.5}, {"preset": "fineweb"}, {"preset": "dclm"}, {"preset": "lee2022"}):
        stage = dp.MinHash(**how)
        gone, kept, _, seconds = fit(stage, file, f"{folder}/{how}")
        reach = np.array([made.jaccard(a, b) for a, b in zip(gone.tolist(), kept.tolist(), strict=True)])
        threshold = stage.settings.threshold
        for kind, pairs in made.pairs.items():
            alike, lost = exact[kind] >= threshold, np.isin(pairs, gone).any(axis=1)
            right = reach[np.isin(gone, pairs)] >= threshold
            recall = f"{lost[alike].mean():.4f}" if alike.any() else "-"
            precision = f"{right.mean():.4f}" if len(right) else "-"
            row = f"{kind:18} {len(pairs):6,} {alike.sum():6,} {recall:>6} {precision:>9}"
            print(f"{', '.join(f'{k}={v}' for k, v in how.items()) or 'default':28} {row}")
        print(f"{'':28} {seconds:.1f} s", flush=True)


def variants(folder: str, file: str) -> None:
    """One row a setting: which share of the spelling variants goes."""
    with gzip.open(file, "rt", encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    cluster = np.array([row["cluster"] for row in rows])
    most = len(rows) - len(np.unique(cluster))
    place = write(folder, pa.array([row["text"] for row in rows]))
    print(f"\nspelling variants, {len(rows):,} texts of {len(np.unique(cluster)):,} sentences")
    print("setting          removed  astray compared    bands  seconds")
    for unit, n in SETTINGS:
        for threshold in (0.4, 0.5, 0.6, 0.7, 0.8):
            stage = dp.MinHash(shingle=unit, ngram=n, threshold=threshold)
            gone, kept, facts, seconds = fit(stage, place, f"{folder}/{unit}{n}{threshold}")
            same = cluster[gone] == cluster[kept]
            found = f"{same.sum() / most:7.3f} {1 - same.mean():7.4f} {facts['compared'] / 1e6:7.1f}M"
            bands = f"{facts['bands']:3} x {facts['rows']}"
            print(f"{unit} {n}, {threshold}     {found} {bands:>8} {seconds:8.1f}", flush=True)


def form_letters(folder: str) -> None:
    """One row a size: documents that all meet, and all stay."""
    print("\nform letters             compared  seconds  ns a pair")
    for n, size, common in ((8000, 100, 75), (8000, 100, 85), (8000, 400, 300), (2000, 2000, 1500)):
        rng = random.Random(n + size)
        head = " ".join(f"c{rng.randrange(10**6)}" for _ in range(common))
        texts = [head + " " + " ".join(f"u{rng.randrange(10**7)}" for _ in range(size - common)) for _ in range(n)]
        _, _, facts, seconds = fit(dp.MinHash(), write(folder, pa.array(texts)), f"{folder}/form{size}{common}")
        pairs = max(1, facts["compared"])
        similarity = common / (2 * size - common)
        row = f"{pairs / 1e6:8.1f}M {seconds:8.1f} {seconds / pairs * 1e9:10.0f}"
        print(f"{n:,} of {size:,}, J {similarity:.2f} {row}", flush=True)


def thresholds(folder: str, mb: float) -> None:
    """One row a preset: the first fit, and another threshold from its index."""
    import corpus

    texts, size = [], 0
    for text in corpus.documents(int(mb * 1e6)):
        texts.append(text)
        size += len(text.encode())
    file = write(folder, pa.array(texts, pa.large_string()))
    print(f"\nanother threshold, {size / 1e6:.0f} MB   MB/s   seconds   at 0.9   index MB")
    for preset in (None, "fineweb", "dclm", "lee2022"):
        stage, steps = dp.MinHash(preset=preset), f"{folder}/{preset}/steps"
        *_, first = fit(stage, file, f"{steps}/01-MinHash-a")
        *_, again = fit(stage.at(0.9), file, f"{steps}/01-MinHash-b")
        index = sum(p.stat().st_size for p in Path(steps).rglob("*") if p.is_file()) / 1e6
        print(f"{preset or 'default':24} {size / first / 1e6:6.1f} {first:9.2f} {again:8.2f} {index:10.1f}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000, help="of the planted corpus")
    parser.add_argument("--mb", type=float, default=20, help="of text for other thresholds")
    parser.add_argument("--variants", help="JSONL.gz with `text` and `cluster`")
    given = parser.parse_args()
    for stage in (dp.MinHash(), dp.MinHash(preset="dialect")):
        stage.warm()
    tables = [lambda f: planted_pairs(f, given.documents), form_letters, lambda f: thresholds(f, given.mb)]
    for table in [*tables, *([lambda f: variants(f, given.variants)] if given.variants else [])]:
        with tempfile.TemporaryDirectory() as folder:
            table(folder)


if __name__ == "__main__":
    main()
