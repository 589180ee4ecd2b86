"""Components: documents that share a key (hash of a band) are joined; each connected component is compared separately.

A task of MatchKeys reads one range of one band from all keys (`key_sources.py`), sorts it, and writes edges from each
document with an equal key to the first document with this key. Documents are numbered in order from 0; those of older
Datasets come first. If only documents of older Datasets have a key, no edges are written for it; so an older document
is a candidate only if it shares a key with a new document. FindComponents joins the ends of the edges by union-find
over one number per document, uint32, or uint64 if there are 2^32 documents or more. A component decides only which
documents are compared in one partition; no document is dropped because of it.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.run.passes import Pass
from dataprep.store import files
from dataprep.store.spill import spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U8, U64, Int

from .key_sources import KeyRange, MergedKeys, PartsKeys, number_type
from .keys import PartKeys

EDGES_AT_ONCE = 1 << 20
Numbers = npt.NDArray[Any]  # numbers of documents, uint32 or uint64
CANDIDATE = np.dtype([("doc", "<u4"), ("root", "<u8")])  # a document's row in its part; its component


@dataclass(frozen=True)
class MatchKeys(Pass[KeyRange]):
    """Find documents that share a key (hash of a band) in one range of the keys; write them as pairs (edges).

    Attributes:
        source: the stored keys of all documents.
        first_new: the number of the first document that may be dropped. The receipt (the task's record) states the
            number of edges.
    """

    folder = "match"
    noun = "range"

    source: PartsKeys | MergedKeys
    first_new: int  # the number of the first document that may be dropped

    def write(self, url: str, item: KeyRange) -> dict[str, Any]:
        """Write the pairs (edges) of documents that share a key in the range `item` to the file `url`, [m, 2].

        A pair is two document numbers; the second is the first document with that key. Returns {"edges": m}.
        """
        number = number_type(self.source.n_docs)
        bands = [([np.zeros(0, np.uint64)], [np.zeros(0, number)]) for _ in range(*item.bands)]
        for band, keys, docs in self.source.read(item):
            bands[band][0].append(keys)
            bands[band][1].append(docs)
        n_edges = 0
        with files.atomic(url) as f:
            while bands:
                keys, docs = (np.concatenate(some) for some in bands.pop(0))
                order = np.argsort(keys)
                edges = star_edges(keys[order], docs[order], number(self.first_new))
                n_edges += len(edges)
                f.write(edges.data if len(edges) else b"")
        return {"edges": n_edges}


@kernel
def star_edges(keys: U64, docs: Numbers, first_new: Int) -> Numbers:
    """Return edges (document, first document with the same key), [m, 2], as document numbers of the type of `docs`.

    - keys: uint64[n], ascending.
    - docs: uint32[n] or uint64[n], the document of each key. Documents with a number below `first_new` are old; a key
      that only old documents have produces no edge.
    """
    n = len(keys)
    out = np.empty((n, 2), docs.dtype)
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
        parts: the stored keys of each input part.
        n_docs: the number of documents.
        n_ranges: the number of files of MatchKeys.
        doc_bytes: the memory for a candidate in bytes, in addition to the candidate's contents. The receipt (the task's
            record) states the number of candidates, the number of documents in the largest component, and the size of
            all candidates in bytes.
    """

    folder = "cluster"
    noun = ""

    parts: tuple[PartKeys, ...]
    n_docs: int
    n_ranges: int
    doc_bytes: int  # the memory for a document in a partition, in addition to its contents

    def write(self, url: str, item: int) -> dict[str, Any]:  # noqa: ARG002 - there is one item
        """Write one segment per input part to the file `url`: its candidates (row in the part, component).

        A component is identified by its first document.

        - item: unused, since there is one task.

        Returns {"candidates": their number, "largest_component": number of documents, "cost": bytes of all candidates}.
        """
        number_of = number_type(self.n_docs)
        parent = np.arange(self.n_docs, dtype=number_of)
        for number in range(self.n_ranges):
            with files.open_raw(MatchKeys.url(self.out, number)) as f:
                while data := f.read(2 * parent.itemsize * EDGES_AT_ONCE):
                    unite(parent, np.frombuffer(data, number_of).reshape(-1, 2))
        shared = flatten(parent)
        n_candidates = cost = 0
        with spill_to(url, 1) as spill:
            for part in self.parts:
                local = np.flatnonzero(shared[part.base : part.base + part.docs])
                found = np.empty(len(local), CANDIDATE)
                found["doc"], found["root"] = local, parent[part.base + local]
                spill.write([found])
                n_candidates += len(local)
                cost += self.doc_bytes * len(local)
                cost += 8 * int(part.sizes()[local].sum(dtype=np.int64)) if len(local) else 0
        _, sizes = np.unique(parent[shared.view(bool)], return_counts=True)
        return {"candidates": n_candidates, "largest_component": int(sizes.max(initial=0)), "cost": cost}


@kernel
def unite(parent: Numbers, edges: Numbers) -> None:
    """Join the components of the two documents of each edge, in place; a component's root is its first document.

    Args:
        parent: uint32[n] or uint64[n], for each document, an earlier document of the same component; a root is its own
            parent.
        edges: [m, 2], pairs of documents, of the same type.
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
def flatten(parent: Numbers) -> U8:
    """Set every document's parent to the root of its component; return 1 for each document that is joined to another.

    Args:
        parent: as in `unite`; it is changed in place.

    The result, uint8[n], is 0 for a document that is joined to no other document.
    """
    shared = np.zeros(len(parent), np.uint8)
    for d in range(len(parent)):
        parent[d] = parent[parent[d]]  # a parent has a smaller number, and is already done
        if parent[d] != d:
            shared[d] = shared[parent[d]] = 1
    return shared
