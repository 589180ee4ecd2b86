"""Parts of bench_decisions that read, learn and count: JSON Lines, n-grams, BPE, k-means, HyperLogLog."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
from decisions_common import Compare, Engine, beginning, english, mb, same


def json_lines(place: Path) -> tuple[list[Engine], Compare]:
    """JSON Lines to a column of texts and one of the other fields as JSON."""
    import orjson

    import dataprep as dp

    path = place / "some.jsonl"
    texts = english(20)
    rows = ({"text": t, "url": f"https://example.org/{i}", "n": i, "tags": ["a", "b"]} for i, t in enumerate(texts))
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))

    def ours():
        table = dp.read(str(path)).table(["text", "meta"])
        return table["text"].combine_chunks(), table["meta"]

    def loop(parsed):
        def run():
            found, metas = [], []
            with path.open("rb") as f:
                for line in f:
                    row = parsed(line)
                    found.append(row.pop("text"))
                    metas.append(orjson.dumps(row))
            return pa.array(found, pa.large_string()), pa.array(metas, pa.large_binary())

        return run

    def simd(line):
        import simdjson

        return simdjson.loads(line)

    def arrow():
        from pyarrow import json as reader

        table = reader.read_json(path, reader.ReadOptions(use_threads=False, block_size=8 << 20))
        return table["text"].combine_chunks().cast(pa.large_string()), None

    def compare(a, b):
        texts_equal = a[0].to_pylist() == b[0].to_pylist()
        if b[1] is None:
            return f"texts {same(True, texts_equal)}; other fields are columns, no offsets, one bad line ends it"
        metas = all(json.loads(x) == json.loads(y) for x, y in zip(a[1].to_pylist(), b[1].to_pylist(), strict=True))
        return same(True, texts_equal and metas)

    size = path.stat().st_size / 1e6
    engines = [Engine("ours", ours, size), Engine("orjson, a loop", loop(orjson.loads), size)]
    engines.append(Engine("simdjson, a loop", loop(simd), size, "simdjson"))
    return [*engines, Engine("pyarrow.json", arrow, size)], compare


def ngram(place: Path) -> tuple[list[Engine], Compare]:
    """3-grams of sentences, to a model."""
    from dataprep import ngram as N

    lines = [line for text in english(4) for line in re.findall(r"[\w' ]+", text.lower()) if line.strip()]
    some = beginning(lines, 0.3)
    (place / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def ours():
        N.train(f"{place}/lines.txt", out=f"{place}/made.arpa", order=3, discount_fallback=True, skip_symbols=True)

    def nltk():
        from nltk.lm import KneserNeyInterpolated
        from nltk.lm.preprocessing import padded_everygram_pipeline

        KneserNeyInterpolated(3).fit(*padded_everygram_pipeline(3, [line.split() for line in some]))

    others = [Engine("nltk KneserNeyInterpolated*", nltk, mb(some), "nltk")]
    return [Engine("ours", ours, mb(lines)), *others], lambda *_: "other smoothing: one discount, no file"


def bpe(_: Path) -> tuple[list[Engine], Compare]:
    """4,000 merges of a byte-level BPE."""
    from dataprep.tokens.vocabulary import merges, patterns

    texts, pattern = english(8), patterns.regex_of("gpt2", None)
    columns = [pa.array(texts, pa.large_string())]
    calls = (merges.learn_merges, merges.learn_by_tokenizers)
    ours, library = (lambda learn=learn: learn(columns, 4_000, pattern) for learn in calls)
    return [Engine("ours", ours, mb(texts)), Engine("tokenizers BpeTrainer", library, mb(texts))], same


def kmeans(_: Path) -> tuple[list[Engine], Compare]:
    """128 centroids of 30,000 vectors of 128 numbers, ten rounds from the same starting centroids; M vectors."""
    from dataprep.dedup.embeddings.kmeans import k_means
    from dataprep.dedup.embeddings.vectors import to_grid

    rng, k = np.random.default_rng(1), 128
    places = rng.normal(size=(200, 128))
    grid = to_grid(places[rng.integers(0, 200, 30_000)] + rng.normal(size=(30_000, 128)))
    unit = (grid / np.linalg.norm(grid.astype(float), axis=1, keepdims=True)).astype(np.float32)
    first = unit[:k].copy()

    def sklearn():
        from sklearn.cluster import KMeans

        return KMeans(k, init=first, n_init=1, max_iter=10, tol=0, algorithm="lloyd").fit(unit).cluster_centers_

    def by_faiss():
        import faiss

        found = faiss.Kmeans(128, k, niter=10, spherical=True, max_points_per_centroid=10_000)
        found.train(unit, init_centroids=first)
        return found.centroids

    def cosine(centroids) -> float:
        scaled = centroids / np.linalg.norm(centroids.astype(float), axis=1, keepdims=True)
        return float((unit @ scaled.T.astype(np.float32)).max(1).mean())

    engines = [Engine("ours", lambda: k_means(grid, k), 0.03), Engine("scikit-learn KMeans", sklearn, 0.03, "sklearn")]
    engines.append(Engine("faiss Kmeans, spherical", by_faiss, 0.03, "faiss"))
    return engines, lambda a, b: f"mean cosine to the centroid {cosine(a):.5f} and {cosine(b):.5f}"


def hyperloglog(_: Path) -> tuple[list[Engine], Compare]:
    """Count distinct 64-bit hashes with 2^16 registers; M hashes."""
    from dataprep.dedup.membership import hyperloglog as H

    keys = np.random.default_rng(2).integers(0, 2**64, 10_000_000, np.uint64)
    some = [int(key) for key in keys[:100_000]]

    def ours(found=keys):
        registers = H.empty()
        H.observe(registers, found)
        return H.estimate(registers) / len(found)

    def sketch():
        from datasketch import HyperLogLogPlusPlus

        counter = HyperLogLogPlusPlus(p=16, hashfunc=lambda key: key)
        for key in some:
            counter.update(key)
        return counter.count() / len(some)

    engines = [Engine("ours", ours, 10), Engine("datasketch HyperLogLogPlusPlus*", sketch, 0.1, "datasketch")]
    return engines, lambda _, b: f"of 100,000, ours estimates {ours(keys[:100_000]):.4f} and this {b:.4f}"
