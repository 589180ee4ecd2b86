"""Connected components of what matched: union-find over one uint32 a document, streamed over the edges.

A component decides only who meets where; nobody is dropped because of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dataprep.store import files, receipts
from dataprep.store.spill import spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U8, U32

from .sign import Signed

EDGES_AT_ONCE = 1 << 20
CANDIDATE = np.dtype([("doc", "<u4"), ("root", "<u4")])  # a document's number inside its part; its component


@dataclass(frozen=True)
class Cluster:
    """Unite what matched, and write every part's candidates: documents that share a component with another."""

    out: str
    key: str
    parts: tuple[Signed, ...]
    bases: tuple[int, ...]
    n_docs: int
    n_ranges: int
    doc_bytes: int  # what a document costs in a partition beside its contents

    def __call__(self, _: int) -> dict[str, Any]:
        """The receipt: how many candidates, the most in one component, and what they cost in bytes."""
        url = files.join(self.out, "cluster")
        return receipts.once(url + ".json", self.key, lambda: self._write(url))

    def _write(self, url: str) -> dict[str, Any]:
        parent = np.arange(self.n_docs, dtype=np.uint32)
        for number in range(self.n_ranges):
            with files.open_raw(files.join(self.out, "match", f"range-{number:05d}")) as f:
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
        return {"files": [url], "candidates": n_candidates, "largest_component": largest, "cost": cost}


def _longest_run(values: U32) -> int:
    """How often the most frequent of some values in order occurs."""
    edges = np.flatnonzero(values[1:] != values[:-1]) + 1
    return int(np.diff(edges, prepend=0, append=len(values)).max()) if len(values) else 0


@kernel
def unite(parent: U32, edges: U32) -> None:
    """Join the components of each edge's ends; a component's root is its first document."""
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
    """Point every document at its root; 1 for those whose component has another document, uint8[n]."""
    shared = np.zeros(len(parent), np.uint8)
    for d in range(len(parent)):
        parent[d] = parent[parent[d]]  # parents come first, and are flat already
        if parent[d] != d:
            shared[d] = shared[parent[d]] = 1
    return shared
