"""Sketch: the keys of a document, by which candidates are found, and its contents, which are compared.

A MinHash sketch has one key per band, and its contents are the distinct 64-bit hashes of its shingles. Hashes represent
shingles: two different shingles have equal hashes with probability 2^-64. An exact sketch has one key, a hash of the
text in its normal form, and its contents are that text itself.

Twin: tests/twins/minhash.py, tests/twins/exact.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, U64, Int, distinct, mix64, normal_form, shingles, text_hashes


class Sketch(Protocol):
    """Rule by which documents are hashed and compared; a frozen dataclass, since it is sent to workers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that `keys` and `contents` read."""

    @property
    def bands(self) -> int:
        """Keys per document."""

    @property
    def threshold(self) -> float:
        """The similarity at which a document is dropped; above 1, the contents must be equal."""

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the words of contents per document, int64[n] (0: never compared), and keys uint64[bands, n]."""

    def contents(self, batch: Batch) -> tuple[I64, U64, U64]:
        """Return offsets int64[n + 1] into contents uint64, and keys uint64[bands, n]."""


@dataclass(frozen=True, kw_only=True)
class Shingles:
    """Documents as sets of shingles."""

    unit: str
    ngram: int
    threshold: float
    bands: int
    rows: int
    seed: int
    min_shingles: int = 1  # a document with fewer is never compared

    columns: ClassVar[tuple[str, ...]] = ("text",)

    @cached_property
    def permutations(self) -> tuple[U32, U32]:
        """The factors a (odd) and shifts b of h -> a h + b mod 2^32; those of datasketch's scheme "affine32"."""
        random = np.random.RandomState(self.seed)  # a stream that NumPy promises never to change
        n = self.bands * self.rows
        a = random.randint(0, 1 << 31, n, np.uint32) * np.uint32(2) + np.uint32(1)
        return a, random.randint(0, 1 << 32, n, np.uint32)

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the shingles per document, and one key per band."""
        starts, hashes = self._shingles(batch)
        return np.diff(starts), band_keys(starts, hashes, *self.permutations, self.rows)

    def contents(self, batch: Batch) -> tuple[I64, U64, U64]:
        """Return the distinct shingles, and one key per band."""
        starts, hashes = self._shingles(batch)
        return *distinct(starts, hashes), band_keys(starts, hashes, *self.permutations, self.rows)

    def _shingles(self, batch: Batch) -> tuple[I64, U64]:
        starts, hashes = shingles(*B.buffers(batch), self.unit, self.ngram)
        if self.min_shingles == 1:
            return starts, hashes
        sizes = np.diff(starts)
        enough = sizes >= self.min_shingles
        return np.append(0, np.cumsum(np.where(enough, sizes, 0))), hashes[np.repeat(enough, sizes)]


@dataclass(frozen=True, kw_only=True)
class WholeText:
    """Documents as their text in a normal form; `key_bits` below 64 makes different texts share keys, for tests."""

    form: str | None
    key_bits: int = 64
    bands: int = 1
    threshold: float = 2.0

    columns: ClassVar[tuple[str, ...]] = ("text",)

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the eight-byte words of text per document, and its hash."""
        offsets, data = self._normal(batch)
        keys = text_hashes(offsets, data)[:, 0] & np.uint64((1 << self.key_bits) - 1)
        return (np.diff(offsets) + 7) // 8 + 1, keys.reshape(1, -1)

    def contents(self, batch: Batch) -> tuple[I64, U64, U64]:
        """Return each text's length and bytes in eight-byte words, and its hash."""
        offsets, data = self._normal(batch)
        keys = text_hashes(offsets, data)[:, 0] & np.uint64((1 << self.key_bits) - 1)
        return *pack(offsets, data), keys.reshape(1, -1)

    def _normal(self, batch: Batch) -> tuple[I64, U8]:
        offsets, data = B.buffers(batch)
        if self.form is None:
            return offsets, data
        ends, out = normal_form(offsets, data, self.form)
        empty = np.flatnonzero((np.diff(ends) == 0) & (np.diff(offsets) > 0))
        if not len(empty):
            return ends, out
        # The normal form of "!!!" and of a blank page is empty: such texts are compared unchanged.
        return or_raw(ends, out, offsets, data)


@kernel
def or_raw(ends: I64, normal: U8, offsets: I64, data: U8) -> tuple[I64, U8]:
    """Return the normal forms, with the text itself in place of an empty one."""
    n = len(ends) - 1
    starts = np.zeros(n + 1, np.int64)
    for d in range(n):
        size = ends[d + 1] - ends[d]
        starts[d + 1] = starts[d] + (size or offsets[d + 1] - offsets[d])
    out = np.empty(starts[n], np.uint8)
    for d in range(n):
        kept = ends[d + 1] > ends[d]
        for j in range(starts[d + 1] - starts[d]):
            out[starts[d] + j] = normal[ends[d] + j] if kept else data[offsets[d] + j]
    return starts, out


@kernel
def pack(offsets: I64, data: U8) -> tuple[I64, U64]:
    """Return each text as eight-byte words, its length first, so that equal words mean equal texts."""
    n = len(offsets) - 1
    starts = np.zeros(n + 1, np.int64)
    for d in range(n):
        starts[d + 1] = starts[d] + 1 + (offsets[d + 1] - offsets[d] + 7) // 8
    out = np.zeros(starts[n], np.uint64)
    for d in range(n):
        out[starts[d]] = offsets[d + 1] - offsets[d]
        for i in range(offsets[d], offsets[d + 1]):
            at = i - offsets[d]
            out[starts[d] + 1 + at // 8] |= np.uint64(data[i]) << np.uint64(8 * (at % 8))
    return starts, out


@kernel(inline="always")
def mix32(x: Int) -> Int:
    """Return the 32-bit finaliser of MurmurHash3."""
    h = np.uint32(x)
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@kernel
def minima(hashes: U64, a: U32, b: U32, row: U32) -> None:
    """Write the signature of one set into `row`: under each permutation, the least of the low 32 bits of its hashes.

    Four shingles per pass, so that `row` is loaded and stored a quarter as often. Numba makes uint32 * uint32 a
    uint64; without the casts the minimum would be over unreduced products, and all signatures nearly equal.
    """
    n, k = len(hashes), len(row)
    for i in range(k):
        row[i] = np.uint32(0xFFFFFFFF)
    j = 0
    while j + 4 <= n:
        w, x = mix32(hashes[j]), mix32(hashes[j + 1])
        y, z = mix32(hashes[j + 2]), mix32(hashes[j + 3])
        for i in range(k):
            p = min(np.uint32(np.uint32(a[i] * w) + b[i]), np.uint32(np.uint32(a[i] * x) + b[i]))
            q = min(np.uint32(np.uint32(a[i] * y) + b[i]), np.uint32(np.uint32(a[i] * z) + b[i]))
            row[i] = min(row[i], p, q)
        j += 4
    for m in range(j, n):
        x = mix32(hashes[m])
        for i in range(k):
            row[i] = min(row[i], np.uint32(np.uint32(a[i] * x) + b[i]))


@kernel
def band_keys(starts: I64, hashes: U64, a: U32, b: U32, rows: int) -> U64:
    """Return one 64-bit key per band and document, uint64[bands, n]; keys of different bands are never compared."""
    n, bands = len(starts) - 1, len(a) // rows
    keys = np.zeros((bands, n), np.uint64)
    row = np.empty(len(a), np.uint32)
    for d in range(n):
        if starts[d + 1] == starts[d]:
            continue
        minima(hashes[starts[d] : starts[d + 1]], a, b, row)
        for band in range(bands):
            key: Int = np.uint64(band + 1) * np.uint64(0x9E3779B97F4A7C15)
            for r in range(band * rows, (band + 1) * rows):
                key = (key ^ np.uint64(row[r])) * np.uint64(0xD6E8FEB86659FD93)
                key ^= key >> np.uint64(32)
            keys[band, d] = mix64(key)
    return keys
