"""Spherical k-means (Dhillon and Modha 2001) on a bounded sample of the vectors.

Products and sums of vectors on the grid are exact (`vectors.py`), ties are decided for the first centroid, and the
start is chosen by hash, so the centroids do not depend on the machine, the threads, or the sizes of batches.

Twin: tests/twins/semantic.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.core.ledger import mix
from dataprep.core.passes import Pass
from dataprep.store import files
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U64

from .vectors import F32, F64, I16, UNITS, VectorBlock, blocks, lengths, to_grid

I32: TypeAlias = npt.NDArray[np.int32]
SAMPLE_BYTES, SAMPLE_DOCS = 64 << 20, 256  # of vectors; per cluster (faiss's choice): more changes little
ITERATIONS = 10
WHOLE = 1 << 15  # up to so many documents are one cluster: comparing all pairs takes 2 s
MAX_CLUSTERS = 16_384
PRODUCTS = 4 << 20  # of float32 in memory at once


def n_clusters(n_docs: int) -> int:
    """Return 1 for a small corpus, else sqrt(n): then finding a cluster costs as much as comparing in it."""
    return 1 if n_docs <= WHOLE else min(int(n_docs**0.5), MAX_CLUSTERS)


@kernel
def sums(vectors: I16, labels: I32, k: int) -> F64:
    """Return the sum of the vectors of every label, float64[k, d]: integers below 2^53, so exact."""
    out = np.zeros((k, vectors.shape[1]), np.float64)
    for i in range(len(labels)):
        for j in range(vectors.shape[1]):
            out[labels[i], j] += np.float64(vectors[i, j])
    return out


def nearest(vectors: I16, centroids: I16) -> tuple[I32, npt.NDArray[np.int16]]:
    """Return the first of the nearest centroids, int32[n], and the cosine to it in ten-thousandths, int16[n]."""
    n = len(vectors)
    labels, similar = np.zeros(n, np.int32), np.zeros(n, np.int16)
    columns = np.ascontiguousarray(centroids.T, dtype=np.float32)
    size = lengths(centroids)
    inverse = (1.0 / np.maximum(size, 1.0)).astype(np.float32)
    step = max(1, PRODUCTS // max(1, len(centroids)))
    for first in range(0, n, step):
        rows = slice(first, first + step)
        products: F32 = vectors[rows].astype(np.float32) @ columns
        best = np.argmax(products * inverse, axis=1)
        own = np.maximum(lengths(vectors[rows]) * size[best], 1.0)
        cosine = products[np.arange(len(best)), best].astype(np.float64) / own
        labels[rows], similar[rows] = best, np.rint(np.minimum(cosine, 1.0) * UNITS)
    return labels, similar


def k_means(sample: I16, k: int, iterations: int = ITERATIONS) -> I16:
    """Return at most k centroids, int16[k, d], starting with the first k different vectors of the sample."""
    first = sample[: 8 * k]
    _, at = np.unique(first, axis=0, return_index=True)
    centroids: I16 = first[np.sort(at)[:k]]
    for _ in range(iterations):
        labels, _ = nearest(sample, centroids)
        moved: I16 = to_grid(sums(sample, labels, len(centroids)))
        moved = np.where(moved.any(axis=1, keepdims=True), moved, centroids)  # a centroid without vectors is unchanged
        if np.array_equal(moved, centroids):
            break
        centroids = moved
    return np.ascontiguousarray(centroids)


@dataclass(frozen=True)
class FindClusters(Pass[int]):
    """Find the centroids of the documents that were not dropped; one task. Receipt: how many clusters."""

    folder = "clusters"
    noun = ""

    dim: int
    n_parts: int
    n_docs: int  # that have a vector and were not dropped
    clusters: int
    seed: int
    dropped: DroppedIds | None = None

    def write(self, url: str, item: int) -> dict[str, Any]:  # noqa: ARG002 - there is one item
        """Write the centroids."""
        centroids = k_means(self._sample(), self.clusters)
        with spill_to(url, 1) as spill:
            spill.write([centroids])
        return {"clusters": len(centroids)}

    def _sample(self) -> I16:
        """Return the vectors with the smallest hash(seed, id), in order of that hash."""
        most = min(SAMPLE_BYTES // (2 * self.dim), SAMPLE_DOCS * self.clusters)
        limit = np.uint64(min(1.0, most / max(1, self.n_docs)) * (2**64 - 2048))
        chosen, order = [np.zeros((0, self.dim), np.int16)], [np.zeros(0, np.uint64)]
        for number in range(self.n_parts):
            for block in kept_in(self.out, number, self.dim, self.dropped):
                hashes = mix(block.ids, self.seed)
                rows = np.flatnonzero(hashes <= limit)
                chosen.append(block.vectors[rows])
                order.append(hashes[rows])
        return np.concatenate(chosen)[np.argsort(np.concatenate(order), kind="stable")]


@dataclass(frozen=True)
class FindSecondClusters(FindClusters):
    """Find the centroids of what deduplication left."""

    folder = "diverse"


@dataclass(frozen=True)
class DroppedIds:
    """The ids of dropped documents, sorted, in one file per group of parts."""

    folder: str
    n_parts: int
    n_groups: int

    def write(self, groups: Iterator[U64]) -> None:
        """Write the ids of every group."""
        for number, ids in enumerate(groups):
            with spill_to(files.join(self.folder, f"group-{number:05d}"), 1) as spill:
                spill.write([ids])

    def of(self, part: int) -> U64:
        """Return the ids of a part, among others."""
        with Spill(files.join(self.folder, f"group-{part * self.n_groups // self.n_parts:05d}")) as spill:
            return spill.read(0, 0, dtype=np.uint64)


def kept_in(out: str, number: int, dim: int, dropped: DroppedIds | None) -> Iterator[VectorBlock]:
    """Yield the blocks of a part, with the documents that have a vector and were not dropped."""
    ids = np.zeros(0, np.uint64) if dropped is None else dropped.of(number)
    for block in blocks(out, number, dim):
        kept = block.vectors.any(1)
        if len(ids):
            at = np.minimum(np.searchsorted(ids, block.ids), len(ids) - 1)
            kept &= ids[at] != block.ids
        yield VectorBlock(block.ids[kept], block.ranks[kept], block.vectors[kept])


def centroids_in(url: str, dim: int) -> I16:
    """Return the centroids in a file, int16[k, dim]."""
    with Spill(url) as spill:
        return spill.read(0, 0, dtype=np.int16).reshape(-1, dim)
