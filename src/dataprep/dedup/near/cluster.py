"""FindComponents: connected components of the edges, by union-find over one uint32 per document.

A component decides only which documents are compared in one partition; no document is dropped because of it.

Twin: tests/twins/minhash.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dataprep.core.passes import Pass
from dataprep.store import files
from dataprep.store.spill import spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U8, U32

from .keys import PartKeys
from .match import MatchKeys

EDGES_AT_ONCE = 1 << 20
CANDIDATE = np.dtype([("doc", "<u4"), ("root", "<u4")])  # a document's row in its part; its component


@dataclass(frozen=True)
class FindComponents(Pass[int]):
    """Join the ends of all edges, and write every part's candidates: documents that share a component with another.

    One task. Receipt: how many candidates there are, the most in one component, and what they cost in bytes.
    """

    folder = "cluster"
    noun = ""

    parts: tuple[PartKeys, ...]
    bases: tuple[int, ...]  # the number of the first document of every part
    n_docs: int
    n_ranges: int
    doc_bytes: int  # what a document costs in a partition in addition to its contents

    def write(self, url: str, item: int) -> dict[str, Any]:  # noqa: ARG002 - there is one item
        """Write one segment per part: its CANDIDATEs."""
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
        largest = _longest_run(np.sort(parent[shared.view(bool)]))
        return {"candidates": n_candidates, "largest_component": largest, "cost": cost}


def _longest_run(values: U32) -> int:
    """Return the length of the longest run of equal values."""
    edges = np.flatnonzero(values[1:] != values[:-1]) + 1
    return int(np.diff(edges, prepend=0, append=len(values)).max()) if len(values) else 0


@kernel
def unite(parent: U32, edges: U32) -> None:
    """Join the components of both ends of each edge, in place; a component's root is its first document."""
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
    """Set the parent of every document to its root; return 1 if its component has another document, uint8[n]."""
    shared = np.zeros(len(parent), np.uint8)
    for d in range(len(parent)):
        parent[d] = parent[parent[d]]  # a parent has a smaller number, and is done already
        if parent[d] != d:
            shared[d] = shared[parent[d]] = 1
    return shared
