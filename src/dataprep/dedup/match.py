"""Sign and match: which documents share a key.

Sign reads the text once and spills (key, document) by band and by the key's top byte. Match reads one range of one
band out of every part, sorts it, and writes star edges: each document of a bucket to the bucket's first.
Documents are numbered in order, 0 to at most 2^32 - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import files
from ..kernel import kernel
from ..part import Item, Part
from ..text import U32, U64
from .sketch import Sketch
from .spill import Spill, spill_to

BUCKETS = 256  # a key's top byte
RECORD = np.dtype([("key", "<u8"), ("doc", "<u4")])
SEGMENT_BYTES = 16 << 20
MATCH_RECORDS = 4 << 20  # sorted at once: 100 MB with the sort's own needs


@dataclass(frozen=True)
class Sign:
    """Read a part and spill the keys of its documents."""

    out: str
    sketch: Sketch

    def __call__(self, item: Item) -> dict[str, Any]:
        """The receipt: how many documents, and words of contents."""
        url = files.join(self.out, "sign", f"part-{item.number:05d}")
        return files.once(url + ".json", item.key, lambda: self._write(url, item.part))

    def _write(self, url: str, part: Part) -> dict[str, Any]:
        n_docs = 0
        with spill_to(url, self.sketch.bands * BUCKETS + 1) as spill:
            held: list[tuple[Any, Any, int]] = []
            for batch in part.batches(["id", *self.sketch.columns]):
                sizes, keys = self.sketch.keys(batch)
                held.append((sizes, keys, n_docs))
                n_docs += batch.num_rows
                if sum(keys.nbytes for _, keys, _ in held) * 3 // 2 >= SEGMENT_BYTES:
                    spill.write(self._sections(held))
                    held = []
            if held:
                spill.write(self._sections(held))
        return {"files": [url], "docs": n_docs}

    def _sections(self, held: list[tuple[Any, Any, int]]) -> list[npt.NDArray[Any]]:
        """One section a band and top byte, then the sizes of contents (words, uint32) of all documents."""
        sizes = np.concatenate([s for s, _, _ in held])
        keys = np.concatenate([k for _, k, _ in held], axis=1)
        has = np.flatnonzero(sizes)
        docs = (has + held[0][2]).astype(np.uint32)
        sections: list[npt.NDArray[Any]] = []
        for band in keys:
            own = band[has]
            top = (own >> np.uint64(56)).astype(np.uint8)
            order = np.argsort(top, kind="stable")  # a radix sort, for one byte
            records = np.empty(len(own), RECORD)
            records["key"], records["doc"] = own[order], docs[order]
            sections += np.split(records, np.searchsorted(top[order], np.arange(1, BUCKETS)))
        return [*sections, np.minimum(sizes, 2**32 - 1).astype(np.uint32)]


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
    bases: tuple[int, ...]  # the number of the first document of every part

    def __call__(self, item: KeyRange) -> dict[str, Any]:
        """The receipt: how many edges."""
        url = files.join(self.out, "match", f"range-{item.number:05d}")
        return files.once(url + ".json", self.key, lambda: self._write(url, item))

    def _write(self, url: str, item: KeyRange) -> dict[str, Any]:
        n_edges = 0
        with files.atomic(url) as f:
            for band in range(*item.bands):
                keys, docs = self._read(band, *item.buckets)
                order = np.argsort(keys)
                edges = star_edges(keys[order], docs[order])
                n_edges += len(edges)
                f.write(edges.data if len(edges) else b"")
        return {"files": [url], "edges": n_edges}

    def _read(self, band: int, first: int, last: int) -> tuple[U64, U32]:
        keys, docs = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint32)]
        for number, base in enumerate(self.bases):
            with Spill(files.join(self.out, "sign", f"part-{number:05d}")) as spill:
                for segment in range(spill.segments):
                    found = spill.read(segment, band * BUCKETS + first, band * BUCKETS + last, RECORD)
                    keys.append(found["key"])
                    docs.append(found["doc"] + np.uint32(base))
        return np.concatenate(keys), np.concatenate(docs)


@kernel
def star_edges(keys: U64, docs: U32) -> U32:
    """The edges (document, first document of its bucket), uint32[m, 2], of keys in order."""
    n = len(keys)
    out = np.empty((n, 2), np.uint32)
    k, i = 0, 0
    while i < n:
        j, first = i, docs[i]
        while j < n and keys[j] == keys[i]:
            first = min(first, docs[j])
            j += 1
        for m in range(i, j):
            if docs[m] != first:
                out[k, 0], out[k, 1] = docs[m], first
                k += 1
        i = j
    return out[:k].copy()
