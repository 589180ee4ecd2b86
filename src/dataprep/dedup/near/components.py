"""Components: documents that share a key (hash of a band) are joined; each connected component is compared separately.

A task of MatchKeys reads one range of one band from all keys (`key_sources.py`), and writes edges from each document
with an equal key to the first document with this key. Documents are numbered in order from 0; those of older
Datasets come first. If only documents of older Datasets have a key, no edges are written for it; so an older document
is a candidate only if it shares a key with a new document. FindComponents joins the ends of the edges by union-find
(`union.py`). A component decides only which documents are compared in one partition; no document is dropped because of
it.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from dataprep.core.run.passes import Pass
from dataprep.store import files
from dataprep.store.spill import spill_to
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U32, U64, Int

from .key_sources import KeyRange, MergedKeys, PartsKeys, number_type
from .keys import PartKeys
from .union import EDGES_AT_ONCE, RANGE_DOCS, Numbers, UnionFind

EDGES_AHEAD = 1 << 17  # edges of each of `files.AT_ONCE` remote files that are in memory ahead: 16 or 32 MiB together
CANDIDATE = np.dtype([("doc", "<u4"), ("root", "<u8")])  # a document's row in its part; its component
GROUP_KEYS = 2048  # entered into a hash table at once


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
    thread_safe = True

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
        with files.atomic(url, synced=False) as f:
            while bands:
                keys, docs = (np.concatenate(some) for some in bands.pop(0))
                edges = star_edges(keys, docs, number(self.first_new))
                n_edges += len(edges)
                f.write(edges.data if len(edges) else b"")
        return {"edges": n_edges}


@kernel
def star_edges(keys: U64, docs: Numbers, first_new: Int) -> Numbers:
    """Return edges (document, first document with the same key), [m, 2], as document numbers of the type of `docs`.

    The keys are divided into groups that fit into the cache, and those of a group are entered into a hash table. This
    takes a fifth of the time of sorting them.

    - keys: uint64[n], in any order.
    - docs: uint32[n] or uint64[n], the document of each key. Documents with a number below `first_new` are old; a key
      that only old documents have produces no edge.
    """
    n = len(keys)
    keys, docs, ends = _grouped(keys, docs)
    most = 0
    for group in range(len(ends) - 1):
        most = max(most, ends[group + 1] - ends[group])
    slots = 4
    while slots < 2 * most:
        slots *= 2
    key, stamp = np.empty(slots, np.uint64), np.zeros(slots, np.int64)
    first, last, slot_of = np.empty(slots, docs.dtype), np.empty(slots, docs.dtype), np.empty(most, np.int64)
    out = np.empty((n, 2), docs.dtype)
    k = 0
    for group in range(len(ends) - 1):
        low, high = ends[group], ends[group + 1]
        mask = np.uint64(3)  # as many slots as this group needs
        while np.int64(mask) + 1 < 2 * (high - low):
            mask = mask * np.uint64(2) + np.uint64(1)
        for j in range(low, high):
            slot = mix64(keys[j]) & mask
            while stamp[slot] == group + 1 and key[slot] != keys[j]:
                slot = (slot + np.uint64(1)) & mask
            if stamp[slot] != group + 1:
                stamp[slot], key[slot], first[slot], last[slot] = group + 1, keys[j], docs[j], docs[j]
            first[slot], last[slot] = min(first[slot], docs[j]), max(last[slot], docs[j])
            slot_of[j - low] = slot
        for j in range(low, high):
            at = slot_of[j - low]
            if docs[j] != first[at] and last[at] >= first_new:
                out[k, 0], out[k, 1] = docs[j], first[at]
                k += 1
    return out[:k].copy()


@kernel
def _grouped(keys: U64, docs: Numbers) -> tuple[U64, Numbers, I64]:
    """Return keys and their documents in groups of about GROUP_KEYS, and the ends of the groups, from 0 on.

    Equal keys are in one group.
    """
    n, bits = len(keys), 0
    while n >> bits > GROUP_KEYS:
        bits += 1
    shift, spread = np.uint64(63 - bits), np.uint64(0x9E3779B97F4A7C15)
    ends = np.zeros((1 << bits) + 1, np.int64)
    for key in keys:
        ends[np.int64((key * spread) >> np.uint64(1) >> shift) + 1] += 1
    for group in range(1 << bits):
        ends[group + 1] += ends[group]
    at, own_keys, own_docs = ends.copy(), np.empty(n, np.uint64), np.empty(n, docs.dtype)
    for j in range(n):
        own = np.int64((keys[j] * spread) >> np.uint64(1) >> shift)
        own_keys[at[own]], own_docs[at[own]] = keys[j], docs[j]
        at[own] += 1
    return own_keys, own_docs, ends


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
        cuts = [0]
        for part in self.parts:
            if cuts[-1] < part.base and part.base + part.docs > cuts[-1] + RANGE_DOCS:
                cuts.append(part.base)
        union = UnionFind(files.join(self.out, "cluster-ranges"), (*cuts, self.n_docs))
        parent, largest = union.link(self._edges())
        n_candidates = cost = at = 0
        with spill_to(url, 1) as spill:
            for base, root, shared in union.roots(parent):
                joined: dict[str, PartKeys] = {}  # the parts of this range that have candidates
                while at < len(self.parts) and self.parts[at].base + self.parts[at].docs <= base + len(root):
                    part = self.parts[at]
                    start = part.base - base
                    local = np.flatnonzero(shared[start : start + part.docs])
                    found = np.empty(len(local), CANDIDATE)
                    found["doc"], found["root"] = local, root[start + local]
                    spill.write([found])
                    n_candidates += len(local)
                    joined |= {part.rows: part} if len(local) else {}
                    at += 1
                for rows, sizes in files.each(partial(_sizes, joined), list(joined)):
                    start = joined[rows].base - base
                    cost += 8 * int(sizes[shared[start : start + len(sizes)] != 0].sum(dtype=np.int64))
            cost += self.doc_bytes * n_candidates
        return {"candidates": n_candidates, "largest_component": largest, "cost": cost}

    def _edges(self) -> Iterator[Numbers]:
        """Yield the edges of all ranges of keys, some at a time."""
        number = number_type(self.n_docs)
        size = 2 * np.dtype(number).itemsize

        def begun(url: str) -> tuple[BinaryIO, bytes]:
            f = files.open_raw(url)
            return f, f.read(size * EDGES_AHEAD)

        for _, (f, begin) in files.each(begun, [MatchKeys.url(self.out, k) for k in range(self.n_ranges)]):
            with f:
                data = begin
                while data:
                    yield np.frombuffer(data, number).reshape(-1, 2)
                    data = f.read(size * EDGES_AT_ONCE)


def _sizes(parts: Mapping[str, PartKeys], rows: str) -> U32:
    """Return the sizes of the documents of the part whose file of rows is `rows`."""
    return parts[rows].sizes()
