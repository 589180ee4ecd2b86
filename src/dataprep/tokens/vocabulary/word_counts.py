"""The distinct words of texts and their counts, from which merges are learned.

Slow reference for the tests: tests/twins/bpe.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

from .cutting import Machine, cut_words

I32 = npt.NDArray[np.int32]
CHUNK = 1 << 20  # bytes of text whose words are counted at a time, unless one document is longer
BLOCK = 1 << 12  # words cut before they are counted


class CountTable(NamedTuple):
    """Distinct words and their counts, in an open-addressing hash table.

    Attributes:
        slots: the hash table; a slot has the number of a word, from 1, or 0.
        hashes: the hash of each word.
        counts: the number of occurrences of each word.
        ends: the index after each word in `bytes`, which has the words one after another.
    """

    slots: I32  # the number of a word, from 1, at the slot of its hash or after it
    hashes: U64
    counts: I64
    ends: I64  # exclusive, in `bytes`
    bytes: U8  # the words one after another


class WordCounts:
    """The distinct words of all texts added so far, and how often each occurs."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.n, self.size = machine, 0, 0
        no_numbers = np.empty(0, np.int64)
        slots, no_bytes = np.zeros(1 << 16, np.int32), np.empty(0, np.uint8)
        self.table = CountTable(slots, np.empty(0, np.uint64), no_numbers, no_numbers, no_bytes)

    @property
    def counts(self) -> I64:
        """The number of times each word occurs, int64[n]."""
        return self.table.counts[: self.n]

    @property
    def ends(self) -> I64:
        """The index after the last byte of each word in `bytes`, int64[n]."""
        return self.table.ends[: self.n]

    @property
    def bytes(self) -> U8:
        """The UTF-8 bytes of all words, one after another, uint8[size]."""
        return self.table.bytes[: self.size]

    def add(self, texts: pa.LargeStringArray) -> None:
        """Cut texts into words, and add these to the counts."""
        offsets, data = B.buffers(texts)
        first = 0
        while first < len(texts):
            last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + CHUNK, "right")) - 1)
            self._reserve(int(offsets[last] - offsets[first]))
            sizes = np.array([self.n, self.size])
            _count(offsets[first : last + 1], data, self.machine, self.table, sizes)
            self.n, self.size = sizes.tolist()
            first = last

    def _reserve(self, n_bytes: int) -> None:
        """Grow the table to hold all words that `n_bytes` more bytes can have."""
        slots, hashes, counts, ends, stored = self.table
        if self.n + n_bytes > len(counts):
            n = max(2 * self.n, self.n + 2 * n_bytes)
            hashes, counts, ends = (grown(a, n) for a in (hashes, counts, ends))
        if self.size + n_bytes > len(stored):
            stored = grown(stored, max(2 * self.size, self.size + 2 * n_bytes))
        if 2 * (self.n + n_bytes) > len(slots):
            slots = np.zeros(1 << (2 * (self.n + n_bytes)).bit_length(), np.int32)
            _place(hashes[: self.n], slots)
        self.table = CountTable(slots, hashes, counts, ends, stored)


def count_words(texts: Iterable[Sequence[str] | pa.LargeStringArray], machine: Machine) -> WordCounts:
    """Return the distinct words of batches of texts, with counts.

    - machine: state machine that divides texts into words.
    """
    words = WordCounts(machine)
    for batch in texts:
        words.add(texts_of(batch))
    return words


def texts_of(batch: Sequence[str] | pa.LargeStringArray) -> pa.LargeStringArray:
    """Return a batch of texts as an Arrow large_string array."""
    return batch if isinstance(batch, pa.Array) else pa.array(batch, pa.large_string())


def grown(array: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """Return a copy of `array` with the length `n`; the items added at its end are not initialised."""
    larger = np.empty(n, array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def _place(hashes: U64, slots: I32) -> None:
    last = np.uint64(len(slots) - 1)
    for w in range(len(hashes)):
        s = hashes[w] & last
        while slots[s]:
            s = (s + np.uint64(1)) & last
        slots[s] = w + 1


@kernel
def _count(offsets: I64, data: U8, machine: Machine, table: CountTable, sizes: I64) -> None:
    """Count the words of texts; `sizes` holds the number of distinct words and of their bytes, and is updated."""
    cuts = np.empty(BLOCK, np.int64)
    for d in range(len(offsets) - 1):
        start, stop = offsets[d], offsets[d + 1]
        while start < stop:
            _, n = cut_words(data, start, stop, machine, cuts)
            for j in range(n):
                _count_word(data, start, cuts[j], table, sizes)
                start = cuts[j]


@kernel(_nrt=False)
def _count_word(data: U8, start: Int, stop: Int, table: CountTable, sizes: I64) -> None:
    slots, hashes, counts, ends, store = table
    last = np.uint64(len(slots) - 1)
    h = np.uint64(0xCBF29CE484222325)
    for i in range(start, stop):
        h = (h ^ np.uint64(data[i])) * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    s = h & last
    while slots[s]:
        w = slots[s] - 1
        if hashes[w] == h:
            begin = ends[w - 1] if w else 0
            same = ends[w] - begin == stop - start
            j = 0
            while same and j < stop - start:
                same = store[begin + j] == data[start + j]
                j += 1
            if same:
                counts[w] += 1
                return
        s = (s + np.uint64(1)) & last
    w, at = sizes[0], sizes[1]
    slots[s], hashes[w], counts[w] = w + 1, h, 1
    for i in range(stop - start):
        store[at + i] = data[start + i]
    ends[w] = sizes[1] = at + stop - start
    sizes[0] = w + 1
