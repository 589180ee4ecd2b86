"""Decisions: which documents of a cluster to drop, because a kept document of the same cluster is similar enough.

The documents of a cluster are judged in order of preference (best copy first), each against the documents kept so far.
A dropped document never causes another document to be dropped.

AssignClusters writes the vectors to temporary files by partition, which is a group of clusters. DecideClusters decides
one partition: it multiplies the vectors of documents by those of the kept documents, as matrices. If a cluster has more
kept documents than fit into memory, the undecided documents are compared in further rounds, with the same result (as in
`near/verify.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model.annotate import CENTROIDS
from dataprep.core.model.part import Part
from dataprep.core.model.tables import NOBODY, VERDICTS, new_rows
from dataprep.core.run.merge import MergeSections
from dataprep.core.run.passes import Pass, WriteTable
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import SpilledRows, each_section, spill_to, write_spill
from dataprep.unicode.text import I64, U64

from ..older import Joined
from .kmeans import VERDICT, CosineLimit, FindClusters, centroids_in, nearest, prototypes, vectors_kept_in
from .similar import among, first_hits
from .vectors import F32, F64, I16, UNITS, lengths

HEADER = np.dtype([("id", "<u8"), ("rank", "<u8"), ("cluster", "<u4"), ("file", "<u4")])
NEAREST = np.dtype([("id", "<u8"), ("centroid", "<i4"), ("cosine", "<i2")])
PARTITION_BYTES = 32 << 20
MAX_PARTITIONS = 4096
HELD_BYTES = 64 << 20  # bytes of the vectors of a partition; a larger partition is read in blocks
KEPT_BYTES = 64 << 20  # of vectors of kept documents, as float32
ROWS, COLUMNS = 1024, 4096  # of a matrix of products
CLOSEST, FARTHEST = "closest", "farthest"  # which of the copies is kept, by its cosine to the centroid


def n_partitions(n_docs: int, dim: int) -> int:
    """Return how many partitions (groups of clusters) to make for `n_docs` vectors of `dim` numbers each.

    The result does not depend on the number of workers or on memory.
    """
    return min(MAX_PARTITIONS, max(1, -(-n_docs * (HEADER.itemsize + 2 * dim) // PARTITION_BYTES)))


@dataclass(frozen=True)
class AssignClusters(Pass[Part]):
    """Find the nearest cluster of each document of an input part; write the documents to temporary files by partition.

    Attributes:
        dim: the number of dimensions of a vector.
        partitions: the number of partitions, which are groups of clusters.
        keep: the copy of a document that is preferred, as in SemDeDup: "closest" or "farthest" (from the centroid), or
            a rule of `keep.py`, such as "first".
    """

    folder = "assign"

    dim: int
    partitions: int
    keep: str

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write two sections per partition to the file `url`, for the documents of the input part `item`; return {}.

        The sections contain HEADERs (id, rank in order of preference, cluster, number of the part), and the vectors,
        int16. One more section contains a NEAREST per document, in the order of the documents: id, number of the
        centroid, and the cosine to it in ten-thousandths.
        """
        centroids, number = centroids_in(FindClusters.url(self.out), self.dim), item.number
        with spill_to(url, 2 * self.partitions + 1) as spill:
            for block in vectors_kept_in(self.out, number, self.dim, None):
                headers = np.empty(len(block.ids), HEADER)
                labels, similar = nearest(block.vectors, centroids)
                headers["id"], headers["rank"] = block.ids, self._ranks(block.ranks, similar)
                headers["cluster"], headers["file"] = labels, number
                found = np.empty(len(block.ids), NEAREST)
                found["id"], found["centroid"], found["cosine"] = block.ids, labels, similar
                spill.write([*self._sections(headers, block.vectors), found])
        return {}

    def _ranks(self, ranks: U64, similar: npt.NDArray[np.int16]) -> U64:
        """Return the ranks in order of preference: by the cosine to the centroid, if `keep` states so."""
        by_centroid = (similar.astype(np.int64) + UNITS).astype(np.uint64)
        return {FARTHEST: by_centroid, CLOSEST: ~by_centroid}.get(self.keep, ranks)

    def _sections(self, headers: npt.NDArray[Any], vectors: I16) -> Iterator[npt.NDArray[Any]]:
        """Yield the headers and vectors of every partition in turn."""
        partition = headers["cluster"] % np.uint32(self.partitions)
        order = np.argsort(partition, kind="stable")
        for rows in np.split(order, np.searchsorted(partition[order], np.arange(1, self.partitions))):
            yield headers.take(rows)
            yield vectors[rows]


class MergeAssigned(MergeSections):
    """Merge the vectors of many parts into a few files."""

    folder = "assign-merged"


@dataclass
class Members:
    """The documents of one partition (a group of clusters): their headers and vectors.

    Attributes:
        rows: the headers, and the locations of the vectors in temporary files.
        dim: the number of dimensions of a vector.
        held: all vectors, int16[n, dim], if they are in memory; None if they are read on demand.
    """

    rows: SpilledRows
    dim: int
    held: I16 | None = None

    @classmethod
    def read(cls, assigned: ShuffleFiles, partition: int, dim: int, most: int = HELD_BYTES) -> Members:
        """Read the headers of the documents of one partition, and their vectors if these have at most `most` bytes.

        - assigned: the files of AssignClusters; the documents are in the order of the parts.
        - dim: the number of dimensions of a vector.
        """
        urls, index = assigned.of(partition)
        rows = SpilledRows.read(urls, index, HEADER, lambda headers: np.full(len(headers), 2 * dim))
        members = cls(rows, dim)
        if rows.size.sum() <= most:
            members.held = members.load(np.arange(len(rows.size)))
        return members

    def load(self, rows: npt.NDArray[np.intp]) -> I16:
        """Return the vectors of the documents in the rows `rows` of the partition, int16[len(rows), dim]."""
        if self.held is not None:
            return self.held[rows]
        starts, data = self.rows.load(rows)
        return data.view(np.int16).reshape(-1, self.dim)[starts // (2 * self.dim)]


@dataclass(frozen=True)
class DecideClusters(Pass[int]):
    """Decide which documents of one partition (a group of clusters) to drop, and write these decisions to a file.

    Attributes:
        dim: the number of dimensions of a vector.
        assigned: the files of AssignClusters.
        n_parts: the number of input parts.
        n_groups: the number of groups of input parts; the file has one section per group.
        limit: a document is dropped if its cosine to a kept one, in ten-thousandths, is above this.
        n_old: the number of parts of older Datasets, which come first and whose documents are all kept.
        drops_all: whether new documents for which others are dropped are themselves dropped.
        held_bytes: the vectors of the partition are held in memory if they have at most this many bytes.
        kept_bytes: the memory for the vectors of kept documents. The receipt (the task's record) states the number of
            dropped documents, the number of compared pairs and the size of the largest cluster.
    """

    folder = "decide"
    noun = "partition"

    dim: int
    assigned: ShuffleFiles
    n_parts: int
    n_groups: int
    limit: int  # ten-thousandths: a document is dropped if its cosine to a kept one is more
    n_old: int = 0  # the first parts, of older Datasets, whose documents are all kept
    drops_all: bool = False  # whether to drop also the new documents for which others are dropped
    held_bytes: int = HELD_BYTES
    kept_bytes: int = KEPT_BYTES

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Decide on the documents of partition number `item`; write a VERDICT for each dropped one to the file `url`.

        A VERDICT has the id, the id of the kept document, and the cosine. The file has one section per group of input
        parts. Returns {"dropped": documents, "compared": pairs, "largest": documents in the largest cluster}.
        """
        members = Members.read(self.assigned, item, self.dim, self.held_bytes)
        headers = members.rows.headers
        decided = Decisions(np.full(len(headers), -1, np.int64), np.zeros(len(headers), np.float32))
        new = headers["file"] >= self.n_old
        order = np.lexsort((headers["id"], headers["rank"], new, headers["cluster"]))
        edges = np.flatnonzero(np.diff(headers["cluster"][order])) + 1
        clusters = np.split(order, edges) if len(order) else []
        capacity = max(ROWS, self.kept_bytes // (4 * self.dim))
        how = self.limit, capacity, decided
        compared = sum(decide_cluster(members, rows, *how, int((~new[rows]).sum())) for rows in clusters)
        dropped = np.flatnonzero(decided.kept_by >= 0)
        if self.drops_all:
            heads = np.unique(decided.kept_by[dropped])
            dropped = np.sort(np.append(dropped, heads[new[heads]]))
        kept = decided.kept_by[dropped]
        verdicts = np.empty(len(dropped), VERDICT)
        verdicts["id"], verdicts["duplicate_of"] = (
            headers["id"][dropped],
            np.where(kept < 0, NOBODY, headers["id"][kept]),
        )
        verdicts["similarity"] = decided.similarity[dropped]
        group = headers["file"][dropped].astype(np.int64) * self.n_groups // max(1, self.n_parts)
        cuts = np.searchsorted(group, np.arange(1, self.n_groups))  # rows are in order of their files
        write_spill(url, np.split(verdicts, cuts))
        largest = max(map(len, clusters), default=0)
        return {"dropped": len(dropped), "compared": compared, "largest": largest}


class MergeDecided(MergeSections):
    """Merge the decisions of many partitions into a few files, from which they are read in order of ids."""

    folder = "decide-merged"


@dataclass(frozen=True, kw_only=True)
class WriteDecisions(WriteTable):
    """Write the documents to drop; a section is a group of input parts.

    Attributes:
        joined: the documents.
        decided: the files of DecideClusters.
        limit: the rule that drops prototypes; None if there are none.
    """

    schema = VERDICTS

    joined: Joined
    decided: ShuffleFiles
    limit: CosineLimit | None = None

    def rows(self, section: int) -> Iterator[pa.Table]:
        """Yield the documents to drop of group number `section`, in any order."""
        rows = self.decided.section(section, VERDICT)
        homes, kept = self.joined.place(rows["duplicate_of"])
        alone = kept == NOBODY  # with keep="none", the first of the copies
        found = [new_rows(
            VERDICTS, id=rows["id"] - self.joined.first_new, reason="semantic_duplicate", duplicate_of_dataset=homes,
            duplicate_of=pa.array(kept, mask=alone), similarity=pa.array(rows["similarity"], mask=alone),
        )]  # fmt: skip
        if self.limit:
            n = len(self.limit.keep)
            low, high = (-(-end * n // self.sections) for end in (section, section + 1))
            near = (prototypes(self.out, part, self.limit) for part in range(low, high))
            found += [new_rows(VERDICTS, id=p["id"], reason="prototype", similarity=p["cosine"] / UNITS) for p in near]
        yield pa.Table.from_batches(found)


@dataclass
class Decisions:
    """The decisions on the documents of a partition, one array entry per document.

    Attributes:
        kept_by: the row of the kept document that the document duplicates; -1 if there is none.
        similarity: the cosine of the two documents' vectors.
    """

    kept_by: I64
    similarity: F32


@dataclass
class KeptVectors:
    """The documents of one cluster that were kept so far, in order of preference, at most `capacity`.

    Attributes:
        rows: the documents' rows in the partition.
        vectors: the documents' vectors, float32[:, dim].
        size: the lengths (norms) of the vectors.
        n: the number of documents; entries of the arrays from `n` on are unused.
    """

    capacity: int
    rows: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    size: F64 = field(default_factory=lambda: np.zeros(0))
    vectors: F32 = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    n: int = 0

    def add(self, rows: npt.NDArray[np.intp], vectors: F32, size: F64) -> None:
        """Append m kept documents; enlarge the arrays if they are full.

        Args:
            rows: the documents' rows in the partition.
            vectors: float32[m, dim].
            size: the lengths (norms) of the vectors, float64[m].
        """
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
    members: Members, rows: npt.NDArray[np.intp], limit: int, capacity: int, decided: Decisions, n_old: int
) -> int:
    """Decide which documents of one cluster to drop, write this to `decided`, and return the number of pairs compared.

    - rows: the cluster's rows in the partition `members`, in order of preference.
    - limit: a document is dropped if its cosine to a kept one, in ten-thousandths, is above this.
    - capacity: the largest number of kept documents in memory at once.
    - n_old: the number of leading rows that belong to older Datasets; these documents are kept.
    """
    old, pending, compared = rows[:n_old], rows[n_old:], 0
    while len(pending):
        kept, later = KeptVectors(capacity), []
        for first in range(0, min(len(old), capacity), ROWS):
            block = old[first : min(first + ROWS, capacity)]
            on_grid = members.load(block)
            kept.add(block, on_grid.astype(np.float32), lengths(on_grid))
        old = old[capacity:]
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


def nearest_centroids(out: str, items: Iterable[Part], partitions: int, first: np.uint64) -> Iterator[pa.RecordBatch]:
    """Yield rows with the nearest centroid of each document that has a vector, and the cosine to it, in order of ids.

    Args:
        out: the folder of the temporary files.
        items: the input parts.
        partitions: the number of partitions.
        first: a number that is subtracted from the ids.
    """
    for rows in each_section([AssignClusters.url(out, item.number) for item in items], 2 * partitions, NEAREST):
        cosines = (rows["cosine"] / UNITS).astype(np.float32)
        yield new_rows(CENTROIDS, id=rows["id"] - first, centroid=rows["centroid"], centroid_similarity=cosines)
