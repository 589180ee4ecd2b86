"""A corpus with planted pairs of known kinds; tests and `benchmarks/bench_minhash.py` use it.

    exact             the same words
    light             1 to 5 % of the words replaced
    heavy             30 % of the words replaced
    shared paragraph  a third of the words is one paragraph that both have
    same template     a form letter: one field of a tenth of the words is filled in otherwise

Words are drawn from a Zipf-like vocabulary; all other documents are independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

KINDS = ("exact", "light", "heavy", "shared paragraph", "same template")
VOCABULARY = 50_000


@dataclass(frozen=True)
class Planted:
    """Texts, the words behind them, and which rows make a pair of which kind."""

    offsets: np.ndarray  # int64[documents + 1] into words
    words: np.ndarray  # int64
    pairs: dict[str, np.ndarray]  # int64[pairs, 2] of rows

    @property
    def texts(self) -> pa.Array:
        """The documents, string[documents]."""
        names = pa.array([f"w{i:x}" for i in range(VOCABULARY)])
        lists = pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), names.take(pa.array(self.words)))
        return pc.binary_join(lists, " ")

    def shingles(self, row: int, n: int = 5) -> set[tuple[int, ...]]:
        """The set of a document's runs of `n` words."""
        words = self.words[self.offsets[row] : self.offsets[row + 1]].tolist()
        return set(zip(*(words[i:] for i in range(n)), strict=False))

    def jaccard(self, a: int, b: int) -> float:
        """The exact similarity of two documents."""
        one, other = self.shingles(a), self.shingles(b)
        return len(one & other) / len(one | other)


def plant(documents: int = 100_000, share: float = 0.4, seed: int = 0) -> Planted:
    """Documents of 40 to 160 words, `share` of them in pairs, in random order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(40, 161, documents)
    n_pairs = int(documents * share) // 2
    sizes[n_pairs : 2 * n_pairs] = sizes[:n_pairs]  # row i and row n_pairs + i are a pair
    starts = np.concatenate([[0], np.cumsum(sizes)])
    words = _words(rng, int(starts[-1]))
    kind = np.arange(n_pairs) % len(KINDS)
    for pair in range(n_pairs):
        first = words[starts[pair] : starts[pair + 1]]
        second = words[starts[n_pairs + pair] : starts[n_pairs + pair + 1]]
        _make_alike(rng, KINDS[kind[pair]], first, second)
    order = rng.permutation(documents)
    place = np.argsort(order)
    pairs = {
        name: np.stack([place[:n_pairs][kind == k], place[n_pairs : 2 * n_pairs][kind == k]], axis=1)
        for k, name in enumerate(KINDS)
    }
    ends = np.concatenate([[0], np.cumsum(sizes[order])])
    moved = np.repeat(starts[order] - ends[:-1], sizes[order]) + np.arange(ends[-1])
    return Planted(ends, words[moved], pairs)


def _words(rng: np.random.Generator, n: int) -> np.ndarray:
    """Word numbers, small ones more often (log-uniform, a Zipf law of exponent one)."""
    return np.minimum(VOCABULARY - 1, np.exp(rng.random(n) * np.log(VOCABULARY)).astype(np.int64))


def _make_alike(rng: np.random.Generator, kind: str, first: np.ndarray, second: np.ndarray) -> None:
    """Give `second` what it shares with `first`, which is of the same size."""
    n = len(first)
    if kind == "shared paragraph":
        at, to = rng.integers(0, n - n // 3 + 1, 2)
        second[to : to + n // 3] = first[at : at + n // 3]
        return
    other = second.copy()
    second[:] = first
    if kind == "same template":
        at = rng.integers(0, n - n // 10)
        second[at : at + n // 10] = other[at : at + n // 10]
    elif kind != "exact":
        part = 0.3 if kind == "heavy" else rng.uniform(0.01, 0.05)
        changed = rng.choice(n, max(1, round(part * n)), replace=False)
        second[changed] = other[changed]
