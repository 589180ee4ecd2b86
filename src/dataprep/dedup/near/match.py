"""Match: which documents share a key.

A task reads one range of one band out of every part's keys, sorts it, and writes star edges: each document of a bucket
to the bucket's first. Documents are numbered in order, 0 to at most 2^32 - 1; those of older Datasets come first, and a
bucket of old documents alone has no edges, so that an old one counts only if it meets a new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dataprep.store import files, receipts
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U32, U64, Int

from .sign import BUCKETS, Signed

MATCH_RECORDS = 4 << 20  # sorted at once: 100 MB with the sort's own needs


@dataclass(frozen=True)
class KeyRange:
    """What one match task sorts: some bands, or some top bytes of one band."""

    number: int
    bands: tuple[int, int]
    buckets: tuple[int, int] = (0, BUCKETS)


def key_ranges(n_docs: int, bands: int) -> list[KeyRange]:
    """Cut the keys so that one task sorts at most MATCH_RECORDS at once; depends on the data's size alone."""
    if n_docs <= MATCH_RECORDS:
        step = max(1, MATCH_RECORDS // max(1, n_docs))
        cuts = [((b, min(b + step, bands)), (0, BUCKETS)) for b in range(0, bands, step)]
    else:
        width = max(1, BUCKETS * MATCH_RECORDS // n_docs)
        ranges = [(lo, min(lo + width, BUCKETS)) for lo in range(0, BUCKETS, width)]
        cuts = [((band, band + 1), r) for band in range(bands) for r in ranges]
    return [KeyRange(number, *cut) for number, cut in enumerate(cuts)]


@dataclass(frozen=True)
class Match:
    """Sort one range of keys over all parts, and write the edges."""

    out: str
    key: str
    parts: tuple[Signed, ...]
    bases: tuple[int, ...]  # the number of the first document of every part
    first_new: int  # the number of the first document that may be dropped

    def __call__(self, item: KeyRange) -> dict[str, Any]:
        """The receipt: how many edges."""
        url = files.join(self.out, "match", f"range-{item.number:05d}")
        return receipts.once(url + ".json", self.key, lambda: self._write(url, item))

    def _write(self, url: str, item: KeyRange) -> dict[str, Any]:
        n_edges = 0
        with files.atomic(url) as f:
            for band in range(*item.bands):
                keys, docs = self._read(band * BUCKETS + item.buckets[0], band * BUCKETS + item.buckets[1])
                order = np.argsort(keys)
                edges = star_edges(keys[order], docs[order], np.uint32(self.first_new))
                n_edges += len(edges)
                f.write(edges.data if len(edges) else b"")
        return {"files": [url], "edges": n_edges}

    def _read(self, first: int, last: int) -> tuple[U64, U32]:
        keys, docs = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint32)]
        for part, base in zip(self.parts, self.bases, strict=True):
            for found in part.records(first, last):
                keys.append(found["key"])
                docs.append(found["doc"] + np.uint32(base))
        return np.concatenate(keys), np.concatenate(docs)


@kernel
def star_edges(keys: U64, docs: U32, first_new: Int) -> U32:
    """The edges (document, first document of its bucket), uint32[m, 2], of keys in order, where one is new."""
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
