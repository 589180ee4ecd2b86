"""Spherical k-means (Dhillon and Modha 2001) on a bounded sample of the vectors.

Products and sums of vectors on the grid are exact (`vectors.py`), ties go to the first centroid, and where to start is
chosen by hash: so the centroids are the same whatever the machine, the threads, or how the documents are cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.core.ledger import mix
from dataprep.store import files, receipts
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U64

from .vectors import F32, F64, I16, UNITS, Block, blocks, lengths, to_grid

I32: TypeAlias = npt.NDArray[np.int32]
SAMPLE_BYTES, SAMPLE_DOCS = 64 << 20, 256  # of vectors; a cluster (faiss's choice): more moves centroids little
ITERATIONS = 10
WHOLE = 1 << 15  # so many documents are one cluster: all pairs take 2 s
MAX_CLUSTERS = 16_384
PRODUCTS = 4 << 20  # of float32 in memory at once


def n_clusters(n_docs: int) -> int:
    """How many clusters: one for a small corpus, else sqrt(n): finding a cluster costs as much as comparing in it."""
    return 1 if n_docs <= WHOLE else min(int(n_docs**0.5), MAX_CLUSTERS)


@kernel
def sums(vectors: I16, labels: I32, k: int) -> F64:
    """The sum of the vectors of every label, float64[k, d]: whole numbers below 2^53, so exact."""
    out = np.zeros((k, vectors.shape[1]), np.float64)
    for i in range(len(labels)):
        for j in range(vectors.shape[1]):
            out[labels[i], j] += np.float64(vectors[i, j])
    return out


def nearest(vectors: I16, centroids: I16) -> tuple[I32, npt.NDArray[np.int16]]:
    """The first of the nearest centroids, int32[n], and the cosine to it in ten-thousandths, int16[n]."""
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
    """At most k centroids, int16[k, d]; it starts with the first k different vectors of the sample."""
    first = sample[: 8 * k]
    _, at = np.unique(first, axis=0, return_index=True)
    centroids: I16 = first[np.sort(at)[:k]]
    for _ in range(iterations):
        labels, _ = nearest(sample, centroids)
        moved: I16 = to_grid(sums(sample, labels, len(centroids)))
        moved = np.where(moved.any(axis=1, keepdims=True), moved, centroids)  # nobody came: it stays where it was
        if np.array_equal(moved, centroids):
            break
        centroids = moved
    return np.ascontiguousarray(centroids)


@dataclass(frozen=True)
class KMeans:
    """Find the centroids of the documents that are left; one task. `name` is its folder."""

    out: str
    key: str
    name: str
    dim: int
    n_parts: int
    n_docs: int  # that have a vector and are not gone
    clusters: int
    seed: int
    gone: Gone | None = None

    def __call__(self, _: int) -> dict[str, Any]:
        """The receipt: how many clusters."""
        url = files.join(self.out, self.name, "centroids")
        return receipts.once(url + ".json", self.key, lambda: self._write(url))

    def _write(self, url: str) -> dict[str, Any]:
        centroids = k_means(self._sample(), self.clusters)
        with spill_to(url, 1) as spill:
            spill.write([centroids])
        return {"files": [url], "clusters": len(centroids)}

    def _sample(self) -> I16:
        """The vectors with the smallest hash(seed, id), in order of that hash."""
        most = min(SAMPLE_BYTES // (2 * self.dim), SAMPLE_DOCS * self.clusters)
        limit = np.uint64(min(1.0, most / max(1, self.n_docs)) * (2**64 - 2048))
        chosen, order = [np.zeros((0, self.dim), np.int16)], [np.zeros(0, np.uint64)]
        for number in range(self.n_parts):
            for block in left_in(self.out, number, self.dim, self.gone):
                hashes = mix(block.ids, self.seed)
                rows = np.flatnonzero(hashes <= limit)
                chosen.append(block.vectors[rows])
                order.append(hashes[rows])
        return np.concatenate(chosen)[np.argsort(np.concatenate(order), kind="stable")]


@dataclass(frozen=True)
class Gone:
    """The ids of documents that are gone, sorted, in one file a group of parts."""

    folder: str
    n_parts: int
    n_groups: int

    def write(self, groups: Iterator[U64]) -> None:
        """Write the ids of every group."""
        for number, ids in enumerate(groups):
            with spill_to(files.join(self.folder, f"group-{number:05d}"), 1) as spill:
                spill.write([ids])

    def of(self, part: int) -> U64:
        """Those of a part, among others."""
        with Spill(files.join(self.folder, f"group-{part * self.n_groups // self.n_parts:05d}")) as spill:
            return spill.read(0, 0, dtype=np.uint64)


def left_in(out: str, number: int, dim: int, gone: Gone | None) -> Iterator[Block]:
    """The blocks of a part: the documents that have a vector and are not gone."""
    ids = np.zeros(0, np.uint64) if gone is None else gone.of(number)
    for block in blocks(out, number, dim):
        stays = block.vectors.any(1)
        if len(ids):
            at = np.minimum(np.searchsorted(ids, block.ids), len(ids) - 1)
            stays &= ids[at] != block.ids
        yield Block(block.ids[stays], block.ranks[stays], block.vectors[stays])


def centroids_of(out: str, name: str, dim: int) -> I16:
    """What KMeans found, int16[k, dim]."""
    with Spill(files.join(out, name, "centroids")) as spill:
        return spill.read(0, 0, dtype=np.int16).reshape(-1, dim)
