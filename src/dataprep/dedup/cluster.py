"""Connected components of what matched: union-find over one uint32 a document, streamed over the edges.

A component decides only who meets where; nobody is dropped because of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import files
from ..kernel import kernel
from ..text import U8, U32
from .spill import Spill, spill_to

EDGES_AT_ONCE = 1 << 20
CANDIDATE = np.dtype([("doc", "<u4"), ("root", "<u4")])  # a document's number inside its part; its component


@dataclass(frozen=True)
class Cluster:
    """Unite what matched, and write every part's candidates: documents that share a component with another."""

    out: str
    key: str
    bases: tuple[int, ...]
    n_docs: int
    n_ranges: int
    doc_bytes: int  # what a document costs in a partition beside its contents

    def __call__(self, _: int) -> dict[str, Any]:
        """The receipt: how many candidates, and what they cost in bytes."""
        url = files.join(self.out, "cluster")
        return files.once(url + ".json", self.key, lambda: self._write(url))

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
                stop = self.bases[number + 1] if number + 1 < len(self.bases) else self.n_docs
                local = np.flatnonzero(shared[base:stop])
                found = np.empty(len(local), CANDIDATE)
                found["doc"], found["root"] = local, parent[base:stop][local]
                spill.write([found])
                n_candidates += len(local)
                cost += self.doc_bytes * len(local) + 8 * self._words(number, local)
        return {"files": [url], "candidates": n_candidates, "cost": cost}

    def _words(self, number: int, local: npt.NDArray[np.intp]) -> int:
        """Words of contents of some documents of a part."""
        total = first = 0
        with Spill(files.join(self.out, "sign", f"part-{number:05d}")) as spill:
            for segment in range(spill.segments):
                sizes = spill.read(segment, spill.n_sections - 1, dtype=np.uint32)
                own = local[np.searchsorted(local, first) : np.searchsorted(local, first + len(sizes))]
                total += int(sizes[own - first].sum(dtype=np.int64))
                first += len(sizes)
        return total


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
