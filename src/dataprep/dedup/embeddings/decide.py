"""Decisions: in a cluster, in keep order, a document is dropped for the first *kept* one that is similar enough.

AssignClusters reads the vectors and spills them by partition, a group of clusters. DecideClusters decides one
partition: blocks of documents are multiplied with the kept ones. If a cluster has more kept documents than fit into
memory, the others are compared with the next ones, which gives the same result (as in `near/verify.py`). There are no
chains: a dropped document never drops another.

Twin: tests/twins/semantic.py
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.part import Part
from dataprep.core.passes import Pass
from dataprep.store import files
from dataprep.store.spill import Spill, spill_to
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
    """Return the number of partitions for so many vectors; depends on their size alone."""
    return min(MAX_PARTITIONS, max(1, -(-n_docs * (HEADER.itemsize + 2 * dim) // PARTITION_BYTES)))


@dataclass(frozen=True)
class AssignClusters(Pass[Part]):
    """Find the cluster of every document of a part, and spill header and vector by partition."""

    folder = "assign"

    dim: int
    partitions: int
    keep: str

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write two sections per partition: HEADERs and vectors."""
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
        cuts = np.searchsorted(partition[order], np.arange(self.partitions + 1))
        for low, high in itertools.pairwise(cuts.tolist()):
            rows = order[low:high]
            yield headers[rows]
            yield vectors[rows]


@dataclass
class Members:
    """The documents of a partition: all headers, and their vectors, in memory or in the spill files."""

    urls: list[str]
    headers: npt.NDArray[Any]
    offset: I64  # of the vector in the file, in bytes
    dim: int
    held: I16 | None = None

    @classmethod
    def read(cls, out: str, n_parts: int, partition: int, dim: int, most: int = HELD_BYTES) -> Members:
        """Read the headers of a partition in order of parts, and the vectors if they have at most so many bytes."""
        urls = [AssignClusters.url(out, number) for number in range(n_parts)]
        headers, offsets = [np.zeros(0, HEADER)], [np.zeros(0, np.int64)]
        for url in urls:
            with Spill(url) as spill:
                for segment in range(spill.segments):
                    found = spill.read(segment, 2 * partition, dtype=HEADER)
                    start, _ = spill.where(segment, 2 * partition + 1)
                    headers.append(found)
                    offsets.append(start + 2 * dim * np.arange(len(found)))
        members = cls(urls, np.concatenate(headers), np.concatenate(offsets), dim)
        if 2 * dim * len(members.headers) <= most:
            members.held = members.load(np.arange(len(members.headers)))
        return members

    def load(self, rows: npt.NDArray[np.intp]) -> I16:
        """Return the vectors of some rows, int16[n, dim]."""
        if self.held is not None:
            return self.held[rows]
        out = np.empty((len(rows), self.dim), np.int16)
        order = np.lexsort((self.offset[rows], self.headers["file"][rows]))
        chosen, size = rows[order], 2 * self.dim
        file, at = self.headers["file"][chosen], self.offset[chosen]
        apart = (file[1:] != file[:-1]) | (at[1:] != at[:-1] + size)  # else they are adjacent: one read
        cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(chosen)] if len(chosen) else []
        for number, runs in itertools.groupby(itertools.pairwise(cuts), lambda run: int(file[run[0]])):
            with files.open_raw(self.urls[number]) as f:
                for low, high in runs:
                    f.seek(int(at[low]))
                    data = np.frombuffer(f.read(size * (high - low)), np.int16)
                    out[order[low:high]] = data.reshape(-1, self.dim)
        return out


@dataclass(frozen=True)
class DecideClusters(Pass[int]):
    """Decide the clusters of one partition, and spill verdicts by group of parts.

    Receipt: how many documents are dropped, how many pairs were compared, and the size of the largest cluster.
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
        """Write one section of VERDICTs per group of parts."""
        members = Members.read(self.out, self.n_parts, item, self.dim, self.held_bytes)
        headers = members.headers
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
        with spill_to(url, self.n_groups) as spill:  # rows are in order of their files
            spill.write(np.split(verdicts, np.searchsorted(group, np.arange(1, self.n_groups))))
        largest = max(map(len, clusters), default=0)
        return {"dropped": len(dropped), "compared": compared, "largest": largest}


@dataclass
class Decisions:
    """Per row, the row it is dropped for (-1: none) and the cosine."""

    kept_by: I64
    similarity: F32


@dataclass
class KeptVectors:
    """The kept documents of a cluster, in keep order; at most `capacity`."""

    capacity: int
    rows: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    size: F64 = field(default_factory=lambda: np.zeros(0))
    vectors: F32 = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    n: int = 0

    def add(self, rows: npt.NDArray[np.intp], vectors: F32, size: F64) -> None:
        """Enter documents; memory doubles as it fills."""
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
    """Decide one cluster, whose rows are in keep order; return how many pairs were compared."""
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
    """Return the cosine in ten-thousandths, the integer by which everything is decided."""
    return np.int64(np.rint(min(np.float64(product) / (a * b), 1.0) * 10_000.0))


@kernel
def first_hits(products: F32, a: F64, b: F64, limit: int, rows: I64, names: I64, hit: I64, similar: F32) -> None:
    """Write the first column whose cosine is above the limit, by its name, and the cosine, for every row."""
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
    """Decide the documents of a block by each other; return those kept, at most `capacity`, and leave others open."""
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
    """Return the VERDICTs of all partitions for one group of parts, in order of ids."""
    found = [np.zeros(0, VERDICT)]
    for partition in range(partitions):
        with Spill(DecideClusters.url(out, partition)) as spill:
            found.append(spill.read(0, group, dtype=VERDICT))
    rows = np.concatenate(found)
    return rows[np.argsort(rows["id"])]
