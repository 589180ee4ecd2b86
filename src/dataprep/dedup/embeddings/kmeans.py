"""Spherical k-means (Dhillon and Modha 2001) on a bounded sample; and D4, which drops documents near centroids.

Vectors have integer coordinates, so their products and sums are exact (`vectors.py`). A document that is equally near
to two centroids belongs to the first one, and the starting centroids are chosen by hash. The centroids therefore do not
depend on the machine, the threads, or the sizes of batches.

D4 (Tirumala et al. 2023) is applied to the documents that deduplication kept. It drops those closest to their
centroids, because documents that are similar to many others add least. Such documents are called SSL prototypes
(Sorscher et al. 2022). All clusters are treated as one: documents are dropped in order of their cosine to the nearest
centroid, the largest cosine first. If two cosines are equal, the document with the larger id is dropped first.

Slow reference for the tests: tests/twins/semantic.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.core.run.passes import Pass
from dataprep.store.ranks import mix
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import all_sections, write_spill
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U64

from .vectors import F32, F64, I16, UNITS, VectorBlock, blocks, lengths, to_grid

I32: TypeAlias = npt.NDArray[np.int32]
SAMPLE_BYTES, SAMPLE_DOCS = 64 << 20, 256  # bytes of vectors; vectors per cluster (faiss's choice): more change little
ITERATIONS = 10
WHOLE = 1 << 15  # up to this number, documents form one cluster: comparing all pairs takes 2 s
MAX_CLUSTERS = 16_384
PRODUCTS = 4 << 20  # of float32 in memory at once
ROW = np.dtype([("id", "<u8"), ("cosine", "<i2")])
VERDICT = np.dtype([("id", "<u8"), ("duplicate_of", "<u8"), ("similarity", "<f4")])
COSINES = 2 * UNITS + 1


def n_clusters(n_docs: int) -> int:
    """Return the number of clusters for `n_docs` documents: 1 up to 32,768 documents, else sqrt(n_docs), at most 16384.

    With sqrt(n) clusters, finding a document's cluster costs as much as comparing the document inside the cluster.
    """
    return 1 if n_docs <= WHOLE else min(int(n_docs**0.5), MAX_CLUSTERS)


@kernel
def sums(vectors: I16, labels: I32, k: int) -> F64:
    """Return the sum of the vectors with each label, float64[k, d]; the sums are exact, as integers below 2^53.

    - vectors: int16[n, d].
    - labels: int32[n], each from 0 to k - 1.
    """
    out = np.zeros((k, vectors.shape[1]), np.float64)
    for i in range(len(labels)):
        for j in range(vectors.shape[1]):
            out[labels[i], j] += np.float64(vectors[i, j])
    return out


def nearest(vectors: I16, centroids: I16) -> tuple[I32, npt.NDArray[np.int16]]:
    """Return each vector's nearest centroid, int32[n], and the cosine to it in ten-thousandths, int16[n]."""
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
    """Return at most `k` centroids, int16[k, d], of the vectors `sample`, int16[n, d].

    The first `k` different vectors of the sample are the starting centroids. The algorithm ends after `iterations`
    rounds, or earlier if a round changes nothing.
    """
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
    """Find centroids by k-means on a sample of the documents' vectors, in one task for the whole input.

    Attributes:
        dim: the number of dimensions of a vector.
        n_parts: the number of input parts.
        n_docs: the number of documents that have a vector and were not dropped.
        clusters: the number of centroids to find.
        seed: the seed that decides which documents are in the sample.
        dropped: the ids of documents to leave out. The receipt (the task's record) states the number of centroids.
    """

    folder = "clusters"
    noun = ""

    dim: int
    n_parts: int
    n_docs: int  # that have a vector and were not dropped
    clusters: int
    seed: int
    dropped: DroppedIds | None = None

    def write(self, url: str, item: int) -> dict[str, Any]:  # noqa: ARG002 - there is one item
        """Write the centroids, int16[clusters, dim], to the file `url`; return {"clusters": their number}.

        - item: unused, since there is one task.
        """
        centroids = k_means(self._sample(), self.clusters)
        write_spill(url, [centroids])
        return {"clusters": len(centroids)}

    def _sample(self) -> I16:
        """Return the vectors with the smallest hash(seed, id), in order of that hash."""
        most = min(SAMPLE_BYTES // (2 * self.dim), SAMPLE_DOCS * self.clusters)
        limit = np.uint64(min(1.0, most / max(1, self.n_docs)) * (2**64 - 2048))
        chosen, order = [np.zeros((0, self.dim), np.int16)], [np.zeros(0, np.uint64)]
        for number in range(self.n_parts):
            for block in vectors_kept_in(self.out, number, self.dim, self.dropped):
                hashes = mix(block.ids, self.seed)
                rows = np.flatnonzero(hashes <= limit)
                chosen.append(block.vectors[rows])
                order.append(hashes[rows])
        return np.concatenate(chosen)[np.argsort(np.concatenate(order), kind="stable")]


@dataclass(frozen=True)
class FindSecondClusters(FindClusters):
    """Find centroids of the documents that deduplication kept, for diversification (D4), as FindClusters does."""

    folder = "diverse"


@dataclass(frozen=True)
class SortDropped(Pass[int]):
    """Write the ids of the documents of a group of input parts that deduplication dropped, ascending.

    Attributes:
        decided: the files of VERDICTs, with one section per group.
    """

    folder = "dropped"
    noun = "group"

    decided: ShuffleFiles

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write the dropped ids of group number `item` to the file `url`, uint64; return {}."""
        write_spill(url, [np.sort(self.decided.section(item, VERDICT)["id"])])
        return {}


@dataclass(frozen=True)
class DroppedIds:
    """The ids of the documents that deduplication dropped, in the files of SortDropped in the folder `out`.

    The `n_parts` input parts are divided into `n_groups` groups of consecutive parts; there is one file per group.
    """

    out: str
    n_parts: int
    n_groups: int

    def of(self, part: int) -> U64:
        """Return the dropped ids, uint64, ascending, of the group of input parts that includes part number `part`."""
        return all_sections([SortDropped.url(self.out, part * self.n_groups // self.n_parts)], 0, np.uint64)


def vectors_kept_in(out: str, number: int, dim: int, dropped: DroppedIds | None) -> Iterator[VectorBlock]:
    """Yield the vectors of input part `number` in blocks, without zero vectors and without the documents in `dropped`.

    - out: the folder of the temporary files.
    - dim: the number of dimensions of a vector.
    - dropped: the ids of documents to leave out; None to leave out no document.
    """
    ids = np.zeros(0, np.uint64) if dropped is None else dropped.of(number)
    for block in blocks(out, number, dim):
        kept = block.vectors.any(1)
        kept &= ~B.find_sorted(ids, block.ids)[1]
        yield VectorBlock(block.ids[kept], block.ranks[kept], block.vectors[kept])


def centroids_in(url: str, dim: int) -> I16:
    """Return the centroids stored in the file `url`, int16[k, dim].

    - dim: the number of dimensions of a centroid.
    """
    return all_sections([url], 0, np.int16).reshape(-1, dim)


@dataclass(frozen=True)
class MeasureNearness(Pass[int]):
    """Write, for each kept document of an input part, the cosine to its nearest centroid, in ten-thousandths.

    Attributes:
        dim: the number of dimensions of a vector.
        dropped: the ids of the documents to leave out. The centroids are those of FindSecondClusters.
    """

    folder = "nearness"

    dim: int
    dropped: DroppedIds

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write a ROW (id, cosine in ten-thousandths) per kept document of input part `item` to `url`; return {}."""
        centroids = centroids_in(FindSecondClusters.url(self.out), self.dim)
        found = [np.zeros(0, ROW)]
        for block in vectors_kept_in(self.out, item, self.dim, self.dropped):
            rows = np.empty(len(block.ids), ROW)
            rows["id"], rows["cosine"] = block.ids, nearest(block.vectors, centroids)[1]
            found.append(rows)
        write_spill(url, [np.concatenate(found)])
        return {}


@dataclass(frozen=True)
class CosineLimit:
    """The rule that drops prototypes, which are documents whose cosine to their nearest centroid is above `cosine`.

    Attributes:
        cosine: the cosine in ten-thousandths.
        keep: for each input part, the most documents with exactly this cosine that are kept, of the smallest ids.
        drops: the number of documents that are dropped.
    """

    cosine: int
    keep: tuple[int, ...]
    drops: int


def cosine_limit(out: str, n_parts: int, share: float) -> CosineLimit:
    """Return the rule that keeps the documents with the smallest cosines: the share `share` (0 to 1) of all documents.

    - out: the folder with the files of MeasureNearness for all `n_parts` input parts.
    """
    counts = np.zeros(COSINES, np.int64)
    for number in range(n_parts):
        counts += np.bincount(_rows(out, number)["cosine"].astype(np.int64) + UNITS, minlength=COSINES)
    left = np.cumsum(counts)
    wanted = int(np.ceil(round(share * int(left[-1]), 6)))
    at = int(np.searchsorted(left, wanted))
    if at == COSINES:
        return CosineLimit(UNITS, (int(left[-1]),) * n_parts, 0)
    keep, of_parts = wanted - int(left[at] - counts[at]), []
    for number in range(n_parts):
        of_parts.append(keep)
        keep = max(0, keep - int(np.count_nonzero(_rows(out, number)["cosine"] == at - UNITS)))
    return CosineLimit(at - UNITS, tuple(of_parts), int(left[-1]) - wanted)


def prototypes(out: str, number: int, limit: CosineLimit) -> npt.NDArray[Any]:
    """Return the ROWs (id, cosine in ten-thousandths) of the documents of part `number` that `limit` drops.

    - out: the folder with the files of MeasureNearness.
    """
    rows = _rows(out, number)
    drop = rows["cosine"] > limit.cosine
    drop[np.flatnonzero(rows["cosine"] == limit.cosine)[limit.keep[number] :]] = True
    return np.asarray(rows[drop])


def _rows(out: str, number: int) -> npt.NDArray[Any]:
    return all_sections([MeasureNearness.url(out, number)], 0, ROW)
