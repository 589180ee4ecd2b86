"""SemDeDup: user-CPU seconds a pass from JSONL to verdicts, and duplicates among given vectors beside other ways.

    python benchmarks/bench_semantic.py [--mb 100] [--documents 50000] [--input TEXTS.jsonl]
                                        [--peer-python ENV/bin/python ...]

The text is that of `corpus.py`, or any JSONL with a `text`. The vectors of the second table are made here: 64 numbers
around 300 directions, a tenth of them near copies of earlier ones. Every engine gets the same in a process of its own,
with one thread for products of matrices. `nobody kept` counts documents that went although no document that stays has
a cosine above 1 - epsilon to them (less 0.0006 for rounding); `left` counts pairs of documents that stay above it.
"Plain NumPy" is SemDeDup as published: k-means on all vectors, then in each cluster all products, and a document goes
if an earlier one is near it, whether that one stays or not.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

from engines import child, interpreters, peak_kb

EPSILON = 0.05
ENGINES = {
    "vectors_ours": "dataprep SemDeDup, sqrt(n) clusters",
    "whole_ours": "dataprep SemDeDup, one cluster: all pairs",
    "numpy": "plain NumPy SemDeDup, sqrt(n) clusters",
    "semhash": "semhash (usearch index)",
}


def user() -> float:
    """User-CPU seconds of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def passes(file: str, size: int) -> dict:
    """Fit on texts with the default vectors; user seconds of every pass."""
    import dataprep as dp
    from dataprep.dedup.semantic import SemDeDup

    took = {}

    class Timed(dp.tools.Serial):
        def map(self, task, items, label=""):
            before = user()
            found = list(super().map(task, items, label))
            took[label] = user() - before
            yield from found

    SemDeDup().warm()
    start, before = time.perf_counter(), user()
    with tempfile.TemporaryDirectory() as out:
        facts = dict(SemDeDup().fit(dp.read(file), Timed(), out).facts)
    whole = {"user": user() - before, "wall": time.perf_counter() - start, "peak": peak_kb() / 1e3}
    return {"passes": took, "facts": facts, "size": size, **whole}


def made_vectors(n: int):
    """Vectors around 300 directions, a tenth of them near copies, float32[n, 64]."""
    import numpy as np

    rng = np.random.RandomState(0)
    vectors = rng.standard_normal((300, 64))[rng.randint(0, 300, n)] + 0.6 * rng.standard_normal((n, 64))
    copies = rng.choice(np.arange(n // 2, n), n // 10, replace=False)
    vectors[copies] = vectors[rng.randint(0, n // 2, len(copies))] + 0.1 * rng.standard_normal((len(copies), 64))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def vectors_ours(file: str, clusters: int | None = None) -> list[int]:
    """All passes, the vectors looked up by the number that is the text."""
    import numpy as np
    import pyarrow.parquet as pq

    import dataprep as dp
    from dataprep.dedup.semantic import SemDeDup

    table = np.load(file)
    rows = Path(file).with_suffix(".jsonl")
    rows.write_text("".join(f'{{"text": "{i:08d}"}}\n' for i in range(len(table))))
    stage = SemDeDup(
        epsilon=EPSILON, embed=lambda texts: table[[int(t) for t in texts]], version=file, clusters=clusters
    )
    with tempfile.TemporaryDirectory() as out:
        ids = pq.read_table(stage.fit(dp.read(str(rows)), dp.tools.Serial(), out).verdicts)["id"].to_numpy()
    return (ids // len('{"text": "00000000"}\n')).tolist()


def whole_ours(file: str) -> list[int]:
    return vectors_ours(file, 1)


def numpy(file: str) -> list[int]:
    import numpy as np

    vectors = np.load(file)
    n = len(vectors)
    k = int(n**0.5)
    centroids = vectors[np.random.RandomState(0).choice(n, k, replace=False)]
    for _ in range(10):
        labels = np.concatenate([np.argmax(part @ centroids.T, 1) for part in np.array_split(vectors, -(-n // 4096))])
        order = np.argsort(labels, kind="stable")
        edges = np.searchsorted(labels[order], np.arange(k))
        sums = np.add.reduceat(vectors[order], np.minimum(edges, n - 1), axis=0)
        centroids = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    gone = []
    for members in np.split(order, edges[1:]):
        near = np.tril(vectors[members] @ vectors[members].T, -1) > 1 - EPSILON
        gone += members[near.any(1)].tolist()
    return gone


def semhash(file: str) -> list[int]:
    import numpy as np
    from semhash import SemHash

    class NoModel:
        def encode(self, inputs, **_):
            raise NotImplementedError

    vectors = np.load(file)
    names = [f"{i:08d}" for i in range(len(vectors))]
    stays = SemHash.from_embeddings(vectors, names, NoModel()).self_deduplicate(1 - EPSILON).selected
    return sorted(set(range(len(vectors))) - {int(name) for name in stays})


def judge(file: str, gone: list[int]) -> tuple[int, int]:
    """How many went without a kept partner, and how many pairs are left, by all products."""
    import numpy as np

    vectors = np.load(file)
    is_gone = np.zeros(len(vectors), bool)
    is_gone[gone] = True
    kept, lost = vectors[~is_gone], vectors[is_gone]
    best = [float((row @ kept.T).max()) for row in lost]
    left = sum(int((kept[i : i + 1024] @ kept.T > 1 - EPSILON).sum()) for i in range(0, len(kept), 1024)) - len(kept)
    return sum(b <= 1 - EPSILON - 6e-4 for b in best), left // 2


def measure(engine: str, file: str, warm: str) -> dict:
    """Run one engine in this process."""
    if engine == "passes_ours":
        return passes(file, 0)
    globals()[engine](warm)
    before, start = user(), time.perf_counter()
    gone = globals()[engine](file)
    return {"user": user() - before, "wall": time.perf_counter() - start, "peak": peak_kb() / 1e3, "gone": gone}


def show_passes(file: str, size: int) -> None:
    """The first table."""
    got = child(__file__, [], "passes_ours", "--file", file, "--warm", file)
    if isinstance(got, str):
        print(f"skipped: {got}")
        return
    print(f"\n{'SemDeDup on ' + format(size / 1e6, '.0f') + ' MB of text':40} {'s user':>8} {'MB/s':>8}")
    for label, seconds in got["passes"].items():
        print(f"{label:40} {seconds:8.2f} {size / 1e6 / max(seconds, 1e-3):8.0f}")
    print(
        f"{'all, JSONL to verdicts':40} {got['user']:8.2f} {size / 1e6 / got['user']:8.1f}   peak {got['peak']:.0f} MB"
    )
    print(json.dumps(got["facts"]))


def show_engines(file: str, warm: str, n: int, pythons: list[str]) -> None:
    """The second table."""
    print(f"\n{f'{n:,} vectors of 64 numbers':48} {'s user':>7} {'s wall':>7} {'peak MB':>8} {'dropped':>8} "
          f"{'nobody kept':>11} {'left':>6}")  # fmt: skip
    for engine, name in ENGINES.items():
        got = child(__file__, pythons, engine, "--file", file, "--warm", warm)
        if isinstance(got, str):
            print(f"{name} skipped: {got}")
            continue
        alone, left = judge(file, got["gone"])
        took = f"{got['user']:7.2f} {got['wall']:7.2f} {got['peak']:8.0f}"
        print(f"{name:48} {took} {len(got['gone']):8,} {alone:11,} {left:6,}", flush=True)


def main() -> None:
    """Write the inputs, run the engines, print the tables."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, nargs="+", default=[100], help="of text for the first table")
    parser.add_argument("--documents", type=int, default=50_000, help="of the second table")
    parser.add_argument("--input", help="JSONL with a field `text` to take the documents from")
    parser.add_argument("--peer-python", nargs="*", default=[])
    parser.add_argument("--engine", choices=["passes_ours", *ENGINES], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--warm", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(measure(given.engine, given.file, given.warm)))
        return
    import numpy as np
    from bench_dedup import write

    with tempfile.TemporaryDirectory() as folder:
        for mb in given.mb:
            show_passes(*write(f"{folder}/texts.jsonl", int(mb * 1e6), given.input))
        for name, n in (("warm", 2000), ("vectors", given.documents)):
            np.save(f"{folder}/{name}.npy", made_vectors(n))
        files = (f"{folder}/{name}.npy" for name in ("vectors", "warm"))
        show_engines(*files, given.documents, interpreters(given.peer_python))


if __name__ == "__main__":
    main()
