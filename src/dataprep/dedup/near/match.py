"""MatchKeys: find the documents that share a key.

A task reads one range of one band from every part's keys, sorts it, and writes star edges: from each document of a
bucket to the bucket's first. Documents are numbered in order, from 0 to at most 2^32 - 1; those of older Datasets come
first. A bucket of old documents alone has no edges: an old one is a candidate only if it shares a key with a new one.

Twin: tests/twins/minhash.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dataprep.core.passes import Pass
from dataprep.store import files
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U32, U64, Int

from .keys import BUCKETS, PartKeys

MATCH_RECORDS = 4 << 20  # sorted at once: 100 MB with the sort's own needs


@dataclass(frozen=True)
class KeyRange:
    """The keys that one task sorts: those of some bands, or of some top bytes of one band."""

    number: int
    bands: tuple[int, int]
    buckets: tuple[int, int] = (0, BUCKETS)


def key_ranges(n_docs: int, bands: int) -> list[KeyRange]:
    """Split the keys so that one task sorts at most MATCH_RECORDS at once; depends on the data's size alone."""
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
    """Sort one range of keys of all parts, and write the edges. Receipt: how many edges."""

    folder = "match"
    noun = "range"

    parts: tuple[PartKeys, ...]
    bases: tuple[int, ...]  # the number of the first document of every part
    first_new: int  # the number of the first document that may be dropped

    def write(self, url: str, item: KeyRange) -> dict[str, Any]:
        """Write the edges, uint32[m, 2]."""
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
    """Return edges (document, first document of its bucket), uint32[m, 2], of the buckets with a new document.

    keys: ascending; a bucket is a run of equal ones.
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
