"""Components: documents that share a key (hash of a band) are joined; each connected component is compared separately.

A task of MatchKeys reads one range of one band from every input part's keys, sorts it, and writes edges from each
document with an equal key to the first document with this key. Documents are numbered in order, from 0 to at most 2^32
- 1; those of older Datasets come first. If only documents of older Datasets have a key, no edges are written for it; so
an older document is a candidate only if it shares a key with a new document. FindComponents joins the ends of the edges
by union-find over one uint32 per document. A component decides only which documents are compared in one partition; no
document is dropped because of it.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dataprep.core.run.passes import Pass
from dataprep.store import files
from dataprep.store.spill import spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U8, U32, U64, Int

from .keys import BUCKETS, PartKeys

MATCH_RECORDS = 4 << 20  # keys sorted at once: 100 MB, including the memory of the sort
EDGES_AT_ONCE = 1 << 20
CANDIDATE = np.dtype([("doc", "<u4"), ("root", "<u4")])  # a document's row in its part; its component


@dataclass(frozen=True)
class KeyRange:
    """The keys (hashes of bands) that one task sorts.

    The range contains the keys of the bands [first, last) = `bands` whose top byte is in [first, last) = `buckets`.

    Attributes:
        number: the task's number.
    """

    number: int
    bands: tuple[int, int]
    buckets: tuple[int, int]


def key_ranges(n_docs: int, bands: int) -> list[KeyRange]:
    """Divide the keys (hashes of bands) into ranges, one per task, of at most MATCH_RECORDS keys per band.

    The result does not depend on memory or the number of workers.

    - n_docs: the number of documents, each with `bands` keys.
    """
    if n_docs <= MATCH_RECORDS:
        step = max(1, MATCH_RECORDS // max(1, n_docs))
        cuts = [((b, min(b + step, bands)), (0, BUCKETS)) for b in range(0, bands, step)]
    else:
        width = max(1, BUCKETS * MATCH_RECORDS // n_docs)
        ranges = [(lo, min(lo + width, BUCKETS)) for lo in range(0, BUCKETS, width)]
        cuts = [((band, band + 1), r) for band in range(bands) for r in ranges]
    return [KeyRange(number, *cut) for number, cut in enumerate(cuts)]


@dataclass(frozen=True)
class MatchKeys(Pass[KeyRange]):
    """Find documents that share a key (hash of a band) in one range of the keys; write them as pairs (edges).

    Attributes:
        parts: the stored keys of each input part.
        bases: the number of the first document of each part.
        first_new: the number of the first document that may be dropped. The receipt (the task's record) states the
            number of edges.
    """

    folder = "match"
    noun = "range"

    parts: tuple[PartKeys, ...]
    bases: tuple[int, ...]  # the number of the first document of every part
    first_new: int  # the number of the first document that may be dropped

    def write(self, url: str, item: KeyRange) -> dict[str, Any]:
        """Write the pairs (edges) of documents that share a key in the range `item` to the file `url`, uint32[m, 2].

        A pair is two document numbers; the second is the first document with that key. Returns {"edges": m}.
        """
        n_edges = 0
        with files.atomic(url) as f:
            for band in range(*item.bands):
                keys, docs = self._read(band * BUCKETS + item.buckets[0], band * BUCKETS + item.buckets[1])
                order = np.argsort(keys)
                edges = star_edges(keys[order], docs[order], np.uint32(self.first_new))
                n_edges += len(edges)
                f.write(edges.data if len(edges) else b"")
        return {"edges": n_edges}

    def _read(self, first: int, last: int) -> tuple[U64, U32]:
        keys, docs = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint32)]
        for part, base in zip(self.parts, self.bases, strict=True):
            for found in part.records(first, last):
                keys.append(found["key"])
                docs.append(found["doc"] + np.uint32(base))
        return np.concatenate(keys), np.concatenate(docs)


@kernel
def star_edges(keys: U64, docs: U32, first_new: Int) -> U32:
    """Return edges (document, first document with the same key), uint32[m, 2], as document numbers.

    - keys: uint64[n], ascending.
    - docs: uint32[n], the document of each key. Documents with a number below `first_new` are old; a key that only old
      documents have produces no edge.
    """
    n = len(keys)
    out = np.empty((n, 2), np.uint32)
    k, i = 0, 0
    while i < n:
        j, first, last = i, docs[i], docs[i]
        while j < n and keys[j] == keys[i]:
            first, last = min(first, docs[j]), max(last, docs[j])
            j += 1
        if last >= first_new:
            for m in range(i, j):
                if docs[m] != first:
                    out[k, 0], out[k, 1] = docs[m], first
                    k += 1
        i = j
    return out[:k].copy()


@dataclass(frozen=True)
class FindComponents(Pass[int]):
    """Join documents that share keys into connected components; write each part's candidates, in one task.

    A candidate is a document that is joined to another one.

    Attributes:
        parts: as in `MatchKeys`.
        bases: as in `MatchKeys`.
        n_docs: the number of documents.
        n_ranges: the number of files of MatchKeys.
        doc_bytes: the memory for a candidate in bytes, in addition to the candidate's contents. The receipt (the task's
            record) states the number of candidates, the number of documents in the largest component, and the size of
            all candidates in bytes.
    """

    folder = "cluster"
    noun = ""

    parts: tuple[PartKeys, ...]
    bases: tuple[int, ...]  # the number of the first document of every part
    n_docs: int
    n_ranges: int
    doc_bytes: int  # the memory for a document in a partition, in addition to its contents

    def write(self, url: str, item: int) -> dict[str, Any]:  # noqa: ARG002 - there is one item
        """Write one segment per input part to the file `url`: its candidates (row in the part, component).

        A component is identified by its first document.

        - item: unused, since there is one task.

        Returns {"candidates": their number, "largest_component": number of documents, "cost": bytes of all candidates}.
        """
        parent = np.arange(self.n_docs, dtype=np.uint32)
        for number in range(self.n_ranges):
            with files.open_raw(MatchKeys.url(self.out, number)) as f:
                while data := f.read(8 * EDGES_AT_ONCE):
                    unite(parent, np.frombuffer(data, np.uint32).reshape(-1, 2))
        shared = flatten(parent)
        n_candidates = cost = 0
        with spill_to(url, 1) as spill:
            for number, base in enumerate(self.bases):
                local = np.flatnonzero(shared[base : base + self.parts[number].docs])
                found = np.empty(len(local), CANDIDATE)
                found["doc"], found["root"] = local, parent[base + local]
                spill.write([found])
                n_candidates += len(local)
                cost += self.doc_bytes * len(local)
                cost += 8 * int(self.parts[number].sizes()[local].sum(dtype=np.int64)) if len(local) else 0
        _, sizes = np.unique(parent[shared.view(bool)], return_counts=True)
        return {"candidates": n_candidates, "largest_component": int(sizes.max(initial=0)), "cost": cost}


@kernel
def unite(parent: U32, edges: U32) -> None:
    """Join the components of the two documents of each edge, in place; a component's root is its first document.

    Args:
        parent: uint32[n], for each document, an earlier document of the same component; a root is its own parent.
        edges: uint32[m, 2], pairs of documents.
    """
    for e in range(len(edges)):
        x, y = edges[e, 0], edges[e, 1]
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        while parent[y] != y:
            parent[y] = parent[parent[y]]
            y = parent[y]
        if x < y:
            parent[y] = x
        else:
            parent[x] = y


@kernel
def flatten(parent: U32) -> U8:
    """Set every document's parent to the root of its component; return 1 for each document that is joined to another.

    Args:
        parent: uint32[n], as in `unite`; it is changed in place.

    The result, uint8[n], is 0 for a document that is joined to no other document.
    """
    shared = np.zeros(len(parent), np.uint8)
    for d in range(len(parent)):
        parent[d] = parent[parent[d]]  # a parent has a smaller number, and is already done
        if parent[d] != d:
            shared[d] = shared[parent[d]] = 1
    return shared
