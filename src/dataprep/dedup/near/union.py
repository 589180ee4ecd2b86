"""UnionFind: join the documents of edges to connected components; memory holds one range of the documents at a time.

The ranges are processed from the last to the first. In its range, a document's parent is an earlier document of the
same component, which may be in an earlier range. If an edge joins two components whose parents are both in earlier
ranges, the pair of these parents is an edge of an earlier range. Then, from the first range to the last, the root of
each parent in an earlier range is passed to the ranges of its children. With one range, no file is written.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.output import owned
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import Divided, spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U8, Int

from .key_sources import number_type

RANGE_DOCS = 1 << 25  # documents in memory: 8 bytes each, or 16 if there are 2^32 documents or more
EDGES_AT_ONCE = 1 << 20
Numbers = npt.NDArray[Any]  # numbers of documents, uint32 or uint64


@dataclass(frozen=True)
class UnionFind:
    """Joins documents, and finds the first document of each one's component.

    Call `link` once, then `roots`.

    Attributes:
        folder: the folder of temporary files; `roots` deletes it at the end.
        cuts: the number of the first document of each range, and the number of all documents.
    """

    folder: str
    cuts: tuple[int, ...]

    @property
    def n(self) -> int:
        """The number of ranges."""
        return len(self.cuts) - 1

    def link(self, edges: Iterable[Numbers]) -> tuple[Numbers, int]:
        """Join documents; return (a parent for each document of the first range, documents in the largest component).

        The parents of the other ranges are written to files. The size of a component without edges counts as 0.

        - edges: arrays [m, 2] of two documents each, the later one first; uint32, or uint64 for 2^32 documents or more.
        """
        if self.n > 1:
            with self._writer(self.n) as spill:
                for some in edges:
                    spill.write(self._divided(some, 0, 0))
        sizes = [self._link_range(r, edges)[1] for r in range(self.n - 1, 0, -1)]
        parent, size = self._link_range(0, edges)
        return parent, max([size, *sizes])

    def _link_range(self, r: int, edges: Iterable[Numbers]) -> tuple[Numbers, int]:
        """Join the documents of range `r`; return their parents, and the size of the largest component that ends here.

        - edges: as in `link`; they are read from files if there are several ranges.
        """
        base, end = self.cuts[r : r + 2]
        number = number_type(self.cuts[-1])
        parent, sizes = np.arange(base, end, dtype=number), np.ones(end - base, number)
        with self._writer(r, wanted=r > 0) as spill:
            every = (some for k in range(r + 1, self.n + 1) for some in self._read(k, r, 2))
            for some in every if self.n > 1 else edges:
                passed = unite(parent, some, number(base))
                if len(passed):
                    spill.write(self._divided(passed, 0, 0))
            for rows in (rows for k in range(r + 1, self.n) for rows in self._read(k, self.n + r, 3)):
                np.add.at(sizes, rows[:, 1] - number(base), rows[:, 2])
            largest = int(add_sizes(parent, sizes, number(base)))
            for low in range(0, len(parent), EDGES_AT_ONCE) if r else ():
                own = low + np.flatnonzero(parent[low : low + EDGES_AT_ONCE] < base)
                rows = np.stack([(own + base).astype(number), parent[own], sizes[own]], axis=1)
                spill.write(self._divided(rows, 1, self.n))
            if r:
                spill.write(self._only(r, parent))
        return parent, largest

    def roots(self, parent: Numbers) -> Iterator[tuple[int, Numbers, U8]]:
        """Yield (first document, the root of each document, whether it is joined to another) for each range in order.

        The root is the first document of the component; the third array, uint8, has 1 for a joined document. The second
        one is overwritten by the next range.

        - parent: the result of `link`.
        """
        number, memory = parent.dtype.type, parent
        for r, (base, end) in enumerate(itertools.pairwise(self.cuts)):
            if r:
                memory = memory if len(memory) >= end - base else np.empty(end - base, number)
                parent, at = memory[: end - base], 0
                for some in self._read(r, r, 1):
                    parent[at : at + len(some)] = some[:, 0]
                    at += len(some)
            for rows in (rows for k in range(r) for rows in self._read(self.n + 1 + k, r, 2)):
                parent[rows[:, 0] - number(base)] = rows[:, 1]
            shared = flatten(parent, number(base))
            with self._writer(self.n + 1 + r, wanted=r < self.n - 1) as spill:
                for k in range(r + 1, self.n):
                    for rows in self._read(k, self.n + r, 3):
                        own = rows[:, 1] - number(base)
                        shared[own] = 1
                        spill.write(self._only(k, np.stack([rows[:, 0], parent[own]], axis=1)))
            yield base, parent, shared
        if self.n > 1:
            owned.discard(self.folder)

    def _files(self, number: int) -> ShuffleFiles:
        """Return file `number`: that of range r is number r, all edges are in number n, roots in number n + 1 + r.

        Section k has the edges for range k (k = r: the parents of the range itself), or the roots for it. Section n + k
        has the documents whose parent is in range k, each with this parent and the number of documents below it.
        """
        return ShuffleFiles(f"{self.folder}/range-", 1, 2 * self.n, start=number)

    def _writer(self, number: int, *, wanted: bool = True) -> contextlib.AbstractContextManager[Any]:
        to = self._files(number).file(0)
        return spill_to(to, 2 * self.n) if wanted else contextlib.nullcontext()

    def _read(self, number: int, section: int, width: int) -> Iterator[Numbers]:
        """Yield the rows of a section, some at a time."""
        dtype = number_type(self.cuts[-1])
        for some in self._files(number).blocks(section, dtype, width * EDGES_AT_ONCE):
            yield some.reshape(-1, width)

    def _divided(self, rows: Numbers, column: int, first: int) -> list[Divided]:
        """Return the sections of a segment: from section `first` on, the rows whose document is in each range."""
        of = np.searchsorted(self.cuts, rows[:, column], "right") - 1 + first
        counts = np.bincount(of, minlength=2 * self.n)
        return [Divided(rows[np.argsort(of, kind="stable")], np.append(0, np.cumsum(counts)))]

    def _only(self, section: int, rows: Numbers) -> list[Divided]:
        """Return the sections of a segment of which only one has rows."""
        return [Divided(rows, np.where(np.arange(2 * self.n + 1) > section, len(rows), 0))]


@kernel(inline="always")
def _top(parent: Numbers, x: Int, base: Int) -> Int:
    """Return the root of a document, or the parent in an earlier range of all documents between; shorten the path."""
    while x >= base and parent[x - base] != x:
        up = parent[x - base]
        if up >= base:
            parent[x - base] = parent[up - base]
        x = parent[x - base]
    return x


@kernel
def unite(parent: Numbers, edges: Numbers, base: Int) -> Numbers:
    """Join the components of the two documents of each edge, in place; return edges between earlier ranges, [m, 2].

    Args:
        parent: uint32[n] or uint64[n], for each document of a range, an earlier document of the same component; a root
            is its own parent.
        edges: [m, 2], pairs of documents, of the same type; the documents may be in this range or in earlier ones.
        base: the number of the range's first document, of the same type.

    The first document of a returned edge is the later one.
    """
    out, n = np.empty((len(edges), 2), parent.dtype), 0
    for e in range(len(edges)):
        x, y = _top(parent, edges[e, 0], base), _top(parent, edges[e, 1], base)
        if x < y:
            x, y = y, x
        if x >= base:
            parent[x - base] = y
        elif x != y:
            out[n, 0], out[n, 1] = x, y
            n += 1
    return out[:n].copy()


@kernel
def add_sizes(parent: Numbers, sizes: Numbers, base: Int) -> Int:
    """Add the size of each document to that of its parent in the range, from the last document to the first.

    Args:
        parent: as in `unite`.
        sizes: for each document, 1 and the number of documents of later ranges below it; changed in place.
        base: as in `unite`.

    Returns the largest size of a root with others below it, or 0.
    """
    largest = np.uint64(0)
    for d in range(len(parent) - 1, -1, -1):
        p = parent[d]
        if p == np.uint64(d) + np.uint64(base):
            if sizes[d] > 1:
                largest = max(largest, np.uint64(sizes[d]))
        elif p >= base:
            sizes[p - base] += sizes[d]
    return largest


@kernel
def flatten(parent: Numbers, base: Int) -> U8:
    """Set every document's parent to its root, or to a root of an earlier range; return 1 for each joined document.

    Args:
        parent: as in `unite`; it is changed in place. Parents in earlier ranges are roots.
        base: as in `unite`.

    The result, uint8[n], is 0 for a document that is joined to no other document of this range or of earlier ones.
    """
    shared = np.zeros(len(parent), np.uint8)
    for d in range(len(parent)):
        if parent[d] >= base:
            parent[d] = parent[parent[d] - base]  # a parent has a smaller number, and is already done
        if parent[d] != np.uint64(d) + np.uint64(base):
            shared[d] = 1
            if parent[d] >= base:
                shared[parent[d] - base] = 1
    return shared
