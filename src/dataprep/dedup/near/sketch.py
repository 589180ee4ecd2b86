"""Sketch: a rule that gives each document keys, by which candidates are found, and contents, which are compared.

A MinHash sketch has one key per band, and its contents are the distinct 64-bit hashes of its shingles. Hashes stand for
shingles: two different shingles have equal hashes with probability 2^-64. An exact sketch has one key, a hash of the
text in its normal form, and its contents are that text itself.

Slow reference for the tests: tests/twins/minhash.py, tests/twins/exact.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.unicode.hashes import mix64, normal_form, text_hashes
from dataprep.unicode.kernel import kernel, read_only
from dataprep.unicode.shingles import shingles
from dataprep.unicode.text import I64, U8, U32, U64, Int


class Sketch(Protocol):
    """The rule by which documents are hashed and compared; a frozen dataclass, since it is sent to workers.

    Documents that share a key are candidates; a candidate is dropped if its contents are similar enough.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of a batch that `keys` and `contents` read."""

    @property
    def bands(self) -> int:
        """The number of keys (hashes by which candidates are found) per document."""

    @property
    def threshold(self) -> float:
        """The minimum similarity (0 to 1) at which a document is dropped; above 1, contents must be equal."""

    @property
    def thread_safe(self) -> bool:
        """Whether several threads may hash documents at once, and gain by it."""

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the size of each document's contents in 64-bit words, int64[n], and its keys, uint64[bands, n].

        The contents are what is compared; a key is a hash by which candidates are found. A document of size 0 is never
        compared.
        """

    def contents(self, batch: Batch) -> tuple[I64, U64, U64]:
        """Return (offsets int64[n + 1], contents uint64[], keys uint64[bands, n]) of a batch of n documents.

        The contents of document i, contents[offsets[i]:offsets[i + 1]], are hashes. Documents that share a key are
        compared by their contents.
        """


@dataclass(frozen=True, kw_only=True)
class Shingles:
    """The rule for MinHash: a document is a set of shingles (runs of words or characters), hashed to one key per band.

    Attributes:
        unit: "word" or "char".
        ngram: the number of units per shingle.
        word_split: the rule for splitting words, "unicode" or "regex".
        threshold: a document is dropped if its similarity is at least this value.
        bands: the number of bands of the signature.
        rows: the number of rows per band.
        seed: the seed of the permutations. A document with fewer than `min_shingles` shingles is never compared.
    """

    unit: str
    ngram: int
    threshold: float
    bands: int
    rows: int
    seed: int
    min_shingles: int = 1  # a document with fewer is never compared
    word_split: str = "unicode"
    normalize: tuple[str, ...] | None = None  # differences that are ignored; None: the default of the unit

    columns: ClassVar[tuple[str, ...]] = ("text",)
    thread_safe: ClassVar[bool] = True

    @cached_property
    def permutations(self) -> tuple[U32, U32]:
        """The factors a (odd) and shifts b of the permutations h -> a h + b mod 2^32, uint32[bands * rows] each.

        The permutations are those of datasketch's scheme "affine32".
        """
        random = np.random.RandomState(self.seed)  # a stream that NumPy promises never to change
        n = self.bands * self.rows
        a = random.randint(0, 1 << 31, n, np.uint32) * np.uint32(2) + np.uint32(1)
        return a, random.randint(0, 1 << 32, n, np.uint32)

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the number of distinct shingles of each document, int64[n], and its keys, uint64[bands, n].

        For a document with fewer than `min_shingles` shingles, the number is 0.
        """
        starts, _, keys = self.contents(batch)
        return np.diff(starts), keys

    def contents(self, batch: Batch) -> tuple[I64, U64, U64]:
        """Return (offsets int64[n + 1], distinct shingles of every document as hashes uint64[], keys uint64[bands, n]).

        The shingles of document i are shingles[offsets[i]:offsets[i + 1]]; equal shingles have equal hashes.
        """
        starts, hashes = self.units(self.texts(batch), self.min_shingles)
        return starts, hashes, band_keys(starts, hashes, *self.permutations, self.rows)

    def texts(self, batch: Batch) -> pa.LargeStringArray:
        """Return the compared part of each document, as text."""
        return batch.column("text")

    def units(self, texts: pa.LargeStringArray, least: int = 1) -> tuple[I64, U64]:
        """Return the distinct shingles of each text as hashes: offsets int64[n + 1], hashes uint64.

        - least: texts with fewer shingles, counted with repeats, get none.
        """
        return shingles(*B.buffers(texts), self.unit, self.ngram, self.word_split, self.normalize, least)


@dataclass(frozen=True, kw_only=True)
class EqualTexts:
    """The rule for exact deduplication: a document is represented by one text, and duplicates have equal texts.

    Attributes:
        key_bits: the number of bits of a text's hash that are used as its key; tests use fewer than 64 to give
            different texts equal keys.
    """

    key_bits: int = 64

    bands: ClassVar[int] = 1
    threshold: ClassVar[float] = 2.0  # only if the contents are equal
    columns: ClassVar[tuple[str, ...]] = ("text",)
    thread_safe: ClassVar[bool] = False

    def texts(self, batch: Batch) -> tuple[I64, U8]:
        """Return the text that represents each document: offsets int64[n + 1], and UTF-8 bytes, uint8."""
        raise NotImplementedError

    def keys(self, batch: Batch) -> tuple[I64, U64]:
        """Return the size of each document's contents in eight-byte words, int64[n], and its key, uint64[1, n].

        The contents are the text that represents the document; the key is a hash of it.
        """
        offsets, data = read_only(*self.texts(batch))
        return (np.diff(offsets) + 7) // 8 + 1, self._hashes(offsets, data)

    def contents(self, batch: Batch) -> tuple[I64, U64, U64]:
        """Return (offsets into the contents: int64[n + 1]; contents: uint64; keys: uint64[1, n]).

        The contents of a document are the length of its text in bytes, then the bytes, eight of them per uint64.
        """
        texts = read_only(*self.texts(batch))
        return *pack(*texts), self._hashes(*texts)

    def _hashes(self, offsets: I64, data: U8) -> U64:
        return (text_hashes(offsets, data)[:, 0] & np.uint64((1 << self.key_bits) - 1)).reshape(1, -1)


@dataclass(frozen=True, kw_only=True)
class WholeText(EqualTexts):
    """The rule for `Exact`: a document is represented by its text in the normal form `form` (None: unchanged)."""

    thread_safe: ClassVar[bool] = True

    form: str | None

    def texts(self, batch: Batch) -> tuple[I64, U8]:
        """Return the normal form of each text, or the text itself if that form is empty.

        The result is offsets, int64[n + 1], and UTF-8 bytes, uint8.
        """
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
    """Return normalised texts, as offsets int64[n + 1] and UTF-8 bytes; texts with an empty normal form are unchanged.

    Args:
        ends: the offsets of the normalised texts in `normal`.
        normal: the bytes of the normalised texts.
        offsets: the offsets of the unchanged texts in `data`.
        data: the bytes of the unchanged texts.
    """
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
    """Return each text as 64-bit words, of which the first is its length: offsets int64[n + 1], and words, uint64.

    Args:
        offsets: text i is data[offsets[i]:offsets[i + 1]].
        data: the texts, UTF-8 bytes.

    The words of text i are those from offsets[i] to offsets[i + 1] of the result. Two texts are equal if and only if
    their words are equal.
    """
    n = len(offsets) - 1
    starts = np.zeros(n + 1, np.int64)
    for d in range(n):
        starts[d + 1] = starts[d] + 1 + (offsets[d + 1] - offsets[d] + 7) // 8
    out = np.empty(starts[n], np.uint64)
    out_bytes = out.view(np.uint8)  # little-endian, as the files of candidates
    for d in range(n):
        size = offsets[d + 1] - offsets[d]
        out[starts[d + 1] - 1] = 0  # the last word may not be full
        out[starts[d]] = size
        at = 8 * (starts[d] + 1)
        out_bytes[at : at + size] = data[offsets[d] : offsets[d + 1]]
    return starts, out


@kernel(inline="always")
def mix32(x: Int) -> Int:
    """Return the 32-bit integer `x` with its bits mixed, as by the last step (finaliser) of MurmurHash3."""
    h = np.uint32(x)
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@kernel
def minima(hashes: U64, a: U32, b: U32, row: U32) -> None:
    """Write the MinHash signature of one set into `row`: for each permutation, the least permuted hash of the set.

    - hashes: uint64, hashes of the set's shingles; their low 32 bits are permuted.
    - a, b: factors and shifts of the permutations, uint32[bands * rows], as long as `row`. Four shingles are processed
      per pass, so that `row` is loaded and stored a quarter as often. Numba makes uint32 * uint32 a uint64; without the
      casts, the minimum would be taken over unreduced products, and all signatures would be nearly equal.
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
    """Return one 64-bit key per band and document, uint64[bands, n]; 0 for a document without shingles.

    - hashes: the hashes of the shingles of all documents; those of document i are hashes[starts[i]:starts[i + 1]].
    - a, b: factors and shifts of the permutations.
    - rows: the number of signature values per band. A key also depends on the number of its band, so that equal values
      in two bands do not produce equal keys.
    """
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
