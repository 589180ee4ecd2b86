"""Decisions: each document of a cluster is dropped if an earlier *kept* one, in keep order, is similar enough.

AssignClusters reads the vectors and writes them to temporary files by partition, a group of clusters. DecideClusters
decides one partition: blocks of documents are multiplied with the kept ones. If a cluster has more kept documents than
fit into memory, the undecided documents are compared in further rounds, with the same result (as in `near/verify.py`).
There are no chains: a dropped document never drops another.

Twin: tests/twins/semantic.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.part import Part
from dataprep.core.passes import Pass
from dataprep.store.spill import SpilledRows, all_sections, spill_to, write_spill
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64, Int

from .kmeans import FindClusters, centroids_in, kept_in, nearest
from .vectors import F32, F64, I16, UNITS, lengths

HEADER = np.dtype([("id", "<u8"), ("rank", "<u8"), ("cluster", "<u4"), ("file", "<u4")])
VERDICT = np.dtype([("id", "<u8"), ("kept", "<u8"), ("similarity", "<f4")])
PARTITION_BYTES = 32 << 20
MAX_PARTITIONS = 4096
HELD_BYTES = 64 << 20  # of vectors of a partition; one that has more is read in blocks
KEPT_BYTES = 64 << 20  # of vectors of kept documents, as float32
ROWS, COLUMNS = 1024, 4096  # of a matrix of products
CLOSEST, FARTHEST = "closest", "farthest"  # which of the copies is kept, by its cosine to the centroid


def n_partitions(n_docs: int, dim: int) -> int:
    """Return the number of partitions for `n_docs` vectors of `dim` numbers; workers and memory do not change it."""
    return min(MAX_PARTITIONS, max(1, -(-n_docs * (HEADER.itemsize + 2 * dim) // PARTITION_BYTES)))


@dataclass(frozen=True)
class AssignClusters(Pass[Part]):
    """Find the cluster of each document of a part, and write its header and vector to temporary files by partition.

    dim: numbers per vector. keep: which of the copies is kept, for the documents' ranks.
    """

    folder = "assign"

    dim: int
    partitions: int
    keep: str

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write two sections per partition to `url`, for the documents of the part `item`: HEADERs, and vectors, int16.

        A header has id, rank, cluster and part. The receipt needs no content: returns {}.
        """
        centroids, number = centroids_in(FindClusters.url(self.out), self.dim), item.number
        with spill_to(url, 2 * self.partitions) as spill:
            for block in kept_in(self.out, number, self.dim, None):
                headers = np.empty(len(block.ids), HEADER)
                labels, similar = nearest(block.vectors, centroids)
                headers["id"], headers["rank"] = block.ids, self._ranks(block.ranks, similar)
                headers["cluster"], headers["file"] = labels, number
                spill.write(list(self._sections(headers, block.vectors)))
        return {}

    def _ranks(self, ranks: U64, similar: npt.NDArray[np.int16]) -> U64:
        """Return the ranks in keep order: by the cosine to the centroid, if `keep` states so."""
        by_centroid = (similar.astype(np.int64) + UNITS).astype(np.uint64)
        return {FARTHEST: by_centroid, CLOSEST: ~by_centroid}.get(self.keep, ranks)

    def _sections(self, headers: npt.NDArray[Any], vectors: I16) -> Iterator[npt.NDArray[Any]]:
        """Yield the headers and vectors of every partition in turn."""
        partition = headers["cluster"] % np.uint32(self.partitions)
        order = np.argsort(partition, kind="stable")
        for rows in np.split(order, np.searchsorted(partition[order], np.arange(1, self.partitions))):
            yield headers[rows]
            yield vectors[rows]


@dataclass
class Members:
    """The documents of one partition: their headers, and their vectors, in memory (`held`) or read when needed."""

    rows: SpilledRows
    dim: int
    held: I16 | None = None

    @classmethod
    def read(cls, out: str, n_parts: int, partition: int, dim: int, most: int = HELD_BYTES) -> Members:
        """Read the headers of a partition in order of parts, and the vectors too if they have at most `most` bytes.

        out: the step's folder. dim: numbers per vector.
        """
        urls = [AssignClusters.url(out, number) for number in range(n_parts)]
        rows = SpilledRows.read(urls, partition, HEADER, lambda headers: np.full(len(headers), 2 * dim))
        members = cls(rows, dim)
        if rows.size.sum() <= most:
            members.held = members.load(np.arange(len(rows.size)))
        return members

    def load(self, rows: npt.NDArray[np.intp]) -> I16:
        """Return the vectors of the documents numbered `rows`, int16[len(rows), dim]."""
        if self.held is not None:
            return self.held[rows]
        starts, data = self.rows.load(rows)
        return data.view(np.int16).reshape(-1, self.dim)[starts // (2 * self.dim)]


@dataclass(frozen=True)
class DecideClusters(Pass[int]):
    """Decide which documents of one partition to drop, and write the verdicts to a temporary file by group of parts.

    Receipt: the numbers of documents dropped and of pairs compared, and the size of the largest cluster.
    """

    folder = "decide"
    noun = "partition"

    dim: int
    n_parts: int
    n_groups: int
    limit: int  # ten-thousandths: a document is dropped if its cosine to a kept one is more
    held_bytes: int = HELD_BYTES
    kept_bytes: int = KEPT_BYTES

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Decide on all documents of partition number `item`, and write the VERDICTs of the dropped ones to `url`.

        The file has one section per group of parts. Returns the content of the receipt.
        """
        members = Members.read(self.out, self.n_parts, item, self.dim, self.held_bytes)
        headers = members.rows.headers
        decided = Decisions(np.full(len(headers), -1, np.int64), np.zeros(len(headers), np.float32))
        order = np.lexsort((headers["id"], headers["rank"], headers["cluster"]))
        edges = np.flatnonzero(np.diff(headers["cluster"][order])) + 1
        clusters = np.split(order, edges) if len(order) else []
        capacity = max(ROWS, self.kept_bytes // (4 * self.dim))
        compared = sum(decide_cluster(members, rows, self.limit, capacity, decided) for rows in clusters)
        dropped = np.flatnonzero(decided.kept_by >= 0)
        verdicts = np.empty(len(dropped), VERDICT)
        verdicts["id"], verdicts["kept"] = headers["id"][dropped], headers["id"][decided.kept_by[dropped]]
        verdicts["similarity"] = decided.similarity[dropped]
        group = headers["file"][dropped].astype(np.int64) * self.n_groups // max(1, self.n_parts)
        cuts = np.searchsorted(group, np.arange(1, self.n_groups))  # rows are in order of their files
        write_spill(url, np.split(verdicts, cuts))
        largest = max(map(len, clusters), default=0)
        return {"dropped": len(dropped), "compared": compared, "largest": largest}


@dataclass
class Decisions:
    """For each row of a partition, the kept row that it duplicates (-1: none), and the cosine of the two."""

    kept_by: I64
    similarity: F32


@dataclass
class KeptVectors:
    """The kept documents of one cluster, in keep order: rows in the partition, vectors, and their lengths (`size`).

    At most `capacity` documents; the first `n` entries of the arrays are filled.
    """

    capacity: int
    rows: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    size: F64 = field(default_factory=lambda: np.zeros(0))
    vectors: F32 = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    n: int = 0

    def add(self, rows: npt.NDArray[np.intp], vectors: F32, size: F64) -> None:
        """Append kept documents: their rows, vectors float32[m, dim] and vector lengths; full arrays are doubled."""
        need = self.n + len(rows)
        if need > len(self.rows):
            wanted = min(max(need, 2 * len(self.rows), 64), self.capacity)
            rest = wanted - len(self.rows)
            self.rows = np.concatenate([self.rows, np.zeros(rest, np.int64)])
            self.size = np.concatenate([self.size, np.zeros(rest)])
            empty = np.zeros((rest, vectors.shape[1]), np.float32)
            self.vectors = np.concatenate([self.vectors.reshape(-1, vectors.shape[1]), empty])
        new = slice(self.n, need)
        self.rows[new], self.size[new], self.vectors[new] = rows, size, vectors
        self.n = need


def decide_cluster(
    members: Members, rows: npt.NDArray[np.intp], limit: int, capacity: int, decided: Decisions
) -> int:
    """Write the decisions on the documents of a cluster to `decided`; return the number of pairs compared.

    rows: of the cluster's documents in the partition, in keep order. limit: a document is dropped if its cosine to a
    kept one is above this, in ten-thousandths. capacity: kept documents in memory at once.
    """
    pending, compared = rows, 0
    while len(pending):
        kept, later = KeptVectors(capacity), []
        for first in range(0, len(pending), ROWS):
            block = pending[first : first + ROWS]
            on_grid = members.load(block)
            size, vectors = lengths(on_grid), on_grid.astype(np.float32)
            hit, similar = np.full(len(block), -1, np.int64), np.zeros(len(block), np.float32)
            for column in range(0, kept.n, COLUMNS):
                open_ = np.flatnonzero(hit < 0)
                columns = slice(column, min(column + COLUMNS, kept.n))
                products = vectors[open_] @ kept.vectors[columns].T
                compared += products.size
                first_hits(products, size[open_], kept.size[columns], limit, open_, kept.rows[columns], hit, similar)
            open_ = np.flatnonzero(hit < 0)
            if kept.n < capacity:
                products = vectors[open_] @ vectors[open_].T
                compared += len(open_) * (len(open_) - 1) // 2
                new = among(products, size[open_], limit, open_, block, capacity - kept.n, hit, similar)
                kept.add(block[new], vectors[new], size[new])
                open_ = np.setdiff1d(np.flatnonzero(hit < 0), new, assume_unique=True)
            decided.kept_by[block], decided.similarity[block] = hit, similar
            later.append(block[open_])
        pending = np.concatenate(later)
    return compared


@kernel(inline="always")
def cosine(product: Int, a: Int, b: Int) -> Int:
    """Return the cosine of two vectors in ten-thousandths, an integer; all decisions compare such integers.

    product: the vectors' scalar product; a, b: their lengths.
    """
    return np.int64(np.rint(min(np.float64(product) / (a * b), 1.0) * 10_000.0))


@kernel
def first_hits(products: F32, a: F64, b: F64, limit: int, rows: I64, names: I64, hit: I64, similar: F32) -> None:
    """For each document, find the first kept document with a cosine above `limit` (in ten-thousandths).

    products: float32[n, m], of n documents with m kept ones. a, b: the lengths of the vectors. For document i, names[j]
    of the kept document j is written to hit[rows[i]], and the cosine to similar[rows[i]].
    """
    n, m = products.shape
    least = np.empty(m, np.float32)
    for i in range(n):
        for j in range(m):  # just below the limit, so that few are computed exactly
            least[j] = np.float32((limit - 1) / 10_000.0 * a[i] * b[j])
        some = 0
        for j in range(m):  # no branch: eight at a time
            some += products[i, j] > least[j]
        if some:
            for j in range(m):
                if products[i, j] > least[j]:
                    c = cosine(products[i, j], a[i], b[j])
                    if c > limit:
                        hit[rows[i]], similar[rows[i]] = names[j], np.float32(c / 10_000.0)
                        break


@kernel
def among(products: F32, a: F64, limit: int, rows: I64, names: I64, capacity: int, hit: I64, similar: F32) -> I64:
    """Compare the n documents of a block with each other; return the rows of those to keep, at most `capacity`.

    products: float32[n, n]; a: the lengths of the vectors; limit: in ten-thousandths; rows: the documents' rows in the
    block. For a document that a kept one drops, the kept one's entry in `names` is written to `hit`, and the cosine to
    `similar`.
    """
    n = len(products)
    kept, k = np.empty(n, np.int64), 0
    for i in range(n):
        for e in range(k):
            c = cosine(products[i, kept[e]], a[i], a[kept[e]])
            if c > limit:
                hit[rows[i]], similar[rows[i]] = names[rows[kept[e]]], np.float32(c / 10_000.0)
                break
        if hit[rows[i]] < 0 and k < capacity:
            kept[k] = i
            k += 1
    out = np.empty(k, np.int64)
    for e in range(k):
        out[e] = rows[kept[e]]
    return out


def verdicts_of(out: str, partitions: int, group: int) -> npt.NDArray[Any]:
    """Return the VERDICTs that all partitions have for group number `group` of the parts, in order of ids."""
    rows = all_sections([DecideClusters.url(out, partition) for partition in range(partitions)], group, VERDICT)
    return rows[np.argsort(rows["id"])]
